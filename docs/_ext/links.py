"""The folder of the built site in; every link and picture that leads nowhere inside it out, and exit code 1.

Sphinx warns of references that it resolves itself. This reads the pages as a browser gets them, raw HTML and pictures
included, and counts what would be fetched from elsewhere to show a page: nothing should be.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The ids, links and sources of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.ids.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.sources.append(found.get("href", ""))
        elif "src" in found:
            self.sources.append(found["src"])


def html(folder: Path) -> list[Path]:
    """The pages; what themes keep in ``_static`` are templates."""
    return [path for path in folder.rglob("*.html") if "_static" not in path.parts]


def lead(folder: Path, page: Path, link: str) -> tuple[Path, str] | None:
    """The file and the id that a link leads to; None where it leaves the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
    return (target / "index.html" if target.is_dir() else target), unquote(parts.fragment)


def broken(folder: Path) -> list[str]:
    """What leads nowhere, and what would be fetched."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in html(folder)}
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for link in page.links + page.sources:
            if link.startswith(("mailto:", "data:", "javascript:")):
                continue
            target = lead(folder, path, link)
            if target is None:
                if link in page.sources:
                    found.append(f"{name}: would fetch {link}")
            elif not target[0].exists():
                found.append(f"{name}: no file {link}")
            elif target[1] and target[0] in pages and target[1] not in pages[target[0]].ids:
                found.append(f"{name}: no place {link}")
    return found


def main() -> int:
    folder = Path(sys.argv[1])
    found = sorted(set(broken(folder)))
    print("\n".join(found) or f"{folder}: {len(html(folder))} pages, every link inside them leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

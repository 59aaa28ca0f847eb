"""Pages that are read in the repository in, pages of the site out.

Links out of ``docs/`` lead to the page that includes the file, if there is one, and otherwise to the repository; a link
to a file that is not there is a warning, so an error of ``make docs``. ``<a id=...>`` becomes a target.
"""

import os
import re
from pathlib import Path, PurePosixPath

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.util import logging

BLOB = "https://github.com/pysirus/pysirus/blob/main/"
LINK = re.compile(r"(?<!!)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
# files outside docs/ that a page of the site includes
INCLUDED = {
    "CONTRIBUTING.md": "contribute/contributing.md",
    "CHANGELOG.md": "reference/changelog.md",
    "RELEASING.md": "contribute/releasing.md",
    "SECURITY.md": "contribute/security.md",
    "CODE_OF_CONDUCT.md": "contribute/conduct.md",
    "cpp/README.md": "contribute/core.md",
    "README.md": "index.md",
}
OPTIONAL = re.compile(r"^(\S+)\?\n", re.MULTILINE)  # an entry of a toctree that is there if its page is
logger = logging.getLogger(__name__)


def anchors(docs: Path) -> dict[str, set[str]]:
    """The targets that each page sets by hand."""
    return {str(page.relative_to(docs)): set(ANCHOR.findall(page.read_text())) for page in docs.glob("*.md")}


def rewrite(text: str, place: str, docs: Path, known: dict[str, set[str]], page: str) -> str:
    """The text of a file at ``place`` in the repository, as it is read on a page of the site."""
    root = docs.parent

    def link(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        target = os.path.normpath(PurePosixPath(place).parent / path)
        if target.startswith("docs/"):
            inside = target.removeprefix("docs/")
        elif target in INCLUDED:
            inside = INCLUDED[target]
        elif not (root / target).exists():
            logger.warning("link to %s, which is not in the repository", path, location=page)
            return match[0]
        else:
            return f"]({BLOB}{target}{anchor})"
        if anchor[1:] in known.get(inside, ()):
            return f"]({anchor})"
        return f"]({os.path.relpath(inside, PurePosixPath(page).parent)}{anchor})"

    text = OPTIONAL.sub(
        lambda found: f"{found[1]}\n" if (docs / page).parent.joinpath(f"{found[1]}.md").exists() else "", text
    )
    return ANCHOR.sub(r"(\1)=\n", LINK.sub(link, text))


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Take a page, or for a page that includes a file of the repository the file itself."""
    docs = Path(app.srcdir)
    file = docs / f"{name}.md"
    if not file.exists() or name.startswith(("gallery", "reference/generated")):
        return
    known = anchors(docs)
    place, page = f"docs/{name}.md", f"{name}.md"
    if found := re.fullmatch(r"\s*```\{file\} (\S+)\s*```\s*", source[0]):
        place = found[1]
        source[0] = (docs.parent / place).read_text(encoding="utf-8")
        app.env.note_dependency(str(docs.parent / place), docname=name)
    source[0] = rewrite(source[0], place, docs, known, page)


def setup(app: Sphinx) -> dict[str, bool]:
    for name in ("rooms", "fit", "tune", "dask"):  # the blocks of CONTRIBUTING.md that tests read by their names
        app.add_lexer(name, TextLexer)
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Every text that a user can meet in, the words of it out that docs/glossary.md replaces by another.

``python -m trust.words`` lists them with their places; ``python -m trust.words count`` counts them by word. Texts are
messages and help (strings of the source), docs (README.md and docs/), the strings of the report's page, and the
docstrings of public names. Code, links and names in backticks are left out. A word that is right where it stands is in
``ALLOWED``, with the reason.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pysirus

SOURCE = Path(pysirus.__file__).parent
ROOT = Path(__file__).parents[1]
PUBLIC = ("pysirus", "pysirus.plot", "pysirus.datasets", "pysirus.dask", "pysirus.spark")

Excuse = tuple[str, str]  # a part of the name of a file or of a public name, and the text around a word

# what is not written -> what is
WORDS = {
    r"dust": "negligible rule",
    r"(?<!model )cards?(?! game)": "GPU",
    r"accelerators?": "GPU",
    r"dealt|like cards": "stratified folds",
    r"com(?:e|es|ing) back|came back|reappears?": "is selected again",
    r"str(?:ik(?:e|es|ing)|uck)": "remove",
    r"promis(?:e|es|ed|ing)": "guarantee",
    r"weigh(?:s|ed|ing)?": "to weight, rule weight",
    r"parts? (?:the|them|these|all|training|rows)(?! of)": "to split",
    r"set(?:s|ting)? aside": "ignore",
    r"judg(?:e|es|ed|ing)": "to evaluate",
    r"out[- ]of[- ]fold": "held-out",
    r"figures?": "metric, result; figure only for a plot",
    r"levels?": "category",
    r"as labels|are labels|of labels": "category",
    r"truth": "target",
    r"holders?(?: of rows)?": "worker",
    r"doors?": "entry point",
    r"fir(?:es|ed|ing)": "applies",
    r"responses?": "target",
    r"given rules?": "required rule",
    r"list of rules|lists of rules": "rule list",
    r"row weights?": "sample weight",
    r"(?:for|of|with) numbers(?: and| or|,|\.|;|$)": "regression",
    r"in parts|parts of (?:the )?rows": "batch, partition",
    r"tall(?:y|ies)|shards?": "partition",
    r"crews?|unrest|badness|riddle": "no such word",
    r"complain(?:s|ed|ing|ts?)?": "error, to reject",
}
PATTERN = re.compile(
    r"(?<![\w`/.#-])(?:" + "|".join(f"({pattern})" for pattern in WORDS) + r")(?![\w`-]|\.\w|\()", re.I
)

# exception -> why the word is right there
ALLOWED: dict[Excuse, str] = {
    ("_model/", "line of numbers,?"): "the kind of value: numbers in one text",
    ("model-file.md", "line of numbers,?"): "the same",
    ("pysirus.plot", "figures?"): "a figure that is drawn",
    ("plot/", "figures?"): "the same",
    ("_use/monitor_page.py", "figure .{1,3}margin"): "an element of HTML",
    ("cli/fit.py", "figure"): "the same",
    ("docs/tuning.md", "figures"): "the same",
    ("docs/tables.md", "the figures find|predictions and figures"): "the same",
    ("docs/paper.md", "## figures"): "the same",
    ("pysirus.Condition", "levels : tuple"): "the name of an attribute",
    ("docs/", "(?:level of each|per level|second level|two levels|once per level)"): "of a tree",
    ("docs/method.md", "credit cards"): "the column of a dataset",
    ("docs/stages-study.md", "mean responses"): "the name of a form in the recorded results",
    (".card", "card : Card"): "a model card, and its class",
}


class Found(NamedTuple):
    """A word that the glossary replaces."""

    place: str
    word: str
    better: str
    around: str


def _docstrings(tree: ast.Module) -> set[int]:
    bodies = (node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)))
    return {id(node.body[0].value) for node in bodies if node.body and isinstance(node.body[0], ast.Expr)}


def _messages() -> Iterator[tuple[str, str]]:
    """The strings of the source that are sentences, or parts of one."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        skipped = _docstrings(tree)
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped
            if is_text and node.value.count(" ") > 1:  # type: ignore[attr-defined, union-attr]
                yield f"src/pysirus/{path.relative_to(SOURCE)}:{node.lineno}", node.value  # type: ignore[attr-defined]


def _docs() -> Iterator[tuple[str, str]]:
    """The lines of the docs, without code and addresses."""
    written = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "generated" not in path.parts]
    for path in [ROOT / "README.md", *written]:
        if path.name == "glossary.md":
            continue
        is_code = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("```"):
                is_code = not is_code
            elif not is_code:
                yield f"{path.relative_to(ROOT)}:{number}", re.sub(r"`[^`]*`|\]\([^)]*\)|<[^>]*>", "`", line)


def _page() -> Iterator[tuple[str, str]]:
    """The strings of the report's page."""
    for name in ("report.js", "charts.js", "quality.js", "words.js", "template.html"):
        lines = (SOURCE / "report" / name).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            for text in re.findall(r'"[^"]*"|`[^`]*`|>[^<>]+<', line):
                if text.count(" ") > 1:
                    yield f"src/pysirus/report/{name}:{number}", text.replace("`", "")


def _public_docstrings() -> Iterator[tuple[str, str]]:
    """What ``help`` says of public names and of their public methods."""
    for module in map(import_module, PUBLIC):
        for name in module.__all__:
            own = getattr(module, name)
            members = inspect.getmembers(own) if inspect.isclass(own) else []
            for member, value in [("", own), *((m, v) for m, v in members if not m.startswith("_"))]:
                text = inspect.getdoc(value) or ""
                of_us = not member or (getattr(value, "__module__", None) or "pysirus").startswith("pysirus")
                if of_us and not isinstance(value, (str, int, float, tuple, dict)):
                    place = f"{module.__name__}.{name}{'.' if member else ''}{member}"
                    for line in re.sub(r">>> .*|`+[^`]*`+", "`", text).splitlines():
                        yield place, line


def search(places: tuple[str, ...] = ("messages", "docs", "page", "docstrings")) -> tuple[list[Found], set[Excuse]]:
    """The words that the glossary replaces, where they are not allowed, and which exceptions were needed."""
    kinds = {"messages": _messages, "docs": _docs, "page": _page, "docstrings": _public_docstrings}
    better, found, needed = list(WORDS.values()), [], set()
    for place, text in (item for kind in places for item in kinds[kind]()):
        for match in PATTERN.finditer(text):
            excused = {own for own in ALLOWED if is_allowed(place, text, match, own)}
            needed |= excused
            if not excused:
                around = text[max(0, match.start() - 40) : match.end() + 40].replace("\n", " ")
                found.append(Found(place, match.group().lower(), better[(match.lastindex or 1) - 1], around))
    return list(dict.fromkeys(found)), needed


def is_allowed(place: str, text: str, match: re.Match[str], exception: Excuse) -> bool:
    """Whether an exception is about this word."""
    end, around = exception
    spans = (own.span() for own in re.finditer(around, text, re.IGNORECASE)) if end in place.split(":")[0] else ()
    return any(first <= match.start() and match.end() <= last for first, last in spans)


def main(arguments: list[str]) -> int:
    """Print what was found; 1 if there is something."""
    every, _ = search()
    if arguments == ["count"]:
        for (word, better), n in Counter((own.word, own.better) for own in every).most_common():
            print(f"{n:5} {word} -> {better}")
    else:
        for own in every:
            print(f"{own.place}: {own.word} -> {own.better}: {own.around}")
    print(f"{len(every)} words of docs/glossary.md's left column")
    return int(bool(every))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

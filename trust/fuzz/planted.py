"""Bugs put in on purpose, one of each kind: in a copy of the core, or by changing a module after it is imported.

Nothing of them is in the code: a line of the copy is replaced, and a door has a function ``plant``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trust.fuzz import build
from trust.record import ROOT


@dataclass(frozen=True)
class Bug:
    """A line of the core, and what it is replaced by."""

    target: str
    kind: str
    file: str
    right: str
    wrong: str


BUGS = (
    Bug(
        target="bins",
        kind="write past the end of an array",
        file="bins/quantiles.hpp",
        right="kept(static_cast<std::size_t>(n_kept) + 1)",
        wrong="kept(static_cast<std::size_t>(n_kept))",
    ),
    Bug(
        target="rules",
        kind="wrong answer: a value at the upper end is inside",
        file="evaluate/kernel.cpp",
        right="(x[v] >= lower) & (x[v] < upper)",
        wrong="(x[v] >= lower) & (x[v] <= upper)",
    ),
    Bug(
        target="rules",
        kind="undefined behaviour: negative shift count",
        file="weights/patterns.hpp",
        right="left <= 0 ? 0 :",
        wrong="left == 0 ? 0 :",
    ),
    Bug(
        target="weights",
        kind="infinite loop",
        file="evaluate/concordance.hpp",
        right="i > 0; i -= i & -i)",
        wrong="i > 0; i -= i & 2)",
    ),
    Bug(
        target="forest",
        kind="wrong answer: nodes of the smallest size are split",
        file="forest/level.cpp",
        right="*cells++ <= recipe.min_node_size",
        wrong="*cells++ < recipe.min_node_size",
    ),
)
DOORS = {
    "rules": "undocumented error: a number may end with a letter",
    "tables": "invalid text is accepted",
    "models": "the fields of a document are not checked",
    "commands": "a message is parsed for a part that it may not have",
    "arrays": "wrong answer: a value at a cut falls into the lower bin",
}


def planted_core(bug: Bug, folder: Path) -> Path:
    """The fuzzer of a core with a bug."""
    cpp = folder / "cpp"
    shutil.rmtree(cpp, ignore_errors=True)
    shutil.copytree(ROOT / "cpp", cpp)
    path = cpp / bug.file
    text = path.read_text(encoding="utf-8")
    assert text.count(bug.right) == 1, f"{bug.file} has no line {bug.right}"
    path.write_text(text.replace(bug.right, bug.wrong), encoding="utf-8")
    return build.build(folder / "objects", cpp, [bug.target])[bug.target]


def find_planted(
    targets: Sequence[str], folder: Path, fuzz: Callable[..., Any], words_for: Callable[..., list[str]],
    seconds: float, seed: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """How fast each bug of some targets is found; None where it is not."""
    found = []
    bugs: list[tuple[str, str, Bug | None]] = [(f"core-{bug.target}", bug.kind, bug) for bug in BUGS]
    bugs += [(name, kind, None) for name, kind in DOORS.items()]
    for i, (target, kind, bug) in enumerate(bugs):
        if target not in targets:
            continue
        words = [str(planted_core(bug, folder / f"planted-{i}"))] if bug else words_for(target, {}, planted=True)
        one = fuzz(target, words, seconds, seed, folder / "planted")
        found.append(
            {"target": target, "kind": kind, "seconds": one.seconds if one.crashes else None, "cases": one.cases}
        )
        said = f"found after {one.cases:,} cases, {one.seconds} s" if one.crashes else "NOT FOUND"
        print(f"{target:14} {kind}: {said}", flush=True)
    return found

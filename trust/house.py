"""The source in, the size of the house out: lines, files, rooms, tests on kinds of target, and the walk of a fit.

``python -m trust.house`` prints the figures of this version. A *test on a kind* stands outside the room of families
and asks what kind of target a model has: its link, classes, survival, loss, task, or ``isinstance`` of a response. The
*walk* of a call is the files that it enters, in the order in which it enters each first.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pysirus

SOURCE = Path(pysirus.__file__).parent
FAMILIES = ("_kind", "_families", "families")
SHORT = 60  # lines of a small file
ON_KIND = re.compile(
    r"\bclasses is (not )?None|\bsurvival is (not )?None|\blikelihood is (not )?None|\blink (==|!=|in\b|not in\b)"
    r"|facts(\.get\(|\[)[\"']loss|\bby_class\b|\btask (==|!=|in\b)|\bloss (==|!=|in\b)|predicts_sum"
    r"|isinstance\([^)]*\b(ClassResponse|NumberResponse|SurvivalResponse|Numbers|ClassKind|LikelihoodKind|SurvivalTimes)\b"
)


def modules() -> list[Path]:
    """The Python files of the package."""
    return sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    """The folder, or the file, directly below the package."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def tests_on_kinds() -> dict[str, int]:
    """How many lines of each file outside the families ask for the kind of target."""
    found = {}
    for path in modules():
        if room_of(path) in FAMILIES:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        count = sum(len(ON_KIND.findall(line)) for line in lines if not line.strip().startswith("#"))
        if count:
            found[str(path.relative_to(SOURCE))] = count
    return found


def walk_of(call: Callable[[], Any]) -> list[str]:
    """The files that a call enters, in the order in which it enters each first."""
    entered: list[str] = []
    start = f"{SOURCE}/"

    def watch(frame: Any, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(start) and name.endswith(".py"):
            name = name.removeprefix(start)
            if name not in entered:
                entered.append(name)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def walk_figures(call: Callable[[], Any]) -> dict[str, int]:
    """Files and rooms of a walk, and how often the next new file is in another room."""
    call()  # what is imported and compiled on first use is no part of the walk
    files = walk_of(call)
    rooms = [name.split("/")[0].removesuffix(".py") for name in files]
    changes = sum(one != other for one, other in pairwise(rooms))
    return {"files": len(files), "rooms": len(set(rooms)), "changes of room": changes}


def figures() -> dict[str, Any]:
    """All figures of this version."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    kinds = tests_on_kinds()
    X, y = pysirus.datasets.load_ozone(return_X_y=True)
    options: dict[str, Any] = {"n_trees": 50, "random_state": 0}
    model = pysirus.SirusRegressor(**options, n_rules=5).fit(X, y)
    calls: dict[str, Callable[[], Any]] = {
        "fit": lambda: pysirus.SirusRegressor(**options, n_rules=5).fit(X, y),
        "tune with stages": lambda: pysirus.SirusRegressorCV(n_stages=2, n_repeats=1, cv=2, **options).fit(X, y),
        "predict": lambda: model.predict(X),
        "export to SQL": lambda: model.export("sql"),
    }
    return {
        "lines": sum(lengths.values()),
        "files": len(lengths),
        f"files under {SHORT} lines": sum(length < SHORT for length in lengths.values()),
        "longest file": max(lengths.values()),
        "rooms": len({room_of(path) for path in lengths} - {"__init__", "__main__"}),
        "tests on kinds": sum(kinds.values()),
        "files with tests on kinds": len(kinds),
        "walks": {name: walk_figures(call) for name, call in calls.items()},
        "where": dict(sorted(kinds.items(), key=lambda item: -item[1])),
    }


if __name__ == "__main__":
    print(json.dumps(figures(), indent=2))

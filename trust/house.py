"""The source in, the size of the house out: lines, files, rooms, tests on kinds of target, and the walk of a fit.

``python -m trust.house`` prints the figures of this version, ``python -m trust.house walks`` writes the walks into
CONTRIBUTING.md. A *test on a kind* stands outside the room of families
and asks what kind of target a model has: its link, classes, survival, loss, task, or ``isinstance`` of a response. The
*walk* of a call is the files that it enters, in the order in which it enters each first.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import pysirus

SOURCE = Path(pysirus.__file__).parent
FAMILIES = ("_kind", "_families", "families")
# Rooms that a walk leaves out: they say how something is done on the way, and not what.
LEFT_OUT = ["_text", "_runtime", "_parameters"]
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


def walks() -> dict[str, list[str]]:
    """The walks of CONTRIBUTING.md: a line for each visit to a room, with the files that are new."""
    import dask
    import dask.dataframe as dd

    import pysirus.dask
    import pysirus.engine.train  # or importing it would be part of the walk

    X, y = pysirus.datasets.load_ozone(return_X_y=True, as_frame=True)
    small: dict[str, Any] = {"n_trees": 50, "random_state": 0}
    table = dd.from_pandas(X.assign(y=y), npartitions=2)
    calls = {
        "fit": partial(pysirus.SirusRegressor(n_stages=2, **small).fit, X, y),
        "tune": partial(pysirus.SirusRegressorCV(n_stages=2, n_repeats=1, cv=2, **small).fit, X, y),
        "dask": partial(pysirus.dask.SirusRegressor(**small).fit, table, "y"),
    }
    with dask.config.set(scheduler="sync"):
        return {name: _visits(walk_of(call)) for name, call in calls.items()}


def _visits(files: Sequence[str]) -> list[str]:
    steps = [file.removesuffix(".py").split("/", 1) for file in files]
    rooms = groupby((step for step in steps if step[0] not in LEFT_OUT), key=itemgetter(0))
    return [f"{room:<13} {'  '.join(file for _, file in own)}" for room, own in rooms]


def write_walks() -> None:
    """Put the walks of this version into CONTRIBUTING.md."""
    path = Path(__file__).parents[1] / "CONTRIBUTING.md"
    text = path.read_text(encoding="utf-8")
    for name, lines in walks().items():
        text = re.sub(rf"```{name}\n.*?```", "\n".join([f"```{name}", *lines, "```"]), text, flags=re.DOTALL)
    path.write_text(text, encoding="utf-8")


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
    if sys.argv[1:] == ["walks"]:
        write_walks()
    else:
        print(json.dumps(figures(), indent=2))

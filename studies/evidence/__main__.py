"""Computes a part of the study, or writes its tables into the page: ``python -m studies.evidence PART [--write]``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pysirus._runtime.output import write_text
from studies.evidence import coverage, datasets, ideal, laws, repetitions, support, tables
from studies.results import CHANGES, RESULTS, put

FOLDER = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"ideal": "tuning.md", "repetitions": "tuning.md"}  # of a part; others are in evidence.md
PARTS: dict[str, tuple[Callable[[], Iterator[dict[str, Any]]], Callable[[list[dict[str, Any]]], str]]] = {
    "returns": (laws.measure_all, tables.returns),
    "fresh": (laws.measure_fresh, tables.returns),
    "stability": (datasets.measure_all, tables.stability),
    "coverage": (coverage.measure_all, tables.coverage),
    "ideal": (ideal.measure_all, tables.ideal),
    "repetitions": (repetitions.measure_all, tables.repetitions),
    "support": (support.measure_all, tables.support),
}


def compute(part: str) -> None:
    """Measure, one cell after the other; what was there before goes."""
    path, cells = FOLDER / f"{part}.json", []
    for cell in PARTS[part][0]():
        cells.append(cell)
        lines = ",\n".join(json.dumps(own, separators=(",", ":")) for own in cells)
        write_text(path, f'{{"results": {RESULTS}, "cells": [\n{lines}\n]}}\n')
        print(part, {name: value for name, value in cell.items() if isinstance(value, (str, int, float))}, flush=True)


def write(parts: list[str]) -> None:
    """Put the tables of parts between their marks in their page; one of another version is refused."""
    for part in parts:
        found = json.loads((FOLDER / f"{part}.json").read_text(encoding="utf-8"))
        if found["results"] != RESULTS:
            raise SystemExit(f"{part} is of results version {found['results']}: {CHANGES[found['results'] + 1]}")
        path = DOCS / PAGES.get(part, "evidence.md")
        if part == "fresh":
            every = json.loads((FOLDER / "returns.json").read_text(encoding="utf-8"))["cells"] + found["cells"]
            tables.draw_returns(every, DOCS / "images" / "evidence-returns.png")
        put(path, part, PARTS[part][1](found["cells"]))


def main(arguments: list[str]) -> None:
    """All parts that have results, or those that are named."""
    parts = [own for own in arguments if own in PARTS] or [own for own in PARTS if (FOLDER / f"{own}.json").exists()]
    if "--write" in arguments:
        write(parts)
        return
    for part in parts:
        compute(part)


if __name__ == "__main__":
    main(sys.argv[1:])

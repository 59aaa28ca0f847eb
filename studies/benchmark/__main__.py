"""Computes the benchmark, or writes its page: ``python -m studies.benchmark [--write]``. Stop it at any time."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pysirus._runtime.output import write_text
from studies.benchmark.cells import LIMIT, RESULTS, SAMPLES, Cell, Store, cells, run
from studies.benchmark.methods import METHODS
from studies.benchmark.tables import QUICK, TABLES, freeze, load

DOCS = Path(__file__).parents[2] / "docs"
QUICK_METHODS = ("constant", "linear", "tree", "sirus")  # with what a test installs


def _names(known: Mapping[str, object], what: str) -> Callable[[str], list[str]]:
    """Names between commas, in the order of the study."""

    def read(text: str) -> list[str]:
        given = [name.strip() for name in text.split(",")]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {what} {', '.join(unknown)}; there are {', '.join(known)}")
        return [name for name in known if name in given]

    return read


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m studies.benchmark", description=__doc__)
    parser.add_argument("--tables", type=_names(TABLES, "table"), default=list(TABLES), metavar="A,B")
    parser.add_argument("--methods", type=_names(METHODS, "method"), default=list(METHODS), metavar="X,Y")
    parser.add_argument("--samples", type=_names(SAMPLES, "sample"), default=list(SAMPLES), metavar="S,T")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--limit", type=int, default=LIMIT, help=f"processor seconds of a cell (default: {LIMIT})")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--quick", action="store_true", help=f"a fold of {', '.join(QUICK)}, a few methods")
    parser.add_argument("--again", action="store_true", help="compute cells again whose failure is recorded")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are kept")
    parser.add_argument("--take", type=Path, help="take results from another folder, and compute nothing")
    parser.add_argument("--freeze", type=Path, help="write all tables into one file, for another machine")
    parser.add_argument("--write", action="store_true", help="write the page from the results, and compute nothing")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the page and its pictures go")
    wanted = parser.parse_args(arguments)
    if wanted.quick:
        wanted.tables, wanted.samples = list(QUICK), ["fold-0-0"]
        wanted.methods = [name for name in wanted.methods if name in QUICK_METHODS]
    return wanted


def _lacks(cell: Cell) -> str | None:
    return METHODS[cell.method].missing(TABLES[cell.table].kind)


def _missing(wanted: argparse.Namespace, store: Store) -> list[Cell]:
    """The cells that are wanted and not there; what a method needs and has not is said."""
    every = cells(wanted.tables, wanted.methods, [SAMPLES[name] for name in wanted.samples])
    absent = {(cell.method, reason) for cell in every if (reason := _lacks(cell)) is not None}
    for name, reason in sorted(absent):
        print(f"{name} is left out where it needs what is not there: {reason}", file=sys.stderr)
    every = [cell for cell in every if _lacks(cell) is None]
    found = {cell: store.get(cell) for cell in every}
    todo = [cell for cell, own in found.items() if own is None or (wanted.again and "failed" in own)]
    print(f"{len(every) - len(todo)} of {len(every)} cells are there already.", flush=True)
    return todo


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is not there, take what was computed elsewhere, or write the page."""
    wanted = _arguments(arguments)
    store = Store(wanted.results)
    if wanted.freeze is not None:
        freeze(wanted.freeze)
        return 0
    if wanted.take is not None:
        print(f"{store.take(wanted.take)} cells are taken.")
        return 0
    if wanted.write:
        from studies.benchmark.page import make_page

        write_text(wanted.docs / "benchmark-study.md", make_page(store, wanted.docs / "studies"))
        print(f"{wanted.docs / 'benchmark-study.md'} is written.")
        return 0
    todo, start = _missing(wanted, store), time.monotonic()
    for name in {cell.table for cell in todo}:
        load(name)  # once, before processes are forked
    try:
        for n, (cell, result) in enumerate(run(todo, wanted.jobs, wanted.limit, wanted.seconds), 1):
            store.put(cell, result)
            said = result.get("failed") or f"{result['figures']['error']:.3f} ({result['cost']['fit_seconds']:.1f} s)"
            passed = time.monotonic() - start
            name = f"{cell.table} {cell.method} {cell.sample.name}"
            print(f"{n}/{len(todo)} {passed:.0f} s {name}: {said}", flush=True)
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Computes the study, or writes its page: ``python -m studies.responses [--write]``. Stop it at any time."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from paper.cells import run

from pysirus._output import write_text
from studies.responses.cells import N_REPETITIONS, RESULTS, compute, jobs, store_at
from studies.responses.methods import METHODS
from studies.responses.problems import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "responses-study.md"


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m studies.responses", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="TABLE")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--quick", action="store_true", help=f"one repetition of the folds instead of {N_REPETITIONS}")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results of these tables and methods")
    parser.add_argument("--write", action="store_true", help="write the page from the results, and compute nothing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are kept")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page goes")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Compute what is not there, or write the page."""
    wanted = _arguments(arguments)
    store = store_at(wanted.results)
    if wanted.write:
        from studies.responses.page import make_page

        write_text(wanted.page, make_page(store))
        print(f"{wanted.page} is written.")
        return 0
    absent = {name: reason for name in wanted.methods if (reason := METHODS[name].missing())}
    for name, reason in absent.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    methods = [name for name in wanted.methods if name not in absent]
    if wanted.fresh:
        store.forget(wanted.tables, methods)
    try:
        run(
            jobs(wanted.tables, methods, 1 if wanted.quick else N_REPETITIONS), store, wanted.jobs, compute, "responses"
        )
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

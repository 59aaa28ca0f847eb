"""Computes the study, or writes its page: ``python -m studies.classes [--write]``. Stop it at any time."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from paper.cells import run

from pysirus._output import write_text
from studies.classes.cells import N_REPETITIONS, RESULTS, compute, jobs, store_at
from studies.classes.methods import METHODS
from studies.classes.problems import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "classes-study.md"


def _names(known: dict[str, object], what: str) -> object:
    """Names between commas, in the order of the study."""

    def read(text: str) -> list[str]:
        given = [name.strip() for name in text.split(",")]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {what} {', '.join(unknown)}; there are {', '.join(known)}")
        return [name for name in known if name in given]

    return read


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m studies.classes", description=__doc__)
    parser.add_argument(
        "--tables", type=_names(TABLES, "table"), default=list(TABLES), metavar="A,B", help=", ".join(TABLES)
    )
    parser.add_argument(
        "--methods", type=_names(METHODS, "method"), default=list(METHODS), metavar="X,Y", help=", ".join(METHODS)
    )
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
        from studies.classes.page import make_page

        write_text(wanted.page, make_page(store))
        print(f"{wanted.page} is written.")
        return 0
    absent = {name: reason for name in wanted.methods if (reason := METHODS[name].missing())}
    for name, reason in absent.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    methods = [name for name in wanted.methods if name not in absent]
    if wanted.fresh:
        store.forget(wanted.tables, methods)
    n_repetitions = 1 if wanted.quick else N_REPETITIONS
    try:
        run(jobs(n_repetitions, wanted.tables, methods), store, wanted.jobs, compute, "classes")
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the commands of studies share: which tables and methods, how many processes, compute or write the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from paper.cells import run

from pysirus._runtime.output import write_text
from studies.results import Job, Result, Store


class Method(Protocol):
    """What the command asks of a method."""

    def missing(self) -> str | None:
        """Why it cannot be run here; None when it can."""
        ...


@dataclass(frozen=True)
class Study:
    """A study, as its command sees it."""

    name: str  # the package below ``studies``
    tables: Mapping[str, Any]
    methods: Mapping[str, Method]
    n_repetitions: int
    results: Path
    page: Path
    store_at: Callable[[Path], Store]
    jobs: Callable[[Sequence[str], Sequence[str], int], list[Job]]  # of tables and methods, so many repetitions at most
    compute: Callable[[Job], tuple[Job, Result, float]]
    make_page: Callable[[Store], str]

    def main(self, arguments: list[str] | None = None) -> int:
        """Compute what is not there, or write the page."""
        wanted = self._read(arguments)
        store = self.store_at(wanted.results)
        if wanted.write:
            write_text(wanted.page, self.make_page(store))
            print(f"{wanted.page} is written.")
            return 0
        absent = {name: reason for name in wanted.methods if (reason := self.methods[name].missing())}
        for name, reason in absent.items():
            print(f"{name} is left out: {reason}", file=sys.stderr)
        methods = [name for name in wanted.methods if name not in absent]
        if wanted.fresh:
            store.forget(wanted.tables, methods)
        n_repetitions = 1 if wanted.quick else self.n_repetitions
        try:
            run(self.jobs(wanted.tables, methods, n_repetitions), store, wanted.jobs, self.compute, self.name)
        except KeyboardInterrupt:
            print("Stopped. The same command goes on from here.", file=sys.stderr)
            return 130
        return 0

    def _read(self, arguments: list[str] | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(
            f"python -m studies.{self.name}",
            description="Computes the study, or writes its page. Stop it at any time: it goes on from there.",
        )
        for what, known, form in (("table", self.tables, "A,B"), ("method", self.methods, "X,Y")):
            parser.add_argument(
                f"--{what}s", type=_names(known, what), default=list(known), metavar=form, help=", ".join(known)
            )
        parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
        quick = f"one repetition of the folds instead of {self.n_repetitions}"
        parser.add_argument("--quick", action="store_true", help=quick)
        parser.add_argument("--fresh", action="store_true", help="forget earlier results of these tables and methods")
        parser.add_argument("--write", action="store_true", help="write the page from the results, and compute nothing")
        parser.add_argument("--results", type=Path, default=self.results, help="where results are kept")
        parser.add_argument("--page", type=Path, default=self.page, help="where the page goes")
        return parser.parse_args(arguments)


def _names(known: Mapping[str, object], what: str) -> Callable[[str], list[str]]:
    """Names between commas, in the order of the study."""

    def read(text: str) -> list[str]:
        given = [name.strip() for name in text.split(",")]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"no {what} {', '.join(unknown)}; there are {', '.join(known)}")
        return [name for name in known if name in given]

    return read

"""Reruns the paper: ``python -m paper [--quick]``. Stop it at any time; it goes on where it stopped."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from paper import figures
from paper.cells import Job, Store, jobs, run
from paper.methods import METHODS
from paper.page import Run, make_page
from paper.problems import unavailable
from paper.published import DATASETS
from paper.tables import make_tables, to_csv
from pysirus._runtime.output import write_text

ROOT = Path(__file__).parents[1]
N_REPETITIONS = 10
PARTS = [*METHODS, "theorem"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m paper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition of the folds instead of ten")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results, as after a change to the code")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes (default: 2)")
    parser.add_argument(
        "--datasets", nargs="+", default=list(DATASETS), choices=DATASETS, metavar="NAME", help=", ".join(DATASETS)
    )
    parser.add_argument("--methods", nargs="+", default=PARTS, choices=PARTS, metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--results", type=Path, default=ROOT / "paper" / "results", help="where results are kept")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where paper.md and its figures go")
    return parser.parse_args()


def _collect(wanted: list[Job], store: Store) -> tuple[dict[Any, list[Any]], dict[int, list[Any]]]:
    """Results by cell of the tables, and by sample size of the simulation."""
    cells: dict[Any, list[Any]] = {}
    sizes: dict[int, list[Any]] = {}
    for job in wanted:
        result = store.get(job)
        assert result is not None, job
        if job.dataset is None:
            sizes.setdefault(int(job.method), []).append(result)
        else:
            cells.setdefault((job.dataset, job.method), []).append(result)
    return cells, sizes


def main() -> int:
    """Compute, then write tables, figures and the page."""
    arguments = _arguments()
    absent = {name: reason for name in arguments.datasets if (reason := unavailable(name))}
    for name, reason in absent.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    datasets = [name for name in arguments.datasets if name not in absent]
    store = Store(arguments.results)
    if arguments.fresh:
        for path in arguments.results.glob("*.json"):
            path.unlink()
    n_repetitions = 1 if arguments.quick else N_REPETITIONS
    wanted = jobs(n_repetitions, datasets, arguments.methods)
    try:
        run(wanted, store, arguments.jobs)
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    cells, sizes = _collect(wanted, store)
    tables = make_tables(cells, datasets)
    folder = arguments.docs / "paper"
    folder.mkdir(parents=True, exist_ok=True)
    points = figures.theorem_points(sizes)
    if points:
        figures.draw_theorem(points, folder)
    figures.draw_tuning(folder)
    write_text(folder / "tables.csv", to_csv(tables))
    for table in tables:
        write_text(folder / f"{table.quantity}.tex", table.to_latex() + "\n")
    command = "make paper" + (" ARGS=--quick" if arguments.quick else "")
    about = Run(command, n_repetitions, store.seconds(wanted), absent)
    page = make_page(about, tables, points, figures.ozone_list(), figures.machine_post_treatment())
    write_text(arguments.docs / "paper.md", page)
    print(f"\n{arguments.docs / 'paper.md'} is written, with {folder}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

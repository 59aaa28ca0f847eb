"""Reruns the paper: ``python -m paper [--quick]``. Stop it at any time; it goes on where it stopped."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from paper import figures
from paper.cells import Job, Store, jobs, run
from paper.compare import Sampled
from paper.methods import METHODS
from paper.page import RESULT_PAGES, STAGES, Lists, Run, make_page, readme, results_on, stages, write_results
from paper.problems import unavailable
from paper.published import DATASETS
from paper.tables import make_tables, to_csv
from pysirus._runtime.output import write_text

ROOT = Path(__file__).parents[1]
PARTS = [*METHODS, "samples", "theorem"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m paper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition of everything, for a look")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results, as after a change to the code")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes (default: 2)")
    parser.add_argument(
        "--datasets", nargs="+", default=list(DATASETS), choices=DATASETS, metavar="NAME", help=", ".join(DATASETS)
    )
    parser.add_argument("--methods", nargs="+", default=PARTS, choices=PARTS, metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--results", type=Path, default=ROOT / "paper" / "results.jsonl", help="where results are kept")
    parser.add_argument("--write", action="store_true", help="write the page from the results that are there")
    parser.add_argument("--compute", action="store_true", help="compute, and leave the page alone")
    parser.add_argument("--figures", action=argparse.BooleanOptionalAction, default=True, help="draw the figures again")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where paper.md and its figures go")
    return parser.parse_args()


def _collect(
    wanted: list[Job], store: Store
) -> tuple[dict[Any, list[Any]], dict[Any, list[Any]], dict[int, list[Any]]]:
    """Results by cell of the tables, by cell of the samples, and by sample size of the simulation."""
    cells: dict[Any, list[Any]] = {}
    sampled: dict[Any, list[Any]] = {}
    sizes: dict[int, list[Any]] = {}
    for job in wanted:
        result = store.get(job)
        if result is None:
            continue
        if job.dataset is None:
            sizes.setdefault(int(job.method), []).append(result)
        elif job.kind:
            sampled.setdefault((job.dataset, job.method, job.kind), []).append(result)
        else:
            cells.setdefault((job.dataset, job.method), []).append(result)
    return cells, sampled, sizes


def _write(arguments: argparse.Namespace, wanted: list[Job], store: Store, absent: dict[str, str]) -> None:
    """Tables, figures and the page from what is there."""
    cells, sampled, sizes = _collect(wanted, store)
    datasets = [name for name in arguments.datasets if name not in absent]
    tables = make_tables(cells, datasets)
    folder = arguments.docs / "paper"
    folder.mkdir(parents=True, exist_ok=True)
    points = figures.theorem_points(sizes)
    if points:
        figures.draw_theorem(points, folder)
    if arguments.figures:
        figures.draw_tuning(folder)
    write_text(folder / "tables.csv", to_csv(tables))
    for table in tables:
        write_text(folder / f"{table.quantity}.tex", table.to_latex() + "\n")
    command = "make paper" + (" ARGS=--quick" if arguments.quick else "")
    about = Run(command, store.seconds(wanted), absent, sum(store.get(job) is None for job in wanted))
    lists = Lists(figures.ozone_list(), figures.machine_post_treatment())
    write_text(arguments.docs / "paper.md", make_page(about, cells, Sampled(sampled, datasets), points, lists))
    if not arguments.quick and not absent:
        for page in RESULT_PAGES:
            write_results(ROOT / page, results_on(page, readme(tables, Sampled(sampled, datasets))))
        seconds = {(job.dataset, job.method): store.seconds([job]) for job in wanted if job.dataset and not job.kind}
        write_results(ROOT / STAGES, stages(cells, seconds, datasets), wrap=False)
    print(f"\n{arguments.docs / 'paper.md'} is written, with {folder}.")


def main() -> int:
    """Compute, then write tables, figures and the page."""
    arguments = _arguments()
    absent = {name: reason for name in arguments.datasets if (reason := unavailable(name))}
    for name, reason in absent.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    if arguments.fresh:
        arguments.results.unlink(missing_ok=True)
    store = Store(arguments.results)
    wanted = jobs(arguments.quick, [name for name in arguments.datasets if name not in absent], arguments.methods)
    if not arguments.write:
        try:
            run(wanted, store, arguments.jobs)
        except KeyboardInterrupt:
            print("Stopped. The same command goes on from here.", file=sys.stderr)
            return 130
        store.tidy(wanted)
    if not arguments.compute:
        _write(arguments, wanted, store, absent)
    return 0


if __name__ == "__main__":
    sys.exit(main())

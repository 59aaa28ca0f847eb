"""Everything that ``make bench`` measures, in one run, one thread each; ratios are what to compare between machines.

Exits with 1 when a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.console import Console
from rich.table import Table

from benchmarks.clock import best_of, in_new_process
from benchmarks.everyday import measure_fit, measure_predict, measure_start
from benchmarks.problems import Problem, made_up, shipped
from benchmarks.rivals import ours, scikit_learn
from benchmarks.rule_models import measure_rule_models
from benchmarks.tuning import measure_tuning
from pysirus import _core

N_TREES = 10_000
# of the time of scikit-learn's forest of 500 trees, which a plain build reaches in 0.06
FOREST_LIMIT = {"avx512": 0.02, "avx2": 0.03}.get(_core.instruction_sets()[0], 0.06)
FIT_LIMIT = 1.5 * FOREST_LIMIT
MEMORY_LIMIT = 1.0  # of the size of the array


def _mark(value: float, limit: float) -> str:
    return f"{value:.3f}" if value <= limit else f"[red]{value:.3f} (limit {limit})[/red]"


def measure_small(problem: Problem, n_rounds: int, table: Table) -> bool:
    """Growing and the whole fit against scikit-learn's forest."""
    growing = ours.make_forest(problem)
    seconds = best_of(
        {
            "sklearn": partial(scikit_learn.fit, problem, 500),
            "forest": partial(growing.grow, N_TREES),
            "fit": partial(ours.fit, problem, N_TREES),
        },
        n_rounds,
    )
    forest, fit = seconds["forest"] / seconds["sklearn"], seconds["fit"] / seconds["sklearn"]
    rows, columns = problem.X.shape
    table.add_row(
        f"{problem.name} ({rows} x {columns})",
        f"{1000 * seconds['sklearn']:.0f} ms",
        f"{1000 * seconds['forest']:.1f} ms",
        _mark(forest, FOREST_LIMIT),
        f"{1000 * seconds['fit']:.1f} ms",
        _mark(fit, FIT_LIMIT),
    )
    return forest <= FOREST_LIMIT and fit <= FIT_LIMIT


def measure_large(n_rounds: int) -> str:
    """Microseconds a tree on 100,000 rows: the trees are timed alone, on a table that is binned already."""
    problem, n_trees = made_up(100_000, 50), 100
    forest = ours.make_forest(problem)
    # each round grows the next 100 trees of the same forest
    seconds = best_of(
        {"grow": lambda: forest.grow(n_trees), "bin": lambda: ours.make_forest(problem)},
        n_rounds,
    )
    return (
        f"{problem.name}, {n_trees} trees: {seconds['grow'] / n_trees * 1e6:,.0f} microseconds a tree "
        f"(and {seconds['bin']:.2f} s to bin the table, once)"
    )


def measure_memory(console: Console) -> bool:
    """Peak memory that fitting 1,000,000 x 50 adds, against the array's own size."""
    found = json.loads(in_new_process("benchmarks.memory", 1_000_000, 50, 32))
    added = found["after"] - found["before"]
    share = added / found["array"]
    console.print(
        f"1,000,000 x 50 float32: the peak while fitting is {added:.0f} MB above the {found['before']:.0f} MB held "
        f"before; the array has {found['array']:.0f} MB: {_mark(share, MEMORY_LIMIT)}"
    )
    return share <= MEMORY_LIMIT


def measure_shape(n_rows: int, n_columns: int, n_trees: int) -> str:
    """Time and peak memory of one fit of a wide or a long table."""
    found = json.loads(in_new_process("benchmarks.memory", n_rows, n_columns, n_trees))
    return (
        f"{n_rows:,} x {n_columns:,} float32, {n_trees:,} trees: {found['seconds']:.1f} s of one processor, peak "
        f"{found['after'] - found['before']:.0f} MB above the {found['before']:.0f} MB held before (the array: "
        f"{found['array']:.0f} MB)"
    )


def main() -> int:
    """Measure, print, and say whether all is within limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds; the best of each job counts")
    rounds = parser.parse_args().rounds
    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 120)
    table = Table(
        title=f"{N_TREES:,} trees, one thread, processor time, against RandomForestRegressor(500)",
        box=None,
        title_justify="left",
    )
    for name in ("problem", "scikit-learn", "our forest", "ratio", "our fit", "ratio"):
        table.add_column(name, justify="left" if name == "problem" else "right", no_wrap=True)
    passed = [measure_small(shipped(name), rounds, table) for name in ("housing", "diabetes")]
    console.print(table)
    console.print()
    console.print(measure_large(max(3, rounds // 2)))
    console.print()
    for ratio in [measure_fit(rounds), *measure_predict(rounds), *measure_start(max(2, rounds // 3))]:
        console.print(f"{ratio.what}: {_mark(ratio.value, ratio.limit)}")
        passed.append(ratio.passes)
    tuning, within = measure_tuning(max(2, rounds // 3))
    passed.append(within)
    console.print()
    console.print(tuning)
    console.print()
    rule_models, within = measure_rule_models(max(2, rounds // 3))
    passed.append(within)
    console.print(rule_models)
    console.print()
    passed.append(measure_memory(console))
    console.print(measure_shape(100, 20_000, 1_000))
    console.print(measure_shape(2_000_000, 20, 100))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Sizes in, processor time of growing out, and the exponent of each size: time goes as size ** exponent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.clock import best_of
from benchmarks.problems import made_up
from pysirus._bins.cuts import bin_table
from pysirus._data.table import read_table
from pysirus._families.responses import NumberResponse
from pysirus._forest.forest import Forest, Recipe


class Growth(NamedTuple):
    """How the time of a forest grows with one size; the others stay."""

    what: str
    sizes: Sequence[int]
    seconds: Sequence[float]

    @property
    def exponent(self) -> float:
        """The slope of a line through the logarithms."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)[0])


def forest_of(
    n_rows: int = 20_000, n_columns: int = 24, n_bins: int = 10, max_features: int | None = 8, n_threads: int = 1
) -> Forest:
    """A forest without trees on a made-up table."""
    problem = made_up(n_rows, n_columns)
    response = NumberResponse(problem.y)
    binned = bin_table(read_table(problem.X), response, n_bins=n_bins, discrete_limit=10)
    return Forest(binned, response, Recipe(seed=0, max_features=max_features, n_threads=n_threads))


def measure(what: str, sizes: Sequence[int], make: Callable[[int], Callable[[], object]], n_rounds: int = 3) -> Growth:
    """The best time of each size, in turns."""
    jobs = {str(size): make(size) for size in sizes}
    seconds = best_of(jobs, n_rounds)
    return Growth(what, sizes, [seconds[str(size)] for size in sizes])


def measure_growth() -> list[Growth]:
    """Rows, columns, trees and bins, one thread."""
    trees = 64

    def growing(**sizes: int) -> Callable[[], object]:
        forest = forest_of(**sizes)
        return lambda: forest.grow(trees)

    fixed = forest_of()
    return [
        measure("rows", [500, 2_000, 8_000, 32_000, 128_000], lambda n: growing(n_rows=n)),
        measure("columns", [8, 16, 32, 64, 128], lambda p: growing(n_columns=p)),
        measure("trees", [64, 128, 256, 512], lambda m: lambda: fixed.grow(m)),
        measure("bins", [5, 10, 20, 40, 80], lambda q: growing(n_bins=q)),
    ]


def measure_threads(n_rounds: int = 5) -> float:
    """How much sooner two threads grow 100,000 x 50 on two idle cores: 2 * time of one / time of both together.

    By processor time, which other work on the machine does not touch; what two threads lose by waiting for memory or
    for each other is in it, what they lose at the end of a batch, when one has no block left, is not.
    """
    forests = {n: forest_of(100_000, 50, n_threads=n) for n in (1, 2)}
    jobs = {str(n): partial(forest.grow, 128) for n, forest in forests.items()}
    seconds = best_of(jobs, n_rounds)
    return 2 * seconds["1"] / seconds["2"]

"""What a tree costs at least, by counting, and what this machine does in that time, by measuring.

A tree of depth 2 draws a count for each row, adds count and count * value to a cell of every column at the root, works
out who went left and adds those rows again; right children are differences. So n * p additions of two numbers, twice,
and two reads of n * p bins; a block of 16 trees shares the reads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import best_of
from benchmarks.problems import Problem
from benchmarks.rivals import ours

LANES = 16


class Roofline(NamedTuple):
    """Counts and rates of one problem."""

    name: str
    additions: float  # per tree
    bytes_read: float  # per tree
    seconds: float  # per tree
    numpy_additions: float  # per second, of 32-bit numbers in the cache
    numpy_bytes: float  # per second, from memory


def measure_machine() -> tuple[float, float]:
    """Additions a second of 32-bit numbers in the cache, and bytes a second read from memory, as NumPy does them."""
    large = np.ones(1 << 24, dtype=np.float64)
    fastest = 0.0
    for size in (1 << 12, 1 << 13, 1 << 14, 1 << 15):  # small ones stay in L1, large ones hide the cost of a call
        numbers, times = np.ones(size, dtype=np.int32), (1 << 26) // size

        def add(numbers: NDArray[np.int32] = numbers, times: int = times) -> None:
            for _ in range(times):
                np.add(numbers, 1, out=numbers)

        fastest = max(fastest, size * times / best_of({"add": add}, 5)["add"])
    return fastest, large.nbytes / best_of({"read": large.sum}, 5)["read"]


def measure_roofline(problem: Problem, n_trees: int, machine: tuple[float, float]) -> Roofline:
    """What growing does a second, beside what NumPy does."""
    forest = ours.make_forest(problem)
    seconds = best_of({"grow": lambda: forest.grow(n_trees)}, 5)["grow"] / n_trees
    n, p = problem.X.shape
    return Roofline(problem.name, 2 * 2 * n * p, 2 * n * p / LANES, seconds, *machine)

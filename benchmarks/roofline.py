"""What a tree costs at least, by counting, and what this machine does in that time, by measuring.

A tree of depth 2 draws a count for each row and multiplies it by four bytes for every column: by one and by the three
digits of the response, for the size and the sum of a cell. It does so at the root and again for the left children;
right children are differences. So 8 n p products of bytes, each added to a sum in a register. What is read are rows in
the order of their bins, two bytes of row number and three of digits, twice; a block of 64 trees shares the reads.
"""

from __future__ import annotations

import subprocess
from typing import NamedTuple

import numpy as np

from benchmarks.clock import ROOT, best_of
from benchmarks.problems import Problem
from benchmarks.rivals import ours

BLOCK = 64
BYTES_A_BIN = 5


class Roofline(NamedTuple):
    """Counts and rates of one problem."""

    name: str
    products: float  # per tree
    bytes_read: float  # per tree
    seconds: float  # per tree
    peak_products: float  # per second, in registers
    numpy_bytes: float  # per second, from memory


def measure_machine() -> tuple[float, float]:
    """Products of bytes a second, summed in registers by a small program, and bytes a second that NumPy reads."""
    subprocess.run(["make", "-s", "build/core/peak"], cwd=ROOT, check=True)
    peak = subprocess.run([ROOT / "build/core/peak"], capture_output=True, check=True, text=True)
    large = np.ones(1 << 24, dtype=np.float64)
    return float(peak.stdout), large.nbytes / best_of({"read": large.sum}, 5)["read"]


def measure_roofline(problem: Problem, n_trees: int, machine: tuple[float, float]) -> Roofline:
    """What growing does a second, beside what the machine does at most."""
    forest = ours.make_forest(problem)
    seconds = best_of({"grow": lambda: forest.grow(n_trees)}, 5)["grow"] / n_trees
    n, p = problem.X.shape
    return Roofline(problem.name, 8 * n * p, 2 * BYTES_A_BIN * n * p / BLOCK, seconds, *machine)

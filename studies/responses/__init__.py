"""Counts, amounts and survival beside regressions, trees and forests: ``make study-responses``."""

import paper  # noqa: F401  before NumPy is there: one thread a process, and processes fill the cores

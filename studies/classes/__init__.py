"""Classifiers of pysirus beside others on twelve tables: ``make study-classes``."""

import paper  # noqa: F401  before NumPy is there: one thread a process, and processes fill the cores

"""Fifty tables that the project had not used, and every peer: error, size and stability (docs/benchmark-study.md)."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before libraries are imported: a cell has one thread

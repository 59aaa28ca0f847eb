"""The experiments of the SIRUS paper (Bénard et al. 2021), rerun: ``make paper``."""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before NumPy is there: one thread a process, and processes fill the cores

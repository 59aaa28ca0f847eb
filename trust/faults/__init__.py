"""Faults on purpose: the k-th allocation, write, read, open, rename, thread or query fails, for every k.

    python -m trust.faults                   # every k of fit, save, predict, report and fit_files
    python -m trust.faults --most 20         # at most 20 points of each, spread over all

What fails must end in an error that says so, with nothing half-written, nothing leaked, and the next try as if there
had been none; or pysirus recovers, and the answer is the same. ``shim.c`` makes the system's calls fail and is loaded
before all other libraries; queries to rows in partitions fail in Python.
"""

"""R's sirus, by Rscript: 10,000 trees, one thread. R times itself, so that its start does not count."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.problems import Problem

TITLE, VERSION_OF = "R sirus, 10,000 trees", "R"
SCRIPT = """
suppressMessages(library(sirus))
d <- read.csv(commandArgs(TRUE)[1]); y <- d$y; d$y <- NULL
t <- proc.time()
invisible(sirus.fit(d, y, type = "reg", num.rule = 10, num.trees = 10000, num.threads = 1, seed = 1, verbose = FALSE))
t <- proc.time() - t
cat(t[["user.self"]] + t[["sys.self"]])
"""


def ready() -> None:
    """Find R and its package."""
    if shutil.which("Rscript") is None:
        raise ImportError("Rscript is not installed")
    if subprocess.run(["Rscript", "-e", "library(sirus)"], capture_output=True).returncode:
        raise ImportError("R has no package sirus")


def fit(problem: Problem) -> float:
    """The same job as ours; returns the processor seconds that R counted."""
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder) / "data.csv", Path(folder) / "fit.R"
        names = [f"x{i}" for i in range(problem.X.shape[1])]
        table = np.column_stack([problem.X, problem.y])
        np.savetxt(data, table, delimiter=",", header=",".join([*names, "y"]), comments="")
        script.write_text(SCRIPT)
        command = ["Rscript", str(script), str(data)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

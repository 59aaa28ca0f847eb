"""What tests are given: the paper's datasets, answers of the R package, tables in bins."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oracle
from pysirus._bins.cuts import Binned, bin_table
from pysirus._bins.numeric import line_sums, lines_of, may_slope, with_grids
from pysirus._data.table import read_table
from pysirus._families.responses import IntegerRows, NumberResponse

SHARED = Path(os.environ.get("PYSIRUS_SHARED", Path(__file__).parents[2] / "shared"))
TARGETS = {"ozone": "O3", "machine": "perf", "diabetes": "target", "housing": "medv", "prostate": "lpsa", "mpg": "mpg"}


def read_dataset(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """One of the datasets that pysirus ships."""
    try:
        load = getattr(import_module("pysirus.datasets"), f"load_{name}")
    except ImportError:
        if not (SHARED / "data").is_dir():
            pytest.skip(f"no dataset {name}: neither pysirus.datasets nor the folder PYSIRUS_SHARED is there")
        frame = pd.read_csv(SHARED / "data" / f"{name}.csv")
        return frame.drop(columns=TARGETS[name]), frame[TARGETS[name]]
    return load(return_X_y=True, as_frame=True)


def read_reference(name: str) -> dict:
    """What the R package answered; skips where the folder is not there."""
    path = SHARED / "reference" / name
    if not path.is_file():
        pytest.skip(f"{path} is not there: set PYSIRUS_SHARED to the folder with reference/")
    return json.loads(path.read_text())


def bin_arrays(X, y, weights=None, *, n_bins=10, discrete_limit=10) -> tuple[Binned, NumberResponse]:
    """A table in bins, with its response."""
    response = NumberResponse(np.asarray(y, dtype=np.float64), weights=weights)
    return bin_table(read_table(X), response, n_bins=n_bins, discrete_limit=discrete_limit), response


def code_of(binned: Binned, feature: str, op: str, value: float) -> int:
    """The code of a split, found by its name and the threshold as printed (six digits or so)."""
    index = [cuts.column.name for cuts in binned.cuts].index(feature)
    thresholds = binned.cuts[index].thresholds
    cut = int(np.argmin(abs(thresholds - value)))
    assert abs(thresholds[cut] - value) <= 1e-6 * max(1.0, abs(value)), f"{feature} has no cut at {value}"
    return 2 * (int(binned.split_offset[index]) + cut) + (op == ">=")


def codes_of(binned: Binned, conditions) -> list[int]:
    """The codes of a path, padded to four."""
    codes = sorted(code_of(binned, c["feature"], c["op"], c["value"]) for c in conditions)
    return codes + [-1] * (4 - len(codes))


def reference_paths(binned: Binned, reference: dict):
    """R's frequencies as the paths of a forest."""
    codes = np.array([codes_of(binned, p["conditions"]) for p in reference["paths"]], dtype=np.int32)
    counts = np.array([round(p["frequency"] * reference["trees"]) for p in reference["paths"]], dtype=np.int64)
    return oracle.order_paths(codes, counts, reference["trees"])


def column_lines(table, binned, response):
    """What lines in the columns of a table in bins are made of, None for each that may not be one."""
    beside = with_grids(binned, table, [i for i, own in enumerate(binned.cuts) if may_slope(own)])
    lines = lines_of(binned.cuts, beside.grids, line_sums(beside, IntegerRows(response)))
    return tuple(lines.get(i) for i in range(len(binned.cuts)))

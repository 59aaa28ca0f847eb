"""Fixtures: the folder of data that may not be shipped, the paper's datasets, tables in bins."""

from __future__ import annotations

import json
import os
import signal
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

import oracle
from pysirus._bins.cuts import Binned, bin_table
from pysirus._data.table import read_table
from pysirus._response.response import NumberResponse

QUIET = [HealthCheck.filter_too_much, HealthCheck.too_slow]
settings.register_profile("pysirus", deadline=None, max_examples=40, derandomize=True, suppress_health_check=QUIET)
settings.load_profile("pysirus")

SHARED = Path(os.environ.get("PYSIRUS_SHARED", Path(__file__).parents[2] / "shared"))
TARGETS = {"ozone": "O3", "machine": "perf", "diabetes": "target", "housing": "medv", "prostate": "lpsa", "mpg": "mpg"}


# the files that take longest and wait for other programs, which must not be the last
FIRST = ["test_spark", "test_report", "test_dask", "test_export", "test_sql_mariadb", "test_sql_postgres"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, the others in the order of folders."""
    items.sort(key=lambda item: FIRST.index(item.path.stem) if item.path.stem in FIRST else len(FIRST))


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


@pytest.fixture(scope="session")
def ozone():
    return read_dataset("ozone")


@pytest.fixture(scope="session")
def machine():
    return read_dataset("machine")


@pytest.fixture(scope="session")
def diabetes():
    return read_dataset("diabetes")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def interrupts():
    """SIGINT is a KeyboardInterrupt, here and in programs started here: shells have background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    """Run the command line in this process; its exit code, output and messages."""
    from pysirus.cli import main

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leaving:
            main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return int(leaving.value.code or 0), captured.out, captured.err

    return call

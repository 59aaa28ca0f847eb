"""Fixtures, and the order of files.

The process that hands files to workers reads this too, and runs no test: what takes time to import is imported where it
is used.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

QUIET = [HealthCheck.filter_too_much, HealthCheck.too_slow]
N_CASES = 40 if os.environ.get("PYSIRUS_TEST_FULL") == "1" else 25
settings.register_profile("pysirus", deadline=None, max_examples=N_CASES, derandomize=True, suppress_health_check=QUIET)
settings.load_profile("pysirus")
os.environ.setdefault("PYSIRUS_COMPILATION_CACHE", "off")  # tests leave nothing in the folders of who runs them

# the files that take longest, which must not be the last; at any time one that keeps its core busy beside two that wait
# for other programs
FIRST = ["test_spark", "test_dask", "test_docs", "test_report", "test_tune", "test_export", "test_sql"]
FIRST += ["test_sql_mariadb", "test_kernel", "test_cli_output", "test_sql_postgres", "test_engine", "test_trust"]
FIRST += ["test_stages", "test_plot_model", "test_rulefit", "test_damage"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, the others in the order of folders."""
    items.sort(key=lambda item: FIRST.index(item.path.stem) if item.path.stem in FIRST else len(FIRST))


@pytest.fixture(scope="session")
def ozone():
    from given import read_dataset

    return read_dataset("ozone")


@pytest.fixture(scope="session")
def machine():
    from given import read_dataset

    return read_dataset("machine")


@pytest.fixture(scope="session")
def diabetes():
    from given import read_dataset

    return read_dataset("diabetes")


@pytest.fixture
def rng():
    import numpy as np

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

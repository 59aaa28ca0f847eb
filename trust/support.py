"""Every combination of target, learner, source of rows and export tried on small tables; docs/reference/support.md out.

Run ``python -m trust.support`` after a change of what works together: it starts Dask and Spark, and runs the GPU's code
on JAX's CPU. ``--fast`` leaves these three out and only compares. A refusal must be an error of pysirus that explains
itself; any other error ends the run.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pysirus
from pysirus._text.message import SafeTextError

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/support.md"
BEGIN, END = "<!-- written by python -m trust.support -->\n", "<!-- end -->\n"
FORMATS = ("sql", "python", "excel", "onnx", "pmml", "scorecard")
SLOW = ("Dask", "Spark", "GPU")
GIVEN: dict[str, Any] = {"n_trees": 20, "random_state": 0}
TUNED: dict[str, Any] = {**GIVEN, "cv": 2, "n_repeats": 1}


def make_table() -> pd.DataFrame:
    """Features and a target of every kind."""
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"a": draw.normal(size=120), "b": draw.integers(0, 5, 120).astype(float)})
    signal = table["a"] + table["b"] / 2 + draw.normal(size=120) / 2
    table["amount"] = np.exp(signal)
    table["count"] = draw.poisson(np.exp(signal / 2)).astype(float)
    table["cost"] = np.where(draw.random(120) < 0.3, 0.0, table["amount"])
    table["two"] = np.where(signal > 1, "yes", "no")
    table["three"] = np.array(["low", "middle", "high"])[np.digitize(signal, (0.5, 1.5))]
    table["event"] = draw.random(120) < 0.8
    return table


TABLE = make_table()
FEATURES = ["a", "b"]
# what is predicted -> the estimator without its ending, its parameters, the target
TARGETS: dict[str, tuple[str, dict[str, Any], str]] = {
    "regression": ("SirusRegressor", {}, "amount"),
    "counts (`poisson`)": ("SirusRegressor", {"loss": "poisson"}, "count"),
    "amounts (`gamma`)": ("SirusRegressor", {"loss": "gamma"}, "amount"),
    "amounts with zeros (`tweedie`)": ("SirusRegressor", {"loss": "tweedie"}, "cost"),
    "two classes": ("SirusClassifier", {}, "two"),
    "several classes": ("SirusClassifier", {}, "three"),
    "classes, equal weights": ("SirusClassifier", {"weighting": "equal"}, "two"),
    "survival": ("SirusSurvival", {}, "amount"),
}


def tried(work: Callable[[], Any]) -> bool:
    """Whether it works; a refusal is an error that pysirus words itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            work()
        except SafeTextError:
            return False
        except AttributeError as error:  # of a module that has no such estimator
            if "pysirus" not in str(error):
                raise
            return False
    return True


class Attempts:
    """What is tried with one target, by the names of the columns of the page."""

    def __init__(self, target: str, folder: Path, spark: Any = None) -> None:
        self.estimator, self.given, self.target = TARGETS[target]
        self.folder, self.spark = folder, spark
        self.file = folder / "table.parquet"
        if not self.file.exists():
            TABLE.to_parquet(self.file)
        self.fitted = self.fit()

    def fit(self, ending: str = "", **more: Any) -> Any:
        """Fit in memory."""
        y = TABLE[["event", self.target]] if self.estimator == "SirusSurvival" else TABLE[self.target]
        given = TUNED if ending else GIVEN
        return getattr(pysirus, self.estimator + ending)(**given, **self.given, **more).fit(TABLE[FEATURES], y)

    def files(self) -> Any:
        """Fit from a Parquet file."""
        drop = [name for name in TABLE if name not in [*FEATURES, self.target]]
        estimator = getattr(pysirus, self.estimator)(**GIVEN, **self.given)
        return estimator.fit_files(self.file, target=self.target, drop=drop)

    def dask(self) -> Any:
        """Fit a Dask DataFrame."""
        import dask.dataframe as dd

        import pysirus.dask as module

        frame = dd.from_pandas(TABLE[[*FEATURES, self.target]], npartitions=2)
        return getattr(module, self.estimator)(**GIVEN, **self.given).fit(frame[FEATURES], frame[self.target])

    def on_spark(self) -> Any:
        """Fit a Spark data frame."""
        import pysirus.spark as module

        frame = self.spark.createDataFrame(TABLE[[*FEATURES, self.target]])
        return getattr(module, self.estimator)(**GIVEN, **self.given).fit(frame, self.target)

    @property
    def columns(self) -> dict[str, Callable[[], Any]]:
        """What is tried, under each heading."""
        return {
            "tuning": lambda: self.fit("CV"),
            "stages": lambda: self.fit(n_stages=2),
            "slopes": lambda: self.fit(n_stages=2, slopes=True),
            "directions": lambda: self.fit(monotonic_cst={"a": 1}),
            "files": self.files,
            "Dask": self.dask,
            "Spark": self.on_spark,
            "GPU": lambda: self.fit(device="gpu"),
            **{format: lambda format=format: self.fitted.export(format) for format in FORMATS},
        }


def measure(*, fast: bool = False) -> dict[str, dict[str, bool]]:
    """What works, by target and column."""
    found: dict[str, dict[str, bool]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        spark = None
        if not fast:
            from pyspark.sql import SparkSession

            os.environ.update(PYSIRUS_TEST_JAX_PLATFORM="cpu", PYSPARK_PYTHON=sys.executable)
            spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
            stack.callback(spark.stop)
        for target in TARGETS:
            attempts = Attempts(target, folder, spark)
            columns = attempts.columns
            found[target] = {name: tried(columns[name]) for name in columns if not (fast and name in SLOW)}
    return found


def as_table(found: dict[str, dict[str, bool]]) -> str:
    """The page's table."""
    columns = list(next(iter(found.values())))
    lines = ["| target | " + " | ".join(columns) + " |", "|---|" + ":---:|" * len(columns)]
    for target, row in found.items():
        lines.append(f"| {target} | " + " | ".join("yes" if row[name] else "no" for name in columns) + " |")
    return "\n".join(lines) + "\n"


def read_page() -> dict[str, dict[str, bool]]:
    """What the page says."""
    lines = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(cells[0][1:], [cell == "yes" for cell in row[1:]])) for row in cells[2:]}


def main() -> int:
    if "--fast" in sys.argv:
        said = read_page()
        return int(
            any(
                said[target][name] != works for target, row in measure(fast=True).items() for name, works in row.items()
            )
        )
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{as_table(measure())}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What is tried: a small fit, save, load, prediction, report and ``fit_files``, each with an answer to compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import pysirus

NAMES = ("fit", "fit classes", "fit survival", "save", "load", "predict", "report", "fit_files")
N_ROWS = 60
SMALL: dict[str, Any] = {"n_trees": 40, "n_rules": 3, "random_state": 0, "n_jobs": 2}


def table() -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """A column of numbers with gaps, one of text, one of noise; numbers and classes that depend on them."""
    i = np.arange(N_ROWS)
    x = np.where(i % 11 == 0, np.nan, i * 7 % 13.0)
    town = np.array(["Rome", "Oslo", "Bern"])[i % 3]
    y = np.nan_to_num(x) + 3.0 * (town == "Oslo") + (i % 5) / 10
    return pa.table({"x": x, "town": town, "noise": i * 5 % 17}), y, np.array(["no", "yes"])[(y > 6).astype(int)]


@dataclass(frozen=True)
class Work:
    """Something to do, and what it answered; ``before`` puts back the files that it writes."""

    run: Callable[[], Any]
    answer: Callable[[Any], Any] = str
    before: Callable[[], Any] = lambda: None


def works(folder: Path) -> dict[str, Work]:
    """Each of ``NAMES`` and its work."""
    X, y, labels = table()
    rows, saved, page = folder / "rows.parquet", folder / "model.json", folder / "page.html"
    pyarrow.parquet.write_table(X.append_column("y", pa.array(y)), rows, row_group_size=20)
    model = pysirus.SirusRegressor(**SMALL).fit(X, y)
    times = np.array(list(zip(labels == "yes", y + 1.0)), dtype=[("event", bool), ("time", float)])
    pysirus.SirusRegressor(**{**SMALL, "n_rules": 1}).fit(X, y).save(saved)
    older = saved.read_bytes()
    page.write_text("an older page")
    made = [
        Work(lambda: pysirus.SirusRegressor(**SMALL).fit(X, y)),
        Work(lambda: pysirus.SirusClassifier(**SMALL).fit(X, labels)),
        Work(lambda: pysirus.SirusSurvival(**SMALL).fit(X, times)),
        Work(lambda: model.save(saved), lambda _: saved.read_bytes(), lambda: saved.write_bytes(older)),
        Work(lambda: pysirus.load(saved)),
        Work(lambda: model.predict(X), lambda found: found.tolist()),
        Work(
            lambda: model.report(page, X=X), lambda _: len(page.read_bytes()), lambda: page.write_text("an older page")
        ),
        Work(lambda: pysirus.SirusRegressor(**SMALL).fit_files(rows, "y", scratch=folder)),
    ]
    return dict(zip(NAMES, made, strict=True))

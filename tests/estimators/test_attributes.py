"""Every attribute that ``fit`` sets is in the docstring of its estimator, and nothing else is."""

import re

import pandas as pd
import pytest

import pysirus
from pysirus.datasets import load_ozone

ESTIMATORS = [name for name in pysirus.__all__ if hasattr(getattr(pysirus, name), "fit")]


def documented_in(docstring):
    """The names under Attributes."""
    section = re.split(r"\n\n(?=\w+\n-+\n)", docstring.split("Attributes\n----------\n")[1])[0]
    entries = re.findall(r"^(\w[\w, ]*?) :", section, re.MULTILINE)
    return {name for entry in entries for name in entry.split(", ")}


@pytest.fixture(scope="module")
def table():
    X, y = load_ozone(return_X_y=True, as_frame=True)
    return X, {
        "Regressor": y,
        "Classifier": (y > 15).map({True: "high", False: "low"}),
        "Survival": pd.DataFrame({"event": y > 5, "time": y + 1}),
    }


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fitted_attributes_are_those_that_are_documented(name, table):
    X, targets = table
    kind = getattr(pysirus, name)
    small = {"n_trees": 50, "random_state": 0, "n_repeats": 1, "cv": 3}
    options = {key: value for key, value in small.items() if key in kind().get_params()}
    model = kind(**options).fit(X, next(targets[task] for task in targets if task in name))
    properties = {own for own in dir(kind) if isinstance(getattr(kind, own, None), property)}
    fitted = {own for own in {*vars(model), *properties} if own.endswith("_") and not own.startswith("_")}
    assert documented_in(kind.__doc__) == {own for own in fitted if hasattr(model, own)}
    assert "{" not in kind.__doc__.split("Attributes")[1].split("Examples")[0].split("Notes")[0]


def test_names_can_be_listed_as_an_editor_lists_them(table):
    X, targets = table
    for name in ESTIMATORS:
        model = getattr(pysirus, name)()
        assert "fit" in dir(model)
    for task, y in targets.items():
        fitted = getattr(pysirus, f"Sirus{task}")(n_trees=50, random_state=0).fit(X, y)
        assert "rules_" in dir(fitted) and "rules" in dir(fitted.model_)
    names = dir(pysirus)
    assert len(names) == len(set(names))
    assert {name for name in names if not name.startswith("_")} == set(pysirus.__all__)

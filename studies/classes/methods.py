"""A method's name and a table in, an estimator out; what each method needs, and by which versions results are kept.

The other methods are those that a reader would try first, with settings fixed beforehand. The three of pysirus choose
everything that they choose inside the training rows, with the library's defaults but for the repetitions of their own
cross-validation: two instead of ten, so that the study takes an hour of processor time and not five. Stages are stages
of rules, without slopes.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import pysirus
from pysirus import SirusClassifierCV

TUNING_REPETITIONS = 2


@dataclass(frozen=True)
class Method:
    """A classifier of the study."""

    title: str
    package: str  # whose version matters
    make: Callable[[int], Any]  # seed -> estimator
    seconds: float  # of a fit on a thousand rows, roughly: for the time left, not for results
    parameters: tuple[str, ...] = ()  # those of pysirus that it needs

    def missing(self) -> str | None:
        """Why it cannot be run here; None when it can."""
        if self.package == "interpret-core" and importlib.util.find_spec("interpret") is None:
            return "pip install interpret-core"
        unknown = [name for name in self.parameters if name not in SirusClassifierCV().get_params()]
        return f"this pysirus has no {' and no '.join(unknown)} in SirusClassifierCV" if unknown else None

    def key(self) -> dict[str, str]:
        """What a result depends on beside the table: another key, another result."""
        model = self.make(0)
        last = model[-1] if isinstance(model, Pipeline) else model
        # an editable install may announce the version that it was made from
        number = pysirus.__version__ if self.package == "pysirus" else version(self.package)
        return {self.package: number, "settings": " ".join(repr(last).split())}


def one_hot(*steps: Any) -> Pipeline:
    """Numbers with the median, categories with the most frequent one where they are missing; one column a category."""
    text = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    numbers = make_column_selector(dtype_include="number")
    others = make_column_selector(dtype_exclude="number")
    columns = make_column_transformer((SimpleImputer(strategy="median"), numbers), (text, others))
    return make_pipeline(columns, *steps)


def _logistic(seed: int) -> Any:
    return one_hot(StandardScaler(), LogisticRegression(C=1.0, max_iter=5_000))


def _forest(seed: int) -> Any:
    return one_hot(RandomForestClassifier(500, min_samples_leaf=3, random_state=seed))


def _tree(seed: int) -> Any:
    return one_hot(DecisionTreeClassifier(max_depth=4, random_state=seed))


def _ebm(seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=seed)


def _majority(seed: int) -> Any:
    return DummyClassifier(strategy="prior")


def _sirus(seed: int, **parameters: Any) -> Any:
    return SirusClassifierCV(random_state=seed, n_repeats=TUNING_REPETITIONS, **parameters)


METHODS = {
    "majority": Method("majority class", "scikit-learn", _majority, 0.01),
    "logistic": Method("logistic regression", "scikit-learn", _logistic, 0.1),
    "forest": Method("random forest", "scikit-learn", _forest, 1.5),
    "tree": Method("tree of depth 4", "scikit-learn", _tree, 0.05),
    "ebm": Method("EBM", "interpret-core", _ebm, 30),
    "equal": Method(
        "SIRUS, equal weights", "pysirus", partial(_sirus, weighting="equal", criterion="error"), 10, ("weighting",)
    ),
    "likelihood": Method(
        "SIRUS, likelihood weights", "pysirus", partial(_sirus, weighting="likelihood"), 10, ("weighting",)
    ),
    "stages": Method("SIRUS, stages", "pysirus", partial(_sirus, n_stages="auto", slopes=False), 60, ("n_stages",)),
}
RULES = ("equal", "likelihood", "stages")


def n_rules(model: Any) -> int | None:
    """How many rules a fitted model has; a tree has one a leaf, and other models none."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(last, DecisionTreeClassifier):
        return int(last.get_n_leaves())
    return len(last.rules_) if hasattr(last, "rules_") else None


def fit(method: Method, X: pd.DataFrame, y: Any, seed: int) -> Any:
    """A model of the training rows; a category that only held-out rows have is no news here."""
    warnings.filterwarnings("ignore", message=".*(unseen|unknown) categor.*")
    return method.make(seed).fit(X, y)

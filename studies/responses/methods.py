"""A method's name and a kind of response in, an estimator out; what each method needs.

Regressions see standardised columns, one for each category, and choose their ridge penalty by cross-validation. Cox
regression is there twice: with the penalty that scikit-survival's users get from a grid search, which is by
concordance and shrinks survival curves too far, and with a fixed small one.
Those of pysirus choose everything inside the training rows, with the library's defaults but for two repetitions of
their own cross-validation; stages are stages of rules, without slopes.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import pysirus

TUNING_REPETITIONS = 2
PENALTIES = np.logspace(-5, 1, 7)  # of a mean deviance
COX_PENALTIES = np.logspace(-2, 4, 7)  # of a log-likelihood
LOSS = {"counts": "poisson", "amounts": "gamma"}


@dataclass(frozen=True)
class Method:
    """A model of the study."""

    title: str
    package: str  # whose version matters
    kinds: tuple[str, ...]
    make: Callable[[str, int], Any]  # kind, seed -> estimator
    weights: str | None = "sample_weight"  # as ``fit`` calls them

    def missing(self) -> str | None:
        """Why it cannot be run here; None when it can."""
        if self.package == "scikit-survival" and importlib.util.find_spec("sksurv") is None:
            return "pip install scikit-survival"
        return None

    def key(self, kind: str) -> dict[str, str]:
        """What a result depends on beside the table: another key, another result."""
        number = pysirus.__version__ if self.package == "pysirus" else version(self.package)
        return {self.package: number, "settings": " ".join(repr(_last(self.make(kind, 0))).split())}


def _last(model: Any) -> Any:
    """What is behind the preparation of columns and the choice of a penalty."""
    model = model.estimator if isinstance(model, GridSearchCV) else model
    return model[-1] if hasattr(model, "steps") else model


def one_hot(*steps: Any, standardised: bool) -> Any:
    """Numbers with the median, categories with the most frequent one where missing; a column a category."""
    text = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop="first" if standardised else None),
    )
    numbers = make_column_selector(dtype_include="number")
    others = make_column_selector(dtype_exclude="number")
    columns = make_column_transformer((SimpleImputer(strategy="median"), numbers), (text, others))
    return make_pipeline(columns, *([StandardScaler()] if standardised else []), *steps)


def _penalised(model: Any, name: str, values: Any, seed: int, scoring: str | None) -> Any:
    folds = KFold(5, shuffle=True, random_state=seed)
    return GridSearchCV(one_hot(model, standardised=True), {name: values}, cv=folds, scoring=scoring)


def _regression(kind: str, seed: int) -> Any:
    if kind == "survival":
        from sksurv.linear_model import CoxPHSurvivalAnalysis

        return _penalised(
            CoxPHSurvivalAnalysis(ties="efron"), "coxphsurvivalanalysis__alpha", COX_PENALTIES, seed, None
        )
    model = PoissonRegressor(max_iter=1_000) if kind == "counts" else GammaRegressor(max_iter=1_000)
    name = f"{type(model).__name__.lower()}__alpha"
    return _penalised(model, name, PENALTIES, seed, f"neg_mean_{LOSS[kind]}_deviance")


def _cox_fixed(kind: str, seed: int) -> Any:
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    return one_hot(CoxPHSurvivalAnalysis(alpha=1.0, ties="efron"), standardised=True)


def _boosting(kind: str, seed: int) -> Any:
    return one_hot(HistGradientBoostingRegressor(loss=LOSS[kind], random_state=seed), standardised=False)


def _forest(kind: str, seed: int) -> Any:
    from sksurv.ensemble import RandomSurvivalForest

    return one_hot(RandomSurvivalForest(300, min_samples_leaf=10, random_state=seed), standardised=False)


def _tree(kind: str, seed: int) -> Any:
    from sksurv.tree import SurvivalTree

    return one_hot(SurvivalTree(max_depth=3, random_state=seed), standardised=False)


def _constant(kind: str, seed: int) -> Any:
    return DummyRegressor()


def _sirus(**parameters: Any) -> Callable[[str, int], Any]:
    def make(kind: str, seed: int) -> Any:
        if kind == "survival":
            return pysirus.SirusSurvivalCV(random_state=seed, n_repeats=TUNING_REPETITIONS, **parameters)
        return pysirus.SirusRegressorCV(loss=LOSS[kind], random_state=seed, n_repeats=TUNING_REPETITIONS, **parameters)

    return make


NUMBERS = ("counts", "amounts")
EVERY = (*NUMBERS, "survival")
METHODS = {
    "constant": Method("constant", "scikit-learn", NUMBERS, _constant),
    "regression": Method("regression with ridge", "scikit-learn", NUMBERS, _regression),
    "boosting": Method("boosted trees", "scikit-learn", NUMBERS, _boosting),
    "cox": Method("Cox regression, ridge by concordance", "scikit-survival", ("survival",), _regression, None),
    "cox_fixed": Method("Cox regression, ridge of 1", "scikit-survival", ("survival",), _cox_fixed, None),
    "forest": Method("random survival forest", "scikit-survival", ("survival",), _forest, None),
    "tree": Method("survival tree of depth 3", "scikit-survival", ("survival",), _tree, None),
    "list": Method("SIRUS, one stage", "pysirus", EVERY, _sirus()),
    "stages": Method("SIRUS, stages", "pysirus", EVERY, _sirus(n_stages="auto", slopes=False)),
}


def fit(method: Method, kind: str, X: Any, y: Any, weights: Any, seed: int) -> Any:
    """A model of the training rows."""
    warnings.simplefilter("ignore")  # categories that only held-out rows have, penalties that converge slowly
    model = method.make(kind, seed)
    if method.weights is None or (weights == 1).all():
        return model.fit(X, y)
    inner = model.estimator if isinstance(model, GridSearchCV) else model
    name = f"{inner.steps[-1][0]}__sample_weight" if hasattr(inner, "steps") else "sample_weight"
    return model.fit(X, y, **{name: weights})

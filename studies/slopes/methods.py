"""A method's name in, an estimator out. Settings were written down before the first result.

Lists of ten terms have ten stages of one term each, all else by default. Tuned lists choose everything inside the
training rows. The linear model is a ridge regression with a penalty chosen by generalised cross-validation, on
standardised columns, one for each category; the forest has 500 trees on columns where categories are numbers in
alphabetical order; an EBM sees the table as it is.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import pysirus
from pysirus import SirusRegressor, SirusRegressorCV

N_TERMS = 10
N_INNER = 2  # repetitions of the folds of tuning: the same for all, so that they choose from the same figures


@dataclass(frozen=True)
class Method:
    """A model of the study."""

    title: str
    package: str  # whose version matters
    make: Callable[[int], Any]  # seed -> estimator
    has_terms: bool = False
    n_repetitions: int = 10
    with_halves: bool = True  # whether lists of disjoint halves are compared too

    def missing(self) -> str | None:
        """Why it cannot be run here; None when it can."""
        if self.package == "interpret-core" and importlib.util.find_spec("interpret") is None:
            return "pip install interpret-core"
        return None

    def key(self) -> dict[str, str]:
        """What a result depends on beside the table: another key, another result."""
        number = pysirus.__version__ if self.package == "pysirus" else version(self.package)
        said = " ".join(repr(self.make(0)).split())
        return {self.package: number, "settings": re.sub(r" at 0x[0-9a-f]+", "", said)}


def _in_stages(slopes: bool) -> Callable[[int], Any]:
    return lambda seed: SirusRegressor(n_rules=1, n_stages=N_TERMS, slopes=slopes, random_state=seed, n_jobs=1)


def _tuned(slopes: bool | str) -> Callable[[int], Any]:
    given = {"n_stages": "auto", "slopes": slopes, "n_repeats": N_INNER}
    return lambda seed: SirusRegressorCV(**given, random_state=seed, n_jobs=1)


def _numbers() -> Any:
    return make_column_selector(dtype_include="number")


def _others() -> Any:
    return make_column_selector(dtype_exclude="number")


def _linear(seed: int) -> Any:
    text = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    columns = make_column_transformer((SimpleImputer(strategy="median"), _numbers()), (text, _others()))
    return make_pipeline(columns, StandardScaler(), RidgeCV(np.logspace(-3, 4, 15)))


def _forest(seed: int) -> Any:
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    text = make_pipeline(SimpleImputer(strategy="most_frequent"), encode)
    columns = make_column_transformer((SimpleImputer(strategy="median"), _numbers()), (text, _others()))
    return make_pipeline(columns, RandomForestRegressor(500, random_state=seed, n_jobs=1))


def _shapes(seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingRegressor

    return ExplainableBoostingRegressor(random_state=seed, n_jobs=1)


METHODS = {
    "rules": Method(f"rules, {N_TERMS} terms", "pysirus", _in_stages(False), True),
    "slopes": Method(f"rules and slopes, {N_TERMS} terms", "pysirus", _in_stages(True), True),
    "tuned-rules": Method("rules, tuned", "pysirus", _tuned(False), True, 2, False),
    "tuned-slopes": Method("rules and slopes, tuned", "pysirus", _tuned(True), True, 2, False),
    "auto": Method('tuned, slopes="auto"', "pysirus", _tuned("auto"), True, 2, False),
    "linear": Method("linear model with ridge", "scikit-learn", _linear),
    "forest": Method("random forest", "scikit-learn", _forest, False, 2),
    "ebm": Method("EBM", "interpret-core", _shapes),
}

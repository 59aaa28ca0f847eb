"""scikit-learn's own checks of estimators: regression and classification, one stage and several, tuned and not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV
from sampled import FULL

TUNED = {"n_trees": 20, "n_repeats": 1, "cv": 2, "max_rules": 8, "random_state": 0}
ESTIMATORS = [
    SirusRegressor(n_trees=100, random_state=0),
    SirusClassifier(n_trees=100, random_state=0),
    SirusRegressorCV(**{**TUNED, "n_trees": 50}),
    SirusClassifierCV(**TUNED),
]
STAGED = [SirusRegressor(n_stages=3, n_rules=3, n_trees=50, random_state=0)]
if FULL:
    STAGED.append(SirusRegressorCV(n_stages="auto", **TUNED))


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": (
            "a row's place in the bootstrap is drawn by its number: a repeated row is another draw than a heavy one; "
            "what is equal, bins, outputs, Gram matrix and ridge, is in test_weights_rows.py"
        )
    }


@pytest.mark.filterwarnings("ignore:There are no rules to find", "ignore:No rule of the full data", "ignore:All values")
@parametrize_with_checks([*ESTIMATORS, *STAGED], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    unequal = check.func.__name__ == "check_sample_weight_equivalence_on_dense_data"
    if unequal and not FULL and type(estimator) is not SirusRegressor:
        pytest.skip("fails for the same reason as SirusRegressor, in a second or more: make test-full")
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_in_a_pipeline_that_makes_frames(estimator):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((120, 3)), columns=list("abc"))
    y = (X["a"] > 0.5).astype(int)
    for library in ("pandas", "polars"):
        pipeline = make_pipeline(StandardScaler(), clone(estimator)).set_output(transform=library)
        pipeline.fit(X, y)
        assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
        assert pipeline.score(X, y) > 0.8
        assert "if a < " in str(pipeline[-1].rules_[0])
    assert cross_val_score(clone(estimator), X, y, cv=3).mean() > 0.7


@pytest.mark.xfail(strict=True, reason="columns in another order are found by name, which this check wants refused")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_scikit_learn_refuses_columns_in_another_order(estimator):
    check_dataframe_column_names_consistency(type(estimator).__name__, estimator)

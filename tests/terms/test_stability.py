"""How much rule lists have in common."""

from __future__ import annotations

import pytest
from sklearn.exceptions import NotFittedError

import pysirus
from pysirus import SirusRegressor
from pysirus._terms.stability import dice_sorensen, stability
from pysirus.datasets import load_machine


def test_dice_sorensen_by_hand() -> None:
    assert dice_sorensen("abc", "bcd") == pytest.approx(2 * 2 / 6)
    assert dice_sorensen([], []) == 1
    assert dice_sorensen(["a"], []) == 0
    assert dice_sorensen("ab", "ba") == 1


def test_stability_is_the_mean_over_pairs() -> None:
    assert stability(["ab", "bc", "cd"]) == pytest.approx((0.5 + 0 + 0.5) / 3)


def test_stability_takes_fitted_models_and_rule_lists() -> None:
    X, y = load_machine(return_X_y=True, as_frame=True)
    models = [SirusRegressor(n_rules=8, n_trees=3000, random_state=seed).fit(X, y) for seed in (1, 2)]
    assert 0.5 < stability(models) <= 1
    assert stability(models) == stability([m.rules_ for m in models]) == stability([m.model_ for m in models])


def test_stability_of_one_model_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two"):
        stability([["a"]])
    with pytest.raises(TypeError, match="rule lists"):
        stability([1, 2])


def test_stability_is_a_function_of_pysirus() -> None:
    assert pysirus.stability is stability
    assert pysirus.stability("ab", "bc") == stability("ab", "bc") == stability(["ab", "bc"]) == 0.5
    assert pysirus.stability("ab", "bc", "cd") == stability(["ab", "bc", "cd"])
    with pytest.raises(ValueError, match="at least two models, got 0"):
        pysirus.stability()
    with pytest.raises(TypeError, match="two models or more, got one SirusRegressor"):
        pysirus.stability(SirusRegressor())
    with pytest.raises(NotFittedError, match="This SirusRegressor instance is not fitted yet"):
        pysirus.stability(SirusRegressor(), SirusRegressor())

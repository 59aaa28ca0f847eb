"""How many repetitions ``n_repeats="auto"`` makes."""

from __future__ import annotations

import numpy as np
import pytest

import pysirus
from pysirus import SirusClassifierCV, SirusRegressorCV
from pysirus._families.numbers import Gaussian
from pysirus._families.row_metrics import Truths
from pysirus._learn.held_out import Use, dice_by_fold, mean_dice
from pysirus._learn.tune import MOST_REPEATS, fold_errors
from pysirus._learn.weigh import ByRidge, HeldOutSums
from pysirus._model.tuning import Ideal
from pysirus._runtime.sums import ExactSums

SMALL = {"cv": 4, "n_trees": 40, "max_rules": 4, "random_state": 0}


def table(noise: float, n_rows: int):
    """One column with one cut: every fold has the same rule, and only its error varies."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(n_rows, 1)).astype(float)
    return X, X[:, 0] + noise * rng.normal(size=n_rows)


def use(rules: set[str], squares: float) -> Use:
    """A fold with two held-out rows, -1 and 1, whose list of entry 1 has this sum of squared errors."""
    judged = HeldOutSums(Truths.of(np.array([-1.0, 1.0]), None, 0.0), ExactSums.of(np.array([[9.0, squares]])))
    return Use(None, 1, judged, frozenset(rules))


def test_standard_errors_over_folds_by_hand():
    lists = [({"a", "b"}, 0.4), ({"a", "b"}, 0.8), ({"a"}, 1.2)]
    first, second = [use(*own) for own in lists], [use(*own) for own in lists[::-1]]
    # errors 0.2, 0.4 and 0.6; indices 1 and 2/3 with the others, so 5/6, 5/6 and 2/3
    error, stability, distance = fold_errors([first], ByRidge(Gaussian()), Ideal(0.8, 2.0))
    assert error == pytest.approx(0.2 / np.sqrt(3))
    assert stability == pytest.approx(2 * np.std([5 / 6, 5 / 6, 2 / 3], ddof=1) / np.sqrt(3))
    # at error 0.4 and stability 7/9 the distance is the root of 0.4^2 + (2 (7/9 - 0.8))^2
    far = np.hypot(0.4, 2 / 45)
    each = [
        (0.4 * own + 4 * (7 / 9 - 0.8) * 2 * index) / far for own, index in ((0.2, 5 / 6), (0.4, 5 / 6), (0.6, 2 / 3))
    ]
    assert distance == pytest.approx(np.std(each, ddof=1) / np.sqrt(3))
    twice = fold_errors([first, second], ByRidge(Gaussian()))
    assert twice[:2] == pytest.approx([np.sqrt(2 / 5) * error, np.sqrt(2 / 5) * stability])


def test_the_mean_over_folds_is_the_stability():
    lists = [frozenset("abc"), frozenset("ab"), frozenset("bcd"), frozenset()]
    assert np.mean(dice_by_fold(lists)) == pytest.approx(mean_dice(lists))


@pytest.mark.parametrize("n_stages", [1, "auto"])
def test_a_clear_choice_takes_one_repetition_and_a_vague_one_ten(n_stages):
    clear, vague = (SirusRegressorCV(**SMALL, n_stages=n_stages).fit(*table(*own)) for own in ((0.1, 400), (0.5, 40)))
    assert (clear.path_.n_repeats, vague.path_.n_repeats) == (1, MOST_REPEATS)
    assert clear.model_.out_of_fold.n_repeats == 1


def test_auto_is_the_number_that_it_made(tmp_path):
    X, y = table(0.3, 200)
    auto = SirusRegressorCV(**SMALL).fit(X, y)
    n_repeats = auto.path_.n_repeats
    assert 1 < n_repeats < MOST_REPEATS
    given = SirusRegressorCV(**SMALL, n_repeats=n_repeats, n_jobs=3).fit(X, y)
    assert given.path_ == auto.path_ and given.model_.selected == auto.model_.selected
    auto.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").path_.n_repeats == n_repeats


@pytest.mark.parametrize("n_jobs", [2, 7])
def test_threads_change_nothing(n_jobs):
    X, y = table(0.3, 200)
    one, more = (SirusRegressorCV(**SMALL, n_jobs=n).fit(X, y) for n in (1, n_jobs))
    assert one.path_ == more.path_ and one.model_.selected == more.model_.selected


def test_the_criterion_error_has_standard_errors_over_repetitions():
    X, y = table(0.0, 100)
    model = SirusClassifierCV(**SMALL, weighting="equal").fit(X, y > 0.5)
    assert model.model_.tuned.criterion == "error" and model.path_.n_repeats >= 2

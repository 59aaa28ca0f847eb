"""Whether a list knows more than the constant: by hand, for every loss, in a model, its file and the command line."""

import json
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._families.class_metrics import brier_losses, log_losses
from pysirus._families.gain import FoldRows, GainSums, concordance_gain
from pysirus._families.links import GAMMA, POISSON, SQUARED, Loss
from pysirus._families.row_metrics import Pairs, count_pairs
from pysirus._model.agreement import doubts
from pysirus._model.held_out import HeldOut
from pysirus.cli import main


def squared_error(values, truth):
    return SQUARED.deviances_of_means(truth, values[:, 0])


def gain_of(folds, loss):
    return GainSums.of(folds, loss).gain()


def fold(rows, truth, values, constant, weights=None):
    values = np.asarray(values, dtype=float)
    return FoldRows(
        np.array(rows), weights, np.asarray(truth), values.reshape(len(values), -1), np.atleast_1d(np.array(constant))
    )


def test_a_gain_by_hand():
    # about constants of 0 the errors fall from 1, 1, 4, 4 to 0, 4, 1, 4
    found = gain_of(
        [fold([0, 1], [1.0, -1.0], [1.0, 1.0], 0.0), fold([2, 3], [2.0, 2.0], [1.0, 0.0], 0.0)], squared_error
    )
    assert found.share == pytest.approx(1 - 9 / 10)
    products = np.array([1.0, -1.0, 2.0, 0.0])
    assert found.signal == pytest.approx(products.sum() / np.sqrt(2 * (products**2).sum()))


def test_repetitions_are_averaged_row_by_row():
    once = [fold([0, 1], [1.0, -2.0], [0.5, -1.0], 0.0), fold([2, 3], [3.0, 1.0], [1.0, 0.0], 0.0)]
    assert astuple(gain_of(once * 3, squared_error)) == pytest.approx(astuple(gain_of(once, squared_error)), rel=1e-14)
    weights = np.array([2.0, 2.0])
    weighted = [FoldRows(f.rows, weights, f.truth, f.values, f.constant) for f in once]
    assert gain_of(weighted, squared_error) == gain_of(once, squared_error)


def test_losses_are_least_at_the_truth():
    truth = np.array([1.0, 2.0, 5.0])
    for loss in (SQUARED, POISSON, GAMMA, Loss("tweedie", 1.5)):
        np.testing.assert_allclose(loss.deviances_of_means(truth, truth), 0, atol=1e-12)
        assert all((loss.deviances_of_means(truth, truth + step) > 0).all() for step in (0.1, -0.1))
    assert POISSON.deviances_of_means(np.array([0.0]), np.array([0.5])) == pytest.approx(1.0)
    shares, codes = np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([1, 0])
    np.testing.assert_allclose(log_losses(shares, codes), -np.log([0.8, 0.5]))
    np.testing.assert_allclose(brier_losses(shares, codes), [0.08, 0.5])


def test_a_concordance_is_one_where_all_pairs_are_right():
    truth = np.array([(True, 1.0), (True, 2.0), (False, 3.0)], dtype=[("event", bool), ("time", float)])
    assert concordance_gain([fold([0, 1, 2], truth, [3.0, 2.0, 1.0], 0.0)]).share == 1
    assert concordance_gain([fold([0, 1, 2], truth, [1.0, 1.0, 1.0], 0.0)]).signal == 0
    assert concordance_gain([fold([0], truth[:1], [1.0], 0.0)]) is None


def held_out_times(weighted, seed):
    """Two repetitions of three folds, with ties of times and of scores."""
    rng = np.random.default_rng(seed)
    n = 60
    truth = np.empty(n, dtype=[("event", bool), ("time", float)])
    truth["event"], truth["time"] = rng.random(n) < 0.6, rng.integers(1, 12, n)
    score = np.round(rng.normal(size=n) - 0.1 * truth["time"], 1)
    weights = rng.integers(1, 9, n) / 4 if weighted else None
    held = [rows for _ in range(2) for rows in np.array_split(rng.permutation(n), 3)]
    return truth, score, weights, held


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_gain_of_a_concordance_is_that_of_loops_over_pairs(weighted, seed):
    truth, score, weights, held = held_out_times(weighted, seed)
    w = np.ones(60) if weights is None else weights
    folds = [fold(rows, truth[rows], score[rows], 0.0, None if weights is None else w[rows]) for rows in held]
    right, pairs, counted = np.zeros(60), np.zeros(60), Pairs()
    for rows in held:
        counted += count_pairs(truth["time"][rows], truth["event"][rows], score[rows], w[rows])
        for i in rows:
            for k in rows:
                later = truth["time"][k] > truth["time"][i] or (
                    truth["time"][k] == truth["time"][i] and not truth["event"][k]
                )
                if truth["event"][i] and later:
                    right[[i, k]] += w[i] * w[k] * np.sign(score[i] - score[k])
                    pairs[[i, k]] += w[i] * w[k]
    found = concordance_gain(folds)
    assert found.share == pytest.approx(2 * counted.concordance - 1, rel=1e-12)
    error = 2 * np.sqrt(2 * ((right - found.share * pairs) ** 2).sum()) / pairs.sum()
    assert found.signal == pytest.approx(found.share / error, rel=1e-12)
    if weighted:  # the unit of weights does not matter
        scaled = [FoldRows(f.rows, 7 * f.weights, f.truth, f.values, f.constant) for f in folds]
        assert astuple(concordance_gain(scaled)) == pytest.approx(astuple(found), rel=1e-12)
        light = np.where(np.arange(60) % 3 == 0, 1e-12, w)  # rows that hardly count, as if they were not there
        one = concordance_gain([FoldRows(f.rows, light[f.rows], f.truth, f.values, f.constant) for f in folds])
        keep = [f.rows[f.rows % 3 != 0] for f in folds]
        two = concordance_gain([fold(rows, truth[rows], score[rows], 0.0, w[rows]) for rows in keep])
        assert astuple(one) == pytest.approx(astuple(two), rel=1e-6)


@pytest.mark.parametrize(
    "gain, learned", [((-0.1, 3.0), False), ((0.02, 1.9), False), ((0.02, 2.1), True), ((0.8, 1.7), True), (None, None)]
)
def test_a_signal_or_a_clear_gain_is_learned(gain, learned):
    assert HeldOut(1, 2, 1, {}, gain=gain).learned is learned


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd"))
    return X, pd.Series(rng.normal(size=120), name="y")


def test_tuning_on_noise_warns_and_its_file_remembers(noise, tmp_path):
    X, y = noise
    with pytest.warns(UserWarning, match="Nothing was learned") as caught:
        model = SirusRegressorCV(n_trees=50, n_repeats=1, cv=4, max_rules=3, random_state=0).fit(X, y)
    assert [w.filename for w in caught if "Nothing" in str(w.message)] == [__file__]
    found = model.model_.out_of_fold
    assert found.learned is False and found.doubt in str(found) and doubts(model.model_)[0] == found.doubt
    model.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert again.model_.out_of_fold.gain == found.gain and doubts(again.model_) == doubts(model.model_)
    document = json.loads((tmp_path / "m.json").read_text())
    for name, value in (("gain", [1]), ("gain", [1, "x"]), ("variance", -1), ("variance", "1")):
        broken = json.loads(json.dumps(document))
        broken["facts"]["out_of_fold"][name] = value
        (tmp_path / "broken.json").write_text(json.dumps(broken))
        with pytest.raises(pysirus.ModelFileError, match=name):
            pysirus.load(tmp_path / "broken.json")


def test_a_signal_is_no_cause_for_doubt(noise):
    X, y = noise
    clear = y + 2 * (X["a"] > 0)
    for estimator, target in (
        (SirusRegressor(n_rules=3, n_trees=50, random_state=0), clear),
        (SirusClassifier(n_rules=3, n_trees=50, random_state=0), clear > clear.median()),
        (SirusClassifier(n_rules=3, n_trees=50, random_state=0, weighting="equal"), clear > clear.median()),
        (SirusRegressor(n_rules=3, n_trees=50, random_state=0, loss="gamma"), np.exp(clear)),
    ):
        found = estimator.fit(X, target).cross_validate(X, target, cv=4)
        assert found.learned and found.gain[0] > 0.1 and "Nothing" not in str(found)
        assert not any("Nothing" in sentence for sentence in doubts(estimator.model_))


def test_a_rule_that_says_no_more_than_noise_is_named(noise):
    X, y = noise
    model = SirusRegressor(n_trees=50, random_state=0, required_rules=["a < 0"]).fit(
        X, y - y.where(X["a"] < 0, 0).mean()
    )
    model.cross_validate(X, y, cv=4)
    rule = model.rules_[0]
    z = abs(rule.inside - rule.outside) / np.sqrt(y.var(ddof=0) * (1 / rule.n_inside + 1 / rule.n_outside))
    named = [sentence for sentence in doubts(model.model_) if sentence.startswith("The two outputs of rule")]
    assert (z < 2) == any("rule 1 " in s or "rules 1," in s for s in named)


def test_rules_that_few_folds_selected_are_named_rarest_first(noise):
    X, y = noise
    given = {"n_trees": 50, "n_repeats": 1, "cv": 4, "criterion": "error", "random_state": 0}
    model = SirusRegressorCV(max_rules=8, **given).fit(X, 3 * (X["a"] > 0) + y).with_rules(8)
    shares = [
        (n / folds, i, f"{i} ({n} of {folds})") for i, (n, folds) in enumerate((r.returned for r in model.rules_), 1)
    ]
    rare = [text for share, _, text in sorted(shares) if share < 0.5]
    assert 1 < len(rare) < len(shares)
    said = next(sentence for sentence in doubts(model) if sentence.startswith("Fewer than half of the folds"))
    assert f"selected rules {', '.join(rare[:-1])} and {rare[-1]}: with other rows" in said
    steady = SirusRegressorCV(max_rules=1, **given).fit(X, 3 * (X["a"] > 0) + 0.01 * y)
    assert not any("Fewer than half" in sentence for sentence in doubts(steady.model_))


def test_the_longest_list_is_said_to_be_the_longest(noise):
    X, y = noise
    clear = 3 * (X["a"] > 0) + 2 * (X["b"] > 0) + (X["c"] > 0) + 0.1 * y
    options = {"n_trees": 50, "n_repeats": 1, "cv": 3, "criterion": "error", "random_state": 0}
    short = SirusRegressorCV(max_rules=2, **options).fit(X, clear)
    assert any("the longest one considered" in sentence for sentence in doubts(short.model_))


def test_the_command_line_says_it(noise, tmp_path, capsys):
    X, y = noise
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    for options in (["fit", "--cv", "--rules", "3"], ["tune", "--repeats", "1", "--folds", "3", "--max-rules", "3"]):
        command, *rest = options
        with pytest.raises(SystemExit) as leaving:
            main([command, str(tmp_path / "t.csv"), "--target", "y", "--trees", "50", "--seed", "0", *rest])
        out, err = capsys.readouterr()
        assert not leaving.value.code and out.count("Nothing was learned") == 1 and "Nothing was learned" not in err

"""Figures of predictions equal scikit-learn's; held-out rows are judged by lists that have not seen them."""

import json

import numpy as np
import pytest
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris

import pysirus
from metrics_of import class_metrics, number_metrics
from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV
from pysirus._families.class_metrics import ClassTally, Ladder
from pysirus._families.links import Loss
from pysirus._families.row_metrics import NumberTally, Predicted, Yardstick
from pysirus._model.held_out import bins_of, format_metrics, metrics_line

pytestmark = pytest.mark.filterwarnings("ignore")


def random_classes(n_classes, n_rows=400, seed=0):
    random = np.random.default_rng(seed)
    scores = np.round(random.normal(size=(n_rows, n_classes)), 1)
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    codes = np.array([random.choice(n_classes, p=p) for p in probabilities])
    return probabilities, codes, random.integers(1, 4, n_rows).astype(float)


# ---------------------------------------------------------------------------------------------------------- metrics


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_metrics_of_classes_are_those_of_scikit_learn(n_classes, weighted):
    p, codes, weights = random_classes(n_classes)
    weights = weights if weighted else None
    found = {name: value for name, (value, _) in class_metrics(Predicted(p, codes, weights)).items()}
    guess = p.argmax(axis=1)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(codes, guess, sample_weight=weights))
    balanced = metrics.balanced_accuracy_score(codes, guess, sample_weight=weights)
    assert found["balanced_accuracy"] == pytest.approx(balanced)
    assert found["log_loss"] == pytest.approx(metrics.log_loss(codes, p, sample_weight=weights))
    if n_classes == 2:
        assert found["auc"] == pytest.approx(metrics.roc_auc_score(codes, np.round(p[:, 1], 12), sample_weight=weights))
        assert found["brier"] == pytest.approx(metrics.brier_score_loss(codes, p[:, 1], sample_weight=weights))
    else:
        areas = [
            metrics.roc_auc_score(codes == k, np.round(p[:, k], 12), sample_weight=weights) for k in range(n_classes)
        ]
        assert found["auc"] == pytest.approx(np.mean(areas))
        one_hot = codes[:, None] == np.arange(n_classes)
        assert found["brier"] == pytest.approx(np.average(((p - one_hot) ** 2).sum(axis=1), weights=weights))


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_of_numbers_are_those_of_scikit_learn(weighted):
    random = np.random.default_rng(0)
    y = random.normal(size=300)
    predicted = 0.7 * y + 0.3 * random.normal(size=300)
    weights = random.random(300) if weighted else None
    found = {name: value for name, (value, _) in number_metrics([Predicted(predicted[:, None], y, weights)]).items()}
    assert found["r2"] == pytest.approx(metrics.r2_score(y, predicted, sample_weight=weights))
    squared = metrics.mean_squared_error(y, predicted, sample_weight=weights)
    assert found["rmse"] == pytest.approx(np.sqrt(squared))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(y, predicted, sample_weight=weights))
    assert found["unexplained_variance"] == pytest.approx(1 - found["r2"])
    assert set(number_metrics([Predicted(predicted[:, None], np.ones(300), None)])) == {
        "rmse",
        "mae",
    }  # nothing to explain


def test_standard_errors_are_the_spread_over_other_rows():
    every = [class_metrics(Predicted(*random_classes(2, 250, seed)[:2], None)) for seed in range(300)]
    for name in ("accuracy", "balanced_accuracy", "auc", "log_loss", "brier"):
        values, errors = zip(*(found[name] for found in every))
        assert np.std(values) == pytest.approx(np.mean(errors), rel=0.15)
    random = np.random.default_rng(0)
    numbers = []
    for _ in range(300):
        y = random.normal(size=200)
        numbers.append(number_metrics([Predicted((0.5 * y + random.normal(size=200))[:, None], y, None)]))
    for name in ("rmse", "mae"):
        values, errors = zip(*(found[name] for found in numbers))
        assert np.std(values) == pytest.approx(np.mean(errors), rel=0.15)


def ladder(p, member, weights=None, most=1 << 18):
    weights = np.ones(len(p)) if weights is None else weights
    return Ladder.of(p, member, weights, Yardstick(len(p), float(weights.max())), most)


def test_an_auc_by_hand():
    p, member = np.array([0.1, 0.2, 0.2, 0.3]), np.array([False, True, False, True])
    area, _ = ladder(p, member).area()
    assert area == (1.5 + 2) / 4
    assert ladder(p, np.ones(4, bool)).area() is None


def test_many_probabilities_are_equal_to_fewer_digits_in_whatever_order():
    random = np.random.default_rng(0)
    p, weights = random.random(5000), random.random(5000)
    member = random.random(5000) < p
    whole, (exact, _) = ladder(p, member, weights, 300), ladder(p, member, weights).area()
    assert 150 < len(whole.keys) <= 300
    assert whole.area()[0] == pytest.approx(exact, abs=1e-3)
    like = Yardstick(5000, float(weights.max()))
    for _ in range(3):
        order = random.permutation(5000)
        parts = [Ladder.of(p[i], member[i], weights[i], like, 300) for i in np.array_split(order, 7)]
        found = parts[0]
        for part in parts[1:]:
            found = part + found
        assert found.shift == whole.shift
        np.testing.assert_array_equal(found.keys, whole.keys)
        np.testing.assert_array_equal(found.sums, whole.sums)


@pytest.mark.parametrize("kind", ["numbers", "counts", "classes"])
def test_tallies_of_parts_give_the_metrics_of_all_rows_to_the_bit(kind):
    random = np.random.default_rng(0)
    weights = random.random(1000) * 10.0 ** random.integers(-3, 3, 1000)
    if kind == "classes":
        values = random.dirichlet([1, 1, 1], 1000)
        truth = random.integers(0, 3, 1000).astype(np.uint8)
    else:
        values = random.gamma(2.0, size=(1000, 1))
        truth = random.poisson(values[:, 0]).astype(float) + (0 if kind == "counts" else 1e6)
    like = Yardstick(1000, float(weights.max()), 1.7)

    def tally(rows):
        own = Predicted(values[rows], truth[rows], weights[rows])
        if kind == "classes":
            return ClassTally.of(own, like, own.values.argmax(axis=1))
        return NumberTally.of(own, Loss("poisson") if kind == "counts" else None, like)

    whole = tally(np.arange(1000)).metrics()
    for n_parts in (2, 13):
        first, *others = [tally(rows) for rows in np.array_split(random.permutation(1000), n_parts)]
        for part in others:
            first = part + first
        assert first.metrics() == whole


def calibration_error(p, codes):
    return class_metrics(Predicted(p, codes, None))["calibration_error"][0]


def test_calibration_by_hand():
    claimed = np.repeat([0.2, 0.6], 5)
    p = np.stack([1 - claimed, claimed], axis=1)
    codes = np.array([1, 0, 0, 0, 0, 1, 1, 1, 0, 0])
    # one of five rows at 0.2 is a member, three of five at 0.6: rows of a probability are in its groups in proportion
    assert calibration_error(p, codes) == pytest.approx(0.0)
    # at 0.2 one less is: 0.2 too much in five of ten groups
    assert calibration_error(p, np.array([0, 0, 0, 0, 0, 1, 1, 1, 0, 0])) == pytest.approx(0.1)
    # too little at 0.2, too much at 0.6: in the group that both share, half of each, they cancel
    few, own = np.array([0.2] * 5 + [0.6] * 15), np.array([1, 1] + [0] * 3 + [1] * 6 + [0] * 9)
    gaps = [-0.4, -0.4, -0.2 + 0.2, *[0.4] * 7]
    assert calibration_error(np.stack([1 - few, few], axis=1), own) == pytest.approx(np.abs(gaps).sum() / 20)
    true = np.random.default_rng(0).random(200_000)
    came = (np.random.default_rng(1).random(200_000) < true).astype(int)
    assert calibration_error(np.stack([1 - true, true], axis=1), came) < 0.005


def test_bins_keep_weight_and_equal_probabilities():
    p, codes, weights = random_classes(2, 5000)
    own = bins_of(1, p[:, 1], codes == 1, weights, 200)
    assert len(own.probability) <= 200 and (np.diff(own.probability) > 0).all()
    assert own.members.sum() == pytest.approx(weights[codes == 1].sum())
    assert own.others.sum() == pytest.approx(weights[codes == 0].sum())
    few = bins_of(1, np.repeat([0.1, 0.7], 50), np.arange(100) % 2 == 0, np.ones(100), 200)
    assert few.probability.tolist() == pytest.approx([0.1, 0.7]) and few.members.tolist() == [25, 25]


def test_metrics_as_text():
    by_name = {"accuracy": (0.8123, 0.0123), "auc": (0.9, None), "rmse": (1234.5, 6.7)}
    assert format_metrics(by_name).splitlines() == [
        "accuracy                 81.2% ± 1.2%",
        "AUC                      0.900",
        "root mean squared error   1234 ± 6.7",
    ]
    assert metrics_line(by_name) == "accuracy 81.2%, AUC 0.900, root mean squared error 1234"


# ------------------------------------------------------------------------------------------------------- held-out rows


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def tuned(cancer):
    return SirusClassifierCV(n_repeats=1, cv=5, n_trees=100, max_rules=8, random_state=0).fit(*cancer)


def test_metrics_of_tuning_agree_with_its_error(ozone, cancer):
    X, y = ozone
    numbers = SirusRegressorCV(n_repeats=1, cv=5, n_trees=100, random_state=0).fit(X, y)
    found = numbers.model_.out_of_fold
    assert found.metrics["unexplained_variance"][0] == pytest.approx(numbers.cv_error_)
    assert not found.bins and found.confusion is None
    staged = SirusRegressorCV(n_repeats=1, cv=5, n_trees=100, n_stages=4, random_state=0).fit(X, y)
    assert staged.model_.out_of_fold.metrics["unexplained_variance"][0] == pytest.approx(staged.cv_error_)
    equal = SirusClassifierCV(n_repeats=1, cv=5, n_trees=100, weighting="equal", random_state=0).fit(*cancer)
    assert equal.model_.out_of_fold.metrics["auc"][0] == pytest.approx(1 - equal.cv_error_)


def test_the_deviance_of_tuning_is_the_log_loss_out_of_fold(cancer, tuned):
    y = cancer[1]
    found = tuned.model_.out_of_fold
    share = y.mean()  # the constant of a fold hardly differs from that of all rows
    constant = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert found.metrics["log_loss"][0] / constant == pytest.approx(tuned.cv_error_, rel=0.01)
    assert found.n_folds == 5 and found.n_repeats == 1 and found.n_rules == len(tuned.selected_)
    (own,) = found.bins
    assert own.code == 1 and own.members.sum() == pytest.approx(y.sum())
    assert found.confusion.sum() == pytest.approx(len(y))
    accuracy = np.trace(found.confusion) / found.confusion.sum()
    assert found.metrics["accuracy"][0] == pytest.approx(accuracy, rel=1e-5)


def test_a_list_of_given_size_is_cross_validated(cancer):
    X, y = cancer
    model = SirusClassifier(n_rules=4, n_trees=100, random_state=0)
    rows = np.arange(len(y)) % 5
    folds = [(np.flatnonzero(rows != k), np.flatnonzero(rows == k)) for k in range(5)]
    found = model.cross_validate(X, y, cv=folds)
    p = np.empty(len(y))
    for train, test in folds:
        p[test] = clone(model).fit(X.iloc[train], y.iloc[train]).predict_proba(X.iloc[test])[:, 1]
    assert found.metrics["log_loss"][0] == pytest.approx(metrics.log_loss(y, p))
    assert found.metrics["auc"][0] == pytest.approx(metrics.roc_auc_score(y, p))
    model.fit(X, y)
    assert model.model_.out_of_fold is None
    model.cross_validate(X, y, cv=folds)
    assert model.model_.out_of_fold.metrics["auc"] == found.metrics["auc"]


def test_weights_of_classes_do_not_judge(cancer):
    X, y = cancer
    weights = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    model = SirusClassifier(n_rules=3, n_trees=100, class_weight="balanced", random_state=0)
    found = model.cross_validate(X, y, weights, cv=5)
    assert sum(own.members.sum() + own.others.sum() for own in found.bins) == pytest.approx(weights.sum())
    plain = model.cross_validate(X, y, cv=5)
    assert sum(own.members.sum() + own.others.sum() for own in plain.bins) == pytest.approx(len(y))


def test_metrics_are_of_the_chosen_list_only(cancer, tuned, tmp_path):
    size = len(tuned.selected_)
    other = next(k for k in range(1, len(tuned.models_) + 1) if k != size)
    assert tuned.with_rules(other).out_of_fold is None
    assert tuned.with_rules(size).out_of_fold.metrics == tuned.model_.out_of_fold.metrics
    assert tuned.without(1).out_of_fold is None and "out_of_fold" not in tuned.without(1).facts
    tuned.save(tmp_path / "m.json")
    loaded = pysirus.load(tmp_path / "m.json").model_.out_of_fold
    assert loaded.metrics == tuned.model_.out_of_fold.metrics
    assert (loaded.bins[0].probability == tuned.model_.out_of_fold.bins[0].probability).all()


def test_several_classes_have_bins_each():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = SirusClassifier(n_rules=4, n_trees=100, random_state=0)
    found = model.cross_validate(X, y, cv=5)
    assert [own.code for own in found.bins] == [0, 1, 2] and found.confusion.shape == (3, 3)
    assert found.metrics["auc"][1] is None


def test_metrics_of_new_rows(cancer, ozone):
    X, y = cancer
    model = SirusClassifier(n_rules=4, n_trees=100, random_state=0).fit(X[::2], y[::2])
    found = model.metrics(X[1::2], y[1::2])
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y[1::2], model.predict_proba(X[1::2])))
    assert found.n_rows == len(y[1::2]) and "AUC" in str(found)
    with pytest.raises(ValueError, match=r"2, which is not a class of the model\. Its classes are 0, 1"):
        model.metrics(X[:5], [0, 1, 2, 1, 0])
    numbers = SirusRegressor(n_rules=4, n_trees=100, random_state=0).fit(*ozone)
    assert numbers.metrics(*ozone)["r2"] == pytest.approx(numbers.score(*ozone))
    weights = np.arange(len(ozone[1])) % 3
    weighed = numbers.metrics(*ozone, sample_weight=weights)
    assert weighed["r2"] == pytest.approx(numbers.score(*ozone, sample_weight=weights))
    assert weighed.n_rows == (weights > 0).sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(figures={"magic": [1, 2]}), "which is none of accuracy"),
        (lambda d: d["figures"].update(auc=[0.9]), r"a list of 2"),
        (lambda d: d["figures"].update(auc=["high", None]), "must be a finite number"),
        (lambda d: d["bins"][0].update({"class": 7}), "one of 2 classes"),
        (lambda d: d["bins"][0].update(members="1 2"), "must be a line of"),
        (lambda d: d["bins"][0].update(probability=" ".join(["0.5"] * 5000)), "at most 200"),
        (lambda d: d["bins"][0].update(probability="0.9 0.1", members="1 1", others="1 1"), "must rise"),
        (lambda d: d["bins"][0].update(probability="0.1 0.9", members="-1 1", others="1 1"), "weights of rows"),
        (lambda d: d.update(bins=d["bins"] * 3), "more entries than classes"),
        (lambda d: d.update(confusion=["1 2"]), "must have 2 lines"),
        (lambda d: d.update(surprise=1), "does not know"),
    ],
)
def test_damaged_metrics_are_refused(tmp_path, tuned, change, message):
    path = tmp_path / "m.json"
    tuned.save(path)
    document = json.loads(path.read_text())
    change(document["facts"]["out_of_fold"])
    path.write_text(json.dumps(document))
    with pytest.raises(pysirus.ModelFileError, match=message):
        pysirus.load(path)

"""Thresholds are short and part the training rows as the quantiles in the paths do."""

import copy
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import pysirus
from at_cuts import before
from given import read_dataset
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, SirusSurvival

FAST = {"n_trees": 200, "random_state": 0}
DATASETS = ["ozone", "machine", "diabetes", "housing", "prostate", "mpg"]  # abalone and bones are not shipped


def n_digits(value):
    return len(Decimal(repr(value)).normalize().as_tuple().digits) if value else 0


def ends_of(model):
    return [end for rule in model.all_rules for c in rule.conditions for end in (c.lower, c.upper) if end is not None]


def assert_same_on(model, X):
    """Every rule holds where it did, and predictions are the same, bit for bit."""
    old, table = before(model), model.align(X, rules=model.selected)
    assert [rule.key for rule in old.selected] == [rule.key for rule in model.selected]
    for rule, was in zip(model.selected, old.selected):
        assert (rule.holds(table) == was.holds(table)).all(), (rule.condition_text, was.condition_text)
    assert model.raw_predict(X).tobytes() == old.raw_predict(X).tobytes()
    assert all(n_digits(short) <= n_digits(long) for short, long in zip(ends_of(model), ends_of(old)))
    return old


@pytest.mark.parametrize("name", DATASETS)
def test_short_thresholds_part_the_rows_of_a_dataset_as_before(name):
    X, y = read_dataset(name)
    model = SirusRegressor(n_rules=25, **FAST).fit(X, y).model_
    old = assert_same_on(model, X)
    assert max(map(n_digits, ends_of(model))) <= 5
    assert sum(map(n_digits, ends_of(model))) < sum(map(n_digits, ends_of(old)))
    shown = {word for rule in model.selected for word in rule.condition_text.split()}
    assert {repr(end).removesuffix(".0") for end in ends_of(model)} <= shown


def table_of(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "small": rng.normal(size=n_rows) * 1e-7,
            "large": rng.lognormal(20, 2, n_rows),
            "single": rng.normal(size=n_rows).astype(np.float32),
            "whole": rng.integers(-500, 500, n_rows),
            "few": rng.choice([0.30103, 0.69315, 1.0986], n_rows),
            "holes": np.where(rng.random(n_rows) < 0.2, np.nan, rng.exponential(size=n_rows)),
            "ties": np.round(rng.normal(size=n_rows), 1),
        }
    )
    signal = (X["small"] > 0) + (X["large"] > 4e8) + 2 * (X["single"] > 0.5) - (X["whole"] > 100) + X["few"]
    return X, np.asarray(signal + (X["holes"] > 1) * (X["ties"] > 0) + 0.1 * rng.normal(size=n_rows)), rng


RESPONSES = {
    "numbers": lambda y: (SirusRegressor, y),
    "stages": lambda y: (lambda **options: SirusRegressor(n_stages=3, **options), y),
    "classes": lambda y: (SirusClassifier, np.digitize(y, np.quantile(y, [0.3, 0.7]))),
    "counts": lambda y: (lambda **options: SirusRegressor(loss="poisson", **options), np.floor(y - y.min())),
    "survival": lambda y: (SirusSurvival, np.array(list(zip(y > y.mean(), y - y.min() + 1)), dtype="?,f8")),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", RESPONSES)
def test_rules_of_every_response_hold_where_their_cuts_do(kind, weighted):
    X, y, rng = table_of()
    make, target = RESPONSES[kind](y)
    weights = np.where(rng.random(len(y)) < 0.2, 0.0, 1.0) if weighted else None
    model = make(n_rules=20, **FAST).fit(X, target, sample_weight=weights).model_
    assert_same_on(model, X if weights is None else X[weights > 0])
    assert {c.feature for rule in model.selected for c in rule.conditions} > {"small", "single"}
    whole = [e for r in model.selected for c in r.conditions if c.feature == "whole" for e in (c.lower, c.upper)]
    assert all(end is None or end.is_integer() for end in whole)


def test_a_cut_next_to_zero_reads_zero():
    x = np.random.default_rng(0).normal(size=400)
    x += 1.01613e-5 - np.median(x)
    model = SirusRegressor(n_rules=1, n_trees=20, random_state=0).fit(x[:, None], x > 0)
    assert model.rules_[0].condition_text == "x0 < 0"
    (split,) = model.rules_[0].path
    assert split.value == pytest.approx(1.01613e-5) and split.cut == ("quantile", 5)


def test_a_tuned_list_has_one_threshold_for_a_cut(tmp_path):
    X, y, _ = table_of()
    fitted = SirusRegressorCV(cv=3, n_trees=100, random_state=0).fit(X, y)
    model = fitted.model_
    assert_same_on(model, X)
    cuts = {}
    for rule in model.all_rules:
        for c in rule.conditions:
            for cut, end in ((c.lower_cut, c.lower), (c.upper_cut, c.upper)):
                if end is not None:
                    assert cuts.setdefault((c.index, cut), end) == end
    assert len(cuts) > 3
    for other in fitted.models_:
        assert_same_on(other, X)
    fitted.save(tmp_path / "model.json")
    again = pysirus.load(tmp_path / "model.json").model_
    assert [rule.conditions for rule in again.all_rules] == [rule.conditions for rule in model.all_rules]
    assert [rule.path for rule in again.all_rules] == [rule.path for rule in model.all_rules]


def test_two_cuts_between_the_same_two_rows_stay_apart():
    """Fewer rows than bins: some quantiles part the rows in the same way."""
    rng = np.random.default_rng(3)
    X = np.where(rng.random((24, 2)) < 0.2, np.nan, np.round(rng.normal(size=(24, 2)), 4))
    model = SirusRegressor(n_rules=50, n_bins=30, min_node_size=1, discrete_limit=2, **FAST).fit(X, X[:, 0] > 0).model_
    assert_same_on(model, X)
    for rule in model.selected:
        assert all(c.lower is None or c.upper is None or c.lower < c.upper for c in rule.conditions)


def test_a_number_that_is_given_stays_and_rules_on_its_cut_take_it():
    X, y, _ = table_of()
    cut = float(np.quantile(X["single"].to_numpy(dtype=np.float64), 0.7))
    texts = ["large < 123456789", f"single < {cut!r}"]
    model = SirusRegressor(n_rules=15, required_rules=texts, **FAST).fit(X, y).model_
    given = [rule for rule in model.selected if rule.given]
    assert [rule.conditions[0].upper for rule in given] == [123456789.0, cut]
    shared = [c for rule in model.selected for c in rule.conditions if c.feature == "single"]
    assert {c.upper for c in shared if c.upper_cut == given[1].conditions[0].upper_cut} == {cut}


def test_a_condition_is_forbidden_as_a_list_shows_it():
    X, y, _ = table_of()
    model = SirusRegressor(n_rules=5, **FAST).fit(X, y).model_
    shown = next(rule for rule in model.selected if len(rule.conditions) == 1 and rule.conditions[0].levels is None)
    without = SirusRegressor(n_rules=10, forbidden=[shown.condition_text], **FAST).fit(X, y).model_
    cuts = {shown.conditions[0].lower_cut, shown.conditions[0].upper_cut}
    alike = [c for r in without.selected for c in r.conditions if c.feature == shown.conditions[0].feature]
    assert not any({c.lower_cut, c.upper_cut} == cuts for c in alike)


def test_exports_compare_with_the_threshold_that_is_shown():
    x = np.random.default_rng(0).normal(size=400)
    model = SirusRegressor(n_rules=1, n_trees=20, random_state=0).fit(x[:, None], x > 0.5).model_
    (end,) = ends_of(model)
    assert n_digits(end) <= 2 and f"< {end:g}" in str(model.rules)
    for form, sign in (("sql", "<"), ("python", "<"), ("markdown", "&lt;")):
        assert f"{sign} {end!r}" in str(model.export(form))


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    X, y, _ = table_of()
    path = tmp_path_factory.mktemp("model") / "model.json"
    SirusRegressor(n_rules=25, **FAST).fit(X, y).save(path)
    return json.loads(path.read_text(encoding="utf-8"))


def load_with(document, path, **changes):
    """Load a file of which the first condition on a column has another threshold."""
    changed = copy.deepcopy(document)
    for feature, end in changes.items():
        every = [c for rule in changed["rules"] for c in rule["conditions"] if c["feature"] == feature]
        own = next(c for c in every if c["upper"] is not None and c["lower"] is None)
        alike = [c for c in every for name in ("lower_cut", "upper_cut") if c[name] == own["upper_cut"]]
        assert len(alike) > 1 or not isinstance(end, tuple)
        for c in alike[:1] if isinstance(end, tuple) else alike:
            name = "upper" if c["upper_cut"] == own["upper_cut"] else "lower"
            c[name] = end[0] if isinstance(end, tuple) else end
    path.write_text(json.dumps(changed), encoding="utf-8")
    return pysirus.load(path)


def test_a_file_says_the_threshold_and_the_quantile(document, tmp_path):
    assert load_with(document, tmp_path / "same.json").model_.selected
    moved = [c for rule in document["rules"] for c in rule["conditions"] if c["feature"] == "few"]
    ends = {(*c[f"{name}_cut"], c[name]) for c in moved for name in ("lower", "upper") if c[name] is not None}
    assert ends == {("value", 0.69315, 0.6), ("value", 1.0986, 1.0)}
    assert document["version"] == 2  # for 0.1 takes that for damage
    quantiles = [split["value"] for rule in document["rules"] for split in rule["path"]]
    assert max(map(n_digits, quantiles)) > 12


@pytest.mark.parametrize(
    "changes, fault",
    [
        ({"single": (0.123,)}, "which is at .* elsewhere"),
        ({"few": 5.0}, "has a cut at .*, and the threshold is 5.0"),
        ({"large": 1e12}, "do not rise"),
        ({"large": -1e12}, "do not rise"),
    ],
)
def test_thresholds_that_do_not_agree_are_damage(document, tmp_path, changes, fault):
    with pytest.raises(pysirus.ModelFileError, match=fault):
        load_with(document, tmp_path / "damaged.json", **changes)

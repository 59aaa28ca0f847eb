"""Rules as data: what they hold, how they read, when they are equal."""

import dataclasses
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from given import bin_arrays
from pysirus import Condition, Rule, RuleSet, SirusRegressor, Split
from pysirus._data.table import read_table
from pysirus._terms.rule import rule_of
from pysirus._text.format import format_threshold


@pytest.fixture(scope="module")
def model(ozone):
    return SirusRegressor(n_trees=3000, random_state=0).fit(*ozone)


def rule_from(splits, X=None, frequency=0.25):
    """A rule on columns a, b, c of the values 0, 1, 2, 3, from (column number, threshold, op)."""
    X = np.tile(np.arange(4.0), (3, 3)).T if X is None else X
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    binned, _ = bin_arrays(frame, np.zeros(len(frame)))
    codes = [
        2 * (int(binned.split_offset[f]) + binned.cuts[f].thresholds.tolist().index(value)) + (op == ">=")
        for f, value, op in splits
    ]
    return rule_of(sorted(codes), binned, frequency)


def test_a_condition_is_a_half_open_interval():
    rule = rule_from([(0, 1.0, ">="), (0, 3.0, "<"), (1, 2.0, ">=")])
    first, second = rule.conditions
    assert (first.feature, first.lower, first.upper) == ("a", 1.0, 3.0)
    assert (second.feature, second.lower, second.upper) == ("b", 2.0, None)
    assert (first.lower_cut, first.upper_cut) == (("value", 1.0), ("value", 3.0))
    assert (first.levels, first.missing, first.only_missing) == (None, None, False)
    assert str(rule) == "if 1 <= a < 3 & b >= 2"
    assert {(s.feature, s.op, s.value) for s in rule.path} == {("a", ">=", 1.0), ("a", "<", 3.0), ("b", ">=", 2.0)}
    assert all(s.cut == ("value", s.value) for s in rule.path)


def test_conditions_on_one_feature_are_merged():
    rule = rule_from([(0, 3.0, "<"), (0, 2.0, "<")])
    assert len(rule.conditions) == 1
    assert len(rule.path) == 2
    assert str(rule) == "if a < 2"
    assert rule == rule_from([(0, 2.0, "<")])


def test_a_rule_holds_at_its_lower_end_and_not_at_its_upper():
    rule = rule_from([(0, 1.0, ">="), (0, 3.0, "<")])
    table = read_table(np.array([[0.999, 0, 0], [1, 0, 0], [2.999, 0, 0], [3, 0, 0]], dtype=float))
    assert rule.holds(table).tolist() == [False, True, True, False]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, np.uint8])
def test_a_rule_judges_every_number_type_alike(dtype):
    rule = rule_from([(0, 2.0, ">=")])
    values = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]], dtype=dtype)
    assert rule.holds(read_table(values)).tolist() == [False, False, True, True]


def test_float32_values_are_compared_as_they_are():
    """A threshold between two neighbouring float32 numbers must not be rounded onto one of them."""
    low = np.float32(0.1)
    high = np.nextafter(low, np.float32(1))
    column = read_table(np.array([[low], [high]], dtype=np.float32)).columns[0]
    for share in (0.25, 0.75):
        threshold = (1 - share) * float(low) + share * float(high)
        assert Condition("x", lower=threshold).holds(column).tolist() == [False, True]
        assert Condition("x", upper=threshold).holds(column).tolist() == [True, False]


def test_a_value_that_cannot_be_judged_goes_to_the_heavier_side():
    X = np.repeat([0.0, 1.0, 1.0, 1.0], 5)[:, None] * np.ones(3)
    nan = read_table(np.full((2, 3), np.nan))
    assert rule_from([(0, 1.0, ">=")], X).holds(nan).tolist() == [True, True]
    assert rule_from([(0, 1.0, "<")], X).holds(nan).tolist() == [False, False]


def test_a_rule_is_frozen(model):
    rule = model.rules_[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.weight = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.conditions[0].upper = 2.0


def test_a_rule_of_a_model_holds_all_that_belongs_to_it(model, ozone):
    X, y = ozone
    for rule in model.selected_:
        inside = rule.holds(read_table(X))
        assert rule.n_inside == inside.sum()
        assert rule.n_inside + rule.n_outside == len(X)
        assert rule.inside == pytest.approx(y[inside].mean())
        assert rule.outside == pytest.approx(y[~inside].mean())
        assert 0 < rule.frequency < 1
        assert rule.weight >= 0
        assert all(isinstance(s, Split) for s in rule.path)
        assert len({c.feature for c in rule.conditions}) == len(rule.conditions)
    assert [r.frequency for r in model.selected_] == sorted((r.frequency for r in model.selected_), reverse=True)


def test_a_rule_reads_as_in_the_paper(model):
    assert str(model.selected_[0]).startswith("if temp < 66 then 7.0 else 19.0")
    assert repr(model.selected_[0]).startswith("<Rule: if temp < 66")
    candidate = model.candidates_[0]
    assert str(candidate) == "if temp < 65.4"
    assert candidate.inside is None
    assert candidate.weight is None


def test_rules_of_two_samples_compare_by_their_cuts(rng):
    """The thresholds differ, the quantile is the same."""
    first, second = (
        SirusRegressor(n_trees=500, n_rules=1, random_state=seed).fit(X, X[:, 0] >= np.median(X[:, 0])).rules_[0]
        for seed, X in enumerate(rng.normal(size=(2, 200, 3)))
    )
    assert first.conditions[0].upper != second.conditions[0].upper
    assert first.conditions[0].upper_cut == ("quantile", 5)
    assert first == second
    assert hash(first) == hash(second)
    assert len({first, second}) == 1
    assert first != "x0 < 0"
    assert first != Rule(())


def test_the_hash_of_a_rule_survives_another_process(model, tmp_path):
    """Text hashes differ between processes: a pickled rule must not bring its old hash along."""
    rule = model.selected_[0]
    hash(rule)
    (tmp_path / "rule.pickle").write_bytes(pickle.dumps(rule))
    script = (
        "import pickle, sys, dataclasses; rule = pickle.load(open(sys.argv[1], 'rb'));"
        "print(rule in {dataclasses.replace(rule)}, rule, sep='; ')"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    asked = [sys.executable, "-c", script, str(tmp_path / "rule.pickle")]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == f"True; {rule}\n"


def test_a_level_of_nothing_is_seen(rng):
    size = np.array(["", " big", "small", "wide"])[rng.integers(0, 4, 200)]
    model = SirusRegressor(n_rules=1, n_trees=50, random_state=0).fit(pd.DataFrame({"size": size}), (size != "") * 1.0)
    assert str(model.rules_[0].conditions[0]) == "size in {''}"
    assert "size in {''}" in model.export("markdown").replace("\\", "")


def test_a_rule_set_is_a_sequence(model):
    rules = model.rules_
    assert isinstance(rules, RuleSet)
    assert isinstance(rules[0], Rule)
    assert isinstance(rules[:2], RuleSet)
    assert len(rules[:2]) == 2
    assert rules[0] in rules
    assert rules.index(rules[1]) == 1
    assert rules == list(rules)
    assert rules == tuple(rules)
    assert rules != rules[:2]
    assert hash(rules) == hash(RuleSet(list(rules)))


def test_a_rule_set_prints_as_a_table(model):
    lines = str(model.rules_).splitlines()
    assert lines[0].split() == ["#", "frequency", "rule", "weight", "rows"]
    assert len(lines) == 1 + len(model.rules_)
    assert str(model.rules_[0]) in lines[1]
    assert repr(model.rules_) == str(model.rules_)
    assert str(RuleSet()) == "(no rules)"
    assert "weight" not in str(model.candidates_[:3]).splitlines()[0]


def test_the_html_of_a_rule_set_is_escaped(rng):
    X = pd.DataFrame({"<script>alert(1)</script>": rng.normal(size=100), "b&c": rng.normal(size=100)})
    model = SirusRegressor(n_trees=200, n_rules=3, random_state=0).fit(X, X.iloc[:, 0])
    html = model.rules_._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<tr>") == 1 + len(model.rules_)
    assert "(no rules)" in RuleSet()._repr_html_()


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_a_rule_set_becomes_a_frame(model, backend):
    frame = model.selected_.to_frame(backend)
    columns = frame.column_names if backend == "pyarrow" else list(frame.columns)
    rows = ["n_inside", "n_outside", "share_inside"]
    assert columns == ["rule", "frequency", "inside", "outside", *rows, "weight", "stage"]
    assert len(frame) == len(model.selected_)
    assert type(frame).__module__.split(".")[0] == (backend or "pandas")
    assert list(frame["weight"].to_numpy()) == [rule.weight for rule in model.selected_]
    assert frame["rule"].to_pandas()[0] if backend == "pyarrow" else frame["rule"][0] == "temp < 66"


def test_an_unknown_frame_library_is_refused(model):
    with pytest.raises(ValueError, match="'pandas', 'polars' or 'pyarrow', got 'dask'"):
        model.rules_.to_frame("dask")


@pytest.mark.parametrize(
    "value, text",
    [
        (65.4, "65.4"),
        (150.0, "150"),
        (32000.0, "32000"),
        (0.1 + 0.2, "0.3"),
        (1234.56789, "1234.56789"),
        (-0.523914123456, "-0.523914123456"),
        (12345678.25, "12,345,678.25"),
        (-1.5e-9, "-1.5e-9"),
        (0.0, "0"),
        (1250000.0, "1,250,000"),
        (20240131.0, "20240131"),
        (2e13, "2e13"),
        (0.00005, "0.00005"),
        (2.5e-6, "2.5e-6"),
    ],
)
def test_thresholds_are_as_short_as_can_be(value, text):
    assert format_threshold(value) == text


@pytest.mark.parametrize("value", [1234567.0, 12345678.5, 20240131.0])
def test_a_whole_threshold_is_not_rounded(value):
    assert float(format_threshold(value).replace(",", "")) == pytest.approx(value, rel=1e-6)

"""Slopes, a second kind of term, go wherever rules go."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from given import bin_arrays
from pysirus import Rule
from pysirus._bins.numeric import with_grids
from pysirus._data.table import Feature, read_table
from pysirus._families.numbers import Gaussian
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule
from pysirus._terms.slope import FittedSlope, Slope
from pysirus._terms.term import Term
from pysirus._text.format import true_minus
from pysirus._use.effect import effect
from pysirus._weights.moments import gram_of, moment_sums, rule_moments, values_in
from pysirus._weights.weighted import WeightedPrefixes, fitted_values
from pysirus.estimators.rule_model import RuleModel

SEED = 3


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 300).astype(float), rng.normal(size=300)])
    X[::17, 0] = np.nan
    y = 3 + 2 * np.nan_to_num(X[:, 0]) + (X[:, 1] >= 0) + rng.normal(size=300) / 10
    return X, y


@pytest.fixture
def terms(table):
    X, _ = table
    known = X[:, 0][~np.isnan(X[:, 0])]
    limits = {"lower": 1.0, "upper": 7.0, "mean": float(np.clip(known, 1, 7).mean())}
    slope = FittedSlope("x0", **limits, frequency=0.9, inside=2.0, outside=0.0, weight=0.9)
    asks = (Condition("x1", lower=0.0, lower_cut=("value", 0.0), index=1, share=0.5),)
    return [slope, FittedRule(asks, frequency=0.5, inside=13.0, outside=12.0, weight=1.1)]


@pytest.fixture
def model(table, terms):
    features = (Feature("x0", "numeric"), Feature("x1", "numeric"))
    return RuleModel(RuleSet(terms), -1.0, Gaussian("y", float(table[1].mean())), features)


def sums(terms, X, start=-1.0):
    """What the list adds up to, by hand."""
    slope, rule = terms
    x = np.where(np.isnan(X[:, 0]), slope.mean, np.clip(X[:, 0], slope.lower, slope.upper))
    return start + slope.weight * 2.0 * (x - slope.mean) + rule.weight * np.where(X[:, 1] >= 0, 13.0, 12.0)


def test_a_slope_is_evaluated_beside_rules(model, terms, table):
    X, _ = table
    np.testing.assert_allclose(model.predict(X), sums(terms, X), rtol=1e-12)
    np.testing.assert_allclose(model.decision(model.align(X)), sums(terms, X), rtol=1e-12)
    beyond = np.array([[1e9, 0.0], [-1e9, -1.0], [np.nan, -1.0]])
    np.testing.assert_allclose(model.predict(beyond), sums(terms, beyond))


def test_its_part_of_a_prediction_is_explained(model, terms, table):
    X, _ = table
    raw = model.explain(X, raw=True)
    np.testing.assert_allclose(raw.prediction, sums(terms, X), rtol=1e-12)
    expected = 0.9 * 2.0 * (np.clip(X[:, 0], 1, 7) - terms[0].mean)
    np.testing.assert_allclose(raw.contributions[:, 0], np.nan_to_num(expected), atol=1e-12)
    assert raw.fired[:, 0].all() and (raw.fired[:, 1] == (X[:, 1] >= 0)).all()
    assert raw.names == ["slope of x0, from 1 to 7", "x1 >= 0"] and "slope of x0, from 1 to 7" in str(raw)
    assert model.explain(X).baseline == pytest.approx(-1.0 + 1.1 * model.mean)
    importance = model.feature_importance("pandas").set_index("feature")
    assert importance.loc["x0", "gap"] == pytest.approx(1.8 * 6 / (1.8 * 6 + 1.1))


def test_its_effect_is_its_line(model, terms, table):
    X, _ = table
    found = effect(model, "x0", X)
    rule = 1.1 * (13.0 * (X[:, 1] >= 0).mean() + 12.0 * (X[:, 1] < 0).mean())
    expected = -1.0 + 1.8 * (np.array([1.0, 4.0, 7.0]) - terms[0].mean) + rule
    np.testing.assert_allclose(found.values, expected)


def test_it_is_told_in_a_line_of_its_own(model, terms):
    slope, rule = terms
    ends = f"{1.8 * (1 - slope.mean):+.2f} to {1.8 * (7 - slope.mean):+.2f}"
    said = f"x0: +1.80 per unit, from 1 to 7 ({ends})"
    assert str(slope) == said and repr(slope) == f"<Slope: {said}>" and str(Slope("x0")) == "slope of x0"
    lines = model.rules.text().splitlines()[1:]
    assert lines[0].split() == ["1", "0.900", *said.split(), "0.900"]
    assert lines[3] == "Beyond its range a slope stays at the end of the range; a missing value changes nothing."
    assert "if x1 >= 0 then 13.0 else 12.0" in lines[1]
    assert said in model.text() and true_minus(said) in model.rules.html() and "stays at the end" in model.rules.html()
    assert model.rules.to_frame("pandas")["rule"].tolist() == ["slope of x0, from 1 to 7", "x1 >= 0"]
    assert slope == Slope("x0") and slope != rule and len({slope, Slope("x0"), rule}) == 2
    assert isinstance(rule, Rule) and not isinstance(slope, Rule)


@pytest.fixture
def in_bins(table, terms):
    """The rows in bins, beside them their places on a grid, their response, and the two terms."""
    X, y = table
    binned, response = bin_arrays(X, y)
    binned = with_grids(binned, read_table(X), [0])
    middle = len(binned.cuts[1].thresholds) // 2
    cut = {"lower": binned.cuts[1].thresholds[middle], "lower_cut": binned.cuts[1].identities[middle]}
    rule = terms[1].map_conditions(lambda condition: replace(condition, **cut))
    return binned, response, [replace(terms[0], lower=0.0, upper=8.0, grid=binned.grids[0]), rule]


def values_of(terms, table, binned):
    """The values of terms, by hand: places of the grid are exact for whole numbers."""
    x, (slope, rule) = table[0][:, 0], terms
    centre = slope.grid.number(slope.centre_place)
    assert abs(centre - slope.mean) <= slope.unit / 2
    return np.column_stack([np.where(np.isnan(x), 0.0, x - centre), rule.row_values(binned, binned.bins)])


def test_its_moments_are_sums_of_its_values(in_bins, table):
    binned, response, terms = in_bins
    y, moments = table[1], rule_moments(terms, binned, response, SEED)
    values = values_of(terms, table, binned)
    whole = values_in(terms, read_table(table[0]))
    np.testing.assert_array_equal(whole * [term.unit for term in terms], values)
    np.testing.assert_allclose(moments.pair_weight.sum(axis=0), values.T @ values)
    np.testing.assert_allclose(moments.term_weight.sum(axis=0), values.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(moments.rule_y_sum.sum(axis=0)[:, 0], values.T @ (y - moments.centre))
    assert moments.rows.tolist() == [int((~np.isnan(table[0][:, 0])).sum()), int(values[:, 1].sum())]
    found, outputs = gram_of(moments, terms), values * [2.0, 1.0] + [0.0, 12.0]
    np.testing.assert_allclose(found.gram, np.cov(outputs.T, bias=True), atol=1e-9)
    np.testing.assert_allclose(found.mean_output, outputs.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(moments.slopes[0, 0], np.polyfit(values[:, 0], y, 1)[0])
    assert (moments.take([1]).term_weight == moments.term_weight[:, [1]]).all()


def test_the_moments_of_parts_add_up_to_the_bit(in_bins):
    binned, response, terms = in_bins
    response = replace(response, weights=np.random.default_rng(1).uniform(0.1, 3, response.n_rows))
    whole = moment_sums(terms, binned, response, SEED)
    cuts = [0, 1, 130, 130, 300]
    of_all = replace(response, part_of=response.scale)
    parts = [
        moment_sums(terms, replace(binned, bins=binned.bins[:, a:b]), of_all.take(np.arange(a, b)), SEED, a)
        for a, b in pairwise(cuts)
    ]
    together = sum(parts[1:], parts[0]).restore(response.moment_scale())
    for name, own in vars(whole.restore(response.moment_scale())).items():
        assert np.array_equal(own, getattr(together, name)), name


def test_training_rows_are_fitted_by_its_values(in_bins, table):
    binned, _, terms = in_bins
    weighted = WeightedPrefixes(tuple(terms), (2,), np.array([[0.9, 1.1]]), (-1.0,), np.zeros(1), 0.0)
    values = values_of(terms, table, binned)
    expected = -1.0 + 0.9 * 2.0 * values[:, 0] + 1.1 * np.where(values[:, 1], 13.0, 12.0)
    np.testing.assert_allclose(fitted_values(weighted, binned), expected)
    scores = weighted.scores(values_in(terms, read_table(table[0])))
    np.testing.assert_allclose(scores[:, 0], expected, rtol=1e-10)


def test_it_is_exported_as_a_program(model, terms, table):
    X, names = table[0][:40], {}
    exec(model.export("python"), names)
    rows = [dict(zip(("x0", "x1"), row)) for row in X.tolist()]
    np.testing.assert_allclose([names["predict"](row) for row in rows], sums(terms, X), rtol=1e-12)
    assert '"x0"' in model.export("sql") and "-- x0: +1.80 per unit" in model.export("sql")


def test_a_kind_of_term_without_keys_of_the_file_is_named(model, tmp_path):
    class Unheard(FittedTerm, Term):
        kind = "Unheard"
        key, columns, condition_text = "unheard", (0,), "unheard of"

        def factor(self, index, column):
            return column.values >= 0

        def build(self, into, inside, outside):
            into.branch([], inside, outside)

    terms = RuleSet([Unheard(frequency=0.5, inside=2.0, outside=1.0, weight=1.0)])
    with pytest.raises(TypeError, match="Unheard has no record of its keys, as RuleKeys is one"):
        replace(model, selected=terms).save(tmp_path / "m.json")

"""Slopes, a second kind of term, go wherever rules go."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from given import bin_arrays
from pysirus import Rule
from pysirus._data.table import Feature, read_table
from pysirus._families.gaussian import Gaussian
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule
from pysirus._terms.slope import FittedSlope, Slope
from pysirus._use.effect import effect
from pysirus._weights.moments import gram_of, row_values, rule_moments, value_moments
from pysirus._weights.weighted import WeightedPrefixes, fitted_values
from pysirus.estimators.rule_model import RuleModel

SEED = 3


@dataclass(frozen=True, eq=False, repr=False)
class BinnedSlope(FittedSlope):
    """A slope that has a value for each bin of its column."""

    bin_means: tuple[float, ...] = ()

    def bin_values(self, binned):
        return [(self.index, np.array(self.bin_means))]


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
    slope = BinnedSlope("x0", **limits, frequency=0.9, inside=2.0, outside=0.0, weight=0.9)
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
    assert said in model.text() and said in model.rules.html() and "stays at the end" in model.rules.html()
    assert model.rules.to_frame("pandas")["rule"].tolist() == ["slope of x0, from 1 to 7", "x1 >= 0"]
    assert slope == Slope("x0") and slope != rule and len({slope, Slope("x0"), rule}) == 2
    assert isinstance(rule, Rule) and not isinstance(slope, Rule)


@pytest.fixture
def in_bins(table, terms):
    """The rows in bins, their response, and the two terms with values for the bins."""
    X, y = table
    binned, response = bin_arrays(X, y)
    bins, values = binned.bins[0], terms[0].values(read_table(X))
    means = np.bincount(bins, values, 256) / np.maximum(np.bincount(bins, minlength=256), 1)
    middle = len(binned.cuts[1].thresholds) // 2
    cut = {"lower": binned.cuts[1].thresholds[middle], "lower_cut": binned.cuts[1].identities[middle]}
    rule = terms[1].map_conditions(lambda condition: replace(condition, **cut))
    return binned, response, [replace(terms[0], bin_means=tuple(means)), rule]


def test_its_moments_are_sums_of_values_of_bins(in_bins, table):
    binned, response, terms = in_bins
    y, moments = table[1], rule_moments(terms, binned, response, SEED)
    values = np.column_stack([row_values(term.bin_values(binned), binned.bins) for term in terms]).astype(float)
    assert set(values[:, 1]) == {0.0, 1.0} and len(set(values[:, 0])) > 3
    np.testing.assert_allclose(moments.pair_weight.sum(axis=0), values.T @ values)
    np.testing.assert_allclose(moments.term_weight.sum(axis=0), values.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(moments.rule_y_sum.sum(axis=0)[:, 0], values.T @ (y - moments.centre))
    found, outputs = gram_of(moments, terms), values * [2.0, 1.0] + [0.0, 12.0]
    np.testing.assert_allclose(found.gram, np.cov(outputs.T, bias=True), atol=1e-9)
    np.testing.assert_allclose(found.mean_output, outputs.mean(axis=0), atol=1e-9)
    assert (moments.take([1]).term_weight == moments.term_weight[:, [1]]).all()


def test_the_sums_of_values_are_those_of_bits_where_all_are_rules(in_bins):
    binned, response, (_, rule) = in_bins
    bits, values = (make([rule], binned, response, SEED) for make in (rule_moments, value_moments))
    assert bits.value_sum is None and (bits.rows == values.rows).all()
    for name in ("fold_weight", "pair_weight", "y_sum", "rule_y_sum", "y_square", "term_weight"):
        np.testing.assert_allclose(getattr(bits, name), getattr(values, name), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(np.concatenate(bits.means[1:]), np.concatenate(values.means[1:]))


def test_training_rows_are_fitted_by_values_of_bins(in_bins):
    binned, _, terms = in_bins
    weighted = WeightedPrefixes(tuple(terms), (2,), np.array([[0.9, 1.1]]), (-1.0,), np.zeros(1), 0.0)
    slope, rule = (row_values(term.bin_values(binned), binned.bins) for term in terms)
    expected = -1.0 + 0.9 * 2.0 * slope + 1.1 * np.where(rule, 13.0, 12.0)
    np.testing.assert_allclose(fitted_values(weighted, binned), expected)


def test_it_is_exported_as_a_program(model, terms, table):
    X, names = table[0][:40], {}
    exec(model.export("python"), names)
    rows = [dict(zip(("x0", "x1"), row)) for row in X.tolist()]
    np.testing.assert_allclose([names["predict"](row) for row in rows], sums(terms, X), rtol=1e-12)
    assert '"x0"' in model.export("sql") and "-- x0: +1.80 per unit" in model.export("sql")

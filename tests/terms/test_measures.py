"""Measures of what rule lists share, beside the formulas of their papers and counts by hand."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import pysirus
from given import bin_arrays
from pysirus import SirusRegressor, stability_measures
from pysirus._terms.rule import Condition, Rule, rule_of
from pysirus._terms.stability import Universe, measure, near_matrix, universe_of
from pysirus._terms.term import LinearTerm


def asks(feature="x", lower=None, upper=None, **more):
    """A condition between two quantiles."""
    cuts = [None if i is None else ("quantile", i) for i in (lower, upper)]
    return Condition(feature, lower, upper, lower_cut=cuts[0], upper_cut=cuts[1], **more)


def rule(*conditions):
    return Rule(conditions)


X3, X4, X5 = (rule(asks(upper=i)) for i in (3, 4, 5))
XY = rule(asks(upper=3), asks("y", lower=7))


def random_lists(rng, n_lists, n_terms, chances):
    pool = [rule(asks(f"x{i}", upper=1)) for i in range(n_terms)]
    return [[term for term, chance in zip(pool, chances) if rng.random() < chance] for _ in range(n_lists)], pool


def nogueira(lists, pool, n_terms):
    """The index and its standard error, as their paper writes them (2018, definition 4 and theorem 7)."""
    Z = np.zeros((len(lists), n_terms))
    for row, own in zip(Z, lists):
        row[[pool.index(term) for term in own]] = 1
    M, d = Z.shape
    share, sizes = Z.mean(axis=0), Z.sum(axis=1)
    k = sizes.mean()
    by_chance = k / d * (1 - k / d)
    value = 1 - (M / (M - 1) * share * (1 - share)).mean() / by_chance
    each = (
        (Z * share).mean(axis=1) - sizes * k / d**2 + value / 2 * (2 * k * sizes / d**2 - sizes / d - k / d + 1)
    ) / by_chance
    return value, np.sqrt(4 / M**2 * ((each - each.mean()) ** 2).sum())


# ------------------------------------------------------------------------------------------------------------- near


def test_cuts_one_quantile_away_are_near():
    assert X3.is_near(X3) and X3.is_near(X4) and X4.is_near(X3)
    assert not X3.is_near(X5)
    assert not X3.is_near(rule(asks(lower=3)))
    assert not X3.is_near(rule(asks("y", upper=3)))
    assert not X3.is_near(XY) and not XY.is_near(X3)
    assert XY.is_near(rule(asks("y", lower=6), asks(upper=4)))
    assert not XY.is_near(rule(asks("y", lower=6), asks(upper=5)))
    assert rule(asks(lower=3, upper=5)).is_near(rule(asks(lower=4, upper=6)))
    assert not rule(asks(upper=3, missing=True)).is_near(X3)


def test_values_and_categories_are_near_only_themselves():
    two, three = (rule(Condition("x", upper=v, upper_cut=("value", v))) for v in (2.0, 3.0))
    assert two.is_near(two) and not two.is_near(three)
    assert not rule(Condition("x", upper=3, upper_cut=("value", 3))).is_near(X3)
    kinds = [rule(Condition("x", levels=own, upper_cut=("levels", frozenset(own)))) for own in ("a", "ab")]
    assert kinds[0].is_near(kinds[0]) and not kinds[0].is_near(kinds[1])


def test_a_term_of_another_kind_is_near_itself_alone():
    line = LinearTerm("x", 1.0, 0.0, 1.0, 0.5)
    assert line.is_near(LinearTerm("x", 2.0, 0.0, 9.0, 0.5)) and not line.is_near(LinearTerm("y", 1.0, 0.0, 1.0, 0.5))
    assert not line.is_near(X3) and not X3.is_near(line)
    found = measure([[line, X3], [X4, line]])
    assert found.dice.value == 0.5 and found.nearby.value == 1 and found.columns.value == 1


def test_neighbours_are_counted_from_both_sides():
    found = measure([[X3, XY], [X4, X5, rule(asks("z", upper=1))]])
    # X3 has a neighbour, XY has none; X4 has one, X5 and z have none
    assert found.dice.value == 0 and found.nearby.value == pytest.approx(2 / 5)
    assert found.columns.value == pytest.approx(2 * 1 / 4)  # {x, y} and {x, z}
    np.testing.assert_array_equal(near_matrix([X3, X4, X5]), [[1, 1, 0], [1, 1, 1], [0, 1, 1]])


# ---------------------------------------------------------------------------------------------------------- measures


def test_the_index_corrected_for_chance_is_that_of_its_paper():
    rng = np.random.default_rng(4)
    for n_terms, n_lists in ((12, 30), (40, 8), (7, 3)):
        lists, pool = random_lists(rng, n_lists, n_terms, rng.random(n_terms) ** 2)
        found = measure(lists, universe=Universe(n_terms, n_terms))
        value, _ = nogueira(lists, pool, n_terms)
        assert found.corrected.value == pytest.approx(value, abs=1e-12)
        assert found.columns_corrected.value == pytest.approx(value, abs=1e-12)  # a column each
        assert found.dice.value == pytest.approx(pysirus.stability(lists))


def test_its_standard_error_is_about_that_of_its_paper():
    rng = np.random.default_rng(5)
    lists, pool = random_lists(rng, 200, 30, rng.random(30))
    found = measure(lists, universe=Universe(30, 30))
    assert found.corrected.error == pytest.approx(nogueira(lists, pool, 30)[1], rel=0.05)


def test_standard_errors_are_the_spread_over_independent_lists():
    rng = np.random.default_rng(6)
    chances = rng.random(20)
    found = [measure(random_lists(rng, 12, 20, chances)[0], universe=Universe(20, 20)) for _ in range(200)]
    for name in ("dice", "corrected", "nearby"):
        values, errors = np.array([getattr(own, name) for own in found]).T
        assert 0.8 < np.sqrt((errors**2).mean()) / values.std() < 1.3


def test_lists_picked_by_chance_have_nothing_in_common_that_chance_does_not_give():
    lists, _ = random_lists(np.random.default_rng(7), 100, 20, [0.4] * 20)
    found = measure(lists, universe=Universe(20, 20))
    assert found.dice.value > 0.35
    assert abs(found.corrected.value) < 3 * found.corrected.error < 0.1


def test_pairs_that_are_given_are_resamples_by_themselves():
    lists = [[X3], [X3], [X3], [X5], [X4, XY], [X4]]
    found = measure(lists, [(0, 1), (2, 3), (4, 5)], universe=Universe(100, 2), between="disjoint halves")
    values = np.array([1, 0, 2 / 3])
    assert found.dice == pytest.approx((values.mean(), values.std(ddof=1) / np.sqrt(3)))
    apart, size = np.mean([0, 1, 0.5]), np.mean([1, 1, 1.5])
    assert found.corrected.value == pytest.approx(1 - apart / (size * (1 - size / 100)))
    assert found.n_pairs == 3 and found.n_terms == pytest.approx(size)
    assert "between disjoint halves" in str(found) and "over resamples" in str(found)


def test_two_lists_have_no_standard_error_and_empty_ones_are_alike():
    found = measure([[X3], [X3, X4]], universe=Universe(9, 1))
    assert found.dice == (pytest.approx(2 / 3), None) and "±" not in str(found)
    assert np.isnan(found.columns_corrected.value) and "not defined" in str(found)  # every column is in every list
    empty = measure([[], [], []], universe=Universe(9, 1))
    assert empty.dice.value == empty.nearby.value == 1 and np.isnan(empty.corrected.value)
    assert json.loads(json.dumps(empty.to_dict()))["corrected"] is None


# ---------------------------------------------------------------------------------------------------------- universe


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_the_universe_has_every_rule_that_the_cuts_allow(max_depth):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 3, 60), rng.integers(0, 2, 60), np.ones(60)])
    X[::7, 1] = np.nan
    binned, _ = bin_arrays(X, rng.normal(size=60), n_bins=4)
    splits = 2 * int(binned.split_offset[-1])  # sides
    seen = set()
    for depth in range(1, max_depth + 1):
        for sides in itertools.combinations(range(splits), depth):
            found = rule_of(list(sides), binned, 0.0)
            if is_possible(found):
                seen.add(found.key)
    singles = [key for key in seen if len(key) == 1 and is_one_sided(next(iter(key)))]
    assert len(singles) == splits
    found = universe_of(binned.cuts, max_depth)
    assert found.n_terms == len(seen) - splits // 2
    assert found.n_columns == 3
    assert universe_of(binned.cuts, max_depth, n_slopes=2).n_terms == found.n_terms + 2


def is_possible(found):
    """Whether some value satisfies each condition, and not every value does."""
    for c in found.conditions:
        if c.lower is not None and c.upper is not None and c.lower >= c.upper:
            return False
        if c.lower is None and c.upper is None and c.missing and not c.only_missing:
            return False
        if c.only_missing and not c.missing:
            return False
    return True


def is_one_sided(key):
    _, lower, upper, _, _ = key
    return lower is None or upper is None


# ------------------------------------------------------------------------------------------------------------ models


def test_fitted_models_are_corrected_for_chance_and_models_of_a_file_are_not(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + (X[:, 1] > 0) + rng.normal(size=400) / 2
    models = [SirusRegressor(n_rules=5, n_trees=500, random_state=s).fit(X[s::3], y[s::3]) for s in range(3)]
    found = stability_measures(models)
    assert found.universe == Universe(5 * 9 + 5 * 36 + 10 * 18 * 18, 5)
    assert found.dice.value == pysirus.stability(models)
    assert found.dice.value <= found.nearby.value <= 1 and found.dice.error > 0
    assert list(found.to_frame("pandas")["measure"]) == list(found.measures)
    assert "corrected for chance" in found._repr_html_()
    models[0].save(tmp_path / "model.json")
    kept = stability_measures(pysirus.load(tmp_path / "model.json"), *models[1:])
    assert kept.corrected is None and kept.dice == found.dice and "corrected" not in str(kept)


def test_collections_that_are_no_rules_are_refused():
    with pytest.raises(TypeError, match="use stability"):
        stability_measures("ab", "bc")
    with pytest.raises(ValueError, match="at least two"):
        stability_measures([[X3]])

"""Levels in the order in which people read them."""

import numpy as np
import pandas as pd
import pytest

from pysirus import SirusRegressor
from pysirus._terms.from_text import columns_of_rules, read_rule
from pysirus._terms.words import has_own_order, reading_order
from pysirus._use.effect import axis_of

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@pytest.mark.parametrize(
    "levels",
    [
        MONTHS,
        ["January", "March", "May", "August"],
        ["Monday", "Tuesday", "Saturday", "Sunday"],
        ["low", "medium", "high"],
        ["Very Low", "Low", "High"],
        ["S", "M", "L", "XL"],
        ["Bad", "Medium", "Good"],
        ["<18", "18-24", "25-34", "100+"],
        ["under 5", "5 to 9", "10 to 14", "15 and over"],
        ["(0, 5]", "(5, 10]", "(10, 100]"],
        ["$500-$999", "$1,000-$1,999", "$10,000+"],
        ["grade 2", "grade 9", "grade 10"],
        ["-10", "-1", "3"],
        ["city 9", "city 10", "other"],
    ],
)
def test_levels_with_an_order_are_read_in_it(levels):
    assert list(reading_order(sorted(levels))) == levels
    assert has_own_order(sorted(levels))


@pytest.mark.parametrize(
    "levels",
    [["a1", "b2", "c10"], ["Oslo", "Paris"], ["May", "Rose"], ["1", "two"], ["Mon", "Monday"], [1, 2, 10], [], ["x"]],
)
def test_other_levels_stay_as_they_are(levels):
    assert list(reading_order(levels)) == levels and not has_own_order(levels)


def test_numbers_and_truth_values_are_not_confused():
    assert str(reading_order([False, True])) == "(False, True)"
    assert str(reading_order([0, 1])) == "(0, 1)"


def test_an_order_that_was_given_stays():
    assert reading_order(["high", "medium", "low"]) == ("high", "medium", "low")


def test_rules_and_effects_name_levels_in_their_order(rng):
    order = ["small", "huge", "tiny"]
    X = pd.DataFrame(
        {
            "month": rng.choice(MONTHS, 400),
            "size": pd.Categorical(rng.choice(order, 400), categories=order, ordered=True),
        }
    )
    y = X["month"].isin(["Apr", "Jan", "Mar", "Dec"]) * 9.0 + 2 * (X["size"] == "tiny") + rng.normal(0, 0.01, 400)
    model = SirusRegressor(n_rules=4, n_trees=200, random_state=0, max_depth=1).fit(X, y)
    rule = next(rule for rule in model.rules_ if rule.conditions[0].feature == "month")
    assert str(rule).startswith("if month in {Feb, May, Jun, Jul, Aug, Sep, Oct, Nov} then")
    assert read_rule(rule.condition_text, columns_of_rules(model.model_.features, model.model_.selected)) == rule
    assert list(axis_of(model.model_, "month").labels) == MONTHS
    assert list(axis_of(model.model_, "size").labels) == order
    assert np.isclose(model.score(X, y), model.model_.score(X, y))

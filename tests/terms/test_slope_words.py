"""A slope is said in a line that can be computed by hand, whatever is predicted."""

from dataclasses import replace

import numpy as np
import pytest

from hand_made import HAND_SLOPED, SLOPED, by_hand, slope_of
from pysirus._terms.slope import FittedSlope

NOTE = "Beyond its range a slope stays at the end of the range; a missing value changes nothing."


def temp(inside, spread, **options):
    """A slope from 25 to 93 about 57.8, as one of a fit."""
    own = FittedSlope("temp", 0, 25.0, 93.0, 57.8, inside=inside, outside=0.0, weight=1.0, **options)
    return own.round_slope(spread, multiplies=options.get("multiplies", False))


def test_a_slope_of_numbers_is_said_per_unit_and_at_its_ends():
    own = temp(0.2094, 40.0)
    assert str(own) == "temp: +0.21 per unit, from 25 to 93 (-6.9 to +7.4)" and own.slope == 0.21
    assert str(replace(own, inside=-0.2094)) == "temp: -0.21 per unit, from 25 to 93 (+6.9 to -7.4)"


def test_a_line_is_computed_by_hand_from_what_it_prints():
    own = temp(0.2094, 40.0)
    rate, first = 0.21, -6.9  # as printed: at 25 it adds -6.9, and each degree above adds 0.21
    x = np.array([25.0, 40.0, 57.8, 93.0])
    np.testing.assert_allclose(first + rate * (x - 25), own.contributions(x - own.mean), atol=0.05)


def test_factors_are_said_as_factors():
    own = temp(0.0297, 8.0, multiplies=True)
    assert str(own) == "temp: ×1.03 per unit, from 25 to 93 (×0.379 to ×2.83)"
    assert np.exp(own.slope) == pytest.approx(1.03, rel=1e-15)


def test_two_classes_are_said_as_log_odds_and_odds():
    own = FittedSlope("age", 0, 18.0, 80.0, 41.0, inside=(-0.02, 0.02), outside=(0.0, 0.0), weight=1.0)
    own = replace(own, classes=("no", "yes")).round_slope(4.0)
    assert str(own) == "age: +0.04 per unit (odds ×1.04), from 18 to 80 (-0.92 to +1.56)"


def test_several_classes_are_said_each_and_where_nothing_is_added():
    own = slope_of("x", (0.4, -0.1, -0.3), ("a", "b", "c"), spread=5.0)
    assert str(own) == "x: a +0.36, b -0.09, c -0.27 per unit, from -2 to 3 (0 at 0.25)"
    many = tuple(f"class {k}" for k in range(9))
    own = slope_of("x", tuple(k - 4.0 for k in range(9)), many, spread=5.0)
    assert all(label in own.sentence(own._sides, None) for label in many)
    assert "..." in own.sentence(own._sides, 80) and len(own.sentence(own._sides, 110)) <= 110


def test_long_and_short_ranges_are_told_in_round_steps():
    far = FittedSlope("pay", 0, 12_000.0, 260_000.0, 41_000.0, inside=3.14e-4, outside=0.0, weight=1.0)
    assert str(far.round_slope(100.0)) == "pay: +3.14 per 10000, from 12000 to 260000 (-9.1 to +68.8)"
    near = FittedSlope("nox", 0, 0.385, 0.871, 0.55, inside=-17.7, outside=0.0, weight=1.0)
    assert str(near.round_slope(9.0)) == "nox: -0.177 per 0.01, from 0.385 to 0.871 (+2.92 to -5.68)"


def test_a_long_name_loses_its_middle_and_the_numbers_stay():
    own = replace(temp(0.2094, 40.0), feature="t" * 300)
    said = own.sentence(own._sides, 90)
    assert len(said) == 90 and said.endswith("ttt: +0.21 per unit, from 25 to 93 (-6.9 to +7.4)")


@pytest.mark.parametrize("name", HAND_SLOPED)
def test_a_list_says_its_slopes_and_once_what_holds_beyond(name):
    model = HAND_SLOPED[name]
    text = model.text()
    assert text.count(NOTE) == 1 and "x: " in text and "z: " in text and " per unit" in text
    assert model._repr_html_().count(NOTE) == 1
    frame = model.rules.to_frame("pandas")
    assert frame["lower"].tolist()[0] == -2.0 and frame["zero_at"].tolist()[-1] == 1.5
    assert np.isnan(frame["lower"].tolist()[1])
    inside = frame["inside"][0]
    assert inside is None or np.isnan(inside)
    np.testing.assert_allclose(np.asarray(frame["per_unit"][0]), model.rules[0].slope)


def test_the_positive_class_of_two_turns_the_sign():
    model = HAND_SLOPED["two"]
    assert "x: +0.558 per unit (odds ×1.75)" in model.text()
    assert "x: -0.558 per unit (odds ×0.572)" in model.speaking_of("no").text()


def test_a_column_of_what_rules_add_has_the_ends_of_slopes():
    log = HAND_SLOPED["log"].text().splitlines()
    assert (
        log[2].split()[-2:] == ["adds", "rows"]
        and "×" in log[3].split(" per unit, from -2 to 3")[1]
        and " to ×" in log[3]
    )
    assert log[3].count("(") == 1  # that of the rows
    four = HAND_SLOPED["four"].text().splitlines()[3]
    assert "(0 at 0.25)" in four and four.split("  ")[-2].strip().startswith("a ")


@pytest.mark.parametrize("name", HAND_SLOPED)
def test_predictions_are_what_the_list_says(name):
    model = HAND_SLOPED[name]
    rows = SLOPED[np.isfinite(SLOPED.fillna(0.0)).all(axis=1)]
    np.testing.assert_allclose(model.scores(rows), by_hand(model, rows), rtol=1e-12)

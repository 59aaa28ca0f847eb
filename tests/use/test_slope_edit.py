"""Slopes are removed, added and fixed by hand; weights are fitted again, on the rows or without them."""

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import SirusClassifier, SirusRegressor
from pysirus._terms.slope import Slope

OPTIONS = {"n_rules": 1, "n_stages": 4, "max_rules": 4, "n_trees": 200, "random_state": 1}


@pytest.fixture(scope="module")
def rows():
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.normal(size=(400, 3)), columns=["a", "b", "c"])
    X.loc[::19, "a"] = np.nan
    y = 2 * X["a"].fillna(0) + 3 * (X["b"] > 0.4) + draw.normal(size=400) / 5
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def sloped(rows):
    return SirusRegressor(**OPTIONS, slopes=True).fit(*rows).model_


def test_a_fit_finds_the_slope(sloped):
    slope = next(term for term in sloped.rules if not term.is_binary)
    assert slope == Slope("a") and slope.slope == pytest.approx(2, rel=0.05)
    assert "a: +" in sloped.text()


def test_a_slope_is_removed_with_rows_and_without(sloped, rows):
    by_rows, by_sums = sloped.without("slope of a", *rows), sloped.without("slope of a")
    assert Slope("a") not in list(by_rows.selected) and len(by_sums.selected) == len(sloped.selected) - 1
    np.testing.assert_allclose(by_rows.predict(rows[0]), by_sums.predict(rows[0]), atol=1e-9)
    assert by_sums.facts.edits[-1]["removed"] == ["slope of a"]


def test_a_rule_beside_a_slope_is_removed(sloped, rows):
    number = next(i for i, term in enumerate(sloped.rules, 1) if term.is_binary)
    by_rows, by_sums = sloped.without(number, *rows), sloped.without(number)
    span = np.ptp(sloped.predict(rows[0]))
    # without rows it is not known how far the mean of the column was moved to be short
    np.testing.assert_allclose(by_rows.predict(rows[0]), by_sums.predict(rows[0]), atol=1e-3 * span)


def test_a_saved_model_is_edited_as_it_was(sloped, rows, tmp_path):
    sloped.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert again.without(1, *rows).text() == sloped.without(1, *rows).text()
    assert again.without(1).text() == sloped.without(1).text()


def test_a_slope_is_added_and_fixed(rows):
    plain = SirusRegressor(**OPTIONS).fit(*rows).model_
    added = plain.adding("slope of a", *rows)
    (slope,) = [term for term in added.rules if not term.is_binary]
    assert slope.given and slope.n_outside == rows[0]["a"].isna().sum() and slope.slope > 0
    assert added.score(*rows) > plain.score(*rows)
    fixed = plain.adding("+1.5 per unit of a", *rows)
    assert fixed.rules[0].slope == 1.5 and fixed.rules[0].frequency_text == "given, fixed"
    away = rows[0].assign(a=rows[0]["a"].clip(fixed.rules[0].lower + 1, None) - 1)
    gap = fixed.explain(away, raw=True).contributions[:, 0] - fixed.explain(rows[0], raw=True).contributions[:, 0]
    moved = ((away["a"] - rows[0]["a"]).fillna(0) * 1.5).to_numpy()
    np.testing.assert_allclose(gap, moved, atol=5e-3)
    with pytest.raises(ValueError, match="The slope 'slope of a' is in the list already"):
        fixed.adding("slope of a", *rows)
    with pytest.raises(ValueError, match=r"rules add to the prediction: write an amount.*instead of '×1.1'"):
        plain.adding("×1.1 per unit of b", *rows)


def test_on_other_rows_the_range_is_that_of_these_rows(sloped, rows):
    X, y = rows[0][:150] * 0.5, rows[1][:150]
    with pytest.warns(UserWarning, match="not the rows that the model was fitted on"):
        other = sloped.adding("c < 0", X, y)
    slope = next(term for term in other.rules if not term.is_binary)
    assert slope.upper == pytest.approx(X["a"].max(), abs=0.01) and slope.n_inside == X["a"].notna().sum()


def test_a_slope_of_one_value_cannot_be_added(rows):
    plain = SirusRegressor(**OPTIONS).fit(*rows).model_
    with pytest.raises(ValueError, match="no slope of c on these rows: its column has not two different known values"):
        plain.adding("slope of c", rows[0].assign(c=1.0), rows[1])


def test_slopes_of_classes_are_edited_too(rows):
    X, y = rows[0], np.where(rows[1] > 1, "high", "low")
    model = SirusClassifier(**OPTIONS, slopes=True, required_rules=["slope of a"]).fit(X, y).model_
    edited = model.adding("-0.4 for high per unit of c", X, y)
    assert edited.rules[0].points(edited.family)[0] == pytest.approx(0.4)  # of low, the positive class
    assert model.without("slope of a", X, y).rules

"""Whatever is done with rules is done with slopes: explain, effect, coverage, edit, diff, importance."""

from dataclasses import replace

import numpy as np
import pytest

from hand_made import HAND_SLOPED, RANGES, SLOPED, by_hand, slope_of
from pysirus._terms.listing import RuleSet
from pysirus._terms.slope import FittedSlope
from pysirus._use.effect import effect
from pysirus.plot import effect as draw_effect
from pysirus.plot import waterfall

ROWS = SLOPED[np.isfinite(SLOPED.fillna(0.0)).all(axis=1)].reset_index(drop=True)


@pytest.fixture(params=HAND_SLOPED)
def model(request):
    return HAND_SLOPED[request.param]


def test_contributions_add_up_to_the_prediction_in_its_order(model):
    found = model.explain(ROWS)
    assert (found.scores == model.scores(ROWS)).all()
    np.testing.assert_allclose(found.baseline + found.contributions.sum(axis=1), by_hand(model, ROWS), rtol=1e-12)
    own = model.rules[0]
    value = np.nan_to_num(np.clip(ROWS["x"], *RANGES["x"][:2]) - RANGES["x"][2])
    np.testing.assert_allclose(found.contributions[:, 0], own.contributions(value))
    assert found.names[0] == "slope of x, from -2 to 3" and "slope of x" in str(found)


def test_a_missing_value_contributes_nothing(model):
    gaps = ROWS.assign(x=np.nan)
    assert (model.explain(gaps).contributions[:, 0] == 0).all()


def test_an_effect_is_steps_and_lines(model):
    found = effect(model, "x")
    (axis,) = found.axes
    assert axis.edges == (-2.0, 0.0, 3.0) and axis.has_missing and found.ends.shape[:2] == (4, 2)
    places = np.array([-3.0, -2.0, -2.0, 0.0, 0.0, 3.0, 3.0, 4.0])
    beside = [np.array([-1e-9, 0, -1e-9, 0, -1e-9, 0, -1e-9, 0])[i] for i in (1, 0, 1, 0, 1, 0, 1, 0)]
    rows = ROWS.iloc[:1].loc[[0] * 8].assign(x=places + beside, z=0.5)
    gap = by_hand(model, rows) - by_hand(model, rows)[0]
    drawn = found.ends.reshape(8, *model.family.shape)
    np.testing.assert_allclose(drawn - drawn[0], gap, atol=1e-8)


def test_the_effect_on_rows_is_the_mean_of_predictions(model):
    found = effect(model, "x", ROWS)
    (axis,) = found.axes
    told = found.values if found.predictions is None else found.predictions
    for step in (0, 2, len(axis.edges)):
        rows = ROWS.assign(x=float(axis.column.values[step]))
        np.testing.assert_allclose(told[step], model.raw_predict(rows).mean(axis=0), rtol=1e-12)
    if found.predictions is not None:  # bends, so it is drawn in small steps
        assert len(axis.edges) > 40


def test_coverage_is_of_rules_with_their_numbers(model):
    found = model.coverage(ROWS)
    assert [found.number(i) for i in range(2)] == [2, 3] and len(found.rules) == 2
    assert "slope" not in str(found) and str(found).splitlines()[1].startswith("2  x < 0")


def test_a_model_differs_from_one_with_another_slope():
    model = HAND_SLOPED["number"]
    other = replace(model, selected=RuleSet([slope_of("x", 0.5), *model.rules[1:]]))
    found = model.diff(other)
    assert found.stability == 1.0 and not found.is_same
    assert any(change.place.endswith("slope") and (change.old, change.new) == (0.642, 0.45) for change in found.changes)
    assert "-1.445 to +1.766 -> -1.012 to +1.238" in str(found)
    assert found.to_dict()["kept"][0]["new"]["per_unit"] == 0.45


def test_its_importance_is_its_range(model):
    frame = model.feature_importance("pandas").set_index("feature")
    assert frame["gap"].sum() == pytest.approx(1) and frame.loc["x", "gap"] > 0


def test_a_slope_is_found_by_its_text_number_and_line():
    from pysirus._use.edit import rule_positions

    model = HAND_SLOPED["number"]
    for which in (1, "slope of x", "slope of x, from -2 to 3", "x: +0.642 per unit, from -2 to 3 (-1.445 to +1.766)"):
        assert rule_positions(model, which) == [0]
    with pytest.raises(ValueError, match=r"'x' is a column, and rules are removed.*'slope of x', 'x < 0 or missing'"):
        rule_positions(model, "x")
    with pytest.raises(ValueError, match=r"no column is called 'q'"):
        rule_positions(model, "slope of q")


def test_a_waterfall_has_a_bar_for_a_slope(model):
    pytest.importorskip("matplotlib").use("Agg")
    ax = waterfall(model, ROWS[:1])
    assert any("slope of x" in label.get_text() for label in ax.get_yticklabels())


def test_a_heat_map_has_the_prediction_in_the_middle_of_each_cell_along_a_slope(model):
    pytest.importorskip("matplotlib").use("Agg")
    ax = draw_effect(model, ("x", "z"), ROWS)
    (mesh,) = ax.collections
    cells, (xs, ys) = mesh.get_array(), (mesh.get_coordinates()[0, :, 0], mesh.get_coordinates()[:, 0, 1])
    assert cells.shape == (len(ys) - 1, len(xs) - 1) and cells.size > 144
    assert [label.get_text() for label in ax.get_xticklabels()][-1] == "missing"
    for i, j in ((2, 5), (8, 3)):
        rows = ROWS.assign(x=(xs[i] + xs[i + 1]) / 2, z=(ys[j] + ys[j + 1]) / 2)
        told = np.asarray(model.raw_predict(rows)).mean(axis=0)
        np.testing.assert_allclose(cells[j, i], told if told.ndim == 0 else told[-1], rtol=1e-9)


def test_slopes_stay_slopes():
    assert sum(isinstance(term, FittedSlope) for term in HAND_SLOPED["four"].rules) == 2

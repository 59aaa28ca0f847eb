"""Many levels as few rows: those that no rule tells apart share one."""

import numpy as np
import pytest

from pysirus import SirusRegressor
from pysirus._data.column import Column
from pysirus._use.effect import MOST_ROWS, Axis, level_groups
from pysirus.report._sections import training_metrics


def axis(labels, *, in_order=False, missing=False):
    codes = np.array([*range(len(labels)), *([-1] if missing else [])])
    column = Column("x", "categorical", codes, tuple(labels))
    return Axis("x", 0, (), (*labels, *(["missing"] if missing else [])), column, missing, in_order)


def test_few_levels_have_a_row_each():
    groups = level_groups(axis(["a", "b"], missing=True), np.array([1.0, 1.0, 3.0]))
    assert [group.label for group in groups] == ["a", "b", "missing"]


def test_equal_levels_share_a_row_and_the_most_frequent_is_named():
    labels = [f"level {i}" for i in range(20)]
    values = np.array([2.0] * 15 + [5.0] * 2 + [0.1 + 0.2] * 2 + [0.3] + [7.0])
    counts = np.arange(20)
    groups = level_groups(axis(labels, missing=True), values, counts)
    assert [group.label for group in groups] == [
        "level 16, level 15",
        "level 14 and 14 more",
        "level 19 and 2 more",
        "missing",
    ]
    assert [group.value[0] for group in groups] == pytest.approx([5.0, 2.0, 0.3, 7.0])
    assert sorted(name for group in groups for name in group.levels) == sorted([*labels, "missing"])


def test_levels_in_order_stay_in_it():
    labels = [str(year) for year in range(1990, 2010)]
    groups = level_groups(axis(labels, in_order=True), np.repeat([1.0, 3.0, 1.0], [10, 2, 8]))
    assert [group.label for group in groups] == ["1990 to 1999", "2000, 2001", "2002 to 2009"]


def test_what_there_is_no_room_for_is_averaged():
    labels = [f"l{i}" for i in range(100)]
    groups = level_groups(axis(labels), np.arange(100.0), np.arange(100) + 1.0)
    assert len(groups) == MOST_ROWS + 1 and groups[-1].label == "the other 76, on average"
    assert groups[-1].value[0] == pytest.approx(np.average(np.arange(76), weights=np.arange(76) + 1.0))
    assert groups[0].label == "l99"


@pytest.mark.parametrize("n_stages", [1, 3])
def test_training_metrics_are_those_of_the_rows(ozone, n_stages):
    X, y = ozone
    weights = np.linspace(1, 3, len(y))
    model = SirusRegressor(n_rules=4, n_trees=200, n_stages=n_stages, random_state=0).fit(X, y, sample_weight=weights)
    metrics = training_metrics(model.model_)
    assert metrics["r2"][0] == pytest.approx(model.score(X, y, weights), abs=1e-8)
    error = np.sqrt(np.average((y - model.predict(X)) ** 2, weights=weights))
    assert metrics["rmse"][0] == pytest.approx(error, rel=1e-6)


def test_explanations_are_sliced(ozone):
    X, y = ozone
    model = SirusRegressor(n_rules=3, n_trees=100, random_state=0).fit(X, y)
    some = model.explain(X)[2:5]
    assert len(some) == 3 and some.prediction == pytest.approx(model.predict(X)[2:5])

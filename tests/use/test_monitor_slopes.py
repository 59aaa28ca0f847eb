"""Monitoring of lists with slopes, and the pictures of its page."""

import re

import numpy as np
import pandas as pd
import pytest

from pysirus import SirusRegressor
from pysirus._use.monitor_page import Series, chart


def sloping(rng, n_rows, shift=0.0, rise=1.0):
    """Rows whose target rises with x, from 100 on, and has a step in z."""
    X = pd.DataFrame({"x": 100 + shift + 10 * rng.normal(size=n_rows), "z": rng.normal(size=n_rows)})
    y = rise * X.x.to_numpy() / 10 + (X.z.to_numpy() > 0) + rng.normal(size=n_rows)
    return X.assign(x=X.x.where(rng.random(n_rows) > 0.05)), y


@pytest.fixture(scope="module")
def sloped():
    X, y = sloping(np.random.default_rng(5), 800)
    model = SirusRegressor(n_rules=1, n_stages=4, n_trees=200, slopes=True, random_state=0).fit(X, y)
    (number,) = (k for k, term in enumerate(model.rules_, start=1) if not term.is_binary)
    return model, X, number


def test_slope_is_compared_by_the_mean_of_its_column_within_its_range(sloped):
    model, X, number = sloped
    new, truth = sloping(np.random.default_rng(6), 900, shift=5.0)
    new.loc[0, "x"] = 1e6
    watched = model.monitor(new, truth)
    own = next(row for row in watched.to_dict()["rules"] if row["number"] == number)
    term = model.rules_[number - 1]
    within = [np.clip(rows.x.fillna(term.mean), term.lower, term.upper) for rows in (X, new)]
    assert own["share_then"] is None and own["share_now"] is None
    assert [own["mean_then"], own["mean_now"]] == pytest.approx([values.mean() for values in within], rel=1e-4)
    above, below = (within[0].mean() + sign * within[0].std(ddof=0) for sign in (1, -1))
    line = np.polyfit(within[1], truth, 1)
    assert [own["inside_now"], own["outside_now"]] == pytest.approx(np.polyval(line, [above, below]), rel=1e-4)
    rules = [row for row in watched.to_dict()["rules"] if row["number"] != number]
    assert all(0 <= row["share_now"] <= 1 and row["mean_now"] is None for row in rules)


def test_slope_is_told_by_means_in_text_and_on_the_page(sloped):
    model, _, number = sloped
    new, truth = sloping(np.random.default_rng(7), 900, shift=5.0)
    watched = model.monitor(new, truth, time=["2026-01"] * 450 + ["2026-02"] * 450)
    text = str(watched)
    (line,) = (line for line in text.splitlines() if line.strip().startswith(f"{number}  slope of x"))
    assert line.count("mean ") == 2 and "%" not in line
    assert "a slope: the mean of its column instead of a share" in text
    finding = next(own for own in watched.findings if own.part == "rule" and own.what == "share" and own.alarm)
    assert "slope of x" in watched.words(finding) and "mean 99.99 then" in watched.words(finding)
    page = watched.to_html()
    assert ">mean</span>" in page and "mean + 1 sd" in page


def test_axis_of_a_picture_has_three_different_labels_and_no_share_above_one():
    def labels(*given, **more):
        return [
            float(text) for text in re.findall('text-anchor="end">([0-9.]+)<', chart("", ["a", "b"], given, **more))
        ]

    near = labels(Series("error", [0.1335, 0.1371], 0.1408))
    assert near == sorted(near) and len(set(near)) == 3
    assert max(labels(Series("share of rows", [0.99, 1.0], 0.97), least=0.2, most=1.0)) == 1.0


def test_flatter_slope_is_found_first(sloped):
    model, _, number = sloped
    watched = model.monitor(*sloping(np.random.default_rng(8), 900, rise=0.3))
    assert watched.alarm and watched.to_dict()["rules"][0]["number"] == number
    assert not model.monitor(*sloping(np.random.default_rng(9), 900)).alarm

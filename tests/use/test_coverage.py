"""Coverage and overlap: which rows rules cover, which fire together, which contradict each other."""

import numpy as np
import pandas as pd
import pytest

from pysirus import SirusClassifier, SirusRegressor, plot
from pysirus._terms.from_text import columns_of_rules, read_rule


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(400), "b": rng.random(400), "c": rng.random(400)})
    return X, 3.0 * (X["a"] < 0.3) - 2.0 * (X["b"] < 0.5) + 0.1 * rng.normal(size=400)


def by_hand(model, texts, X):
    columns = columns_of_rules(model.features, model.selected)
    return np.array([read_rule(text, columns).holds(model.align(X)) for text in texts])


def test_shares_are_those_of_the_rows(rows):
    X, y = rows
    model = SirusRegressor(n_rules=6, n_trees=200, random_state=0).fit(X, y).model_
    found = model.coverage(X)
    holds = by_hand(model, [rule.condition_text for rule in found.rules], X)
    assert found.share == pytest.approx(holds.mean(axis=1))
    assert found.counts.tolist() == holds.sum(axis=0).tolist()
    assert found.uncovered == pytest.approx((~holds.any(axis=0)).mean())
    assert found.alone == pytest.approx((holds & (holds.sum(axis=0) == 1)).mean(axis=1))
    for i in range(len(holds)):
        for j in range(len(holds)):
            assert found.together[i, j] == pytest.approx((holds[i] & holds[j]).mean())
    frame = found.to_frame("pandas")
    assert frame["covers"].tolist() == found.share.tolist() and len(frame) == len(found.rules)


def test_rules_that_pull_apart_contradict_each_other(rows):
    X, y = rows
    model = SirusRegressor(n_rules=2, n_trees=100, random_state=0, required_rules=["a < 0.3", "b < 0.5"]).fit(X, y)
    found = model.coverage(X)
    assert found.contradictions == [(0, 1, pytest.approx(((X["a"] < 0.3) & (X["b"] < 0.5)).mean()))]
    text = str(found)
    assert "pull in opposite directions: 1 and 2" in text and "no rule covers" in text and "a < 0.3" in text
    same = SirusRegressor(n_rules=2, n_trees=100, random_state=0, required_rules=["a < 0.3", "b >= 0.5"]).fit(X, y)
    assert same.coverage(X).contradictions == [] and "pull in opposite directions: none" in str(same.coverage(X))


@pytest.mark.parametrize("labels", [["no", "yes"], ["high", "low", "mid"]])
def test_classes_and_metrics_and_reports(rows, labels):
    X, y = rows
    target = np.array(labels)[np.digitize(y, [-1, 1] if len(labels) == 3 else [0.5])]
    model = SirusClassifier(n_rules=5, n_trees=100, random_state=0, interaction_cst="pairwise").fit(X, target)
    assert 0 <= model.coverage(X).uncovered <= 1
    ax = plot.overlap(model, X)
    assert len(ax.get_yticklabels()) == len(model.rules_) and "in no rule" in ax.get_title("left")
    page = model.report(X=X)
    assert "Coverage and overlap" in page and "What every rule obeys" in page
    assert 'id="coverage"' not in model.report()


def test_a_report_shows_how_each_rule_obeys(rows):
    X, y = rows
    model = SirusRegressor(n_rules=5, n_trees=100, random_state=0, monotonic_cst={"a": -1, "b": 1}).fit(X, y)
    page = model.report()
    assert "Constraints: increasing in b; decreasing in a" in page
    assert "decreasing in a: its output is larger below the cut" in page
    given = SirusRegressor(n_rules=3, n_trees=50, random_state=0, required_rules=["c < 0.5"]).fit(X, y).report()
    assert '"given": true' in given.replace('"given":true', '"given": true') and "c &lt; 0.5" in given
    assert 'id="obeys"' not in SirusRegressor(n_rules=2, n_trees=50, random_state=0).fit(X, y).report()


def test_no_rules_cover_nothing():
    with pytest.warns(UserWarning, match="no rules"):
        model = SirusRegressor(n_trees=10, random_state=0).fit([[0.0], [1.0], [2.0]], [1.0, 1.0, 1.0])
    found = model.coverage([[0.0], [1.0]])
    assert found.uncovered == 1 and found.pairs() == [] and "(no rules)" in str(found)

"""The study of the rows that a tree draws: samples and names of rules, figures worked by hand, and the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _find_studies(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def problem():
    from studies.rows.problems import Problem

    draw = np.random.default_rng(0)
    X = pd.DataFrame({"a": draw.normal(size=200), "b": draw.normal(size=200), "s": draw.choice(["u", "v"], 200)})
    return Problem(X, np.asarray(2.0 * (X["a"] > 0) + (X["s"] == "u") + 0.1 * draw.normal(size=200)), False)


def test_folds_leave_a_tenth_out_and_halves_are_disjoint(problem):
    from studies.rows.measure import N_FOLDS, n_samples, sample

    for i in range(N_FOLDS):
        train, test = sample(problem, i)
        assert len(test) == 20 and not set(train) & set(test)
    for i in range(N_FOLDS, n_samples(), 2):
        (one, rest), (other, _) = sample(problem, i), sample(problem, i + 1)
        assert sorted([*one, *other]) == list(range(200)) and set(rest) == set(other)


def test_names_of_rules_do_not_depend_on_the_order_of_sets():
    from studies.rows.measure import short

    a, b = ("x", frozenset(["u", "v", "w"]), None, 1.5), ("y", None, 0.1)
    assert short(frozenset([a, b])) == short(frozenset([b, ("x", frozenset(["w", "v", "u"]), None, 1.5)]))
    assert short(frozenset([a])) != short(frozenset([b]))


def test_a_limit_above_all_rows_is_no_limit(problem, monkeypatch):
    from studies.rows.measure import DRAWN, measure

    monkeypatch.setitem(DRAWN, "20", 20)
    few, many, free = (measure(problem, limit, 0, n_trees=40) for limit in ("20", "1000", "share"))
    without_time = [{name: value for name, value in r.items() if "seconds" not in name} for r in (few, many, free)]
    assert without_time[1] == without_time[2] != without_time[0]
    assert len(free["rules_20"].split()) > len(free["rules_5"].split()) == 5


def _result(error, rules, seconds=2.0):
    lists = {f"{kind}rules_{size}": rules for kind in ("", "plain_") for size in (5, 10, 20)}
    times = {"seconds": seconds, "plain_seconds": seconds}
    return {"error": [error] * 3, "plain_error": [error] * 3, **times, **lists}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Two folds and a pair of halves: of 1,000 rows more error and the same rules, without a limit other rules."""
    from studies.results import Job
    from studies.rows import cells

    monkeypatch.setattr(cells, "about", lambda job: {"rows": 9_000, "columns": 3, "pysirus": "0"})
    found = cells.store_at(tmp_path)
    for sample in (0, 1, 10, 11):
        found.put(Job("films", "1000", sample), _result(0.504, "a b", 1.0), 1.0)
        found.put(Job("films", "share", sample), _result(0.5, f"a {sample}"), 1.0)
    return found


def test_error_stability_and_time_are_compared_on_the_same_samples(store):
    from studies.results import Job
    from studies.rows.page import cells_of, costs_nothing, gain, mean_ratio, pairs_of

    store.put(Job("films", "share", 2), _result(9.0, "c d"), 1.0)  # a sample that 1,000 rows do not have
    pairs = pairs_of(cells_of(store, ""), "1000")
    assert mean_ratio(pairs, 0) == pytest.approx(1.008) and gain(pairs, 5, False) == gain(pairs, 5, True) == 0.5
    assert costs_nothing(pairs)
    store.put(Job("films", "1000", 0), _result(0.52, "a b"), 1.0)
    assert not costs_nothing(pairs_of(cells_of(store, ""), "1000"))


def test_the_page_says_what_was_found(store):
    from studies.rows.page import make_page

    text = make_page(store)
    assert "| 1,000 | 1 | 1.008, 1.008, 1.008 | 1.008, 1.008, 1.008 | +0.50, +0.50, +0.50 |" in text
    assert "### Ratings of films\n\n9,000 rows, 3 columns." in text


def test_the_page_is_that_of_the_results():
    from studies.rows.cells import store_at
    from studies.rows.page import make_page

    assert (ROOT / "docs/rows.md").read_text(encoding="utf-8") == make_page(store_at())


def test_older_results_say_what_has_changed_since():
    from studies.results import CHANGES, LARGE, LARGE_CHANGES, RESULTS, Figures, say, version_of

    def said(version, package="pysirus"):
        about = {package: "0.2.0"} | ({} if version is None else {"results": version})
        return say(version_of({("films", "1000"): Figures(about, {})}))

    assert said(RESULTS) == said(1, "scikit-learn") == f"*Results version {RESULTS}.*"
    older = f"*Results version {RESULTS - 1}; the code is at {RESULTS}.* {CHANGES[RESULTS]}"
    assert said(RESULTS - 1) == older and said(None).endswith(" ".join(CHANGES.values())) and max(CHANGES) == RESULTS
    large = f"*Results version {RESULTS}; the code is at {LARGE}.* {LARGE_CHANGES[LARGE]}"
    assert say(RESULTS, LARGE) == large and say(LARGE, LARGE) == f"*Results version {LARGE}.*"

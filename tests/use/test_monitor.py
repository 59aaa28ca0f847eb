"""Monitoring: tests by hand first, then what adds up, then laws with and without drift, then every door."""

import csv
import html
import json
import math
import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import stats

import pysirus
from drift_laws import DRIFTS, LAWS, estimator_of, rows
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, SirusSurvival
from pysirus._model.row_sums import LEAST_ROWS, Cells, Judged, merge_cells, sum_rows
from pysirus._text.format import true_minus
from pysirus._use.drift import (
    LEAST_TESTED,
    adjusted,
    column_test,
    error_test,
    level_test,
    output_test,
    share_test,
    stability_index,
)

RESULTS = Path(__file__).parents[2] / "studies" / "monitor" / "results.csv"


@pytest.fixture(scope="module", params=LAWS, ids=lambda law: law.name)
def fitted(request):
    """A law and a model of it, with its training rows."""
    X, y = request.param.draw(np.random.default_rng(0), 1000)
    return request.param, estimator_of(request.param).fit(X, pd.Series(y, name="y")), X, y


@pytest.fixture(scope="module")
def numbers():
    X, y = LAWS[0].draw(np.random.default_rng(5), 1000)
    return estimator_of(LAWS[0]).fit(X, pd.Series(y, name="y")).model_, X, y


# ------------------------------------------------------------------------------------------------------------ by hand


def test_population_stability_index_is_the_textbook_sum():
    then, now = np.array([500.0, 300.0, 200.0]), np.array([400.0, 300.0, 300.0])
    a, b = (then + 0.5) / 1001.5, (now + 0.5) / 1001.5
    assert stability_index(then, now) == pytest.approx(sum((b - a) * np.log(b / a)))
    assert stability_index(then, 2 * then) == pytest.approx(0, abs=1e-6)


def test_holm_multiplies_the_smallest_by_the_number_of_tests_and_never_falls():
    assert adjusted(np.log([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])


def test_cells_hold_edges_levels_and_what_is_missing():
    numeric = pysirus._data.table.Column("x", "numeric", np.array([0.0, 1.0, 2.0, np.nan, 9.0]))
    cells = Cells((1.0, 2.0), None, 0.0, 2.0)
    assert cells.place(numeric).tolist() == [0, 1, 2, 3, 2]
    assert cells.beyond(numeric).tolist() == [False, False, False, False, True]
    labels = pysirus._data.table.Column("k", "categorical", np.array([0, 1, 2, -1, -2]), ("a", "b", "c"))
    cells = Cells(levels=("c", "a"))
    assert cells.place(labels).tolist() == [1, 2, 0, 3, 2]
    assert cells.beyond(labels).tolist() == [False, False, False, False, True]


def test_small_cells_are_joined_until_each_has_ten_rows():
    rows, sums = np.array([4, 30, 5, 3, 200, 1, 7]), np.arange(7.0)[:, None]
    cells, found = merge_cells(Cells((1.0, 2.0, 3.0, 4.0, 5.0)), rows, sums)
    assert cells.edges == (2.0,) and not cells.missing_apart
    assert found.ravel().tolist() == [0 + 1, 2 + 3 + 4 + 5 + 6]
    cells, found = merge_cells(Cells(levels=("a", "b", "c")), np.array([90, 4, 12, 0, 0]), np.ones((5, 1)))
    assert cells.levels == ("a",) and found.ravel().tolist() == [1, 3, 1]


def sums_of(x, y, residual=None, weights=None):
    """The sums of a table of one number x, with the rule x < 0."""
    model = SirusRegressor(n_rules=1, n_trees=50, random_state=0).fit(
        pd.DataFrame({"x": np.r_[-1.0:1.0:80j]}), np.r_[-1.0:1.0:80j] > 0
    ).model_  # fmt: skip
    table = model.align(pd.DataFrame({"x": x}))
    judged = None if residual is None else Judged(y[:, None], residual[:, None])
    return sum_rows(table, model.watched_terms, [Cells((-0.5, 0.0, 0.5))], weights, judged), model


def test_column_share_output_and_error_tests_equal_their_textbook_forms():
    rng = np.random.default_rng(0)
    x, y = [rng.normal(size=n) + d for n, d in ((400, 0), (300, 0.2))], [rng.normal(size=n) for n in (400, 300)]
    (then, model), (now, _) = (sums_of(own, left, left) for own, left in zip(x, y))
    counts = [np.bincount(np.searchsorted([-0.5, 0.0, 0.5], own, side="right"), minlength=4) for own in x]
    expected = stats.chi2_contingency(np.array(counts), correction=False)
    ratio = stats.chi2_contingency(np.array(counts), correction=False, lambda_="log-likelihood")
    p = max(expected.pvalue, ratio.pvalue)
    assert expected.pvalue != ratio.pvalue
    assert math.exp(column_test(then, now, 0)[0].log_p) == pytest.approx(p)

    holds = [model.watched_terms[0].holds(model.align(pd.DataFrame({"x": own}))).astype(float) for own in x]
    two = stats.chi2_contingency([[h.sum(), len(h) - h.sum()] for h in holds], correction=False)
    z = math.sqrt(two.statistic)
    assert math.exp(share_test(then, now, 0).log_p) == pytest.approx(2 * stats.t.sf(z, 698))

    slopes, variances, rows = [], [], []
    for h, r in zip(holds, y):
        d, e = h - h.mean(), r - r.mean()
        slopes.append((e * d).sum() / (d * d).sum())
        variances.append(((e * d) ** 2).mean() - (e * d).mean() ** 2)
        variances[-1] /= (d * d).mean() ** 2 * len(d)
        rows.append(len(d) * (d * d).mean() ** 2 / (d**4).mean())
    usual = variances[0] * 400 / 300 * holds[0].var() / holds[1].var()  # what the old rows would give here
    variances[1] = max(variances[1], usual)
    total = sum(variances)
    tails = 3 / max(3, (y[0] ** 4).mean() / (y[0] ** 2).mean() ** 2)
    freedom = total**2 / sum(v * v / (tails * n - 1) for v, n in zip(variances, rows))
    assert slopes[0] == pytest.approx(y[0][holds[0] == 1].mean() - y[0][holds[0] == 0].mean())
    p = 2 * stats.t.sf(abs(slopes[1] - slopes[0]) / math.sqrt(total), freedom)
    assert math.exp(output_test(then, now, 0, 1.0).log_p) == pytest.approx(p)

    worse = sums_of(x[1], y[1], 1.3 * y[1])[0]
    squares = [y[0] ** 2, (1.3 * y[1]) ** 2]
    variances = [own.var() / (len(own) - 1) for own in squares]
    total = sum(variances)
    freedom = total**2 / sum(v * v / (tails * len(own) - 1) for v, own in zip(variances, squares))
    p = stats.t.sf((squares[1].mean() - squares[0].mean()) / math.sqrt(total), freedom)
    assert math.exp(error_test(then, worse, 1.0).log_p) == pytest.approx(p)
    welch = stats.ttest_ind(squares[1], squares[0], equal_var=False, alternative="greater")
    assert 1 <= p / welch.pvalue < 1.1  # heavier tails than normal ones make it larger


def test_share_of_few_rows_is_tested_exactly():
    x = [np.r_[np.zeros(37) - 1, np.ones(263)], np.r_[np.zeros(2) - 1, np.ones(48)]]
    (then, _), (now, _) = (sums_of(own, own) for own in x)
    expected = stats.fisher_exact([[37, 263], [2, 48]]).pvalue
    assert math.exp(share_test(then, now, 0).log_p) == pytest.approx(expected)


def test_two_equal_residuals_do_not_make_a_change_certain():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=400), rng.normal(size=400)
    then, now = sums_of(x, y, y)[0], sums_of(np.array([-1.0, 1.0]), np.ones(2), np.array([2.0, 2.0]))[0]
    assert now.residuals[0, 2, 0] / 2 == (now.residuals[0, 0, 0] / 2) ** 2  # which have no spread of their own
    for test in (level_test(then, now, 1.0), output_test(then, now, 0, 1.0)):
        assert math.exp(test.log_p) > 0.05


def test_equal_weights_of_any_size_say_what_rows_say():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=200), rng.normal(size=200)
    plain, weighed = (sums_of(x, y, y, w)[0] for w in (None, np.full(200, 3.0)))
    assert weighed.effective == plain.effective == 200
    assert output_test(plain, weighed, 0, 1.0).log_p == pytest.approx(0)


def test_sums_of_parts_add_up_to_those_of_all_rows():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=301), rng.normal(size=301)
    whole = sums_of(x, y, y)[0]
    parts = sums_of(x[:100], y[:100], y[:100])[0] + sums_of(x[100:], y[100:], y[100:])[0]
    for name in ("weight", "squares", "values", "truth", "residuals", "error", "low", "high"):
        assert np.allclose(getattr(whole, name), getattr(parts, name)), name
    assert np.allclose(whole.cells[0], parts.cells[0])


# --------------------------------------------------------------------------------------------------- what is remembered


def test_model_remembers_sums_of_at_least_ten_rows_and_no_rows(fitted):
    _, estimator, X, _ = fitted
    reference = estimator.model_.reference
    for column in reference.columns:
        weights = column.sums[:, 0]
        assert ((weights == 0) | (weights >= LEAST_ROWS)).all() and weights.sum() == len(X)
    assert [term.rule for term in reference.terms] == [term.condition_text for term in estimator.model_.watched_terms]
    assert len(json.dumps(estimator.model_.facts["reference"])) < 12_000


def test_reference_survives_the_file_and_is_the_same_from_files(fitted, tmp_path):
    law, estimator, X, y = fitted
    estimator.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert again.model_.facts["reference"] == estimator.model_.facts["reference"]
    pa.parquet.write_table(pa.Table.from_pandas(X.assign(y=y)), tmp_path / "t.parquet", row_group_size=170)
    parts = estimator_of(law).fit_files(tmp_path / "t.parquet", "y", memory=1 << 26)
    assert parts.model_.facts["reference"] == estimator.model_.facts["reference"]


def test_tuned_model_remembers_held_out_residuals():
    X, y = LAWS[0].draw(np.random.default_rng(3), 300)
    tuned = SirusRegressorCV(n_trees=300, cv=3, n_repeats=1, max_rules=6, random_state=0).fit(X, y)
    reference = tuned.model_.reference
    assert reference.out_of_fold
    left = float(reference.error[0] / reference.weight)
    held_out = tuned.model_.out_of_fold.metrics["rmse"][0] ** 2
    assert left == pytest.approx(held_out, rel=1e-5)
    watched = tuned.monitor(*LAWS[0].draw(np.random.default_rng(4), 1000))
    assert not watched.alarm and "held-out" in str(watched) and watched.optimism == 1


# --------------------------------------------------------------------------------------------------------------- laws


def test_rows_without_drift_raise_no_alarm_and_each_drift_is_found(fitted):
    law, estimator, _, _ = fitted
    rng = np.random.default_rng(8)
    quiet = [estimator.monitor(*law.draw(rng, 1000)).alarm for _ in range(10)]
    assert sum(quiet) <= 1
    for drift in DRIFTS:
        watched = estimator.monitor(*law.draw(rng, 1000, drift))
        assert watched.alarm and watched.verdict.startswith("Alarm: ")
        assert watched.columns["column"][0] == law.column(drift)
        assert law.column(drift) in watched.rules["rule"][0]


def test_study_of_two_hundred_models_of_each_law_keeps_what_the_docs_say():
    counts = {}
    with RESULTS.open() as file:
        for row in csv.DictReader(file):
            own = counts.setdefault((row["law"], row["model"], row["drift"]), [])
            right = row["column_first"] == row["rule_first"] == "True"
            own.append((row["alarm"] == "True", row["alarm"] == "True" and right))
    assert len(counts) == 3 * 2 * 4 and {len(own) for own in counts.values()} == {200}
    for (*_, drift), own in counts.items():
        alarms, right = np.sum(own, axis=0)
        assert alarms <= 8 if drift == "none" else right >= 180


def test_moved_rows_alone_are_no_change_of_outputs(fitted):
    law, estimator, _, _ = fitted
    watched = estimator.monitor(*law.draw(np.random.default_rng(21), 1000, "shifted"))
    assert watched.rules["p_outputs"].min() > 0.01


# -------------------------------------------------------------------------------------------------------------- doors


@pytest.mark.parametrize("n_rows", [1, 2, 12, 29])
def test_table_and_period_of_few_rows_are_shown_and_not_tested(fitted, n_rows):
    law, estimator, _, _ = fitted
    X, y = law.draw(np.random.default_rng(n_rows), 100 + n_rows)
    few = estimator.monitor(X[:n_rows], y[:n_rows])
    assert not few.alarm and not few.findings and few.verdict.startswith("Nothing was tested: there ")
    assert len(few.columns) == len(X.columns) and not few.periods["tested"][0]
    watched = estimator.monitor(X, y, time=["2026-01"] * 100 + ["2026-02"] * n_rows)
    assert watched.periods["tested"].tolist() == [True, False]
    assert {finding.period for finding in watched.findings} == {None, "2026-01"}
    assert "2026-02 *" in str(watched) and f"* fewer than {LEAST_TESTED:.0f} rows" in str(watched)
    assert "not tested" in watched.to_html()
    shown, (rules, columns) = watched._repr_html_(), watched._tables()
    assert shown.count("<table") == 2 and html.escape(watched.verdict) in shown and "2026-02 *" in shown
    for header, lines in (rules, columns):
        assert all(f">{html.escape(true_minus(cell))}</t" in shown for cell in [*header, *lines[0]])


def test_means_of_fewer_than_ten_rows_are_not_told(fitted):
    law, estimator, _, _ = fitted
    X, y = law.draw(np.random.default_rng(31), 109)
    watched = estimator.monitor(X, y, time=["2026-01"] * 100 + ["2026-02"] * 9)
    told = watched.to_dict()
    assert told["periods"][1]["error"] is None and told["periods"][1]["mean_residual"] is None
    one = estimator.monitor(X[:1], y[:1]).to_dict()
    assert one["error"] is None and {own["inside_now"] for own in one["rules"]} == {None}
    for own in told["rules"]:
        few = min(own["share_now"], 1 - own["share_now"]) * 109 < 10 - 1e-9
        assert (own["inside_now"] is None) == few


def test_without_targets_shares_and_columns_are_compared_and_it_is_said(fitted):
    law, estimator, _, _ = fitted
    X, _ = law.draw(np.random.default_rng(9), 1000, "shifted")
    watched = estimator.monitor(X)
    assert watched.alarm and watched.error is None
    assert watched.not_compared == ("outputs and error, as no targets were given",)
    assert watched.rules["p_outputs"].isna().all() and watched.rules["order_kept"].isna().all()


def test_unseen_categories_values_beyond_the_range_and_missing_ones_are_found(numbers):
    model, X, y = numbers
    new = X.copy()
    new.loc[:99, "kind"], new.loc[100:150, "x3"], new.loc[200:300, "x4"] = "new", 50.0, np.nan
    with pytest.warns(UserWarning, match="unseen category"):
        watched = model.monitor(new, y)
    columns = watched.columns.set_index("column")
    assert columns.beyond["kind"] == 0.1 and columns.p_beyond["kind"] < 1e-6
    assert columns.beyond["x3"] == 0.051 and columns.p_beyond["x3"] < 1e-6
    assert columns.missing_then["x4"] == 0 and columns.missing_now["x4"] == 0.101 and columns.p_moved["x4"] < 1e-6
    assert columns.alarm["x4"] and not columns.alarm["coin"]


def test_change_that_is_sure_and_does_not_matter_raises_no_alarm(numbers):
    model, X, y = numbers
    new = X.assign(x3=X.x3 + 0.3)
    assert model.monitor(new, y).alarm
    assert not model.monitor(new, y, tolerance=0.5).alarm


def test_periods_are_months_of_dates_and_an_alarm_says_which(numbers):
    model, _, _ = numbers
    rng = np.random.default_rng(11)
    parts = [LAWS[0].draw(rng, 300, "halved" if month == 3 else None) for month in (1, 2, 3)]
    X, y = pd.concat([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    days = pd.Series(pd.to_datetime(np.repeat(["2026-01-03", "2026-02-07", "2026-03-31"], 300)))
    for time in (days, days.dt.strftime("%Y-%m-%d"), days.to_numpy(), pa.array(days), days.dt.strftime("%Y-%m")):
        watched = model.monitor(X, y, time=time)
        assert watched.periods["period"].tolist() == ["2026-01", "2026-02", "2026-03"]
        assert watched.periods["alarm"].tolist() == [False, False, True]
    assert "in 2026-03" in watched.verdict
    page = watched.to_html()
    assert page.count("<svg") >= len(model.watched_terms) and "http" not in page.replace("http-equiv", "")


def test_order_of_outputs_that_turns_round_is_told(numbers):
    model, _, _ = numbers
    X, y = LAWS[0].draw(np.random.default_rng(12), 1000)
    turned = model.monitor(X, -y)
    assert not turned.rules["order_kept"][0] and "larger output has become the smaller one" in str(turned)
    assert model.monitor(X, y).rules["order_kept"].all()


def test_model_without_sums_says_so_and_takes_them_from_rows(numbers):
    model, X, y = numbers
    old = pysirus._model.facts.Facts.of({k: v for k, v in model.facts.items() if k != "reference"})
    bare = type(model)(**{**{f: getattr(model, f) for f in model.__dataclass_fields__}, "facts": old})
    with pytest.raises(ValueError, match=r"remembers nothing of its training rows.*with_reference"):
        bare.monitor(X, y)
    again = bare.with_reference(X, y)
    assert not again.monitor(*LAWS[0].draw(np.random.default_rng(13), 1000)).alarm
    assert again.monitor(*LAWS[0].draw(np.random.default_rng(13), 1000, "halved")).alarm


def test_edited_list_compares_shares_until_it_is_given_the_rows(numbers):
    model, X, y = numbers
    edited = model.without(2)
    watched = edited.monitor(X, y)
    assert "the list was changed" in watched.not_compared[0] and watched.error is None
    assert edited.with_reference(X, y).monitor(X, y).error is not None


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.zeros(1000), "zero for every row"),
        (np.full(1000, 1e-320), "overflow or vanish"),
        (np.r_[1e300, np.ones(999)], "overflow or vanish"),
        (-np.ones(1000), "a negative weight"),
    ],
)
def test_weights_that_cannot_be_added_up_are_refused(numbers, weights, words):
    model, X, y = numbers
    with pytest.raises(ValueError, match=words):
        model.monitor(X, y, weights)
    assert model.monitor(X, y, np.where(np.arange(1000) < 20, 0, 1e-100)).then.n_rows == 1000


def test_month_is_that_of_the_clock_of_a_zone(numbers):
    model, X, y = numbers
    late = pd.Series(pd.to_datetime(["2026-02-01 00:30"] * 500 + ["2026-01-31 23:30"] * 500)).dt.tz_localize(
        "Asia/Tokyo"
    )
    for time in (late, late.astype(str), pa.array(late)):
        assert model.monitor(X, y, time=time).periods["period"].tolist() == ["2026-01", "2026-02"]


@pytest.mark.parametrize("bad", [{"alpha": 0.0}, {"alpha": 2}, {"tolerance": -1.0}])
def test_bad_limits_are_refused_by_name(numbers, bad):
    model, X, y = numbers
    with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
        model.monitor(X, y, **bad)
    with pytest.raises(ValueError, match="one for each row"):
        model.monitor(X, y, time=[1, 2])


def test_class_whose_predictions_are_off_and_that_of_outputs_are_named():
    X, y, _ = rows(300)
    own = np.array(["no", "maybe", "yes"])[np.digitize(y, [0.5, 1.5])]
    model = SirusClassifier(n_rules=3, n_trees=100, random_state=1, n_jobs=1).fit(X, own)
    told = str(model.monitor(X, np.full(300, "maybe")))
    largest = 1 - (own == "maybe").mean()
    found = re.search(r"the mean residual of maybe is (0\.\d+)", told)
    assert float(found[1]) == pytest.approx(largest, abs=0.02) and "outputs: the share of " in told
    for weighting in ("likelihood", "equal"):
        two = SirusClassifier(n_rules=3, n_trees=100, weighting=weighting, random_state=1, n_jobs=1).fit(X, own == "no")
        told = two.monitor(X, np.ones(300, dtype=bool))
        (label,) = re.findall(r"outputs: the share of (\w+)", str(told))
        inside = told.to_dict()["rules"][0]["inside_now"]
        assert inside == (label == "True") and "mean residual of True is 0." in str(told)


def test_several_classes_and_times_are_compared():
    rng = np.random.default_rng(14)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    kind = np.where(X.a > 0.5, "x", np.where(X.b > 0, "y", "z"))
    model = SirusClassifier(n_rules=6, n_trees=200, random_state=0).fit(X, kind)
    assert not model.monitor(X, kind).alarm
    assert model.monitor(X, rng.permutation(kind)).alarm
    times = pd.DataFrame({"time": rng.exponential(np.exp(-X.a)), "event": rng.random(600) < 0.7})
    survival = SirusSurvival(n_rules=4, n_trees=200, random_state=0).fit(X, times)
    assert not survival.monitor(X, times).alarm
    assert survival.monitor(X, times.assign(time=times.time / 3)).alarm


def test_command_compares_writes_a_page_and_leaves_with_three(run, numbers, tmp_path):
    model, _, _ = numbers
    model.save(tmp_path / "m.json")
    for name, drift in (("quiet", None), ("loud", "halved")):
        X, y = LAWS[0].draw(np.random.default_rng(16), 1000, drift)
        X.assign(y=y, month="2026-01").to_csv(tmp_path / f"{name}.csv", index=False)
    here = tmp_path / "m.json"
    assert run("monitor", here, tmp_path / "quiet.csv")[0] == 0
    code, out, _ = run("monitor", here, tmp_path / "loud.csv", "--time", "month", "-o", tmp_path / "page.html")
    assert code == 3 and out.startswith("Alarm: ") and (tmp_path / "page.html").exists()
    found = json.loads(run("monitor", here, tmp_path / "loud.csv", "--json")[1])
    assert found["alarm"] and found["rules"][0]["alarm"]
    query = run("monitor", here, "loans", "--sql", "--target", "y", "--dialect", "duckdb")[1]
    with duckdb.connect() as database:
        database.register("loans", pd.read_csv(tmp_path / "loud.csv"))
        database.execute(query).df().to_csv(tmp_path / "sums.csv", index=False)
    assert run("monitor", here, tmp_path / "sums.csv", "--sums")[0] == 3
    assert run("monitor", here, tmp_path / "quiet.csv", "--training", tmp_path / "loud.csv")[0] == 3

"""Evidence: shares worked by hand, fits of the resamples one by one, groups, periods, threads, the command line."""

import html
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, load
from pysirus._data.column import DataError
from pysirus._learn.splits import BOOTSTRAP, FOREST, Resampling, derive, periods_of
from pysirus._parameters import ParameterError
from pysirus._text.format import true_minus
from pysirus._use.evidence import GAIN, expected_return, next_return, tell, told_of
from pysirus.engine.shard import NodeSums

QUICK = {"n_rules": 4, "n_trees": 200, "random_state": 1}


@pytest.fixture(scope="module")
def rows():
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.normal(size=(200, 3)), columns=["a", "b", "c"])
    X["few"] = draw.integers(0, 12, 200).astype(float)  # twelve values, in a quarter of the rows perhaps ten
    return X, pd.Series(X["a"] + (X["b"] > 0) + draw.normal(size=200), name="y")


@pytest.fixture(scope="module")
def model(rows):
    return SirusRegressor(**QUICK).fit(*rows)


def lists(*names):
    return [SimpleNamespace(rules=list(own)) for own in names]


def test_expected_return_is_extrapolated_from_quarters_and_halves_worked_by_hand():
    half, quarter = lists("abcd", "abef"), lists("axyz", "efyz")
    # halves: 2 of 4 and 2 of 4; quarters in the other half: 1 of 4 ("a" in "abef") and 0 of 4
    found = expected_return([quarter], [half])
    assert found.value == pytest.approx(0.5 + GAIN * (0.5 - 1 / 8))
    assert found.error is None
    assert expected_return([lists("a", "a")] * 3, [lists("a", "a")] * 3) == (1.0, 0.0)
    assert expected_return([lists("", "")], [lists("", "")]) is None


def test_the_next_period_has_a_share_of_the_terms_worked_by_hand():
    found = next_return(lists("ab", "ac", "ac"))
    assert found.value == pytest.approx((0.5 + 1.0) / 2)
    assert found.error == pytest.approx(0.25)


def test_returned_is_the_share_of_half_samples_whose_own_fit_has_the_rule(model, rows):
    X, y = rows
    found = model.evidence(X, y, n_resamples=4)
    _, response, _ = model._read(X, y, None)
    draw = Resampling(response.stratum_sizes, None, 1)
    lists = []
    for number in range(2):
        for side, half in enumerate(draw.halves(number).samples(response)[:2]):
            seed = derive(1, FOREST, 4 * number + side)
            # in the halves of this table every column keeps its kind, so that a plain fit is the same
            assert X["few"].iloc[half].nunique() > 10
            lists.append(set(SirusRegressor(**{**QUICK, "random_state": seed}).fit(X.iloc[half], y.iloc[half]).rules_))
    assert [own.returned for own in found.terms] == [np.mean([r in own for own in lists]) for r in model.rules_]
    assert all(own.returned <= own.returned_nearby for own in found.terms)
    assert found.terms[0].inside is None  # of four samples no interval is told


def test_halves_are_disjoint_and_stratified():
    y = np.repeat([0, 1], [90, 10])
    response = SirusClassifier()._read(np.zeros((100, 1)), y, None)[1]
    one, other, *quarters = Resampling(response.stratum_sizes, None, 0).halves(3).samples(response)
    assert sorted([*one, *other]) == list(range(100))
    assert set(quarters[0]) < set(one) and set(quarters[1]) < set(other) and [len(q) for q in quarters] == [25, 25]
    assert sorted(int(y[own].sum()) for own in (one, other)) in ([4, 6], [5, 5])  # two or three in each quarter


def test_groups_stay_in_one_half():
    groups = np.arange(60) // 3
    response = SirusRegressor()._read(np.zeros((60, 1)), np.arange(60.0), None)[1]
    draw = Resampling(response.stratum_sizes, groups, 0)
    for own in draw.halves(0).samples(response):
        assert not set(groups[own]) & set(groups[np.setdiff1d(np.arange(60), own)])
    (drawn,) = draw.bootstrap(0).samples(response)
    assert set(np.bincount(groups[drawn], minlength=20) % 3) == {0}
    (plain,) = Resampling(response.stratum_sizes, None, 0).bootstrap(0).samples(response)
    assert plain.tolist() == sorted(np.random.default_rng(derive(0, BOOTSTRAP, 0)).integers(0, 60, 60))


def test_a_column_keeps_its_kind_in_samples_with_few_values(rows):
    X, y = rows
    model = SirusRegressor(n_rules=20, n_trees=300, random_state=0).fit(X[["few"]], y + X["few"])
    assert {c.upper_cut or c.lower_cut for r in model.rules_ for c in r.conditions} <= {
        ("quantile", i) for i in range(1, 10)
    }
    small = X["few"].index[X["few"] < 4][:30]  # four values only
    table, response, _ = model._read(X.loc[small, ["few"]], y.loc[small], None)
    settings = model._settings_again(1)
    free = model._learn_again(table, response, settings, retune=False)
    held = model._learn_again(
        table, response, settings.__class__(**{**vars(settings), "continuous": {"few"}}), retune=False
    )
    kinds = [{(c.upper_cut or c.lower_cut)[0] for r in own.rules for c in r.conditions} for own in (free, held)]
    assert kinds == [{"value"}, {"quantile"}]


def test_evidence_does_not_depend_on_threads_and_prints_frames_and_json(model, rows):
    one, two = (model.evidence(*rows, n_resamples=24, n_jobs=n) for n in (1, 2))
    assert one.to_dict() == two.to_dict() and str(one) == str(two)
    assert list(one.stability) == ["folds", "bootstraps", "halves"]
    assert one.stability["folds"].dice.value >= one.stability["halves"].dice.value
    frame = one.to_frame("pandas")
    assert list(frame.columns[:3]) == ["rule", "returned", "returned_nearby"] and len(frame) == len(model.rules_)
    sure = frame[frame.returned > 0.45].iloc[0]
    assert sure.inside_low <= sure.inside_high and sure.weight_low >= 0 and " to " in sure.thresholds
    text = str(one)
    assert "folds (89% shared)" in text and "independent sample of half the size" in text and "flatters" in text
    assert json.loads(json.dumps(one.to_dict()))["how"] == "halves"
    assert "<table" in one._repr_html_()


def test_a_tuned_list_keeps_its_stages_or_is_tuned_again(rows):
    X, y = rows
    given = {"n_trees": 100, "n_repeats": 1, "cv": 3, "max_rules": 6, "random_state": 0}
    staged = SirusRegressorCV(n_stages=3, slopes="auto", **given).fit(X, y)
    table, response, _ = staged._read(X, y, None)
    again = staged._learn_again(table, response, staged._settings_again(1), retune=False)
    assert (again.facts.n_stages or 1) == (staged.model_.facts.n_stages or 1)
    plain = SirusRegressorCV(**given).fit(X, y)
    # the same rows, the same seed and the same p0: the same list
    table, response, _ = plain._read(X, y, None)
    assert list(plain._learn_again(table, response, plain._settings_again(1), retune=False).selected) == list(
        plain.selected_
    )
    found = plain.evidence(X, y, n_resamples=4, retune=True)
    assert found.retuned and "tuned again" in found.head


def test_classes_have_evidence_of_the_class_that_is_spoken_of():
    draw = np.random.default_rng(1)
    X = draw.normal(size=(200, 3))
    y = np.where(X[:, 0] + 0.5 * draw.normal(size=200) > 0, "yes", "no")
    model = SirusClassifier(n_rules=2, n_trees=100, random_state=0).fit(X, y)
    own = model.evidence(X, y, n_resamples=24).terms[0]
    assert own.returned > 0.4
    assert 0 <= own.inside[0] <= own.inside[1] <= 1


def test_periods_are_lists_over_time_and_errors_forward_in_time(model, rows):
    X, y = rows
    month = np.repeat(["2024-01", "2024-02", "2024-03", "2024-04"], 50)
    found = model.evidence(X.assign(month=month), y, how="periods", time="month")
    assert found.n_resamples == 4 and [own.period for own in found.forward] == ["2024-02", "2024-03", "2024-04"]
    assert [own.n_before for own in found.forward] == [50, 100, 150]
    past = month < "2024-03"
    seed = derive(1, FOREST, 4 + 1)
    own = SirusRegressor(**{**QUICK, "random_state": seed}).fit(X[past], y[past])
    there = month == "2024-03"
    assert found.forward[1].value == pytest.approx(own.score(X[there], y[there]), abs=1e-12)
    assert "rows before" in str(found) and "next period" in str(found)
    assert model.evidence(X, y, how="periods", time=month).to_dict() == found.to_dict()


def test_many_times_are_cut_into_ten_periods():
    names, place = periods_of(np.arange(400))
    assert len(names) == 10 and names[0] == "0 to 39" and set(np.bincount(place)) == {40}
    with pytest.raises(DataError, match="At least 2 periods"):
        periods_of(np.zeros(50))
    with pytest.raises(DataError, match="has 3 rows"):
        periods_of(np.repeat([0, 1], [50, 3]))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"how": "thirds"}, "'halves' or 'periods'"),
        ({"how": "periods"}, "goes with"),
        ({"time": "a"}, "goes with"),
        ({"n_resamples": 1}, "n_resamples"),
    ],
)
def test_what_does_not_go_together_is_refused(model, rows, options, message):
    with pytest.raises(ParameterError, match=message):
        model.evidence(*rows, **options)


def test_the_command_prints_evidence_as_text_and_json(rows, tmp_path, run):
    X, y = rows
    table, path = tmp_path / "rows.csv", tmp_path / "model.json"
    X.assign(y=y, month=np.arange(200) // 100).to_csv(table, index=False)
    shared = ("--target", "y", "--trees", 100, "--seed", 0, "--rules", 3, "--drop", "month", "--quiet")
    assert run("fit", table, *shared, "--model", path)[0] == 0
    code, out, _ = run("evidence", path, table, "--resamples", 4)
    assert code == 0 and "returned" in out and "disjoint halves" in out
    code, out, _ = run("evidence", path, table, "--periods", "month", "--json")
    assert code == 0 and json.loads(out)["how"] == "periods"
    load(path).without(1).save(tmp_path / "edited.json")
    code, _, err = run("evidence", tmp_path / "edited.json", table)
    assert code == 2 and "was edited" in err


def test_the_report_shows_evidence_as_it_is_or_as_json(model, rows, tmp_path, run):
    X, y = rows
    halves = model.evidence(X, y, n_resamples=30)
    periods = model.evidence(X, y, how="periods", time=np.arange(200) // 50)
    page = str(model.report(evidence=[halves, json.loads(json.dumps(periods.to_dict()))]))
    assert "Which rules return in other samples?" in page and "Which rules return over time?" in page
    for found in (halves, periods):
        told = told_of(found, model.model_, 120)
        assert told.terms == tell(found.to_dict(), [rule.text for rule in model.rules_]).terms
        cells = [cell for _, grid in (told.terms, *told.others) for row in grid for cell in row]
        assert all(f"<td>{html.escape(true_minus(cell))}</td>" in page for cell in cells)
        assert all(html.escape(note) in page for note in told.notes)
    other = SirusRegressor(n_rules=2, n_trees=50, random_state=5).fit(X[["b", "c"]], y)
    for wrong, message in (
        (other.evidence(X[["b", "c"]], y, n_resamples=4), "is about other rules than the model has"),
        ({"terms": 3}, "must be evidence about this model"),
        ("x", "must be evidence about this model"),
    ):
        with pytest.raises(ParameterError, match=message):
            model.report(evidence=wrong)
    model.save(tmp_path / "m.json")
    (tmp_path / "e.json").write_text(json.dumps(halves.to_dict()))
    page = tmp_path / "r.html"
    run("report", str(tmp_path / "m.json"), "--evidence", str(tmp_path / "e.json"), "-o", str(page))
    assert "Which rules return in other samples?" in page.read_text()


def test_a_list_of_a_slope_alone_is_learned_again_with_slopes():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(100, 3))
    given = {"n_trees": 100, "n_repeats": 1, "cv": 3, "n_stages": "auto", "slopes": True, "random_state": 0}
    model = SirusRegressorCV(**given).fit(X, X[:, 0] + draw.normal(size=100))
    table, response, _ = model._read(X, X[:, 0], None)
    again = model._learn_again(table, response, model._settings_again(1), retune=False)
    assert any(term.line_values for term in model.rules_)
    assert any(term.line_values for term in again.rules)


def of_parts(model, rows, monkeypatch, **options):
    """The evidence of rows in files of a few rows each, none of which is read whole."""
    monkeypatch.setattr("pysirus.engine.backends.streams.TABLE_SHARE", 1 << 60)
    return model.evidence(rows, "y", **options)


def make_files(frame, folder, n_files):
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[rows].to_parquet(folder / f"{k:02}.parquet")
    return folder


def make_kind(kind, n=120):
    """Rows of some kind, a group and a month for each, and an estimator that is fitted to them."""
    draw = np.random.default_rng(2)
    rows = pd.DataFrame(draw.normal(size=(n, 3)), columns=list("abc"))
    rows["few"] = draw.integers(0, 12, n).astype(float)
    rows["holes"] = np.where(draw.random(n) < 0.2, np.nan, draw.exponential(size=n))
    rows["text"] = draw.choice(["red", "green", "blue"], n)
    y = 2 * rows.a + (rows.b > 0) + (rows.text == "red") + 0.3 * draw.normal(size=n)
    given = {"n_trees": 20, "random_state": 1}
    tuned = {**given, "cv": 3, "n_repeats": 1, "max_rules": 4}
    estimator, y = {
        "list": (SirusRegressor(**given, n_rules=4), y),
        "slopes": (SirusRegressor(**given, n_rules=1, n_stages=2, slopes=True), y),
        "classes": (SirusClassifier(**given, n_rules=3), np.where(y > 1, "yes", "no")),
        "four": (SirusClassifier(**given, n_rules=3), np.digitize(y, [-1, 0, 1])),
        "counts": (SirusRegressor(**given, n_rules=3, loss="poisson"), draw.poisson(np.exp(0.4 * y)).astype(float)),
        "tuned": (SirusRegressorCV(**tuned, n_stages="auto", slopes="auto"), y),
    }[kind]
    model = estimator.fit(rows, y)
    return model, rows.assign(y=y, w=draw.integers(1, 4, n) / 2, g=np.arange(n) % 40, month=np.arange(n) // 30)


@pytest.mark.filterwarnings("ignore:No rule of the full data")
@pytest.mark.parametrize(
    "kind, options",
    [
        ("list", {"groups": "g"}),
        ("slopes", {"sample_weight": "w"}),
        ("classes", {"how": "periods", "time": "month"}),
        ("four", {}),
        ("counts", {"how": "periods", "time": "month", "sample_weight": "w"}),
        ("tuned", {}),
    ],
)
def test_rows_in_parts_say_what_memory_says_to_the_bit(kind, options, tmp_path, monkeypatch):
    monkeypatch.setattr("pysirus._use.evidence.LEAST", 2)  # intervals of outputs, weights and thresholds too
    model, rows = make_kind(kind)
    expected = model.evidence(rows, "y", n_resamples=4, **options)
    found = of_parts(model, make_files(rows, tmp_path, 3), monkeypatch, n_resamples=4, **options)
    assert found.to_dict() == expected.to_dict()
    assert any(own.weight is not None for own in found.terms)
    assert found.how == "halves" or all(own.value is not None for own in found.forward)


def test_dask_says_what_memory_says(monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    model, rows = make_kind("list")
    told = model.evidence(rows, "y", n_resamples=4, groups="g").to_dict()
    source = dd.from_pandas(rows, npartitions=2)
    assert model.evidence(source, "y", n_resamples=4, groups="g", n_jobs=2).to_dict() == told


def test_what_is_learned_by_all_steps_again_is_read_into_memory(tmp_path):
    model, rows = make_kind("list")
    folder = make_files(rows, tmp_path, 2)
    columns = rows.drop(columns=["w", "g", "month"])
    told = model.evidence(columns, "y", n_resamples=4, retune=True).to_dict()
    assert model.evidence(folder, "y", n_resamples=4, retune=True, memory=1 << 26).to_dict() == told


def test_an_interrupt_ends_the_resamples_of_files_and_leaves_nothing(tmp_path, monkeypatch):
    model, rows = make_kind("list")
    (tmp_path / "rows").mkdir()
    folder, scratch = make_files(rows, tmp_path / "rows", 2), tmp_path / "scratch"
    scratch.mkdir()
    passes = iter(range(30))

    def interrupted(*args):
        if next(passes) == 9:
            raise KeyboardInterrupt
        return find(*args)

    find = NodeSums.__call__
    monkeypatch.setattr(NodeSums, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        of_parts(model, folder, monkeypatch, n_resamples=4, scratch=scratch)
    assert list(scratch.iterdir()) == []

"""The lenient way: dates, written numbers and rare levels become features by a recipe, which new rows follow."""

import datetime
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pysirus
from pysirus import NodeHarvestRegressor, RuleFitRegressor, SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._data.column import DataError, label_column
from pysirus._data.dates import SetAside, written_dates
from pysirus._data.table import read_table
from pysirus._data.written import number_form, part_of, read_dates, read_times, read_written

N = 300
SMALL = {"n_trees": 30, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """A column of each kind that is not used as it is, and a target that depends on several of them."""
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2021-01-04") + pd.to_timedelta(rng.integers(0, 700, N), "D")
    when = when + pd.to_timedelta(rng.integers(0, 86_400, N), "s")
    city = np.array([f"c{k}" for k in rng.zipf(1.4, N) % 80])
    X = pd.DataFrame(
        {
            "sold": when,
            "german": when.strftime("%d.%m.%Y"),
            "us": when.strftime("%m/%d/%y"),
            "at": when.strftime("%H:%M:%S"),
            "price": [f"${v:,.2f}" for v in rng.random(N) * 3000],
            "far": [f"{v} km" for v in rng.integers(1, 50, N)],
            "rate": [f"{v:.1f}%" if v > 2 else "n/a" for v in rng.random(N) * 100],
            "city": city,
            "name": [f"n{i}" for i in range(N)],
            "mixed": [str(i) if i % 3 else "<5" for i in range(N)],
            "size": np.where(rng.random(N) < 0.02, np.inf, rng.normal(size=N)),
            "took": pd.to_timedelta(rng.integers(0, 10**5, N), "s"),
            "plain": rng.normal(size=N),
        }
    )
    far = X["far"].str.removesuffix(" km").astype(float)
    y = 2.0 * (when.day_of_week >= 5) + (city == "c1") + (far < 20) + (when.hour >= 12) + 0.1 * rng.normal(size=N)
    return X, y


def prepared(X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return SirusRegressor(**{**SMALL, "prepare": True, "max_levels": 20, **parameters}).fit(X, y)


@pytest.fixture(scope="module")
def model(table):
    return prepared(*table)


# ------------------------------------------------------------------------------------------------------------ by hand


def test_features_are_named_so_that_rules_read_well(model):
    names = [feature.name for feature in model.model_.features]
    assert names[:5] == [*(f"{part} of sold" for part in ("year", "month", "weekday", "hour")), names[4]]
    assert names[4] == "sold"
    for name in ("weekday of german", "weekday of us", "at (hours)", "price ($)", "far (km)", "rate (%)", "city"):
        assert name in names
    assert "hour of german" not in names  # the same in every row
    assert list(model.model_.recipe.aside) == ["name", "mixed"]
    assert model.feature_names_in_.tolist()[-4:] == ["mixed", "size", "took", "plain"]
    assert model.n_features_in_ == 13
    assert any("in {Saturday, Sunday}" in str(rule) for rule in model.candidates_)


def test_strict_refuses_what_the_lenient_way_takes(table):
    with pytest.raises(DataError, match=r"(?s)things are wrong.*'sold'.*'german'.*'rate'.*'name'.*'mixed'.*'size'"):
        SirusRegressor(**SMALL).fit(*table)


@pytest.mark.parametrize(
    "texts, unit, numbers",
    [
        (["$1,234.50", "$3", "-$7"], "$", [1234.5, 3, -7]),
        (["12 km", "3km"], "km", [12, 3]),
        (["0.4%", "12 %", "−3 %"], "%", [0.4, 12, -3]),
        (["1.234,50 €", "2 €"], "€", [1234.5, 2]),
        (["12,5", "3"], "", [12.5, 3]),
        (["1,234", "950", "1,234,567"], "", [1234, 950, 1234567]),
        (["1 234", "5", "1\u202f000"], "", [1234, 5, 1000]),
        (["1'000", "30"], "", [1000, 30]),
        (["1 year", "2 years"], "years", [1, 2]),
        (["1e5", "2.", ".5", "-"], "", [1e5, 2, 0.5, np.nan]),
        (["0,125", "1,250"], "", [0.125, 1.25]),
    ],
)
def test_written_numbers_are_read_where_that_is_certain(texts, unit, numbers):
    form = number_form(texts)
    assert form is not None and form.unit == unit
    found, odd = read_written([*texts, "something"], form)
    np.testing.assert_array_equal(found, [*numbers, np.nan])
    assert odd == ["something"]


@pytest.mark.parametrize(
    "texts",
    [
        ["1a", "2b"],
        ["10a"],
        ["10-12"],
        ["<5", "5"],
        ["1.2.3"],
        ["A 1"],
        ["3 km", "3 m"],
        ["0123"],
        ["1,23", "1.23"],
        [],
    ],
)
def test_other_texts_are_no_numbers(texts):
    assert number_form(texts) is None


def order_of(texts):
    """The order of day, month and year in some rows of text."""
    return written_dates(label_column("when", pa.array(texts))).order()


@pytest.mark.parametrize(
    "texts, order, first",
    [
        (["2024-05-09", "2023-12-31"], "ymd", "2024-05-09"),
        (["2024/5/9 08:15", "2023-12-31T23:59:59.5Z"], "ymd", "2024-05-09T08:15"),
        (["09.05.2024", "1.12.23"], "dmy", "2024-05-09"),
        (["31/12/21", "01/02/21"], "dmy", "2021-12-31"),
        (["12/31/2021 3:05 PM", "01/02/2021 12:10 am"], "mdy", "2021-12-31T15:05"),
        (["12 Jan 2021", "3-February-1999"], "named", "2021-01-12"),
        (["Jan 3, 2021", "Tue, March 5th, 2020"], "named", "2021-01-03"),
    ],
)
def test_written_dates_are_read_in_the_one_order_that_fits(texts, order, first):
    assert order_of([*texts, "unknown"]) == order
    assert read_dates(texts, order)[0] == np.datetime64(first, "us")
    assert np.isnat(read_dates(["2021-02-30", "30.02.2021", "02/30/2021", "30 Feb 2021"], order)).all()


def test_day_and_month_are_told_apart_by_the_rows_or_not_at_all():
    texts = ["01/02/21", "02/02/21", "01/03/21", "02/03/21"]
    assert order_of(texts) == "dmy"  # rising, read so
    assert order_of([texts[k] for k in (0, 2, 1, 3)]) == "mdy"
    with pytest.raises(SetAside, match="the day or the month may come first"):
        order_of([texts[k] for k in (3, 1, 0, 2)])
    with pytest.warns(UserWarning, match=r"'when' \(dates such as '01/02/21', of which the day or the month may come"):
        X = pd.DataFrame({"when": [texts[k % 4] for k in (3, 1, 0, 2)] * 10, "x": np.arange(40) % 7})
        assert read_table(X, max_levels=255).names == ("x",)


def test_parts_of_dates_by_hand():
    moments = read_dates(["2024-02-29 13:45", "2021-01-04", ""], "ymd")
    expected = {"year": [2024, 2021], "month": [2, 1], "weekday": [3, 0], "hour": [13, 0]}
    for part, values in expected.items():
        np.testing.assert_array_equal(part_of(moments, part), [*values, np.nan])
    np.testing.assert_allclose(part_of(moments, "days", "2021-01-04"), [1151 + 13.75 / 24, 0, np.nan])
    np.testing.assert_allclose(read_times(["10:30:00", "3:15 pm", "x"]), [10.5, 15.25, np.nan])


# --------------------------------------------------------------------------------------------------------- same answer


def test_every_library_and_kind_of_date_gives_the_same_features():
    days = [datetime.datetime(2024, 1, 1, 6) + datetime.timedelta(hours=31 * i) for i in range(60)]
    text = [f"{day:%Y-%m-%d %H:%M}" for day in days]
    zoned = pd.Series(days).dt.tz_localize("Europe/Paris")
    tables = [
        pd.DataFrame({"d": days}),
        pd.DataFrame({"d": pd.Series(days, dtype=object)}),
        pd.DataFrame({"d": zoned}),
        pl.DataFrame({"d": days}),
        pa.table({"d": pa.array(days, pa.timestamp("ms"))}),
        pd.DataFrame({"d": text}),
    ]
    first, *others = [read_table(X, max_levels=255) for X in tables]
    assert first.names[0] == "month of d" and first.names[-1] == "d"
    for other in others:
        assert other.names == first.names
        for a, b in zip(first.columns, other.columns):
            np.testing.assert_array_equal(a.values, b.values)
    model = prepared(tables[0], np.arange(60.0))
    for X in tables[:2] + tables[3:]:  # a zone where training had none is refused
        np.testing.assert_array_equal(model.predict(X), model.predict(tables[0]))


def test_a_table_that_can_be_used_as_it_is_gives_the_same_model(table):
    X, y = table
    X = X[["plain"]].assign(flag=X["plain"] > 0, k=[f"k{i % 7}" for i in range(N)])
    strict, lenient = SirusRegressor(**SMALL).fit(X, y), SirusRegressor(**SMALL, prepare=True).fit(X, y)
    assert lenient.model_.recipe is None and strict.model_ == lenient.model_
    np.testing.assert_array_equal(strict.predict(X), lenient.predict(X))


@pytest.mark.parametrize(
    "estimator",
    [
        SirusRegressorCV(**SMALL, cv=3, n_repeats=1),
        SirusClassifier(**SMALL),
        RuleFitRegressor(n_trees=20, random_state=0),
        NodeHarvestRegressor(n_nodes=50, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.filterwarnings("ignore:Set aside")
def test_every_estimator_prepares(table, estimator, tmp_path):
    X, y = table
    y = y > 2 if isinstance(estimator, SirusClassifier) else y
    estimator.set_params(prepare=True, max_levels=20).fit(X, y)
    estimator.save(tmp_path / "m.json")
    np.testing.assert_array_equal(pysirus.load(tmp_path / "m.json").predict(X), estimator.predict(X))


@pytest.mark.filterwarnings("ignore:Set aside")
def test_arrays_of_objects_are_prepared_by_position(table):
    X, y = table
    array = X[["german", "far", "city", "plain"]].to_numpy(dtype=object)
    model = prepared(array, y)
    named = prepared(X[["german", "far", "city", "plain"]], y)
    assert model.n_features_in_ == 4 and model.model_.features[0].name == "year of x0"
    np.testing.assert_array_equal(model.predict(array), named.predict(X[["german", "far", "city", "plain"]]))
    with pytest.raises(DataError, match="X has 3 features, but SirusRegressor is expecting 4"):
        model.predict(array[:, :3])


# ------------------------------------------------------------------------------------------------------------- groups


def test_rare_levels_are_grouped_and_so_are_unseen_ones(table):
    X, y = table
    model = prepared(X[["city", "plain"]], y, max_levels=4)
    feature = model.model_.features[0]
    most = X["city"].value_counts()
    assert set(feature.levels) == {*most.index[:3], "other"} and feature.other == "other"
    rare = X.assign(city=most.index[-1])[["city", "plain"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(rare.assign(city="never seen")), model.predict(rare))
    assert (model.predict(rare.assign(city=None)) != model.predict(rare.assign(city="c1"))).any()


def test_more_than_255_levels_work():
    rng = np.random.default_rng(0)
    k = rng.zipf(1.3, 3000) % 900
    X = pd.DataFrame({"k": [f"k{v}" for v in k], "x": rng.random(3000)})
    assert X["k"].nunique() > 255
    for declared, table in ((None, X), (["k"], X.assign(k=k))):
        model = prepared(table, (k == 1) + 0.0, max_levels=255, categorical_features=declared)
        assert len(model.model_.features[0].levels) == 255
        assert model.score(table, (k == 1) + 0.0) > 0.8


def test_a_level_called_other_stays_apart():
    k = ["other", "a", "b"] * 40 + [f"rare{i}" for i in range(10)]
    model = prepared(pd.DataFrame({"k": k}), (np.array(k) == "other") + 0.0, max_levels=4)
    assert set(model.model_.features[0].levels) == {"other", "a", "b", "other categories"}
    low, high = model.predict(pd.DataFrame({"k": ["new", "other"]}))
    assert low < high


@pytest.mark.parametrize(
    "name, values, why",
    [
        ("rownames", range(1, 41), "numbers the rows"),
        ("row_id", range(40), "numbers the rows"),
        ("rownames", [i + i // 7 for i in range(40)], "another number in every row"),
        ("model", [f"car {i}" for i in range(40)], "another text in every row"),
    ],
)
def test_what_can_only_be_an_id_is_set_aside(name, values, why):
    X = pd.DataFrame({name: list(values), "t": np.arange(40) % 5})
    with pytest.warns(UserWarning, match=rf"Ignored: '{name}' \({why}\)") as caught:
        assert read_table(X, max_levels=255).names == ("t",)
    assert len(caught) == 1


def test_numbers_that_may_be_ids_are_used_and_warned_of():
    X = pd.DataFrame({"t": range(40), "customer_id": [(i * 7919) % 10_007 for i in range(40)]})
    with pytest.warns(UserWarning, match=r"Likely ids: column 't' numbers the rows; column 'customer_id'"):
        assert read_table(X, max_levels=255).names == ("t", "customer_id")


def test_true_and_false_among_objects_stay_labels():
    X = pd.DataFrame({"flag": pd.Series([True, False, None, True] * 10, dtype=object)})
    assert read_table(X, max_levels=255).columns[0].levels == (False, True)


def test_units_are_named_once():
    X = pd.DataFrame({"km": ["3 km", "4 km"] * 10, "way": ["3 km", "4 km"] * 10, "rate_%": ["1%", "2%"] * 10})
    assert read_table(X, max_levels=255).names == ("km", "way (km)", "rate_% (%)")


def test_what_is_no_category_is_set_aside():
    many = pd.DataFrame({"k": [f"k{i % 1000}" for i in range(20_000)], "x": np.arange(20_000) % 7})
    with pytest.warns(UserWarning, match=r"Ignored: 'k' \(1,000 categories, none of them frequent\)"):
        assert read_table(many, max_levels=10).names == ("x",)
    with pytest.raises(DataError, match=r"No column of the table can be used: 'k'"):
        read_table(many[["k"]], max_levels=10)


# ---------------------------------------------------------------------------------------------------- rows and targets


@pytest.mark.parametrize("library", ["pandas", "polars", "array", "list"])
def test_rows_without_a_target_are_left_out_and_said(table, library):
    X, y = table
    X, y = X[["plain"]], y.copy()
    expected = SirusRegressor(**SMALL).fit(X[5:], y[5:]).model_
    y[:5] = np.nan
    given = {"pandas": (X, pd.Series(y)), "polars": (pl.from_pandas(X), pl.Series(y)), "array": (X.to_numpy(), y)}
    given["list"] = (X.to_numpy().tolist(), [None if np.isnan(v) else v for v in y])
    with pytest.warns(UserWarning, match="5 of 300 rows have no target and are left out"):
        found = SirusRegressor(**SMALL, prepare=True).fit(*given[library])
    assert [rule.inside for rule in found.rules_] == [rule.inside for rule in expected.rules]
    assert found.model_.intercept == expected.intercept


def test_groups_and_weights_go_with_the_rows_that_count(table):
    X, y = table
    labels = pd.Series(np.where(y > 2, "high", "low")).where(np.arange(N) >= 5, None)
    groups, weights = np.arange(N) % 4, np.r_[np.ones(N - 10), np.zeros(10)]
    kept = slice(5, N - 10)
    tuned = {"n_trees": 20, "cv": 3, "n_repeats": 1, "random_state": 0}
    with pytest.warns(UserWarning, match="5 of 300 rows"):
        model = pysirus.SirusClassifierCV(**tuned, prepare=True).fit(X[["plain"]], labels, weights, groups)
    same = pysirus.SirusClassifierCV(**tuned).fit(X[["plain"]][kept], labels[kept], weights[kept], groups[kept])
    assert model.cv_error_ == same.cv_error_ and model.rules_ == same.rules_


# ------------------------------------------------------------------------------------------------- new rows, files


def test_new_rows_that_are_something_else_are_warned_of_or_refused(table, model):
    X, _ = table
    with pytest.warns(UserWarning, match=r"'far' held numbers in training. Now 300 of 300 rows hold .* '12 miles'"):
        model.predict(X.assign(far="12 miles"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X.assign(far="n/a"))
        np.testing.assert_array_equal(
            model.predict(X.assign(far=X["far"].str.removesuffix(" km").astype(int))), model.predict(X)
        )
    with pytest.raises(DataError, match="Column 'sold' held dates in training, now it has type int64"):
        model.predict(X.assign(sold=5))


def test_the_recipe_goes_through_the_file(table, model, tmp_path):
    X, _ = table
    model.save(tmp_path / "m.json")
    loaded = pysirus.load(tmp_path / "m.json")
    assert loaded.model_ == model.model_ and loaded.model_.recipe == model.model_.recipe
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    assert json.loads((tmp_path / "m.json").read_text())["version"] == 2


@pytest.mark.parametrize(
    "damage, fault",
    [
        (lambda r: r["columns"].remove("sold"), "lacks 'sold'"),
        (lambda r: r["derived"][0].update(take="soul"), r"take must be one of"),
        (lambda r: r["derived"][0].update(column="nowhere"), "lacks 'nowhere'"),
        (lambda r: r["derived"][0].update(feature="nothing"), "no feature"),
        (lambda r: r["derived"][4].update(take="days", since="2021-02-30"), "a day such as"),
        (lambda r: r["derived"][4].update(take="days"), "lacks 'since'"),
        (lambda r: r["derived"][4].update(since="2021-01-01"), "which a date has not"),
        (lambda r: r["derived"][0].update(zone="5 hours"), "zone must be a time zone"),
        (lambda r: r["derived"][1].update(zone="Asia/Tokyo"), "another order or zone than an earlier part"),
        (lambda r: r["derived"][-1].update(zone=""), "which a duration has not"),
        (lambda r: r["derived"][0].update(since="2021-01-01"), "which a year has not"),
        (lambda r: r["derived"][0].update(take="weekday"), "makes a ordered feature"),
        (lambda r: r["derived"].append(r["derived"][0]), "twice"),
        (lambda r: next(d for d in r["derived"] if d["take"] == "group").update(other="x"), "not a category"),
        (lambda r: next(d for d in r["derived"] if d["take"] == "duration").update(unit="ages"), "unit"),
        (lambda r: next(d for d in r["derived"] if d["take"] == "number").update(decimal=","), "same mark"),
        (lambda r: r["aside"].update(sold="no use"), "which is used"),
        (lambda r: r.update(surprise=1), "does not know"),
    ],
)
def test_a_damaged_recipe_is_refused_by_place(model, tmp_path, damage, fault):
    model.save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    damage(document["recipe"])
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(pysirus.ModelFileError, match=f"recipe.*{fault}"):
        pysirus.load(tmp_path / "m.json")

"""Any table: frames of three libraries, kinds of columns, missing values, names, complaints that name the column."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pysirus
from pysirus import DataError, SirusClassifier, SirusRegressor

SIZES = ["low", "mid", "high"]
N = 300


def fit(X, y, **parameters):
    return SirusRegressor(**{"n_trees": 300, "random_state": 0, **parameters}).fit(X, y)


@pytest.fixture(scope="module")
def mixed():
    """Numbers, text, booleans, integers and ordered sizes, some missing; and a response that depends on all of them."""
    rng = np.random.default_rng(0)
    x, count = rng.normal(size=N), rng.integers(0, 30, N)
    color, flag, size = rng.choice(["red", "blue", "green"], N), rng.random(N) < 0.4, rng.choice(SIZES, N)
    y = x + (color == "red") + flag + count / 30 + (size == "high") + 0.3 * rng.normal(size=N)
    x[rng.random(N) < 0.2] = np.nan
    data = {
        "x": x,
        "color": [None if i == 5 else str(v) for i, v in enumerate(color)],
        "flag": [None if i == 7 else bool(v) for i, v in enumerate(flag)],
        "count": count,
        "size": size.tolist(),
    }
    return data, y


def pandas_frame(data):
    frame = pd.DataFrame({name: pd.Series(v, dtype=object) if name == "flag" else v for name, v in data.items()})
    return frame.assign(size=pd.Categorical(frame["size"], SIZES, ordered=True))


def polars_frame(data):
    return pl.DataFrame(data).with_columns(pl.col("size").cast(pl.Enum(SIZES)), pl.col("x").fill_nan(None))


def arrow_table(data):
    size = pa.DictionaryArray.from_arrays(pa.array([SIZES.index(v) for v in data["size"]]), SIZES, ordered=True)
    return pa.table({**data, "x": pa.array(data["x"], from_pandas=True), "size": size})


FRAMES = {
    "pandas": pandas_frame,
    "pandas nullable": lambda d: pandas_frame(d).astype(
        {"x": "Float64", "color": "string", "flag": "boolean", "count": "Int16"}
    ),
    "pandas category": lambda d: pandas_frame(d).astype({"color": "category", "flag": "category"}),
    "pandas arrow": lambda d: pandas_frame(d).astype(
        {"x": "float64[pyarrow]", "color": "string[pyarrow]", "flag": "bool[pyarrow]", "count": "uint8[pyarrow]"}
    ),
    "polars": polars_frame,
    "polars lazy": lambda d: polars_frame(d).lazy(),
    "polars categorical": lambda d: polars_frame(d).with_columns(pl.col("color").cast(pl.Categorical)),
    "polars nan": lambda d: polars_frame(d).with_columns(x=pl.Series(d["x"])),
    "pyarrow": arrow_table,
    "pyarrow batch": lambda d: arrow_table(d).to_batches()[0],
    "pyarrow chunks": lambda d: pa.concat_tables([arrow_table(d).slice(0, 100), arrow_table(d).slice(100)]),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_the_same_table_of_any_library_gives_the_same_model(mixed, kind):
    data, y = mixed
    expected, model = fit(pandas_frame(data), y), fit(FRAMES[kind](data), y)
    assert str(model) == str(expected)
    assert model.rules_ == expected.rules_
    assert model.model_.features == expected.model_.features
    assert [r.conditions for r in model.selected_] == [r.conditions for r in expected.selected_]
    assert [(r.inside, r.outside) for r in model.selected_] == [(r.inside, r.outside) for r in expected.selected_]
    np.testing.assert_array_equal(model.predict(pandas_frame(data)), expected.predict(FRAMES[kind](data)))


def test_kinds_are_read_from_the_types_of_columns(mixed):
    data, y = mixed
    model = fit(polars_frame(data), y)
    assert {f.name: (f.kind, f.levels) for f in model.model_.features} == {
        "x": ("numeric", ()),
        "color": ("categorical", ("blue", "green", "red")),
        "flag": ("categorical", (False, True)),
        "count": ("numeric", ()),
        "size": ("ordered", ("low", "mid", "high")),
    }
    text = str(model.candidates_)
    assert "color = red" in text and "flag = True or missing" in text


@pytest.mark.parametrize(
    "dtype", [np.float32, np.int8, np.uint16, np.int64, bool, np.float16, ">f8", ">i4", np.longdouble]
)
def test_arrays_of_any_number_type_are_read_as_numbers(dtype):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2 if dtype is bool else 100, (200, 3)).astype(dtype)
    y = X[:, 0] + rng.random(200)
    model, expected = fit(X, y), fit(X.astype(np.float64), y)
    assert model.rules_ == expected.rules_
    np.testing.assert_array_equal(model.predict(X), expected.predict(X.astype(np.float64)))


def test_columns_are_found_by_name(mixed):
    data, y = mixed
    X = pandas_frame(data)
    model = fit(X, y)
    np.testing.assert_array_equal(model.predict(X[X.columns[::-1]]), model.predict(X))
    np.testing.assert_array_equal(model.predict(polars_frame(data).select(sorted(data))), model.predict(X))
    with pytest.raises(DataError, match="yet now missing:\n- color"):
        model.predict(X.drop(columns="color"))
    np.testing.assert_array_equal(model.predict(X.assign(extra=1)), model.predict(X))


def test_declared_columns_are_labels(rng):
    code = rng.integers(0, 6, 300)
    y = np.isin(code, [1, 4]) + 0.1 * rng.normal(size=300)
    for X, name, declared in (
        (np.column_stack([code, rng.random(300)]), "x0", [0]),
        (np.column_stack([code, rng.random(300)]), "x0", [True, False]),
        (pd.DataFrame({"code": code, "z": rng.random(300)}), "code", "code"),
        (pl.DataFrame({"code": code, "z": rng.random(300)}), "code", ["code"]),
    ):
        model = fit(X, y, categorical_features=declared)
        assert str(model.rules_[0]).startswith(f"if {name} in {{0, 2, 3, 5}} then ")
        assert model.model_.features[0].levels == (0, 1, 2, 3, 4, 5)
        assert model.score(X, y) > 0.9


IDS = [None, *range(2**60, 2**60 + 5)] * 20


@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(IDS, dtype="Int64"),
        pd.Series(IDS, dtype=object),
        pl.Series(IDS, dtype=pl.UInt64),
        pa.chunked_array([IDS]),
    ],
    ids=["pandas", "objects", "polars", "pyarrow"],
)
def test_long_numbers_with_gaps_stay_apart_as_labels(ids):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(ids).__module__.split(".")[0]]
    y = np.arange(120.0) % 6
    model = fit(frame({"id": ids}), y, categorical_features="id", n_trees=50)
    assert model.model_.features[0].levels == tuple(range(2**60, 2**60 + 5))


def test_a_gap_among_the_labels_of_a_list_is_a_gap():
    color = ["red", float("nan"), "blue"] * 20
    model = fit([[c, i] for i, c in enumerate(color)], np.arange(60.0), categorical_features=[0], n_trees=50)
    assert model.model_.features[0].levels == ("blue", "red")


def test_nan_in_a_dictionary_is_missing():
    numbers = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 20), pa.array([5.0, float("nan"), 2.0]))
    assert fit(pa.table({"c": numbers}), np.arange(60.0), n_trees=50).model_.features[0].levels == (2.0, 5.0)


def test_text_in_arrays_is_taken_where_declared(rng):
    color = rng.choice(["red", "blue"], 200)
    X = np.column_stack([color, rng.random(200).astype(str)]).astype(object)
    y = (color == "red") * 1.0
    with pytest.raises(DataError, match=r"Column 'x0' holds text \('(red|blue)' in row 0\)"):
        fit(X, y)
    assert fit(X, y, categorical_features=[0]).score(X, y) == pytest.approx(1)


def test_ordered_categories_keep_their_order(rng):
    size = rng.choice(SIZES, 300)
    y = np.select([size == "low", size == "mid"], [1.0, 3.0], 2.0)  # not in their order
    ordered = fit(pd.DataFrame({"size": pd.Categorical(size, SIZES, ordered=True)}), y)
    assert {r.conditions[0].levels for r in ordered.candidates_ if len(r.path) == 1} <= {
        ("low",),
        ("mid", "high"),
        ("low", "mid"),
        ("high",),
    }
    by_response = fit(pd.DataFrame({"size": pd.Categorical(size, SIZES)}), y)
    assert {r.conditions[0].levels for r in by_response.candidates_ if len(r.path) == 1} <= {
        ("low",),
        ("high", "mid"),
        ("high", "low"),
        ("mid",),
    }


# -------------------------------------------------------------------------------------------- levels never seen


def test_a_level_never_seen_goes_to_the_heavier_side_and_is_counted_once(rng):
    color = rng.choice(["red", "blue", "green"], 400, p=[0.2, 0.5, 0.3])
    other = rng.choice(["a", "b"], 400)
    y = (color == "red") + 0.5 * (other == "a") + 0.1 * rng.normal(size=400)
    model = fit(pd.DataFrame({"color": color, "other": other}), y)
    new = pd.DataFrame({"color": ["pink", "red", "pink"], "other": ["c", "a", "b"]})
    with pytest.warns(UserWarning, match="2 of 3 rows have an unseen category") as caught:
        predicted = model.predict(new)
    assert len(caught) == 1
    split = next(r for r in model.candidates_ if str(r) in ("if color = red", "if color in {blue, green}"))
    heavier = "red" not in split.conditions[0].levels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert split.holds(model.model_.align(new)).tolist()[0] == heavier
    # other: what is heavier there
    usual = "a" if (other == "a").mean() >= 0.5 else "b"
    like = pd.DataFrame({"color": ["blue"], "other": [usual]})
    assert predicted[0] == pytest.approx(model.predict(like)[0], abs=0.2)


def test_levels_are_known_by_their_text_where_types_differ(rng):
    code, flag = rng.choice(list("12AB"), 200), rng.random(200) < 0.5
    X = pd.DataFrame({"code": code, "flag": flag})
    model = fit(X, (code == "2") * 2.0 + flag)
    expected = model.predict(X)
    some = np.isin(code, ["1", "2"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numbers = X[some].assign(code=code[some].astype(int))  # what pandas makes of a file without A and B
        np.testing.assert_array_equal(model.predict(numbers), expected[some])
    with pytest.warns(UserWarning, match=r"1 of 200 rows have an unseen category \(in flag\)"):
        found = model.predict(X.assign(flag=["perhaps", *np.where(flag, "TRUE", "false")[1:]]))
    np.testing.assert_array_equal(found[1:], expected[1:])


def test_an_unused_category_is_a_level_never_seen(rng):
    color = rng.choice(["red", "blue"], 200)
    X = pd.DataFrame({"color": pd.Categorical(color, ["blue", "pink", "red"])})
    model = fit(X, (color == "red") * 1.0)
    assert model.model_.features[0].levels == ("blue", "red")
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        model.predict(pd.DataFrame({"color": pd.Categorical(["pink"], ["blue", "pink", "red"])}))


def test_255_levels_are_taken_and_256_refused(rng):
    for n, ok in ((255, True), (256, False)):
        code = np.concatenate([np.arange(n), rng.integers(0, n, 2000)])
        for X, declared in ((code[:, None], [0]), (pd.DataFrame({"code": [f"k{c}" for c in code]}), None)):
            if ok:
                model = fit(X, code % 7 + 0.0, categorical_features=declared, n_trees=20)
                assert len(model.model_.features[0].levels) == 255
            else:
                with pytest.raises(DataError, match=r"has 256 categories; at most 255 are supported\. Group rare"):
                    fit(X, code % 7 + 0.0, categorical_features=declared)


def test_255_levels_and_missing_values_fit_one_byte(rng):
    code = np.concatenate([np.arange(255), rng.integers(0, 255, 2000)]).astype(float)
    y = code % 7 == 0
    code[rng.random(len(code)) < 0.1] = np.nan
    code[:255] = np.arange(255)
    model = fit(code[:, None], y + 0.0, categorical_features=[0], n_trees=50)
    assert model.score(code[:, None], y + 0.0) > 0.5


# ----------------------------------------------------------------------------------------------------- complaints


@pytest.mark.parametrize(
    "column, message",
    [
        (["a", 1] * 10, "Column 'c' mixes types"),
        ([True, "yes"] * 10, "Column 'c' mixes types"),
        (["1", "2", "3", "many"] * 5, "Column 'c' holds numbers and text"),
        (["1.5", "2.5", "3.5", "4"] * 5, "Column 'c' holds numbers written as text"),
        (["0,5", "1,5", "2", "-3,25"] * 5, "holds numbers written as text \\(for example '-3,25'\\)"),
        (["1.234,50", "1,234.50", "12 %", "1'000 €", "k.A."] * 4, "holds numbers and text \\(for example 'k.A.'\\)"),
        (["09.05.2024", "1.12.2023"] * 10, r"Column 'c' holds dates or times \(as text, for example '09.05.2024'\)"),
        (["2024/05/09 08:15", "2023/12/1 9:30:01"] * 10, "Column 'c' holds dates or times"),
        ([datetime.date(2024, 1, 1), datetime.date(2024, 2, 1)] * 10, "Column 'c' holds dates or times"),
        (list(pd.date_range("2024", periods=20)), "Column 'c' holds dates or times"),
        (list(pd.timedelta_range("1h", periods=20)), "Column 'c' holds dates or times"),
        (pd.Categorical(["a", 1] * 10), "Column 'c' mixes types"),
        (pd.Categorical([(1, 2), (3, 4)] * 10), "Column 'c' has type Categorical of list"),
        ([[1, 2], [3]] * 10, "Column 'c'"),
        ([object()] * 20, "Column 'c' holds object objects"),
        ([1.0, np.inf] * 10, r"Column 'c' contains infinity \(inf\), first in row 1"),
    ],
)
def test_columns_that_cannot_be_used_are_named(column, message):
    with pytest.raises(DataError, match=message):
        fit(pd.DataFrame({"ok": np.arange(20.0), "c": column}), np.arange(20.0))


def test_many_numbers_written_as_text_are_not_taken_for_many_labels():
    prices = pd.DataFrame({"c": [f"{i},50" for i in range(300)]})
    with pytest.raises(DataError, match="numbers written as text"):
        fit(prices, np.arange(300.0))
    assert fit(prices[:200], np.arange(200.0), categorical_features=["c"], n_trees=10)


@pytest.mark.parametrize("labels", [["10-12", "13-15"], ["1a", "2b"], ["1.2.3", "1.2.4"], ["A 1", "A 2"], ["<5", ">5"]])
def test_codes_are_labels(labels):
    assert fit(pd.DataFrame({"c": labels * 10}), np.arange(20.0), n_trees=10)


def test_polars_dates_are_refused():
    dates = pl.datetime_range(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 20), "1d", eager=True)
    for column in (dates, dates.cast(pl.Date), dates.dt.time(), dates - dates[0]):
        with pytest.raises(DataError, match="Derive numeric features"):
            fit(pl.DataFrame({"when": column}), np.arange(20.0))


def test_objects_that_are_numbers_are_numbers():
    y = np.arange(40.0)
    for column in ([1, 2.5] * 20, [Decimal("1.5"), Decimal(3)] * 20, [np.int8(1), np.float32(2)] * 20, [None, 3] * 20):
        model = fit(pd.DataFrame({"c": pd.Series(column, dtype=object)}), y)
        assert model.model_.features[0].kind == "numeric"


def test_integers_of_any_size_are_numbers():
    y = np.arange(40.0)
    for column in ([2**60 + 1, 5] * 20, [2**60 + 1, None] * 20, [10**30, -(10**30)] * 20):
        model = fit(pd.DataFrame({"c": pd.Series(column, dtype=object), "z": y % 3}), y, n_trees=10)
        assert model.model_.features[0].kind == "numeric"


def test_text_of_numpy_is_text():
    column = pd.Series([np.str_("a"), "b"] * 20, dtype=object)
    assert fit(pd.DataFrame({"c": column}), np.arange(40.0)).model_.features[0].levels == ("a", "b")
    labels = SirusClassifier(n_trees=10, random_state=0).fit(np.arange(40.0)[:, None], column.to_numpy()).classes_
    assert labels.tolist() == ["a", "b"]


def test_names_must_be_text_and_occur_once():
    with pytest.raises(DataError, match="string names, found 7"):
        fit(pd.DataFrame({"a": np.arange(20.0), 7: np.arange(20.0)}), np.arange(20.0))
    with pytest.raises(DataError, match="Column name 'a' occurs more than once"):
        fit(pd.DataFrame(np.ones((20, 2)), columns=["a", "a"]), np.arange(20.0))
    assert fit(pd.DataFrame(np.random.default_rng(0).random((20, 2))), np.arange(20.0)).model_.named is False


def test_a_numeric_column_that_becomes_text_is_named():
    model = fit(pd.DataFrame({"a": np.arange(40.0)}), np.arange(40.0))
    with pytest.raises(DataError, match="Column 'a' was numeric in training, now it holds labels such as 'x'"):
        model.predict(pd.DataFrame({"a": ["x", "y"]}))


def test_a_record_may_lack_a_number():
    X = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) % 7})
    model = fit(X, X.a)
    gap = model.predict(pd.DataFrame([{"a": np.nan, "b": 1.0}]))
    assert model.predict(pd.DataFrame([{"a": None, "b": 1.0}])) == gap  # pandas calls it an object
    assert model.predict(pl.DataFrame([{"a": None, "b": 1.0}])) == gap


@pytest.mark.parametrize("declared", ["size", 3, [True], ["code", 9]])
def test_declared_columns_must_exist(declared):
    with pytest.raises(DataError, match="categorical_features"):
        fit(
            pd.DataFrame({"code": np.arange(40) % 3, "z": np.arange(40)}),
            np.arange(40.0),
            categorical_features=declared,
        )


# ------------------------------------------------------------------------------------------------- idle columns


def test_columns_that_add_nothing_are_named(rng):
    x = rng.random(200)
    X = pd.DataFrame(
        {
            "x": x,
            "one": 1.0,
            "label": "same",
            "nothing": np.nan,
            "none": pd.Series([None] * 200, dtype=object),
            "copy": x,
            "sparse": np.where(np.arange(200) < 15, rng.random(200), 0.0),
            "gaps": np.where(np.arange(200) % 3 == 0, np.nan, 5.0),
        }
    )
    y = x + np.isnan(X["gaps"]) + 0.1 * rng.random(200)
    with pytest.warns(UserWarning, match="All values are missing in 'nothing', 'none'") as caught:
        model = fit(X, y, max_features=8)
    assert len(caught) == 1
    idle = model.idle_columns_
    assert idle["one"] == idle["label"] == "constant"
    assert idle["nothing"] == idle["none"] == "all missing"
    assert idle["copy"] == "same as x"
    assert idle["sparse"].startswith("nearly constant")
    assert set(idle) == set(X) - {"x", "gaps"}
    assert "gaps is known" in str(model.candidates_)
    assert np.isfinite(model.predict(X)).all()


def test_a_column_without_any_use_leaves_the_rules_as_they_are(rng):
    X = pd.DataFrame(rng.random((200, 3)), columns=list("abc"))
    y = X["a"] + X["b"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = fit(X.assign(z=np.nan, one="k"), y, max_features=5)
    assert more.rules_ == fit(X, y, max_features=3).rules_


@pytest.mark.parametrize("estimator", [SirusRegressor, SirusClassifier])
def test_an_index_is_not_a_column(estimator, rng):
    X = pd.DataFrame(rng.random((100, 2)), columns=["a", "b"], index=np.arange(100) * 3)
    y = (X["a"] > 0.5).astype(int)
    plain = estimator(n_trees=100, random_state=0).fit(X, y)
    stored = pa.Table.from_pandas(X.set_index(np.arange(100)[::-1]), preserve_index=True)
    assert "__index_level_0__" in stored.column_names
    assert estimator(n_trees=100, random_state=0).fit(stored, y).rules_ == plain.rules_
    np.testing.assert_array_equal(plain.predict(stored), plain.predict(X))
    read_back = X.reset_index(drop=True).reset_index(names="Unnamed: 0")
    with pytest.warns(UserWarning, match="Column 'Unnamed: 0' numbers the rows"):
        indexed = estimator(n_trees=100, random_state=0).fit(read_back, y)
    assert indexed.rules_ == plain.rules_
    np.testing.assert_array_equal(indexed.predict(read_back), plain.predict(X))
    np.testing.assert_array_equal(indexed.predict(X), plain.predict(X))


def test_arrays_with_a_mask_have_gaps(rng):
    values = rng.random((200, 2))
    mask = rng.random((200, 2)) < 0.2
    y = values.sum(axis=1)
    masked = fit(np.ma.array(values, mask=mask), y)
    assert str(masked) == str(fit(np.where(mask, np.nan, values), y))


def test_arrays_of_dates_are_refused():
    with pytest.raises(DataError, match="dates or times"):
        fit(np.arange(20).astype("datetime64[D]")[:, None], np.arange(20.0))


def test_what_pandas_cut_makes_is_ordered(rng, tmp_path):
    x = rng.random(200)
    X = pd.DataFrame({"x": pd.cut(x, [0, 0.25, 0.5, 0.75, 1])})
    model = fit(X, x)
    assert model.model_.features[0].kind == "ordered"
    assert "if x in {(0.0, 0.25], (0.25, 0.5]} then" in str(model)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(pysirus.load(tmp_path / "model.json").predict(X), model.predict(X))


def test_sparse_columns_are_numbers(rng):
    x = np.where(rng.random(200) < 0.5, 0.0, rng.random(200))
    sparse = pd.DataFrame({"x": pd.arrays.SparseArray(x)})
    assert str(fit(sparse, x)) == str(fit(pd.DataFrame({"x": x}), x))

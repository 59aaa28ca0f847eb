"""Numbers beyond floating point, text that is no Unicode, categories of many digits: a clear error at every door."""

import decimal
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pysirus
from pysirus import DataError, SirusClassifier, SirusRegressor, SirusSurvival
from pysirus._parameters import ParameterError

FAST = {"n_trees": 30, "n_rules": 3, "random_state": 0}
HUGE = 10**400
HALF = "a\udc80b"
N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = X[:, 0] + rng.normal(size=N) / 3


def one(value, rest=1.0):
    """A value in the fourth row, another in the others."""
    return [value if i == 3 else rest for i in range(N)]


def frame(values):
    return pd.DataFrame({"a": X[:, 0], "d": pd.Series(values, dtype=object)})


@pytest.mark.parametrize("value", [HUGE, -HUGE], ids=["10**400", "-10**400"])
@pytest.mark.parametrize("prepare", [False, True])
def test_an_integer_beyond_floats_is_infinite(value, prepare):
    with pytest.raises(DataError, match=r"'d' .*infinity .*row 3"):
        SirusRegressor(**FAST).fit(frame(one(value, 1)), Y)
    if prepare:  # set aside, or refused by name
        try:
            SirusRegressor(prepare=True, **FAST).fit(frame(one(value, 1)), Y)
        except DataError as error:
            assert "'d'" in str(error)
    with pytest.raises(DataError, match=r"'x1' .*infinity .*row 3"):
        SirusRegressor(**FAST).fit([[v, w, 1] for v, w in zip(X[:, 0].tolist(), one(value, 1))], Y)
    with pytest.raises(DataError, match=r"infinity.*row 3"):
        SirusRegressor(**FAST).fit(X, one(value, 1))
    model = SirusRegressor(**FAST).fit(X, Y)
    for use in (model.predict, model.explain):
        with pytest.raises(DataError, match=r"'x0' .*infinity"):
            use([[value, 1.0, 2.0]])
    with pytest.raises(DataError, match=r"infinity.*row 3"):
        model.metrics(X, one(value, 1))
    with pytest.raises(DataError, match=r"sample_weight.*(infinity|negative)"):
        model.metrics(X, Y, sample_weight=one(value, 1))
    with pytest.raises(DataError, match=r"time.*infinite in row 3"):
        SirusSurvival(**FAST).fit(X, pd.DataFrame({"event": [True] * N, "time": one(value, 1)}))


@pytest.mark.parametrize("name", ["n_trees", "n_rules", "n_stages", "n_jobs", "random_state", "max_features", "n_bins"])
@pytest.mark.parametrize("value", [2**70, HUGE], ids=["2**70", "10**400"])
def test_a_parameter_beyond_every_machine_is_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        SirusRegressor(**{**FAST, name: value}).fit(X, Y)
    assert len(SirusRegressor(**FAST, max_samples=value).fit(X, Y).rules_)  # more rows than there are: all of them
    with pytest.raises(ParameterError, match=r"(?i)class_weight"):
        SirusClassifier(**FAST, class_weight={False: HUGE, True: 1}).fit(X, Y > 0)


def test_half_a_character_is_refused_by_its_column():
    with pytest.raises(DataError, match=r"Column 'd' holds text that is no valid Unicode .*row 3"):
        SirusRegressor(**FAST).fit(frame(one(HALF, "z")), Y)
    with pytest.raises(DataError, match="'x1' holds text that is no valid Unicode"):
        SirusRegressor(**FAST, categorical_features=[1]).fit(
            np.array([[1, v] for v in one(HALF, "z")], dtype=object), Y
        )
    named = pd.DataFrame(X)
    named.columns = pd.Index(["a", HALF, "c"], dtype=object)
    with pytest.raises(DataError, match=r"The column name .* is no valid Unicode"):
        SirusRegressor(**FAST).fit(named, Y)
    with pytest.raises(DataError, match=r"label .* no valid Unicode"):
        SirusClassifier(**FAST).fit(X, [HALF if i % 2 else "z" for i in range(N)])
    with pytest.raises(DataError, match=r"is no valid Unicode. Rename it"):
        SirusRegressor(**FAST).fit(X, pd.Series(Y, name=HALF))


def test_half_a_character_is_refused_in_what_is_written(tmp_path):
    model = SirusRegressor(**FAST).fit(X, Y)
    with pytest.raises(ParameterError, match="note must be valid Unicode"):
        model.without(model.rules_[0], note=HALF)
    with pytest.raises(ParameterError, match="title must be valid Unicode"):
        model.report(tmp_path / "r.html", title=HALF)
    with pytest.raises(ParameterError, match="labels must be valid Unicode"):
        model.report(tmp_path / "r.html", X, labels=[HALF] * N)
    for act in (model.save, pysirus.load):
        with pytest.raises(FileNotFoundError, match="cannot be the name of a file"):
            act(tmp_path / "\ud800.json")
    model.save(tmp_path / "\udc80.json")  # a byte that is no UTF-8, as names of files may have
    assert pysirus.load(tmp_path / "\udc80.json").predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("first, second", [(2**64, 2**64 + 1), (10**30, 10**30 + 1), (10**30, 2 * 10**30)])
def test_categories_of_many_digits_are_never_merged(first, second):
    values = [first if i % 2 else second for i in range(N)]
    wide = [decimal.Decimal(v) for v in values]
    tables = [frame(values), np.column_stack([X[:, 0].astype(object), np.array(values, dtype=object)])]
    tables.append(pa.table({"a": X[:, 0], "d": pa.array(wide, pa.decimal128(38))}))
    tables.append(frame(values).astype({"d": "category"}))
    for table in tables:
        name = "x1" if isinstance(table, np.ndarray) else "d"
        with pytest.raises(DataError, match=rf"Column '{name}' .*text"):
            SirusRegressor(**FAST, categorical_features=[1]).fit(table, Y)


@pytest.mark.parametrize("base", [2**53, 2**63 - 2])
def test_categories_of_64_bits_stay_apart(base, tmp_path):
    table = frame([base + i % 2 for i in range(N)])
    model = SirusRegressor(**FAST, categorical_features=["d"]).fit(table, Y + np.arange(N) % 2)
    assert model.model_.features[1].levels == (base, base + 1)
    model.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").predict(table).tolist() == model.predict(table).tolist()


def test_a_stray_cell_of_a_workbook_costs_nothing(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    from pysirus._data.marks import read_excel

    book = openpyxl.Workbook()
    for row in [["a", "b"], [1, 2.5], [3, 4.5]]:
        book.active.append(row)
    book.active["XFD1048576"] = "stray"
    book.save(tmp_path / "t.xlsx")
    with pytest.warns(UserWarning, match="right of the last column with a name"):
        table = read_excel("t.xlsx", (tmp_path / "t.xlsx").read_bytes())
    assert table.to_pydict() == {"a": [1, 3], "b": [2.5, 4.5]}
    book.active["XFD1048576"] = None
    book.active["A1048576"] = 777  # in the last row, in a column of the table
    book.save(tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as old, zipfile.ZipFile(tmp_path / "u.xlsx", "w") as new:
        for name in old.namelist():  # openpyxl writes no such number, and reads it
            new.writestr(name, old.read(name).replace(b"<v>777</v>", b"<v>%d</v>" % HUGE))
    table = read_excel("u.xlsx", (tmp_path / "u.xlsx").read_bytes())
    assert table["a"].to_pylist() == [1, 3, float("inf")]

"""Every export, run by the system it is for, predicts what the model predicts."""

import datetime
import importlib
import os
import re
import shutil
import sqlite3
import subprocess
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import engines
import hostile_sql
import pysirus
import warm
from hostile import COLOUR, KINDS, MARKUP, SCORED, make_model, new_rows
from office import recalculate, sheet_rows, values_of
from pysirus.export import FORMATS, ExportError, export, format_of
from sampled import ENGINES, few, in_turns

pytestmark = pytest.mark.filterwarnings("ignore:.*unseen category")


@pytest.fixture(params=[*KINDS, *SCORED])
def model(request):
    return make_model(request.param)


def truth_of(model, rows):
    """What the model predicts for rows: numbers or class shares, and labels."""
    rules = model.model_
    decision = rules.decision(rules.align(rows))
    return decision, None if rules.classes is None else rules.predict(rows)


def assert_equal(model, decision, labels=None, tolerance=1e-9, rows=None):
    """Predictions within the tolerance; probabilities from scores, where equality is asked for, within 1e-12."""
    expected, expected_labels = truth_of(model, new_rows() if rows is None else rows)
    if model.model_.link != "identity":
        tolerance = max(tolerance, 1e-12)
    print(f"largest difference {np.abs(np.asarray(decision, dtype=float) - expected).max():.1e}")
    assert np.abs(np.asarray(decision, dtype=float) - expected).max() <= tolerance
    if expected_labels is not None:
        assert list(labels) == list(expected_labels)


def assert_frame_equal(model, frame, column="probability_{}", tolerance=1e-9, rows=None):
    classes = model.model_.classes
    if classes is None:
        assert_equal(model, frame["prediction"], tolerance=tolerance, rows=rows)
    else:
        shares = frame[[column.format(label) for label in classes]]
        assert_equal(model, shares, frame["prediction"], tolerance=tolerance, rows=rows)


def test_the_models_ask_for_everything_that_an_export_must_say():
    conditions = [c for kind in KINDS for rule in make_model(kind).model_.rules for c in rule.conditions]
    assert {c.feature for c in conditions} >= {COLOUR, "grade", "flag", MARKUP, "select", "x; DROP TABLE data; --"}
    assert any(c.missing for c in conditions) and any(c.missing is False for c in conditions)
    assert any(c.missing is None and c.unseen for c in conditions)
    assert make_model("linear terms").model_.terms
    rows = new_rows()
    assert rows.isna().any().sum() >= 7 and (rows[COLOUR] == "never <i>seen</i>").any()


def test_python_function_predicts_the_same(model):
    names = {}
    exec(compile(model.export("python"), "export", "exec"), names)
    rows = new_rows().to_dict("records")
    if model.model_.classes is None:
        assert_equal(model, [names["predict"](row) for row in rows], tolerance=0)
    else:
        shares = [list(names["predict_proba"](row).values()) for row in rows]
        assert_equal(model, shares, [names["predict"](row) for row in rows], tolerance=0)


def test_python_function_of_thousands_of_rules_compiles():
    model, names = hostile_sql.long_model(5000), {}
    exec(compile(model.export("python"), "export", "exec"), names)
    rows = hostile_sql.new_rows().select(["x"])[:50]
    assert [names["predict"](row) for row in rows.to_pylist()] == model.predict(rows).tolist()


def test_python_function_needs_nothing():
    source = make_model("regression").export("python", name="score")
    assert "import" not in re.sub(r"#.*", "", source) and "def score(row):" in source


def test_sql_in_duckdb_predicts_the_same(model):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("frame", new_rows())
    connection.execute("CREATE TABLE data AS SELECT * FROM frame")
    assert_frame_equal(model, connection.execute(model.export("sql", table="data", dialect="duckdb")).df(), tolerance=0)


def test_sql_in_sqlite_predicts_the_same(model):
    connection = sqlite3.connect(":memory:")
    new_rows().to_sql("data", connection, index=False)
    text = model.export("sql", table="data", dialect="sqlite", math_functions=engines.has_math(connection))
    found = pd.read_sql(text, connection)
    if model.model_.link != "identity" and not engines.has_math(connection):
        pytest.skip("this SQLite has no math functions")
    assert_frame_equal(model, found, tolerance=0)
    assert len(pd.read_sql("SELECT * FROM data", connection)) == len(new_rows())  # nothing was dropped


@pytest.mark.parametrize(
    "kind, turn, dialect", in_turns([*KINDS, *SCORED], [0, 1], ["snowflake", "mysql", "spark", "oracle", "postgres"])
)
def test_sql_dialects_parse_back(kind, turn, dialect):
    sqlglot = pytest.importorskip("sqlglot")
    query = make_model(kind).export("sql", table="shop.data", dialect=dialect)
    tree = sqlglot.parse_one(query, read=dialect)
    assert {c.name for c in tree.find_all(sqlglot.exp.Column)} >= {"a b", 'say "hi"'}
    assert {t.name for t in tree.find_all(sqlglot.exp.Table)} == {"data"}


@pytest.mark.parametrize("dialect, reason", [("bigquery", "does not read back"), ("tsql", "'Red' and 'red'")])
def test_sql_dialects_refuse_what_they_cannot_say(dialect, reason):
    pytest.importorskip("sqlglot")
    with pytest.raises(ExportError, match=reason) as caught:
        make_model("regression").export("sql", table="shop.data", dialect=dialect)
    assert "window.hacked" in str(caught.value)  # a dot in a name parts it for BigQuery


def test_sql_dialect_that_nobody_knows_is_named():
    with pytest.raises(ExportError, match="dialect 'basic'"):
        make_model("regression").export("sql", dialect="basic")


def test_onnx_predicts_the_same(model):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.export("onnx"))
    rows = new_rows()
    feeds = {}
    for wanted in session.get_inputs():
        column = rows[wanted.name]
        values = column.fillna("").to_numpy(object) if wanted.type == "tensor(string)" else column.to_numpy(float)
        feeds[wanted.name] = values.reshape(-1, 1)
    outputs = session.run(None, feeds)
    assert_equal(model, outputs[-1], outputs[0], tolerance=0)


def evaluate_pmml(path, rows):
    """What jpmml-evaluator says of rows."""
    jpype = pytest.importorskip("jpype", reason="PMML is evaluated by jpmml-evaluator, which needs jpype1")
    evaluators = pytest.importorskip("jpmml_evaluator")
    if shutil.which("java") is None:
        pytest.skip("PMML is evaluated by jpmml-evaluator, which needs Java")
    with pytest.MonkeyPatch.context() as patch:
        if not jpype.isJVMStarted():  # it lives for some seconds: compiling its code well takes longer than running it
            # it leaves this thread a stack of a megabyte, too short for the nested JSON of other tests in Python 3.13
            patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss8m")
        evaluator = evaluators.make_evaluator(str(path)).verify()
    return evaluator.evaluateAll(rows[[field.getName() for field in evaluator.getInputFields()]])


@pytest.mark.parametrize("model", few([*KINDS, *SCORED]), indirect=True)
def test_pmml_predicts_the_same(model, tmp_path):
    model.export("pmml", tmp_path / "model.pmml")
    assert_frame_equal(model, evaluate_pmml(tmp_path / "model.pmml", new_rows()), "probability({})")


@pytest.mark.parametrize("weighting", ["equal", "likelihood"])
@pytest.mark.parametrize("labels", [(3, 4), (3, 2**40), (False, True), ("no", "yes")])
def test_labels_keep_their_type(labels, weighting, tmp_path):
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"a": draw.normal(size=200), "b": draw.integers(0, 5, 200)})
    y = np.array(labels)[(X["a"] + X["b"] > 2).astype(int)]
    model = pysirus.SirusClassifier(n_rules=4, n_trees=200, weighting=weighting, random_state=0).fit(X, y)
    expected = model.predict(X).tolist()
    connection = sqlite3.connect(":memory:")
    X.to_sql("data", connection, index=False)
    found = pd.read_sql(model.export("sql", table="data", dialect="sqlite"), connection)
    assert found["prediction"].tolist() == expected
    names = {}
    exec(model.export("python"), names)
    assert [names["predict"](row) for row in X.to_dict("records")] == expected
    session = pytest.importorskip("onnxruntime").InferenceSession(model.export("onnx"))
    feeds = {wanted.name: X[[wanted.name]].to_numpy(float) for wanted in session.get_inputs()}
    assert session.run(["label"], feeds)[0].tolist() == expected
    model.export("pmml", tmp_path / "model.pmml")
    assert evaluate_pmml(tmp_path / "model.pmml", X)["prediction"].tolist() == expected


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """A workbook of every kind of model, and one that was changed by hand, computed by LibreOffice."""
    openpyxl, folder = pytest.importorskip("openpyxl"), tmp_path_factory.mktemp("books")
    for kind in (*KINDS, *SCORED) if ENGINES else few([*KINDS, *SCORED]):
        make_model(kind).export("excel", folder / f"{kind}.xlsx", X=sheet_rows())
    make_model("regression").export("excel", folder / "live.xlsx", X=new_rows()[:3])
    book = openpyxl.load_workbook(folder / "live.xlsx")
    book["Rules"]["F4"] = 0  # strike the first rule by hand
    book.save(folder / "live.xlsx")
    return recalculate(folder.glob("*.xlsx"))


def test_the_rows_of_workbooks_show_every_rule_from_both_sides():
    rows, some = new_rows(), sheet_rows()
    assert all(set(some[name].dropna()) == set(rows[name].dropna()) for name in (COLOUR, "grade", "flag"))
    assert (some.isna().any() == rows.isna().any()).all()
    for kind in (*KINDS, *SCORED):
        model = make_model(kind).model_
        sides = [[set(rule.holds(table).tolist()) for rule in model.rules] for table in map(model.align, (rows, some))]
        assert sides[0] == sides[1] and sides[0].count({False, True}) > 9
        assert model.classes is None or set(model.predict(some)) == set(model.predict(rows))


@pytest.mark.parametrize("format", ["excel", "scorecard"])
def test_workbook_has_the_formulas_of_its_second_row_in_every_row(format, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    make_model("staged scores").export(format, tmp_path / "book.xlsx", X=new_rows()[:12])
    sheet = openpyxl.load_workbook(tmp_path / "book.xlsx")["Predict"]
    translator = importlib.import_module("openpyxl.formula.translate").Translator
    formulas = [cell for cell in sheet[2] if cell.data_type == "f"]
    assert len(formulas) > 30
    for cell in formulas:
        for row in (3, 9, 10, 13):
            moved = translator(cell.value, origin=cell.coordinate).translate_formula(row_delta=row - 2)
            assert sheet.cell(row, cell.column).value == moved


@pytest.mark.parametrize("kind", few([*KINDS, *SCORED]))
def test_workbook_predicts_the_same(kind, books):
    header, *rows = values_of(books[kind])["Predict"].values
    frame = pd.DataFrame(rows, columns=header)
    assert len(frame) == len(sheet_rows())
    assert_frame_equal(make_model(kind), frame, "probability of {}", rows=sheet_rows())
    assert COLOUR in header and (frame[COLOUR] == "=1+1").any()  # as text, not computed


def test_workbook_is_live(books):
    model = make_model("regression").model_
    header, *rows = values_of(books["live"])["Predict"].values
    contributions = model.explain(new_rows()[:3], raw=True).contributions[:, 0]
    expected = model.predict(new_rows()[:3]) - contributions
    assert np.allclose([row[header.index("prediction")] for row in rows], expected, rtol=0, atol=1e-9)


def test_json_is_the_model_file(model, tmp_path):
    model.export("json", tmp_path / "model.json")
    assert (pysirus.load(tmp_path / "model.json").predict(new_rows()) == model.predict(new_rows())).all()


@pytest.mark.parametrize("format", FORMATS)
def test_file_holds_what_is_returned(format, tmp_path):
    path = tmp_path / f"model{FORMATS[format][0]}"
    options = {"dialect": "postgres"} if format in ("sql", "monitor") else {}
    content = make_model("two scores" if format == "scorecard" else "regression").export(format, path, **options)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert format_of(path) == format


def test_what_cannot_be_exported_is_named():
    model = make_model("regression").model_
    with pytest.raises(ExportError, match="one of sql, python, javascript, excel"):
        export(model, "fax")
    with pytest.raises(ExportError, match=r"latex does not take this option.*dialect"):
        export(model, "latex", dialect="tsql")
    with pytest.raises(FileNotFoundError, match="no folder"):
        export(model, "sql", "/nowhere/at/all.sql", dialect="duckdb")


@pytest.mark.parametrize(
    ("format", "level"),
    [
        ("excel", "a\x01b"),
        ("excel", "a\rb"),
        ("excel", ""),
        ("excel", "_x0041_"),
        ("pmml", "a\x01b"),
        ("sql", "a\0b"),
        ("onnx", ""),
    ],
)
def test_a_level_that_a_format_cannot_hold_is_named(format, level):
    X = pd.DataFrame({"x": pd.Series([level, "b", "c"] * 20, dtype=object), "z": np.arange(60.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pysirus.SirusRegressor(n_rules=5, n_trees=100, random_state=0).fit(X, np.tile([0.0, 1.0, 2.0], 20))
    assert any(c.feature == "x" for rule in model.rules_ for c in rule.conditions)
    with pytest.raises(ExportError, match=re.escape(repr(level)) if level else "'x' has the empty text"):
        model.export(format)


def test_python_function_compares_doubles():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"x": draw.normal(size=400).round(3), "long": 2**60 + draw.integers(0, 4000, 400)})
    y = 3.0 * (X["x"] > 0.1) + (X["long"] > 2**60 + 2000)
    model = pysirus.SirusRegressor(n_rules=20, n_trees=300, random_state=0).fit(X, y)
    names = {}
    exec(model.export("python"), names)
    ends = [e for r in model.rules_ for c in r.conditions if c.feature == "x" for e in (c.lower, c.upper) if e]
    short = pd.DataFrame({"x": np.array(ends, dtype=np.float32), "long": X["long"][: len(ends)]})
    for rows in (X, short):  # 64 bits of an integer, 32 bits of a real number
        found = [names["predict"]({"x": x, "long": int(n)}) for x, n in zip(rows["x"].to_numpy(), rows["long"])]
        assert (np.array(found) == model.predict(rows)).all()


@pytest.mark.parametrize("name", ["class", "_known", "max", "a b"])
def test_python_function_has_a_name_of_its_own(name):
    with pytest.raises(ValueError, match="name must"):
        make_model("classes").export("python", name=name)


def classify(X, labels, weighting="equal"):
    """A model of three classes on two columns of numbers."""
    y = np.array(labels, dtype=object)[np.digitize(X.iloc[:, 0] + X.iloc[:, 1], [-0.5, 0.7])]
    return pysirus.SirusClassifier(n_rules=6, n_trees=300, weighting=weighting, random_state=0).fit(X, y)


@pytest.mark.parametrize("weighting", ["equal", "likelihood"])
def test_sql_refuses_columns_that_would_be_there_twice(weighting):
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"x": draw.normal(size=300), "Probability_b": draw.normal(size=300)})
    with pytest.raises(ExportError, match="'probability_b' would be added, and there is 'Probability_b' already"):
        classify(X, ["a", "b", "c"], weighting).export("sql", table="data")
    X.columns = ["x", "z"]
    model = classify(X, ["a", "A", "b"], weighting)
    with pytest.raises(ExportError, match=r"'(\w+)_a' would be added, and there is '\1_A' already"):
        model.export("sql", table="data")
    connection = sqlite3.connect(":memory:")
    X.to_sql("data", connection, index=False)
    labels = [row[-1] for row in connection.execute(f"SELECT {model.export('sql', dialect='sqlite')} FROM data")]
    assert labels == model.predict(X).tolist()  # the expression does not read its own columns
    with pytest.raises(ExportError, match="'Z' would be added, and there is 'z' already"):
        classify(X, ["a", "b", "c"], weighting).export("sql", table="data", prediction="Z")


@pytest.mark.parametrize("format", ["python", "sql", "onnx", "json"])
def test_classes_that_a_format_cannot_hold_are_named(format):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), columns=["x", "z"])
    model = classify(X, [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), datetime.date(2022, 1, 1)])
    with pytest.raises(ValueError, match=r"date.*(cannot|JSON)"):
        model.export(format)


def test_onnx_refuses_the_names_of_its_own_outputs():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"label": draw.normal(size=300), "prediction": draw.normal(size=300)})
    model = classify(X, ["a", "b", "c"])
    with pytest.raises(ExportError, match="'label' has the name of an ONNX output"):
        model.export("onnx")
    model = pysirus.SirusRegressor(n_rules=3, n_trees=100, random_state=0).fit(X[["label"]], X["label"])
    session = pytest.importorskip("onnxruntime").InferenceSession(model.export("onnx"))
    assert (session.run(None, {"label": X[["label"]].to_numpy()})[0] == model.predict(X[["label"]])).all()


def test_pmml_keeps_its_names_apart(tmp_path):
    draw = np.random.default_rng(0)
    levels = ["a\r\nb", "a\nb", "a"]
    X = pd.DataFrame({"c": pd.Series(draw.choice(levels, 300), dtype=object), "prediction": draw.normal(size=300)})
    y = pd.Series(X["c"].map({level: 2.0 * i for i, level in enumerate(levels)}) + X["prediction"], name="part 1")
    model = pysirus.SirusRegressor(n_rules=8, n_trees=300, random_state=0)
    with pytest.raises(ExportError, match="'prediction' has the name of a PMML output"):
        model.fit(X, y).export("pmml")
    model.fit(X.rename(columns={"prediction": "x"}), y)
    text = model.export("pmml")
    names = [field.get("name") for field in ElementTree.fromstring(text).iter() if field.tag.endswith("Field")]
    assert names.count("part 1") == 2 and names.count("part 1'") == 1  # the target and its place in the schema
    constants = {e.text for e in ElementTree.fromstring(text).iter() if e.tag.endswith("Constant")}
    assert "a\r\nb" in constants


def coded(codes):
    """A model of a column of whole numbers as labels."""
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"code": np.array(codes)[draw.integers(0, len(codes), 300)], "z": draw.normal(size=300)})
    y = X["code"].map({code: 3.0 * (i % 2) for i, code in enumerate(codes)}) + X["z"]
    model = pysirus.SirusRegressor(n_rules=8, n_trees=300, random_state=0, categorical_features=["code"])
    return X, model.fit(X, y)


@pytest.mark.parametrize("format", ["onnx", "pmml", "excel"])
def test_long_codes_are_not_taken_for_each_other(format):
    _, model = coded([2**53, 2**53 + 1, 2**53 + 2])
    with pytest.raises(ExportError, match=r"'code' has the category 900719925474099\d.*digits"):
        model.export(format)


def test_pmml_takes_integers_of_more_than_32_bits(tmp_path):
    X, model = coded([5, 2**31, 2**31 + 1])
    text = model.export("pmml", tmp_path / "model.pmml")
    assert 'name="code" optype="categorical" dataType="double"' in text
    found = evaluate_pmml(tmp_path / "model.pmml", X)["prediction"]
    assert np.abs(found - model.predict(X)).max() < 1e-9


def test_a_model_without_rules_exports(tmp_path):
    with pytest.warns(UserWarning, match="no rules"):
        model = pysirus.SirusRegressor().fit(pd.DataFrame({"x": np.arange(20.0)}), np.full(20, 3.0))
    names = {}
    exec(model.export("python"), names)
    assert names["predict"]({"x": 1.0}) == 3.0
    assert sqlite3.connect(":memory:").execute(f"SELECT {model.export('sql').rstrip()}").fetchone() == (3.0,)
    for format in ("excel", "latex", "markdown", "html", "pmml"):
        assert model.export(format)
    with pytest.raises(ExportError, match="neither rules nor terms"):
        model.export("onnx")


def test_the_example_ships_a_model(tmp_path):
    pytest.importorskip("matplotlib")
    script = Path(__file__).parents[2] / "examples" / "ship.py"
    run = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    command = [*warm.python(run), "--folder", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "MPLBACKEND": "Agg"})
    written = done.stdout.splitlines()[-1].removeprefix("wrote ").split(", ")
    names = {"report.html", "rules.png", "effect.png", "day.png", "ozone.sql", "ozone.py", "ozone.xlsx", "ozone.tex"}
    assert set(written) == names

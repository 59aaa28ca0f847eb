"""Exports of models with a link: scores that are huge, equal or of one class; engines that lack an exponential."""

import sqlite3
from typing import get_args

import numpy as np
import pytest

import engines
from hand_made import HAND_MADE, ROWS, assert_same, assert_sql, make_model, run_sql
from pysirus._data.table import Feature
from pysirus._families.classes import Binomial
from pysirus._families.links import Form
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule
from pysirus.estimators.rule_model import RuleModel
from pysirus.export import ExportError, _writer, excel, onnx, pmml, python
from pysirus.export._addends import Addend


@pytest.fixture(params=HAND_MADE)
def model(request):
    return HAND_MADE[request.param]


@pytest.mark.parametrize("dialect", ["duckdb", None])
def test_duckdb_takes_scores_of_any_size(model, dialect):
    assert_sql(model, engines.duckdb(), dialect=dialect)


def test_sqlite_takes_scores_of_any_size(model):
    engine = engines.sqlite()
    if not engines.has_math(engine.connection):
        pytest.skip("this SQLite has no math functions")
    assert_sql(model, engine, dialect="sqlite", math_functions=True)


def test_python_takes_scores_of_any_size(model):
    names = {}
    exec(compile(model.export("python"), "export", "exec"), names)
    rows = ROWS.to_dict("records")
    if model.classes is None:
        assert_same(model, [names["predict"](row) for row in rows])
        return
    shares = [list(names["predict_proba"](row).values()) for row in rows]
    assert_same(model, shares, [names["predict"](row) for row in rows])
    scores = [names["predict_score"](row) for row in rows]
    found = np.array([list(s.values()) if isinstance(s, dict) else s for s in scores])
    assert np.allclose(found, model.decision_function(ROWS), rtol=1e-12, atol=1e-12)


def test_onnx_takes_scores_of_any_size(model):
    session = pytest.importorskip("onnxruntime").InferenceSession(model.export("onnx"))
    outputs = session.run(None, {name: ROWS[[name]].to_numpy() for name in ROWS})
    assert_same(model, outputs[-1], outputs[0])


def test_every_format_writes_every_form_and_every_addend():
    tables = [_writer.ANSWERS, excel.ANSWERS, python.FUNCTIONS, onnx.OUTPUTS, pmml.METHODS]
    assert all(set(table) == set(get_args(Form)) for table in tables)
    writers = [_writer.ADDENDS, excel.ADDENDS, python.ADDENDS, onnx.ADDENDS, pmml.ADDENDS]
    assert all(set(table) == set(get_args(Addend)) for table in writers)


# ------------------------------------------------------------------------------------------------ engines without exp()


def test_sqlite_gets_scores_and_the_class_and_refuses_the_probability():
    for model in (HAND_MADE["two"], HAND_MADE["four"]):
        for found in run_sql(model, engines.sqlite(), dialect="sqlite"):
            assert found[:, -1].tolist() == model.predict(ROWS).tolist()
            scores = model.decision_function(ROWS).reshape(len(ROWS), -1)
            assert np.abs(found[:, :-1].astype(float) - scores).max() <= 1e-12
        assert "EXP" not in model.export("sql", dialect="sqlite").upper()
        with pytest.raises(ExportError, match=r"probability needs exp\(\), which SQLite has only.*math_functions=True"):
            model.export("sql", dialect="sqlite", probability=True)
    with pytest.raises(ExportError, match=r"The prediction needs exp\(\), which SQLite"):
        HAND_MADE["log"].export("sql", dialect="sqlite")


def test_sqlite_without_math_functions_runs_the_default():
    connection = sqlite3.connect(":memory:")
    if engines.has_math(connection):  # as a build without them answers
        connection.create_function("exp", 1, None)
    assert not engines.has_math(connection)
    model = HAND_MADE["two"]
    for found in run_sql(model, engines.SQLite(connection), dialect="sqlite"):
        assert found[:, -1].tolist() == model.predict(ROWS).tolist()


def test_probabilities_can_be_left_out_of_any_dialect():
    text = HAND_MADE["two"].export("sql", table="data", dialect="postgres", probability=False)
    assert "EXP" not in text and '"score"' in text and "probability" not in text


def test_moderate_scores_need_no_limits_and_huge_ones_have_them():
    assert "700" not in HAND_MADE["four"].export("sql")
    assert "700" in HAND_MADE["four huge"].export("sql")


# ------------------------------------------------------------------------------------------------------------- tables


def test_tables_show_shares_and_points_and_name_the_positive_class_once():
    rule = FittedRule(
        (Condition("x", upper=0.0, index=0),),
        frequency=0.25,
        inside=(0.2, 0.8),
        outside=(0.9, 0.1),
        weight=2.0,
        classes=("a", "b"),
    )
    features = (Feature("x", "numeric"),)
    model = RuleModel(RuleSet([rule]), (0.0, 0.0), Binomial("y", (0.7, 0.3), ("a", "b")), features, named=True)
    text = model.export("markdown")
    assert "share of b = 30.0%, its log-odds at the start = -0.80" in text
    assert "| 0.25 | **if** x &lt; 0 **then** 80% **else** 10% | +2.00 | -0.80 |" in text
    assert "+2.00</td>" in model.export("html") and r"& $+2.00$ & $-0.80$ \\" in model.export("latex")
    assert "-- if x < 0 then 80% else 10%: adds +2.00 else -0.80" in model.export("sql")


def test_scores_at_the_start_are_told_from_their_mean():
    model = make_model([], ("a", "b", "c"), intercept=(11.0, 10.0, 9.0))
    assert "scores at the start = a +1.00, c -1.00, b +0.00" in model.export("markdown")

"""Reasons in SQL equal those in Python, on DuckDB and PostgreSQL."""

import numpy as np
import pyarrow as pa
import pytest

import engines
import servers
from decision_models import KINDS, random_model, random_rows
from pysirus.export import ExportError
from sampled import few


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def engine(request):
    if request.param == "duckdb":
        yield engines.duckdb()
        return
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install pysirus[test]")
    with engines.skipping(servers.postgres) as connection:
        yield engines.Postgres(connection)


def load(engine, rows):
    """Rows as a table whose text is of the type that engines are given."""
    columns = {name: pa.array(values.tolist(), from_pandas=True) for name, values in rows.items()}
    engine.load(pa.table(columns))


def columns_of(found, k):
    """Texts and contributions of each row as columns, None where there are fewer."""
    columns = []
    for rank in range(k):
        names = found.ranked[:, rank].tolist() if rank < found.ranked.shape[1] else [-1] * len(found)
        columns.append([None if i < 0 else found.text_of(row, i) for row, i in enumerate(names)])
        columns.append([None if i < 0 else found.contributions[row, i] for row, i in enumerate(names)])
    return columns


CASES = [
    {"reference": "row"},
    {"direction": "against", "reference": "best"},
    {"direction": "both", "by": "column"},
    {"direction": "for", "reference": "best", "by": "column"},
    {"direction": "against", "reference": "row", "by": "column"},
]


@pytest.mark.parametrize("kind", few(list(KINDS)))
def test_reasons_in_sql_are_those_of_python(engine, kind):
    rng = np.random.default_rng(11)
    for options in CASES:
        model = random_model(rng, kind, n_rules=6, n_slopes=2)
        model = model.with_reasons({1: ("it's low", "it's high"), 2: 'code "2"'})
        rows = random_rows(rng, model, 400)
        if options.get("reference") == "row":
            options = {**options, "reference": rows[:1]}
        load(engine, rows)
        text = model.export("sql", table="data", dialect=engine.dialect, reasons=3, **options)
        added = engine.added(text, rows.shape[1])[-6:]
        expected = columns_of(model.reasons(rows, k=3, **options), 3)
        for i, (own, wanted) in enumerate(zip(added, expected)):
            if i % 2 == 0:
                assert list(own) == wanted
            else:
                a, b = (np.array([np.nan if v is None else v for v in side], dtype=float) for side in (own, wanted))
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_an_outcome_may_be_named(engine):
    rng = np.random.default_rng(2)
    model = random_model(rng, "three")
    rows = random_rows(rng, model, 100)
    load(engine, rows)
    text = model.export("sql", table="data", dialect=engine.dialect, reasons=2, outcome="z")
    assert "-- reasons for z, measured from the average training row" in text
    assert list(engine.added(text, rows.shape[1])[-4]) == columns_of(model.reasons(rows, 2, outcome="z"), 2)[0]


def test_other_engines_and_expressions_are_refused():
    model = random_model(np.random.default_rng(0), "two")
    with pytest.raises(ExportError, match="name it with"):
        model.export("sql", dialect="duckdb", reasons=4)
    with pytest.raises(ExportError, match="dialect='postgres' or 'duckdb'"):
        model.export("sql", dialect="sqlite", table="data", reasons=4)

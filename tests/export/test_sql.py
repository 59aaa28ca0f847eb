"""The SQL export on the databases that need no server, and what it refuses to write."""

import numpy as np
import pandas as pd
import pytest

import engines
import hostile_sql
from pysirus import SirusClassifier, SirusRegressor
from pysirus.export import ExportError
from pysirus.export._dialects import DIALECTS, SQLITE, smallest_factor
from sampled import in_turns

pytestmark = pytest.mark.filterwarnings("ignore:.*unseen category")


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def engine(request):
    return getattr(engines, request.param)().load_all()


def need_exp(engine, kind):
    if kind.endswith("scores") and engine.dialect == "sqlite" and not engines.has_math(engine.connection):
        pytest.skip("this SQLite has no math functions")


@pytest.mark.parametrize("kind", hostile_sql.MODELS)
def test_sql_predicts_the_same(engine, kind):
    need_exp(engine, kind)
    engines.assert_predicts(engine, kind)


@pytest.mark.parametrize("kind, engine", in_turns(hostile_sql.MODELS, ["duckdb", "sqlite"]), indirect=["engine"])
def test_sql_predicts_the_same_without_a_dialect(engine, kind):
    need_exp(engine, kind)
    engines.assert_predicts_without_dialect(engine, kind)


@pytest.mark.parametrize("dialect", ["own", None])
def test_sql_adds_doubles(engine, dialect):
    engines.assert_ties_as_doubles(engine, dialect and engine.dialect)


def test_sql_adds_long_lists(engine):
    n_exact = 899
    if engine.dialect == "duckdb":  # its optimizer takes ten seconds for a thousand rules
        engine.run("PRAGMA disable_optimizer")
        n_exact = 100
    engines.assert_adds_long_lists(engine, n_exact, 1001)


def test_sql_fails_where_a_column_is_missing(engine):
    engines.assert_missing_column_fails(engine)
    with pytest.raises(Exception, match=r"(?i)column"):  # in double quotes, but with its table in front
        engine.run(hostile_sql.long_model(3).export("sql", table="bare"))


def test_sql_compares_bytes_whatever_the_collation(engine):
    column = engine.name(hostile_sql.TEXT)
    engine.run("CREATE TABLE folding AS SELECT * FROM data")
    columns = ", ".join(engine.name(name) for name in [*hostile_sql.KINDS, "id"] if name != hostile_sql.TEXT)
    engine.run(f"CREATE TABLE other (id BIGINT, {column} {engine.types[3]} COLLATE NOCASE)")
    engine.run(f"INSERT INTO other SELECT id, {column} FROM data")
    engine.run(f"CREATE VIEW folded AS SELECT {columns}, other.{column} FROM data JOIN other USING (id)")
    assert engine.run(f"SELECT COUNT(*) FROM folded WHERE {column} = 'E'") > engine.run(
        f"SELECT COUNT(*) FROM data WHERE {column} = 'E'"
    )
    model, rows = hostile_sql.make_model("two classes"), hostile_sql.new_rows()
    expression = model.export("sql", dialect=engine.dialect).rstrip()
    found = engine.added(f"SELECT id, {expression} FROM folded")
    assert hostile_sql.wrong_rows(model, rows, found) == (0.0, 0)


def test_sqlite_reads_every_number_as_it_is(rng):
    wild = rng.integers(0, 2**63, 4000, dtype=np.int64).view(float)
    wild = np.concatenate([wild, rng.normal(size=100_000) * 10.0 ** rng.uniform(-9, 9, 100_000)])
    numbers = [*wild[np.isfinite(wild)].tolist(), 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e-310]
    engine = engines.sqlite()
    for i in range(0, len(numbers), 500):
        some = numbers[i : i + 500]
        assert engine.run(f"SELECT {', '.join(map(SQLITE.number, some))}") == [tuple(some)]


@pytest.mark.parametrize("weight", [1.0, -0.5, 3e-7, -1e-98, 1e-300, 7.5])
def test_smallest_factor_is_where_a_product_starts(weight):
    factor = smallest_factor(weight)
    assert weight * factor != 0 and (factor == 5e-324 or weight * np.nextafter(factor, 0) == 0)


# ----------------------------------------------------------------------------------------------------- what is refused


def fit_levels(levels, column="k"):
    """A model whose rules are about these levels."""
    k = np.array(levels, dtype=object)[np.arange(300) % len(levels)]
    X = pd.DataFrame({column: k, "x": np.arange(300.0)})
    return SirusRegressor(n_rules=4, n_trees=100, random_state=0).fit(X, (np.arange(300) % len(levels)) * 1.0)


@pytest.mark.parametrize("level", ["\\", hostile_sql.PWN, "'", "'''", "a''b", "\\'"])
def test_sql_without_a_dialect_refuses_what_engines_read_differently(level):
    model = hostile_sql.level_model(level)
    with pytest.raises(ExportError, match=r"dialect='postgres'") as caught:
        model.export("sql")
    assert repr(level) in str(caught.value)
    assert all(model.export("sql", dialect=dialect) for dialect in DIALECTS)
    with pytest.raises(ExportError, match=r"backslash"):
        fit_levels(["a", "b"], "tiny\\").export("sql", table="data")
    with pytest.raises(ExportError, match=r"Table 'x\\\\y' holds a backslash"):
        fit_levels(["a", "b"]).export("sql", table="shop.x\\y")
    with pytest.raises(ExportError, match=r"longer quote"):
        fit_levels(["a", "b"]).export("sql", table="data", prediction='"p')


@pytest.mark.parametrize("pair", [("red", "Red"), ("e", "é"), ("e", "e "), ("", "\u200b"), ("ss", "ß")])
@pytest.mark.parametrize("dialect", [None, "tsql"])
def test_sql_refuses_levels_that_collations_equate(pair, dialect):
    with pytest.raises(ExportError, match=r"which may be equal in (some engines|tsql)") as caught:
        fit_levels(["x", *pair]).export("sql", dialect=dialect)
    assert all(repr(level) in str(caught.value) for level in pair)


@pytest.mark.parametrize("dialect", [None, *DIALECTS])
@pytest.mark.parametrize("level", ["a\0b", "\ud800"])
def test_sql_refuses_text_that_it_cannot_hold(dialect, level):
    model = hostile_sql.level_model(level)
    with pytest.raises(ExportError, match="cannot hold"):
        model.export("sql", dialect=dialect)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "mysql", "spark", "tsql", None])
def test_sql_refuses_columns_that_are_one_to_the_engine(dialect):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), columns=["x", "X"])
    model = SirusRegressor(n_rules=6, n_trees=100, random_state=0).fit(X, X["x"] + X["X"])
    with pytest.raises(ExportError, match="Columns 'x' and 'X' may be one and the same in"):
        model.export("sql", dialect=dialect)
    assert model.export("sql", dialect="postgres")


def test_sql_without_a_dialect_refuses_long_labels():
    labels = np.array(hostile_sql.LABELS[:2], dtype=object)[(np.arange(300) > 150) * 1]
    model = SirusClassifier(n_rules=3, n_trees=100, random_state=0).fit(pd.DataFrame({"x": np.arange(300.0)}), labels)
    with pytest.raises(ExportError, match=r"more than 63 bytes.*dialect='postgres'"):
        model.export("sql")


# ------------------------------------------------------------------------------------------------- dialects of sqlglot

OTHERS = ["athena", "bigquery", "clickhouse", "doris", "dremio", "drill", "druid", "dune", "exasol", "fabric", "hive"]
OTHERS += ["materialize", "oracle", "presto", "redshift", "risingwave", "snowflake", "starrocks", "tableau", "teradata"]
OTHERS += ["trino", "tsql"]


def skip_unless_known(dialect):
    """Each version of sqlglot knows more dialects than the one before."""
    try:
        pytest.importorskip("sqlglot").Dialect.get_or_raise(dialect)
    except ValueError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("dialect", OTHERS)
def test_sqlglot_reads_back_every_text_or_it_is_refused(dialect):
    sqlglot = pytest.importorskip("sqlglot")
    skip_unless_known(dialect)
    refused = []
    for level in hostile_sql.TEXTS:
        model = hostile_sql.level_model(level, "a'b\"c`d]e")
        try:
            tree = sqlglot.parse_one(model.export("sql", table="shop.data", dialect=dialect), read=dialect)
        except ExportError as error:
            assert repr(level) in str(error) or "empty text" in str(error)
            refused.append(level)
            continue
        literals = [t for t in tree.find_all(sqlglot.exp.Literal) if t.is_string]
        assert {t.this for t in [*literals, *tree.find_all(sqlglot.exp.National)]} == {level}
        assert {c.name for c in tree.find_all(sqlglot.exp.Column)} == {"a'b\"c`d]e", "*"}
        assert {t.name for t in tree.find_all(sqlglot.exp.Table)} == {"data"}
    backslashes = [level for level in hostile_sql.TEXTS if "\\" in level]
    assert set(refused) <= {*backslashes, ""}
    assert not refused or dialect in {"athena", "dremio", "drill", "druid", "oracle", "tableau"}


@pytest.mark.parametrize("dialect", ["dax", "prql"])
def test_sqlglot_dialects_that_are_no_sql_are_refused(dialect):
    skip_unless_known(dialect)
    with pytest.raises(ExportError, match="cannot read back"):
        fit_levels(["a", "b"]).export("sql", table="data", dialect=dialect)


def test_sql_of_other_engines_computes_in_doubles():
    pytest.importorskip("sqlglot")
    model = hostile_sql.level_model("größe")
    assert "BINARY_DOUBLE" in model.export("sql", dialect="oracle")
    assert "N'größe'" in model.export("sql", dialect="tsql")


def test_sql_needs_no_sqlglot_for_the_engines_it_knows(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sqlglot", None)
    assert all(fit_levels(["a", "b"]).export("sql", dialect=dialect) for dialect in DIALECTS)
    with pytest.raises(ImportError, match=r"pysirus\[sql\]"):
        fit_levels(["a", "b"]).export("sql", dialect="snowflake")

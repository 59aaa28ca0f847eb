"""The SQL export on PostgreSQL: 2,000 hostile rows, none of them wrong."""

import numpy as np
import pytest

import engines
import hand_made
import hostile_sql
import servers
from sampled import FULL, few

pytestmark = pytest.mark.filterwarnings("ignore:.*unseen category")


@pytest.fixture(scope="module")
def postgres():
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install pysirus[test]")
    with engines.skipping(servers.postgres) as connection:
        yield engines.Postgres(connection).load_all()


@pytest.mark.parametrize("kind", few(hostile_sql.MODELS))
def test_postgres_predicts_the_same(postgres, kind):
    engines.assert_predicts(postgres, kind)


@pytest.mark.parametrize("kind", few(hostile_sql.MODELS))
def test_postgres_predicts_the_same_without_a_dialect(postgres, kind):
    engines.assert_predicts_without_dialect(postgres, kind)


def test_postgres_reads_backslashes_as_text_in_its_old_mode(postgres):
    postgres.run("SET standard_conforming_strings = off")
    try:
        engines.assert_predicts(postgres, "several classes")
    finally:
        postgres.run("RESET standard_conforming_strings")


@pytest.mark.parametrize("dialect", ["postgres", None])
def test_postgres_adds_doubles(postgres, dialect):
    engines.assert_ties_as_doubles(postgres, dialect)


def test_postgres_names_columns_of_long_labels_apart(postgres):
    model = hostile_sql.make_model("several classes")
    text = model.export("sql", table="data", dialect="postgres")
    with postgres.connection.cursor() as cursor:
        cursor.execute(text.encode())
        names = [column.name for column in cursor.description][-6:]
    assert names == [*(f"probability_{k}" for k in range(1, 6)), "prediction"]
    assert f"-- probability_2: {model.classes[1]}\n" in text


def test_postgres_compares_bytes_whatever_the_collation(postgres):
    postgres.run("CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    column = postgres.name(hostile_sql.TEXT)
    postgres.run(f"ALTER TABLE data ALTER COLUMN {column} TYPE text COLLATE folding")
    assert postgres.run(f"SELECT COUNT(DISTINCT {column}) FROM data")[0][0] < len(
        {*hostile_sql.TEXTS, *hostile_sql.NEVER_SEEN}
    )
    try:
        engines.assert_predicts(postgres, "numbers")
    finally:
        postgres.load_all()


def test_postgres_adds_long_lists(postgres):
    engines.assert_adds_long_lists(postgres, 1999, 7000 if FULL else 4100)


def test_postgres_fails_where_a_column_is_missing(postgres):
    engines.assert_missing_column_fails(postgres)


def test_postgres_reads_columns_of_other_types(postgres):
    """Whole numbers and decimals where training had doubles."""
    rows = hostile_sql.tamed(hostile_sql.new_rows())
    model = hostile_sql.tame_model("linear terms")
    x = postgres.name("x")
    postgres.run(f"CREATE TABLE typed AS TABLE tame; ALTER TABLE typed ALTER COLUMN {x} TYPE numeric(6, 1)")
    found = postgres.added(model.export("sql", table="typed", dialect="postgres"), rows.num_columns)
    assert np.array_equal(np.array(found[0], dtype=float), model.predict(rows))


@pytest.mark.parametrize("dialect", ["postgres", None])
@pytest.mark.parametrize("kind", few(list(hand_made.HAND_MADE)))
def test_postgres_takes_scores_of_any_size(postgres, kind, dialect):
    """Its exponential fails above 709 and below -708."""
    with postgres.connection.cursor() as cursor, pytest.raises(Exception, match="underflow"):
        cursor.execute("SELECT exp(-800::double precision)")
    postgres.run("CREATE SCHEMA IF NOT EXISTS by_hand; SET search_path = by_hand")
    try:
        hand_made.assert_sql(hand_made.HAND_MADE[kind], postgres, dialect=dialect)
    finally:
        postgres.run("RESET search_path")

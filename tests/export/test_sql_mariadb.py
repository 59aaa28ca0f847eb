"""The SQL export on MariaDB: 2,000 hostile rows, none of them wrong, in whatever mode the server reads it."""

import numpy as np
import pandas as pd
import pytest

import engines
import hand_made
import hostile_sql
import servers
from pysirus import SirusRegressor
from sampled import FULL, few

pytestmark = pytest.mark.filterwarnings("ignore:.*unseen category")


@pytest.fixture(scope="module")
def mariadb():
    pytest.importorskip("pymysql", reason="PyMySQL is not installed: pip install pysirus[test]")
    with engines.skipping(servers.mariadb) as connection:
        engine = engines.MariaDB(connection)
        engine.run("CREATE DATABASE pysirus")
        engine.run("USE pysirus")
        yield engine.load_all()


@pytest.mark.parametrize("kind", few(hostile_sql.MODELS))
def test_mariadb_predicts_the_same(mariadb, kind):
    engines.assert_predicts(mariadb, kind)


@pytest.mark.parametrize(
    "setting",
    [
        "sql_mode = 'ANSI_QUOTES'",
        "sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "sql_mode = ''",
        "character_set_connection = latin1",
        "collation_connection = 'utf8mb4_unicode_ci'",
    ],
)
def test_mariadb_predicts_the_same_in_every_mode(mariadb, setting):
    mariadb.run(f"SET {setting}")
    try:
        engines.assert_predicts(mariadb, "several classes")
    finally:
        mariadb.run("SET sql_mode = DEFAULT")
        mariadb.run("SET NAMES utf8mb4")


@pytest.mark.parametrize("charset", ["utf8mb4 COLLATE utf8mb4_unicode_520_ci", "utf8mb4 COLLATE utf8mb4_bin", "utf16"])
def test_mariadb_compares_bytes_whatever_the_collation(mariadb, charset):
    column = mariadb.name(hostile_sql.TEXT)
    mariadb.run(f"ALTER TABLE data MODIFY {column} VARCHAR(200) CHARACTER SET {charset}")
    try:
        engines.assert_predicts(mariadb, "two classes")
    finally:
        mariadb.run(f"ALTER TABLE data MODIFY {column} VARCHAR(200) CHARACTER SET utf8mb4")


def test_mariadb_reads_true_and_false_as_numbers_and_as_text(mariadb):
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"flag": draw.random(200) < 0.5, "age": draw.normal(size=200)})
    model = SirusRegressor(n_rules=4, n_trees=100, random_state=0).fit(X, 3.0 * X["flag"] + X["age"])
    rows = pd.DataFrame({"flag": [True, False], "age": [0.5, 0.5]})
    for kind, values in (("BOOLEAN", "(TRUE, 0.5), (FALSE, 0.5)"), ("VARCHAR(9)", "('True', 0.5), ('false', 0.5)")):
        mariadb.run("DROP TABLE IF EXISTS flags")
        mariadb.run(f"CREATE TABLE flags (flag {kind}, age DOUBLE)")
        mariadb.run(f"INSERT INTO flags VALUES {values}")
        found = [row[-1] for row in mariadb.run(model.export("sql", table="flags", dialect="mariadb"))]
        assert sorted(found) == sorted(model.predict(rows).tolist()) and found[0] > found[1]


def test_mariadb_adds_doubles(mariadb):
    engines.assert_ties_as_doubles(mariadb, "mariadb")


def test_mariadb_adds_long_lists(mariadb):
    engines.assert_adds_long_lists(mariadb, 499, 4000 if FULL else 1100)


def test_mariadb_fails_where_a_column_is_missing(mariadb):
    engines.assert_missing_column_fails(mariadb)


def test_mariadb_refuses_sql_without_a_dialect(mariadb):
    """A name in double quotes is a text there: the query must not run."""
    with pytest.raises(Exception, match="You have an error in your SQL syntax"):
        mariadb.run(f"SELECT {hostile_sql.long_model(3).export('sql')} FROM data")


@pytest.mark.parametrize("kind", few(list(hand_made.HAND_MADE)))
def test_mariadb_takes_scores_of_any_size(mariadb, kind):
    mariadb.run("CREATE DATABASE IF NOT EXISTS by_hand")
    mariadb.run("USE by_hand")
    try:
        hand_made.assert_sql(hand_made.HAND_MADE[kind], mariadb, dialect="mariadb")
    finally:
        mariadb.run("USE pysirus")

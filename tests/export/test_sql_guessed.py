"""Columns that an engine reads as another type than the model: the query predicts the same, or fails in words."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import engines
from pysirus import SirusClassifier, SirusRegressor

pytestmark = pytest.mark.filterwarnings("ignore:.*unseen category")


def table(levels, seed=0, n=300, missing=0.1):
    """Rows with a column of text and one of numbers, and a target that needs both."""
    draw = np.random.default_rng(seed)
    X = pd.DataFrame({"Records": draw.choice(levels, n), "age": draw.integers(18, 80, n).astype(float)})
    y = 3.0 * (X["Records"] == levels[0]) + 0.02 * X["age"] + draw.normal(scale=0.2, size=n)
    X["Records"] = X["Records"].astype(object).where(draw.random(n) >= missing, None)
    return X, y.to_numpy()


def query(model, source, dialect):
    return model.export("sql", table=source, dialect=dialect)


@pytest.fixture
def duckdb():
    return pytest.importorskip("duckdb").connect()


def in_duckdb(duckdb, model, rows, path, **options):
    """What the query predicts for a CSV file as DuckDB reads it, and the type of the column."""
    rows.to_csv(path, index=False)
    given = "".join(f", {name} = {value}" for name, value in options.items())
    duckdb.execute(f"CREATE OR REPLACE VIEW credit AS SELECT * FROM read_csv('{path}'{given})")
    kind = duckdb.execute("SELECT column_type FROM (DESCRIBE credit) WHERE column_name = 'Records'").fetchone()[0]
    return duckdb.execute(query(model, "credit", "duckdb")).fetchdf()["prediction"].to_numpy(), kind


@pytest.mark.parametrize("levels", [["yes", "no"], ["No", "Yes"], ["t", "f"], ["TRUE", "FALSE"], ["yes", "no", "?"]])
def test_duckdb_predicts_from_yes_and_no_that_it_reads_as_boolean(duckdb, tmp_path, levels):
    X, y = table(levels)
    model = SirusRegressor(n_rules=6, n_trees=200, random_state=0).fit(X, y)
    assert any("Records" in str(rule) for rule in model.rules_)
    rows, _ = table(levels[:2], seed=1)
    found, kind = in_duckdb(duckdb, model, rows, tmp_path / "new.csv")
    assert kind == "BOOLEAN" and (found == model.predict(rows)).all()
    found, kind = in_duckdb(duckdb, model, rows, tmp_path / "new.csv", all_varchar="true")
    assert kind == "VARCHAR" and np.abs(found - model.predict(rows)).max() == 0


def test_duckdb_predicts_classes_from_booleans_and_enums(duckdb, tmp_path):
    X, y = table(["yes", "no", "never"])
    model = SirusClassifier(n_rules=6, n_trees=200, random_state=0).fit(X, np.where(y > y.mean(), "good", "bad"))
    rows, _ = table(["yes", "no"], seed=1)
    found, kind = in_duckdb(duckdb, model, rows, tmp_path / "new.csv")
    assert kind == "BOOLEAN" and (found == model.predict(rows)).all()
    duckdb.execute("CREATE TYPE answer AS ENUM ('yes', 'no', 'never', 'new')")
    duckdb.register("frame", rows)
    duckdb.execute("CREATE TABLE listed AS SELECT CAST(Records AS answer) AS Records, age FROM frame")
    found = duckdb.execute(query(model, "listed", "duckdb")).fetchdf()["prediction"]
    assert (found.to_numpy() == model.predict(rows)).all()


@pytest.mark.parametrize(
    "levels, there, words",
    [
        (
            ["yes", "true", "no"],
            ["yes", "no"],
            r"'Records' is boolean here, and its categories true and yes are both true",
        ),
        (["1.50", "2.50", "x"], ["1.50", "2.50"], r"'Records' was text when the model was trained.*Read it as text"),
    ],
)
def test_duckdb_fails_in_words_where_the_text_cannot_be_known(duckdb, tmp_path, levels, there, words):
    X, y = table(levels)
    words_of = {"categorical_features": ["Records"]}
    model = SirusRegressor(n_rules=6, n_trees=200, random_state=0, **words_of).fit(X, y)
    rows, _ = table(there, seed=1)
    with pytest.raises(Exception, match=words):
        in_duckdb(duckdb, model, rows, tmp_path / "new.csv")
    found, _ = in_duckdb(duckdb, model, rows, tmp_path / "new.csv", all_varchar="true")
    assert (found == model.predict(rows)).all()


def true_or_false(seed):
    X, y = table([True, False], seed)
    return X.astype({"Records": object}), y


@pytest.mark.parametrize("written", [["true", "false"], ["True", "False"], [1, 0], [True, False]])
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_true_and_false_of_training_are_read_as_the_engine_holds_them(engine, written, tmp_path):
    model = SirusRegressor(n_rules=6, n_trees=200, random_state=0).fit(*true_or_false(0))
    rows, _ = true_or_false(1)
    expected = model.predict(rows)
    held = rows.assign(Records=rows["Records"].map({True: written[0], False: written[1]}).astype(object))
    held["Records"] = held["Records"].where(rows["Records"].notna(), None)
    if engine == "sqlite":
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE TABLE data (Records, age REAL)")  # as it comes, like a CSV file that is imported
        values = [(None if r is None else r, a) for r, a in zip(held["Records"], held["age"])]
        connection.executemany("INSERT INTO data VALUES (?, ?)", values)
        found = [row[-1] for row in connection.execute(query(model, "data", "sqlite"))]
    else:
        connection = pytest.importorskip("duckdb").connect()
        held.to_csv(tmp_path / "new.csv", index=False)
        connection.execute(f"CREATE VIEW data AS SELECT * FROM read_csv('{tmp_path / 'new.csv'}')")
        found = connection.execute(query(model, "data", "duckdb")).fetchdf()["prediction"].to_numpy()
    assert (np.array(found) == expected).all()


def test_an_engine_that_guesses_no_type_fails_on_a_boolean():
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install pysirus[test]")
    import servers

    X, y = table(["yes", "no"])
    model = SirusRegressor(n_rules=6, n_trees=200, random_state=0).fit(X, y)
    with engines.skipping(servers.postgres) as connection:
        postgres = engines.Postgres(connection)
        postgres.run('CREATE TABLE credit ("Records" boolean, age double precision)')
        postgres.run("INSERT INTO credit VALUES (true, 20), (false, 30)")
        with pytest.raises(Exception, match="collations are not supported by type boolean"):
            postgres.run(query(model, "credit", "postgres"))

"""Replay: a model is fitted again and compared with its file; what was changed is named."""

import base64
import json
import re
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest

import pysirus
from drift_laws import KINDS
from pysirus._data.column import Column, mark_of_column, mark_of_numbers
from pysirus._use.verify import verify


def saved(tmp_path, kind, ending="parquet"):
    """A model file, and a file of its training rows."""
    estimator, X, y = KINDS[kind]
    fitted = estimator.fit(X, y if isinstance(y, pd.DataFrame) else pd.Series(y, name="y"))
    fitted.save(tmp_path / "m.json")
    table = pd.concat([X, y], axis=1) if isinstance(y, pd.DataFrame) else X.assign(y=y)
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False, float_format="%.17g")
    return tmp_path / "m.json", path, table


def test_mark_depends_on_values_and_places_and_adds_up_over_parts():
    values = np.array([1.0, 2.0, np.nan, -0.0])
    whole = mark_of_numbers(values, 0)
    assert (mark_of_numbers(values[:1], 0) + mark_of_numbers(values[1:], 1)) % 2**64 == whole
    assert mark_of_numbers(np.array([1, 2], dtype=np.int8), 0) == mark_of_numbers(values[:2], 0)
    assert mark_of_numbers(values[[1, 0, 2, 3]], 0) != whole
    assert mark_of_numbers(np.array([1.0, 2.0, np.nan, 0.0]), 0) == whole
    labels = Column("c", "categorical", np.array([0, 1, -1]), ("x", "y"))
    renamed = Column("c", "categorical", np.array([1, 0, -1]), ("y", "x"))
    assert mark_of_column(labels, 0) == mark_of_column(renamed, 0)


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_is_reproduced_from_a_file_on_other_threads(run, tmp_path, kind):
    ending = "csv" if kind in ("numbers", "three") else "parquet"
    model, table, _ = saved(tmp_path, kind, ending)
    code, out, err = run("verify", model, table, "--jobs", "2")
    assert (code, out.splitlines()[0]) == (0, "Reproduced, bit for bit."), out + err


def test_one_cell_of_the_data_names_its_column(run, tmp_path):
    model, table, frame = saved(tmp_path, "numbers")
    for column, row, value in (("b", 5, 99), ("c", 3, "x" if frame.c[3] != "x" else "y"), ("y", 9, 0.5)):
        changed = frame.copy()
        changed.loc[row, column] = value
        changed.to_parquet(table, index=False)
        code, out, _ = run("verify", model, table)
        name = "the target" if column == "y" else f"column '{column}'"
        assert code == 3 and "NOT reproduced" in out and f"data: {name} has other values" in out
    frame.iloc[::-1].to_parquet(table, index=False)
    assert "in another order" in run("verify", model, table)[1]
    frame[:150].to_parquet(table, index=False)
    assert "data: 160 rows then, 150 now" in run("verify", model, table)[1]


def test_verification_is_lines_in_a_notebook_and_names_are_escaped():
    mark = {"n_rows": 2, "columns": [["<b>a", 1]], "target": 3, "weights": 4}
    documents = [{"facts": {"fingerprint": {**mark, "columns": [["<b>a", k]]}}} for k in (1, 2)]
    told = "data: column &#x27;&lt;b&gt;a&#x27; has other values, or in another order"
    assert verify(*documents)._repr_html_() == f"<p>NOT reproduced.<br>{told}</p>"


def test_one_weight_of_the_file_is_named(run, tmp_path):
    model, table, _ = saved(tmp_path, "numbers")
    document = json.loads(model.read_text())
    document["rules"][1]["weight"] *= 1.01
    model.write_text(json.dumps(document))
    code, out, _ = run("verify", model, table)
    assert code == 3 and "file: rules[1].weight is " in out and "data:" not in out
    document["estimator"]["parameters"]["random_state"] = 8
    model.write_text(json.dumps(document))
    assert "settings: random_state is 8" in run("verify", model, table)[1]


def test_other_versions_are_told_and_do_not_count(run, tmp_path):
    model, table, _ = saved(tmp_path, "numbers")
    document = json.loads(model.read_text())
    document["facts"]["versions"]["NumPy"] = "1.0"
    model.write_text(json.dumps(document))
    code, out, _ = run("verify", model, table)
    assert code == 0 and "version: NumPy 1.0 then" in out


@pytest.mark.parametrize("kind", ["numbers", "two", "survival"])
def test_edits_are_repeated_and_what_was_done_by_hand_is_named(run, tmp_path, kind):
    model, table, _ = saved(tmp_path, kind)
    fitted = pysirus.load(model)
    X, y = KINDS[kind][1:]
    rows = (X, y) if kind == "survival" else ()
    edited = fitted.without(1, *rows, note="not allowed").adding("b < 12 & a < 1", X, y)
    edited.save(model)
    assert run("verify", model, table)[:2] == (0, "Reproduced, bit for bit.\n")
    document = json.loads(model.read_text())
    document["rules"][0]["weight"] += 1e-9
    model.write_text(json.dumps(document))
    code, out, _ = run("verify", model, table)
    assert code == 3 and "rules[0].weight" in out
    fitted.model_.without(1, *rows).save(model)  # of which nobody knows how it was learned
    code, _, err = run("verify", model, table)
    assert code in (1, 2) and "with which settings" in err


def deployed(tmp_path, kind, engine, **options):
    """A model file, a database with its training rows as ``loans``, and a file of the query that predicts them."""
    model, _, frame = saved(tmp_path, kind)
    database = tmp_path / f"warehouse.{engine}"
    if engine == "duckdb":
        with duckdb.connect(str(database)) as connection:
            connection.register("frame", frame)
            connection.execute("CREATE TABLE loans AS SELECT * FROM frame")
    else:
        with sqlite3.connect(database) as connection:
            frame.to_sql("loans", connection, index=False)
    query = tmp_path / "q.sql"
    query.write_text(pysirus.load(model).export("sql", table="loans", dialect=engine, **options))
    return ("verify", model, "--sql", query, "--on", database), query


def has_exp():
    try:
        return bool(sqlite3.connect(":memory:").execute("SELECT EXP(1)").fetchone())
    except sqlite3.OperationalError:
        return False


@pytest.mark.parametrize("kind", list(KINDS))
def test_deployed_query_of_every_kind_is_run_and_agrees(run, tmp_path, kind):
    command, _ = deployed(tmp_path, kind, "duckdb")
    code, out, err = run(*command)
    assert code == 0 and "in all 160 rows" in out, out + err
    named = pysirus.load(command[1]).model_
    for name in [f"probability_{label}" for label in named.classes or ()]:
        assert f"'{name}'" in out


@pytest.mark.parametrize("kind", ["numbers", "two", "three", "equal", "survival"])
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_every_changed_digit_of_a_query_is_named(run, tmp_path, kind, engine):
    """Also one that these rows do not show, and one that changes no class."""
    options = {"math_functions": has_exp()} if engine == "sqlite" and kind in ("two", "three") else {}
    command, path = deployed(tmp_path, kind, engine, **options)
    assert run(*command)[0] == 0
    query = path.read_text()
    start = query.index("SELECT")
    places = [own.start() + len(own[0]) // 2 for own in re.finditer(r"\d+\.\d{3,}(?=e)", query) if own.start() > start]
    assert len(places) >= 6
    for place in places[:: max(1, len(places) // 4)]:
        digit = "1" if query[place] != "1" else "2"
        path.write_text(query[:place] + digit + query[place + 1 :])
        line = query.count("\n", 0, place) + 1
        code, out, _ = run(*command)
        assert code == 3 and f"Line {line} of the query has " in out, out


def test_digit_that_changes_scores_and_no_class_names_the_rows_and_the_column(run, tmp_path):
    command, path = deployed(tmp_path, "two", "duckdb")
    query = path.read_text()
    found = next(re.finditer(r"THEN -?\d\.\d(\d)", query))
    path.write_text(query[: found.start(1)] + str((int(found[1]) + 1) % 10) + query[found.end(1) :])
    code, out, _ = run(*command)
    assert code == 3 and "The first is row " in out and "They are the rows where rule 1" in out
    told = json.loads(run(*command, "--json")[1])["query"]
    assert told["n_wrong"] and told["compared"] == ["score", "probability_no", "probability_yes", "prediction"]


def test_rewritten_query_is_compared_by_its_rows_alone(run, tmp_path):
    command, path = deployed(tmp_path, "three", "duckdb")
    path.write_text(f"SELECT * EXCLUDE (score_yes, probability_no) FROM ({path.read_text()}) AS whole;")
    code, out, _ = run(*command)
    assert code == 0 and "does not have them: 'score_yes', 'probability_no'" in out
    path.write_text(f"SELECT * REPLACE (probability_yes + 1e-9 AS probability_yes) FROM ({path.read_text()[:-1]})")
    code, out, _ = run(*command)
    assert code == 3 and "in 160 of 160 rows" in out and "row 1, 'probability_yes': " in out
    path.write_text(
        "SELECT * REPLACE (NULL AS probability_yes) FROM loans, (SELECT 1 AS probability_yes, 'no' AS prediction)"
    )
    code, out, _ = run(*command)
    assert code == 3 and "nan there" in out
    path.write_text("SELECT FROM")
    code, _, err = run(*command)
    assert code == 1 and "q.sql' does not run on" in err and "syntax error" in err
    path.write_text(pysirus.load(command[1]).export("sql", table="loans", dialect="duckdb") + "WHERE 1 = 0")
    code, _, err = run(*command)
    assert code == 1 and "finds no rows" in err


def test_signature_fits_until_a_number_changes(run, tmp_path):
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

    model, _, _ = saved(tmp_path, "numbers")
    for name in ("own", "other"):
        key = ed25519.Ed25519PrivateKey.generate()
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (tmp_path / f"{name}.pem").write_bytes(key.private_bytes(*form))
        public = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / f"{name}.pub").write_bytes(key.public_key().public_bytes(*public))
    signing = ("sign", model, "--by", "A. Smith", "--key", tmp_path / "own.pem", "--note", "validated")
    assert run(*signing)[0] == 0
    code, out, _ = run("verify", model, "--key", tmp_path / "own.pub")
    assert code == 0 and out.startswith("signed by A. Smith on ") and "(validated)" in out
    assert run("verify", model, "--key", tmp_path / "other.pub")[0] == 3
    model.write_text(json.dumps(json.loads(model.read_text()), indent=4))  # another layout is the same document
    assert run("verify", model)[0] == 0
    kept = model.read_text()
    for name, value in (("by", "Mallory"), ("date", "2020-01-01T00:00:00Z"), ("note", "approved")):
        document = json.loads(kept)
        document["facts"]["signatures"][0][name] = value
        model.write_text(json.dumps(document))
        code, out, _ = run("verify", model, "--key", tmp_path / "own.pub")
        assert code == 3 and "NOT VALID" in out and "NOT SIGNED" in out
    model.write_text(kept)
    document = json.loads(model.read_text())
    document["intercept"] += 1e-9
    model.write_text(json.dumps(document))
    code, out, _ = run("verify", model)
    assert code == 3 and out.startswith("NOT VALID: signed by A. Smith")
    assert run(*signing[:3], " ", *signing[4:])[0] == 2
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    (tmp_path / "rsa.pub").write_bytes(rsa_key.public_bytes(*public))
    for key, words in (("rsa.pub", "key of another kind"), ("own.pem", "no public key")):
        code, _, err = run("verify", model, "--key", tmp_path / key)
        assert code == 2 and words in err
    (tmp_path / "own.pem").write_text("no key")
    code, _, err = run(*signing)
    assert code == 2 and "is no private key" in err


def test_signature_of_an_earlier_version_is_told_and_to_be_made_again(run, tmp_path):
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives.asymmetric import ed25519

    model, _, _ = saved(tmp_path, "numbers")
    document, key = json.loads(model.read_text()), ed25519.Ed25519PrivateKey.generate()
    made = key.sign(json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())
    public, signature = (base64.b64encode(own).decode() for own in (key.public_key().public_bytes_raw(), made))
    own = {"by": "A. Smith", "date": "2026-01-01T00:00:00Z", "public_key": public, "signature": signature}
    document["facts"]["signatures"] = [own]
    model.write_text(json.dumps(document))
    code, out, _ = run("verify", model)
    assert code == 3 and "an earlier version made this signature" in out and "Sign it again" in out
    document["intercept"] += 1e-9
    model.write_text(json.dumps(document))
    code, out, _ = run("verify", model)
    assert code == 3 and "earlier version" not in out and "was changed after it was signed" in out

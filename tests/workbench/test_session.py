"""The workbench without its page: every step, and that the code it writes makes the same model."""

import io
import json
import runpy
import shlex
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from pysirus import DataError, load
from pysirus._parameters import ParameterError
from pysirus.cli import main
from pysirus.workbench import views
from pysirus.workbench.plan import JobError, Stopped, Worker
from pysirus.workbench.plan import main as run_job
from pysirus.workbench.session import Session

AIMS = [
    ("number", "size", {}),
    ("classes", "status", {"positive": "bad"}),
    ("counts", "claims", {"exposure": "age"}),
    ("amounts", "amount", {"weights": "age"}),
    ("survival", "time", {"event": "event", "event_value": "1"}),
]


def run_python(session, people, folder):
    """The model file that the recorded script writes, in a folder that has the table alone."""
    folder.mkdir()
    shutil.copy(people, folder / "people.csv")
    (folder / "steps.py").write_text(session.script()["python"], encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        runpy.run_path("steps.py")
    return (folder / "people.json").read_bytes()


@pytest.mark.parametrize(("kind", "target", "more"), AIMS)
def test_recorded_python_writes_the_same_model_file(session, people, tmp_path, kind, target, more):
    session.aim(kind, target, **more)
    session.constrain({"income": -1} if kind == "classes" else {}, ["job"] if kind == "number" else [])
    session.tune()
    session.length(4)
    session.remove(views.listing(session)["list"][0]["text"], 'it\'s "not" allowed', "A. Smith")
    session.add("income < 1000 & age < 50" if kind == "number" else "income < 1000 & size < 0")
    session.save(tmp_path / "own.json")
    assert run_python(session, people, tmp_path / "again") == (tmp_path / "own.json").read_bytes()


def test_recorded_python_signs_as_the_page_did(tuned, people, tmp_path, monkeypatch):
    pytest.importorskip("cryptography")
    key = views.new_key()
    tuned.length(3)
    views.signed(tuned, "A. Smith", key, "it's fine")
    folder = tmp_path / "again"
    folder.mkdir()
    shutil.copy(people, folder / "people.csv")
    (folder / "key.pem").write_bytes(key)
    (folder / "steps.py").write_text(tuned.script()["python"], encoding="utf-8")
    monkeypatch.chdir(folder)
    runpy.run_path("steps.py")
    assert (folder / "people.json").read_bytes() == views.file_of(tuned, "model")[1]
    (folder / "people.json").unlink()
    for line in tuned.script()["shell"].splitlines():
        with pytest.raises(SystemExit) as left:
            main(shlex.split(line)[1:])
        assert left.value.code == 0, line
    assert (folder / "people.json").read_bytes() == views.file_of(tuned, "model")[1]


def test_recorded_python_of_an_untouched_list_writes_its_estimator(tuned, people, tmp_path):
    tuned.save(tmp_path / "own.json")
    assert run_python(tuned, people, tmp_path / "again") == (tmp_path / "own.json").read_bytes()
    assert type(load(tmp_path / "own.json")).__name__ == "SirusClassifierCV"


def test_recorded_commands_write_the_same_model_file(tuned, people, tmp_path, monkeypatch):
    tuned.length(5)
    tuned.remove(views.listing(tuned)["list"][1]["text"], by="A")
    tuned.costs({"bad": 5, "good": 1})
    shutil.copy(people, tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    for line in tuned.script()["shell"].splitlines():
        with pytest.raises(SystemExit) as left:
            main(shlex.split(line)[1:])
        assert left.value.code == 0, line
    tuned.save(tmp_path / "own.json")
    assert (tmp_path / "people.json").read_bytes() == (tmp_path / "own.json").read_bytes()


def test_table_says_what_was_understood(session):
    told = {own["name"]: own for own in session.understood()["columns"]}
    assert told["income"]["kind"] == "number" and sum(told["income"]["picture"]["bars"]) == 240
    assert told["job"]["kind"] == "categories" and told["job"]["picture"]["of"] == 3
    assert json.dumps(told)  # plain data
    as_labels = {own["name"]: own for own in session.column("event", "categories")["columns"]}
    assert as_labels["event"]["kind"] == "categories" and as_labels["event"]["forced"]
    left = {own["name"]: own["used"] for own in session.column("age", "leave out")["columns"]}
    assert not left["age"] and left["income"]


def test_table_that_is_too_large_is_refused_with_a_way_out(session, tmp_path, monkeypatch):
    monkeypatch.setattr("pysirus.workbench.session.MOST_BYTES", 1000)
    with pytest.raises(DataError, match="Take a sample"):
        session.open(session.path)


def test_targets_have_the_kinds_that_their_values_allow(session):
    kinds = {own["name"]: own["kinds"] for own in session.targets()}
    assert kinds["status"] == ["classes"] and kinds["size"] == ["number"]
    assert kinds["claims"][:2] == ["number", "counts"] and "amounts" in kinds["amount"]
    assert kinds["event"][0] == "classes" and "survival" in kinds["time"]
    with pytest.raises(DataError, match="cannot be taken so"):
        session.aim("counts", "size")
    with pytest.raises(ParameterError, match="two roles"):
        session.aim("counts", "claims", exposure="claims")
    with pytest.raises(ParameterError, match="event goes with survival"):
        session.aim("survival", "time")


def test_edits_are_undone_and_replayed_on_another_length(tuned):
    whole = str(tuned.model)
    tuned.length(6)
    texts = [own["text"] for own in views.listing(tuned)["list"]]
    tuned.remove(texts[-1], "why", "me")
    assert texts[-1] not in [own["text"] for own in views.listing(tuned)["list"]]
    told = views.listing(tuned)
    assert told["edits"][-1]["note"] == "why" and told["errors"][-1]["name"].endswith("on the rows given")
    tuned.length(2)  # the removed rule is not in it
    assert [own.method for own in tuned.edits] == ["with_rules"]
    tuned.undo()
    assert str(tuned.model) == whole and not tuned.edits
    with pytest.raises(ValueError, match="no rule"):
        tuned.remove("income < 3")
    assert not tuned.edits


def test_directions_and_exclusions_ask_for_another_tuning(tuned):
    assert not tuned.is_stale
    assert tuned.constrain({"income": 1}, ["age"])["stale"]
    tuned.tune()
    assert not tuned.is_stale and "age" not in tuned.model.columns
    assert tuned.model.constraints is not None
    tuned.constrain({"income": 0})
    assert tuned.is_stale and not tuned.directions


def test_rules_in_words_are_checked_while_they_are_typed(tuned):
    assert tuned.check_rule("income < 1000")["rows"] == tuned.check_rule("income < 1000 ")["rows"] > 0
    assert "no column is called 'salary'" in tuned.check_rule("salary < 3")["problem"]


def test_row_is_explained_changed_and_grouped(tuned):
    rows = views.some_rows(tuned, "none")["rows"]
    assert rows and all("none" in row for row in rows)
    told = views.explained(tuned, rows[0][0])
    steps = told["steps"]
    total = steps["base"] + steps["rest"] + sum(own["contribution"] for own in steps["reasons"])
    assert total == pytest.approx(steps["score"]) and all("=" in own["input"] for own in told["reasons"]["reasons"])
    assert (told["reasons"]["probability"] > told["reasons"]["cutoff"]) == (told["prediction"]["text"] == "good")
    other = "good" if told["prediction"]["text"] == "bad" else "bad"
    found = views.changed(tuned, rows[0][0], other)
    assert found["found"] and found["then"]["decision"] == other and "--to" in found["code"]["command"]
    groups = views.groups(tuned, "job")["groups"]
    assert [own["group"] for own in groups] == ["clerk", "cook", "none", "all rows"] and groups[-1]["rows"] == 240
    assert json.dumps(views.listing(tuned)) and json.dumps(views.front(tuned))


def test_two_lists_stand_side_by_side(tuned):
    tuned.keep("first")
    tuned.length(3)
    told = views.compared(tuned, "first")
    assert (
        len(told["kept"]) + len(told["shifted"]) >= 1
        and told["code"]["command"].splitlines()[-1] == "pysirus diff first.json people.json"
    )


def test_signature_fits_the_exported_file_until_the_next_edit(tuned, tmp_path):
    pytest.importorskip("cryptography")
    told = views.signed(tuned, "A. Smith", views.new_key(), "validated")
    assert told["signatures"][0].startswith("signed by A. Smith")
    assert not list(tmp_path.glob("key*"))  # the key is not kept
    name, content = views.archive(tuned)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert name == "people.zip" and {"people.json", "people.sql", "people.xlsx"} <= set(archive.namelist())
        assert "A. Smith" in archive.read("people.json").decode()
        assert "pysirus sign" in archive.read("people.steps.sh").decode()
    tuned.length(3)
    assert tuned.signed is None and b"signatures" not in views.file_of(tuned, "model")[1]
    with pytest.raises(ParameterError, match="no private key"):
        views.signed(tuned, "A", b"nonsense")


def test_worker_tells_of_progress_and_stops(people, tmp_path):
    session = Session(tmp_path, {"n_trees": 60, "n_repeats": 1, "max_rules": 8})
    session.open(people, "people.csv")
    session.aim("number", "size")
    heard = []
    session.tune(heard.append)
    assert {own["doing"] for own in heard if "doing" in own} == {"trees", "folds"}
    slow = Session(tmp_path, {"n_trees": 10_000_000})
    slow.open(people)
    slow.aim("number", "size")
    threading.Timer(1.0, slow.stop).start()
    began = time.monotonic()
    with pytest.raises(Stopped):
        slow.tune()
    assert time.monotonic() - began < 20 and slow.learned is None


def test_job_says_what_is_wrong_and_leaves_no_file(people, tmp_path, monkeypatch, capsys):
    job = {"estimator": "SirusRegressorCV", "parameters": {}, "table": str(people), "y": "nothing", "given": {}}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({**job, "to": str(tmp_path / "model.json")})))
    assert run_job() == 0
    assert "'nothing'" in json.loads(capsys.readouterr().out)["error"] and not list(tmp_path.iterdir())


def test_worker_stops_a_job_that_has_hardly_begun(monkeypatch):
    worker, made = Worker(), []

    def popen(*given, **named):
        made.append(subprocess.Popen(*given, **named))
        worker.stop()  # before the worker knows of the process
        return made[-1]

    monkeypatch.setattr("pysirus.workbench.plan.subprocess", SimpleNamespace(Popen=popen, PIPE=subprocess.PIPE))
    slow = "import sys, time; sys.stdin.read(); time.sleep(60)"
    monkeypatch.setattr("pysirus.workbench.plan.COMMAND", (sys.executable, "-c", slow))
    began = time.monotonic()
    with pytest.raises(Stopped):
        worker.run({}, print)
    assert time.monotonic() - began < 20 and made[0].returncode


@pytest.mark.parametrize(("n", "code", "said"), [(1 << 20, 0, None), (1 << 20, 1, "the reason")])
def test_worker_takes_whatever_a_job_says_beside_its_progress(monkeypatch, n, code, said):
    talks = f"""
import sys
sys.stdin.read()
sys.stderr.write("x" * {n} + "\\nthe reason\\n")
print('{{"doing": "trees", "done": 1, "of": 2}}')
sys.exit({code})
"""
    monkeypatch.setattr("pysirus.workbench.plan.COMMAND", (sys.executable, "-c", talks))
    heard = []
    with nullcontext() if said is None else pytest.raises(JobError, match=said):
        Worker().run({}, heard.append)
    assert heard == [{"doing": "trees", "done": 1, "of": 2}]


def test_job_prints_nothing_but_its_progress(people, tmp_path, monkeypatch, capsys):
    job = {"estimator": "SirusRegressorCV", "parameters": {}, "table": str(people), "y": "size", "given": {}}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({**job, "to": str(tmp_path / "model.json")})))
    monkeypatch.setattr("pysirus.workbench.plan.learn", lambda job, tell: (print("hello"), tell({"done": 1})))
    assert run_job() == 0
    assert capsys.readouterr() == ('{"done": 1}\n', "hello\n")

"""Inputs that fuzzing found worth keeping pass the doors again, bugs can be planted, faults end well."""

import base64
import json
import shutil
import sys

import pytest
from trust import equal, house, page
from trust.faults.__main__ import try_works
from trust.fuzz import build, corpus, planted
from trust.fuzz.doors import NAMES, rules, tables
from trust.record import ROOT

from sampled import FULL


def inputs(target):
    return [base64.b64decode(line) for line in (corpus.CORPUS / f"{target}.txt").read_text().split()]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("door", [rules, tables], ids=["rules", "tables"])
def test_kept_inputs_pass(door):
    name = door.__name__.rsplit(".", 1)[-1]
    assert len(inputs(name)) >= 10
    for data in inputs(name):
        door.one(data)


def test_a_planted_bug_is_seen(monkeypatch):
    monkeypatch.setattr(rules.parse, "NUMBER", rules.parse.NUMBER)
    rules.plant()
    with pytest.raises(ValueError, match="could not convert"):
        rules.one(b"x < 1e")


@pytest.mark.parametrize("bug", planted.BUGS, ids=lambda bug: bug.kind)
def test_the_line_of_each_planted_bug_is_there(bug):
    assert (ROOT / "cpp" / bug.file).read_text(encoding="utf-8").count(bug.right) == 1
    assert bug.target in build.TARGETS


def test_corpora_are_small():
    names = {*NAMES, *(f"core-{name}" for name in build.TARGETS)}
    found = {path.stem: path.stat().st_size for path in corpus.CORPUS.glob("*.txt")}
    assert set(found) <= names and max(found.values()) < 200_000


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="the shim is for Linux and needs cc")
def test_faults_end_in_clear_errors_and_leave_nothing():
    found = try_works([]) if FULL else try_works(["fit", "save"], most=2, n_jobs=1)
    assert not [line for one in found for line in one["wrong"]]
    points = {(one["work"], one["kind"]): one["points"] for one in found}
    assert points["fit", "allocation"] > 100 and points["fit", "thread"] == 2 and points["save", "rename"] == 1
    outcomes = {(one["work"], one["kind"]): one["outcomes"] for one in found}
    assert set(outcomes["fit", "allocation"]) == {"MemoryError"} and set(outcomes["save", "write"]) == {"OSError"}


def test_a_fault_that_is_half_written_would_be_seen(tmp_path):
    from trust.faults.points import State

    class Idle:
        live = 0

    (tmp_path / "model.json").write_text("old")
    before = State(tmp_path, Idle())
    whole = set(before.files.values())
    assert State(tmp_path, Idle()).leaked(before, whole) == []
    (tmp_path / "model.json").write_text("ol")
    (tmp_path / ".pysirus-1.part").write_text("")
    Idle.live = 3
    with (tmp_path / "open").open("w"):
        leaked = State(tmp_path, Idle()).leaked(before, whole)
    assert {"file .pysirus-1.part", "half of model.json", "3 blocks of memory"} <= set(leaked)
    assert any(line.startswith("descriptor of") for line in leaked)


def test_the_page_has_the_figures_of_the_last_runs():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text) == text, "python -m trust.page"
    assert {name for _, name, _ in page.PART.findall(text)} == set(page.FIGURES)


REFUSED, NEW = {"table": "c/d", "family": "cox"}, {"table": "e/f", "family": "tweedie"}


def test_models_of_two_versions_are_compared_part_by_part(tmp_path, capsys):
    line = {"table": "a/b", "family": "cox", "rules": "1", "numbers": "2", "predictions": "3", "file": "4"}
    files = []
    for name, lines in {
        "before": [line, {**REFUSED, "refused": "ValueError: no"}, {**NEW, "refused": "loss: got 'tweedie'"}],
        "same": [{**line, "file": "5"}, {**REFUSED, "refused": "ValueError: never"}, {**line, **NEW}],
        "other": [{**line, "predictions": "6"}],
    }.items():
        files.append(tmp_path / name)
        files[-1].write_text("".join(f"{json.dumps(one)}\n" for one in lines), encoding="utf-8")
    before, same, other = files
    assert equal.compare(before, same) == 0
    assert "3 tables: 1 equal, 1 refused by both, 1 by the earlier version alone" in capsys.readouterr().out
    assert equal.compare(before, other) == 1
    assert "a/b: predictions (no cause is known)" in capsys.readouterr().out
    assert equal.compare(same, before) == 1  # what the later version refuses is not new


def test_draws_of_tables_hold_every_family_and_do_not_change():
    draws = [equal.draw(f"package/{i}") for i in range(200)]
    assert {own.family for own in draws} == set(equal.FAMILIES)
    assert any(own.tuned and own.in_parts for own in draws) and equal.draw("package/7") == draws[7]


def test_the_house_counts_tests_on_kinds_outside_the_families():
    found = house.tests_on_kinds()
    assert found and not any(name.startswith(("_kind/", "_families/")) for name in found)
    assert house.walk_of(lambda: house.room_of(house.SOURCE / "_data" / "x.py")) == []

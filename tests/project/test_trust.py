"""Inputs that fuzzing found worth keeping pass the doors again, and bugs can still be planted to try the fuzzers."""

import base64

import pytest
from trust.fuzz import build, corpus, planted
from trust.fuzz.doors import NAMES, rules, tables
from trust.record import ROOT


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

"""Slopes in the model file: written, read back, checked against the other keys, refused where they are damaged."""

import json
from dataclasses import replace

import pytest

import pysirus
from hand_made import HAND_MADE, HAND_SLOPED, SLOPED, slope_of
from pysirus._model.agreement import check_document
from pysirus._model.file import ModelFileError, model_from_json, model_to_json
from pysirus._model.kinds import Damage
from pysirus._terms.fitted import Effect
from pysirus._terms.listing import RuleSet

ROWS = SLOPED.replace([float("inf"), float("-inf")], 1e300)


@pytest.mark.parametrize("name", HAND_SLOPED)
def test_slopes_come_back(name, tmp_path):
    model = HAND_SLOPED[name]
    model.save(tmp_path / "m.json")
    again = pysirus.load(tmp_path / "m.json")
    assert again.text(full=True) == model.text(full=True)
    assert (again.raw_predict(ROWS) == model.raw_predict(ROWS)).all()
    assert [vars(term) for term in again.rules] == [vars(term) for term in model.rules]
    assert model_to_json(again) == model_to_json(model)


def test_a_list_with_slopes_is_of_version_3_and_others_are_not():
    assert model_to_json(HAND_SLOPED["number"])["version"] == 3
    assert model_to_json(HAND_MADE["two"])["version"] == 2


def test_a_fixed_slope_comes_back(tmp_path):
    fixed = slope_of("x", 0.3, weight=1.0, stage=1, given=True, frequency=1.0, effect=Effect(0.3))
    assert fixed.slope == 0.3 and fixed.text == "+0.3 per unit of x" and fixed.frequency_text == "given, fixed"
    model = replace(HAND_SLOPED["number"], selected=RuleSet([fixed, *list(HAND_SLOPED["number"].rules)[1:]]))
    model.save(tmp_path / "m.json")
    assert pysirus.load(tmp_path / "m.json").rules[0].effect == Effect(0.3)
    assert "given, fixed  x: +0.3 per unit, from -2 to 3" in model.text()


DAMAGE = {
    "feature": ("q", "is of column 0, which is 'x', and says 'q'"),
    "index": (7, "the number of a column, 0 to 1"),
    "lower": (1.0, "its mean between its lower and its upper end"),
    "upper": (-9.0, "its mean between its lower and its upper end"),
    "mean": (None, "must be a finite number"),
    "slope": (0.65, "must be weight times inside, rounded by step and decimals"),
    "weight": (0.8, "must be weight times inside"),
    "inside": ([1.0, -1.0], "must be one number"),
    "step": (0, "above 0"),
    "decimals": (1.5, "whole number"),
    "multiplies": (True, "told as a factor, and slopes add here"),
    "kind": ("curve", "must be 'slope', found 'curve'"),
    "frequency": (2, "at most 1"),
    "n_inside": (None, "must have both n_inside and n_outside"),
    "effect": ({"adds": 0.3}, "must be weight times inside"),
    "surprise": (1, "which this version does not know"),
}


@pytest.mark.parametrize("key", DAMAGE)
def test_damage_is_named(key):
    document = json.loads(json.dumps(model_to_json(HAND_SLOPED["number"])))
    value, said = DAMAGE[key]
    document["rules"][0][key] = value
    with pytest.raises(Damage, match=said):
        check_document(document)


@pytest.mark.parametrize("key", sorted(set(model_to_json(HAND_SLOPED["number"])["rules"][0]) - {"kind", "stage"}))
def test_a_key_that_lacks_is_named(key):
    document = json.loads(json.dumps(model_to_json(HAND_SLOPED["number"])))
    del document["rules"][0][key]
    with pytest.raises(Damage, match=f"lacks the entry '{key}'"):
        check_document(document)


def of_rule(document, **changes):
    document["rules"][0] |= changes


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("number", lambda d: d["features"][0].update(kind="categorical", levels=["a"]), "which is not numeric"),
        ("number", lambda d: d.update(version=2), "files of version 3 and later"),
        ("number", lambda d: d["rules"].append(d["rules"][0]), "is in the list twice"),
        ("number", lambda d: of_rule(d, inside=1e308, upper=1e9), "so large that their sum overflows|weight times"),
        ("two", lambda d: of_rule(d, inside=[0.3, 0.3]), "must be numbers that sum to 0"),
        ("four", lambda d: of_rule(d, inside=[0.3, -0.3]), "a list of 4 numbers"),
    ],
)
def test_what_keys_say_together_is_held_against_each_other(name, change, said):
    document = json.loads(json.dumps(model_to_json(HAND_SLOPED[name])))
    change(document)
    with pytest.raises(Damage, match=said):
        check_document(document)
        model_from_json(document)


def test_a_reader_of_an_older_version_refuses_it_by_its_version(tmp_path, monkeypatch):
    HAND_SLOPED["number"].save(tmp_path / "m.json")
    monkeypatch.setattr("pysirus._model.file.VERSIONS", (1, 2))
    with pytest.raises(ModelFileError, match="of version 3; this pysirus reads versions 1 and 2"):
        pysirus.load(tmp_path / "m.json")

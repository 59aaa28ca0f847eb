"""Facts: typed fields for the code, a mapping in the order of the file for its readers."""

import json
import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from pysirus._model.facts import Facts

SAID = {"seed": 3, "n_rows": 10, "weather": None, "n_trees": 50, "order": "mine"}


def test_facts_are_the_mapping_that_was_said():
    facts = Facts.of(SAID)
    assert json.dumps(dict(facts)) == json.dumps(SAID)  # the order too
    assert facts == SAID and len(facts) == 5 and {**facts} == SAID
    assert (facts.seed, facts.n_rows, facts.n_trees, facts.p0) == (3, 10, 50, None)
    assert facts["weather"] is None and facts["order"] == "mine" and "p0" not in facts and facts.get("p0") is None
    with pytest.raises(KeyError):
        facts["p0"]
    assert repr(facts) == repr(SAID)


def test_what_is_replaced_stays_in_its_place_and_what_is_new_comes_last():
    facts = replace(Facts.of(SAID), seed=4, p0=0.1, n_trees=None)
    assert list(facts.items()) == [("seed", 4), ("n_rows", 10), ("weather", None), ("order", "mine"), ("p0", 0.1)]
    again = replace(replace(facts, seed=None), seed=4)
    assert list(again) == ["n_rows", "weather", "order", "p0", "seed"] and again == facts


def test_facts_of_nothing_are_empty():
    assert not Facts() and dict(Facts()) == {}


def test_facts_are_frozen_and_travel():
    facts = Facts.of(SAID)
    with pytest.raises(FrozenInstanceError):
        facts.seed = 1
    assert list(pickle.loads(pickle.dumps(facts)).items()) == list(SAID.items())

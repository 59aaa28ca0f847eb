"""One spec of the model file: what is shipped and documented is what it says, and a field is all that a key takes."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Annotated, Literal

import jsonschema
import pytest
from trust.model_file import PAGE, SCHEMA, page_text, schema, schema_text

from pysirus._model.keys import RECORDS, key, keys_of, kind_of, option, record, tagged
from pysirus._model.kinds import Damage, one_of
from pysirus._model.spec import DOCUMENT


def test_the_shipped_schema_is_that_of_the_spec():
    assert SCHEMA.read_text(encoding="utf-8") == schema_text()


def test_the_reference_in_the_docs_is_that_of_the_spec():
    page = PAGE.read_text(encoding="utf-8")
    assert page == page_text(page)


def test_every_key_is_described():
    reached = [DOCUMENT.name, *(name for name in schema()["$defs"] if name in RECORDS)]
    assert len(reached) >= 24
    for name in reached:
        for own in keys_of(RECORDS[name]).values():
            assert own.description.endswith(".") and own.kind.short, (name, own.name)


def test_what_a_record_builds_has_the_attributes_that_its_keys_name():
    for name in schema()["$defs"]:
        built = getattr(RECORDS.get(name), "BUILDS", None)
        if built is not None and not hasattr(RECORDS[name], "parts"):
            known = {own.name for own in fields(built)}
            assert {own.attribute for own in keys_of(RECORDS[name]).values() if own.reads} <= known, name


@dataclass(kw_only=True)
class RampKeys:
    """A ramp."""

    kind: Literal["ramp"] = key("What it is.")
    feature: str = key("The feature.")
    slope: float = key("How steep it is.")
    returned: Annotated[int, one_of(1, 2, 3)] | None = option("In how many folds it returned.")
    lower: float | None = key("Where it begins.")
    tags: tuple[str, ...] = key("Words.", absent=(), most=2, unique=True)


@dataclass(kw_only=True)
class StepKeys:
    """A step."""

    at: float = key("Where it is.", above=0, high=5)
    note: str = key("For people.", absent="none", always=True)


TERMS = tagged("kind", StepKeys, ramp=RampKeys)
SLOPE = {"kind": "ramp", "feature": "a", "slope": 2, "lower": None}


def test_a_record_comes_back_and_says_what_there_is_to_say():
    slope = record(RampKeys).read(SLOPE, "", None)
    assert slope == RampKeys(kind="ramp", feature="a", slope=2.0, lower=None) and isinstance(slope.slope, float)
    assert json.dumps(record(RampKeys).write(slope)) == '{"kind": "ramp", "feature": "a", "slope": 2.0, "lower": null}'
    full = {**SLOPE, "slope": 0.5, "returned": 2, "lower": 1.0, "tags": ["x"]}
    assert record(RampKeys).write(record(RampKeys).read(full, "", None)) == full
    assert record(StepKeys).write(record(StepKeys).read({"at": 1}, "", None)) == {"at": 1.0, "note": "none"}


def test_a_list_holds_terms_of_several_kinds():
    terms = kind_of(tuple[Annotated[object, TERMS], ...])
    document = [{"at": 1.0, "note": "none"}, {**SLOPE, "slope": 2.0}]
    terms.check(document, "terms")
    assert terms.write(terms.read(document, "terms", None)) == document


FAULTS = [
    (
        {"at": 0},
        "t.at must be a finite number above 0 and at most 5|t.at must be a finite number of at most 5 and above 0",
    ),
    ({"at": 6}, "t.at must be"),
    ({"at": True}, "t.at must be a finite number"),
    ({"at": None}, "t.at must be"),
    ({}, "t lacks the entry 'at'"),
    ({"at": 1, "x": 2}, "t has the entry 'x', which this version does not know"),
    ({"at": 1, "note": None}, "t.note must be text, found None"),
    ({**SLOPE, "kind": "curve"}, "t.kind must be 'ramp', found 'curve'"),
    ({**SLOPE, "kind": ["ramp"]}, "t.kind must be"),
    ({**SLOPE, "returned": None}, "t.returned must be one of 1, 2, 3, found None"),
    ({**SLOPE, "returned": True}, "t.returned must be one of 1, 2, 3, found True"),
    ({**SLOPE, "tags": ["a", "a"]}, "t.tags holds 'a' twice"),
    ({**SLOPE, "tags": ["a", "b", "c"]}, "t.tags must be a list of at most 2 items, found 3"),
    ({**SLOPE, "tags": "a"}, "t.tags must be a list, found 'a'"),
    ([], r"t must be an object, found \[\]"),
]


@pytest.mark.parametrize(("value", "message"), FAULTS)
def test_a_fault_is_refused_by_the_check_and_by_the_schema(value, message):
    with pytest.raises(Damage, match=message):
        TERMS.check(value, "t")
    definitions: dict[str, object] = {}
    own = {**TERMS.schema(definitions), "$defs": definitions}
    assert not jsonschema.Draft202012Validator(own).is_valid(value)
    assert jsonschema.Draft202012Validator(own).is_valid(SLOPE)

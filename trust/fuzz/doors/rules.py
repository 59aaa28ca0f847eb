"""Texts of rules: each is a rule, which prints as a text that reads the same or two ways, or a ``RuleTextError``."""

from __future__ import annotations

import re

from pysirus import RuleTextError
from pysirus._terms import parse
from pysirus._terms.from_text import CutColumn, read_rule

COLUMNS = (
    CutColumn("x", "numeric", has_missing=True),
    CutColumn("x < 3", "numeric"),
    CutColumn("a & b", "numeric", thresholds=((0.1, ("value", 0.1)),)),
    CutColumn("town", "categorical", ("Rome", "New York", "a, b", "", "}", "1"), has_missing=True),
    CutColumn("on", "categorical", (False, True)),
    CutColumn("code", "categorical", (1.0, 2.5, -3.0)),
    CutColumn("a", "categorical", (False, True)),
    CutColumn("a & a", "categorical", (False, True)),
    CutColumn("x ", "numeric"),
    CutColumn("place", "categorical", ("a", "b", "a, b", "b, a", "a ")),
)


def one(data: bytes) -> None:
    """Read a text; read what it prints."""
    text = data.decode("utf-8", "replace")
    try:
        rule = read_rule(text, COLUMNS)
    except RuleTextError as error:
        if not 0 <= error.position <= len(text) or not str(error):
            raise AssertionError(f"{error.position} is no place in the text") from error
        return
    for said in (rule.exact_text, rule.condition_text):
        try:
            again = read_rule(said, COLUMNS)
        except RuleTextError as error:
            if said == rule.exact_text or "in two ways" not in str(error):
                raise AssertionError(f"{said!r} is not read back") from error
            continue
        # a text to look at rounds numbers of more than 15 digits: it prints the same again
        if again.condition_text != rule.condition_text or (said == rule.exact_text and again != rule):
            raise AssertionError(f"{said!r} reads as {again}")


def plant() -> None:
    """A number may end with its letter: ``float`` then raises what is no complaint about a rule."""
    parse.NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d*)?")

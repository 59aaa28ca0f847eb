"""Slopes as people write them: ``slope of age``, ``+0.3 per unit of age``; what is refused, what can be two things."""

import pytest

from pysirus._terms.fitted import Effect
from pysirus._terms.from_text import CutColumn, read_rule
from pysirus._terms.lexicon import RuleTextError
from pysirus._terms.slope import FittedSlope, Slope

COLUMNS = [
    CutColumn("age", "numeric"),
    CutColumn("pay, from 1 to 2", "numeric"),
    CutColumn("job", "categorical", ("cook", "miner")),
    CutColumn("since", "numeric", is_date=True),
    CutColumn("slope of age", "numeric"),
    CutColumn("  wide  ", "numeric"),
    CutColumn("of height", "numeric"),
    CutColumn("unit of age", "numeric"),
]


@pytest.mark.parametrize(
    ("text", "column", "effect"),
    [
        ("slope of age", "age", None),
        ("  slope of age ", "age", None),
        ("slope of age, from 18 to 80.5", "age", None),
        ("slope of 'age'", "age", None),
        ("slope of slope of age", "slope of age", None),
        ("slope of pay, from 1 to 2", "pay, from 1 to 2", None),
        ("slope of pay, from 1 to 2, from 3 to 4", "pay, from 1 to 2", None),
        ("slope of '  wide  '", "  wide  ", None),
        ("+0.3 per unit of age", "age", Effect(0.3)),
        ("-2e-3 per unit of age", "age", Effect(-0.002)),
        ("×1.03 per unit of age", "age", Effect(1.03, is_factor=True)),
        ("x1.03 per unit of age", "age", Effect(1.03, is_factor=True)),
        ("*1.03 per unit of age", "age", Effect(1.03, is_factor=True)),
        ("+0.7 for a class per unit of age", "age", Effect(0.7, label="a class")),
        ("+0.7 per unit of 'unit of age'", "unit of age", Effect(0.7)),
    ],
)
def test_a_slope_is_read(text, column, effect):
    found = read_rule(text, COLUMNS)
    assert isinstance(found, FittedSlope) and found == Slope(column) and found.effect == effect
    assert COLUMNS[found.index].name == column
    assert read_rule(found.text, COLUMNS) == found and read_rule(found.exact_text, COLUMNS) == found
    assert read_rule(found.text, COLUMNS).effect == effect


def test_what_prints_is_read_back():
    own = FittedSlope("age", 0, 18.0, 80.5, 41.0)
    assert own.condition_text == "slope of age, from 18 to 80.5"
    assert read_rule(own.condition_text, COLUMNS) == own


def test_a_rule_about_a_column_that_is_called_a_slope_stays_a_rule():
    assert read_rule("slope of age < 3", COLUMNS).features == ("slope of age",)
    assert not isinstance(read_rule("slope of age < 3", COLUMNS), FittedSlope)
    truths = [CutColumn("age", "numeric"), CutColumn("slope of age", "categorical", (False, True))]
    assert isinstance(read_rule("slope of age", truths), FittedSlope)  # prints so; the other is 'slope of age' = True
    assert not isinstance(read_rule("slope of age = True", truths), FittedSlope)


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("slope of job", 9, "a slope needs a numeric column, and 'job' has categories"),
        ("slope of since", 9, "and 'since' holds dates"),
        ("slope of agge", 9, r"no column is called 'agge' \(did you mean 'age'\?\)"),
        ("slope of ", 9, "the text ends, expected a column"),
        ("slope of age & age < 3", 13, "expected .*; found '&'"),
        ("slope of age, from 3", 20, "the text ends, expected 'to '"),
        ("slope of age, from 3 to x", 24, "expected a number; found 'x'"),
        ("+0.3 per unit of agge", 17, "no column is called 'agge'"),
        ("+0.3 per unit of age if age < 3", 21, "expected"),
        ("per unit of age", 0, "no column is called 'per unit of age'"),
    ],
)
def test_what_cannot_be_read_is_pointed_at(text, position, problem):
    with pytest.raises(RuleTextError, match=problem) as caught:
        read_rule(text, COLUMNS)
    assert caught.value.position == position


def test_two_ways_to_read_a_text_are_named():
    columns = [CutColumn("a", "numeric"), CutColumn("a ", "numeric"), CutColumn("A", "numeric")]
    assert read_rule("slope of a", columns) == Slope("a")
    assert read_rule("slope of 'a '", columns) == Slope("a ")

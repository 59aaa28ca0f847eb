"""Messages that speak of roles and parameters: what they say in Python, and what on the command line."""

import pickle
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from pysirus._data.frame import TableError
from pysirus._runtime.console import warn_user
from pysirus._text.message import (
    OR_NONE,
    TARGET,
    WEIGHTS,
    InCommand,
    Learner,
    Parameter,
    Role,
    SafeTextError,
    naming,
    parts_of,
    say,
    setting,
)
from pysirus.cli._streams import as_typed


@pytest.mark.parametrize(
    "message, python, typed",
    [
        (f"{TARGET} must be numbers.", "y must be numbers.", "The target must be numbers."),
        (f"If {setting('loss', 'gamma')} {TARGET}", "If loss='gamma' y", "If --loss gamma the target"),
        (f"{Parameter('n_rules')} must be 1{OR_NONE}.", "n_rules must be 1 or None.", "--rules must be 1."),
        (f"{Parameter('alpha')} is not typed.", "alpha is not typed.", "alpha is not typed."),
        (f"Use {Learner('SirusClassifier')}.", "Use SirusClassifier.", "Use --task classification."),
        (f"Leave it out{InCommand('drop', 'a,b')}.", "Leave it out.", "Leave it out (--drop a,b)."),
        (f"Or try {setting('prepare', True)}.", "Or try prepare=True.", "Or try leaving --strict out."),
        (f"{setting('slopes', True)} needs stages.", "slopes=True needs stages.", "--slopes yes needs stages."),
        ("No term.", "No term.", "No term."),
    ],
)  # fmt: skip
def test_each_door_has_its_own_words(message, python, typed):
    error = SafeTextError(message)
    assert say(message) == str(error) == python
    assert as_typed(error) == typed


@pytest.mark.parametrize(
    "message, said",
    [
        (f"{WEIGHTS} must be numbers.", "Column 'w', the sample weights, must be numbers."),
        (f"Wrong. {WEIGHTS} is odd.", "Wrong. Column 'w', the sample weights, is odd."),
        (f"Look at {WEIGHTS}.", "Look at column 'w', the sample weights."),
        (f"- {WEIGHTS}: odd", "- Column 'w', the sample weights: odd"),
        (f"{TARGET} is odd.", None),
    ],
)
def test_columns_are_named_once_they_are_known(message, said):
    with pytest.raises(SafeTextError) as caught, naming(weights="w", target=None):
        raise SafeTextError(message)
    assert str(caught.value) == (said or "y is odd.") and as_typed(caught.value) == (said or "The target is odd.")


def test_the_first_name_of_a_column_is_kept():
    with pytest.raises(SafeTextError, match=r"^Column 'inner', the target, is odd$"), naming(target="outer"):
        raise SafeTextError(f"{Role('target', 'inner')} is odd")


def test_errors_carry_their_terms_to_another_process():
    error = pickle.loads(pickle.dumps(SafeTextError(f"{TARGET} is like {Parameter('n_rules')}.")))
    assert [part for part in parts_of(error.message) if not isinstance(part, str)] == [TARGET, Parameter("n_rules")]
    assert str(error) == "y is like n_rules." and as_typed(error) == "The target is like --rules."


def test_several_complaints_keep_their_terms():
    error = TableError(
        "2 things:", [f"{TARGET} is odd.", f"{Parameter('n_rules')} is odd."], f"Try {setting('n_rules', 3)}."
    )
    assert error.complaints == ("y is odd.", "n_rules is odd.")
    with pytest.raises(TableError) as caught, naming(target="t"):
        raise error
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.complaints == ("Column 't', the target, is odd.", "n_rules is odd.")
    assert as_typed(again) == "2 things:\n- Column 't', the target, is odd.\n- --rules is odd.\nTry --rules 3."


@pytest.mark.parametrize("category", [UserWarning, ConvergenceWarning])
def test_warnings_carry_their_terms(category):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user(f"Raise {Parameter('n_trees')}.", category)
    assert caught[0].category is category and caught[0].filename == __file__
    assert str(caught[0].message) == "Raise n_trees." and as_typed(caught[0].message) == "Raise --trees."


@pytest.mark.parametrize("name", ["a\x0eb", "\x0eRole\x1ftarget\x0f", "\x0f", "\x0eNobody\x1fa\x1fb\x0f", "a\x1fb\n"])
def test_names_that_hold_control_characters_are_shown_as_names(name):
    shown = "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in name)
    assert str(SafeTextError(f"Column '{name}' is odd.")) == f"Column '{shown}' is odd."
    shown = shown.replace("\n", "\\n")
    assert str(SafeTextError(f"{Role('target', name)} is odd.")) == f"Column '{shown}', the target, is odd."

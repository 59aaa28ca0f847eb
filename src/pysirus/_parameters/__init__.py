"""Parameters in, checked parameters out: a message names the parameter, what it got and what it takes.

``parameter`` and ``Option`` declare one: its field in the table, and its option on the command line. ``documented``
writes those of an estimator into its docstring.
"""

from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from fractions import Fraction
from inspect import cleandoc
from math import ceil
from textwrap import fill, indent
from typing import Any, TypeVar

from pysirus._text.message import OR_NONE, Parameter, SafeTextError

Check = Callable[[str, Any], None]


@dataclass(frozen=True)
class Option:
    """A parameter on the command line."""

    name: str
    metavar: str
    help: str
    panel: str | None = "Forest"
    short: str | None = None
    type: Any = None  # what is typed; None: the type of the parameter
    default: Any = ...  # the default of the parameter, but for a few; None leaves it to the estimator
    parse: Callable[[Any], Any] | None = None  # what was typed -> a value; a ValueError says what is wrong
    refusal: str = ""  # why estimators of the other kind of response lack it, and what to do


def parameter(default: Any, kind: str, help: str, check: Check | None = None, option: Option | None = None) -> Any:
    """A parameter, given by name: its default, its type as numpydoc says it, what it is for, what it takes."""
    metadata = {"kind": kind, "help": help, "check": check, "option": option}
    return field(default=default, metadata=metadata, kw_only=True)


def to_seed(random_state: Any) -> int:
    """One 64-bit seed: an integer is its own seed, a generator gives one, None takes one from the system."""
    import numpy as np  # here, so that the help of a command does not wait for it

    if random_state is None:
        return int.from_bytes(os.urandom(8), "little")
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, (bool, np.bool_)):
        if not 0 <= int(random_state) < 2**64:
            raise ParameterError(f"{Parameter('random_state')} must be from 0 to 2**64 - 1, got {random_state!r}.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**64, dtype=np.uint64))
    raise ParameterError(
        f"{Parameter('random_state')} must be None, an integer or a NumPy generator, got {random_state!r}."
    )


class ParameterError(SafeTextError, ValueError, TypeError):
    """A parameter has a value that cannot be used."""


def _is_real(value: Any) -> bool:
    """A number; true and false are none, nor are NumPy's."""
    return isinstance(value, numbers.Real) and type(value).__name__ not in ("bool", "bool_")


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and _is_real(value)


MOST = 2**31 - 1  # of anything that is counted


def check_integer(name: str, value: Any, low: int, high: int | None = None, none: bool = False, also: str = "") -> None:
    """A whole number from low to high; ``also`` says what else is taken."""
    if none and value is None:
        return
    whole = _is_whole(value)
    if high is None and whole and value > MOST:
        high = MOST
    if not whole or value < low or (high is not None and value > high):
        limits = f"from {low} to {high}" if high is not None else f"of at least {low}"
        or_none = OR_NONE if none else ""
        raise ParameterError(f"{Parameter(name)}{also} must be a whole number {limits}{or_none}, got {value!r}.")


def check_scalar(name: str, value: Any) -> None:
    """A number, a text, true or false, or None."""
    plain = value is None or isinstance(value, (str, numbers.Real)) or type(value).__name__ == "bool_"
    if not plain or value != value:
        raise ParameterError(f"{name} must be a number, a text, true or false, or None, got {value!r}.")


def label_number(wanted: Any, labels: Sequence[Any]) -> int | None:
    """The place of a label among labels, None where it is none of them; 1 and true are not the same."""
    kinds = ((str,), (bool,), (int, float))
    wanted = wanted.item() if hasattr(wanted, "item") else wanted
    for k, label in enumerate(labels):
        own = next((kind for kind in kinds if isinstance(label, kind)), None)
        is_same = own is not None and isinstance(wanted, own) and label == wanted
        if is_same and isinstance(label, bool) == isinstance(wanted, bool):
            return k
    return None


def check_bytes(name: str, value: Any, low: int) -> None:
    """A number of bytes."""
    if not _is_whole(value) or value < low:
        wanted = f"a whole number of bytes, {low >> 20} MiB ({low}) or more"
        raise ParameterError(f"{Parameter(name)} must be {wanted}, got {value!r}.")


def check_real(
    name: str, value: Any, low: float, high: float, none: bool = False, of: str = "", also: str = ""
) -> None:
    """A number strictly between low and high; ``of`` says which of several, ``also`` what else goes."""
    if none and value is None:
        return
    real = _is_real(value)
    if not real or not low < value < high or abs(value) > sys.float_info.max:
        raise ParameterError(
            f"{Parameter(name)}{of} must be a number between {low:g} and {high:g} (both excluded){also}"
            f"{OR_NONE if none else ''}, got {value!r}."
        )


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """One of several values."""
    if value not in choices:
        raise ParameterError(f"{Parameter(name)} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


FEATURES = ("sqrt", "log2")


def check_features(name: str, value: Any) -> None:
    """How many columns are tried at a node: a number, a share, the root or the logarithm of their number."""
    if value is None or (isinstance(value, str) and value in FEATURES):
        return
    if _is_real(value) and (value >= 1 if _is_whole(value) else 0 < value <= 1):
        return
    raise ParameterError(
        f"{Parameter(name)} must be a whole number of at least 1, a share of the columns up to 1.0, 'sqrt' or 'log2'"
        f"{OR_NONE}, got {value!r}."
    )


def check_jobs(value: Any) -> None:
    """A number of threads; below zero it is counted from the number of cores."""
    whole = _is_whole(value)
    if value is not None and (not whole or value == 0 or abs(value) > MOST):
        wanted = f"a whole number other than 0 (-1: all cores){OR_NONE}"
        raise ParameterError(f"{Parameter('n_jobs')} must be {wanted}, got {value!r}.")


def check_support(name: str, value: Any) -> None:
    """The fewest rows inside and outside of a rule: a number of rows, a share of them, or None."""
    if value is None or (_is_whole(value) and 1 <= value <= MOST):
        return
    if _is_whole(value) or not _is_real(value) or not 0 < value <= 0.5:
        raise ParameterError(
            f"{Parameter(name)} must be a whole number of rows of at least 1 or a share of them above 0 and up to 0.5"
            f"{OR_NONE}, got {value!r}."
        )


def to_rows(value: float, n_rows: int) -> int:
    """A number of rows, from such a number or a share of them, rounded up."""
    if isinstance(value, numbers.Integral):
        return int(value)
    return ceil(Fraction(repr(float(value))) * n_rows)  # as it is written: 0.1 of 240 rows is 24


LEAST_SHARE = 1e-8  # a draw of 32 bits cannot tell a smaller share from none


def to_share(name: str, value: Any, n_rows: int) -> float:
    """The share of the rows that a tree draws, from a share, a number of rows, or None for all of them."""
    if value is None:
        return 1.0
    number = min(value, n_rows) if _is_real(value) else 0.0
    if isinstance(value, numbers.Integral) and number >= 1:
        return max(LEAST_SHARE, number / n_rows)
    if not isinstance(value, numbers.Integral) and _is_real(value) and LEAST_SHARE <= value <= 1:
        return float(value)
    raise ParameterError(
        f"{Parameter(name)} must be a share of the rows from {LEAST_SHARE:g} to 1.0 or a whole number of rows of at "
        f"least 1{OR_NONE}, got {value!r}."
    )


def yes_or_auto(text: str) -> bool | str:
    """Typed yes, no or auto."""
    if text not in ("yes", "no", "auto"):
        raise ValueError(f"must be yes, no or auto, got {text!r}")
    return text if text == "auto" else text == "yes"


def count_or_auto(text: str) -> int | str:
    """A typed number, or auto."""
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise ValueError(f"a whole number or auto, got '{text}'.") from None


def share_or_count(value: float) -> float:
    """A typed share of the rows, or a number of them: whole numbers above 1 are rows."""
    return int(value) if value > 1 and value == int(value) else value


def support(value: float) -> float:
    """A typed number of rows, or a share of them: whole numbers are rows."""
    return int(value) if value == int(value) else value


def yes_or_no(name: str, value: Any) -> None:
    """True or False."""
    check_choice(name, value, (True, False))


def share_or_one(name: str, value: Any) -> None:
    """Numbers above 0, up to 1."""
    if isinstance(value, bool) or value != 1:
        check_real(name, value, 0, 1, also=", or 1")


def folds_or_forward(text: str) -> int | str:
    """A number of folds, or the word for those that look forward in time."""
    if text == "forward":
        return text
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"a number of folds, or forward, got '{text}'.") from None


def groups_or_name(text: str) -> Any:
    """Typed groups of columns such as age,income;debt, or none or pairwise."""
    named = {"none": "no_interactions", "pairwise": "pairwise"}
    return named.get(text) or [[name.strip() for name in group.split(",")] for group in text.split(";")]


def columns_tried(text: str) -> int | float | str:
    """A number of columns, a share of them, or how it follows from their number."""
    if text in FEATURES:
        return text
    try:
        return int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise ValueError(f"a number such as 3, a share such as 0.5, sqrt or log2, got '{text}'.") from None


def share_of_rows(name: str, value: Any) -> None:
    """A share of the rows, a number of them, or None."""
    to_share(name, value, 1)


Class = TypeVar("Class", bound=type)


def document(cls: type) -> str:
    """The section of an estimator's docstring on its parameters."""

    def entry(own: Field[Any]) -> str:
        kind = own.metadata["kind"].split(", default=")[0].removesuffix(", optional")
        default = "optional" if own.default is None else f"default={own.default!r}".replace("'", '"')
        text = fill(own.metadata["help"], 112, break_long_words=False, break_on_hyphens=False)
        return f"{own.name} : {kind}, {default}\n{indent(text, '    ')}"

    return "\n".join(["Parameters", "----------", *map(entry, fields(cls))])


# attributes that estimators share: name -> type, meaning
GROWN = {
    "n_trees_": ("int", "Number of trees grown."),
    "n_stages_": ("int", "Number of stages in the list; 1 if it has no corrections."),
    "device_": ("str", "Where the trees were grown: 'cpu' or 'gpu'."),
    "idle_columns_": (
        "dict",
        "Columns that the forest cannot use, and why: constant, all missing, or identical to another column.",
    ),
    "candidates_": ("RuleSet", "All paths of the forest as rules, before post-treatment."),
}
FITTED = {
    "model_": (
        "RuleModel",
        "The rule list without its training settings. It can be saved, explained and exported by itself.",
    ),
    "feature_importances_": ("ndarray of float", "The importance of each feature. Importances sum to 1, or are all 0."),
    "n_features_in_": ("int", "Number of columns."),
    "feature_names_in_": ("ndarray of str", "Column names, if the table had names."),
}


def _entries(attributes: Mapping[str, tuple[str, str]]) -> str:
    return "\n".join(f"{name} : {kind}\n    {meaning}" for name, (kind, meaning) in attributes.items())


def documented(cls: Class) -> Class:
    """Put the parameters of an estimator into its docstring, and what all of its kind have after ``fit``.

    They go where it says ``{parameters}``, ``{grown}`` (what is known of the forest) and ``{fitted}``.
    """
    # as Python 3.13 keeps it, without the indentation of the class
    text = cleandoc(cls.__doc__ or "").replace("{parameters}", document(cls))
    cls.__doc__ = text.replace("{grown}", _entries(GROWN)).replace("{fitted}", _entries(FITTED))
    return cls

"""One parameter: its field in the table, and its option on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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
    """A parameter: its default, its type as numpydoc says it, what it is for, what it takes."""
    return field(default=default, metadata={"kind": kind, "help": help, "check": check, "option": option})

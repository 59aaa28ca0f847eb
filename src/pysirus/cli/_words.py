"""Errors and warnings of the library in, what they say on the command line out: options, and columns by their names."""

from __future__ import annotations

from pysirus._message import (
    InCommand,
    InPython,
    Learner,
    Parameter,
    Role,
    Row,
    Setting,
    Term,
    message_of,
    role_words,
    say,
)
from pysirus._parameters.table import PARAMETERS

# what a parameter is called here
OPTIONS: dict[str, str] = {
    name: own.metadata["option"].name for name, own in PARAMETERS.items() if own.metadata["option"]
}
OPTIONS |= {"memory": "--memory", "max_rows": "--max-rows", "categorical_features": "--categorical"}
OPTIONS |= {"monotonic_cst": "--increasing/--decreasing", "drop": "--drop", "event": "--event"}
OPTIONS |= {"weights": "--weights", "rules": "--add", "full": "`pysirus show MODEL --full`"}
OPTIONS |= {"pdo": "--pdo", "base_score": "--base-score", "base_odds": "--base-odds"}
SETTINGS = {("prepare", "True"): "leaving --strict out"}
LEARNERS = {"SirusRegressor": "--task regression", "SirusClassifier": "--task classification"}
QUOTES = "'\""


def as_typed(said: object) -> str:
    """What an error or a warning says on the command line."""
    return say(message_of(said), _typed)


def _typed(term: Term) -> str:
    """What a term is called on the command line."""
    if isinstance(term, Role):
        return role_words(term)
    if isinstance(term, Row):
        return term.counted(1)
    if isinstance(term, Parameter):
        return OPTIONS.get(term.name, term.name)
    if isinstance(term, Setting):
        typed = f"{OPTIONS.get(term.name, term.name)} {term.value.strip(QUOTES)}"
        return SETTINGS.get((term.name, term.value), typed)
    if isinstance(term, Learner):
        return LEARNERS.get(term.name, term.name)
    if isinstance(term, InCommand):
        return f" ({OPTIONS[term.name]} {term.value}".rstrip() + ")"
    assert isinstance(term, InPython)
    return ""

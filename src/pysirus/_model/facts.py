"""How a model was fitted and what was done with it since: typed fields, and a mapping of those that are said.

Each field says what a model file may hold there. Entries that this version does not know are kept as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pysirus._families.of_model import BY_LOSS
from pysirus._model.fields import Check, flag, items, mapping, number, one_of, text, whole
from pysirus._model.fields import fields as entries
from pysirus._model.held_out import OUT_OF_FOLD
from pysirus._terms.fitted import FittedTerm

ROUNDING = 1e-6
STABILITY = number(-ROUNDING, 1 + ROUNDING)  # a mean over pairs of folds, updated fold by fold
FREQUENCY = number(0, 1)
COUNT = whole(0)

ERRORS = entries({"name": text}, besides={"before": number(), "after": number()})
EDIT = entries(
    {"removed": items(text), "added": items(text)},
    besides={"note": text, "by": text, "date": text, "error": ERRORS},
)


def _fact(check: Check) -> Any:
    return field(default=None, metadata={"check": check})


@dataclass(frozen=True, eq=False, repr=False)
class Facts(Mapping[str, Any]):
    """How a model was fitted; None where nothing is said. As a mapping it has what is said, in the order of a file."""

    n_rows: int | None = _fact(COUNT)
    seed: int | None = _fact(whole(0, 2**64 - 1))
    draw: int | None = _fact(whole(1, 2**31))  # the version of how trees draw rows
    idle_columns: Mapping[str, str] | None = _fact(mapping(text))  # that no tree could split, and why
    versions: Mapping[str, str] | None = _fact(mapping(text))
    quantile_error: float | None = _fact(number(0))
    n_trees: int | None = _fact(COUNT)
    n_candidates: int | None = _fact(COUNT)
    lasso_penalty: float | None = _fact(number(0))
    label_type: str | None = _fact(text)
    ridge_penalty: float | None = _fact(number(0))
    n_dust: int | None = _fact(whole(1))
    n_stages: int | None = _fact(whole(1, 2**31))
    loss: str | None = _fact(one_of(*BY_LOSS))
    power: float | None = _fact(number(math.nextafter(1, 2), math.nextafter(2, 1)))  # of the loss tweedie
    max_rules: int | None = _fact(whole(1, 2**31))
    out_of_fold: Mapping[str, Any] | None = _fact(OUT_OF_FOLD)
    p0: float | None = _fact(FREQUENCY)
    cv_error: float | None = _fact(number())
    cv_stability: float | None = _fact(STABILITY)
    approximate_weights: bool | None = _fact(flag)
    estimated_on: int | None = _fact(COUNT)
    struck_rules: Sequence[str] | None = _fact(items(text))
    edits: Sequence[Mapping[str, Any]] | None = _fact(items(EDIT))
    rest: Mapping[str, Any] = field(default_factory=dict)  # what this version does not know
    order: tuple[str, ...] = ()  # of what is said; what is new comes last

    def __post_init__(self) -> None:
        said = {*(name for name in CHECKS if getattr(self, name) is not None), *self.rest}
        known = dict.fromkeys([*self.order, *CHECKS, *self.rest])
        object.__setattr__(self, "order", tuple(name for name in known if name in said))

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Facts:
        """The facts of a document, or of a fit."""
        known = {name: value for name, value in said.items() if name in CHECKS}
        rest = {name: value for name, value in said.items() if name not in CHECKS}
        return cls(**known, rest=rest, order=tuple(said))

    def of_list(self, rules: Sequence[FittedTerm], n_dust: int) -> Facts:
        """The facts of a model with another list."""
        n_stages = None if self.n_stages is None else max((rule.stage for rule in rules), default=1)
        return replace(replace(self, n_dust=None), n_dust=n_dust or None, n_stages=n_stages)

    def __getitem__(self, name: str) -> Any:
        if name not in self.order:
            raise KeyError(name)
        return self.rest[name] if name in self.rest else getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        return repr(dict(self))


CHECKS: dict[str, Check] = {own.name: own.metadata["check"] for own in fields(Facts) if own.metadata}
FACTS = entries({}, besides=CHECKS, more=True)

"""What the columns of a training table were for, besides features: as a model remembers it, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pysirus._model.fields import fields, text


@dataclass(frozen=True)
class ColumnRoles:
    """Columns of the training table that were no features.

    Attributes
    ----------
    target : str
        The column that was predicted; of counts with an exposure that of the counts, of survival that of the times.
    weights, exposure, groups : str or None
        The columns of row weights, of the exposure of counts, and of the groups that stayed in one fold.
    """

    target: str
    weights: str | None = None
    exposure: str | None = None
    groups: str | None = None

    @property
    def says_more(self) -> bool:
        """Whether there is more to remember than the target, whose name a model has anyway."""
        return any(name is not None for name in (self.weights, self.exposure, self.groups))


ROLES = fields({"target": text}, besides={"weights": text, "exposure": text, "groups": text})


def roles_to_json(roles: ColumnRoles | None) -> dict[str, Any]:
    """The part of a model file, where there is something to say."""
    if roles is None:
        return {}
    return {"roles": {name: column for name, column in vars(roles).items() if column is not None}}


def roles_from_json(d: Mapping[str, Any] | None) -> ColumnRoles | None:
    """And back, once it is checked."""
    return None if d is None else ColumnRoles(**d)

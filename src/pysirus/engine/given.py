"""What ``fit`` was given: rows, and the columns or arrays that have a role; named columns are taken out of a table.

The target, sample weights, groups and exposure are arrays beside a table in memory, or names of its columns.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import pyarrow as pa

from pysirus._data.column import DataError
from pysirus._data.elsewhere import is_dask, is_path, is_spark
from pysirus._data.frame import as_frame, check_features, own_columns
from pysirus._data.read import check_name
from pysirus._families.read import rate_name, rates_beside
from pysirus._model.facts import ColumnRoles
from pysirus._parameters import ParameterError
from pysirus._text.message import Parameter

MEMORY = 1 << 30  # bytes that may be taken for rows that are not in memory
ROLES = {"y": "target", "sample_weight": "sample weights", "groups": "groups", "exposure": "exposure"}


@dataclass(frozen=True)
class InBatches:
    """Files that are read in batches, however small they are."""

    paths: Any
    quantiles: str = "exact"  # or "sketch"


@dataclass(frozen=True)
class Given:
    """What ``fit`` was given."""

    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None
    exposure: Any = None
    drop: Sequence[str] = ()
    memory: int = MEMORY
    scratch: str | os.PathLike[str] | None = None
    row_id: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)  # of roles, where they are not those of ROLES
    only: Sequence[str] | None = None  # the features, where not all columns without a role are

    @property
    def dropped(self) -> list[str]:
        """The columns to leave out."""
        return [self.drop] if isinstance(self.drop, str) else list(self.drop)

    @property
    def names(self) -> dict[str, str]:
        """The columns of X that have a role, by role."""
        return {role: name for role in ROLES if isinstance(name := getattr(self, role), str)}

    @property
    def pair(self) -> tuple[str, ...]:
        """The columns of times and events, where the target is named by two of them."""
        named = isinstance(self.y, tuple) and len(self.y) == 2 and all(isinstance(name, str) for name in self.y)
        return self.y if named else ()

    @property
    def where(self) -> str:
        """What X is, for messages."""
        if is_dask(self.X) or is_spark(self.X):
            return f"a {'Spark' if is_spark(self.X) else 'Dask'} data frame"
        return "a path" if is_path(self.X) else "a query or a stream"

    def names_only(self) -> dict[str, str]:
        """The columns that have a role, where nothing can lie beside the rows."""
        for role in ROLES:
            found = getattr(self, role)
            if not isinstance(found, (str, type(None))) and not (role == "y" and self.pair):
                raise ParameterError(
                    f"{role} must be the name of a column where X is {self.where}, found "
                    f"{type(found).__module__.split('.')[0]}.{type(found).__name__}."
                )
        if self.y is None:
            raise ParameterError(f"y must be the name of the column to predict where X is {self.where}.")
        return self.names

    def only_roles(self) -> ColumnRoles:
        """The roles of columns, where nothing can lie beside the rows and one column is predicted."""
        self.names_only()
        if self.pair:
            raise ParameterError(f"y must be the name of one column, found {len(self.pair)}: {', '.join(self.pair)}.")
        assert self.roles is not None
        return self.roles

    def split(self) -> tuple[Any, Any, Any, Any]:
        """X, target, sample weights and groups as arrays and series: named columns are taken out of the table."""
        X, *others = self._split()
        return (X if self.only is None else own_columns(X, self.only), *others)

    def _split(self) -> tuple[Any, Any, Any, Any]:
        names, drop = self.names, self.dropped
        if not names and not drop and not self.pair:
            return (self.X, *self._rates(None))
        frame = as_frame(self.X)
        if frame is None:
            what, name = [*names.items(), *(("y", own) for own in self.pair), *(("drop", own) for own in drop)][0]
            raise DataError(
                f"{what} is the name '{name}', but X is an array without names. Give a data frame, or the values."
            )
        for role, name in names.items():
            check_name(frame.columns, name, self.words.get(role, ROLES[role]))
        for name in self.pair:
            check_name(frame.columns, name, "times and events")
        for name in drop:
            check_name(frame.columns, name, f"parameter {Parameter('drop')}")
        taken: dict[str, Any] = {role: frame[name] for role, name in names.items()}  # series that know their names
        if self.pair:
            taken["y"] = frame.select(self.pair).to_native()
        rest = [name for name in frame.columns if name not in {*names.values(), *self.pair, *drop}]
        check_features(rest)
        given = replace(self, X=frame.select(rest).to_native(), **taken)
        return (given.X, *given._rates(self))

    def _rates(self, named: Given | None) -> tuple[Any, Any, Any]:
        """The target, the sample weights and the groups; of counts with an exposure rates, weighted by it."""
        if self.exposure is None:
            return self.y, self.sample_weight, self.groups
        names = {} if named is None else named.names
        columns = [names.get(role, role) for role in ("y", "exposure", "sample_weight")]
        rates, mass = rates_beside(self.y, self.exposure, self.sample_weight, columns)
        name = rate_name(columns[0], columns[1])
        return nw.from_native(pa.table({name: rates}), eager_only=True)[name], mass, self.groups

    @property
    def target_name(self) -> str:
        """What is predicted, where the target is a column by name: of counts with an exposure rates."""
        return str(self.y) if self.exposure is None else rate_name(str(self.y), self.exposure)

    @property
    def roles(self) -> ColumnRoles | None:
        """What columns were for, where a name says so."""
        names = self.names
        if "y" not in names:
            return None
        return ColumnRoles(names["y"], names.get("sample_weight"), names.get("exposure"), names.get("groups"))


def check_distinct(given: Given) -> None:
    """Refuse a column that has two roles."""
    named = {**given.names, **({} if given.row_id is None else {"row_id": given.row_id})}
    seen: dict[str, str] = dict.fromkeys(given.pair, "y")
    for role, name in [*named.items(), *(("drop", name) for name in given.dropped)]:
        if name in seen:
            raise ParameterError(f"'{name}' has two roles, {Parameter(seen[name])} and {Parameter(role)}. Leave one.")
        seen[name] = role

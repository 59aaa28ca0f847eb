"""The truth that options name in, targets and weights out; and how predictions compare with them.

Targets and weights are by default the columns that the model remembers. Files are read batch by batch, and memory never
holds whole columns of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from pysirus._data.read import check_column, list_names
from pysirus._families.read import rates_of
from pysirus._model.model import Model
from pysirus._runtime.console import warn_user
from pysirus._use.groups import GroupMetrics, group_metrics
from pysirus._use.score import Rows, Score, score_known, score_parts
from pysirus.cli._table import (
    Source,
    about,
    features_of,
    is_files,
    needed_columns,
    open_table,
    sources,
    times_of,
    weights_of,
)
from pysirus.engine.backends.parquet import known_columns


class Truth(NamedTuple):
    """Where the truth of a table stands: names of columns as typed, by default those of the model."""

    target: str | None = None
    weights: str | None = None
    time: str | None = None
    event: str | None = None
    exposure: str | None = None
    unweighted: bool = False

    def of(self, rules: Model) -> Columns:
        """The columns for a model."""
        if rules.family.has_hazard:
            if self.target is not None:
                raise typer.BadParameter("is not for survival: give --time and --event.", param_hint="--target")
            target, event = self.time or rules.target_column, self.event or rules.required_survival.event
            return Columns(target, event, None, *self._weights(rules))
        for given, option in ((self.time, "--time"), (self.event, "--event")):
            if given is not None:
                raise typer.BadParameter("is for survival, and this model predicts something else.", param_hint=option)
        exposure = exposure_of(rules, self.exposure) or rules.exposure
        return Columns(self.target or rules.target_column, None, exposure, *self._weights(rules))

    def shown(self, rules: Model, table: pa.Table) -> dict[str, Any]:
        """Targets and weights for a report; nothing where nobody named them and the table lacks some."""
        columns = self.of(rules)
        absent = columns.weights if columns.remembers_weights and columns.weights not in table.column_names else None
        columns = columns if absent is None else replace(columns, weights=None)
        named = any(name is not None for name in (self.target, self.weights, self.exposure))
        if not named and (not columns.are_in(table) or columns.target in rules.columns):
            return {}
        if absent is not None:
            warn_user(f"The table has no column '{absent}', the model's weights: its rows are not weighted by them.")
        y, weights = columns.response(table)
        return {"y": y} if weights is None else {"y": y, "sample_weight": weights}

    def _weights(self, rules: Model) -> tuple[str | None, bool]:
        """The column of weights, and whether the model remembers it."""
        if self.weights is not None and self.unweighted:
            raise typer.BadParameter("give --sample-weight or --unweighted, not both.", param_hint="--sample-weight")
        if self.weights is not None or self.unweighted or rules.roles is None:
            return self.weights, False
        return rules.roles.weights, True


@dataclass(frozen=True)
class Columns:
    """The columns of a table that have the truth."""

    target: str  # of survival the times
    event: str | None
    exposure: str | None
    weights: str | None
    remembers_weights: bool = False  # nobody typed them

    @property
    def names(self) -> list[str]:
        """All of them, the target first."""
        return [name for name in (self.target, self.event, self.exposure, self.weights) if name is not None]

    @property
    def weighted_by(self) -> str | None:
        """By what rows are weighted, in words."""
        return " × ".join(name for name in (self.exposure, self.weights) if name is not None) or None

    def kinds(self, rules: Model) -> tuple[list[str], list[str]]:
        """Those that are text in a text file, and those that are numbers."""
        numbers = [name for name in (self.exposure, self.weights) if name is not None]
        labels = rules.family.classes
        if not labels:
            return [], [self.target, *numbers]
        return [self.target] if any(isinstance(label, str) for label in labels) else [], numbers

    def check(self, table: pa.Table) -> None:
        """Complain of the first that the table does not have."""
        if self.remembers_weights and self.weights is not None and self.weights not in table.column_names:
            raise typer.BadParameter(
                f"the model was learned with the sample weights '{self.weights}', a column that the table does not "
                f"have (it has {list_names(table.column_names)}). Name another one; `score` also takes --unweighted.",
                param_hint="--sample-weight",
            )
        check_column(table, self.target, "target" if self.event is None else "event time")
        for name, role in ((self.event, "event"), (self.exposure, "exposure"), (self.weights, "sample weights")):
            if name is not None:
                check_column(table, name, role)

    def are_in(self, table: pa.Table) -> bool:
        """Whether the table has all of them."""
        return set(self.names) <= set(table.column_names)

    def response(self, table: pa.Table) -> tuple[Any, Any]:
        """Targets and weights of a table that has them: of counts with an exposure rates, and exposures as weights."""
        self.check(table)
        weights = None if self.weights is None else weights_of(table, self.weights)
        if self.event is not None:
            return times_of(table, self.target, self.event), weights
        if self.exposure is None:
            return table[self.target], weights
        return rates_of(table, self.target, self.exposure, self.weights)

    def open(self, rules: Model, name: str, labels: Sequence[str] = (), text: Sequence[str] = ()) -> pa.Table:
        """A table with these columns as the model takes them; others are ``labels`` or ``text``."""
        own, numbers = self.kinds(rules)
        return open_table(name, rules, labels, [*own, *text], known_columns(rules, numbers))

    def sources(self, rules: Model, name: str) -> list[Source]:
        """The same of a table or of several files, to be read batch by batch."""
        text, numbers = self.kinds(rules)
        return sources(rules, name, text, known_columns(rules, numbers))

    def read(self, rules: Model, table: pa.Table, name: str | None = None) -> Rows:
        """Features, targets and weights of a table."""
        y, weights = self.response(table)
        features = features_of(table if rules.named else table.drop_columns(list(dict.fromkeys(self.names))), rules)
        return Rows(features, y, weights, name)


def time_column(table: pa.Table, rules: Model, given: str | None) -> str | None:
    """The column of the times of rows: one that was named, or the model's own where the table has it."""
    own = None if rules.roles is None else rules.roles.time
    name = given or (own if own in table.column_names else None)
    if name is not None:
        check_column(table, name, "time")
    return name


# ---------------------------------------------------------------------------------------------------------------- score


def score_rows(rules: Model, name: str, truth: Columns, periods: str | None = None) -> Score:
    """Compare predictions with the truth; where rows have times, also out of time.

    Of one table the rows without a target are ignored.
    """

    def rows() -> Iterator[Rows]:
        for source in truth.sources(rules, name):
            empty = source.schema.empty_table()
            with about(source.name):
                truth.check(empty)
                times = time_column(empty, rules, periods)
                needed = needed_columns(rules, source, [*truth.names, *([] if times is None else [times])])
            for part, table in source.read(needed):
                with about(part):
                    read = truth.read(rules, table, part)
                yield read if times is None else read._replace(time=table[times])

    return score_parts(rules, rows()) if is_files(name) else score_known(rules, next(rows()))


MOST_APART = 12  # distinct numbers that are groups of their own, where numbers are taken in bands


def _in_bands(values: list[Any]) -> tuple[list[Any], list[str]]:
    """Numbers of many values as the band that each is in, a quarter of the rows; and the bands in order.

    Other values, and numbers of few, stay as they are, and have no order.
    """
    known = [value for value in values if isinstance(value, (int, float)) and value == value]
    distinct = set(known)
    if len(distinct) <= MOST_APART or len(known) < sum(value is not None and value == value for value in values):
        return list(values), []
    edges = np.unique(np.quantile(known, (0.25, 0.5, 0.75)))
    bands = [sorted(v for v in distinct if np.searchsorted(edges, v) == k) for k in range(len(edges) + 1)]
    names = [f"{own[0]:.6g} to {own[-1]:.6g}" if own else "" for own in bands]
    of_value = {value: names[k] for k, own in enumerate(bands) for value in own}
    return [of_value.get(value) for value in values], [name for name in names if name]


def score_groups(rules: Model, table: str, truth: Columns, by: str, *, banded: bool = False) -> GroupMetrics:
    """Metrics of the groups that a column makes of the rows that have a target; numbers may be banded."""
    if is_files(table):
        raise typer.BadParameter("takes one table, and this is a folder or a pattern of files.", param_hint="--by")
    others = [] if by in rules.columns else [by]
    rows = truth.open(rules, table, labels=others, text=others)
    check_column(rows, by, "option --by")
    check_column(rows, truth.target, "target")
    own = truth.read(rules, rows.filter(pc.is_valid(rows[truth.target])))
    groups = rows.filter(pc.is_valid(rows[truth.target]))[by].to_pylist()
    groups, order = _in_bands(groups) if banded else (groups, [])
    return group_metrics(rules, own.X, own.y, own.weights, groups, by, order)


def exposure_of(rules: Model, given: str | None) -> str | None:
    """The exposure that was typed, once it is found that the model predicts rates."""
    if given is not None and rules.exposure is None:
        raise typer.BadParameter(
            f"the model was learned without an exposure: it predicts '{rules.target}' as it is. Leave the option out.",
            param_hint="--exposure",
        )
    return given

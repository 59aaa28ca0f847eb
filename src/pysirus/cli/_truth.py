"""Options and a model in, the truth of a table out: targets and weights, by default of the columns it remembers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import typer

from pysirus._data.read import check_column, list_names
from pysirus._families.read import exposures_of, rates_of
from pysirus._model.model import Model
from pysirus._runtime.console import warn_user
from pysirus._text.format import format_number, one_line
from pysirus._use.groups import GroupMetrics, group_metrics
from pysirus._use.score import Rows
from pysirus.cli._predict import features_of
from pysirus.cli._table import check_named, is_files, open_table, times_of, weights_of
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

    def read(self, rules: Model, table: pa.Table, name: str | None = None) -> Rows:
        """Features, targets and weights of a table."""
        y, weights = self.response(table)
        features = features_of(table if rules.named else table.drop_columns(list(dict.fromkeys(self.names))), rules)
        return Rows(features, y, weights, name)


def periods_in(table: pa.Table, rules: Model, given: str | None) -> Any:
    """The times of rows: a column that was named, or the model's own where the table has it."""
    own = None if rules.roles is None else rules.roles.time
    name = given or (own if own in table.column_names else None)
    return None if name is None else check_named(table, name, "time")


def score_groups(rules: Model, table: str, truth: Columns, by: str) -> GroupMetrics:
    """Metrics of the groups that a column makes of the rows that have a target."""
    if is_files(table):
        raise typer.BadParameter("takes one table, and this is a folder or a pattern of files.", param_hint="--by")
    text, numbers = truth.kinds(rules)
    others = [] if by in rules.columns else [by]
    rows = open_table(table, rules, labels=others, text=[*text, *others], known=known_columns(rules, numbers))
    check_column(rows, by, "option --by")
    check_column(rows, truth.target, "target")
    own = truth.read(rules, rows.filter(pc.is_valid(rows[truth.target])))
    groups = rows.filter(pc.is_valid(rows[truth.target]))[by].to_pylist()
    return group_metrics(rules, own.X, own.y, own.weights, groups, by)


def exposure_of(rules: Model, given: str | None) -> str | None:
    """The exposure that was typed, once it is found that the model predicts rates."""
    if given is not None and rules.exposure is None:
        raise typer.BadParameter(
            f"the model was learned without an exposure: it predicts '{rules.target}' as it is. Leave the option out.",
            param_hint="--exposure",
        )
    return given


@dataclass(frozen=True)
class Expected:
    """The expected count of a row: its rate times its exposure."""

    target: str
    rate: float
    exposure: float
    unit: str

    @property
    def count(self) -> float:
        """The rate times the exposure."""
        return self.rate * self.exposure

    def __str__(self) -> str:
        rate, count = (format_number(value, 4) for value in (self.rate, self.count))
        return one_line(f"expected {self.target}: {rate} × {self.exposure:.15g} {self.unit} = {count}")


def expected_count(rules: Model, row: pa.Table, given: str | None, rate: Any) -> Expected | None:
    """The expected count of one row, where the model predicts rates and the row has an exposure."""
    exposure = exposure_of(rules, given)
    if exposure is not None:
        check_column(row, exposure, "exposure")
    elif rules.exposure is None or rules.exposure not in row.column_names:
        return None
    unit = exposure or str(rules.exposure)
    return Expected(rules.target_column, float(rate), float(exposures_of(row, unit)[0]), unit)

"""What the user says of a table in, rows to learn from out, as the door of ``fit`` takes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import typer

from pysirus._data.column import DataError, reads_as_number
from pysirus._data.frame import rows_that_weigh, take
from pysirus._data.read import STDIN, check_column, list_names
from pysirus._data.table import MAX_LEVELS
from pysirus._families.read import classes_of, read_labels
from pysirus._families.survival import is_event
from pysirus._model.model import Model
from pysirus._runtime.console import no_pass, warn_user
from pysirus._use.score import Rows
from pysirus.cli._options import parse_memory
from pysirus.cli._show import model_of
from pysirus.cli._table import check_named, is_files, names_of, open_table, split_names, times_of, weights_of
from pysirus.datasets import SHIPPED
from pysirus.engine.backends.files import FileRows
from pysirus.engine.backends.sources import find_files, scan_files
from pysirus.engine.backends.streams import Reading, whole_table
from pysirus.engine.given import Given, InBatches
from pysirus.engine.read import LabelQuery
from pysirus.estimators.recipe import fresh_estimator

AUTO = "auto"
TASKS = (AUTO, "regression", "classification")


class Roles(NamedTuple):
    """What the user says of columns: as typed, lists of names separated by commas."""

    categorical: list[str] | None = None
    drop: list[str] | None = None
    weights: str | None = None
    task: str = AUTO
    exposure: str | None = None
    increasing: list[str] | None = None
    decreasing: list[str] | None = None
    strict: bool = False
    time: str | None = None
    event: str | None = None
    groups: str | None = None

    @property
    def says_task(self) -> bool:
        """Whether somebody says what the target is."""
        return self.task != AUTO


class Training(NamedTuple):
    """Rows to learn from, in a table or in files, with columns by name; and what else is known of them."""

    given: Given
    task: str  # regression, classification or survival
    categorical: list[str] | None = None
    monotonic: dict[str, int] | None = None
    event: Any = None  # the value that is an event

    @property
    def in_batches(self) -> bool:
        """Whether the rows are in files that are read in batches."""
        return isinstance(self.given.X, InBatches)

    def fit(self, estimator: Any) -> None:
        """Learn from the rows."""
        if self.event is not None:
            estimator.set_params(event=self.event)
        if self.in_batches and estimator.max_levels < MAX_LEVELS:
            raise typer.BadParameter(
                "files in batches are taken as they are. Leave it out, or give one table without --memory.",
                param_hint="--max-levels",
            )
        estimator._enter(self.given)

    def split(self) -> tuple[Any, Any, Any, Any]:
        """Features, target, sample weights and groups of rows in memory."""
        return self.given.split()

    def rows(self) -> Rows | None:
        """The rows where they are in memory."""
        return None if self.in_batches else Rows(*self.split()[:3])

    def classes(self) -> list[Any]:
        """The class labels of the rows of positive weight."""
        given = self.given
        if not self.in_batches:
            target = given.split()[1]
            return list(classes_of(read_labels(target, len(target))).tolist())
        columns: dict[str, Any] = {"drop": given.drop, "labels": self.categorical or ()}
        how: dict[str, Any] = {"memory": given.memory, "n_threads": 1, "folder": None, "progress": no_pass}
        rows = FileRows(find_files(given.X.paths), given.only_roles(), **columns, **how)
        return list(rows.map_reduce_response(LabelQuery()).answer.classes.tolist())


def open_rows(name: str, target: str | None, roles: Roles, memory: str | None) -> Training:
    """What to learn from: files in batches where they are several or memory is limited, or else one table.

    Of Parquet files in batches only the schemas are read here.
    """
    in_batches = memory is not None or is_files(name)
    if in_batches:
        _check_batches(name)
    limit = parse_memory(memory)
    if roles.time is not None or roles.event is not None:
        return _open_times(name, target, roles, limit if in_batches else None)
    if in_batches:
        files = scan_files(find_files(name), labels=split_names(roles.categorical))
        table = files[0].schema.empty_table()
        columns = list(dict.fromkeys(column for file in files for column in file.schema.names))
        target = _check_roles(table, target, roles)
    else:
        if target is None and not Path(name).exists() and name in SHIPPED:
            target = SHIPPED[name].target
        table = open_table(name, labels=split_names(roles.categorical))
        columns = table.column_names
        target = _check_roles(table, target, roles)
        table = _rows_that_count(table, target, roles)
    response = nw.from_native(table, eager_only=True)[target]
    if not roles.says_task:
        _check_labels(target, response)
    task = _task_of(response, roles)
    special = (target, roles.weights, roles.groups, roles.exposure)
    drop = [own for own in names_of(columns, roles.drop, "--drop") if own not in special]
    X = InBatches(name) if in_batches else table
    return _training(Given(X, *special, drop, limit), task, table, roles)


def _training(given: Given, task: str, table: pa.Table, roles: Roles, event: Any = None) -> Training:
    """Rows to learn from, with what is said of columns of the table."""
    categorical = names_of(table.column_names, roles.categorical, "--categorical") or None
    monotonic = _directions(table, roles)
    if roles.groups is not None:
        check_named(table, roles.groups, "groups")
    return Training(given, task, categorical, monotonic, event)


def _check_batches(name: str) -> None:
    """Reject what is not read in batches."""
    if name == STDIN or name.lower().endswith((".xlsx", ".xls", ".xlsm")):
        found = "standard input" if name == STDIN else f"'{name}'"
        raise typer.BadParameter(
            f"{found} cannot be read in batches. Leave --memory out, or write the table to a Parquet or CSV file.",
            param_hint="--memory",
        )
    if name in SHIPPED and not Path(name).exists():
        raise typer.BadParameter(
            f"'{name}' is a shipped dataset and is always read into memory; --memory is for Parquet and CSV files. "
            "Leave it out.",
            param_hint="--memory",
        )


def _check_roles(table: pa.Table, target: str | None, roles: Roles) -> str:
    """The target, once it and the weights are found in the table."""
    if target is None:
        raise typer.BadParameter(
            f"say which column to predict: {list_names(table.column_names)}.", param_hint="--target"
        )
    check_column(table, target, "target")
    if roles.weights is not None:
        check_column(table, roles.weights, "sample weights")
    if roles.exposure is not None:
        check_column(table, roles.exposure, "exposure")
    if roles.weights == target:
        raise typer.BadParameter(
            f"'{target}' is the target and cannot be the sample weights too.", param_hint="--sample-weight"
        )
    if roles.exposure is not None and roles.exposure in (target, roles.weights):
        other = "target" if roles.exposure == target else "sample weights"
        raise typer.BadParameter(
            f"'{roles.exposure}' cannot be the exposure and the {other} too; rows are weighted by their exposure.",
            param_hint="--exposure",
        )
    return target


def _task_of(response: Any, roles: Roles) -> str:
    if roles.task not in TASKS:
        raise typer.BadParameter(f"one of {', '.join(TASKS)}, got '{roles.task}'.", param_hint="--task")
    if roles.task == "regression" and isinstance(response.dtype, nw.String):
        found = "" if response.is_empty() else f" such as '{response[0]}'"
        raise typer.BadParameter(
            f"regression predicts numbers, and column '{response.name}' holds text{found}. "
            "Write its values as plain numbers, without currency signs and thousands marks.",
            param_hint="--task",
        )
    guess = "regression" if response.dtype.is_numeric() else "classification"
    task = roles.task if roles.says_task else guess
    if task != "regression" and roles.exposure is not None:
        raise typer.BadParameter(
            f"counts have an exposure, and '{response.name}' has classes. Leave the option out.",
            param_hint="--exposure",
        )
    return task


def _check_labels(target: str, response: Any) -> None:
    """Reject a target of text that nobody called classes where it is mostly numbers; whole numbers may be labels."""
    labels = response.unique().to_list() if isinstance(response.dtype, nw.String) else []
    words = sorted(label for label in labels if not reads_as_number(label))
    odd = words or sorted(label for label in labels if not label.isdecimal())
    if len(labels) - len(words) > max(1, len(labels) // 2) and odd:
        raise DataError(
            f"Column '{target}', the target, holds numbers {'and' if words else 'written as'} text (for example "
            f"{odd[0]!r}). Convert it to numbers (a decimal point, no other marks), or say --task classification if "
            "they are class labels."
        )


def _rows_that_count(table: pa.Table, target: str, roles: Roles) -> pa.Table:
    """The rows of a table that weigh something and, unless the table is taken as it is, have a target."""
    weighs = rows_that_weigh(None if roles.weights is None else weights_of(table, roles.weights))
    counts = np.ones(table.num_rows, dtype=bool) if weighs is None or not weighs.any() else weighs
    known = table[target].is_valid().to_numpy()
    n_missing, n_rows = int((counts & ~known).sum()), int(counts.sum())
    if n_missing and roles.strict:
        raise DataError(
            f"Column '{target}', the target, is missing in {n_missing} of {n_rows} rows. Drop rows without a target."
        )
    if n_missing == n_rows and n_rows:
        raise DataError(f"Column '{target}', the target, is missing in every row.")
    if n_missing:
        warn_user(f"{n_missing:,} of {n_rows:,} rows have no target and are left out.")
    rows = counts & known
    return table if rows.all() else take(table, rows)  # at once: there is one copy at a time


def _open_times(name: str, target: str | None, roles: Roles, memory: int | None) -> Training:
    """A training table of times to an event; of files, where they take no more memory than is allowed."""
    time, event = roles.time, roles.event
    if time is None or event is None:
        missing, given = ("--time", "--event") if time is None else ("--event", "--time")
        raise typer.BadParameter(f"goes with {missing}: give both, or --target.", param_hint=given)
    for value, option in ((target, "--target"), (roles.exposure, "--exposure")):
        if value is not None:
            raise typer.BadParameter("--time and --event say what is predicted. Leave it out.", param_hint=option)
    if roles.says_task:
        raise typer.BadParameter(f"'{roles.task}' does not go with --time and --event.", param_hint="--task")
    labels = split_names(roles.categorical)
    table = open_table(name, labels=labels) if memory is None else whole_table(name, Reading(memory, labels=labels))
    event, value = event_of(table, event)
    times_of(table, time, event)
    if roles.weights in (time, event) or time == event:
        raise typer.BadParameter(f"'{time if time == event else roles.weights}' has two roles.", param_hint="--time")
    if roles.weights is not None:
        check_column(table, roles.weights, "sample weights")
        weights_of(table, roles.weights)
    special = (event, time, roles.weights, roles.groups)
    drop = [own for own in names_of(table.column_names, roles.drop, "--drop") if own not in special]
    return _training(Given(table, special[:2], *special[2:], drop=drop), "survival", table, roles, value)


def event_of(table: pa.Table, typed: str) -> tuple[str, Any]:
    """The column of events, and the value that is one where it is typed, as in status=2."""
    if typed in table.column_names or "=" not in typed:
        return typed, None
    name, _, text = (part.strip() for part in typed.rpartition("="))
    check_column(table, name, "event")
    values = table[name].unique().drop_null().to_pylist()
    found = [value for value in values if is_event(value, text)]
    if not found:
        raise typer.BadParameter(
            f"'{text}' is no value of '{name}', which has {list_names([str(value) for value in values])}.",
            param_hint="--event",
        )
    return name, found[0]


def _directions(table: pa.Table, roles: Roles) -> dict[str, int] | None:
    """The columns that have a direction, and it."""
    directions: dict[str, int] = {}
    for option, given, sign in (("--increasing", roles.increasing, 1), ("--decreasing", roles.decreasing, -1)):
        for name in names_of(table.column_names, given, option):
            if directions.setdefault(name, sign) != sign:
                raise typer.BadParameter(f"'{name}' cannot be increasing and decreasing.", param_hint=option)
    return directions or None


# ---------------------------------------------------------------------------------------------------------------- again


def fit_like(loaded: Any, table: str, *, jobs: int | None = None) -> tuple[Any, Training]:
    """The estimator of a model file, fitted to another table with its settings and seed; and that table."""
    rules = model_of(loaded)
    estimator: Any = fresh_estimator(loaded)
    if jobs is not None:
        estimator.set_params(n_jobs=jobs)
    training = _open_again(rules, estimator, table)
    training.fit(estimator)
    return estimator, training


def _open_again(rules: Model, estimator: Any, table: str) -> Training:
    """The training rows, read as the model's own were."""
    roles, family = rules.roles, rules.family
    categorical = [name for name in getattr(estimator, "categorical_features", None) or () if isinstance(name, str)]
    given = Roles(
        categorical=categorical or None,
        weights=None if roles is None else roles.weights,
        exposure=None if roles is None else roles.exposure,
        groups=None if roles is None else roles.groups or roles.time,
        strict=not estimator.prepare,
        task="classification" if family.shape else "regression",
    )
    target: str | None = rules.target_column
    if family.has_hazard:
        event = rules.required_survival.event_value
        told = rules.required_survival.event if event is None else f"{rules.required_survival.event}={event}"
        given, target = given._replace(task=AUTO, time=target, event=told), None
    training = open_rows(table, target, given, None)
    return training._replace(given=replace(training.given, only=rules.columns))


def check_columns(rules: Model, table: str) -> None:
    """Complain about a table without some of the model's columns before the work."""
    known = set(_names(rules, table))
    absent = [name for name in rules.columns if name not in known] if rules.named else []
    if absent:
        raise DataError(f"The table has no column {list_names(absent)}, which the model was learned from.")


def _names(rules: Model, table: str) -> list[str]:
    """The columns of a table, or of all files."""
    if not is_files(table):
        return list(open_table(table, rules).column_names)
    return list(dict.fromkeys(name for file in scan_files(find_files(table)) for name in file.schema.names))

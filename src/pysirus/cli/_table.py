"""What the user calls a table in, a pyarrow table and its target out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import typer

from pysirus._data.column import DataError, reads_as_number
from pysirus._data.elsewhere import FilePath, is_remote
from pysirus._data.frame import rows_that_weigh, take
from pysirus._data.marks import Marks, marks_of
from pysirus._data.read import STDIN, KnownColumns, check_column, did_you_mean, list_names, names_in, read_file
from pysirus._data.table import MAX_LEVELS
from pysirus._families.read import check_weights, classes_of, rate_name, rates_of, read_labels
from pysirus._families.survival import is_event
from pysirus._model.facts import ColumnRoles
from pysirus._model.model import Model
from pysirus._runtime.console import warn_user
from pysirus._text.format import from_quotes
from pysirus._text.message import naming
from pysirus.cli._options import parse_memory
from pysirus.datasets import SHIPPED
from pysirus.engine.backends.parquet import known_columns, text_columns
from pysirus.engine.backends.streams import Reading, whole_table

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
    """A table without its target, the target, and what else the columns are for."""

    features: pa.Table
    target: Any
    task: str  # regression, classification or survival
    weights: Any = None
    categorical: list[str] | None = None
    monotonic: dict[str, int] | None = None
    groups: Any = None  # rows of one group stay in one fold
    roles: ColumnRoles | None = None
    event: Any = None  # the value that is an event
    marks: Marks | None = None  # how numbers are written in the file

    def fit(self, estimator: Any) -> None:
        """Learn from the table, whose columns the model remembers."""
        folds = estimator._told_of_folds(self.groups)
        if self.event is not None:
            estimator.set_params(event=self.event)
        with naming(target=str(getattr(self.target, "name", "") or "")):
            estimator.fit(self.features, self.target, sample_weight=self.weights, **folds)
        if self.roles is not None:
            estimator._remember(self.roles)
        estimator._keep_marks(self.marks or {})

    def cross_validate(self, estimator: Any) -> None:
        """Judge a list of this size by rows that are held out."""
        estimator.cross_validate(self.features, self.target, sample_weight=self.weights, groups=self.groups)

    def classes(self) -> list[Any]:
        """The labels."""
        return list(classes_of(read_labels(self.target, len(self.target))).tolist())


class FileTraining(NamedTuple):
    """Files that are read in batches, and what their columns are for."""

    paths: str
    target: str
    task: str
    weights: str | None
    categorical: list[str] | None
    drop: list[str]
    memory: int
    monotonic: dict[str, int] | None = None
    groups: str | None = None
    exposure: str | None = None

    def fit(self, estimator: Any) -> None:
        """Learn from the files."""
        folds = estimator._told_of_folds(self.groups)
        options: dict[str, Any] = {"sample_weight": self.weights, "drop": self.drop, "memory": self.memory}
        if self.exposure is not None:
            options["exposure"] = self.exposure
        if estimator.max_levels < MAX_LEVELS:
            raise typer.BadParameter(
                "files in batches are taken as they are. Leave it out, or give one table without --memory.",
                param_hint="--max-levels",
            )
        estimator.fit_files(self.paths, self.target, **options, **folds)

    def classes(self) -> list[Any]:
        """The class labels of the rows of positive weight."""
        from pysirus._runtime.console import no_pass
        from pysirus.engine.backends.files import FileRows
        from pysirus.engine.backends.sources import find_files
        from pysirus.engine.read import LabelQuery

        options: dict[str, Any] = {"weights": self.weights, "drop": self.drop, "memory": self.memory, "n_threads": 1}
        options["labels"] = self.categorical or ()
        rows = FileRows(find_files(self.paths), self.target, folder=None, progress=no_pass, **options)
        return list(rows.map_reduce_response(LabelQuery()).answer.classes.tolist())


def missing_shares(estimator: Any) -> dict[str, float]:
    """The share of missing values in each column that has some, as the rows weigh."""
    return {cuts.column.name: float(cuts.shares[-1]) for cuts in estimator._cuts.cuts if cuts.has_missing}


def is_files(name: str) -> bool:
    """Whether the table is several files: a folder or a pattern."""
    return is_remote(name) or Path(name).is_dir() or (any(mark in name for mark in "*?[") and not Path(name).exists())


def paths_of(name: str) -> list[FilePath]:
    """The files that a table is read from: one, several, one that is shipped, or none for standard input."""
    if name == STDIN:
        return []
    if is_files(name):
        from pysirus.engine.backends.sources import find_files

        return find_files(name)
    return [SHIPPED[name].path] if not Path(name).exists() and name in SHIPPED else [Path(name)]


def open_table(
    name: str,
    model: Model | None = None,
    labels: Sequence[str] = (),
    text: Sequence[str] = (),
    known: KnownColumns | None = None,
) -> pa.Table:
    """A file, or a shipped dataset when there is no file of that name.

    For a model its columns are read from a CSV file as they were in training, also where a few rows look otherwise:
    as ``known``, by default its features. Numbers that are ``labels`` keep their leading zeros, and ``text`` is text.
    """
    words = [] if model is None or not model.named else text_columns(model)
    known = known_columns(model) if known is None and model is not None else known
    if is_files(name):
        raise DataError(
            f"'{name}' is a folder or a pattern, and only `pysirus fit`, `tune`, `predict` and `score` take several "
            "files. Give one CSV, Parquet or Excel file."
        )
    path = Path(name)
    if name == STDIN:
        pass
    elif not path.exists() and name in SHIPPED:
        path = SHIPPED[name].path
    elif not path.exists() and path.parent == Path():
        hint = did_you_mean(name, list(SHIPPED)) if not path.suffix else ""
        raise DataError(
            f"There is no file '{name}', and no shipped dataset of that name.{hint} "
            f"Shipped are: {list_names(list(SHIPPED))}."
        )
    return read_file(path, [*words, *text], labels, known)


def open_rows(name: str, target: str | None, roles: Roles, memory: str | None) -> Training | FileTraining:
    """What to learn from: files in batches where they are several or memory is limited, or else one table."""
    if memory is None and not is_files(name):
        return open_training(name, target, roles)
    return open_files(name, target, roles, parse_memory(memory))


def open_files(name: str, target: str | None, roles: Roles, memory: int) -> Training | FileTraining:
    """Files to learn from; of Parquet only the schemas are read, but for survival, which needs all rows in memory."""
    from pysirus.engine.backends.sources import find_files, scan_files

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
    if roles.time is not None or roles.event is not None:
        return _open_times(name, target, roles, memory)
    files = scan_files(find_files(name), labels=split_names(roles.categorical))
    table = files[0].schema.empty_table()
    names = dict.fromkeys(column for file in files for column in file.schema.names)
    anywhere = pa.schema([(column, pa.null()) for column in names]).empty_table()
    target = _check_roles(table, target, roles)
    response = nw.from_native(table, eager_only=True)[target]
    return FileTraining(
        paths=name,
        target=target,
        task=_task_of(response, roles),
        weights=roles.weights,
        categorical=names_of(table, roles.categorical, "--categorical") or None,
        monotonic=_directions(table, roles),
        drop=names_of(anywhere, roles.drop, "--drop"),
        memory=memory,
        groups=roles.groups,
        exposure=roles.exposure,
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


def open_training(name: str, target: str | None, roles: Roles | None = None) -> Training:
    """A training table, split into features, target and weights."""
    roles = Roles() if roles is None else roles
    if roles.time is not None or roles.event is not None:
        return _open_times(name, target, roles)
    if target is None and not Path(name).exists() and name in SHIPPED:
        target = SHIPPED[name].target
    table = open_table(name, labels=split_names(roles.categorical))
    target = _check_roles(table, target, roles)
    weights = None if roles.weights is None else weights_of(table, roles.weights)
    rows = rows_that_weigh(weights)
    if rows is not None and rows.any():
        table, weights = take(table, rows), take(weights, rows)
    if table[target].null_count and not roles.strict:
        table, weights = _with_target(table, target, weights)
    if n_missing := table[target].null_count:
        raise DataError(
            f"Column '{target}', the target, is missing in {n_missing} of {table.num_rows} rows. Drop rows without a "
            "target."
        )
    used = {target, roles.weights, roles.exposure, roles.groups, *names_of(table, roles.drop, "--drop")}
    response = nw.from_native(table, eager_only=True)[target]
    if not roles.says_task:
        _check_labels(target, response)
    task = _task_of(response, roles)
    if roles.exposure is not None:
        rates, weights = rates_of(table, target, roles.exposure, roles.weights)
        name = rate_name(target, roles.exposure)
        response = nw.from_native(pa.table({name: rates}), eager_only=True)[name]
    return Training(
        features=table.select([column for column in table.column_names if column not in used]),
        target=response,
        task=task,
        weights=weights,
        categorical=names_of(table, roles.categorical, "--categorical") or None,
        monotonic=_directions(table, roles),
        groups=_groups_of(table, roles),
        roles=ColumnRoles(target, roles.weights, roles.exposure, roles.groups),
        marks=_marks_of(table, roles),
    )


def _marks_of(table: pa.Table, roles: Roles) -> Marks:
    """How the numbers of a table are written in its file, but for columns that are dropped."""
    dropped = names_of(table, roles.drop, "--drop")
    return {name: form for name, form in marks_of(table.schema).items() if name not in dropped}


def _groups_of(table: pa.Table, roles: Roles) -> Any:
    """The column of groups, one entry per row; None where none is named."""
    return None if roles.groups is None else check_named(table, roles.groups, "groups")


def check_named(table: pa.Table, name: str, role: str) -> Any:
    """A column that has a role besides features and target, one entry per row."""
    check_column(table, name, role)
    if n_missing := table[name].null_count:
        raise DataError(
            f"Column '{name}', the {role}, is missing in {n_missing} of {table.num_rows} rows. Fill it in, or drop "
            "these rows."
        )
    return table[name].to_numpy()


def _with_target(table: pa.Table, target: str, weights: Any) -> tuple[pa.Table, Any]:
    """The rows that have a target, and their weights; how many have none is said."""
    rows = table[target].is_valid().to_numpy()
    if not rows.any():
        raise DataError(f"Column '{target}', the target, is missing in every row.")
    warn_user(f"{(~rows).sum():,} of {len(rows):,} rows have no target and are left out.")
    return take(table, rows), None if weights is None else take(weights, rows)


def _open_times(name: str, target: str | None, roles: Roles, memory: int | None = None) -> Training:
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
    y = times_of(table, time, event)
    if roles.weights is not None:
        check_column(table, roles.weights, "sample weights")
    if roles.weights in (time, event) or time == event:
        raise typer.BadParameter(f"'{time if time == event else roles.weights}' has two roles.", param_hint="--time")
    used = {time, event, roles.weights, roles.groups, *names_of(table, roles.drop, "--drop")}
    return Training(
        features=table.select([column for column in table.column_names if column not in used]),
        target=y,
        task="survival",
        weights=None if roles.weights is None else weights_of(table, roles.weights),
        categorical=names_of(table, roles.categorical, "--categorical") or None,
        monotonic=_directions(table, roles),
        groups=_groups_of(table, roles),
        roles=ColumnRoles(time, roles.weights, groups=roles.groups),
        event=value,
        marks=_marks_of(table, roles),
    )


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


def times_of(table: pa.Table, time: str, event: str) -> pa.Table:
    """The columns of events and times."""
    check_column(table, time, "time")
    check_column(table, event, "event")
    return table.select([event, time])


def weights_of(table: pa.Table, name: str) -> Any:
    """The column of weights, once they can be used."""
    with naming(weights=name):
        check_weights(table[name], table.num_rows)
    return table[name]


def split_names(given: list[str] | None) -> list[str]:
    """What may be column names in an option: each entry, its parts between commas, and what is in quotes."""
    every = [part for text in given or [] for part in (text, *text.split(","))]
    quoted = [name for part in every if (name := from_quotes(part.strip()))]
    return [*every, *map(str.strip, every), *quoted]


def names_of(table: pa.Table, given: list[str] | None, option: str) -> list[str]:
    """Column names from an option: each is a name, or several with commas between them."""
    found: list[str] = []
    for text in given or []:
        for name in names_in(text, table.column_names, option):
            check_column(table, name, f"option {option}")
            found.append(name)
    return found


def _directions(table: pa.Table, roles: Roles) -> dict[str, int] | None:
    """The columns that have a direction, and it."""
    directions: dict[str, int] = {}
    for option, given, sign in (("--increasing", roles.increasing, 1), ("--decreasing", roles.decreasing, -1)):
        for name in names_of(table, given, option):
            if directions.setdefault(name, sign) != sign:
                raise typer.BadParameter(f"'{name}' cannot be increasing and decreasing.", param_hint=option)
    return directions or None

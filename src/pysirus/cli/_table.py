"""What the user calls a table in, a pyarrow table and its target out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import typer

from pysirus._column import DataError
from pysirus._read import check_column, did_you_mean, list_names, read_file
from pysirus.datasets._catalog import SHIPPED

TASKS = ("auto", "regression", "classification")


class Roles(NamedTuple):
    """What the user says of columns: as typed, lists of names parted by commas."""

    categorical: list[str] | None = None
    drop: list[str] | None = None
    weights: str | None = None
    task: str = "auto"


class Training(NamedTuple):
    """A table without its target, the target, and what else the columns are for."""

    features: pa.Table
    target: Any
    is_regression: bool
    weights: Any = None
    categorical: list[str] | None = None


def open_table(name: str) -> pa.Table:
    """A file, or a shipped dataset when there is no file of that name."""
    path = Path(name)
    if not path.exists() and name in SHIPPED:
        path = SHIPPED[name].path
    elif not path.exists() and path.parent == Path():
        known = did_you_mean(name, list(SHIPPED)) if not path.suffix else ""
        raise DataError(
            f"There is no file '{name}', and no shipped dataset of that name.{known} "
            f"Shipped are: {list_names(list(SHIPPED))}."
        )
    return read_file(path)


def open_training(name: str, target: str | None, roles: Roles | None = None) -> Training:
    """A table to learn from, parted into features, target and weights."""
    roles = Roles() if roles is None else roles
    if roles.task not in TASKS:
        raise typer.BadParameter(f"one of {', '.join(TASKS)}, got '{roles.task}'.", param_hint="--task")
    if target is None:
        if Path(name).exists() or name not in SHIPPED:
            columns = open_table(name).column_names
            raise typer.BadParameter(f"say which column to predict: {list_names(columns)}.", param_hint="--target")
        target = SHIPPED[name].target
    table = open_table(name)
    check_column(table, target, "target")
    n_missing = table[target].null_count
    if n_missing:
        raise DataError(
            f"Column '{target}', the target, is missing in {n_missing} of {table.num_rows} rows. Rows without a "
            "response cannot be learned from: drop them."
        )
    if roles.weights is not None:
        check_column(table, roles.weights, "weights")
    used = {target, roles.weights, *_names(table, roles.drop, "--drop")}
    response = nw.from_native(table, eager_only=True)[target]
    is_regression = response.dtype.is_numeric() if roles.task == "auto" else roles.task == "regression"
    return Training(
        features=table.select([column for column in table.column_names if column not in used]),
        target=response,
        is_regression=bool(is_regression),
        weights=None if roles.weights is None else table[roles.weights],
        categorical=_names(table, roles.categorical, "--categorical") or None,
    )


def _names(table: pa.Table, given: list[str] | None, option: str) -> list[str]:
    """Column names from an option: each is a name, or several with commas between them."""
    found: list[str] = []
    for text in given or []:
        for name in [text] if text in table.column_names else [part.strip() for part in text.split(",")]:
            check_column(table, name, f"option {option}")
            found.append(name)
    return found

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


class Training(NamedTuple):
    """A table without its target, and the target."""

    features: pa.Table
    target: Any

    @property
    def is_numeric(self) -> bool:
        """Whether the target is numbers rather than labels."""
        return bool(self.target.dtype.is_numeric())


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


def open_training(name: str, target: str | None) -> Training:
    """A table to learn from, parted into features and target."""
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
    frame = nw.from_native(table, eager_only=True)
    return Training(table.drop_columns([target]), frame[target])

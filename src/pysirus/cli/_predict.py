"""A model and a table in, predictions in a file or on standard output out."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TypeGuard

import pyarrow as pa
import pyarrow.parquet

from pysirus._data.column import DataError
from pysirus._data.read import list_names
from pysirus._model.file import replacing, write_text
from pysirus._model.model import Model


def features_of(table: pa.Table, model: Model) -> pa.Table:
    """The columns that the model asks for; others, such as the target, are left out."""
    if not model.named:
        return table
    names = [feature.name for feature in model.features]
    absent = [name for name in names if name not in table.column_names]
    if absent:
        raise DataError(
            f"The model needs {'a column' if len(absent) == 1 else 'columns'} that the table does not have: "
            f"{list_names(absent)}. The table has: {list_names(table.column_names)}."
        )
    return table.select(names)


def is_parquet(output: Path | None) -> TypeGuard[Path]:
    """Whether predictions go to a Parquet file."""
    return output is not None and output.suffix.lower() == ".parquet"


def write_predictions(table: pa.Table, output: Path | None) -> None:
    """Write columns as a whole or not at all."""
    if is_parquet(output):
        with replacing(output) as temporary:
            pyarrow.parquet.write_table(table, temporary)
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns)))
    if output is None:
        sys.stdout.write(text.getvalue())
    else:
        write_text(output, text.getvalue())

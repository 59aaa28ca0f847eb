"""A CSV file in, a scikit-learn Bunch or a pair (X, y) out."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn.utils import Bunch

LIBRARIES = ("pandas", "polars", "pyarrow")
AsFrame = bool | Literal["pandas", "polars", "pyarrow"]


def _library(as_frame: AsFrame) -> str:
    """The library that is asked for, once it is sure to be there."""
    name = "pandas" if as_frame is True else as_frame
    if name not in LIBRARIES:
        raise ValueError(f"as_frame must be True, False or one of {', '.join(map(repr, LIBRARIES))}; got {as_frame!r}.")
    try:
        import_module(name)
    except ImportError as error:
        raise ImportError(
            f"as_frame={as_frame!r} needs {name}: `pip install {name}`. as_frame='pyarrow' needs nothing more."
        ) from error
    return name


def _frames(table: pa.Table, names: list[str], target: str, library: str) -> tuple[Any, Any, Any]:
    """The whole table, the features and the target; Arrow's arrays have no names, so its target is a table too."""
    if library == "pyarrow":
        return table, table.select(names), table.select([target])
    frame = table.to_pandas() if library == "pandas" else import_module("polars").from_arrow(table)
    return frame, frame[names], frame[target]


def _to_array(table: pa.Table) -> np.ndarray[Any, Any]:
    """Columns side by side: numbers, NaN for missing; objects when a column holds text."""
    columns = [column.to_numpy() for column in table.columns]
    kinds = {column.dtype.kind for column in columns}
    return np.column_stack([c.astype(object if "O" in kinds else np.float64) for c in columns])


def make_bunch(path: Path, target: str, about: str, *, return_X_y: bool, as_frame: AsFrame) -> Any:
    """Read a dataset as scikit-learn's loaders do."""
    table = pyarrow.csv.read_csv(path)
    names = [name for name in table.column_names if name != target]
    frame = None
    data: Any
    response: Any
    if as_frame is not False:
        frame, data, response = _frames(table.select([*names, target]), names, target, _library(as_frame))
    else:
        data, response = _to_array(table.select(names)), table[target].to_numpy().astype(np.float64)
    if return_X_y:
        return data, response
    return Bunch(
        data=data,
        target=response,
        frame=frame,
        feature_names=names,
        target_names=[target],
        DESCR=about,
        filename=str(path),
    )

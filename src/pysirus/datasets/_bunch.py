"""A CSV file in, a scikit-learn Bunch or a pair (X, y) out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn.utils import Bunch


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas: `pip install pandas`, or leave as_frame=False.") from error
    return pandas


def _to_array(table: pa.Table) -> np.ndarray[Any, Any]:
    """Columns side by side: numbers, NaN for missing; objects when a column holds text."""
    columns = [column.to_numpy() for column in table.columns]
    kinds = {column.dtype.kind for column in columns}
    return np.column_stack([c.astype(object if "O" in kinds else np.float64) for c in columns])


def make_bunch(path: Path, target: str, about: str, *, return_X_y: bool, as_frame: bool) -> Any:
    """Read a dataset as scikit-learn's loaders do."""
    table = pyarrow.csv.read_csv(path)
    names = [name for name in table.column_names if name != target]
    frame = None
    data: Any
    if as_frame:
        _import_pandas()
        frame = table.select([*names, target]).to_pandas()
        data, response = frame[names], frame[target]
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

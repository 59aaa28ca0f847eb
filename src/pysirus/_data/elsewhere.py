"""Anything in, whether its rows lie elsewhere than in a table in memory out: in files, streams, on Dask or on Spark."""

from __future__ import annotations

import os
import sys
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa


def is_dask(X: Any) -> bool:
    """Whether it is a collection of Dask; Dask is not imported to find out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def is_spark(X: Any) -> bool:
    """Whether it is a data frame of Spark; Spark is not imported to find out."""
    return type(X).__module__.startswith("pyspark.sql")


def is_path(X: Any) -> bool:
    """Whether it names files: one, a folder or pattern of them, or a list of such."""
    listed = X if isinstance(X, (list, tuple)) and len(X) else [X]
    return all(isinstance(path, (str, os.PathLike)) for path in listed)


def is_dataset(X: Any) -> bool:
    """Whether it is a dataset of pyarrow, whose module is not imported to find out."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(X, module.Dataset)


def is_stream(X: Any) -> bool:
    """Whether rows can be read from it one batch after the other, and it is no table in memory."""
    if isinstance(X, pa.RecordBatchReader) or is_dataset(X):
        return True
    if isinstance(X, (np.ndarray, pa.Table, pa.RecordBatch, pa.ChunkedArray, pa.Array)):
        return False
    try:
        known = nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:  # a frame, whose names are complained of where it is read
        return False
    if isinstance(known, (nw.DataFrame, nw.Series)):
        return False
    return isinstance(known, nw.LazyFrame) or hasattr(X, "__arrow_c_stream__")


def is_elsewhere(X: Any) -> bool:
    """Whether rows lie anywhere but in a table in memory."""
    return not isinstance(X, np.ndarray) and (is_path(X) or is_dask(X) or is_spark(X) or is_stream(X))

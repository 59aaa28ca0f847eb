"""SIRUS on Dask DataFrames and Dask arrays: the same rules as in memory, from rows that stay on the workers.

Takes ``pip install pysirus[dask]``. The tasks run on the workers of the current ``distributed.Client``, or in threads
of this process where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

try:
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
except ImportError as error:
    raise ImportError("Dask collections need dask: pip install pysirus[dask].") from error

from pysirus._data.column import DataError
from pysirus._data.read import check_name
from pysirus._model.facts import ColumnRoles
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus.engine.backends.dask import Block, DaskRows, Partition
from pysirus.engine.parts import EngineOptions, tally_of_bytes

if TYPE_CHECKING:
    from pysirus.estimators.in_parts import InParts

Estimator = TypeVar("Estimator", bound="InParts")
COLLECTIONS = (dd.DataFrame, dd.Series, da.Array)
# answers travel between workers: some megabytes each, for the cuts about 400 kilobytes a column, at most 32 megabytes
OPTIONS = EngineOptions(tally=1 << 14, sum_bytes=1 << 24)
TALLY_BYTES = 1 << 25


# ------------------------------------------------------------------------------------------------------------ fitting


def fit_dask(estimator: Estimator, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> Estimator:
    """Learn the rules from Dask collections."""
    X = _one_block_wide(X)
    y = _column(X, y, "y", "target")
    weights = None if sample_weight is None else _column(X, sample_weight, "sample_weight", "sample weights")
    groups = None if groups is None else _column(X, groups, "groups", "groups")
    if isinstance(y, str) and y in [name for name in (weights, groups) if isinstance(name, str)]:
        raise ParameterError(f"'{y}' is the target and cannot be the sample weights or the groups too.")
    own = {name for name in (y, weights, groups) if isinstance(name, str)}
    if isinstance(X, dd.DataFrame) and len(own) == len(X.columns):
        raise DataError("No feature is left besides the target and the sample weights.")
    for role, other in (("y", y), ("sample_weight", weights), ("groups", groups)):
        if isinstance(other, COLLECTIONS):
            _check_lined_up(X, other, role)

    blocks, none = _blocks(X), [None] * X.npartitions
    given = (y, weights, groups)
    apart = [none if c is None else _blocks(X[c] if isinstance(c, str) else c) for c in given]
    # a column of the table is taken from its block, so that the block is made once
    inside = [[c] * X.npartitions if isinstance(c, str) else own for c, own in zip(given, apart)]
    rows = DaskRows(_number(blocks, *inside), _number(none, *apart))
    n_columns = len(X.columns) if isinstance(X, dd.DataFrame) else X.shape[1]
    options = replace(OPTIONS, tally=min(OPTIONS.tally, tally_of_bytes(TALLY_BYTES, n_columns)))
    target = _name(y) or "y"
    estimator._fit_parts(rows, target, options)
    estimator._remember(ColumnRoles(target, _name(weights), groups=_name(groups)))
    return estimator


def _name(column: Any) -> str | None:
    """The name of a column of the table, or of a series beside it; that of an array is Dask's own."""
    name = column if isinstance(column, str) else getattr(column, "name", None)
    return name if isinstance(name, str) and name and not isinstance(column, da.Array) else None


def _number(*blocks: Sequence[Block]) -> list[Partition]:
    """Partitions of table, response, weights and groups."""
    return [Partition(i, *row) for i, row in enumerate(zip(*blocks))]


def _blocks(collection: Any) -> list[Block]:
    """The partitions of a collection, in order."""
    return list(np.ravel(collection.to_delayed()))


def _one_block_wide(X: Any) -> Any:
    """An array whose blocks hold whole rows; frames are so."""
    if not isinstance(X, da.Array):
        return X
    if X.ndim != 2:
        raise DataError(
            f"X must be a table, found a Dask array of {X.ndim} dimension(s). Reshape it to rows and columns."
        )
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _column(X: Any, column: Any, role: str, purpose: str) -> Any:
    """The response or the weights: a name, a series or an array of one dimension."""
    if isinstance(column, str):
        if not isinstance(X, dd.DataFrame):
            raise DataError(f"{role} is the name '{column}', but X is an array without names. Give a Dask array.")
        check_name(list(X.columns), column, purpose)
        return column
    if isinstance(column, dd.DataFrame) and len(column.columns) == 1:
        return column[column.columns[0]]
    if isinstance(column, da.Array) and column.ndim == 2 and column.shape[1] == 1:
        return column[:, 0]
    if isinstance(column, dd.Series) or (isinstance(column, da.Array) and column.ndim == 1):
        return column
    raise DataError(
        f"{role} must be a Dask Series, a Dask array of one dimension or the name of a column of X where X is a Dask "
        f"collection, found {type(column).__module__.split('.')[0]}.{type(column).__name__}. Make it one with "
        "dask.dataframe.from_pandas or dask.array.from_array, in the partitions of X."
    )


def _check_lined_up(X: Any, other: Any, role: str) -> None:
    """Partition by partition the same rows, as far as it is known before they are read."""
    advice = f"Take X and {role} from one collection, or give {role} the partitions of X with "
    advice += "rechunk." if isinstance(other, da.Array) else "repartition."
    if X.npartitions != other.npartitions:
        raise DataError(f"X has {X.npartitions} partition(s), {role} has {other.npartitions}. {advice}")
    known = [getattr(c, "known_divisions", False) for c in (X, other)]
    if all(known) and X.divisions != other.divisions:
        raise DataError(f"X and {role} have different divisions: their partitions hold different rows. {advice}")
    if isinstance(X, da.Array) and isinstance(other, da.Array):
        for i, (n, m) in enumerate(zip(X.chunks[0], other.chunks[0])):
            if n == n and m == m and n != m:  # nan where it is not known
                raise DataError(f"partition {i}: X has {n} rows, {role} has {m} rows. {advice}")


# --------------------------------------------------------------------------------------------------------- prediction


@dataclass(frozen=True)
class _Predictor:
    """What a model says of a block of rows, in the kind of the block."""

    model: Model
    shares: bool  # of the classes, or the prediction
    __name__: ClassVar[str] = "sirus-predict"  # of the tasks

    def nothing(self) -> NDArray[Any]:
        """The answer to no rows."""
        shape = self.model.family.shape
        return np.zeros((0, *shape)) if self.shares or not shape else self.model.labels[:0]

    def values(self, X: Any) -> NDArray[Any]:
        """One entry per row."""
        if not len(X):
            return self.nothing()
        return self.model.predict_proba(X) if self.shares else self.model.predict(X)

    def __call__(self, X: Any) -> Any:
        if not isinstance(X, pd.DataFrame):
            return self.values(X)
        if self.shares:
            return pd.DataFrame(self.values(X), index=X.index, columns=list(self.model.classes or ()))
        # pandas has types of its own for some labels, and does not see them where there is none
        dtype = pd.Series(self.model.labels).dtype if self.model.family.shape else None
        return pd.Series(self.values(X), index=X.index, name=self.model.target, dtype=dtype)


def predict_dask(model: Model, X: Any, method: str = "predict") -> Any:
    """Predictions of a Dask collection, not yet computed: a series or frame for a frame, an array for an array."""
    if method not in ("predict", "predict_proba"):
        raise DataError(f"{method} takes tables in memory, found a Dask {type(X).__name__}. Compute it, or predict.")
    shares = method == "predict_proba"
    predict = _Predictor(replace(model, moments=None, tuning=None), shares)
    if isinstance(X, dd.DataFrame):
        used = sorted(model.needed)
        names = list(dict.fromkeys(model.schema.column_of(model.features[i]) for i in used))
        if model.named and names and set(names) <= set(X.columns):
            X = X[names]  # the response may be there too; what is not needed is not read
        return X.map_partitions(predict, meta=predict(X._meta))
    if not isinstance(X, da.Array):
        raise DataError(f"X must be a Dask DataFrame or a Dask array, found a {type(X).__name__}.")
    X = _one_block_wide(X)
    meta = predict.nothing()
    if shares:
        return X.map_blocks(predict, chunks=(X.chunks[0], (meta.shape[1],)), dtype=meta.dtype, meta=meta)
    return X.map_blocks(predict, drop_axis=1, dtype=meta.dtype, meta=meta)

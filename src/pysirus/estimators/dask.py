"""SIRUS on Dask DataFrames and Dask arrays: the same rules as in memory, from rows that stay on the workers.

Takes ``pip install pysirus[dask]``. The tasks run on the workers of the current ``distributed.Client``, or in threads
of this process where there is none.

Tuned estimators (CV) follow the same path and make the same choice as in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

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
from pysirus.engine.holders.dask import Block, DaskRows, Partition
from pysirus.engine.parts import EngineOptions, tally_of_bytes
from pysirus.estimators import classifier, regressor
from pysirus.estimators.in_parts import InParts

Estimator = TypeVar("Estimator", bound=InParts)
__all__ = ["SirusClassifier", "SirusClassifierCV", "SirusRegressor", "SirusRegressorCV"]
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


def _predict(model: Model, X: Any, shares: bool = False) -> Any:
    """Predictions of a Dask collection, not yet computed: a series or frame for a frame, an array for an array."""
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


# --------------------------------------------------------------------------------------------------------- estimators


class OnDask:
    """An estimator that takes Dask collections too."""

    _as_model: Callable[[], Any]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn the rules; the rows stay where they are.

        Parameters
        ----------
        X : Dask DataFrame or Dask array of shape (n_rows, n_columns)
            The table. It is read several times: ``persist`` it if it is expensive to compute and fits into the workers'
            memory.
        y : Dask Series, Dask array of shape (n_rows,) or str
            The target, with the partitions of X, or the name of its column.
        sample_weight : Dask Series, Dask array of shape (n_rows,) or str, optional
            Sample weights. A weight of zero is the same as leaving the row out.

        Returns
        -------
        self : estimator
        """
        if not on_dask(X, y, sample_weight):
            return super().fit(X, y, sample_weight)  # type: ignore[misc]
        return fit_dask(self, X, y, sample_weight)  # type: ignore[type-var]

    def predict(self, X: Any) -> Any:
        """Predict the target, or the class.

        Parameters
        ----------
        X : Dask DataFrame, Dask array or table in memory
            Columns are matched by name; other columns of a Dask DataFrame are not read.

        Returns
        -------
        y : Dask Series, Dask array or ndarray of shape (n_rows,)
            Lazy for a Dask collection, with its index and divisions or its chunks.
        """
        if isinstance(X, COLLECTIONS):
            return _predict(self._as_model(), X)
        return super().predict(X)  # type: ignore[misc]


class ClassesOnDask(OnDask):
    """The same for classes."""

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities: the mean of the rules' class proportions.

        Parameters
        ----------
        X : Dask DataFrame, Dask array or table in memory
            Columns are matched by name; other columns of a Dask DataFrame are not read.

        Returns
        -------
        probabilities : Dask DataFrame, Dask array or ndarray of shape (n_rows, n_classes)
            Lazy for a Dask collection. The columns of a DataFrame are the labels.
        """
        return _predict(self._as_model(), X, shares=True) if isinstance(X, COLLECTIONS) else super().predict_proba(X)  # type: ignore[misc]


class SirusRegressor(OnDask, regressor.SirusRegressor):
    """Stable and interpretable rules for regression, on Dask collections.

    Parameters and fitted attributes are those of ``pysirus.SirusRegressor``, and so are the rules: they do not depend
    on the partitions. ``n_jobs`` is the number of threads per task. Model files are read back as
    ``pysirus.SirusRegressor``, without Dask. Tables in memory work too.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from pysirus.dask import SirusRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> table = dd.from_pandas(X.assign(ozone=y), npartitions=4)
    >>> model = SirusRegressor(n_rules=3, random_state=0).fit(table, "ozone")
    >>> print(model.rules_[0])
    if temp < 66 then 7.0 else 19.0
    >>> bool(model.predict(table).mean().compute() == model.predict(X).mean())
    True
    """


class SirusClassifier(ClassesOnDask, classifier.SirusClassifier):
    """Stable and interpretable rules for two or more classes, on Dask collections.

    Parameters and fitted attributes are those of ``pysirus.SirusClassifier``, and so are the rules: they do not depend
    on the partitions. ``n_jobs`` is the number of threads per task. Model files are read back as
    ``pysirus.SirusClassifier``, without Dask. Tables in memory work too.

    Examples
    --------
    >>> import dask.array as da
    >>> from pysirus.dask import SirusClassifier
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True)
    >>> X, high = da.from_array(X, chunks=(100, -1)), da.from_array(y > 15, chunks=100)
    >>> model = SirusClassifier(n_rules=3, random_state=0).fit(X, high)
    >>> model.predict_proba(X).shape
    (330, 2)
    """


def on_dask(X: Any, y: Any, sample_weight: Any, groups: Any = None) -> bool:
    """Whether the table is a Dask collection; what belongs to a table in memory must be in memory too."""
    if isinstance(X, (dd.DataFrame, da.Array)):
        return True
    for role, rows in (("X", X), ("y", y), ("sample_weight", sample_weight), ("groups", groups)):
        if isinstance(rows, COLLECTIONS):
            raise DataError(
                f"{role} is a Dask {type(rows).__name__}, while X is {type(X).__module__.split('.')[0]}."
                f"{type(X).__name__}. X must be a Dask DataFrame or array of two dimensions, or all must be in memory."
            )
    return False


class TunedOnDask(OnDask):
    """A tuned estimator that takes Dask collections too."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Choose the number of rules and learn them; the rows stay where they are.

        Parameters
        ----------
        X : Dask DataFrame or Dask array of shape (n_rows, n_columns)
            The table. It is read several times: ``persist`` it if it is expensive to compute and fits into the workers'
            memory.
        y : Dask Series, Dask array of shape (n_rows,) or str
            The target, with the partitions of X, or the name of its column.
        sample_weight : Dask Series, Dask array of shape (n_rows,) or str, optional
            Sample weights. A weight of zero is the same as leaving the row out.
        groups : Dask Series, Dask array of shape (n_rows,) or str, optional
            Rows of the same group stay in the same fold. A column of X that is named here is no feature. The groups of
            all rows are held where ``fit`` is called.

        Returns
        -------
        self : estimator
        """
        if on_dask(X, y, sample_weight, groups):
            return fit_dask(self, X, y, sample_weight, groups)  # type: ignore[type-var]
        return super(OnDask, self).fit(X, y, sample_weight, groups)  # type: ignore[misc]


class SirusRegressorCV(TunedOnDask, regressor.SirusRegressorCV):
    """Rules for regression, with the number of rules chosen by cross-validation, on Dask collections.

    Parameters and fitted attributes are those of ``pysirus.SirusRegressorCV``, and so are the path, the choice and the
    rules: they do not depend on the partitions. ``cv`` must be a number of folds. Predictions of the held-out rows are
    compared where ``fit`` is called: about 40 bytes a row. ``n_jobs`` is the number of threads per task. Tables in
    memory work too.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from pysirus.dask import SirusRegressorCV
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> table = dd.from_pandas(X.assign(ozone=y), npartitions=2)
    >>> model = SirusRegressorCV(cv=3, n_repeats=1, n_trees=200, random_state=0).fit(table, "ozone")
    >>> model.cv_error_ < 0.5
    True
    """


class SirusClassifierCV(ClassesOnDask, TunedOnDask, classifier.SirusClassifierCV):
    """Rules for two or more classes, with the number of rules chosen by cross-validation, on Dask collections.

    Parameters and fitted attributes are those of ``pysirus.SirusClassifierCV``, and so are the path, the choice and the
    rules: they do not depend on the partitions. The rest is as in ``SirusRegressorCV``.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from pysirus.dask import SirusClassifierCV
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> table = dd.from_pandas(X.assign(high=y > 15), npartitions=2)
    >>> model = SirusClassifierCV(cv=3, n_repeats=1, n_trees=200, max_rules=5, random_state=0).fit(table, "high")
    >>> model.predict_proba(table).columns.tolist()
    [False, True]
    """

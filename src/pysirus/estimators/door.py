"""A fitted model and rows in, wherever these lie, predictions and metrics out.

Rows in files, queries and other streams are read in batches. On Dask an answer is a collection that is not computed
yet. On Spark it is made of SQL expressions, so no Python runs for it on the executors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._data.elsewhere import is_dask, is_elsewhere, is_path, is_spark
from pysirus._data.frame import as_frame, rows_that_count
from pysirus._data.read import check_name
from pysirus._families.read import rates_of
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._runtime.output import PARQUET, streaming
from pysirus._terms.listing import RuleSet
from pysirus._text.message import Parameter
from pysirus._use.score import Rows, Score, score, score_parts
from pysirus.engine.given import Given

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pysirus._data.table import Feature

Method = TypeVar("Method", bound=Callable[..., Any])


def anywhere(method: Method) -> Method:
    """A method that answers row by row, of rows wherever they lie.

    Rows in files, queries and streams are read in batches and answered by one array. On Dask the answer is a
    collection that is not computed yet, on Spark a data frame with the prediction as a column.
    """

    @wraps(method)
    def answer(self: Any, X: Any) -> Any:
        if isinstance(X, np.ndarray) or not is_elsewhere(X):
            return method(self, X)
        if is_dask(X):
            return predict_dask(self._as_model(), X, method.__name__)
        if is_spark(X):
            return transform(self, X)
        return np.concatenate([method(self, batch) for batch in rows_of(self._as_model(), X)])

    return cast(Method, answer)


def rows_of(
    model: Model, X: Any, numbers: Sequence[str] = (), text: Sequence[str] = (), others: Sequence[str] = ()
) -> Iterator[pa.Table]:
    """The rows of a source in tables with the columns that a model needs, and others that hold numbers or text."""
    from pysirus.engine.backends.parquet import known_columns
    from pysirus.engine.backends.streams import Reading, batches_of

    if not model.named:
        raise DataError("The model was learned from an array without names. Read the rows into an array.")
    needed = [model.schema.column_of(model.features[i]) for i in sorted(model.needed)]
    n_rows = 0
    how = Reading(text=text, known=known_columns(model, numbers))
    for table in batches_of(X, list(dict.fromkeys([*needed, *numbers, *text, *others])), how):
        n_rows += len(table)
        yield table
    if not n_rows:
        raise DataError("There are no rows.")


def truth_of(
    model: Model, X: Any, y: Any, sample_weight: Any, time: str | None = None, *, every_column: bool = False
) -> Iterator[tuple[Rows, pa.ChunkedArray | None]]:
    """Rows of a source beside their targets and weights, and their times; of rates with the exposure of training.

    Columns that no rule looks at are read where ``every_column`` is wanted.
    """
    given = Given(X, y, sample_weight, exposure=None if y is None else model.exposure)
    names = {} if y is None and sample_weight is None else given.names_only()
    target, weights, exposure = (names.get(role) for role in ("y", "sample_weight", "exposure"))
    words, numbers = _words_and_numbers(model, names)
    others = [*given.pair, *([] if time is None else [time])]
    for table in rows_of(model, X, numbers, words, [*others, *(model.columns if every_column else ())]):
        for name in (*words, *numbers, *others):
            check_name(table.column_names, name, "target, sample weights, exposure or times")
        apart = [name for name in (*words, *numbers, *others) if name not in model.columns]
        features, times = table.drop_columns(list(dict.fromkeys(apart))), None if time is None else table[time]
        if target is not None and exposure is not None:
            yield Rows(features, *rates_of(table, target, exposure, weights)), times
            continue
        truth = table.select(given.pair) if given.pair else None if target is None else table[target]
        yield Rows(features, truth, None if weights is None else table[weights]), times


def _words_and_numbers(model: Model, names: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Of the columns that have a role those that are read as text, and those that are read as numbers."""
    labels = any(isinstance(label, str) for label in model.family.classes or ())
    words = [names["y"]] if labels and "y" in names else []
    return words, [name for name in names.values() if name not in words]


def write_predictions(
    model: Model, X: Any, output: str | os.PathLike[str], keep: Sequence[str], probabilities: bool
) -> int:
    """Write what a model predicts of rows to a file, batch by batch; and how many rows there were."""
    from pyarrow import csv as pa_csv
    from pyarrow import parquet as pq

    keep, path, n_rows = [keep] if isinstance(keep, str) else list(keep), Path(output), 0
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ParameterError(f"{Parameter('output')} must end in .csv or .parquet, got '{path}'.")
    if probabilities and not model.family.shape:
        raise ParameterError(f"{Parameter('probabilities')} is for classes, and this model predicts something else.")
    inputs = [X] if isinstance(X, (str, os.PathLike)) else X if is_path(X) else []
    to_csv = path.suffix.lower() == ".csv"
    other = [name for name in keep if name not in model.columns]
    batches = rows_of(model, X, text=other if to_csv else [], others=keep) if is_elsewhere(X) else [_as_table(X)]
    with ExitStack() as stack:
        file = stack.enter_context(streaming(path, inputs, None if to_csv else PARQUET))
        writer: Any = None
        for table in batches:
            for name in keep:
                check_name(table.column_names, name, "parameter keep")
            values = model.decision(model.align(table.drop_columns([n for n in other if n in table.column_names])))
            columns = {name: table[name] for name in keep}
            columns["prediction"] = model.labels[model.choose(values)] if model.family.shape else values
            if probabilities:
                columns |= {f"probability_{label}": own for label, own in zip(model.labels, values.T)}
            found = pa.table(columns)
            if writer is None:
                make = pa_csv.CSVWriter if to_csv else pq.ParquetWriter
                writer = stack.enter_context(make(file, found.schema))
            writer.write_table(found.cast(writer.schema) if not to_csv else found)
            n_rows += len(found)
    return n_rows


def _as_table(X: Any) -> pa.Table:
    """A frame in memory."""
    frame = as_frame(X)
    if frame is None:
        raise DataError(f"X must be a data frame, or rows elsewhere, found {type(X).__name__}: its columns have names.")
    return frame.to_arrow()


def in_memory(model: Model, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """Rows in memory, beside their targets and weights, for methods that look at all of them more than once.

    Of a file all columns are read as the model knows them. Rows without a target are left out, as in training.
    """
    if X is None or not is_elsewhere(X):
        return Given(X, y, sample_weight).split()[:3] if isinstance(y, (str, tuple)) else (X, y, sample_weight)
    from pysirus.engine.backends.parquet import known_columns
    from pysirus.engine.backends.streams import Reading, batches_of

    given = Given(X, y, sample_weight, exposure=model.exposure)
    text, numbers = _words_and_numbers(model, given.names_only())
    table = pa.concat_tables(batches_of(X, None, Reading(text=text, known=known_columns(model, numbers))))
    with rows_that_count(*replace(given, X=table).split()[:3], need_target=True) as taken:
        return taken


def score_anywhere(model: Model, X: Any, y: Any, sample_weight: Any, time: Any = None) -> Score:
    """Predictions of rows, wherever they lie, compared with their targets, and those out of time."""
    if is_elsewhere(X):
        if time is not None and not isinstance(time, str):
            raise ParameterError(f"{Parameter('time')} must be the name of a column where rows are not in memory.")
        parts = truth_of(model, X, y, sample_weight, time)
        found = score_parts(model, (rows._replace(time=times) for rows, times in parts))
        return replace(found, weighted_by=sample_weight)
    X, y, sample_weight, _ = Given(X, y, sample_weight).split()
    frame = as_frame(X)
    if time is None and model.roles is not None and frame is not None and model.roles.time in frame.columns:
        time = model.roles.time
    if isinstance(time, str) and frame is not None:
        check_name(frame.columns, time, "time")
        time = frame[time]
    return score(model, X, y, sample_weight, time)


# --------------------------------------------------------------------------------------------------------------- dask


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
        import pandas as pd

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
    import dask.array as da
    import dask.dataframe as dd

    from pysirus.engine.backends.dask import one_block_wide

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
    X = one_block_wide(X)
    meta = predict.nothing()
    if shares:
        return X.map_blocks(predict, chunks=(X.chunks[0], (meta.shape[1],)), dtype=meta.dtype, meta=meta)
    return X.map_blocks(predict, drop_axis=1, dtype=meta.dtype, meta=meta)


# -------------------------------------------------------------------------------------------------------------- spark


def check_frame(frame: Any, what: str) -> None:
    """Refuse what is no Spark data frame."""
    try:
        from pyspark.sql import DataFrame
    except ImportError as error:
        raise ImportError("pysirus.spark needs pyspark: pip install pysirus[spark].") from error
    if not isinstance(frame, DataFrame):
        raise DataError(
            f"{what} takes a Spark data frame, found {type(frame).__module__}.{type(frame).__name__}. Tables in memory "
            "go to the estimators of pysirus itself."
        )


def _input(frame: DataFrame, feature: Feature, model: Model, index: int) -> Column:
    """A column as the expressions want it: NULL for missing, doubles for numbers."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    from pysirus.export._conditions import level_type

    found = {field.name: field.dataType for field in frame.schema.fields}
    if feature.name not in found:
        raise DataError(f"The frame has no column '{feature.name}', which occurs in the rules.")
    column, kind = F.col("`" + feature.name.replace("`", "``") + "`"), found[feature.name]
    wanted = float if feature.kind == "numeric" else level_type(model, index, "Spark")
    held, accepted, cast = {
        str: ("text", T.StringType, "string"),
        bool: ("true and false", T.BooleanType, "boolean"),
    }.get(wanted, ("numbers", T.NumericType, "double"))
    if not isinstance(kind, (accepted, T.NullType)):
        raise DataError(
            f"Column '{feature.name}' held {held} in training, now it is {kind.simpleString()}. Cast it to {cast}."
        )
    if isinstance(kind, T.IntegralType) and feature.kind != "numeric":
        return column  # a label may have more digits than a double
    column = column.cast(cast)
    return F.nanvl(column, F.lit(None)) if accepted is T.NumericType else column


def _with_inputs(model: Model, names: Mapping[int, str]) -> Model:
    """The model with other names for the columns that its rules look at."""
    rules = [rule.with_names(names) for rule in model.rules]
    terms = tuple(term.with_names(names) for term in model.terms)
    return replace(model, selected=RuleSet(rules), terms=terms)


def transform(model: Any, frame: DataFrame, prediction: str = "prediction") -> DataFrame:
    """Add the predictions of a model to a Spark data frame, as expressions that Spark evaluates without Python.

    Parameters
    ----------
    model : estimator or Model
        Any fitted model of pysirus, such as one from ``pysirus.load``.
    frame : pyspark.sql.DataFrame
        The rows. The frame must have the columns that occur in rules and may have others.
    prediction : str, default="prediction"
        Name of the new column. For classification it contains the label, and a column ``probability_<label>`` is added
        for each class.

    Returns
    -------
    frame : pyspark.sql.DataFrame

    Examples
    --------
    >>> from pysirus.spark import transform
    >>> transform(pysirus.load("houses.json"), frame)  # doctest: +SKIP
    DataFrame[area: bigint, district: string, prediction: double]
    """
    check_frame(frame, "transform")
    from pyspark.sql import functions as F

    from pysirus.export._conditions import check_derived, used_features
    from pysirus.export._dialects import SPARK
    from pysirus.export._writer import Writer

    rules: Model = model._as_model()
    check_derived(rules, "Spark")
    names = {i: f"_pysirus_{i}" for i in used_features(rules)}
    inputs = {name: _input(frame, rules.features[i], rules, i) for i, name in names.items()}
    renamed = _with_inputs(rules, names)
    clean = replace(SPARK, as_number=str, as_text=str, guesses=None, has_nan=False)  # of columns that `_input` has made
    writer = Writer(renamed, clean)
    sums = writer.sums(prediction)
    hidden = {name: f"_pysirus_score_{k}" if rules.family.needs_exp else name for k, name in enumerate(sums)}
    sums = {hidden[name]: text for name, text in sums.items()}
    steps = [sums, writer.answers([writer.column(name) for name in sums], prediction)]
    taken = {name.casefold(): name for name in frame.columns}  # as Spark compares them
    for name in (name for step in steps for name in step):
        if (old := taken.setdefault(name.casefold(), name)) is not name:
            raise DataError(f"Column '{name}' would be added, and there is '{old}' already. Rename or drop that one.")
    if inputs:
        frame = frame.withColumns(inputs)
    for step in steps:
        frame = frame.withColumns({name: F.expr(text) for name, text in step.items()}) if step else frame
    return frame.drop(*inputs, *(new for old, new in hidden.items() if new != old))

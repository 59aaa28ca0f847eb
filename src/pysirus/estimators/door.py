"""The arguments of ``fit`` in, a fitted estimator out, wherever the rows lie: one door for all of them.

The target, sample weights, groups and exposure are arrays beside a table in memory, or names of its columns. Rows in
files, queries and other streams become a table, or stay in files, as ``engine/door.py`` says; those on Dask and Spark
stay where they are. Methods that answer row by row (``anywhere``) take the same sources.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import narwhals as nw
import numpy as np
import pyarrow as pa

from pysirus._data.column import DataError
from pysirus._data.elsewhere import is_dask, is_elsewhere, is_path, is_spark
from pysirus._data.frame import as_frame, rows_that_count
from pysirus._data.read import check_name
from pysirus._families.read import rate_name, rates_of
from pysirus._model.facts import ColumnRoles
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._text.message import Parameter
from pysirus._use.score import Rows, Score, score, score_parts, with_later

if TYPE_CHECKING:
    from pysirus.estimators.in_parts import InParts

Method = TypeVar("Method", bound=Callable[..., Any])
MEMORY = 1 << 30  # bytes that may be taken for rows that are not in memory
ROLES = {"y": "target", "sample_weight": "sample weights", "groups": "groups", "exposure": "exposure"}


@dataclass(frozen=True)
class Given:
    """What ``fit`` was given."""

    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None
    exposure: Any = None
    drop: Sequence[str] = ()
    memory: int = MEMORY
    scratch: str | os.PathLike[str] | None = None
    row_id: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)  # of roles, where they are not those of ROLES

    @property
    def names(self) -> dict[str, str]:
        """The columns of X that have a role, by role."""
        return {role: name for role in ROLES if isinstance(name := getattr(self, role), str)}

    @property
    def pair(self) -> tuple[str, ...]:
        """The columns of times and events, where the target is named by two of them."""
        named = isinstance(self.y, tuple) and len(self.y) == 2 and all(isinstance(name, str) for name in self.y)
        return self.y if named else ()

    def names_only(self, where: str) -> dict[str, str]:
        """The same, where nothing can lie beside the rows."""
        for role in ROLES:
            found = getattr(self, role)
            if not isinstance(found, (str, type(None))) and not (role == "y" and self.pair):
                raise ParameterError(
                    f"{role} must be the name of a column where X is {where}, found "
                    f"{type(found).__module__.split('.')[0]}.{type(found).__name__}."
                )
        if self.y is None:
            raise ParameterError(f"y must be the name of the column to predict where X is {where}.")
        return self.names

    def split(self) -> tuple[Any, Any, Any, Any]:
        """X, target, sample weights and groups as arrays and series: named columns are taken out of the table."""
        names, drop = self.names, [self.drop] if isinstance(self.drop, str) else list(self.drop)
        if not names and not drop and not self.pair:
            return (self.X, *self._rates(None))
        frame = as_frame(self.X)
        if frame is None:
            what, name = [*names.items(), *(("y", own) for own in self.pair), *(("drop", own) for own in drop)][0]
            raise DataError(
                f"{what} is the name '{name}', but X is an array without names. Give a data frame, or the values."
            )
        for role, name in names.items():
            check_name(frame.columns, name, self.words.get(role, ROLES[role]))
        for name in self.pair:
            check_name(frame.columns, name, "times and events")
        for name in drop:
            check_name(frame.columns, name, f"parameter {Parameter('drop')}")
        _check_distinct(names, [*drop, *self.pair])
        taken: dict[str, Any] = {role: frame[name] for role, name in names.items()}  # series that know their names
        if self.pair:
            taken["y"] = frame.select(self.pair).to_native()
        rest = [name for name in frame.columns if name not in {*names.values(), *self.pair, *drop}]
        if not rest:
            raise DataError("No feature is left besides the target, the sample weights and the dropped columns.")
        given = replace(self, X=frame.select(rest).to_native(), **taken)
        return (given.X, *given._rates(self))

    def _rates(self, named: Given | None) -> tuple[Any, Any, Any]:
        """The target, the sample weights and the groups; of counts with an exposure rates, weighted by it."""
        if self.exposure is None:
            return self.y, self.sample_weight, self.groups
        columns = {"y": self.y, "exposure": self.exposure}
        if self.sample_weight is not None:
            columns["sample_weight"] = self.sample_weight
        names = {} if named is None else named.names
        table = pa.table({names.get(role, role): _values(own) for role, own in columns.items()})
        target, exposure = names.get("y", "y"), names.get("exposure", "exposure")
        weights = names.get("sample_weight", "sample_weight") if self.sample_weight is not None else None
        rates, mass = rates_of(table, target, exposure, weights)
        name = rate_name(target, exposure)
        return nw.from_native(pa.table({name: rates}), eager_only=True)[name], mass, self.groups

    @property
    def roles(self) -> ColumnRoles | None:
        """What columns were for, where a name says so."""
        names = self.names
        if "y" not in names:
            return None
        return ColumnRoles(names["y"], names.get("sample_weight"), names.get("exposure"), names.get("groups"))


def _values(column: Any) -> Any:
    series = nw.from_native(column, pass_through=True, allow_series=True)
    return series.to_numpy() if isinstance(series, nw.Series) else np.asarray(column)


def _check_distinct(names: dict[str, str], drop: Sequence[str]) -> None:
    """Refuse a column that has two roles."""
    seen: dict[str, str] = {}
    for role, name in [*names.items(), *(("drop", name) for name in drop)]:
        if name in seen:
            raise ParameterError(f"'{name}' has two roles, {Parameter(seen[name])} and {Parameter(role)}. Leave one.")
        seen[name] = role


def enter(estimator: InParts, given: Given) -> None:
    """Learn from rows, wherever they lie."""
    X = given.X
    if given.exposure is not None and not estimator._family.takes_exposure:
        raise ParameterError(f"{Parameter('exposure')} is for counts, and this estimator predicts something else.")
    if not is_elsewhere(X):
        _check_in_memory(given)
        _from_table(estimator, given)
    elif is_dask(X):
        from pysirus.estimators.dask import fit_dask

        _refuse_exposure(given, "Dask")
        drop = [given.drop] if isinstance(given.drop, str) else list(given.drop)
        fit_dask(estimator, X.drop(columns=drop) if drop else X, given.y, given.sample_weight, given.groups)
    elif is_spark(X):
        from pysirus.estimators.spark import fit_spark

        _refuse_exposure(given, "Spark")
        names = given.names_only("a Spark data frame")
        columns = {"weights": names.get("sample_weight"), "groups": names.get("groups"), "row_id": given.row_id}
        fit_spark(estimator, X, names["y"], drop=given.drop, **columns)
    else:
        _from_source(estimator, given)


def _check_in_memory(given: Given) -> None:
    """What belongs to a table in memory must be in memory too."""
    for role in ROLES:
        if is_dask(rows := getattr(given, role)):
            raise DataError(
                f"{role} is a Dask {type(rows).__name__}, while X is {type(given.X).__module__.split('.')[0]}."
                f"{type(given.X).__name__}. X must be a Dask DataFrame or array of two dimensions, or all must be in "
                "memory."
            )


def _from_table(estimator: InParts, given: Given) -> None:
    estimator._fit_table(*given.split())
    if given.roles is not None:
        estimator._remember(given.roles)


def _refuse_exposure(given: Given, where: str) -> None:
    if given.exposure is not None:
        raise ParameterError(
            f"{Parameter('exposure')} has no place on {where}: divide the counts by the exposure, and give it as "
            f"{Parameter('sample_weight')}."
        )


def _from_source(estimator: InParts, given: Given) -> None:
    from pysirus.engine.door import Reading, opened

    drop = [given.drop] if isinstance(given.drop, str) else list(given.drop)
    labels = [name for name in estimator.categorical_features or () if isinstance(name, str)]
    how = Reading(given.memory, given.scratch, labels, drop=drop)
    if not is_path(given.X) and not isinstance(given.y, (str, type(None))) and not given.pair:
        how = replace(how, memory=sys.maxsize)  # arrays beside a stream: its rows are to be in memory too
    else:
        given.names_only("a path" if is_path(given.X) else "a query or a stream")
    with opened(given.X, how) as rows:
        if rows.table is None:
            options: dict[str, Any] = {"memory": given.memory, "scratch": given.scratch, "drop": drop}
            options |= {given.words.get(role, role): name for role, name in given.names.items() if role != "y"}
            estimator.fit_files(list(rows.files), given.names.get("y", ""), **options)
        else:
            there = [name for name in drop if name in rows.table.column_names]
            _from_table(estimator, replace(given, X=rows.table, drop=there))
            estimator._keep_marks({name: form for name, form in rows.marks.items() if name not in drop})


# -------------------------------------------------------------------------------------------------------- prediction


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
            from pysirus.estimators.dask import predict_dask

            return predict_dask(self._as_model(), X, method.__name__)
        if is_spark(X):
            from pysirus.estimators.spark import transform

            return transform(self, X)
        return np.concatenate([method(self, batch) for batch in rows_of(self._as_model(), X)])

    return cast(Method, answer)


def rows_of(model: Model, X: Any, numbers: Sequence[str] = (), text: Sequence[str] = ()) -> Iterator[pa.Table]:
    """The rows of a source in tables with the columns that a model needs, and others that hold numbers or text."""
    from pysirus.engine.backends.parquet import known_columns
    from pysirus.engine.door import Reading, batches_of

    if not model.named:
        raise DataError("The model was learned from an array without names. Read the rows into an array.")
    needed = [model.schema.column_of(model.features[i]) for i in sorted(model.needed)]
    n_rows = 0
    how = Reading(text=text, known=known_columns(model, numbers))
    for table in batches_of(X, [*needed, *numbers, *text], how):
        n_rows += len(table)
        yield table
    if not n_rows:
        raise DataError("There are no rows.")


def truth_of(model: Model, X: Any, y: Any, sample_weight: Any) -> Iterator[Rows]:
    """Rows of a source beside their targets and weights, batch by batch; of rates with the exposure of training."""
    names = Given(X, y, sample_weight).names_only("a path" if is_path(X) else "a query or a stream")
    weights, exposure = names.get("sample_weight"), model.exposure
    others = [names["y"], *(name for name in (weights, exposure) if name is not None)]
    words = [names["y"]] if any(isinstance(label, str) for label in model.family.classes or ()) else []
    for table in rows_of(model, X, [name for name in others if name not in words], words):
        for name in others:
            check_name(table.column_names, name, "target, sample weights or exposure")
        features = table.drop_columns([name for name in others if name not in model.columns])
        if exposure is None:
            yield Rows(features, table[names["y"]], None if weights is None else table[weights])
        else:
            yield Rows(features, *rates_of(table, names["y"], exposure, weights))


def in_memory(model: Model, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """Rows in memory, beside their targets and weights, for methods that look at all of them more than once.

    Of a file all columns are read as the model knows them. Rows without a target are left out, as in training.
    """
    if X is None or not is_elsewhere(X):
        return Given(X, y, sample_weight).split()[:3] if isinstance(y, (str, tuple)) else (X, y, sample_weight)
    if is_dask(X) or is_spark(X):
        raise DataError(f"Give rows in memory or in files, found a {type(X).__name__}.")
    from pysirus.engine.backends.parquet import known_columns
    from pysirus.engine.door import Reading, batches_of

    given = Given(X, y, sample_weight, exposure=model.exposure)
    names = given.names_only("a path" if is_path(X) else "a query or a stream")
    labels = any(isinstance(label, str) for label in model.family.classes or ())
    text = [names["y"]] if labels else []
    numbers = [name for name in names.values() if name not in text]
    table = pa.concat_tables(batches_of(X, None, Reading(text=text, known=known_columns(model, numbers))))
    with rows_that_count(*replace(given, X=table).split()[:3], need_target=True) as taken:
        return taken


def score_anywhere(model: Model, X: Any, y: Any, sample_weight: Any, time: Any = None) -> Score:
    """Predictions of rows, wherever they lie, compared with their targets; of tables also out of time."""
    if is_dask(X) or is_spark(X):
        raise DataError(
            f"metrics takes rows in memory or in files, found a {type(X).__name__}. Compare its predictions."
        )
    if is_elsewhere(X):
        if time is not None:
            raise ParameterError(f"{Parameter('time')} takes rows in memory: read the table first.")
        found = score_parts(model, truth_of(model, X, y, sample_weight))
        return replace(found, weighted_by=sample_weight)
    X, y, sample_weight, _ = Given(X, y, sample_weight).split()
    found, frame = score(model, X, y, sample_weight), as_frame(X)
    if time is None and model.roles is not None and frame is not None and model.roles.time in frame.columns:
        time = model.roles.time
    if isinstance(time, str) and frame is not None:
        check_name(frame.columns, time, "time")
        time = frame[time]
    return found if time is None else with_later(model, found, Rows(X, y, sample_weight), time)

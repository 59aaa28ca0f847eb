"""What ``fit`` was given in, rows to learn from out, wherever they lie: one door for all of them.

The target, sample weights, groups and exposure are arrays beside a table in memory, or names of its columns. Rows in
files, queries and other streams become a table or, where they are many, stay in files; those on Dask and Spark stay
where they are. Whatever they are, they are put into bins, and dealt into folds, by the methods of `TrainingRows`.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._data.elsewhere import is_dask, is_elsewhere, is_path, is_spark
from pysirus._data.frame import which_count
from pysirus._data.marks import Marks, marks_of
from pysirus._data.table import Table
from pysirus._families.base import Family
from pysirus._families.read import name_of, rate_name
from pysirus._families.responses import Response
from pysirus._families.target import IN_MEMORY
from pysirus._learn.folds import Repeated, TuningPlan, fit_folds
from pysirus._learn.grow import Settings, bin_rows
from pysirus._learn.splits import FORWARD, Periods, draw_folds, forward_folds, read_times
from pysirus._learn.training import Training
from pysirus._model.facts import ColumnRoles
from pysirus._parameters import ParameterError
from pysirus._runtime.console import warn_user
from pysirus._text.message import InPython, Parameter, naming, setting
from pysirus.engine.given import ROLES, Given, InBatches, check_distinct

if TYPE_CHECKING:
    from pysirus._data.derived import ColumnRecipe
    from pysirus.engine.backends.streams import Opened
    from pysirus.engine.parts import EngineOptions, RowDataset
    from pysirus.engine.read import PartRows

# --------------------------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True)
class Reader:
    """How an estimator reads rows."""

    family: Family
    categorical: Any
    prepare: bool
    n_threads: int
    verbose: int
    is_tuned: bool
    read_table: Callable[[Any, Any, Any], tuple[Table, Response, str]]  # in memory: X, y, weights


class TrainingRows(ABC):
    """Rows to learn from, wherever they lie."""

    roles: ColumnRoles | None
    marks: Marks  # how numbers were written where they were read from text
    place: str  # "memory", "files" or "elsewhere"
    n_rows: int | None  # where it is known
    n_columns: int

    @abstractmethod
    def put_in_bins(self, settings: Settings) -> Training:
        """Training rows in bins."""

    @abstractmethod
    def draw_folds(self, cv: Any, n_repeats: int, seed: int) -> tuple[Periods | None, Iterator[Any]]:
        """The folds of one repetition after the other; and the periods, where folds look forward in time."""

    @abstractmethod
    def fit_folds(self, repetitions: Iterator[Any], plan: TuningPlan) -> Callable[..., Iterator[Repeated]]:
        """What learns in these folds, and has their held-out rows say how well."""


@dataclass(frozen=True)
class RowsInMemory(TrainingRows):
    """A table in memory, which is one part."""

    table: Table
    response: Response
    target: str
    kept: NDArray[np.bool_]  # which of the rows given count
    groups: Any = None
    roles: ColumnRoles | None = None
    marks: Marks = field(default_factory=dict)
    given: tuple[Any, Any, Any] = (None, None, None)  # X, y and weights
    place = "memory"

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Rows that count."""
        return self.table.n_rows

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        """Features."""
        return self.table.n_columns

    def put_in_bins(self, settings: Settings) -> Training:
        """Training rows in bins."""
        return bin_rows(self.table, self.response, self.target, settings)

    def draw_folds(self, cv: Any, n_repeats: int, seed: int) -> tuple[Periods | None, Iterator[Any]]:
        """Training and held-out rows of each fold, of one repetition after the other."""
        if isinstance(cv, str) and cv == FORWARD:
            folds = forward_folds(read_times(self.groups, len(self.kept))[self.kept])
            return folds.periods, repeat(folds.splits(), n_repeats)
        return None, draw_folds(cv, n_repeats, response=self.response, groups=self.groups, kept=self.kept, seed=seed)

    def fit_folds(self, repetitions: Iterator[Any], plan: TuningPlan) -> Callable[..., Iterator[Repeated]]:
        """What learns in these folds."""
        return partial(fit_folds, self.table, self.response, repetitions, plan)


@dataclass(frozen=True)
class RowsInParts(TrainingRows):
    """Rows in parts, which stay where they are."""

    rows: RowDataset
    target: str
    options: EngineOptions
    reader: Reader
    roles: ColumnRoles | None = None
    marks: Marks = field(default_factory=dict)
    place: str = "elsewhere"
    n_rows: int | None = None
    n_columns: int = 0
    find_recipe: Callable[[], ColumnRecipe | None] | None = None  # looks for columns to prepare

    @cached_property
    def parts(self) -> PartRows:
        """The rows, once one look at their response has been taken."""
        from pysirus.engine.read import scan_response  # as long as nobody has rows in parts, nobody waits for it

        if self.reader.prepare and self.find_recipe is None:
            warn_user(
                f"{setting('prepare', True)} has no effect on Dask and Spark: columns must be usable as they are."
            )
        parts = scan_response(self.rows, self.reader.family, self.reader.categorical)
        return parts if self.find_recipe is None else parts.prepared(self.find_recipe())

    def put_in_bins(self, settings: Settings) -> Training:
        """Training rows in bins."""
        from pysirus.engine.train import bin_parts

        return bin_parts(self.parts, self.target, self.options, settings)

    def draw_folds(self, cv: Any, n_repeats: int, seed: int) -> tuple[Periods | None, Iterator[Any]]:
        """The folds of one repetition after the other, by the number of each row."""
        from pysirus.engine.folds import draw_repetitions

        return draw_repetitions(cv, n_repeats, self.parts, seed)

    def fit_folds(self, repetitions: Iterator[Any], plan: TuningPlan) -> Callable[..., Iterator[Repeated]]:
        """What learns in these folds."""
        from pysirus.engine.tune import fit_folds_of_parts

        return partial(fit_folds_of_parts, self.parts, plan, self.options, repetitions)


# --------------------------------------------------------------------------------------------------------------- door


@contextmanager
def as_dataset(given: Given, reader: Reader) -> Iterator[TrainingRows]:
    """The rows that ``fit`` was given; what was opened for them is closed at the end. Errors name their columns."""
    names = given.names
    roles = {"target": names.get("y"), "weights": names.get("sample_weight"), "groups": names.get("groups")}
    with naming(**roles, time=names.get("groups")), _dataset(given, reader) as rows:
        yield rows


@contextmanager
def _dataset(given: Given, reader: Reader) -> Iterator[TrainingRows]:
    X = given.X
    check_distinct(given)
    if given.exposure is not None and not reader.family.takes_exposure:
        raise ParameterError(f"{Parameter('exposure')} is for counts, and this estimator predicts something else.")
    if isinstance(X, InBatches):
        with _in_batches(replace(given, X=X.paths), X.paths, X.quantiles, reader) as rows:
            yield rows
    elif not is_elsewhere(X):
        _check_in_memory(given)
        yield _in_memory(given, reader)
    elif reader.family.has_hazard and (is_dask(X) or is_spark(X)):
        yield _in_memory(_gathered(given), reader)
    elif is_dask(X):
        from pysirus.engine.backends.dask import from_collections

        X = X.drop(columns=given.dropped) if given.dropped else X
        parts, roles, options = from_collections(X, given.y, given.sample_weight, given.groups, given.exposure)
        name = roles.target if roles.exposure is None else rate_name(roles.target, roles.exposure)
        yield RowsInParts(parts, name, options, reader, roles)
    elif is_spark(X):
        from pysirus.engine.backends.spark import SparkRows

        roles = given.only_roles()
        with closing(SparkRows(X, roles, row_id=given.row_id, drop=given.dropped)) as spark:
            yield RowsInParts(spark, given.target_name, spark.options, reader, roles)
    else:
        with _from_source(given, reader) as rows:
            yield rows


def _check_in_memory(given: Given) -> None:
    """What belongs to a table in memory must be in memory too."""
    for role in ROLES:
        if is_dask(rows := getattr(given, role)):
            raise DataError(
                f"{role} is a Dask {type(rows).__name__}, while X is {type(given.X).__module__.split('.')[0]}."
                f"{type(given.X).__name__}. X must be a Dask DataFrame or array of two dimensions, or all must be in "
                "memory."
            )


def _in_memory(given: Given, reader: Reader) -> RowsInMemory:
    X, y, sample_weight, groups = given.split()
    marks = marks_of(given.X.schema) if isinstance(given.X, pa.Table) else {}
    marks = {name: form for name, form in marks.items() if name not in given.dropped}
    table, response, target = reader.read_table(X, y, sample_weight)
    kept = which_count(y, sample_weight, need_target=reader.prepare)
    kept = np.ones(table.n_rows, dtype=bool) if kept is None else kept
    roles = given.roles or ColumnRoles(target, name_of(sample_weight), groups=name_of(groups))
    return RowsInMemory(table, response, target, kept, groups, roles, marks, (X, y, sample_weight))


def _gathered(given: Given) -> Given:
    """Rows of other machines in memory, where they take no more than is allowed."""
    from pysirus.engine.backends.streams import Reading, whole_table

    given.names_only()
    X = given.X
    if given.row_id is not None:
        X, given = X.orderBy(given.row_id), replace(given, drop=[*given.dropped, given.row_id])
    return replace(given, X=whole_table(X, Reading(given.memory)))


@contextmanager
def open_source(given: Given, categorical: Any, *, whole: bool) -> Iterator[Opened]:
    """The rows of a path, a query or a stream, read once: a table, or files; ``whole``: never files."""
    from pysirus.engine.backends.streams import Reading, opened

    labels = [name for name in categorical or () if isinstance(name, str)]
    how = Reading(given.memory, given.scratch, labels, drop=given.dropped)
    if not is_path(given.X) and not isinstance(given.y, (str, type(None))) and not given.pair:
        how = replace(how, memory=sys.maxsize)  # arrays beside a stream: its rows are to be in memory too
    else:
        given.names_only()
        how = replace(how, whole=whole)
    with opened(given.X, how) as found:
        yield found


@contextmanager
def _from_source(given: Given, reader: Reader) -> Iterator[TrainingRows]:
    """The rows of a path, a query or a stream."""
    whole = reader.family.has_hazard  # nothing is kept beside the table
    with open_source(given, reader.categorical, whole=whole) as found:
        if found.table is None:
            with _speaking_of_source(found), _in_batches(given, list(found.files), "exact", reader) as rows:
                yield rows
        else:
            there = [name for name in given.dropped if name not in found.dropped]
            yield _in_memory(replace(given, X=found.table, drop=there), reader)


@contextmanager
def _speaking_of_source(found: Opened) -> Iterator[None]:
    """Errors about the rows of a stream name no scratch file."""
    try:
        yield
    except DataError as error:
        if found.is_scratch:
            error.reword(lambda message: message.replace(f"'{found.files[0]}'", "the source"))
        raise


@contextmanager
def _in_batches(given: Given, paths: Any, quantiles: str, reader: Reader) -> Iterator[RowsInParts]:
    """The rows of files, read batch by batch."""
    from pysirus.engine.backends.files import open_files, within
    from pysirus.engine.dates import recipe_of_files

    if reader.family.has_hazard:
        instead = InPython(" Give fit the files, not fit_files: it reads them into a table.")
        raise ParameterError(f"{IN_MEMORY}{instead}")
    roles = given.only_roles()
    rows, options = open_files(
        paths,
        roles,
        drop=given.dropped,
        memory=given.memory,
        n_threads=reader.n_threads,
        verbose=reader.verbose,
        labels=[name for name in reader.categorical or () if isinstance(name, str)],
        n_copies=2 if reader.is_tuned else 1,
        quantiles=quantiles,
        scratch=given.scratch,
        may_lack_target=reader.prepare,
        only=given.only,
    )
    find_recipe = partial(recipe_of_files, rows, reader.categorical) if reader.prepare else None
    size = (rows.n_rows, len(rows.features))
    with within(given.memory):
        yield RowsInParts(rows, given.target_name, options, reader, roles, rows.marks, "files", *size, find_recipe)

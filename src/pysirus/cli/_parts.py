"""A model and files in, predictions or metrics out, batch by batch; or the same recipe fitted to another table.

Memory never holds whole columns of files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from pysirus._data.column import DataError
from pysirus._data.elsewhere import FilePath, Remote, check_remote_output, writing_remote
from pysirus._data.read import KnownColumns, check_column, list_names
from pysirus._model.model import Model
from pysirus._runtime.output import PARQUET, streaming
from pysirus._text.format import in_quotes
from pysirus._text.message import about_part
from pysirus._use.score import Rows, Score, score_parts
from pysirus.cli._options import check_output
from pysirus.cli._predict import Columns, Wanted, csv_text, features_of, is_parquet, predict_table, time_column
from pysirus.cli._show import model_of
from pysirus.cli._streams import print_data, tell_aside
from pysirus.cli._table import (
    FileTraining,
    Roles,
    Training,
    is_files,
    names_of,
    open_files,
    open_rows,
    open_table,
    open_training,
    split_names,
)
from pysirus.engine.backends.parquet import READING, SourceFile, check_rows, kept_columns, known_columns
from pysirus.engine.backends.sources import ENDINGS, find_files, scan_files
from pysirus.engine.backends.streams import batches_in
from pysirus.estimators.recipe import fresh_estimator


class Write(Protocol):
    """Takes rows to be written, batch after batch."""

    def __call__(self, table: pa.Table) -> None: ...


# -------------------------------------------------------------------------------------------------------------- files


def _scan(
    rules: Model, paths: Sequence[FilePath], text: Sequence[str] = (), known: KnownColumns | None = None
) -> list[SourceFile]:
    """The files, none of which is to change while it is read; of CSV files the columns are read as in training."""
    advice = "Give files that nothing writes to, or a copy of them."
    found = scan_files(paths, text, known=known_columns(rules) if known is None else known)
    files = [replace(file, when=READING, advice=advice) for file in found]
    check_rows(files)
    return files


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Errors about some rows say which."""
    try:
        yield
    except DataError as error:
        raise DataError(about_part(what, error.message)) from error


def _columns_of(rules: Model, file: SourceFile, others: Sequence[str]) -> list[str]:
    """The columns to read: those that the model asks for, and others."""
    empty = file.schema.empty_table()
    with _naming(f"'{file.path}'"):
        features = features_of(empty if rules.named else empty.drop_columns(list(others)), rules)
    return list(dict.fromkeys([*features.column_names, *others]))


def score_files(rules: Model, name: str, truth: Columns, periods: str | None = None) -> Score:
    """Compare the predictions for the rows of all files with the truth; where they have times, also out of time."""
    text, numbers = truth.kinds(rules)

    def rows() -> Iterator[Rows]:
        for file in _scan(rules, find_files(name), text, known_columns(rules, numbers)):
            empty = file.schema.empty_table()
            with _naming(f"'{file.path}'"):
                truth.check(empty)
            times = time_column(empty, rules, periods)
            others = truth.names if times is None else [*truth.names, times]
            for part, table in batches_in(file, _columns_of(rules, file, others)):
                with _naming(part):
                    read = truth.read(rules, table, part)
                yield read if times is None else read._replace(time=table[times])

    return score_parts(rules, rows())


def tables_of_files(
    rules: Model, name: str, text: Sequence[str], known: KnownColumns
) -> Iterator[tuple[str, pa.Table]]:
    """All columns of the rows of all files, batch by batch, and what messages call each."""
    for file in _scan(rules, find_files(name), text, known):
        yield from batches_in(file, file.schema.names)


# -------------------------------------------------------------------------------------------------------- predictions


def predict_files(
    loaded: Any,
    paths: Sequence[FilePath],
    output: FilePath | None,
    keep: list[str] | None,
    wanted: Wanted,
    spreadsheet: bool,
) -> None:
    """Write predictions for the rows of all files: to one file, in their order, or for each file to one in a folder."""
    from pysirus.cli._show import model_of

    rules = model_of(loaded)
    others = [name for name in split_names(keep) if name not in rules.columns and name != wanted.exposure]
    to_csv = not is_parquet(output) and not (output and not output.suffix)
    numbers = [] if wanted.exposure is None else [wanted.exposure]
    kept, known = kept_columns(rules, split_names(keep) if to_csv else [], numbers)
    files = _scan(rules, paths, others if to_csv else [], known)
    wanted = wanted._replace(keep=names_of(files[0].schema.empty_table(), keep, "--keep"), written=kept)
    for file in files:
        with _naming(f"'{file.path}'"):
            for name in wanted.keep:
                check_column(file.schema.empty_table(), name, "option --keep")
            if wanted.exposure is not None:
                check_column(file.schema.empty_table(), wanted.exposure, "exposure")
    columns = [_columns_of(rules, file, wanted.others) for file in files]
    if output is None or output.suffix:
        with _open(output, paths, spreadsheet) as write:
            for file, names in zip(files, columns):
                _predict(loaded, file, names, wanted, write)
        return
    targets = _outputs(paths, output)
    for target in targets:
        if isinstance(target, Path):
            target.parent.mkdir(parents=True, exist_ok=True)
            check_output(target, "--output", paths, PARQUET)
    for file, names, target in zip(files, columns, targets):
        if file.n_rows:
            with _open(target, paths, spreadsheet) as write:
                _predict(loaded, file, names, wanted, write)
    n_written = sum(file.n_rows > 0 for file in files)
    tell_aside(
        f"{n_written:,} {'file' if n_written == 1 else 'files'} with {sum(f.n_rows for f in files):,} rows: {output}"
    )


def _outputs(paths: Sequence[FilePath], folder: FilePath) -> Sequence[FilePath]:
    """A Parquet file in a folder for each file, as deep in it as the file is below what all of them are in."""
    if isinstance(folder, Remote):
        check_remote_output(folder)
    elif folder.exists() and not folder.is_dir():
        raise typer.BadParameter(
            f"'{folder}' is a file. Give a folder, or a .csv or .parquet file.", param_hint="--output"
        )
    elif not folder.parent.is_dir():
        raise typer.BadParameter(
            f"There is no folder '{folder.parent}' to make '{folder.name}' in.", param_hint="--output"
        )
    parents = [path.resolve().parent for path in paths]
    root = Path(os.path.commonpath(parents))
    names = [f"{ENDINGS.sub('', path.name).removesuffix('.parquet')}.parquet" for path in paths]
    targets = [folder / (parent.relative_to(root) / name) for name, parent in zip(names, parents)]
    for target in targets:
        if targets.count(target) > 1:
            raise DataError(f"Two files would be written to '{target}'. Give files of different names.")
    return targets


def _predict(loaded: Any, file: SourceFile, columns: Sequence[str], wanted: Wanted, write: Write) -> None:
    for part, table in batches_in(file, columns):
        with _naming(part):
            predicted = predict_table(loaded, table, wanted)
        write(predicted)


@contextmanager
def _open(output: FilePath | None, inputs: Sequence[FilePath], spreadsheet: bool) -> Iterator[Write]:
    """Something that writes batches to a file, which is there as a whole or not at all; or prints them."""
    schema: pa.Schema | None = None
    with ExitStack() as stack:
        file: IO[bytes] | None = None
        if isinstance(output, Remote):
            check_remote_output(output)
            file = stack.enter_context(writing_remote(output))
        elif output is not None:
            file = stack.enter_context(streaming(output, inputs, PARQUET if is_parquet(output) else None))
        writer: pq.ParquetWriter | None = None

        def write(table: pa.Table) -> None:
            nonlocal schema, writer
            is_first, schema = schema is None, schema or table.schema
            table = _like(table, schema)
            if file is None:
                print_data(csv_text(table, header=is_first, spreadsheet=spreadsheet))
            elif is_parquet(output):
                if writer is None:
                    writer = stack.enter_context(pq.ParquetWriter(file, schema))
                writer.write_table(table)
            else:
                file.write(csv_text(table, header=is_first, spreadsheet=spreadsheet).encode("utf-8"))

        yield write


def _like(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with the types of the first one: columns that are kept may have others in another file."""
    try:
        return table.cast(schema.remove_metadata())
    except (pa.ArrowException, ValueError) as error:
        raise DataError(
            f"A column that is kept has other types in some files ({error}). Give a folder as output: it has "
            "a file for each."
        ) from error


MEMORY = 1 << 30


def fit_like(loaded: Any, table: str, *, jobs: int | None = None) -> tuple[Any, Training | FileTraining]:
    """The estimator of a model file, fitted to another table with its settings and seed; and that table."""
    rules = model_of(loaded)
    estimator: Any = fresh_estimator(loaded)
    if jobs is not None:
        estimator.set_params(n_jobs=jobs)
    training = _rows_of(rules, estimator, table)
    if isinstance(training, Training):
        kept = [name for name in training.features.column_names if name in rules.columns]
        training = training._replace(features=training.features.select(kept))
    training.fit(estimator)
    return estimator, training


def rows_of(training: Training | FileTraining) -> Rows | None:
    """The rows that were learned from, where they are in memory."""
    if isinstance(training, FileTraining):
        return None
    return Rows(training.features, training.target, training.weights)


def check_columns(rules: Model, table: str) -> None:
    """Complain about a table without some of the model's columns before the work."""
    known = set(_names(rules, table))
    absent = [name for name in rules.columns if name not in known] if rules.named else []
    if absent:
        raise DataError(f"The table has no column {list_names(absent)}, which the model was learned from.")


def _names(rules: Model, table: str) -> list[str]:
    """The columns of a table, or of all files."""
    from pysirus.engine.backends.sources import find_files, scan_files

    if not is_files(table):
        return list(open_table(table, rules).column_names)
    return list(dict.fromkeys(name for file in scan_files(find_files(table)) for name in file.schema.names))


def _rows_of(rules: Model, estimator: Any, table: str) -> Training | FileTraining:
    """The training rows, read as the model's own were."""
    roles, family = rules.roles, rules.family
    categorical = [name for name in getattr(estimator, "categorical_features", None) or () if isinstance(name, str)]
    task = "classification" if family.shape else "regression"
    given = Roles(
        categorical=categorical or None,
        weights=None if roles is None else roles.weights,
        exposure=None if roles is None else roles.exposure,
        groups=None if roles is None else roles.groups or roles.time,
        strict=not estimator.prepare,
        task=task,
    )
    if family.has_hazard:
        event = rules.required_survival.event_value
        told = rules.required_survival.event if event is None else f"{rules.required_survival.event}={event}"
        return open_rows(table, None, given._replace(task="auto", time=rules.target_column, event=told), None)
    if is_files(table):
        own = {*rules.columns, rules.target_column, given.weights, given.exposure, given.groups}
        others = [in_quotes(name) for name in _names(rules, table) if name not in own] if rules.named else []
        return open_files(table, rules.target_column, given._replace(drop=others), MEMORY)
    return open_training(table, rules.target_column, given)

"""A model and rows in, predictions in files or on standard output out, batch by batch.

Memory never holds whole columns of files.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple, Protocol, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from pysirus._data.column import DataError
from pysirus._data.derived import is_text
from pysirus._data.elsewhere import FilePath, Remote, check_remote_output, writing_remote
from pysirus._data.read import KnownColumns, as_known, check_column, check_name
from pysirus._families.read import exposures_of
from pysirus._model.model import Model
from pysirus._runtime.output import PARQUET, streaming
from pysirus._text.format import format_number, one_line
from pysirus.cli._options import check_output
from pysirus.cli._show import model_of
from pysirus.cli._streams import print_data, tell_aside
from pysirus.cli._table import Source, about, features_of, names_of, needed_columns, sources, split_names
from pysirus.cli._truth import exposure_of
from pysirus.engine.backends.parquet import kept_columns
from pysirus.engine.backends.sources import ENDINGS

EXPECTED = "expected_count"  # the column of rates times exposures
# how a formula begins: the last four are the same signs at full width
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class Wanted(NamedTuple):
    """What is written of each row."""

    keep: list[str]
    probabilities: bool = False
    at: str | None = None
    exposure: str | None = None  # what rates are multiplied by
    written: KnownColumns = MappingProxyType({})  # features that are kept, which a CSV file left as text
    coverage: float | None = None  # of intervals or sets

    @property
    def others(self) -> list[str]:
        """Columns that are read besides features."""
        return [*self.keep, *([] if self.exposure is None or self.exposure in self.keep else [self.exposure])]


def predict_table(loaded: Any, rows: pa.Table, wanted: Wanted) -> pa.Table:
    """The columns that are kept, then the predictions."""
    rules = model_of(loaded)
    kept = {name: rows[name] for name in wanted.keep}
    features = features_of(rows if rules.named else rows.drop_columns(wanted.others), rules)
    features = as_known(features, {name: how for name, how in wanted.written.items() if is_text(rows.field(name).type)})
    if wanted.probabilities:
        found = rules.decision(rules.align(features))
        columns = {"prediction": rules.labels[rules.choose(found)]}
        columns |= {f"probability_{label}": column for label, column in zip(rules.labels, found.T)}
    else:
        columns = _predictions(rules, loaded.predict(features), rows, wanted.exposure)
    if wanted.coverage is not None:
        columns |= _interval_columns(loaded, features, wanted.coverage)
    if wanted.at is not None:
        columns |= survival_columns(rules, features, wanted.at)
    for name in kept.keys() & columns:
        raise typer.BadParameter(f"'{name}' is the name of a column that is added. Rename it.", param_hint="--keep")
    return pa.table(kept | {name: pa.array(values) for name, values in columns.items()})


def coverage_of(loaded: Any, interval: float | None, folds: Path | None) -> float | None:
    """The coverage that was asked for, once the model has the models of its folds; None where none was."""
    if (interval is None) != (folds is None):
        given, other = ("--interval", "--folds") if folds is None else ("--folds", "--interval")
        raise typer.BadParameter(f"goes with {other}: `pysirus calibrate` writes the file.", param_hint=given)
    if interval is None:
        return None
    if not 0 < interval < 100:
        raise typer.BadParameter(f"percent between 0 and 100, such as 90, got {interval:g}.", param_hint="--interval")
    if not hasattr(loaded, "load_folds"):
        raise typer.BadParameter("this model has no intervals.", param_hint="--interval")
    loaded.load_folds(folds)
    return interval / 100


def _interval_columns(loaded: Any, features: pa.Table, coverage: float) -> dict[str, Any]:
    """The ends of intervals, or which classes each row may be of and of two the ends of the probability."""
    if hasattr(loaded, "predict_interval"):
        return dict(zip(("lower", "upper"), loaded.predict_interval(features, coverage).T))
    labels = loaded.classes_
    sets = loaded.predict_set(features, coverage)
    columns: dict[str, Any] = {"set": [" | ".join(str(label) for label in labels[own]) for own in sets]}
    if len(labels) == 2:
        columns |= dict(zip(("probability_lower", "probability_upper"), loaded.predict_proba_interval(features).T))
    return columns


def _predictions(rules: Model, found: Any, rows: pa.Table, exposure: str | None) -> dict[str, Any]:
    """Predictions by the name of their column, which says of counts whether they are rates or expected counts."""
    if exposure is not None:
        return {EXPECTED: found * exposures_of(rows, exposure)}
    return {"prediction" if rules.exposure is None else f"prediction_per_{rules.exposure}": found}


def survival_columns(model: Model, features: pa.Table, at: str) -> dict[str, Any]:
    """The probability of no event until each of some times, by the name of its column."""
    if not model.family.has_hazard:
        raise typer.BadParameter("is for survival, and this model predicts something else.", param_hint="--at")
    words = [word.strip() for word in at.split(",")]
    try:
        times = np.array([float(word) for word in words])
    except ValueError:
        times = np.array([-1.0])
    if not (np.isfinite(times) & (times >= 0)).all():
        raise typer.BadParameter(f"times from 0 on, such as 365,730, got '{at}'.", param_hint="--at")
    found = model.required_survival.hazard.survival(model.scores(features), times)
    return {f"survival_{word}": column for word, column in zip(words, found.T)}


def is_parquet(output: FilePath | None) -> TypeGuard[FilePath]:
    """Whether predictions go to a Parquet file."""
    return output is not None and output.suffix.lower() == ".parquet"


def check_replaced(output: Path | None) -> None:
    """Complain about a table that is no table of predictions, and that predictions would replace."""
    if output is None or not output.is_file() or not output.stat().st_size:
        return
    if is_parquet(output):
        try:
            names = pq.read_schema(output).names
        except (OSError, pa.ArrowException):  # no Parquet, which is said elsewhere
            return
    else:
        with output.open(encoding="utf-8", errors="replace") as file:
            names = [name.strip(' "\r\n') for name in file.readline(1 << 20).split(",")]
    if "prediction" not in names:
        raise typer.BadParameter(
            f"'{output}' has no column 'prediction', and writing there would destroy it. Give another name.",
            param_hint="--output",
        )


def csv_text(table: pa.Table, *, header: bool, spreadsheet: bool) -> str:
    """Rows of a CSV file, with its header or without."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    cell = _disarm if spreadsheet else _as_it_is
    if header:
        writer.writerow(map(cell, table.column_names))
    writer.writerows(zip(*(map(cell, column.to_pylist()) for column in table.columns)))
    return text.getvalue()


def _as_it_is(value: Any) -> Any:
    return value


def _disarm(value: Any) -> Any:
    """A value that no spreadsheet takes for a formula: text that begins like one gets an apostrophe, numbers do not."""
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


@dataclass(frozen=True)
class Expected:
    """The expected count of a row: its rate times its exposure."""

    target: str
    rate: float
    exposure: float
    unit: str

    @property
    def count(self) -> float:
        """The rate times the exposure."""
        return self.rate * self.exposure

    def __str__(self) -> str:
        rate, count = (format_number(value, 4) for value in (self.rate, self.count))
        return one_line(f"expected {self.target}: {rate} × {self.exposure:.15g} {self.unit} = {count}")


def expected_count(rules: Model, row: pa.Table, given: str | None, rate: Any) -> Expected | None:
    """The expected count of one row, where the model predicts rates and the row has an exposure."""
    exposure = exposure_of(rules, given)
    if exposure is not None:
        check_column(row, exposure, "exposure")
    elif rules.exposure is None or rules.exposure not in row.column_names:
        return None
    unit = exposure or str(rules.exposure)
    return Expected(rules.target_column, float(rate), float(exposures_of(row, unit)[0]), unit)


# ---------------------------------------------------------------------------------------------------------------- files


class Write(Protocol):
    """Takes rows to be written, batch after batch."""

    def __call__(self, table: pa.Table) -> None: ...


def predict_rows(
    loaded: Any,
    name: str,
    output: FilePath | None,
    keep: list[str] | None,
    wanted: Wanted,
    *,
    spreadsheet: bool,
    paths: Sequence[FilePath] | None = None,
) -> None:
    """Write predictions for the rows of a table or of all files: to one file, or for each file to one in a folder."""
    rules = model_of(loaded)
    to_csv = not is_parquet(output) and not (output and not output.suffix)
    typed = split_names(keep)
    others = [own for own in typed if own not in rules.columns and own != wanted.exposure]
    numbers = [] if wanted.exposure is None else [wanted.exposure]
    kept, known = kept_columns(rules, typed if to_csv else [], numbers)
    found = sources(rules, name, others if to_csv else [], known, others, paths)
    wanted = wanted._replace(keep=names_of(found[0].schema.names, keep, "--keep"), written=kept)
    for source in found:
        with about(source.name):
            for own in wanted.keep:
                check_name(source.schema.names, own, "option --keep")
            if wanted.exposure is not None:
                check_name(source.schema.names, wanted.exposure, "exposure")
    columns = []
    for source in found:
        with about(source.name):
            columns.append(needed_columns(rules, source, wanted.others))
    inputs = [source.path for source in found if source.path is not None]
    if output is None or output.suffix or not inputs:
        with open_output(output, inputs, spreadsheet=spreadsheet) as write:
            for source, names in zip(found, columns):
                _predict(loaded, source, names, wanted, write)
        return
    targets = _outputs(inputs, output)
    for target in targets:
        if isinstance(target, Path):
            target.parent.mkdir(parents=True, exist_ok=True)
            check_output(target, "--output", inputs, PARQUET)
    for source, names, target in zip(found, columns, targets):
        if source.n_rows:
            with open_output(target, inputs, spreadsheet=spreadsheet) as write:
                _predict(loaded, source, names, wanted, write)
    n_written = sum(source.n_rows > 0 for source in found)
    tell_aside(
        f"{n_written:,} {'file' if n_written == 1 else 'files'} with {sum(s.n_rows for s in found):,} rows: {output}"
    )


def _predict(loaded: Any, source: Source, columns: Sequence[str], wanted: Wanted, write: Write) -> None:
    for part, table in source.read(columns):
        with about(part):
            predicted = predict_table(loaded, table, wanted)
        write(predicted)


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


@contextmanager
def open_output(output: FilePath | None, inputs: Sequence[FilePath], *, spreadsheet: bool) -> Iterator[Write]:
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

"""A model and a table in, predictions in a file or on standard output out; and the truth that options name.

The truth are targets and weights, by default of the columns that the model remembers.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import typer

from pysirus._data.column import DataError
from pysirus._data.elsewhere import FilePath
from pysirus._data.read import KnownColumns, as_known, check_column, list_names
from pysirus._data.recipe import is_text
from pysirus._families.read import exposures_of, rates_of
from pysirus._model.model import Model
from pysirus._runtime.console import warn_user
from pysirus._runtime.output import write_text, writing
from pysirus._text.format import format_number, one_line
from pysirus._use.groups import GroupMetrics, group_metrics
from pysirus._use.score import Rows
from pysirus.cli._show import model_of
from pysirus.cli._streams import print_data
from pysirus.cli._table import is_files, open_table, times_of, weights_of
from pysirus.engine.backends.parquet import known_columns

EXPECTED = "expected_count"  # the column of rates times exposures
# how a formula begins: the last four are the same signs at full width
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def features_of(table: pa.Table, model: Model) -> pa.Table:
    """The columns that the model asks for; others, such as the target, are left out."""
    if not model.named:
        return table
    wanted = dict.fromkeys(model.schema.column_of(model.features[i]) for i in sorted(model.needed))
    absent = [name for name in wanted if name not in table.column_names]
    if absent:
        raise DataError(
            f"The model needs {'a column' if len(absent) == 1 else 'columns'} that the table does not have: "
            f"{list_names(absent)}. The table has: {list_names(table.column_names)}."
        )
    return table.select([name for name in model.columns if name in table.column_names])


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
            names = pyarrow.parquet.read_schema(output).names
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


def write_predictions(table: pa.Table, output: Path | None, *, spreadsheet: bool) -> None:
    """Write columns as a whole or not at all; for a spreadsheet, text that it would run as a formula is quoted."""
    if is_parquet(output):
        with writing(output) as file:
            pyarrow.parquet.write_table(table, file)
        return
    text = csv_text(table, header=True, spreadsheet=spreadsheet)
    if output is None:
        print_data(text)
    else:
        write_text(output, text)


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


class Truth(NamedTuple):
    """Where the truth of a table stands: names of columns as typed, by default those of the model."""

    target: str | None = None
    weights: str | None = None
    time: str | None = None
    event: str | None = None
    exposure: str | None = None
    unweighted: bool = False

    def of(self, rules: Model) -> Columns:
        """The columns for a model."""
        if rules.family.has_hazard:
            if self.target is not None:
                raise typer.BadParameter("is not for survival: give --time and --event.", param_hint="--target")
            target, event = self.time or rules.target_column, self.event or rules.required_survival.event
            return Columns(target, event, None, *self._weights(rules))
        for given, option in ((self.time, "--time"), (self.event, "--event")):
            if given is not None:
                raise typer.BadParameter("is for survival, and this model predicts something else.", param_hint=option)
        exposure = exposure_of(rules, self.exposure) or rules.exposure
        return Columns(self.target or rules.target_column, None, exposure, *self._weights(rules))

    def shown(self, rules: Model, table: pa.Table) -> dict[str, Any]:
        """Targets and weights for a report; nothing where nobody named them and the table lacks some."""
        columns = self.of(rules)
        absent = columns.weights if columns.remembers_weights and columns.weights not in table.column_names else None
        columns = columns if absent is None else replace(columns, weights=None)
        named = any(name is not None for name in (self.target, self.weights, self.exposure))
        if not named and (not columns.are_in(table) or columns.target in rules.columns):
            return {}
        if absent is not None:
            warn_user(f"The table has no column '{absent}', the model's weights: its rows are not weighted by them.")
        y, weights = columns.response(table)
        return {"y": y} if weights is None else {"y": y, "sample_weight": weights}

    def _weights(self, rules: Model) -> tuple[str | None, bool]:
        """The column of weights, and whether the model remembers it."""
        if self.weights is not None and self.unweighted:
            raise typer.BadParameter("give --sample-weight or --unweighted, not both.", param_hint="--sample-weight")
        if self.weights is not None or self.unweighted or rules.roles is None:
            return self.weights, False
        return rules.roles.weights, True


@dataclass(frozen=True)
class Columns:
    """The columns of a table that have the truth."""

    target: str  # of survival the times
    event: str | None
    exposure: str | None
    weights: str | None
    remembers_weights: bool = False  # nobody typed them

    @property
    def names(self) -> list[str]:
        """All of them, the target first."""
        return [name for name in (self.target, self.event, self.exposure, self.weights) if name is not None]

    @property
    def weighted_by(self) -> str | None:
        """By what rows are weighted, in words."""
        return " × ".join(name for name in (self.exposure, self.weights) if name is not None) or None

    def kinds(self, rules: Model) -> tuple[list[str], list[str]]:
        """Those that are text in a text file, and those that are numbers."""
        numbers = [name for name in (self.exposure, self.weights) if name is not None]
        labels = rules.family.classes
        if not labels:
            return [], [self.target, *numbers]
        return [self.target] if any(isinstance(label, str) for label in labels) else [], numbers

    def check(self, table: pa.Table) -> None:
        """Complain of the first that the table does not have."""
        if self.remembers_weights and self.weights is not None and self.weights not in table.column_names:
            raise typer.BadParameter(
                f"the model was learned with the sample weights '{self.weights}', a column that the table does not "
                f"have (it has {list_names(table.column_names)}). Name another one; `score` also takes --unweighted.",
                param_hint="--sample-weight",
            )
        check_column(table, self.target, "target" if self.event is None else "event time")
        for name, role in ((self.event, "event"), (self.exposure, "exposure"), (self.weights, "sample weights")):
            if name is not None:
                check_column(table, name, role)

    def are_in(self, table: pa.Table) -> bool:
        """Whether the table has all of them."""
        return set(self.names) <= set(table.column_names)

    def response(self, table: pa.Table) -> tuple[Any, Any]:
        """Targets and weights of a table that has them: of counts with an exposure rates, and exposures as weights."""
        self.check(table)
        weights = None if self.weights is None else weights_of(table, self.weights)
        if self.event is not None:
            return times_of(table, self.target, self.event), weights
        if self.exposure is None:
            return table[self.target], weights
        return rates_of(table, self.target, self.exposure, self.weights)

    def read(self, rules: Model, table: pa.Table, name: str | None = None) -> Rows:
        """Features, targets and weights of a table."""
        y, weights = self.response(table)
        features = features_of(table if rules.named else table.drop_columns(list(dict.fromkeys(self.names))), rules)
        return Rows(features, y, weights, name)


def time_column(table: pa.Table, rules: Model, given: str | None) -> str | None:
    """The column of the times of rows: one that was named, or the model's own where the table has it."""
    own = None if rules.roles is None else rules.roles.time
    name = given or (own if own in table.column_names else None)
    if name is not None:
        check_column(table, name, "time")
    return name


MOST_APART = 12  # distinct numbers that are groups of their own, where numbers are taken in bands


def _in_bands(values: list[Any]) -> tuple[list[Any], list[str]]:
    """Numbers of many values as the band that each is in, a quarter of the rows; and the bands in order.

    Other values, and numbers of few, stay as they are, and have no order.
    """
    known = [value for value in values if isinstance(value, (int, float)) and value == value]
    distinct = set(known)
    if len(distinct) <= MOST_APART or len(known) < sum(value is not None and value == value for value in values):
        return list(values), []
    edges = np.unique(np.quantile(known, (0.25, 0.5, 0.75)))
    bands = [sorted(v for v in distinct if np.searchsorted(edges, v) == k) for k in range(len(edges) + 1)]
    names = [f"{own[0]:.6g} to {own[-1]:.6g}" if own else "" for own in bands]
    of_value = {value: names[k] for k, own in enumerate(bands) for value in own}
    return [of_value.get(value) for value in values], [name for name in names if name]


def score_groups(rules: Model, table: str, truth: Columns, by: str, *, banded: bool = False) -> GroupMetrics:
    """Metrics of the groups that a column makes of the rows that have a target; numbers may be banded."""
    if is_files(table):
        raise typer.BadParameter("takes one table, and this is a folder or a pattern of files.", param_hint="--by")
    text, numbers = truth.kinds(rules)
    others = [] if by in rules.columns else [by]
    rows = open_table(table, rules, labels=others, text=[*text, *others], known=known_columns(rules, numbers))
    check_column(rows, by, "option --by")
    check_column(rows, truth.target, "target")
    own = truth.read(rules, rows.filter(pc.is_valid(rows[truth.target])))
    groups = rows.filter(pc.is_valid(rows[truth.target]))[by].to_pylist()
    groups, order = _in_bands(groups) if banded else (groups, [])
    return group_metrics(rules, own.X, own.y, own.weights, groups, by, order)


def exposure_of(rules: Model, given: str | None) -> str | None:
    """The exposure that was typed, once it is found that the model predicts rates."""
    if given is not None and rules.exposure is None:
        raise typer.BadParameter(
            f"the model was learned without an exposure: it predicts '{rules.target}' as it is. Leave the option out.",
            param_hint="--exposure",
        )
    return given


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


def existing(path: Path | None, option: str) -> Path | None:
    """A path that was typed, once it is found that it is a file."""
    if path is not None and not path.is_file():
        raise typer.BadParameter(f"there is no file '{path}'.", param_hint=option)
    return path


def result_of(path: Path | None, option: str) -> Any:
    """What another command printed as JSON."""
    import json

    if existing(path, option) is None:
        return None
    assert path is not None
    key = {"--evidence": "expected_return", "--monitoring": "verdict"}[option]
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or key not in found:
        raise typer.BadParameter(f"'{path}' is not what that command prints with --json.", param_hint=option)
    return found

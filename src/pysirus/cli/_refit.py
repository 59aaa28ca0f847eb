"""A fitted model and a table in, the same recipe fitted to the table out."""

from __future__ import annotations

from typing import Any

from pysirus._data.column import DataError
from pysirus._data.read import list_names
from pysirus._model.model import Model
from pysirus._text.format import in_quotes
from pysirus._use.score import Rows
from pysirus.cli._show import model_of
from pysirus.cli._table import FileTraining, Roles, Training, is_files, open_files, open_table, open_training
from pysirus.estimators.recipe import fresh_estimator

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
        return open_training(table, None, given._replace(task="auto", time=rules.target_column, event=told))
    if is_files(table):
        own = {*rules.columns, rules.target_column, given.weights, given.exposure, given.groups}
        others = [in_quotes(name) for name in _names(rules, table) if name not in own] if rules.named else []
        return open_files(table, rules.target_column, given._replace(drop=others), MEMORY)
    return open_training(table, rules.target_column, given)

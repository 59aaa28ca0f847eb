"""A fitted model and a table in, the same recipe fitted to the table out."""

from __future__ import annotations

from typing import Any

import typer
from sklearn.base import clone

from pysirus._model.model import Model
from pysirus.cli._show import model_of
from pysirus.cli._table import FileTraining, Roles, Training, is_files, open_files, open_training

MEMORY = 1 << 30


def fit_like(loaded: Any, table: str, *, jobs: int | None = None) -> Any:
    """The estimator of a model file, fitted to another table with its settings and seed."""
    if isinstance(loaded, Model):
        raise typer.BadParameter(
            "the file has rules and weights, and does not say with which settings they were learned (it was edited, or "
            "saved without its estimator). Give the file that `fit` wrote.",
            param_hint="MODEL",
        )
    rules = model_of(loaded)
    estimator = clone(loaded)
    estimator.set_params(random_state=rules.facts.seed, verbose=0)
    if jobs is not None:
        estimator.set_params(n_jobs=jobs)
    training = _rows_of(rules, estimator, table)
    if isinstance(training, Training):
        kept = [name for name in training.features.column_names if name in rules.columns]
        training = training._replace(features=training.features.select(kept))
    training.fit(estimator)
    return estimator


def _rows_of(rules: Model, estimator: Any, table: str) -> Training | FileTraining:
    """The training rows, read as the model's own were."""
    roles, family = rules.roles, rules.family
    categorical = [name for name in getattr(estimator, "categorical_features", None) or () if isinstance(name, str)]
    task = "classification" if family.shape else "regression"
    given = Roles(
        categorical=categorical or None,
        weights=None if roles is None else roles.weights,
        exposure=None if roles is None else roles.exposure,
        groups=None if roles is None else roles.groups,
        strict=not estimator.prepare,
        task=task,
    )
    if family.has_hazard:
        event = rules.required_survival.event_value
        told = rules.required_survival.event if event is None else f"{rules.required_survival.event}={event}"
        return open_training(table, None, given._replace(task="auto", time=rules.target_column, event=told))
    if is_files(table):
        return open_files(table, rules.target_column, given, MEMORY)
    return open_training(table, rules.target_column, given)

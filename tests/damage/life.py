"""A model file in, all that can be done with its model: nothing of it may fail.

What is refused with a message that says why is no failure: a format that cannot hold a level (``ExportError``), weights
that cannot be fitted again because the model keeps no sums (``ValueError`` of ``without`` and ``with_rules``).
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from sklearn.base import clone

import pysirus
from pysirus._use.effect import effect
from pysirus.export import FORMATS, ExportError
from pysirus.export._addends import listing_of

NO_SUMS = (
    "This model keeps no sums",
    "The rules of this model have unequal weights",
    "This model does not keep its likelihood",
    "Give X and y, the training rows",
)


class Failure(Exception):
    """A step in the life of a loaded model that raised, or answered wrongly."""


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """A step; whatever it raises is a failure with its name."""
    try:
        yield
    except Failure:
        raise
    except Exception as error:
        raise Failure(f"{name}: {type(error).__name__}: {error}") from error


def ensure(holds: Any, what: str) -> None:
    """Complain where something does not hold."""
    if not holds:
        raise Failure(what)


def rows_for(model: Any) -> Any:
    """Rows that the model's columns allow for: around every threshold, every level, missing and unseen ones."""
    columns: dict[str, Any] = {}
    for i, feature in enumerate(model.features):
        if feature.kind == "numeric":
            ends = {e for r in model.selected for c in r.conditions if c.index == i for e in (c.lower, c.upper)}
            known = sorted(ends - {None}) or [0.0]
            columns[feature.name] = [*known, *np.nextafter(known, -np.inf).tolist(), np.nan, -1.0, 3.5]
        else:
            unseen = {str: "never seen", bool: None}.get(type(next(iter(feature.levels), 0)), 987654321)
            columns[feature.name] = [*feature.levels, unseen, None]
    n_rows = max(24, *map(len, columns.values()))
    filled = {name: [values[(7 * i) % len(values)] for i in range(n_rows)] for name, values in columns.items()}
    if model.recipe is not None:
        return raw_rows_for(model.recipe, filled, n_rows)
    if not model.named:
        numeric = all(feature.kind == "numeric" for feature in model.features)
        return np.array(list(filled.values()), dtype=np.float64 if numeric else object).T
    kinds = {feature.name: np.float64 if feature.kind == "numeric" else object for feature in model.features}
    return pd.DataFrame({name: pd.Series(values, dtype=kinds[name]) for name, values in filled.items()})


RAW = {
    "time": ["10:22:00", "3:05 pm", "x", None],
    "duration": [pd.Timedelta(hours=30), pd.NaT],
    "finite": [1.0, np.inf, np.nan],
}
DATES = ["2023-05-09", "09.05.2023 10:00", "5/31/23", "9 May 2024", "tomorrow", None]
MOMENTS = ["2023-05-09T10:00:00+05:00", "2024-02-29T23:59:59Z", "2024-05-09 00:30:00-03:30", "tomorrow", None]


def raw_values(own: Any) -> list[Any]:
    """Values of a column as the recipe has them: other marks of numbers, and moments of no zone, are refused."""
    if own.take == "number":
        form = own.form
        whole, half = f"1{form.thousands}234{form.decimal}50", f"{form.decimal}5 {form.unit}"
        return [whole, half, "7", "12 light-years", "x", None]
    return RAW.get(own.take, MOMENTS if own.zone else DATES)


def raw_rows_for(recipe: Any, features: dict[str, list[Any]], n_rows: int) -> Any:
    """The columns of a table that a recipe makes features of; those that are set aside are not there."""
    derived = {own.column: own for own in recipe.derived if own.take != "group"}
    columns = {}
    for name in recipe.columns:
        if name in derived:
            values = raw_values(derived[name])
            columns[name] = [values[i % len(values)] for i in range(n_rows)]
        elif name in features:
            columns[name] = features[name]
    return pd.DataFrame(columns)


def answers(model: Any, X: Any) -> np.ndarray:
    """Predictions or class shares: finite, and labels that are among the classes."""
    rules = model._as_model()
    labels = model.predict(X)
    if rules.classes is None:
        found = labels
    else:
        found = model.predict_proba(X)
        ensure(set(labels.tolist()) <= set(rules.classes), "predict: a label that is no class")
    ensure(np.isfinite(found).all(), "predict: not finite")
    if rules.survival is not None:
        alive = model.predict_survival_function(X, return_array=True)
        ensure(((alive >= 0) & (alive <= 1)).all(), "survival: no probabilities")
        ensure((np.diff(alive, axis=1) <= 0).all(), "survival: rises")
        ensure(np.isfinite(model.predict_survival_function(X)[0](1.0)), "survival: no function")
    return found


def look(loaded: Any, model: Any) -> None:
    """Everything that prints."""
    from pysirus.cli._show import print_facts, print_model

    for text in (str(loaded), repr(loaded), loaded._repr_html_(), str(model.selected), model.rules._repr_html_()):
        ensure(text, "repr: empty")
    model.selected.to_frame()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        print_model(model)
        print_facts(model)
    if loaded is not model:
        clone(loaded)
        if model.tuning is not None:
            ensure(len(loaded.models_) == len(model.tuning.sizes), "models_: not as many as sizes")
            loaded.path_.to_frame()


def explain(model: Any, X: Any, expected: np.ndarray) -> None:
    """The parts of the predictions, and effects."""
    explanation = model.explain(X)
    scale = 1e-9 * (1 + np.abs(explanation.contributions).sum() + np.abs(explanation.baseline).sum())
    ensure(np.abs(explanation.prediction - expected).max() <= scale, "explain: parts do not add up")
    for text in (str(explanation), str(explanation.centred()), str(explanation[0])):
        ensure(text, "explain: empty")
    explanation.to_frame()
    model.feature_importance()
    for feature in model.features:
        ensure(np.isfinite(effect(model, feature.name, X).values).all(), "effect: not finite")


def is_readable(model: Any, row: dict[str, Any]) -> bool:
    """Whether the exported function reads the dates of a row: text must be in ISO form there."""
    derived = () if model.recipe is None else model.recipe.derived
    dates = {own.column for own in derived if own.take not in ("group", "number", *RAW)}
    texts = [value for name, value in row.items() if name in dates and isinstance(value, str)]
    return all(re.match(r"\d{4}-\d\d-\d\d", text) for text in texts)


def by_python(model: Any, source: str, X: Any, expected: np.ndarray) -> None:
    """Run the exported function and compare."""
    space: dict[str, Any] = {}
    exec(compile(source, "exported", "exec"), space)
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f.name for f in model.features])
    answered = [is_readable(model, row) for row in table.to_dict("records")]
    rows = [row for row, own in zip(table.to_dict("records"), answered) if own]
    ensure(rows, "export python: no row to compare")
    if model.classes is None:
        found = [space["predict"](row) for row in rows]
    else:
        found = [list(space["predict_proba"](row).values()) for row in rows]
    far = np.abs(np.array(found) - expected[answered]).max(initial=0.0)
    ensure(far <= slack(model), "export python: answers otherwise")


def slack(model: Any) -> float:
    """How far an export may be from the model: not at all; with a link as far as sums of such size are rounded."""
    if model.link == "identity":
        return 0.0
    return 1e-12 * (1 + listing_of(model).size)


def export(model: Any, X: Any, expected: np.ndarray) -> int:
    """Every format; how many were refused."""
    refused = 0
    for format in FORMATS:
        for options in ({}, {"table": "t"}, {"dialect": "duckdb"}) if format == "sql" else ({},):
            with step(f"export {format}"):
                try:
                    content = model.export(format, **options)
                except ExportError:
                    refused += 1
                    continue
                ensure(content, f"export {format}: empty")
                if format == "python":
                    by_python(model, content, X, expected)
                elif format == "pmml":
                    ElementTree.fromstring(content)
                elif format == "json":
                    json.loads(content)
    return refused


def edit(model: Any, X: Any) -> None:
    """Shorter lists, and the difference to them."""
    longest = max([len(model.selected), *(s.n_rules for s in (model.tuning.sizes if model.tuning else ()))])
    edits = [(model.with_rules, k) for k in range(longest + 1)]
    edits += [(model.without, i + 1) for i in range(len(model.rules))]
    for change, argument in edits:
        with step(f"{change.__name__}({argument})"):
            try:
                edited = change(argument)
            except ValueError as error:
                ensure(str(error).startswith(NO_SUMS), f"{change.__name__}: {error}")
                kept = model.moments if model.link == "identity" else model.likelihood
                ensure(kept is None, f"{change.__name__}: has sums, but {error}")
                continue
            answers(edited, X)
            ensure(str(model.diff(edited)), "diff: empty")
            model.diff(edited).to_dict()


def live(path: Path, scratch: Path) -> int:
    """Load a file and do everything; raises what ``load`` raises, or a ``Failure``. How many exports were refused."""
    loaded = pysirus.load(path)
    model = loaded._as_model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of levels that training never saw
        warnings.simplefilter("error", RuntimeWarning)  # of numbers that overflow
        X = rows_for(model)
        with step("predict"):
            expected = answers(loaded, X)
        with step("look"):
            look(loaded, model)
        with step("explain"):
            explain(model, X, expected)
        with step("report"):
            ensure(loaded.report(X=X), "report: empty")
            ensure(loaded.report(), "report: empty")
        refused = export(model, X, expected)
        edit(model, X)
        with step("diff"):
            ensure(loaded.diff(loaded).stability == 1.0, "diff: a model differs from itself")
        with step("save"):
            loaded.save(scratch)
        with step("load again"):
            again = pysirus.load(scratch)
            ensure(np.array_equal(answers(again, X), expected), "load again: answers otherwise")
            ensure(str(again) == str(loaded), "load again: reads otherwise")
    return refused

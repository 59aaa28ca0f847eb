"""A model, and rows where its weights need them, in; what a browser fits it again from out; its editor in a notebook.

The page runs the scripts of a report that can be edited (``report.edit``). In a cell of a notebook it sends texts: a
state, a model file and a log. The file passes the checks that every model file passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._learn.by_likelihood import ByLikelihood
from pysirus._learn.training import MemoryTraining
from pysirus._model.agreement import check_document
from pysirus._model.file import ModelFileError, model_from_json, model_to_json
from pysirus._model.kinds import Damage, parse
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._runtime.console import warn_user
from pysirus._text.message import Parameter
from pysirus._use.estimate import other_rows, read_rows, training_on
from pysirus._use.estimate import weighing_of as table_of
from pysirus._weights.likelihood import SAMPLED, Patterns, responses_of

Floats = NDArray[np.float64]
WORKBENCH = "edit it in the workbench (pysirus workbench)"
PATTERNS = Parameter("with_patterns")
MISSING = "Widgets need anywidget: pip install pysirus[widget]."
LANGUAGES = ("en", "de")
IMPORT = re.compile(r'^import [^"]*"\./([\w.]+)";\n', re.MULTILINE)


def document_of(model: Model) -> dict[str, Any]:
    """The model file that a page edits."""
    if model.family.is_scored or model.moments is None:
        raise ParameterError(
            f"{Parameter('edit')} takes a model with squared error that keeps the sums of its weights. Others are "
            f"fitted again from rows: give {Parameter('with_patterns')} and the training rows, or {WORKBENCH}."
        )
    return model_to_json(model)


def patterns_of(model: Model, X: Any, y: Any, sample_weight: Any, name: Any = PATTERNS) -> dict[str, Any]:
    """Which rules hold together in which fold, with which response: what weights by likelihood are fitted from.

    ``name`` is what asks for them, as a message says it.
    """
    if X is None or y is None:
        raise ParameterError(f"{name} needs the training rows and their targets.")
    weighing = table_of(model)
    if not isinstance(weighing, ByLikelihood) or model.family.has_hazard:
        raise ParameterError(
            f"{name} is for classes, counts and amounts by likelihood. Squared error needs none; others: {WORKBENCH}."
        )
    terms = candidates_of(model)
    if not all(term.is_binary for term in terms):
        raise ParameterError(f"{name} takes rules alone: with slopes each row is a pattern of its own; {WORKBENCH}.")
    rows = read_rows(model, terms, X, y, sample_weight)
    training = training_on(model, terms, rows)
    if (reason := other_rows(model, list(model.selected), training)) is not None:
        raise ParameterError(f"{name} needs the rows that the model was fitted on, and these are others: {reason}.")
    if training.n_rows > SAMPLED:
        raise ParameterError(f"{name} takes up to {SAMPLED:,} rows, got {training.n_rows:,}; {WORKBENCH}.")
    patterns, response, loss = training.patterns(terms), rows.response, weighing.loss_of(rows.response)
    weights, answers = response.row_weights(), responses_of(response, loss)
    constant = np.broadcast_to(weighing.constant(patterns, response), answers.shape)
    most, deviance = (float(weights @ own(answers, constant) / weights.sum()) for own in (loss.losses, loss.deviances))
    return {
        "loss": loss.name,
        "power": loss.power,
        "n_scores": answers.shape[1],
        "spread": weighing.spread(training, training.moments(terms)),
        "most": most,
        "least": most - deviance / 2,
        "alone": _alone(training),
        **_cells(patterns, answers.shape[1]),
    }


def candidates_of(model: Model) -> list[Any]:
    """The terms that can be chosen from: those of the longest list that tuning looked at."""
    longer = model.tuning is not None and len(model.tuning.rules) >= len(model.selected)
    return list(model.tuning.rules if longer and model.tuning is not None else model.selected)


def _names(patterns: Patterns) -> list[str]:
    """Which rules hold in each entry, as hexadecimal digits, the first rule last."""
    words = patterns.arrays["bits"].reshape(len(patterns), -1)
    return [f"{sum(word << (64 * k) for k, word in enumerate(row)):x}" for row in words.tolist()]


def _responses(patterns: Patterns, n_scores: int) -> Floats:
    """The sum of the responses of each entry, [entry, score]."""
    arrays = patterns.arrays
    weight = arrays["weight"].astype(np.float64)
    if patterns.fixed is None:
        codes = arrays["class_code"][:, None] == (np.arange(n_scores) if n_scores > 1 else np.array([1]))
        return np.asarray(weight[:, None] * codes)
    high, low = arrays["sum"].astype(np.float64).T
    shift = patterns.fixed.centre * weight
    sums = patterns.fixed.restore(np.ldexp(high, 48) + low) + shift
    return np.where(np.abs(sums) <= 1e-12 * np.abs(shift), 0.0, sums)[:, None]  # what rounding leaves of zeros


def _cells(patterns: Patterns, n_scores: int) -> dict[str, Any]:
    """A line for each pattern: its name, then for each of its folds weight and responses."""
    numbers = np.column_stack([patterns.arrays["weight"], _responses(patterns, n_scores)])
    found = dict[str, dict[int, Floats]]()
    for name, fold, own in zip(_names(patterns), patterns.arrays["fold"].tolist(), numbers):
        folds = found.setdefault(name, {})
        folds[fold] = folds.get(fold, 0.0) + own
    lines = [
        [name, *(number for fold, own in folds.items() for number in (fold, *map(_short, own.tolist())))]
        for name, folds in found.items()
    ]
    return {"total": float(numbers[:, 0].sum()), "cells": lines}


def _short(value: float) -> float:
    return int(value) if value == int(value) else value


def _alone(training: MemoryTraining) -> int:
    """How many rows have a pattern of their own; a warning says so, since these are nearly rows."""
    holds = np.ascontiguousarray(training.binned.bins.T)
    _, sizes = np.unique(holds, axis=0, return_counts=True)
    alone = int((sizes == 1).sum())
    warn_user(
        f"The page holds which rules apply together, with the target: {len(sizes):,} patterns of {len(holds):,} rows. "
        f"{alone:,} of them are of one row, which is nearly the row itself. Pass the page on only to those who may see "
        "the rows."
    )
    return alone


def script_of(*names: str) -> str:
    """Modules and what they import as one script: what a module imports stands above it."""
    return "\n".join(_collected(names, {}).values())


def _collected(names: Iterable[str], found: dict[str, str]) -> dict[str, str]:
    for name in names:
        if name not in found:
            text = files("pysirus.report").joinpath(name).read_text(encoding="utf-8")
            _collected(IMPORT.findall(text), found)
            found[name] = re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.MULTILINE)
    return found


# --------------------------------------------------------------------------------------------------------------- widget


def widget_of(
    model: Model, rows: tuple[Any, Any, Any], language: str = "en", as_model: Callable[[Model], Any] = lambda own: own
) -> Any:
    """The editor of a model; ``as_model`` makes what its attribute ``model`` gives."""
    if language not in LANGUAGES:
        raise ParameterError(f"language must be one of {', '.join(LANGUAGES)}, got {language!r}.")
    kind = _kind()
    if not model.family.is_scored and model.moments is None:
        raise ParameterError(f"The widget fits weights again, and this model keeps nothing to do so; {WORKBENCH}.")
    patterns = patterns_of(model, *rows, name="The widget") if model.family.is_scored else None
    return kind(as_model, model, _document=model_to_json(model), _patterns=patterns, language=language)


@cache
def _kind() -> Any:
    """The class of the widget, whose library is imported only here."""
    try:
        import anywidget
        from traitlets import Any as Maybe
        from traitlets import Dict, Unicode
    except ImportError as error:
        raise ImportError(MISSING) from error

    class ListEditor(anywidget.AnyWidget):  # type: ignore[misc]
        """A list that is edited in a cell: ``model``, ``file`` and ``decisions`` are what was made of it."""

        _esm = script_of("widget.js") + "\nexport default { render };\n"
        _style = Unicode(_style()).tag(sync=True)
        _document = Dict().tag(sync=True)
        _patterns = Maybe(None).tag(sync=True)
        language = Unicode("en").tag(sync=True)
        state = Maybe(None).tag(sync=True)
        file = Unicode("").tag(sync=True)
        decisions = Unicode("").tag(sync=True)

        def __init__(self, as_model: Callable[[Model], Any], original: Model, **given: Any) -> None:
            super().__init__(**given)
            self._as_model, self._original = as_model, original

        @property
        def model(self) -> Any:
            """The list as it is in the cell now; where nobody changed it, as it was."""
            return self._as_model(model_of(self.file) if self.file else self._original)

    return ListEditor


def model_of(text: str) -> Model:
    """The model of a file that a page sent."""
    try:
        document = parse(text)
        check_document(document)
        return model_from_json(document)
    except (Damage, ValueError, TypeError, AttributeError) as error:
        raise ModelFileError(f"The page sent what is no model file: {str(error)[:200].rstrip('.')}.") from error


def _style() -> str:
    """The style of a report, for a root of its own: what it says of the page it says of the widget."""
    css = files("pysirus.report").joinpath("report.css").read_text(encoding="utf-8")
    css = re.sub(r":root(\[[^]]*\]|:not\([^)]*\))", r":host(\1)", css).replace(":root", ":host")
    return re.sub(r"^html \{", ":host { display: block; padding: .2rem .4rem;", css, flags=re.MULTILINE)

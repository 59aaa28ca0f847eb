"""A model in, what it knows of the columns of CSV files out: they are read by that, and not by what a few rows show."""

from __future__ import annotations

from collections.abc import Sequence

from pysirus._data.marks import POINT, KnownColumn
from pysirus._data.read import KnownColumns
from pysirus._model.model import Model


def text_columns(model: Model) -> list[str]:
    """The columns that were text when a model was learned."""
    return [feature.name for feature in model.features if any(isinstance(level, str) for level in feature.levels)]


def known_columns(model: Model, truth: Sequence[str] = ()) -> dict[str, KnownColumn]:
    """What a model knows of the columns of text files; ``truth`` are numbers besides its features."""
    if not model.named:
        return {}
    known = {name: KnownColumn(model.marks.get(name, POINT)) for name in truth}
    known |= {name: KnownColumn(form, needed=name in truth) for name, form in model.marks.items()}
    asked = model.columns_of(model.rules)
    for i, feature in enumerate(model.features):
        own = None if model.recipe is None else model.recipe.of(feature.name)
        form = model.marks.get(feature.name, POINT)
        is_text = own is not None and own.take != "finite"
        if is_text or any(isinstance(level, str) for level in feature.levels):
            known[model.schema.column_of(feature)] = KnownColumn()
        else:
            known[feature.name] = KnownColumn(form, feature.levels, needed=i in asked)
    return known


def kept_columns(model: Model, keep: Sequence[str], numbers: Sequence[str]) -> tuple[KnownColumns, KnownColumns]:
    """The features that are kept as they are written, and all columns that a model knows, these as text."""
    known = known_columns(model, numbers)
    kept = {name: known[name] for name in keep if name in model.columns and name in known}
    return kept, known | dict.fromkeys(kept, KnownColumn())

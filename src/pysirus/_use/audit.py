"""An edit in, a model with a line in its trail out: what was changed, by whom and why, the error before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pysirus._data.column import is_unicode
from pysirus._model.model import Model
from pysirus._parameters import ParameterError

Fitted = TypeVar("Fitted", bound=Model)


@dataclass(frozen=True)
class Note:
    """Why a model was edited, by whom and when, as far as it was said."""

    note: str | None = None
    by: str | None = None
    date: str | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not isinstance(value, str):
                raise ParameterError(f"{name} must be text or None, got {value!r}.")
            if value is not None and not is_unicode(value):
                raise ParameterError(f"{name} must be valid Unicode, got {value!r}.")


def with_trail(
    edited: Fitted, removed: Sequence[str], added: Sequence[str], note: Note, error: dict[str, Any] | None
) -> Fitted:
    """The edited model, whose facts end with this edit."""
    entry: dict[str, Any] = {"removed": list(removed), "added": list(added)}
    entry |= {name: value for name, value in vars(note).items() if value is not None}
    if error is not None:
        entry["error"] = error
    return replace(edited, facts=replace(edited.facts, edits=[*(edited.facts.edits or ()), entry]))


def errors_of(before: Model, after: Model, rows: tuple[Any, Any, Any] | None) -> dict[str, Any] | None:
    """The error before and after: on the rows that are given, or before, where tuning measured it."""
    if rows is not None:
        from pysirus._use.score import score

        name = before.family.edit_metric
        found = {when: score(model, *rows)[name] for when, model in (("before", before), ("after", after))}
        return {"name": f"{name} on the rows given", **found}
    if before.tuning is not None:
        return {"name": f"cross-validated {before.family.error_name}", "before": float(before.tuning.error)}
    return None


def trail_lines(model: Model) -> list[str]:
    """The trail for a reader, an edit a line."""
    lines = []
    for entry in model.facts.edits or ():
        parts = [f"{key} {'; '.join(entry[key])}" for key in ("removed", "added") if entry[key]]
        if "error" in entry:
            figures = [f"{when} {entry['error'][when]:.4g}" for when in ("before", "after") if when in entry["error"]]
            parts.append(f"{entry['error']['name']} {', '.join(figures)}")
        parts += [entry["note"]] if "note" in entry else []
        signed = ", ".join(entry[key] for key in ("by", "date") if key in entry)
        lines.append(" | ".join([*parts, signed] if signed else parts))
    return lines

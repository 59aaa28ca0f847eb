"""A model in, its model file as text out: what ``save`` writes and ``pysirus.load`` reads."""

from __future__ import annotations

from pysirus._model.file import document_text, model_to_json
from pysirus._model.model import Model


def to_json(model: Model) -> str:
    """The model file; docs/model-file.md describes it."""
    return document_text(model_to_json(model))

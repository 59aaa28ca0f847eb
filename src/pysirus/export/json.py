"""A model in, its model file as text out: what ``save`` writes and ``pysirus.load`` reads."""

from __future__ import annotations

import json

from pysirus._file import model_to_json
from pysirus._model import RuleModel


def to_json(model: RuleModel) -> str:
    """The model file; docs/model-file.md describes it."""
    return json.dumps(model_to_json(model), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

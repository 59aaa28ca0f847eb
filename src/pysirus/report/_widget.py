"""A model in, its editor in a cell of a notebook out; what somebody makes of the list there is read back as a model.

The page runs the scripts of a report that can be edited (``report.edit``) and sends texts: a state, a model file and a
log. The file passes the checks that every model file passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from pysirus._model.agreement import check_document
from pysirus._model.file import ModelFileError, model_from_json, model_to_json
from pysirus._model.kinds import Damage, parse
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus.report._editing import WORKBENCH, patterns_of, script_of

MISSING = "Widgets need anywidget: pip install pysirus[widget]."
LANGUAGES = ("en", "de")


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

"""A model in, the same model in the language of another system out: one file for each format.

Every export computes what ``predict`` computes, including missing values and unseen categories. Where a format cannot
say something, an ``ExportError`` names it.
"""

from __future__ import annotations

import importlib
import inspect
import os
from typing import Any

from pysirus._model.model import Model
from pysirus._runtime.output import DOCUMENT, MODEL, check_output, write_bytes, write_text, written
from pysirus.export._conditions import ExportError, check_derived
from pysirus.export.scorecard import kind_of

__all__ = ["FORMATS", "ExportError", "check_extra", "export", "format_of"]

# format -> endings of its files; the module (those of LISTS share one) and its function bear the name of the format
FORMATS: dict[str, tuple[str, ...]] = {
    "sql": (".sql",),
    "python": (".py",),
    "javascript": (".js", ".cjs"),
    "excel": (".xlsx",),
    "latex": (".tex",),
    "markdown": (".md",),
    "html": (".html", ".htm"),
    "json": (".json",),
    "pmml": (".pmml", ".xml"),
    "onnx": (".onnx",),
    "monitor": (".monitor.sql",),
    "scorecard": tuple(f".scorecard{ending}" for ending in (".txt", ".xlsx", ".html", ".sql", ".md", ".tex")),
}


DATED = ("sql", "monitor", "python", "excel")  # formats that know dates
LISTS = ("latex", "markdown", "html", "json")  # which are read, or hold the recipe: nothing is computed there
# formats that know a decision that is not the most likely class, by how the sums decide
DECIDED: dict[str, tuple[str, ...]] = dict.fromkeys(("shares", "softmax"), ("sql", *LISTS))
DECIDED["softmax"] = ("sql", "scorecard", *LISTS)
DECIDED["odds"] = ("sql", "python", "excel", "scorecard", *LISTS)
# format -> what needs which library, of the extra that has the name of the format
LIBRARIES = {
    "sql": ("SQL dialects", "sqlglot"),
    "monitor": ("SQL dialects", "sqlglot"),
    "excel": ("Excel workbooks", "openpyxl"),
    "onnx": ("ONNX models", "onnx"),
}


def check_extra(format: str, dialect: str | None = None) -> None:
    """Complain, before the work, about a library that is not there."""
    if format not in LIBRARIES or (format in ("sql", "monitor") and dialect is None):
        return
    what, library = LIBRARIES[format]
    try:
        importlib.import_module(library)
    except ImportError as error:
        raise ImportError(f"{what} need {library}: pip install pysirus[{format}].") from error


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The format that the ending of a file name suggests."""
    name = os.fspath(path).lower()
    endings = {ending: format for format, each in FORMATS.items() for ending in each if name.endswith(ending)}
    return endings[max(endings, key=len)] if endings else None


def kind_written(format: str, path: str | os.PathLike[str]) -> str | None:
    """What a file of a format is to those that it may replace: a workbook replaces a workbook."""
    if format == "json":
        return MODEL
    return None if os.fspath(path).lower().endswith(".xlsx") else DOCUMENT


def export(model: Model, format: str, path: str | os.PathLike[str] | None = None, **options: Any) -> str | bytes:
    """Write a model in another format.

    Parameters
    ----------
    model : Model
        The model.
    format : str
        One of ``FORMATS``.
    path : str or path, optional
        The file to write.
    **options
        What the format takes; see the function of its module, such as ``pysirus.export.sql.to_sql``.

    Returns
    -------
    content : str or bytes
        The content of the file. Where a file was written, or it is bytes, it shows as its ``path`` and ``size``.
    """
    if format not in FORMATS:
        raise ExportError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    module = "lists" if format in LISTS else format
    write = getattr(importlib.import_module(f"pysirus.export.{module}"), f"to_{format}")
    taken = list(inspect.signature(write).parameters)[1:]
    for name in options:
        if name not in taken:
            known = f"It takes {', '.join(taken)}." if taken else "It takes none."
            raise ExportError(f"The format {format} does not take this option: {name}. {known}")
    if format == "scorecard" and path is not None and "kind" not in options:
        options["kind"] = kind_of(path) or "text"
    if model.decision_rule is not None and format not in DECIDED[model.family.form]:
        raise ExportError(
            f"The model decides by costs or a rate, which {format} does not do for {model.family.kind_text}. Export it "
            "without (decide() takes that off), or predict in Python or SQL."
        )
    if format not in LISTS:
        check_derived(model, format, dates=format in DATED)
    if path is not None:
        check_output(path, kind=kind_written(format, path))
    content: str | bytes = write(model, **options)
    if path is not None:
        if isinstance(content, bytes):
            write_bytes(path, content)
        else:
            write_text(path, content)
    shown = path is None and isinstance(content, str)  # nobody asked for a file: it is the text that is wanted
    return content if shown else written(content, format, path)

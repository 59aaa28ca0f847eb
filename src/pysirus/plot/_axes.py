"""Axes in, axes out: what the figures share."""

from __future__ import annotations

import textwrap
from typing import Any

from pysirus._model.model import Model
from pysirus._parameters import ParameterError

INSIDE, OUTSIDE, BAR, UP, DOWN, GREY = "#1f5fa8", "#b9c6d8", "#5f83b0", "#2a7f62", "#c0504d", "#6b7280"


def pyplot() -> Any:
    """matplotlib, or a message that names the extra."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install pysirus[plot].") from error
    return plt


def plain(text: str) -> str:
    """Text without mathematics: a dollar sign in a column name is a dollar sign."""
    return text.replace("$", r"\$")


def two_lines(text: str) -> str:
    """A rule as a label: at most two lines, and without mathematics."""
    return plain("\n".join(textwrap.wrap(text, 48, max_lines=2, placeholder=" …", break_on_hyphens=False)))


def bare(ax: Any, *sides: str) -> None:
    """Hide the frame but for some sides."""
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(side in sides)


def class_number(model: Model, wanted: Any) -> int:
    """The number of the class to draw: the one wanted, else the positive one, of several the last."""
    classes = model.family.classes or ()
    if not classes:
        if wanted is not None:
            raise ParameterError(f"class_ is for classifiers; this model predicts numbers, got {wanted!r}.")
        return 0
    if wanted is None:
        return model.positive
    if wanted not in classes:
        raise ParameterError(f"class_ must be one of {', '.join(map(repr, classes))}, got {wanted!r}.")
    return classes.index(wanted)

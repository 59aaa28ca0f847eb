"""Names in, names that fit a line out: the middle of a long one is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pysirus._plain import one_line

LABELS = (24, 14, 8)  # characters of a class in a line of the default view
FOLD = "…"  # stands for the middle of a long name


def fold_middle(text: str, longest: int | None) -> str:
    """A text cut to ``longest`` characters by leaving out its middle."""
    if longest is None or len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}{FOLD}{text[len(text) - tail :]}"


def fold_labels(classes: Sequence[Any] | None, longest: int | None) -> tuple[Any, ...] | None:
    """Classes as they are named in a line; numbers stay numbers."""
    if classes is None or longest is None:
        return None if classes is None else tuple(classes)
    return tuple(fold_middle(one_line(label), longest) if isinstance(label, str) else label for label in classes)

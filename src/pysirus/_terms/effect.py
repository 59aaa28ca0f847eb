"""What somebody says that a rule adds: as text in, as points of a score out.

``+2`` and ``-0.5`` add to numbers, or to the log-odds of the second of two classes; ``+0.7 for setosa`` adds to the
score of a class. ``×1.5`` (also ``x1.5``, ``*1.5``) multiplies a mean or a hazard. The rule adds it where it holds, and
nothing elsewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysirus._families.effect_scale import EffectScale
from pysirus._format import format_label, format_levels
from pysirus._message import PlainError, setting
from pysirus._plain import from_quotes, one_line

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
EFFECT = re.compile(rf"\s*(?:(?P<adds>[-+]\s*{NUMBER})|[×x*]\s*(?P<times>{NUMBER}))")


class EffectError(PlainError, ValueError):
    """An effect does not go with what is predicted; the message ends without a full stop."""


@dataclass(frozen=True)
class Effect:
    """What a rule adds, or multiplies, where it holds.

    Attributes
    ----------
    size : float
        The number that is added, or the factor.
    is_factor : bool
        Whether it multiplies.
    label : label or None
        The class whose score it adds to, if one is named.
    """

    size: float
    is_factor: bool = False
    label: Any = None

    def __str__(self) -> str:
        digits = repr(float(self.size)).removesuffix(".0")
        if self.is_factor:
            return f"×{digits}"
        text = digits if digits.startswith("-") else f"+{digits}"
        return text if self.label is None else one_line(f"{text} for {_label_text(self.label)}")

    def output(self, labels: Sequence[Any] | None) -> float | tuple[float, ...]:
        """What it adds to the score; of classes to each of their scores, in sum nothing."""
        if labels is None:
            return math.log(self.size) if self.is_factor else float(self.size)
        own = len(labels) - 1 if self.label is None else list(labels).index(self.label)
        part = self.size / len(labels)
        return tuple(self.size - part if k == own else -part for k in range(len(labels)))

    def settled(self, scale: EffectScale | None, labels: Sequence[Any] | None) -> Effect:
        """The effect, once it is known what is predicted; an ``EffectError`` where it does not go with it."""
        if scale is None:
            raise EffectError(
                f"with {setting('weighting', 'equal')} rules have no effect of their own; use "
                f"{setting('weighting', 'likelihood')}"
            )
        if scale.multiplies and not self.is_factor:
            raise EffectError(f"rules multiply {scale.name} here: write a factor, such as '×1.5', instead of '{self}'")
        if self.is_factor and not scale.multiplies:
            raise EffectError(
                f"rules add to {scale.name} here: write what it adds, such as '+0.5', instead of '{self}'"
            )
        found = self if self.label is None else self._for_label(labels)
        if self.label is None and labels is not None and len(labels) > 2:
            raise EffectError(f"say to which class it adds, such as '{self} for {_label_text(labels[0])}'")
        if self.is_factor and not self.size > 0:
            raise EffectError(f"a factor must be above 0, got '{self}'")
        points = abs(math.log(self.size) if self.is_factor else self.size)
        if not points <= scale.largest:
            raise EffectError(f"'{self}' is too large an effect: at most {scale.largest:g} may be added to the score")
        return found

    def _for_label(self, labels: Sequence[Any] | None) -> Effect:
        if labels is None:
            raise EffectError(f"'{self}' names a class, and numbers are predicted")
        for label in labels:
            if label == self.label and isinstance(label, str) == isinstance(self.label, str):
                return replace(self, label=label)
        for label in labels:
            if str(self.label).strip() in (str(label), one_line(str(label)), one_line(_label_text(label))):
                return replace(self, label=label)
        shown = one_line(format_levels(labels[:10]))
        raise EffectError(f"there is no class '{one_line(str(self.label))[:60]}'; the classes are {shown}")


def _label_text(label: Any) -> str:
    """A class as it is read; text with spaces about it, or none, in quotes."""
    return format_levels([label])[1:-1] if isinstance(label, str) else format_label(label)


def read_effect(text: str) -> Effect:
    """The effect that a text such as ``+2``, ``-0.5 for good`` or ``×1.5`` says."""
    found = EFFECT.match(text)
    label = None if found is None else text[found.end() :].strip()
    if found is None or (label and not label.startswith("for ")):
        raise ValueError(f"An effect is text such as '+2', '-0.5 for good' or '×1.5', got {text!r}.")
    return effect_of(found, label.removeprefix("for ").strip() if label else None)


def effect_of(found: re.Match[str], label: str | None) -> Effect:
    """What a match of ``EFFECT`` says, and the class that is named after it, in quotes or not."""
    label = label if label is None else from_quotes(label) or label
    if found["times"] is not None:
        return Effect(float(found["times"]), is_factor=True, label=label)
    return Effect(float("".join(found["adds"].split())), label=label)

"""Terms in, terms with outputs and a weight out, and what a required rule may be told to add.

An effect is text in, points of a score out: ``+2`` and ``-0.5`` add to a number, or to the log-odds of the second of
two classes; ``+0.7 for setosa`` adds to the score of a class. ``×1.5`` (also ``x1.5``, ``*1.5``) multiplies a mean or a
hazard. The rule adds it where it applies, and nothing elsewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.numeric import ColumnLine
from pysirus._families.links import EffectScale, Outcome, fold_labels, format_factors, median_texts
from pysirus._terms.term import LinearTerm, Term
from pysirus._terms.words import LINE
from pysirus._text.format import (
    format_label,
    format_levels,
    format_number,
    format_outputs,
    format_percent,
    from_quotes,
    one_line,
)
from pysirus._text.message import SafeTextError, setting

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
EFFECT = re.compile(rf"\s*(?:(?P<adds>[-+]\s*{NUMBER})|[×x*]\s*(?P<times>{NUMBER}))")


class EffectError(SafeTextError, ValueError):
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

    def resolved(self, scale: EffectScale | None, labels: Sequence[Any] | None) -> Effect:
        """The effect, once it is known what is predicted; an ``EffectError`` where it does not go with it."""
        if scale is None:
            raise EffectError(
                f"with {setting('weighting', 'equal')} rules have no effect of their own; use "
                f"{setting('weighting', 'likelihood')}"
            )
        if scale.multiplies and not self.is_factor:
            raise EffectError(f"rules multiply {scale.name}: write a factor such as '×1.5' instead of '{self}'")
        if self.is_factor and not scale.multiplies:
            raise EffectError(f"rules add to {scale.name}: write an amount such as '+0.5' instead of '{self}'")
        found = self if self.label is None else self._for_label(labels)
        if self.label is None and labels is not None and len(labels) > 2:
            raise EffectError(f"name the class that it is for, such as '{self} for {_label_text(labels[0])}'")
        if self.is_factor and not self.size > 0:
            raise EffectError(f"a factor must be above 0, got '{self}'")
        points = abs(math.log(self.size) if self.is_factor else self.size)
        if not points <= scale.largest:
            raise EffectError(f"'{self}' is too large an effect: at most {scale.largest:g} may be added to the score")
        return found

    def _for_label(self, labels: Sequence[Any] | None) -> Effect:
        if labels is None:
            raise EffectError(f"'{self}' names a class, and this model has none")
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


Self = TypeVar("Self", bound="FittedTerm")
Floats = NDArray[np.float64]


class Reading(Protocol):
    """How the terms of a model are read whose weighted sum is a score: what the data say, and what a term adds."""

    @property
    def adds_name(self) -> str: ...

    def outputs(self, rule: Any, *, named: bool = True, longest: int | None = None) -> tuple[str, str]: ...
    def mean_texts(self, rule: Any) -> tuple[str, str]: ...
    def adds(self, rule: Any) -> str: ...
    def added(self, rule: Any) -> tuple[Floats, Floats]: ...
    def shown_class(self, rule: Any) -> int: ...


LEAST_GAP = 1e-6  # between means that say how many rows are inside; below, rows are counted without their weights


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedTerm(Term):
    """A term of a model, or a candidate for one: the term itself, with what was learned of it.

    A class of terms has a class of fitted ones that is both (``FittedRule(FittedTerm, Rule)``), so that a rule of a
    model is a rule: it has its conditions, holds in rows, and equals any rule that reads the same.

    Attributes
    ----------
    frequency : float
        Proportion of the forest's trees that contain the path.
    inside, outside : float, tuple of float, or None
        Output where the value is 1 and where it is 0: of a rule the mean target (class proportions) of the training
        rows inside and outside. None for a candidate.
    n_inside, n_outside : int or None
        Training rows inside and outside.
    weight : float or None
        Weight in the model.
    classes : tuple or None
        The labels, for classification.
    stage : int
        1 for a rule about the target, 2 or more for a correction, whose outputs are mean residuals of the earlier
        stages (their prediction shrunk by a factor of 0.85).
    observed : tuple of two outputs, or None
        Of a correction of a score: the mean target (class proportions) inside and outside, which its outputs are not.
    given : bool
        Whether somebody gave the rule, rather than the forest. Its frequency is 1: it is in every list.
    effect : Effect or None
        What somebody says that a given rule adds where it holds. Its outputs are this and nothing, its weight is 1, and
        ``observed`` has the mean target.
    survival : tuple of two Outcome, or None
        Of times to an event: events and median time of the training rows inside and outside.
    returned : tuple of two int, or None
        Of a tuned list: in how many folds of all repetitions it was selected too, by lists of this size, and how many
        folds there were.
    reason : tuple of str
        What people are told where the term counts: one text, or one where it holds and one where it does not. Empty
        where nobody set it: then its conditions are told.
    """

    frequency: float = float("nan")
    inside: float | tuple[float, ...] | None = None
    outside: float | tuple[float, ...] | None = None
    n_inside: int | None = None
    n_outside: int | None = None
    weight: float | None = None
    classes: tuple[Any, ...] | None = None
    stage: int = 1
    observed: tuple[Any, Any] | None = None
    given: bool = False
    effect: Effect | None = None
    survival: tuple[Outcome, Outcome] | None = None
    returned: tuple[int, int] | None = None
    reason: tuple[str, ...] = ()

    def with_effect(self: Self, effect: str | Effect) -> Self:
        """The rule with what it adds: ``"+2"``, ``"-0.5 for good"`` or, as a factor, ``"×1.5"``."""
        return replace(self, effect=read_effect(effect) if isinstance(effect, str) else effect)

    # -------------------------------------------------------------------------------------------------------- numbers

    @property
    def means(self) -> tuple[Any, Any]:
        """What the data say: the mean target (class proportions) of the rows inside and outside."""
        return (self.inside, self.outside) if self.observed is None else self.observed

    def round_slope(self: Self, spread: float, *, multiplies: bool) -> Self:
        """The term with what it adds in the digits that matter; a rule is as it is."""
        return self

    def shift(self, line: ColumnLine) -> tuple[float, float]:
        """Of a slope its mean value over the training rows: as it was learned, and as predictions have it."""
        return 0.0, 0.0

    def answers(self, means: tuple[Floats, Floats], slope: Floats) -> tuple[Floats, Floats]:
        """What it answers at the values 1 and 0, given the means there and the least-squares slope between them."""
        return means

    def outputs(self, values: Floats) -> Floats:
        """Its output in each row, [row] or [row, class], its values there being given."""
        inside, outside = np.asarray(self.inside, dtype=np.float64), np.asarray(self.outside, dtype=np.float64)
        values = values.reshape(-1, *(1 for _ in inside.shape))
        return np.asarray(values * inside + (1 - values) * outside)

    @property
    def added(self) -> tuple[list[float], list[float]]:
        """What it adds to each sum inside and outside: weight times output."""
        weight, sides = self.weight or 0.0, (self.inside, self.outside)
        inside, outside = ([*side] if isinstance(side, tuple) else [float(side or 0.0)] for side in sides)
        return [weight * output for output in inside], [weight * output for output in outside]

    def added_from(self, average: Floats) -> tuple[Floats, Floats]:
        """What it adds inside and outside beyond what it adds on average, its average output being given."""
        weight = self.weight or 0.0
        inside, outside = (np.asarray(side, dtype=np.float64) for side in (self.inside, self.outside))
        return np.asarray(weight * (inside - average)), np.asarray(weight * (outside - average))

    def contributions(self, values: Floats) -> Floats:
        """What it adds in each row, its values there being given: weight times output."""
        return np.asarray((self.weight or 0.0) * self.outputs(values))

    @property
    def gap(self) -> float:
        """How far its outputs are apart; for classes the share that changes class."""
        gap = np.abs(np.asarray(self.inside) - np.asarray(self.outside))
        return float(gap.sum() / 2 if gap.ndim else gap)

    def average_output(self, mean: float | tuple[float, ...]) -> Floats:
        """The mean output over the training data, by weight, where ``mean`` is that of the target.

        Outputs are means of the response, inside and outside, so theirs is the mean of it. Those of a correction are
        means of residuals: of numbers they balance, of scores the part inside says how much they do. A fixed effect is
        measured from the rows where it is not.
        """
        every = np.asarray(mean, dtype=np.float64)
        if self.effect is not None:
            return np.zeros_like(every)
        if self.stage == 1:
            return every
        if self.observed is None:
            return np.zeros_like(every)
        inside, outside = (np.asarray(side, dtype=np.float64) for side in (self.inside, self.outside))
        part = self._part_inside(every)
        return np.asarray(part * inside + (1 - part) * outside)

    def _part_inside(self, mean: Floats) -> float:
        """The part of the training weight inside: so far from the mean outside to that inside lies the mean."""
        inside, outside = (np.atleast_1d(np.asarray(side, dtype=np.float64)) for side in self.means)
        gap = inside - outside
        k = int(np.abs(gap).argmax())
        if abs(gap[k]) > LEAST_GAP * (abs(inside[k]) + abs(outside[k])):
            return float(np.clip((np.atleast_1d(mean)[k] - outside[k]) / gap[k], 0.0, 1.0))
        return (self.n_inside or 0) / max(1, (self.n_inside or 0) + (self.n_outside or 0))

    # ---------------------------------------------------------------------------------------------------------- words

    @property
    def frequency_text(self) -> str:
        """How often its path occurs, or that it was given, and its effect too."""
        if self.effect is not None:
            return "given, fixed"
        return "given" if self.given else format_number(self.frequency, 3)

    @property
    def share_inside(self) -> float | None:
        """The share of the training rows that are inside; None where they were not counted."""
        if self.n_inside is None or self.n_outside is None:
            return None
        return self.n_inside / max(1, self.n_inside + self.n_outside)

    @property
    def support_text(self) -> str:
        """The training rows inside, in number and percent: ``198 (60%)``; nothing where they were not counted."""
        share = self.share_inside
        return "" if share is None else f"{self.n_inside:,} ({format_percent(share)})"

    @property
    def returned_text(self) -> str:
        """In how many folds it was selected again: ``9 of 10``; nothing where there were none."""
        return "" if self.returned is None else "{} of {}".format(*self.returned)

    @property
    def effect_text(self) -> str:
        """What stands before a rule whose effect is fixed, with a space behind it; else nothing."""
        return "" if self.effect is None else one_line(f"{self.effect} ")

    @property
    def text(self) -> str:
        """What is said of the rule where it is asked for: the conditions, and its effect if that is fixed."""
        return self.condition_text if self.effect is None else one_line(f"{self.effect} if {self.condition_text}")

    def said(self, holds: bool) -> str:
        """The reason that was set for it, or what is true of a row where it holds, or does not."""
        return self.reason[0 if holds else -1] if self.reason else super().said(holds)

    def read_by(self, reading: Reading | None, *, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """What a line says of it: outputs, or the means in the data; labels cut to ``longest`` characters."""
        if reading is not None:
            return reading.outputs(self, named=named, longest=longest)
        return self.texts_with(fold_labels(self.classes, longest))

    def adds_by(self, reading: Reading) -> str:
        """What it adds where it holds and elsewhere, as a column of the list says it."""
        return reading.adds(self)

    @property
    def line_values(self) -> dict[str, Any]:
        """The numbers of a line, of a term that has one: what a unit adds, and the range."""
        return {}

    @property
    def added_ends(self) -> tuple[Floats, Floats] | None:
        """What it adds at the upper and at the lower end of its range, of a term that has one."""
        return None

    def folded(self, width: int = LINE) -> str:
        """``text`` for display, at most ``width`` characters: long sets and names are shortened."""
        head = "" if self.effect is None else one_line(f"{self.effect} if ")
        return head + self.fold(width - len(head))

    @property
    def output_texts(self) -> tuple[str, str]:
        """What it answers inside and outside, as text: means, or of a correction of numbers residuals with a sign.

        A fixed effect on numbers is one too.
        """
        return self.texts_with(self.classes)

    def texts_with(self, classes: Sequence[Any] | None) -> tuple[str, str]:
        """``output_texts`` with these words for the classes."""
        if self.survival is not None:
            return median_texts(self.survival)
        if self.effect is not None and isinstance(self.inside, float) and isinstance(self.outside, float):
            return format_outputs(self.inside, self.outside, None, signed=True)
        inside, outside = self.means
        assert inside is not None and outside is not None
        return format_outputs(inside, outside, classes, signed=self.stage > 1 and self.observed is None)

    @property
    def has_sides(self) -> bool:
        """Whether a line says what it answers inside and outside: not of a candidate, nor of a fixed effect."""
        return self.inside is not None and self.effect is None

    def _sides(self, longest: int | None = None) -> tuple[str, str] | None:
        """Its outputs as text, class names cut to ``longest`` characters."""
        return self.texts_with(fold_labels(self.classes, longest)) if self.has_sides else None

    def line(self, conditions: str) -> str:
        """The rule in one line, with these words for its conditions."""
        if self.effect is not None:
            return one_line(f"{self.effect} if {conditions}")
        sides = self._sides()
        answer = "" if sides is None else one_line(f" then {sides[0]} else {sides[1]}{self._hazard_text()}")
        return f"if {conditions}{answer}"

    @property
    def file_text(self) -> str:
        """The term as model files describe it."""
        return self.line(self.condition_text)

    def __str__(self) -> str:
        head = self.effect_text
        return head + self.sentence(self._sides, LINE - len(head), self._hazard_text())

    @property
    def event_texts(self) -> tuple[str, str]:
        """Events and rows at risk inside and outside, of a survival model: ``192 of 310``."""
        if self.survival is None:
            return "", ""
        rows = (self.n_inside, self.n_outside)
        inside, outside = (f"{side.n_events} of {n}" for side, n in zip(self.survival, rows))
        return inside, outside

    def _hazard_text(self) -> str:
        """By what factors a rule of a survival model multiplies the hazard, inside and outside."""
        if self.survival is None or not self.weight:
            return ""
        sides = [self.weight * float(np.asarray(side)) for side in (self.inside, self.outside)]
        return f" (hazard {' / '.join(format_factors(sides))})"


def outputs_of(terms: Sequence[FittedTerm], shape: tuple[int, ...] = ()) -> tuple[Floats, Floats]:
    """Outputs inside and outside of a list, [term] or with ``shape`` [term, output]."""
    sides = ([term.inside for term in terms], [term.outside for term in terms])
    inside, outside = (np.array(side, dtype=np.float64).reshape(len(terms), *shape) for side in sides)
    return inside, outside


def bounds_of(terms: Sequence[FittedTerm]) -> Floats:
    """The largest sizes of their whole values, [term]."""
    return np.array([term.bound for term in terms], dtype=np.float64)


def units_of(terms: Sequence[FittedTerm]) -> Floats:
    """The units of their whole values, [term]."""
    return np.array([term.unit for term in terms], dtype=np.float64)


Part = FittedTerm | LinearTerm  # what the sums of a model are made of

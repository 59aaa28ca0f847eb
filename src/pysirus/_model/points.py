"""A rule of a model that adds up scores in, what the data say of it and what it adds out, as numbers and as text.

The outputs of a correction are residuals, not what the data say. So a rule is read by two pairs of numbers, inside and
outside: the mean target (class proportions), and the points that it adds to the score, from what it adds on average. Of
two classes the points are log-odds of the positive one, by default the second. Of more each class has a score, and the
class that moves most stands for the rule. Under a logarithm points are factors of the prediction, or of the hazard. Of
numbers in stages a rule is read by what it adds alone. All that is said of links in words is said here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._format import (
    decimals_for,
    format_label,
    format_number,
    format_outputs,
    format_pair,
    format_percents,
    format_shares,
)
from pysirus._model.hazard import Survival
from pysirus._model.link import Link, log_odds
from pysirus._plain import one_line
from pysirus._rules.outcome import format_factors, median_text, median_texts, unit_of
from pysirus._rules.rule import Rule
from pysirus._rules.words import LABELS, fold_labels, fold_middle

Floats = NDArray[np.float64]

START_DIGITS = 9  # of an intercept
LEAST_GAP = 1e-6  # between means that say how many rows are inside; below, rows are counted without their weights


@dataclass(frozen=True)
class Points:
    """How the rules of a model with a link are read."""

    link: Link
    mean: float | tuple[float, ...]  # of the target, or class proportions
    target: str
    classes: tuple[Any, ...] | None
    survival: Survival | None = None
    number: int = 1  # of the class that is spoken of, of two

    @property
    def positive(self) -> str | None:
        """The class whose log-odds the points are, as it is read in a sentence; None unless there are two."""
        return format_label(self.classes[self.number]) if self.classes and len(self.classes) == 2 else None

    def odds(self, scores: Floats) -> Floats:
        """Of two classes the log-odds of the positive one, [...]; of more, or without such a link, the scores."""
        if self.link != "softmax" or scores.shape[-1] != 2:
            return scores
        return log_odds(scores) if self.number == 1 else -log_odds(scores)

    @property
    def scale(self) -> str:
        """What points are measured in."""
        if self.link == "log":
            return f"logarithm of {one_line(self.target)}"
        if self.link == "hazard":
            return "logarithm of the hazard"
        return "score" if self.positive is None else f"log-odds of {one_line(self.positive)}"

    def average_output(self, rule: Rule) -> Floats:
        """The mean output of a rule over the training data, by weight.

        Outputs are means of the response, inside and outside, so theirs is the mean of it. Those of a correction are
        means of residuals: of numbers they balance, of scores the part inside says how much they do. A fixed effect is
        measured from the rows where it is not.
        """
        mean = np.asarray(self.mean, dtype=np.float64)
        if rule.effect is not None:
            return np.zeros_like(mean)
        if rule.stage == 1:
            return mean
        if rule.observed is None:
            return np.zeros_like(mean)
        inside, outside = (np.asarray(side, dtype=np.float64) for side in (rule.inside, rule.outside))
        part = self._part_inside(rule)
        return np.asarray(part * inside + (1 - part) * outside)

    def _part_inside(self, rule: Rule) -> float:
        """The part of the training weight inside a rule: so far from the mean outside to that inside lies the mean."""
        inside, outside = (np.atleast_1d(np.asarray(side, dtype=np.float64)) for side in rule.means)
        gap = inside - outside
        k = int(np.abs(gap).argmax())
        if abs(gap[k]) > LEAST_GAP * (abs(inside[k]) + abs(outside[k])):
            return float(np.clip((np.atleast_1d(self.mean)[k] - outside[k]) / gap[k], 0.0, 1.0))
        return (rule.n_inside or 0) / max(1, (rule.n_inside or 0) + (rule.n_outside or 0))

    def added(self, rule: Rule) -> tuple[Floats, Floats]:
        """What a rule adds to the score where it holds and elsewhere; of several classes a vector with one each."""
        weight, average = rule.weight or 0.0, self.average_output(rule)
        sides = [weight * (np.asarray(side, dtype=np.float64) - average) for side in (rule.inside, rule.outside)]
        inside, outside = map(self.odds, sides)
        return inside, outside

    def shown_class(self, rule: Rule) -> int:
        """The class that stands for a rule: of two the positive one, of more the one whose score moves most."""
        if self.classes is None or len(self.classes) <= 2:
            return self.number if len(self.classes or ()) == 2 else 0
        return int(np.abs(np.asarray(rule.inside) - np.asarray(rule.outside)).argmax())

    def outputs(self, rule: Rule, *, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """What the data say inside and outside, as text; of two classes the name may be left out.

        Names of classes take at most ``longest`` characters.
        """
        if rule.survival is not None:
            return median_texts(rule.survival, unit_of(self.target))
        if self.link == "identity":
            return self.added_texts(rule)
        inside, outside = rule.means
        if self.classes is None:
            return format_outputs(inside, outside, None)
        k = self.shown_class(rule)
        texts = format_percents(inside[k], outside[k])
        if named or self.positive is None:
            return f"{fold_middle(format_label(self.classes[k]), longest)} {texts[0]}", texts[1]
        return texts

    def adds(self, rule: Rule) -> str:
        """What a rule adds where it holds and elsewhere, as text: ``+1.20 / -2.78``."""
        return " / ".join(self.added_texts(rule))

    def added_texts(self, rule: Rule) -> tuple[str, str]:
        """The same, one text each; of several classes for the one that stands for the rule."""
        k = self.shown_class(rule)
        pair = [float(np.atleast_1d(side)[0 if side.ndim == 0 else k]) for side in self.added(rule)]
        return format_points(pair, self.link)

    @property
    def outcome_text(self) -> str:
        """What became of all training rows of a survival model: ``status: median 4.9 years, 299 events``."""
        assert self.survival is not None
        median, n_events = self.survival.median, self.survival.n_events
        shown = median_text(median) + (unit_of(self.target) if median is not None else "")
        return one_line(f"{self.survival.event_text}: median {shown}, {n_events} event{'s' if n_events != 1 else ''}")

    @property
    def adds_name(self) -> str:
        """What the column with what rules add is called; empty where there is none."""
        if self.link == "identity":
            return ""  # it is what stands after `then` and `else`
        return "hazard" if self.link == "hazard" else "adds"

    def start_line(self, intercept: Any) -> str:
        """From where predictions start, where the head says it with few digits or not at all; else nothing."""
        if self.classes is None and self.link == "identity":
            return ""
        values = [format_number(float(value), START_DIGITS) for value in np.atleast_1d(intercept)]
        if self.survival is not None:
            hazard = self.survival.hazard
            end = ""
            if len(hazard.times):
                last, total = (format_number(float(own[-1]), START_DIGITS) for own in (hazard.times, hazard.cumulative))
                mean = format_number(float(hazard.cumulative.mean()), START_DIGITS)
                end = f"; baseline hazard {total} until {last} ({mean} on average over {len(hazard.times)} times)"
            return f"score {values[0]} before the rules{end}"
        if self.classes is None:
            return f"logarithm of {one_line(self.target)} {values[0]} before the rules"
        named = (f"{one_line(format_label(label))} {value}" for label, value in zip(self.classes, values))
        what = "scores" if self.link == "softmax" else "shares"
        return f"{what} before the rules: {', '.join(named)}"

    def head(self, start: Floats) -> str:
        """A line that says what the list is about, and from which score on the points add up."""
        target = one_line(self.target)
        if self.link == "identity":
            return f"{target} = {format_number(float(start), 4)} + what each rule adds"
        if self.survival is not None:
            return f"{target} until {self.outcome_text}; each rule multiplies the hazard"
        if not isinstance(self.mean, tuple):
            decimals = decimals_for([self.mean], 0.0)
            return f"mean {target} = {self.mean:.{decimals}f}; each rule multiplies {target}"
        assert self.classes is not None
        if self.positive is None:
            shares = one_line(format_shares(self.mean, fold_labels(self.classes, LABELS[1]) or (), decimals=1))
            points = "; points add to the score of a class" if len(self.classes) > 2 else ""
            return f"{target} on average: {shares}{points}"
        own = self.classes[self.number]
        name = one_line(f"{target} = {own}" if isinstance(own, (bool, np.bool_)) else self.positive)
        share = f"probability of {name}: {100 * self.mean[self.number]:.1f}% on average"
        return f"{share}; points are log-odds of {name}, from {signed(float(start), 2)} on"


def format_points(points: Sequence[float], link: Link = "softmax") -> tuple[str, str]:
    """Two numbers of points as text, with a sign; under a logarithm as factors."""
    if link in ("log", "hazard"):
        first, second = format_factors(points)
        return first, second
    if link == "identity":
        return format_pair(points[0], points[1], signed=True)
    decimals = 2 if max(map(abs, points)) >= 0.01 else 4
    first, second = (signed(value, decimals) for value in points)
    return first, second


def signed(value: float, decimals: int) -> str:
    """A number with its sign; what rounds to zero has a plus."""
    return f"{round(value, decimals) + 0.0:+.{decimals}f}"

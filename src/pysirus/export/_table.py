"""A model in, the cells of its rule table out, as the paper prints it, with numbers: frequency, rule, weight.

A list with corrections has their stage in front. A model with a link has, instead of the weight, what a rule adds to
the score where it holds and elsewhere; of two classes the positive one is named once, above the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pysirus._format import decimals_for, format_label, format_number, format_outputs
from pysirus._model.model import Model
from pysirus._terms.outcome import median_text
from pysirus._terms.rule import Condition, Rule, RuleSet
from pysirus._terms.words import condition_parts
from pysirus.export._conditions import all_sums, is_odds

MAX_POINTS = 4  # classes whose points are named


@dataclass(frozen=True)
class ConditionText:
    """A condition around its feature: ``3 <= ``, ``x``, `` < 5 or missing``, and whether it takes brackets."""

    head: str
    feature: str
    tail: str
    bracket: bool = False

    def __str__(self) -> str:
        text = f"{self.head}{self.feature}{self.tail}"
        return f"({text})" if self.bracket else text


@dataclass(frozen=True)
class RuleRow:
    """One rule as text, without markup."""

    number: str
    frequency: str
    conditions: tuple[ConditionText, ...]
    inside: str
    outside: str
    numbers: tuple[str, ...]  # what stands right of the rule, under the names of ``number_names``
    stage: str = ""  # empty where no rule of the list is a correction


def _condition(condition: Condition, alone: bool) -> ConditionText:
    bracket = bool(condition.missing) and not condition.only_missing and not alone
    return ConditionText(*condition_parts(condition), bracket)


def _mean_texts(rule: Rule, model: Model) -> tuple[str, str]:
    """What the data say inside and outside; of two classes the share of the positive one, without its name."""
    if rule.survival is not None or is_odds(model):
        return model.family.outputs(rule, named=not is_odds(model))
    inside, outside = rule.means
    return format_outputs(inside, outside, model.classes)


def _points(added: Any, model: Model) -> str:
    """What a rule adds to the score, with a sign; of several classes the largest changes first."""
    values = np.atleast_1d(added)
    if len(values) == 1 or model.classes is None:
        return f"{values[0]:+.2f}"
    order = np.argsort(-np.abs(values), kind="stable")
    texts = [f"{format_label(model.classes[k])} {values[k]:+.2f}" for k in order[:MAX_POINTS]]
    return ", ".join(texts) + (", ..." if len(values) > MAX_POINTS else "")


def _row(number: int, rule: Rule, model: Model, staged: bool) -> RuleRow:
    assert rule.inside is not None and rule.outside is not None
    if model.link == "identity" and staged:  # what it adds is all there is to read
        inside, outside = model.family.added_texts(rule)
        numbers: tuple[str, ...] = ()
    elif model.link == "identity":
        shown = None if model.positive_class is None else model.positive
        inside, outside = RuleSet([rule], shown=shown).output_texts(rule)
        numbers = (format_number(rule.weight or 0.0, 2),)
    else:
        inside, outside = _mean_texts(rule, model)
        numbers = tuple(_points(side, model) for side in model.added(rule))
        if rule.survival is not None:
            numbers = (*model.family.added_texts(rule), *rule.event_texts)
    return RuleRow(
        number=str(number),
        frequency=rule.frequency_text if rule.given else format_number(rule.frequency, 2),
        conditions=tuple(_condition(c, len(rule.conditions) == 1) for c in rule.conditions),
        inside=inside,
        outside=outside,
        numbers=numbers,
        stage=str(rule.stage) if staged else "",
    )


def number_names(model: Model) -> tuple[str, ...]:
    """What stands right of the rules."""
    if model.survival is not None:
        return "hazard if so", "hazard if not", "events if so", "events if not"
    if model.link != "identity":
        return "points if so", "points if not"
    return () if model.is_staged else ("weight",)


def rule_rows(model: Model) -> list[RuleRow]:
    """The rules as text."""
    staged = model.is_staged
    return [_row(number, rule, model, staged) for number, rule in enumerate(model.rules, start=1)]


def rule_lines(rules: Iterable[Rule], model: Model) -> list[str]:
    """Rules in a line each, for the comments of a program."""
    read = model.read(RuleSet())  # once: it asks all rules of the model

    def line(rule: Rule) -> str:
        if rule.effect is not None:
            return f"{rule.text} ({rule.frequency_text})"
        if model.link == "identity":
            return read.rule_text(rule)
        inside, outside = _mean_texts(rule, model)
        points = " else ".join(_points(side, model) for side in model.added(rule))
        return f"if {rule.condition_text} then {inside} else {outside}: adds {points}"

    return [line(rule) for rule in rules]


def what_is_predicted(model: Model) -> str:
    """The target, or the risk score of an event."""
    if model.survival is None:
        return model.target
    return f"risk score of {model.survival.event_text} ({model.target}): logarithm of the hazard, 0 on average"


def link_lines(model: Model) -> list[str]:
    """What the numbers of a model with a link mean, for the comments of a program."""
    return [", ".join(f"{name} = {value}" for name, value in head_pairs(model))] if model.link != "identity" else []


def _score_pairs(model: Model) -> list[tuple[str, str]]:
    """The start of the scores, which is that of an average row."""
    bases = [sums.base for sums in all_sums(model)]
    if is_odds(model):
        assert model.classes is not None and isinstance(model.mean, tuple)
        positive = format_label(model.classes[model.positive])
        return [
            (f"share of {positive}", f"{100 * model.mean[model.positive]:.1f}%"),
            ("its log-odds at the start", f"{bases[0]:+.2f}"),
        ]
    if model.survival is not None:
        return [
            (f"median {model.target}", median_text(model.survival.median)),
            ("events", str(model.survival.n_events)),
        ]
    if model.classes is None:
        return [
            (f"mean {model.target}", format_number(float(np.ravel(model.mean)[0]), 3)),
            ("score at the start", f"{bases[0]:+.2f}"),
        ]
    start = _points(np.array(bases) - np.mean(bases), model)  # what is equal for all classes changes no probability
    return [*_share_pairs(model), ("scores at the start", start)]


def _share_pairs(model: Model) -> list[tuple[str, str]]:
    assert isinstance(model.mean, tuple)
    return [(f"share of {c}", f"{100 * s:.1f}%") for c, s in zip(model.classes or (), model.mean)]


def head_pairs(model: Model) -> list[tuple[str, str]]:
    """What stands above the table: the mean and the intercept, or the share of each class; where the score starts."""
    if model.link != "identity":
        return _score_pairs(model)
    if isinstance(model.mean, tuple):
        return _share_pairs(model)
    assert not isinstance(model.intercept, tuple)
    decimals = decimals_for([model.mean, model.intercept], 0.0)
    if model.is_staged:
        return [(model.target, f"{format_number(float(model.average_score), 4)} + what each rule adds")]
    if model.aggregation == "mean":
        return [
            (f"mean {model.target}", f"{model.mean:.{decimals}f}"),
            ("its weight", format_number(model.root_weight, 2)),
        ]
    return [
        (f"mean {model.target}", f"{model.mean:.{decimals}f}"),
        ("intercept", f"{model.intercept:.{decimals}f}"),
    ]

"""A model and one or two features in, the exact step function of their effect out.

A prediction is a sum over rules, and a rule looks at one or a few features at fixed thresholds. So the average
prediction as a feature varies is a step function, known everywhere from one value in each step. What is averaged over:

- a rule that does not look at the feature adds its average: a constant;
- a rule that looks at nothing else adds its output: exact, nothing is averaged;
- a rule that looks at other features too adds its two outputs, weighted by the share of rows in which its other
  conditions hold.

With a table that share is counted in the table, and the result is the partial dependence of the model on it, exactly.
Without one it is the share of the training data, by weight, that the model keeps for each condition. For one other
condition that is exact too; several are taken to be independent. For two features it is the same, over the conditions
on neither.

A slope makes a line of the steps within its range: ``Effect.ends`` has what each step begins and ends with. A linear
term (RuleFit) is cut into small steps. A weighted mean (Node harvest) does not add up, so it takes a table:
then the model predicts all its rows with the feature set to each step in turn.

Where the sum is a score, the effect is on the score, of which all of the above is true. With a table the average
prediction is found as well, by predicting all rows at each step: averages of probabilities do not add up.

An effect has as many values as the rules distinguish groups of categories, however many categories there are. So 93
countries are drawn as a handful of rows, exactly (``level_groups``). Categories with an order of their own stay in it,
and neighbours are taken together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import Column
from pysirus._data.table import Table
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import Condition
from pysirus._terms.term import LinearTerm
from pysirus._terms.words import has_own_order, reading_order

FINE = 40  # steps in the range of a slope in which a bent line is drawn
CELLS = 12  # the same of a heat map


@dataclass(frozen=True)
class Axis:
    """The steps of one feature.

    ``edges`` are the thresholds between the steps of a numeric feature, rising; categories have ``labels`` alone. Where
    rules say something of missing values, the last step is that of missing values. Categories that have an order of
    their own are in it; others are in that of the rules' cuts.
    """

    feature: str
    index: int
    edges: tuple[float, ...]
    labels: tuple[str, ...]
    column: Column  # one value in each step
    has_missing: bool
    in_order: bool = True  # whether the steps have an order of their own, as numbers do
    has_slope: bool = False  # whether the model rises or falls within the steps

    @property
    def is_numeric(self) -> bool:
        """Whether the feature holds numbers."""
        return self.column.is_numeric


@dataclass(frozen=True)
class Effect:
    """The average prediction in each step of one feature, or in each pair of steps of two.

    ``values`` has shape (steps,) or (steps, steps); for classes one more dimension. Where the sum of the rules is a
    score, ``values`` are average scores, and ``predictions`` the average predictions if a table was given, else None.
    Where a slope reads the one feature, ``ends`` has shape (known steps, 2): what is drawn, at both ends of each step.
    """

    axes: tuple[Axis, ...]
    values: NDArray[np.float64]
    target: str
    classes: tuple[Any, ...] | None
    predictions: NDArray[np.float64] | None = None
    ends: NDArray[np.float64] | None = None


def _slopes_on(model: Model, index: int) -> list[FittedTerm]:
    return [rule for rule in model.rules if index in rule.columns and not rule.is_binary]


def _conditions_on(model: Model, index: int) -> list[Condition]:
    return [c for rule in model.rules for c in rule.conditions if c.index == index]


def find_feature(model: Model, feature: str | int) -> int:
    """The number of a feature given by name or number."""
    names = [f.name for f in model.features]
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, (int, np.integer)) and 0 <= feature < len(names):
        return int(feature)
    known = ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    raise ParameterError(f"feature must be the name or the number of a column, got {feature!r}. Columns are {known}.")


def axis_of(model: Model, feature: str | int, n_steps: int = 1) -> Axis:
    """The steps in which the model does not change along a feature, or changes evenly; a slope in ``n_steps``."""
    index = find_feature(model, feature)
    known, conditions = model.features[index], _conditions_on(model, index)
    slopes = _slopes_on(model, index)
    has_missing = any(c.missing is not None for c in conditions) or any(slope.n_outside for slope in slopes)
    tail = ("missing",) if has_missing else ()
    if known.kind == "numeric":
        steps = {step for term in (*model.rules, *model.terms) for step in term.steps_on(index)}
        ranges = [sorted(slope.steps_on(index)) for slope in slopes]
        steps |= {float(step) for own in ranges for step in np.linspace(own[0], own[-1], n_steps + 1)}
        edges = tuple(sorted(steps))
        middles = [(a / 2 + b / 2, a, b) for a, b in pairwise(edges)]
        between = [middle if a <= middle < b else a for middle, a, b in middles]  # neighbours have none between them
        below = [min(edge - 1, float(np.nextafter(edge, -np.inf))) for edge in edges[:1]]  # edge - 1 may be the edge
        inside = [*below, *between, edges[-1] + 1] if edges else [0.0]
        values = np.array([*inside, *([np.nan] if has_missing else [])])
        column = Column(known.name, "numeric", values, is_date=known.is_date)
        return Axis(known.name, index, edges, tail, column, has_missing, has_slope=bool(slopes))
    in_order = known.kind == "ordered" or has_own_order(known.levels)
    levels = list(reading_order(known.levels)) if in_order else _by_rules(known.levels, conditions)
    position = {level: i for i, level in enumerate(known.levels)}
    codes = np.array([position[level] for level in levels] + ([-1] if has_missing else []), dtype=np.int64)
    labels = tuple(map(str, levels)) + tail
    column = Column(known.name, known.kind, codes, known.levels)
    return Axis(known.name, index, (), labels, column, has_missing, in_order)


def _ends_of(axis: Axis) -> Axis:
    """The axis with two values in each known step: where it begins, and just before it ends."""
    inside, edges = axis.column.values[: len(axis.edges) + 1].tolist(), list(axis.edges)
    begins, stops = [inside[0], *edges], [*(float(np.nextafter(edge, -np.inf)) for edge in edges), inside[-1]]
    values = np.array([value for pair in zip(begins, stops) for value in pair])
    return replace(axis, column=replace(axis.column, values=values))


def _by_rules(levels: Sequence[Any], conditions: Sequence[Condition]) -> list[Any]:
    """Levels in the order of the rules' cuts, so that those that no rule tells apart stand side by side."""
    return sorted(levels, key=lambda level: (-sum(level in (c.levels or ()) for c in conditions), str(level)))


def _share(rule: FittedTerm, inner: set[int], columns: Sequence[Column] | None) -> float:
    """What other features contribute on average: in what share of the rows the conditions on them hold."""
    if columns is not None:
        factors = [rule.factor(index, columns[index]) for index in rule.columns if index not in inner]
        return float(np.mean(np.multiply.reduce(factors))) if factors else 1.0
    share = 1.0
    for condition in (c for c in rule.conditions if c.index not in inner):
        if condition.share is None:
            raise ParameterError(
                f"The model does not know how often '{condition}' holds: pass X, the rows to average over."
            )
        share *= condition.share
    return share


def _term_part(term: LinearTerm, axes: Sequence[Axis], columns: Sequence[Column] | None) -> NDArray[np.float64]:
    """What a linear term adds in each step; its average where it is of another feature."""

    def values(column: Column) -> NDArray[np.float64]:
        return term.factor(term.index, column) * term.weight

    for d, axis in enumerate(axes):
        if axis.index == term.index:
            return values(axis.column).reshape([-1 if i == d else 1 for i in range(len(axes))])
    average = term.weight * term.missing if columns is None else float(values(columns[term.index]).mean())
    return np.full([1] * len(axes), average)


def _set(columns: Sequence[Column], axes: Sequence[Axis], steps: Sequence[int], n_rows: int) -> Table:
    """The rows with some features set to one value."""
    changed = list(columns)
    for axis, step in zip(axes, steps):
        changed[axis.index] = replace(axis.column, values=np.repeat(axis.column.values[step : step + 1], n_rows))
    return Table(tuple(changed), n_rows, None)


def _table(model: Model, X: Any) -> Table:
    """X as the model's columns, unless it is that already."""
    return X if isinstance(X, Table) else model.align(X)


def _mean_effect(model: Model, axes: tuple[Axis, ...], X: Any) -> NDArray[np.float64]:
    """The average prediction at each step, by predicting all rows there."""
    if X is None:
        raise ParameterError(
            "The rules of this model do not add up (a weighted mean): pass X, the rows to average over."
        )
    return _average_predictions(model, axes, _table(model, X))


def _average_predictions(model: Model, axes: tuple[Axis, ...], table: Table) -> NDArray[np.float64]:
    """The average prediction at each step, all rows being set to it."""
    shape = tuple(len(axis.column.values) for axis in axes)
    values = np.empty(shape + model.family.shape)
    for steps in np.ndindex(*shape):
        values[steps] = model.decision(_set(table.columns, axes, steps, table.n_rows)).mean(axis=0)
    return values


def effect(
    model: Model, features: str | int | Sequence[str | int], X: Any = None, *, with_predictions: bool = True
) -> Effect:
    """The exact effect of one or two features.

    Parameters
    ----------
    model : Model
        The model.
    features : str, int, or a pair of these
        Columns by name or number.
    X : data frame or array, optional
        Rows to average over; by default the training proportions stored in the model.
    with_predictions : bool, default=True
        Whether average predictions are found too, where the sum of the rules is a score and X is given.

    Returns
    -------
    effect : Effect
    """
    wanted = [features] if isinstance(features, (str, int, np.integer)) else list(features)
    if len(wanted) not in (1, 2):
        raise ParameterError(f"An effect takes one or two features, got {len(wanted)}.")
    told = X is not None and model.family.is_scored and with_predictions  # predictions bend where scores are straight
    n_steps = CELLS if len(wanted) == 2 else FINE if told else 1
    axes = tuple(axis_of(model, feature, n_steps) for feature in wanted)
    if len({axis.index for axis in axes}) < len(axes):
        raise ParameterError(f"The two features of an effect must differ, got {axes[0].feature!r} twice.")
    if not model.family.adds_up:
        return Effect(axes, _mean_effect(model, axes, X), model.target, None)
    table = None if X is None else _table(model, X)
    values = _scores(model, axes, None if table is None else table.columns)
    predictions = None if table is None or not told else _average_predictions(model, axes, table)
    ends = None
    if len(axes) == 1 and _slopes_on(model, axes[0].index):
        both = (_ends_of(axes[0]),)
        if table is not None and told:
            ends = _average_predictions(model, both, table)
        else:
            ends = _scores(model, both, None if table is None else table.columns)
        ends = ends.reshape(-1, 2, *ends.shape[1:])
    return Effect(axes, values, model.target, model.classes, predictions, ends)


def _scores(model: Model, axes: tuple[Axis, ...], columns: Sequence[Column] | None) -> NDArray[np.float64]:
    """The average score in each step, over these columns or, without them, over the training rows."""
    inner = {axis.index for axis in axes}
    shape = tuple(len(axis.column.values) for axis in axes)
    total = np.zeros((*shape, *(model.family.shape or (1,)))) + np.asarray(model.intercept)
    for rule in model.rules:
        if columns is None and not inner.intersection(rule.columns):
            total += (rule.weight or 0.0) * model.average_output(rule)
            continue
        value = np.ones(shape)
        for d, axis in enumerate(axes):
            if axis.index in rule.columns:
                steps = rule.factor(axis.index, axis.column)
                value *= steps.reshape([-1 if i == d else 1 for i in range(len(axes))])
        value = (value * _share(rule, inner, columns))[..., None]
        inside, outside = map(np.asarray, rule.added)
        total += value * inside + (1 - value) * outside
    for term in model.terms:
        total += _term_part(term, axes, columns)[..., None]
    return model.family.take(total)


@dataclass(frozen=True)
class Spread:
    """Where the values of a numeric feature lie: both ends, and the deciles between them."""

    low: float
    high: float
    deciles: tuple[float, ...]


def spread(model: Model, axis: Axis, table: Table | None = None) -> Spread | None:
    """Those of the rows of a table, else of the training rows as the model remembers them; None if it does not."""
    tenths = np.arange(1, 10) / 10
    if table is not None and axis.index not in table.absent:
        values = table.columns[axis.index].values.astype(np.float64)
        values = values[np.isfinite(values)]
        if not len(values):
            return None
        return Spread(float(values.min()), float(values.max()), tuple(np.quantile(values, tenths).tolist()))
    if model.reference is None:
        return None
    own = model.reference.columns[axis.index]
    if own.low is None or own.high is None or own.edges is None:
        return None
    places, weights = np.array([own.low, *own.edges, own.high]), own.sums[: len(own.edges) + 1, 0]
    if not weights.sum():
        return None
    below = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    return Spread(own.low, own.high, tuple(np.interp(tenths, below, places).tolist()))


MOST_LEVELS = 12  # drawn one by one
MOST_ROWS = 24


@dataclass(frozen=True)
class LevelGroup:
    """Levels with the same effect, the most frequent first where that is known."""

    label: str
    levels: tuple[str, ...]
    value: NDArray[np.float64]  # of each class; of levels folded for want of room their mean

    @property
    def is_folded(self) -> bool:
        """Whether it stands for several levels."""
        return len(self.levels) > 1


def level_groups(axis: Axis, values: NDArray[np.float64], counts: NDArray[Any] | None = None) -> list[LevelGroup]:
    """The rows to draw, that of missing values last.

    Parameters
    ----------
    axis : Axis
        The steps of a categorical feature.
    values : ndarray of shape (n_steps,) or (n_steps, n_classes)
        The effect in each.
    counts : ndarray of shape (n_levels,), optional
        How often each level occurs, in the order of ``axis.labels``: the most frequent are named.

    Returns
    -------
    groups : list of LevelGroup
    """
    steps = values.reshape(len(values), -1)
    n_levels = len(axis.labels) - axis.has_missing
    tail = [LevelGroup(axis.labels[-1], axis.labels[-1:], steps[-1])] if axis.has_missing else []
    parts: list[list[int]] = [[i] for i in range(n_levels)]
    if n_levels > MOST_LEVELS:
        shares = np.round(steps / (np.abs(steps).max() or 1.0), 12) + 0.0  # sums of the same numbers differ by rounding
        same = [shares[i].tobytes() for i in range(n_levels)]
        if axis.in_order:
            parts = [list(own) for _, own in groupby(range(n_levels), key=same.__getitem__)]
        if not axis.in_order or len(parts) > MOST_ROWS:
            parts = _equal(same, steps)
    weights = np.ones(n_levels) if counts is None else np.asarray(counts, dtype=np.float64)[:n_levels]
    rest = set(sorted(range(len(parts)), key=lambda i: -weights[parts[i]].sum())[MOST_ROWS:])
    groups = [_group(axis, parts[i], steps, weights) for i in range(len(parts)) if i not in rest]
    if rest:
        left = [step for i in sorted(rest) for step in parts[i]]
        groups.append(_rest(axis, left, steps, weights))
    return groups + tail


def level_counts(axis: Axis, column: Column) -> NDArray[np.int64]:
    """How often each level of an axis occurs in a column of the model's table."""
    codes = axis.column.values[: len(axis.labels) - axis.has_missing]
    found = np.bincount(column.values[column.values >= 0], minlength=len(axis.column.levels))
    return np.asarray(found[codes], dtype=np.int64)


def _equal(same: Sequence[bytes], steps: NDArray[np.float64]) -> list[list[int]]:
    """The steps with equal values together, from the largest value to the smallest."""
    found: dict[bytes, list[int]] = {}
    for i, key in enumerate(same):
        found.setdefault(key, []).append(i)
    return sorted(found.values(), key=lambda own: -steps[own[0], -1])


def _group(axis: Axis, own: Sequence[int], steps: NDArray[np.float64], weights: NDArray[Any]) -> LevelGroup:
    names = [axis.labels[i] for i in own]
    if len(own) == 1:
        return LevelGroup(names[0], tuple(names), steps[own[0]])
    if axis.in_order and own[-1] - own[0] == len(own) - 1:
        joint = ", " if len(own) == 2 else " to "
        return LevelGroup(f"{names[0]}{joint}{names[-1]}", tuple(names), steps[own[0]])
    names = [axis.labels[i] for i in sorted(own, key=lambda i: -weights[i])]
    label = ", ".join(names) if len(own) == 2 else f"{names[0]} and {len(own) - 1} more"
    return LevelGroup(label, tuple(names), steps[own[0]])


def _rest(axis: Axis, left: Sequence[int], steps: NDArray[np.float64], weights: NDArray[Any]) -> LevelGroup:
    """What there is no room for, as its mean."""
    own = weights[left] if weights[left].sum() > 0 else np.ones(len(left))
    names = tuple(axis.labels[i] for i in left)
    return LevelGroup(f"the other {len(left)}, on average", names, np.average(steps[left], axis=0, weights=own))

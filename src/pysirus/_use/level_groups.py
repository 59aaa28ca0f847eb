"""The steps of a categorical feature and its effect in, few rows to draw out: levels that no rule tells apart are one.

An effect has as many values as the rules tell groups of levels apart, however many levels there are. So 93 countries
are drawn as a handful of rows, exactly. Levels with an order of their own stay in it, and neighbours are taken
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import Column
from pysirus._use.effect import Axis

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

"""Rule lists in, one number out: how much they have in common (the paper's stability).

``Universe`` counts the terms that a list is picked from, on which agreement by chance depends.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pysirus._bins.cuts import Cuts


@dataclass(frozen=True)
class Universe:
    """How many terms and columns a list may be made of.

    Attributes
    ----------
    n_terms : int
        Rules that the cuts of the table allow, up to the depth of the trees, a rule and its complement being one, and
        columns that may be slopes.
    n_columns : int
        Columns with cuts.
    """

    n_terms: int
    n_columns: int


def universe_of(cuts: Sequence[Cuts], max_depth: int, n_slopes: int = 0) -> Universe:
    """The terms that some cuts allow, by what they read: splits of one column are merged into one condition.

    A column has two conditions for each split. A second split of the same column makes an interval, with the missing
    values inside or outside where there are some; a third one makes nothing new. ``x < 3`` and ``x >= 3`` are
    complements, and no other two rules are: what is outside an interval, or outside a rule on two columns, is no rule.
    """
    ways = [1] + [0] * max_depth  # of picking conditions that take so many splits, columns so far
    for own in cuts:
        intervals = comb(own.n_cuts, 2) * (2 if own.has_missing else 1)
        each = [1, 2 * own.n_splits, intervals]
        ways = [sum(each[k] * ways[d - k] for k in range(min(d, 2) + 1)) for d in range(max_depth + 1)]
    complements = sum(own.n_splits for own in cuts)
    return Universe(sum(ways[1:]) - complements + n_slopes, sum(own.n_splits > 0 for own in cuts))


def _rules(model: Any) -> frozenset[Hashable]:
    """The rules of a fitted model, or of a plain collection of rules."""
    if hasattr(model, "fit"):
        check_is_fitted(model)
    rules = getattr(model, "rules_", model)
    if not isinstance(rules, Iterable):
        raise TypeError(f"Stability compares rule lists or fitted models with rules_, got {type(model).__name__}.")
    return frozenset(rules)


def dice_sorensen(first: Any, second: Any) -> float:
    """The Dice-Sorensen index of two rule lists: twice the number of shared rules over the total number.

    Parameters
    ----------
    first, second : iterable of Rule, or fitted model with ``rules_``
        Rules compare by their conditions, in cut identities, so lists from two samples are comparable.

    Returns
    -------
    index : float
        From 0 (nothing in common) to 1 (the same rules); 1 if both are empty.

    Examples
    --------
    >>> from pysirus._stability import dice_sorensen
    >>> dice_sorensen({"a", "b"}, {"b", "c"})
    0.5
    """
    a, b = _rules(first), _rules(second)
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0


def stability(*models: Any) -> float:
    """The mean Dice-Sorensen index over all pairs of models.

    Parameters
    ----------
    *models : rule lists or fitted models with ``rules_``
        At least two, for example one per fold; or one iterable of them.

    Returns
    -------
    stability : float
        From 0 to 1.

    Examples
    --------
    >>> import pysirus
    >>> pysirus.stability({"a", "b"}, {"b", "c"})
    0.5
    >>> pysirus.stability([{"a", "b"}, {"b", "c"}, {"a", "b"}])  # doctest: +ELLIPSIS
    0.66...
    """
    _, lists = lists_of(models)
    return float(np.mean([dice_sorensen(a, b) for a, b in combinations(lists, 2)]))


def lists_of(models: tuple[Any, ...]) -> tuple[list[Any], list[frozenset[Hashable]]]:
    """Models as they are given, several or one iterable of them, and the rules of each."""
    given: Any = models[0] if len(models) == 1 else models
    if not isinstance(given, Iterable):
        raise TypeError(f"Stability compares two models or more, got one {type(given).__name__}.")
    every = list(given)
    if len(every) < 2:
        raise ValueError(f"Stability takes at least two models, got {len(every)}.")
    return every, [_rules(model) for model in every]

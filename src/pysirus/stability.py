"""Rule lists in, one number out: how much they have in common (the paper's stability)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import combinations
from typing import Any

import numpy as np


def _rules(model: Any) -> frozenset[Hashable]:
    """The rules of a fitted model, or of a plain collection of rules."""
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
    >>> from pysirus.stability import dice_sorensen
    >>> dice_sorensen({"a", "b"}, {"b", "c"})
    0.5
    """
    a, b = _rules(first), _rules(second)
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0


def stability(models: Iterable[Any]) -> float:
    """The mean Dice-Sorensen index over all pairs of models.

    Parameters
    ----------
    models : iterable
        At least two rule lists or fitted models with ``rules_``, for example one per fold.

    Returns
    -------
    stability : float
        From 0 to 1.

    Examples
    --------
    >>> from pysirus.stability import stability
    >>> stability([{"a", "b"}, {"b", "c"}, {"a", "b"}])  # doctest: +ELLIPSIS
    0.66...
    """
    lists = [_rules(model) for model in models]
    if len(lists) < 2:
        raise ValueError(f"Stability takes at least two models, got {len(lists)}.")
    return float(np.mean([dice_sorensen(a, b) for a, b in combinations(lists, 2)]))

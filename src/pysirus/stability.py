"""Rule lists in, one number out: how much they have in common (the paper's stability).

The module can be called: ``pysirus.stability(a, b)`` is ``pysirus.stability.stability(a, b)``.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from itertools import combinations
from types import ModuleType
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
    given: Any = models[0] if len(models) == 1 else models
    if not isinstance(given, Iterable):
        raise TypeError(f"Stability compares two models or more, got one {type(given).__name__}.")
    lists = [_rules(model) for model in given]
    if len(lists) < 2:
        raise ValueError(f"Stability takes at least two models, got {len(lists)}.")
    return float(np.mean([dice_sorensen(a, b) for a, b in combinations(lists, 2)]))


class _Callable(ModuleType):
    """A module that can be called like the function that it is named after."""

    def __call__(self, *models: Any) -> float:
        return stability(*models)


sys.modules[__name__].__class__ = _Callable

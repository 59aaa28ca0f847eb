"""Fitted models in, the terms that a person reads out: how many, how many words, and what each asks of which column.

A condition is ``[feature, lower, upper, missing, known]``, as pysirus compares rules: a cut is known by its identity,
the number of the quantile of the training rows. Methods that cut anywhere are met halfway: a cut counts as the decile
of the training rows that is nearest to it, or as the value where a column has few, so that two cuts between the same
deciles are the same cut. A column of zeros and ones that stands for a level asks for this level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from studies.benchmark.encode import Encoder

FEW, N_BINS = 10, 10  # distinct values; deciles
Cut = list[Any] | None  # its kind and number, value or levels
Condition = list[Any]
Key = list[Condition]  # of a term, in order


@dataclass(frozen=True)
class Fitted:
    """A fitted model: means, a probability for each class in the order of the table's classes, or scores of risk."""

    predict: Callable[[pd.DataFrame], Any]
    terms: Terms | None = None  # None where nothing is read as a list


@dataclass(frozen=True)
class Terms:
    """What is read of a model."""

    size: int
    words: int
    keys: list[Key] | None = None  # None where its terms are not compared
    universe: list[int] | None = None  # how many terms and columns it picks from, where that is known


def words_of(texts: Sequence[str]) -> int:
    """How many words and numbers some lines have."""
    return sum(len(text.split()) for text in texts)


def _plain(value: Any) -> Any:
    """Cut identities as JSON has them."""
    if isinstance(value, frozenset):
        return sorted((_plain(item) for item in value), key=str)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def of_pysirus(model: Any) -> Terms:
    """The terms of a list of this library; cuts that are values of a column of many are placed among its deciles."""
    keys: list[Key] = []
    for term in model.rules_:
        conditions = [_plain(own.key) for own in term.conditions] or [[*term.features, term.kind.lower()]]
        keys.append(sorted(conditions, key=str))
    universe = getattr(model, "_universe", None)
    known = None if universe is None else [int(universe.n_terms), int(universe.n_columns)]
    return Terms(len(keys), words_of([str(term) for term in model.rules_]), keys, known)


def placed(terms: Terms, X: pd.DataFrame) -> Terms:
    """The same with every free cut at the nearest decile."""
    places = _Places(X)
    keys = [
        [[c[0], places(c[0], c[1]), places(c[0], c[2]), *c[3:]] if len(c) > 2 else c for c in key]
        for key in terms.keys or ()
    ]
    return Terms(terms.size, terms.words, keys, terms.universe)


class _Places:
    """Cuts of a column's training rows."""

    def __init__(self, X: pd.DataFrame) -> None:
        self.values = {str(n): np.unique(c.dropna().to_numpy(float)) for n, c in X.items() if c.dtype != object}
        levels = np.arange(1, N_BINS) / N_BINS
        self.deciles = {
            n: np.quantile(X[n].dropna().to_numpy(float), levels) for n in self.values if len(self.values[n])
        }

    def __call__(self, feature: str, cut: Cut) -> Cut:
        if cut is None or cut[0] != "value" or feature not in self.deciles:
            return cut
        values = self.values[feature]
        if len(values) <= FEW:
            return ["value", float(values[min(np.searchsorted(values, cut[1]), len(values) - 1)])]
        return ["quantile", int(np.argmin(np.abs(self.deciles[feature] - cut[1]))) + 1]


class Paths:
    """Paths of trees on encoded columns as terms: each leaf is one, its conditions on a column are one."""

    def __init__(self, encoder: Encoder, X: pd.DataFrame) -> None:
        self.encoder, self.places = encoder, _Places(X)
        self.keys: list[Key] = []
        self.texts: list[str] = []

    def add(self, steps: Sequence[tuple[int, bool, float]]) -> None:
        """A path: numbers of columns, whether it goes left (at most the threshold), thresholds."""
        limits: dict[str, list[Any]] = {}
        for column, left, threshold in steps:
            own = self.encoder.origins[column]
            if own.is_number:
                kept = limits.setdefault(own.feature, [own.feature, None, None, False, True])
                place = 2 if left else 1
                if kept[place] is None or (threshold < kept[place][1] if left else threshold > kept[place][1]):
                    kept[place] = ["value", float(threshold)]
            else:
                cut = ["missing" if own.missing else "level", own.level]
                limits[f"{own.feature}={own.level}"] = [
                    own.feature,
                    None if left else cut,
                    cut if left else None,
                    False,
                    True,
                ]
        key = [[f, self.places(f, lower), self.places(f, upper), *rest] for f, lower, upper, *rest in limits.values()]
        self.keys.append(sorted(key, key=str))
        said = " & ".join(_words(condition) for condition in limits.values())
        self.texts.append(f"if {said} then 0" if said else "0")

    def add_rule(self, text: str) -> None:
        """A rule as imodels writes it: ``X0 <= 3.5 and X2 > 1``."""
        found = re.findall(r"X_?(\d+) (<=|>) ([-+0-9.einf]+)", text)
        self.add([(int(column), op == "<=", float(value)) for column, op, value in found])

    def add_tree(self, tree: Any) -> None:
        """Every leaf of a tree of scikit-learn (``tree_``)."""
        stack: list[tuple[int, list[tuple[int, bool, float]]]] = [(0, [])]
        while stack:
            node, steps = stack.pop()
            if tree.children_left[node] < 0:
                self.add(steps)
                continue
            column, threshold = int(tree.feature[node]), float(tree.threshold[node])
            stack.append((int(tree.children_right[node]), [*steps, (column, False, threshold)]))
            stack.append((int(tree.children_left[node]), [*steps, (column, True, threshold)]))

    def terms(self) -> Terms:
        """All paths so far; twins that read the same count once among the keys."""
        return Terms(len(self.keys), words_of(self.texts), self.keys)


def _words(condition: Condition) -> str:
    feature, lower, upper = condition[:3]
    if lower is not None and lower[0] != "value":
        return f"{feature} = {lower[1]}"
    if upper is not None and upper[0] != "value":
        return f"{feature} != {upper[1]}"
    if lower is not None and upper is not None:
        return f"{lower[1]:.4g} < {feature} <= {upper[1]:.4g}"
    return f"{feature} <= {upper[1]:.4g}" if upper is not None else f"{feature} > {lower[1]:.4g}"


def of_coefficients(coefficients: NDArray[Any], encoder: Encoder) -> Terms:
    """A line of a linear model for each coefficient, of all classes, that is not zero; not compared."""
    used = np.abs(np.atleast_2d(coefficients)).max(axis=0) > 0
    return Terms(
        int(used.sum()), words_of([f"{own.feature} {own.level or ''} +0" for own, u in zip(encoder.origins, used) if u])
    )

"""Lists of terms in, measures of what they have in common out, each with a standard error.

All measures are means over pairs of lists, or ratios of such means: of all pairs, where every list comes from a sample
of its own (folds, bootstrap samples), or of some of them (two disjoint halves of a table). Standard errors leave out
one sample after the other (the jackknife), so they are over resamples of one table; samples that share rows make them
too small for what another table would give.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pysirus._bins.cuts import Cuts
from pysirus._terms.term import Term
from pysirus._text.format import html_lines, html_table, make_frame, text_table

Floats = NDArray[np.float64]
NAMES = {
    "dice": "shared terms (Dice)",
    "corrected": "shared terms, corrected for chance",
    "nearby": "shared terms, with neighbours",
    "columns": "shared columns (Dice)",
    "columns_corrected": "shared columns, corrected for chance",
}


class Estimate(NamedTuple):
    """A number and its standard error over resamples; None where there are too few."""

    value: float
    error: float | None = None

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "not defined"
        return f"{self.value:.2f}" + ("" if self.error is None else f" ± {self.error:.2f}")


@dataclass(frozen=True)
class Stability:
    """Several measures of how much rule lists have in common.

    Attributes
    ----------
    dice : Estimate
        The measure of the paper: twice the number of shared terms divided by the total number of terms, averaged over
        pairs of lists.
    corrected : Estimate or None
        The index of Nogueira, Sechidis and Brown (2018): 0 for lists drawn at random from all possible terms, 1 for
        identical lists. None if the set of possible terms is not known.
    nearby : Estimate
        Like ``dice``, but a rule also counts as shared if the other list has a rule with the same columns and
        directions whose cuts are at most one quantile away.
    columns, columns_corrected : Estimate, and Estimate or None
        Like ``dice`` and ``corrected``, for the columns of the lists instead of their terms.
    n_terms : float
        The average number of terms in a list.
    n_pairs : int
        The number of pairs of lists.
    between : str
        What the lists come from, such as "folds".
    universe : Universe or None
        The numbers of possible terms and columns.

    Examples
    --------
    >>> from pysirus import SirusRegressor, stability_measures
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> models = [SirusRegressor(n_rules=5, n_trees=500, random_state=0).fit(X[k::2], y[k::2]) for k in (0, 1)]
    >>> found = stability_measures(models, between="halves")
    >>> found.dice.value <= found.nearby.value
    True
    """

    dice: Estimate
    corrected: Estimate | None
    nearby: Estimate
    columns: Estimate
    columns_corrected: Estimate | None
    n_terms: float
    n_pairs: int
    between: str = "lists"
    universe: Universe | None = None

    @property
    def measures(self) -> dict[str, Estimate]:
        """The measures by name, without those that are None."""
        found = {name: getattr(self, name) for name in NAMES}
        return {name: own for name, own in found.items() if own is not None}

    def to_dict(self) -> dict[str, Any]:
        """The measures as plain data, ready for JSON; None for undefined values."""
        return {
            "between": self.between,
            "n_pairs": self.n_pairs,
            "n_terms": self.n_terms,
            **{name: None if np.isnan(own.value) else own.value for name, own in self.measures.items()},
            **{f"{name}_se": own.error for name, own in self.measures.items()},
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """A row for each measure; ``backend`` is "pandas", "polars" or "pyarrow"."""
        found = self.measures
        columns: dict[str, list[Any]] = {
            "measure": list(found),
            "value": [own.value for own in found.values()],
            "standard_error": [own.error for own in found.values()],
        }
        return make_frame(columns, backend)

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        return [f"between {self.between}", ""], [[NAMES[name], str(own)] for name, own in self.measures.items()]

    def __str__(self) -> str:
        return f"{text_table(*self._rows())}\n{self.note}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(*self._rows()) + html_lines(self.note)

    @property
    def note(self) -> str:
        """How many lists there are, and what the standard errors are over."""
        pairs = f"{self.n_pairs} pair{'' if self.n_pairs == 1 else 's'}"
        among = "" if self.universe is None else f", picked from {self.universe.n_terms:,}"
        errors = "" if self.dice.error is None else " After ±: the standard error over resamples of the same rows."
        return f"{pairs} of lists, {self.n_terms:.1f} terms on average{among}.{errors}"


def stability_measures(*models: Any, between: str = "lists") -> Stability:
    """Measure how much rule lists have in common in several ways, with standard errors.

    Parameters
    ----------
    *models : rule lists or fitted models with ``rules_``
        At least two models, for example one per bootstrap sample, or an iterable of them.
    between : str, default="lists"
        A word or two for the heading of the printed table, such as "folds".

    Returns
    -------
    measures : Stability
        The measures. Those corrected for chance need the cuts of the first model, so it must not come from a file.

    Examples
    --------
    >>> import numpy as np, pysirus
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> y = X[:, 0] + (X[:, 1] > 0)
    >>> half = [slice(0, 150), slice(150, 300)]
    >>> models = [pysirus.SirusRegressor(n_rules=4, random_state=1).fit(X[own], y[own]) for own in half]
    >>> found = pysirus.stability_measures(models)
    >>> bool(found.dice.value <= found.nearby.value)
    True
    """
    given, lists = lists_of(models)
    terms = [[term for term in own if isinstance(term, Term)] for own in lists]
    if sum(map(len, terms)) < sum(map(len, lists)):
        raise TypeError("stability_measures compares rule lists; use stability for other collections.")
    return measure(terms, universe=getattr(given[0], "_universe", None), between=between)


def measure(
    lists: Sequence[Iterable[Term]],
    pairs: Sequence[tuple[int, int]] | None = None,
    *,
    universe: Universe | None = None,
    between: str = "lists",
) -> Stability:
    """The measures of some lists over all pairs, or over these, each of which is then a resample by itself."""
    sets = [frozenset(own) for own in lists]
    every = list(combinations(range(len(sets)), 2)) if pairs is None else list(pairs)
    left, right = np.array(every, dtype=np.intp).T
    # what each pair says is left out with: its lists, or itself
    units = np.stack([left, right], axis=1) if pairs is None else np.arange(len(every))[:, None]
    terms, columns = _Membership.of(sets), _Membership.of([frozenset(_columns(own)) for own in sets])
    near = terms.nearby()

    def dice(own: _Membership, found: Floats) -> Estimate:
        total = own.sizes[left] + own.sizes[right]
        shared = found[left, right] + found[right, left]
        return _jackknife(units, float, np.where(total > 0, shared / np.maximum(total, 1), 1.0))

    def corrected(own: _Membership, n_members: int | None) -> Estimate | None:
        if n_members is None:
            return None
        size = (own.sizes[left] + own.sizes[right]) / 2
        apart = size - own.common[left, right]  # half of what one of the two lists has and the other has not

        def index(apart: float, size: float) -> float:
            by_chance = size * (1 - size / n_members)
            return 1 - apart / by_chance if by_chance > 0 else np.nan

        return _jackknife(units, index, apart, size)

    return Stability(
        dice(terms, terms.common),
        corrected(terms, universe.n_terms if universe else None),
        dice(terms, near),
        dice(columns, columns.common),
        corrected(columns, universe.n_columns if universe else None),
        n_terms=float(np.mean((terms.sizes[left] + terms.sizes[right]) / 2)),
        n_pairs=len(every),
        between=between,
        universe=universe,
    )


def _columns(terms: Iterable[Term]) -> set[str]:
    """The names of the columns that some terms read."""
    return {name for term in terms for name in term.features}


@dataclass(frozen=True)
class _Membership:
    """Which of all members each list has, [list, member]."""

    members: list[Any]
    has: Floats

    @classmethod
    def of(cls, sets: Sequence[Collection[Any]]) -> _Membership:
        place: dict[Any, int] = {}
        for own in sets:
            for member in own:
                place.setdefault(member, len(place))
        has = np.zeros((len(sets), len(place)))
        for row, own in zip(has, sets):
            row[[place[member] for member in own]] = 1
        return cls(list(place), has)

    @property
    def sizes(self) -> Floats:
        return np.asarray(self.has.sum(axis=1))

    @property
    def common(self) -> Floats:
        """How many members each list shares with each other one."""
        return np.asarray(self.has @ self.has.T)

    def nearby(self) -> Floats:
        """How many terms of each list have themselves or a neighbour in each other one, [of, in]."""
        return np.asarray(self.has @ (self.has @ near_matrix(self.members) > 0).T)


def near_matrix(terms: Sequence[Term]) -> Floats:
    """Which terms are near which, 0 or 1."""
    near = np.eye(len(terms))
    by_shape: dict[Any, list[int]] = {}
    for i, term in enumerate(terms):
        by_shape.setdefault(term.shape, []).append(i)
    for alike in by_shape.values():
        for i, j in combinations(alike, 2):
            near[i, j] = near[j, i] = terms[i].is_near(terms[j])
    return near


def _jackknife(units: NDArray[np.intp], statistic: Callable[..., float], *values: Floats) -> Estimate:
    """A function of means over pairs; its standard error leaves out the pairs of one unit after the other."""
    n_units, n_pairs = int(units.max()) + 1, len(units)
    taken = np.zeros((n_units, n_pairs), dtype=bool)
    taken[units, np.arange(n_pairs)[:, None]] = True
    value = statistic(*(float(own.mean()) for own in values))
    left = (~taken).sum(axis=1)
    if np.isnan(value) or not left.all():
        return Estimate(value)
    means = [~taken @ own / left for own in values]
    without = np.array([statistic(*own) for own in zip(*means)])
    if np.isnan(without).any():
        return Estimate(value)
    spread = (n_units - 1) / n_units * ((without - without.mean()) ** 2).sum()
    return Estimate(value, float(np.sqrt(spread)))


# ----------------------------------------------------------------------------------------------------------------- dice

# Rule lists in, one number out: how much they have in common (the paper's stability).
#
# ``Universe`` counts the terms that a list is picked from, on which agreement by chance depends.


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
    >>> from pysirus._terms.stability import dice_sorensen
    >>> dice_sorensen({"a", "b"}, {"b", "c"})
    0.5
    """
    a, b = _rules(first), _rules(second)
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0


def stability(*models: Any) -> float:
    """Compute stability: the mean Dice-Sorensen index over all pairs of rule lists.

    Parameters
    ----------
    *models : rule lists or fitted models with ``rules_``
        At least two models, for example one per fold, or an iterable of them.

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

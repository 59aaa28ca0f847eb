"""Bins in, path frequencies out (the paper's rule generation; docs/method.md, "Forest").

Trees are numbered: growing more of them continues the forest, so one of 10,000 trees begins with the one of 4,000.
Interaction constraints say which columns may stand in one path: how many of them, in which groups, and which never.
"""

from __future__ import annotations

import hashlib
import math
import pickle
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from functools import cached_property, lru_cache, reduce
from itertools import combinations
from numbers import Integral
from operator import and_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr
from sklearn.exceptions import ConvergenceWarning

from pysirus import _core
from pysirus._bins.cuts import Binned
from pysirus._bins.numeric import LineValues
from pysirus._families.responses import Response
from pysirus._runtime.console import Grown, warn_user
from pysirus._text.message import InPython, Parameter

MOST_GROUPS = 10_000


@dataclass(frozen=True)
class InteractionConstraint:
    """Which columns, by number, may stand in one rule; by default any."""

    most: int | None = None  # of them in one rule
    groups: tuple[frozenset[int], ...] = ()  # those of a rule lie in one of these
    apart: frozenset[frozenset[int]] = frozenset()  # pairs not in one rule, single columns in none

    @property
    def is_limited(self) -> bool:
        """Whether anything is ruled out."""
        return self.most is not None or bool(self.groups) or bool(self.apart)

    def allows(self, columns: Collection[int]) -> bool:
        """Whether these columns may stand in one rule."""
        own = set(columns)
        if self.most is not None and len(own) > self.most:
            return False
        if self.groups and not reduce(and_, (self._groups_of.get(column, 0) for column in own), -1):
            return False
        if len(self.apart) < len(own) ** 2:
            return not any(found <= own for found in self.apart)
        return not any(frozenset(found) in self.apart for found in [*combinations(own, 1), *combinations(own, 2)])

    @cached_property
    def _groups_of(self) -> dict[int, int]:
        """A bit for each group that a column is in."""
        places: dict[int, list[int]] = {}
        for g, group in enumerate(self.groups):
            for column in group:
                places.setdefault(column, []).append(g)
        return {column: sum(1 << g for g in own) for column, own in places.items()}

    def for_core(self, n_columns: int) -> dict[str, Any]:
        """The same as the core takes it: a bit a group, and a matrix of pairs; nothing where nothing is ruled out."""
        told: dict[str, Any] = {}
        if self.most is not None:
            told["most_together"] = self.most
        if self.groups:
            n_words = -(-len(self.groups) // 64)
            bits = [self._groups_of.get(column, 0) for column in range(n_columns)]
            told["groups"] = [own >> 64 * word & (1 << 64) - 1 for own in bits for word in range(n_words)]
        if self.apart:
            told["apart"] = [int(frozenset((a, b)) in self.apart) for a in range(n_columns) for b in range(n_columns)]
        return told


ANY = InteractionConstraint()


BATCH = 1_000
CHUNK = 100_000  # trees held at once when nobody watches: splits take 12 bytes per tree at depth 2
MAX_TREES = 200_000
# version of how rows are drawn: 1 was every row for itself, however many there were; 2 was up to 5,000 in stages too
DRAW = 3
BLOCK_ROWS = 256  # rows that draw together
BLOCKS_PAY = 0.25  # a row that a block draws costs about four rows of which each draws for itself, in vectors
MOST_BLOCK_THRESHOLDS = 1024
BEST_KERNEL = _core.instruction_sets()[0]


@dataclass(frozen=True)
class Recipe:
    """How trees are grown."""

    seed: int
    max_depth: int = 2
    max_features: int | float | str | None = None
    min_node_size: int = 5
    max_samples: float = 1.0  # share of the rows that a tree draws on average
    most_drawn: int | None = None  # and no more rows than these
    most_in_stages: int | None = None  # nor than these, on residuals
    in_blocks: bool = False  # blocks of rows draw, not every row for itself: a tree costs what it draws
    together: InteractionConstraint = ANY
    # Columns whose straight lines are compared with the best cut at the root of each tree: of each column the numbers
    # of its bins, None where it may not be a line; nothing where none may. They change no tree.
    lines: LineValues = field(default=(), compare=False, repr=False)
    n_threads: int = 1
    device: str = "cpu"  # or "gpu": the same trees from a GPU
    instruction_set: str | None = None
    stop: _core.StopFlag | None = None

    def on(self, n_rows: int) -> Recipe:
        """The same for this many rows: no more than ``most_drawn`` are drawn, in blocks where that is faster."""
        if self.most_drawn is None or self.max_samples * n_rows <= self.most_drawn:
            return self
        share = self.most_drawn / n_rows
        return replace(self, max_samples=share, in_blocks=share < BLOCKS_PAY)

    def rows_read(self, n_rows: int) -> int:
        """Rows that a tree looks at on the CPU: all of them, or those that it draws."""
        own = self.on(n_rows)
        return math.ceil(own.max_samples * n_rows) if own.in_blocks else n_rows

    @property
    def block_thresholds(self) -> NDArray[np.uint32]:
        """Thresholds for the number of draws of a block; none where every row draws for itself."""
        mean = BLOCK_ROWS * self.max_samples
        return poisson_thresholds(mean, MOST_BLOCK_THRESHOLDS) if self.in_blocks else np.zeros(0, np.uint32)

    @property
    def kernel(self) -> str:
        """The instruction set to use: the best one, if none is named."""
        return self.instruction_set or BEST_KERNEL

    def n_candidates(self, n_features: int) -> int:
        """How many features are tried at each node."""
        asked = self.max_features
        if asked is None:
            return min(n_features, max(2, n_features // 3))
        if isinstance(asked, Integral):
            return int(asked)
        if isinstance(asked, str):
            return max(1, int(math.sqrt(n_features) if asked == "sqrt" else math.log2(n_features)))
        return max(1, int(asked * n_features))


@dataclass(frozen=True)
class Paths:
    """The paths of a forest, the most frequent first (ties: fewer splits, more `<`, then place)."""

    codes: NDArray[np.int32]  # [path, 4]: 2 * split + side in rising order, padded with -1
    counts: NDArray[np.int64]
    n_trees: int
    lines: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # [column]: trees its line won

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Proportion of trees that contain each path."""
        return np.asarray(self.counts / max(1, self.n_trees))

    @property
    def line_frequencies(self) -> NDArray[np.float64]:
        """Proportion of trees that the straight line of each column won; nothing where lines were not asked for."""
        return np.asarray(self.lines / max(1, self.n_trees))


class SplitSide(NamedTuple):
    """A code of a path, taken apart: feature number, cut number (None: missing apart), side, where missing go."""

    feature: int
    cut: int | None
    less: bool
    missing_left: bool

    @property
    def missing_inside(self) -> bool:
        """Whether missing values go to this side."""
        return self.missing_left == self.less


def decode(code: int, binned: Binned) -> SplitSide:
    """Take a code ``2 * split + side`` apart."""
    split, side = divmod(int(code), 2)
    feature = bisect_right(binned.split_offset, split) - 1
    cuts, local = binned.cuts[feature], split - binned.split_offset[feature]
    n_cuts = cuts.n_cuts
    if cuts.has_missing and local == 2 * n_cuts:
        return SplitSide(feature, None, side == 0, False)
    return SplitSide(feature, local % n_cuts, side == 0, local >= n_cuts)


def merge_sides(sides: Iterable[SplitSide]) -> tuple[int | None, int | None, bool, bool]:
    """What splits on one feature leave: its lower and upper cut, and whether it must, or may, be missing."""
    lower: int | None = None
    upper: int | None = None
    only_missing, missing_inside = False, True
    for _, cut, less, missing_left in sides:
        missing_inside = missing_inside and missing_left == less
        if cut is None:
            only_missing = only_missing or not less
        elif less:
            upper = cut if upper is None else min(upper, cut)
        else:
            lower = cut if lower is None else max(lower, cut)
    return lower, upper, only_missing, missing_inside


@lru_cache(maxsize=64)
def poisson_thresholds(mean: float, most: int = 16) -> NDArray[np.uint32]:
    """Thresholds on 32 random bits: the number reached is a Poisson count. Decimal arithmetic, the same everywhere."""
    limits: list[int] = []
    with localcontext() as context:
        context.prec = 50
        term = cumulated = (-Decimal(mean)).exp()
        while len(limits) < most and (limit := round(cumulated * 2**32)) < 2**32:
            limits.append(limit)
            term *= Decimal(mean) / len(limits)
            cumulated += term
    return np.array(limits, dtype=np.uint32)


def expected_stability(counts: NDArray[np.int64], n_trees: int) -> float:
    """Expected proportion of rules that two such forests share (the paper's section "Number of Trees").

    Averages 1 - epsilon over the midpoints between the 51 largest distinct frequencies. Paths with equal counts have
    equal terms; terms that a Chernoff bound puts below 1e-16 are left out.
    """
    distinct, multiplicity = np.unique(counts, return_counts=True)
    if len(distinct) < 2:
        return 1.0 if n_trees else 0.0
    largest = distinct[::-1][:51]
    thresholds = (largest[:-1] + largest[1:]) / 2
    k = np.floor(thresholds)[:, None]
    p = (distinct / n_trees)[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(thresholds[:, None] / n_trees, 1e-300, 1)
        divergence = share * np.log(share / p) + (1 - share) * np.log((1 - share) / (1 - p))
    certain = np.nan_to_num(n_trees * divergence, nan=np.inf) > 37  # exp(-37) < 1e-16
    z = np.where(p > share, 0.0, 1.0)
    rows, columns = np.nonzero(~certain)
    z[rows, columns] = bdtr(k[rows, 0], n_trees, p[0, columns])
    epsilon = (multiplicity * z * (1 - z)).sum(axis=1) / (multiplicity * (1 - z)).sum(axis=1)
    return float(1 - epsilon.mean())


def has_lines(recipe: Recipe) -> bool:
    """Whether any column may be a line."""
    return any(own is not None for own in recipe.lines)


def plan_of(binned: Binned, response: Response, recipe: Recipe) -> _core.Plan:
    """What the core must know to grow trees, except the rows."""
    return _core.Plan(**_plan_values(binned, response, recipe))


def _plan_values(binned: Binned, response: Response, recipe: Recipe) -> dict[str, Any]:
    """The same by name."""
    return dict(
        n_bins=binned.n_bins.tolist(),
        has_missing=binned.has_missing.tolist(),
        split_offset=binned.split_offset,
        n_outputs=response.n_outputs,
        classes=response.by_class,
        thresholds=poisson_thresholds(recipe.max_samples).tolist(),
        seed=recipe.seed,
        max_depth=recipe.max_depth,
        max_features=recipe.n_candidates(len(binned.cuts)),
        min_node_size=recipe.min_node_size,
        block_thresholds=recipe.block_thresholds.tolist(),
        lines=[[] if own is None else own.tolist() for own in recipe.lines] if has_lines(recipe) else [],
        **recipe.together.for_core(len(binned.cuts)),
    )


def rows_of(binned: Binned, response: Response, first_row: int = 0) -> _core.Rows:
    """Rows as the core takes them: all of them, or those of one part from ``first_row`` on."""
    return _core.Rows(binned.bins[: len(binned.cuts)], *response.forest_arrays(), response.forest_weights(), first_row)


class GrowingForest(ABC):
    """A forest that can be continued, wherever its rows lie."""

    watched = BATCH  # trees between two signs of progress

    def __init__(self, recipe: Recipe, first_tree: int = 0) -> None:
        self.n_trees = 0
        self._recipe = recipe
        self._first_tree = first_tree
        self._counts = _core.PathCounts()
        self._lines = np.zeros(len(recipe.lines), dtype=np.int64)

    @abstractmethod
    def _splits(self, first_tree: int, n_trees: int, lines: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """The splits of some trees, one row per tree; the column whose line wins each goes to ``lines``, or -1."""

    def grow(self, n_trees: int) -> NDArray[np.int32]:
        """Grow more trees; their splits, one row per tree."""
        lines = np.full(n_trees, -1, dtype=np.int32) if has_lines(self._recipe) else None
        splits = self._splits(self._first_tree + self.n_trees, n_trees, lines)
        self._counts.add(splits)
        if lines is not None:
            self._lines += np.bincount(lines[lines >= 0], minlength=len(self._lines))
        self.n_trees += n_trees
        return splits

    def paths(self) -> Paths:
        """The paths so far, the most frequent first, and the lines."""
        return Paths(*self._counts.paths(), self.n_trees, self._lines.copy())

    def stability(self) -> float:
        """Expected proportion of rules shared with another forest on the same data."""
        return expected_stability(self._counts.paths()[1], self.n_trees)

    def grow_to(self, n_trees: int, progress: Grown | None = None) -> GrowingForest:
        """Grow to a fixed number of trees, in small batches when someone watches."""
        while self.n_trees < n_trees:
            self.grow(min(self.watched if progress else CHUNK, n_trees - self.n_trees))
            if progress:
                progress(self.n_trees, self.stability())
        return self

    def grow_until_stable(self, alpha: float, progress: Grown | None = None) -> GrowingForest:
        """Grow batches until two forests like this one would share 1 - alpha of their rules."""
        stability = 0.0
        while stability < 1 - alpha:
            if self.n_trees >= MAX_TREES:
                warn_user(
                    f"The forest has {MAX_TREES:,} trees and two such forests would still share only "
                    f"{stability:.1%} of their rules (wanted: {1 - alpha:.0%}). The data may hold little signal; "
                    f"set {Parameter('n_trees')} for more trees{InPython(', or a larger alpha')}.",
                    ConvergenceWarning,
                )
                break
            self.grow_to(self.n_trees + BATCH, progress)
            stability = self.stability()
        return self


class Forest(GrowingForest):
    """A forest on rows in memory; where forests are shared, one on the same rows by the same recipe is grown once."""

    def __init__(self, binned: Binned, response: Response, recipe: Recipe, first_tree: int = 0) -> None:
        super().__init__(recipe, first_tree)
        self._plan = plan_of(binned, response, recipe)
        self._rows = rows_of(binned, response)
        self._key = b"" if _grown is None else _digest(binned, response, recipe)

    def _splits(self, first_tree: int, n_trees: int, lines: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        recipe, key, grown = self._recipe, (self._key, first_tree, n_trees), _grown
        if grown is not None and self._key and key in grown:
            splits, known = grown[key]
            if lines is not None and known is not None:
                lines[:] = known
            return splits
        splits = _core.grow(
            self._plan, self._rows, first_tree, n_trees, recipe.n_threads, recipe.kernel, recipe.stop, lines
        )
        if grown is not None and self._key:
            grown[key] = splits, None if lines is None else lines.copy()
        return splits


# ---------------------------------------------------------------------------------------------- forests that are shared

_grown: dict[tuple[bytes, int, int], tuple[NDArray[np.int32], NDArray[np.int32] | None]] | None = None


@contextmanager
def shared_forests() -> Iterator[None]:
    """Within this, trees on the same rows, bin for bin, by the same recipe are grown once.

    What trees depend on is compared as a whole, so that sharing cannot change a result. A restriction that only filters
    rules, such as a direction, leaves it as it is.
    """
    global _grown
    before, _grown = _grown, {}
    try:
        yield
    finally:
        _grown = before


def _digest(binned: Binned, response: Response, recipe: Recipe) -> bytes:
    """All that the trees depend on, except their numbers."""
    found = hashlib.blake2b(pickle.dumps((_plan_values(binned, response, recipe), recipe.kernel)), digest_size=32)
    for array in (binned.bins[: len(binned.cuts)], *response.forest_arrays(), response.forest_weights()):
        found.update(b"-" if array is None else str((array.dtype, array.shape)).encode())
        found.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return found.digest()

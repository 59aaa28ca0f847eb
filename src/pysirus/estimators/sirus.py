"""What the SIRUS estimators share: parameters, reading a table into bins, growing the forest."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from pysirus import _parameters as params
from pysirus._bins.cuts import ALL_MISSING, Binned, Cuts, bin_table
from pysirus._data.table import Feature, Table
from pysirus._forest.forest import Forest, GrowingForest, Paths, Recipe
from pysirus._progress import show_trees
from pysirus._response.response import Response
from pysirus._rules.rule import Rule, RuleSet, rule_of
from pysirus._select.select import Span, select
from pysirus._weights.weights import Moments, rule_moments
from pysirus.estimators.base import RuleEstimator, made_with


@dataclass(frozen=True)
class TrainingBase(ABC):
    """Training rows in bins, wherever they lie, and the seed of every draw."""

    binned: Binned  # in memory the rows too, elsewhere only their cuts
    seed: int
    features: tuple[Feature, ...]
    named: bool
    target: str

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows of positive weight."""

    @property
    @abstractmethod
    def classes(self) -> NDArray[Any] | None:
        """The labels, for classes."""

    @property
    @abstractmethod
    def is_constant(self) -> bool:
        """Whether every row answers the same."""

    @property
    @abstractmethod
    def idle_columns(self) -> dict[str, str]:
        """Columns that add nothing to the forest, and why."""

    @abstractmethod
    def forest(self, recipe: Recipe) -> GrowingForest:
        """A forest on these rows, not yet grown."""

    @abstractmethod
    def moments(self, rules: Sequence[Rule]) -> Moments:
        """What outputs and weights of rules are computed from."""

    @property
    def facts(self) -> dict[str, Any]:
        """What a model remembers of its training, whatever its rules."""
        facts = {"n_rows": self.n_rows, "seed": self.seed, "idle_columns": self.idle_columns}
        return {**facts, "versions": made_with()}


@dataclass(frozen=True)
class Training(TrainingBase):
    """Training rows in memory."""

    response: Response

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return self.response.n_rows

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels, for classes."""
        return self.response.classes

    @property
    def is_constant(self) -> bool:
        """Whether every row answers the same."""
        return self.response.is_constant

    @property
    def idle_columns(self) -> dict[str, str]:
        """Columns that add nothing to the forest, and why."""
        return idle_columns(self.binned)

    def forest(self, recipe: Recipe, first_tree: int = 0) -> GrowingForest:
        """A forest on these rows, not yet grown, whose trees are numbered from ``first_tree`` on."""
        return Forest(self.binned, self.response, recipe, first_tree)

    def moments(self, rules: Sequence[Rule]) -> Moments:
        """What outputs and weights of rules are computed from."""
        return rule_moments(rules, self.binned, self.response, self.seed)


def idle_columns(binned: Binned) -> dict[str, str]:
    """Columns of rows in memory that add nothing to the forest, and why."""

    def same(i: int, k: int) -> bool:
        return np.array_equal(binned.bins[i], binned.bins[k])

    return name_idle(binned.cuts, [crc32(bins) for bins in binned.bins], same)


def name_idle(cuts: Sequence[Cuts], marks: Sequence[Hashable], same: Callable[[int, int], bool]) -> dict[str, str]:
    """Columns without cuts, and copies, which take paths from the column that they repeat; copies have equal marks."""
    idle: dict[str, str] = {}
    alike: dict[Hashable, list[int]] = {}
    for i, (own, mark) in enumerate(zip(cuts, marks)):
        name = own.column.name
        if own.idle:
            idle[name] = own.idle
            continue
        same_mark = alike.setdefault(mark, [])
        twin = next((k for k in same_mark if same(i, k)), None)
        if twin is None:
            same_mark.append(i)
        else:
            idle[name] = f"same as {cuts[twin].column.name}"
    return idle


def rules_of(paths: Paths, kept: list[int], binned: Binned) -> list[Rule]:
    """The rules of some paths."""
    frequencies = paths.frequencies
    return [rule_of(paths.codes[i].tolist(), binned, float(frequencies[i])) for i in kept]


class SirusBase(RuleEstimator):
    """What the SIRUS estimators share: parameters, reading, growing."""

    p0: float | None
    n_rules: int
    max_rules: int
    n_bins: int
    max_depth: int
    max_features: int | None
    n_trees: int | str
    alpha: float
    discrete_limit: int
    min_node_size: int
    max_samples: float | None
    categorical_features: Any
    n_jobs: int | None
    random_state: Any
    verbose: int

    def _check_parameters(self) -> None:
        if "p0" in self.__dict__:  # the estimators that tune p0 have neither
            params.check_real("p0", self.p0, 0, 1, none=True)
            params.check_integer("n_rules", self.n_rules, 1)
        params.check_integer("max_rules", self.max_rules, 1)
        params.check_integer("n_bins", self.n_bins, 2, 255)
        params.check_integer("max_depth", self.max_depth, 1, 4)
        params.check_integer("max_features", self.max_features, 1, none=True)
        if self.n_trees != "auto":
            params.check_integer("n_trees (a number or 'auto')", self.n_trees, 1)
        params.check_real("alpha", self.alpha, 0, 1)
        params.check_integer("discrete_limit", self.discrete_limit, 1, 255)
        params.check_integer("min_node_size", self.min_node_size, 1, 2**31 - 1)
        params.to_share("max_samples", self.max_samples, 1)

    def _check_features(self, n_columns: int) -> None:
        if self.max_features is not None and self.max_features > n_columns:
            raise params.ParameterError(
                f"max_features must be at most the number of columns ({n_columns}), got {self.max_features}."
            )

    def _bin(self, table: Table, response: Response, target: str) -> Training:
        self._check_features(table.n_columns)
        binned = bin_table(
            table,
            response,
            n_bins=self.n_bins,
            discrete_limit=self.discrete_limit,
            n_threads=self._n_threads(),
        )
        features = tuple(Feature(c.column.name, c.column.kind, c.column.levels) for c in binned.cuts)
        return Training(binned, params.to_seed(self.random_state), features, table.names is not None, target, response)

    def _recipe(self, training: TrainingBase) -> Recipe:
        return Recipe(
            seed=training.seed,
            max_depth=self.max_depth,
            max_features=self.max_features,
            min_node_size=self.min_node_size,
            max_samples=params.to_share("max_samples", self.max_samples, training.n_rows),
            n_threads=self._n_threads(),
        )

    def _grow(self, training: TrainingBase) -> GrowingForest:
        forest = training.forest(self._recipe(training))
        fixed = None if self.n_trees == "auto" else int(self.n_trees)
        with show_trees(self.verbose, fixed, 1 - self.alpha) as progress:
            if fixed is not None:
                return forest.grow_to(fixed, progress)
            return forest.grow_until_stable(self.alpha, progress)

    def _paths_of(self, training: TrainingBase) -> Paths:
        """Grow the forest, unless there is nothing to split or to explain."""
        if unknown := [f"'{c.column.name}'" for c in training.binned.cuts if c.idle == ALL_MISSING]:
            shown = ", ".join(unknown[:5]) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
            warnings.warn(f"All values are missing in {shown}: no rule can use it.", UserWarning, stacklevel=3)
        reason = None
        if training.is_constant:
            reason = "the response is constant" if training.classes is None else "y has only one class"
        elif training.binned.split_offset[-1] == 0:
            reason = "every column is constant"
        if reason is None:
            paths = self._grow(training).paths()
            if len(paths.counts):
                return paths
            reason = f"no node has more than min_node_size ({self.min_node_size}) rows and a split that parts them"
        answer = "mean" if training.classes is None else "share of each class"
        warnings.warn(
            f"There are no rules to find: {reason}. The model predicts the {answer}.", UserWarning, stacklevel=3
        )
        return Paths(np.zeros((0, 4), np.int32), np.zeros(0, np.int64), 0)

    def _select_rules(self, training: TrainingBase, paths: Paths, span: Span | None = None) -> list[Rule]:
        """The rules above p0, or the n_rules most frequent; those that earlier ones span are dropped."""
        limit = {"n_rules": self.n_rules} if self.p0 is None else {"p0": self.p0, "n_rules": self.max_rules}
        return rules_of(paths, select(paths, training.binned, **limit, span=span), training.binned)

    def _keep_paths(self, training: TrainingBase, paths: Paths) -> None:
        self._paths = paths
        self._cuts = Binned(training.binned.bins[:, :0], training.binned.cuts)

    @property
    def candidates_(self) -> RuleSet:
        """Every path of the forest as a rule without outputs, the most frequent first, before post-treatment."""
        if "_paths" not in self.__dict__:
            raise AttributeError("candidates_ is there after fit; model files do not keep it.")
        return RuleSet(rules_of(self._paths, list(range(len(self._paths.counts))), self._cuts))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

"""What RuleFit and Node harvest share: reading a table, candidates from trees, prediction; and trees as R grows them.

The parameters of RuleFit and Node harvest, in the form of the table; they have no options on the command line.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from pysirus._data.column import DataError
from pysirus._data.frame import merge_errors, rows_that_count
from pysirus._data.table import Feature, Table, read_table
from pysirus._families.read import name_of, read_numbers, read_weights, target_name
from pysirus._families.responses import NumberResponse
from pysirus._forest.forest import SplitSide
from pysirus._model.facts import ColumnRoles
from pysirus._model.model import Model
from pysirus._parameters import check_choice, check_real, to_seed
from pysirus._parameters.table import PARAMETERS, between, check_parameters, parameter, replaced, whole
from pysirus._peers.trees import Candidates, CodedTable, Node, code_table
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus.estimators.base import RuleRegressor


def share_up_to_one(name: str, value: Any) -> None:
    """A fraction of the rows; one is all of them."""
    if value != 1:
        check_real(name, value, 0, 1)


@dataclass(eq=False, repr=False)
class BoostedRules:
    """How RuleFit grows its trees and combines their rules."""

    n_trees: int = parameter(
        333, "int", "Number of boosted trees; with four leaves each they have about 2,000 rules.", whole(1)
    )
    learning_rate: float = parameter(0.01, "float", "Learning rate of the boosting.", between(0, 10))
    mean_leaves: float = parameter(
        4, "float", "Mean number of leaves L: a tree has 2 + floor(Exp(mean L - 2)) of them.", between(2, 1000)
    )
    min_node_size: int = parameter(
        7, "int", "Minimum number of rows in a node, counting the rows drawn for its tree.", whole(1)
    )
    trees: str = parameter(
        "cart",
        '{"cart", "conditional"}',
        '"cart" grows CART trees of random size, as Friedman and Popescu do. "conditional" grows conditional '
        "inference trees on half of the rows, as the R package pre does. These split only if a test finds an "
        "association (p < 0.05), so lists are shorter.",
        lambda name, value: check_choice(name, value, ("cart", "conditional")),
    )
    max_depth: int = parameter(3, "int", "Depth of conditional inference trees.", whole(1))
    linear_terms: bool = parameter(
        False,
        "bool",
        "Whether numeric columns also enter as linear terms.",
        lambda name, value: check_choice(name, value, (True, False)),
    )
    winsor: float = parameter(
        0.025,
        "float",
        "In linear terms, columns are clipped to their quantiles winsor and 1 - winsor.",
        between(-1e-12, 0.5),
    )
    lasso_choice: str = parameter(
        "1se",
        '{"1se", "min"}',
        'Choice of the penalty: "1se" takes the largest within one standard error of the minimum cross-validated '
        'error, "min" the one at the minimum.',
        lambda name, value: check_choice(name, value, ("1se", "min")),
    )
    n_rules: int | None = parameter(
        None,
        "int",
        "If given, use the smallest penalty that keeps at most this many rules and linear terms, and then fit their "
        "coefficients by least squares. By default ``lasso_choice`` determines the penalty.",
        whole(1, none=True),
    )


@dataclass(eq=False, repr=False)
class HarvestedNodes:
    """How Node harvest grows its nodes."""

    n_nodes: int = parameter(
        1000, "int", "Number of distinct candidate nodes. Trees are grown until there are this many.", whole(1)
    )
    max_depth: int = parameter(2, "int", "Depth of the trees: the maximum number of splits in a rule.", whole(1))
    min_node_size: int = parameter(10, "int", "Minimum number of training rows in a node.", whole(1))
    max_features: int | None = parameter(
        None, "int", "Number of candidate columns at each split; by default a third.", whole(1, none=True)
    )
    max_samples: float = parameter(
        0.5, "float", "Fraction of the rows, drawn without replacement, for each tree.", share_up_to_one
    )
    min_weight: float = parameter(
        0.0,
        "float",
        "Nodes with a smaller weight are removed, as are nodes with less than a hundredth of the largest weight.",
        between(-1e-12, 1),
    )
    n_rules: int | None = parameter(
        None,
        "int",
        "Maximum number of nodes; those with the largest weights are kept. By default all nodes are kept.",
        whole(1, none=True),
    )


@dataclass(eq=False, repr=False)
class TreeTable:
    """How scikit-learn's trees see the table, and the seed."""

    n_bins: int | None = parameter(
        None,
        "int",
        "If given, split columns only at their quantiles i / n_bins, so that the rules of different fits are "
        "comparable. By default splits may be anywhere.",
        whole(2, 255, none=True),
    )
    discrete_limit: int = parameter(
        10,
        "int",
        "With ``n_bins``, columns with at most this many distinct values are split at each value.",
        whole(1, 255),
    )
    categorical_features: Any = replaced("categorical_features", None)
    prepare: bool = replaced("prepare", False)
    max_levels: int = replaced("max_levels", 255)
    random_state: Any = parameter(None, PARAMETERS["random_state"].metadata["kind"], "The random seed.")


Self = TypeVar("Self", bound="TreeRuleRegressor")


@dataclass(frozen=True)
class TreeTraining:
    """A training table as trees see it, with the response, its weights and the source of every draw."""

    table: Table
    coded: CodedTable
    y: NDArray[np.float64]
    weights: NDArray[np.float64]
    seed: int
    target: str

    @property
    def mean(self) -> float:
        """Mean response."""
        return float(np.average(self.y, weights=self.weights))

    @property
    def schema(self) -> dict[str, Any]:
        """What a model remembers of the table."""
        columns = [(c.column, c.levels) for c in self.coded.cuts]
        features = tuple(Feature(c.name, c.kind, levels, c.other, c.is_date) for c, levels in columns)
        named, recipe = self.table.names is not None, self.table.recipe
        return {"features": features, "named": named, "recipe": recipe}


@dataclass(frozen=True)
class Outputs:
    """Mean response inside and outside each candidate, and the rows they are of."""

    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    n_inside: NDArray[np.int64]
    n_rows: int

    def with_weight(self, rule: FittedTerm, i: int, weight: float) -> FittedTerm:
        """The rule of candidate ``i`` with its outputs and this weight."""
        n_inside = int(self.n_inside[i])
        return replace(
            rule,
            inside=float(self.inside[i]),
            outside=float(self.outside[i]),
            n_inside=n_inside,
            n_outside=self.n_rows - n_inside,
            weight=float(weight),
        )


def outputs_of(inside: NDArray[np.bool_], training: TreeTraining) -> Outputs:
    """The outputs of candidates, none of which holds all rows or none."""
    weights, total = training.weights, training.weights.sum()
    deviation = weights * (training.y - training.mean)
    size, share = weights @ inside, deviation @ inside
    return Outputs(
        training.mean + share / size,
        training.mean - share / (total - size),
        inside.sum(axis=0, dtype=np.int64),
        len(inside),
    )


class TreeRuleRegressor(RuleRegressor, TreeTable):
    """A regressor whose rules are nodes of scikit-learn's trees."""

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees and combine their rules.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The table.
        y : array of shape (n_rows,)
            The target.
        sample_weight : array of shape (n_rows,), optional
            Sample weights. A weight of zero is the same as leaving the row out.

        Returns
        -------
        self : estimator
        """
        check_parameters(self)
        training = self._read(X, y, sample_weight)
        candidates, model = self._learn(training)
        self._set_model(model)
        self._remember(ColumnRoles(training.target, name_of(sample_weight)))
        self._candidates = replace(candidates, inside=candidates.inside[:0])
        self._cuts = replace(training.coded, codes=training.coded.codes[:0])
        return self

    @abstractmethod
    def _learn(self, training: TreeTraining) -> tuple[Candidates, Model]:
        """The distinct nodes of the trees, and the model made of some."""

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TreeTraining:
        with rows_that_count(X, y, sample_weight, need_target=self.prepare) as (X, y, sample_weight):
            try:
                max_levels = self.max_levels if self.prepare else None
                table = read_table(X, categorical=self.categorical_features, max_levels=max_levels)
            except DataError as error:
                raise merge_errors(error, lambda: read_numbers(y, len(y)), prepared=self.prepare) from error
            values = read_numbers(y, table.n_rows)
            weights = read_weights(sample_weight, table.n_rows)
        response = NumberResponse(values, weights=weights)
        coded = code_table(table, response, n_bins=self.n_bins, discrete_limit=self.discrete_limit)
        return TreeTraining(
            table=table,
            coded=coded,
            y=values,
            weights=response.row_weights(),
            seed=to_seed(self.random_state),
            target=target_name(y),
        )

    @property
    def candidates_(self) -> RuleSet:
        """All distinct nodes of the trees as rules without outputs, most frequent first."""
        if "_candidates" not in self.__dict__:
            raise AttributeError("candidates_ exists only after fit; model files do not store it.")
        return RuleSet(self._candidates.rules(self._cuts))


# Trees of conditional inference (Hothorn, Hornik, Zeileis 2006): what RuleFit grows in R. A node is split in the column
# that is most significantly associated with the target, whatever its number of cuts, and stays whole where none is: the
# test statistic is (n - 1) times the share of variance that a straight line explains, or the means of the categories,
# beside the chi-squared distribution, with a correction (Bonferroni) for the number of columns. Within that column the
# cut with the smallest squared error is taken.


Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
TINY = 1e-12  # of a variance: below it nothing varies


@dataclass(frozen=True)
class Growing:
    """When a node is split."""

    max_depth: int
    min_leaf: int
    min_split: int = 20
    significance: float = 0.05


class ConditionalTrees:
    """Trees on the rows of a training table, one for each target that it is asked for."""

    def __init__(self, training: TreeTraining, growing: Growing) -> None:
        self.coded, self.weights, self.growing = training.coded, training.weights, growing
        columns = training.table.columns
        codes = training.coded.codes
        # lines are tested on the values themselves, as positions among cuts would hide how far apart they lie
        self.values = np.column_stack(
            [own.values.astype(np.float64) if own.is_numeric else codes[:, j] for j, own in enumerate(columns)]
        ).astype(np.float64)
        self.known = ~np.isnan(codes)
        self.values[~self.known] = 0.0
        spread = self.values.std(axis=0)
        self.values = (self.values - self.values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self.categorical = [j for j, own in enumerate(columns) if not own.is_numeric]
        self.position = np.where(self.known, codes, 0).astype(np.intp)
        self.complete = bool(self.known.all())

    def grow(self, target: Floats, rows: Rows) -> tuple[list[Node], Floats]:
        """The nodes of a tree grown on some rows, parents first, and what the tree predicts for all rows."""
        nodes: list[Node] = []
        predicted = np.empty(len(target))
        waiting: list[tuple[Node, Rows, Rows]] = [((), rows, np.arange(len(target)))]
        while waiting:
            node, own, everywhere = waiting.pop(0)
            split = self._split(target, own) if len(node) < self.growing.max_depth else None
            if split is None:
                predicted[everywhere] = np.average(target[own], weights=self.weights[own])
                continue
            for less in (True, False):
                side = SplitSide(*split[:2], less, split[2])
                child = (*node, side)
                nodes.append(child)
                waiting.append((child, own[self._inside(side, own)], everywhere[self._inside(side, everywhere)]))
        return nodes, predicted

    def _inside(self, side: SplitSide, rows: Rows) -> NDArray[np.bool_]:
        less = self.position[rows, side.feature] <= side.cut
        return np.asarray(np.where(self.known[rows, side.feature], less == side.less, side.missing_inside))

    def _split(self, target: Floats, rows: Rows) -> tuple[int, int, bool] | None:
        """Column, cut and whether missing values go below it; None where a node stays whole."""
        if len(rows) < self.growing.min_split:
            return None
        y, weights = target[rows], self.weights[rows]
        for j in self._significant(y, weights, rows):
            if (cut := self._cut(y, weights, rows, j)) is not None:
                return j, *cut
        return None

    def _significant(self, y: Floats, weights: Floats, rows: Rows) -> list[int]:
        """The columns that are associated with the target, the most significant first."""
        x = self.values[rows]
        known = weights[:, None] * self.known[rows] if not self.complete else np.broadcast_to(weights[:, None], x.shape)
        size = known.sum(axis=0)
        size = np.where(size > 0, size, 1.0)
        mean_x, mean_y = (known * x).sum(axis=0) / size, (known.T @ y) / size
        var_x, var_y = (known * x * x).sum(axis=0) / size - mean_x**2, (known.T @ (y * y)) / size - mean_y**2
        product = (known * x).T @ y / size - mean_x * mean_y
        varies = (var_x > TINY) & (var_y > TINY * max(float(var_y.max(initial=0.0)), TINY))
        share = np.where(varies, product**2 / np.where(varies, var_x * var_y, 1.0), 0.0)
        freedom = np.ones(len(size))
        for j in self.categorical:
            own = self.known[rows, j]
            by = np.bincount(self.position[rows[own], j], weights[own])
            sums = np.bincount(self.position[rows[own], j], weights[own] * (y[own] - mean_y[j]))
            between = float((sums[by > 0] ** 2 / by[by > 0]).sum() / size[j])
            freedom[j] = max(1, int(np.count_nonzero(by)) - 1)
            share[j] = between / var_y[j] if var_y[j] > 0 and np.count_nonzero(by) > 1 else 0.0
        n_rows = np.count_nonzero(self.known[rows], axis=0)
        statistic = np.maximum(n_rows - 1, 0) * np.minimum(share, 1.0)
        chance = chdtrc(freedom, statistic)
        corrected = -np.expm1(len(size) * np.log1p(-np.minimum(chance, 1 - 1e-16)))
        order = np.lexsort((-statistic / freedom, chance))
        return [int(j) for j in order if corrected[j] < self.growing.significance and statistic[j] > 0]

    def _cut(self, y: Floats, weights: Floats, rows: Rows, j: int) -> tuple[int, bool] | None:
        """The cut of a column with the smallest squared error; missing values go to the larger side."""
        own = self.known[rows, j]
        position = self.position[rows[own], j]
        counts = np.bincount(position)
        size = np.cumsum(np.bincount(position, weights[own]))
        total = np.cumsum(np.bincount(position, weights[own] * (y[own] - np.average(y[own], weights=weights[own]))))
        below = np.cumsum(counts)
        least = self.growing.min_leaf
        allowed = (below >= least) & (below[-1] - below >= least) & (counts > 0)
        if not allowed.any():
            return None
        rest = size[-1] - size
        gain = np.where(allowed, total**2 / np.where(allowed, size * rest, 1.0), -1.0)
        cut = int(gain.argmax())
        return cut, bool(2 * below[cut] >= below[-1])

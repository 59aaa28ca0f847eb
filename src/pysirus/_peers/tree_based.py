"""What RuleFit and Node harvest share: reading a table, candidates from scikit-learn's trees, prediction.

The parameters of RuleFit and Node harvest, in the form of the table; they have no options on the command line.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._data.frame import rows_that_count
from pysirus._data.problems import merge_errors
from pysirus._data.table import Feature, Table, read_table
from pysirus._families.read import name_of, read_numbers, read_weights, target_name
from pysirus._families.responses import NumberResponse
from pysirus._model.facts import ColumnRoles
from pysirus._model.model import Model
from pysirus._parameters.check import check_choice, check_real, to_seed
from pysirus._parameters.table import PARAMETERS, between, check_parameters, parameter, replaced, whole
from pysirus._peers.trees import Candidates, CodedTable, code_table
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
        7, "int", "Minimum number of rows in a node, among those its tree is grown on.", whole(1)
    )
    trees: str = parameter(
        "cart",
        '{"cart", "conditional"}',
        "CART trees of random size, as Friedman and Popescu grow them, or conditional inference trees on half of the "
        "rows, as the R package pre does: they split only where a test finds an association (p < 0.05), so lists "
        "are shorter.",
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
        "Linear terms are clipped to the quantiles winsor and 1 - winsor of their column.",
        between(-1e-12, 0.5),
    )
    lasso_choice: str = parameter(
        "1se",
        '{"1se", "min"}',
        "The penalty: the largest within one standard error of the minimum cross-validated error, or the one at the "
        "minimum.",
        lambda name, value: check_choice(name, value, ("1se", "min")),
    )
    n_rules: int | None = parameter(
        None,
        "int",
        "The penalty is the smallest that keeps at most this many rules and linear terms, and their coefficients are "
        "then those of least squares; by default ``lasso_choice`` decides.",
        whole(1, none=True),
    )


@dataclass(eq=False, repr=False)
class HarvestedNodes:
    """How Node harvest grows its nodes."""

    n_nodes: int = parameter(1000, "int", "Grow trees until there are this many distinct candidate nodes.", whole(1))
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
        "Nodes of a smaller weight are removed, and so are those of less than a hundredth of the largest weight.",
        between(-1e-12, 1),
    )
    n_rules: int | None = parameter(
        None, "int", "Only so many nodes of the largest weights are kept; by default all.", whole(1, none=True)
    )


@dataclass(eq=False, repr=False)
class TreeTable:
    """How scikit-learn's trees see the table, and the seed."""

    n_bins: int | None = parameter(
        None,
        "int",
        "Cut columns only at the quantiles i / n_bins, so that rules of two fits are comparable; by default anywhere.",
        whole(2, 255, none=True),
    )
    discrete_limit: int = parameter(
        10,
        "int",
        "With ``n_bins``: a column with at most this many distinct values is cut at each of them.",
        whole(1, 255),
    )
    categorical_features: Any = replaced("categorical_features", None)
    prepare: bool = replaced("prepare", False)
    max_levels: int = replaced("max_levels", 255)
    random_state: Any = parameter(None, PARAMETERS["random_state"].metadata["kind"], "The seed.")


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
        """Every distinct node of the trees as a rule without outputs, the most frequent first."""
        if "_candidates" not in self.__dict__:
            raise AttributeError("candidates_ exists only after fit; model files do not store it.")
        return RuleSet(self._candidates.rules(self._cuts))

"""The parameters of RuleFit and Node harvest, in the form of the table; they have no options on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pysirus._parameters.check import check_choice, check_real
from pysirus._parameters.table import PARAMETERS, between, parameter, replaced, whole


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

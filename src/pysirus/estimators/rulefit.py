"""RuleFit for regression (Friedman and Popescu 2008), on this project's rules: boosted trees in, a sparse sum out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from pysirus import _parameters as params
from pysirus._model.model import Model
from pysirus._peers.lasso import N_FOLDS, fit_lasso
from pysirus._peers.trees import Candidates, Node, distinct_nodes, nodes_of
from pysirus._rules.rule import RuleSet
from pysirus._rules.term import LinearTerm
from pysirus.estimators.tree_based import TreeRuleRegressor, TreeTraining, outputs_of

# The standard deviation a typical rule has; linear terms are scaled to it so that the lasso treats both alike.
RULE_DEVIATION = 0.4
# A rule whose two outputs differ by less than this share of the response's deviation says nothing.
LEAST_GAP = 1e-6


class RuleFitRegressor(TreeRuleRegressor):
    """RuleFit: rules from boosted trees, and optionally linear terms, combined by the lasso.

    The prediction has the form of SIRUS, ``intercept + sum of weight * (inside if the rule holds else
    outside)``, which is equivalent to a coefficient times an indicator; weights can be negative. ``rule.weight *
    (rule.inside - rule.outside)`` is the coefficient.

    Parameters
    ----------
    n_trees : int, default=333
        Number of boosted trees; with four leaves each they have about 2,000 rules.
    learning_rate : float, default=0.01
        Learning rate of the boosting.
    mean_leaves : float, default=4
        Mean number of leaves L: a tree has 2 + floor(Exp(mean L - 2)) of them.
    min_node_size : int, default=7
        Minimum number of rows in a node, among those its tree is grown on.
    linear_terms : bool, default=False
        Whether numeric columns also enter as linear terms.
    winsor : float, default=0.025
        Linear terms are clipped to the quantiles winsor and 1 - winsor of their column.
    lasso_choice : {"1se", "min"}, default="1se"
        The penalty: the largest within one standard error of the minimum cross-validated error, or the one at the
        minimum.
    n_bins : int, optional
        Cut columns only at the quantiles i / n_bins, so that rules of two fits are comparable; by default anywhere.
    discrete_limit : int, default=10
        With ``n_bins``: a column with at most this many distinct values is cut at each of them.
    categorical_features : str, int, list of them or list of bool, optional
        Columns to treat as categorical, by name, by position or by one flag per column.
    random_state : int, Generator or RandomState, optional
        The seed.

    Attributes
    ----------
    rules_ : RuleSet
        The rules selected by the lasso, most frequent first.
    terms_ : tuple of LinearTerm
        The linear terms selected by the lasso.
    intercept_ : float
        Added to the weighted outputs.
    lasso_penalty_ : float
        The penalty chosen by cross-validation.
    candidates_ : RuleSet
        All distinct candidate rules.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Column names, if the table had names.

    Notes
    -----
    Each tree is grown on min(n / 2, 100 + 6 sqrt(n)) rows drawn without replacement. Of several rules that hold for the
    same training rows, or for exactly the other rows, one is kept.

    Examples
    --------
    >>> from pysirus import RuleFitRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = RuleFitRegressor(random_state=0).fit(X, y)
    >>> len(model.rules_) < len(model.candidates_)
    True
    """

    _fitted_facts = ("lasso_penalty",)

    def __init__(
        self,
        n_trees: int = 333,
        learning_rate: float = 0.01,
        mean_leaves: float = 4,
        min_node_size: int = 7,
        linear_terms: bool = False,
        winsor: float = 0.025,
        lasso_choice: str = "1se",
        n_bins: int | None = None,
        discrete_limit: int = 10,
        categorical_features: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.mean_leaves = mean_leaves
        self.min_node_size = min_node_size
        self.linear_terms = linear_terms
        self.winsor = winsor
        self.lasso_choice = lasso_choice
        self.n_bins = n_bins
        self.discrete_limit = discrete_limit
        self.categorical_features = categorical_features
        self.random_state = random_state

    @property
    def terms_(self) -> tuple[LinearTerm, ...]:
        """The linear terms selected by the lasso."""
        return self._model.terms

    def _check_parameters(self) -> None:
        params.check_integer("n_trees", self.n_trees, 1)
        params.check_real("learning_rate", self.learning_rate, 0, 10)
        params.check_real("mean_leaves", self.mean_leaves, 2, 1000)
        params.check_integer("min_node_size", self.min_node_size, 1)
        params.check_choice("linear_terms", self.linear_terms, (True, False))
        params.check_real("winsor", self.winsor, -1e-12, 0.5)
        params.check_choice("lasso_choice", self.lasso_choice, ("1se", "min"))
        self._check_shared()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RuleFitRegressor:
        """Grow the trees and combine their rules.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The table.
        y : array of shape (n_rows,)
            The target.
        sample_weight : array of shape (n_rows,), optional
            Row weights. A weight of zero is the same as leaving the row out.

        Returns
        -------
        self : RuleFitRegressor
        """
        self._check_parameters()
        training = self._read(X, y, sample_weight)
        rng = np.random.default_rng(training.seed)
        boosting = Boosting(self.n_trees, self.learning_rate, self.mean_leaves, self.min_node_size)
        trees = boosted_nodes(training, rng, boosting)
        candidates = distinct_nodes(trees, training.coded, complements=True)
        linear = linear_columns(training, self.winsor) if self.linear_terms else LinearColumns.none(training)
        self._set_model(combine(training, candidates, linear, rng, self.lasso_choice))
        self._keep_candidates(training, candidates)
        return self


@dataclass(frozen=True)
class Boosting:
    """How the trees are grown."""

    n_trees: int
    learning_rate: float
    mean_leaves: float
    min_node_size: int


def boosted_nodes(training: TreeTraining, rng: np.random.Generator, boosting: Boosting) -> list[list[Node]]:
    """The nodes of each tree of a boosted ensemble of small trees of random size, each grown on a part of the rows."""
    codes, y, weights = training.coded.codes, training.y, training.weights
    n = len(y)
    size = max(min(2, n), int(min(n / 2, 100 + 6 * np.sqrt(n))))
    leaves = 2 + np.floor(rng.exponential(boosting.mean_leaves - 2, boosting.n_trees)).astype(int)
    rest = y - training.mean
    trees = []
    with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        for n_leaves in leaves.tolist():
            rows = rng.permutation(n)[:size]
            tree = DecisionTreeRegressor(
                max_leaf_nodes=n_leaves,
                min_samples_leaf=boosting.min_node_size,
                random_state=int(rng.integers(2**31)),
            )
            tree.fit(codes[rows], rest[rows], weights[rows], check_input=training.coded.has_missing)
            rest = rest - boosting.learning_rate * tree.tree_.predict(codes)[:, 0]
            trees.append(nodes_of(tree.tree_))
    return trees


@dataclass(frozen=True)
class LinearColumns:
    """Numeric columns within their limits, and what brings each to the deviation of a rule."""

    values: NDArray[np.float64]  # [row, term], measured from the mean: squares of large numbers would lose the rest
    terms: list[LinearTerm]  # with weight 1
    scale: NDArray[np.float64]

    @classmethod
    def none(cls, training: TreeTraining) -> LinearColumns:
        """No linear terms."""
        return cls(np.zeros((len(training.y), 0)), [], np.zeros(0))


def linear_columns(training: TreeTraining, winsor: float) -> LinearColumns:
    """The columns that can be linear terms: numeric, and not constant within their limits."""
    values, terms, scale = [], [], []
    for j, column in enumerate(training.table.columns):
        if not column.is_numeric:
            continue
        x = column.values.astype(np.float64)
        known = ~np.isnan(x)
        if not known.any():
            continue
        lower, upper = np.quantile(x[known], [winsor, 1 - winsor]).tolist()
        mean = float(np.average(np.clip(x[known], lower, upper), weights=training.weights[known]))
        term = LinearTerm(column.name, 1.0, lower, upper, mean, j)
        held = term.values(training.table)
        deviation = float(np.sqrt(np.average((held - mean) ** 2, weights=training.weights)))
        if deviation > 1e-12 * max(abs(lower), abs(upper)):
            values.append(held - mean)
            terms.append(term)
            scale.append(RULE_DEVIATION / deviation)
    if not terms:
        return LinearColumns.none(training)
    return LinearColumns(np.column_stack(values), terms, np.array(scale))


def combine(
    training: TreeTraining, candidates: Candidates, linear: LinearColumns, rng: np.random.Generator, choice: str
) -> Model:
    """The lasso on rules and linear terms, as a model."""
    outputs = outputs_of(candidates.inside, training)
    gap = outputs.inside - outputs.outside
    deviation = np.sqrt(np.average((training.y - training.mean) ** 2, weights=training.weights))
    used = np.flatnonzero(np.abs(gap) > LEAST_GAP * deviation)
    n_rules = len(used)
    columns = np.concatenate([candidates.inside[:, used], linear.values * linear.scale], axis=1)
    folds = rng.permutation(np.arange(len(training.y)) % min(N_FOLDS, len(training.y)))
    fit = fit_lasso(columns, training.y, training.weights, folds, choice)
    rules = []
    intercept = fit.intercept
    for k in np.flatnonzero(fit.coefficients[:n_rules]):
        i = int(used[k])
        weight = float(fit.coefficients[k] / gap[i])
        intercept -= weight * float(outputs.outside[i])
        rules.append(outputs.give(candidates.rules(training.coded, [i])[0], i, weight))
    weights = fit.coefficients[n_rules:] * linear.scale
    intercept -= float(sum(w * t.missing for t, w in zip(linear.terms, weights)))  # from zero on, not from the mean
    terms = tuple(
        LinearTerm(t.feature, float(w), t.lower, t.upper, t.missing, t.index)
        for t, w in zip(linear.terms, weights)
        if w != 0
    )
    if not rules and not terms:
        warnings.warn("The lasso kept no rule: the model predicts the mean.", UserWarning, stacklevel=3)
    facts = {
        "n_candidates": len(candidates.nodes),
        "lasso_penalty": fit.penalty,
        "n_rows": len(training.y),
        "seed": training.seed,
    }
    return Model(RuleSet(rules), intercept, training.mean, facts=facts, terms=terms, **training.schema)

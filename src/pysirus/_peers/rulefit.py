"""RuleFit for regression (Friedman and Popescu 2008), on this project's rules: boosted trees in, a sparse sum out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from pysirus._families.gaussian import Gaussian
from pysirus._model.facts import Facts
from pysirus._model.model import Model
from pysirus._parameters.table import documented
from pysirus._peers.lasso import N_FOLDS, fit_lasso
from pysirus._peers.parameters import BoostedRules, TreeTable
from pysirus._peers.tree_based import TreeRuleRegressor, TreeTraining, outputs_of
from pysirus._peers.trees import Candidates, Node, distinct_nodes, nodes_of
from pysirus._terms.linear import LinearTerm
from pysirus._terms.listing import RuleSet
from pysirus._warn import warn_user

# The standard deviation a typical rule has; linear terms are scaled to it so that the lasso treats both alike.
RULE_DEVIATION = 0.4
# A rule whose two outputs differ by less than this share of the response's deviation says nothing.
LEAST_GAP = 1e-6


@documented
@dataclass(eq=False, repr=False)
class RuleFitRegressor(TreeRuleRegressor, TreeTable, BoostedRules):
    """RuleFit: rules from boosted trees, and optionally linear terms, combined by the lasso.

    The prediction has the form of SIRUS, ``intercept + sum of weight * (inside if the rule holds else
    outside)``, which is equivalent to a coefficient times an indicator; weights can be negative. ``rule.weight *
    (rule.inside - rule.outside)`` is the coefficient.

    {parameters}

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

    _fitted_facts: ClassVar[tuple[str, ...]] = ("lasso_penalty",)

    @property
    def terms_(self) -> tuple[LinearTerm, ...]:
        """The linear terms selected by the lasso."""
        return self._model.terms

    def _learn(self, training: TreeTraining) -> tuple[Candidates, Model]:
        rng = np.random.default_rng(training.seed)
        boosting = Boosting(self.n_trees, self.learning_rate, self.mean_leaves, self.min_node_size)
        trees = boosted_nodes(training, rng, boosting)
        candidates = distinct_nodes(trees, training.coded, complements=True)
        linear = linear_columns(training, self.winsor) if self.linear_terms else LinearColumns.none(training)
        return candidates, combine(training, candidates, linear, rng, self.lasso_choice)


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
        term = LinearTerm(column.name, 1.0, lower, upper, mean, j, column.is_date)
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
    terms = tuple(replace(t, weight=float(w)) for t, w in zip(linear.terms, weights) if w != 0)
    if not rules and not terms:
        warn_user("The lasso kept no rule: the model predicts the mean.")
    facts = {
        "n_candidates": len(candidates.nodes),
        "lasso_penalty": fit.penalty,
        "n_rows": len(training.y),
        "seed": training.seed,
    }
    family = Gaussian(training.target, training.mean)
    return Model(RuleSet(rules), intercept, family, facts=Facts.of(facts), terms=terms, **training.schema)

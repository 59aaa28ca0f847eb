"""Columns and a response in, sparse coefficients out: the lasso, its penalty by cross-validation.

scikit-learn solves; this module hands it only the columns that can matter. At each penalty of a falling grid the
sequential strong rules name the columns, scikit-learn's coordinate descent runs on their small Gram matrix, and the
optimality conditions of all other columns are checked: one that fails comes in and the penalty is solved again, so the
answer is that of the full problem.

RuleFit for regression (Friedman and Popescu 2008), on this project's rules: boosted trees in, a sparse sum out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model import lasso_path
from sklearn.tree import DecisionTreeRegressor

from pysirus._families.numbers import Gaussian
from pysirus._model.facts import Facts
from pysirus._model.model import Model
from pysirus._parameters import documented
from pysirus._peers.tree_based import (
    BoostedRules,
    ConditionalTrees,
    Growing,
    TreeRuleRegressor,
    TreeTable,
    TreeTraining,
    outputs_of,
)
from pysirus._peers.trees import Candidates, Node, distinct_nodes, nodes_of
from pysirus._runtime.console import warn_user
from pysirus._terms.listing import RuleSet
from pysirus._terms.term import LinearTerm

N_FOLDS = 10
# Fifteen penalties a decade, down to a hundredth of the one that keeps nothing.
GRID = np.logspace(0, -2, 31)
FINE_GRID = np.logspace(0, -3, 181)  # where the number of columns decides
PATIENCE = 4  # penalties after the best one before the path is left
TOLERANCE = 1e-4  # of the duality gap, relative to the sum of squares
SLACK = 1e-3  # a column outside is fine while its gradient is below (1 + SLACK) * penalty

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LassoFit:
    """Coefficients in the units of the columns, and how the penalty was chosen."""

    coefficients: Array
    intercept: float
    penalty: float
    error: float  # cross-validated mean squared error at the penalty; NaN where there was nothing to choose


class _Products:
    """Weighted sums of products of columns, fold by fold; those of a column are there once it has come in.

    The sums over a training sample are those over all rows minus its fold's own, so one pass over the rows serves all
    samples, and no step along a path looks at rows again.
    """

    def __init__(self, columns: NDArray[np.generic], y: Array, weights: Array, folds: NDArray[np.intp]) -> None:
        self.folds = [np.flatnonzero(folds == k) for k in np.unique(folds)]
        self.blocks = [columns[rows].astype(np.float64) for rows in self.folds]
        self.y, self.weights = y, weights
        self.size = np.array([weights[rows].sum() for rows in self.folds])
        self.sum = np.array([weights[rows] @ block for rows, block in zip(self.folds, self.blocks)])
        self.sum_y = np.array([weights[rows] @ y[rows] for rows in self.folds])
        self.cross = np.array([(weights * y)[rows] @ block for rows, block in zip(self.folds, self.blocks)])
        self.place = np.full(columns.shape[1], -1)  # of a column among those that came in
        self.came_in = np.zeros(0, dtype=np.intp)
        self._table = np.zeros((len(self.folds) + 1, 64, columns.shape[1]))  # the last is the sum; rows to spare

    def take_in(self, wanted: NDArray[np.intp]) -> None:
        """See to it that the products of some columns are there."""
        new = wanted[self.place[wanted] < 0]
        if len(new) == 0:
            return
        first, last = len(self.came_in), len(self.came_in) + len(new)
        if last > self._table.shape[1]:
            larger = np.zeros((len(self._table), max(last, 2 * self._table.shape[1]), self._table.shape[2]))
            larger[:, :first] = self._table[:, :first]
            self._table = larger
        self.place[new] = np.arange(first, last)
        self.came_in = np.concatenate([self.came_in, new])
        for k, (rows, block) in enumerate(zip(self.folds, self.blocks)):
            np.matmul((block[:, new] * self.weights[rows, None]).T, block, out=self._table[k, first:last])
        self._table[-1, first:last] = self._table[:-1, first:last].sum(axis=0)

    def among(self, use: NDArray[np.intp], fold: int | None) -> Array:
        """Products of columns with each other over the rows that are not in a fold."""
        rows = self.place[use]
        total = self._table[-1][np.ix_(rows, use)]
        return np.asarray(total if fold is None else total - self._table[fold][np.ix_(rows, use)])

    def times(self, coefficients: Array, fold: int | None) -> Array:
        """Products of all columns with a combination of those that came in, over the rows that are not in a fold."""
        used = np.flatnonzero(coefficients)
        rows, values = self.place[used], coefficients[used]
        total = values @ self._table[-1][rows]
        return np.asarray(total if fold is None else total - values @ self._table[fold][rows])


class _Path:
    """The lasso on the rows that are not in a fold, along falling penalties, each solved from the one before."""

    def __init__(self, products: _Products, fold: int | None) -> None:
        self.products, self.fold = products, fold
        rows = (
            np.arange(len(products.y)) if fold is None else np.delete(np.arange(len(products.y)), products.folds[fold])
        )
        other = slice(None) if fold is None else np.arange(len(products.folds)) != fold
        size = products.size[other].sum()
        self.mean = products.sum[other].sum(axis=0) / size
        self.mean_y = float(products.sum_y[other].sum() / size)
        # scikit-learn counts each row as one: weights are scaled to a mean of one
        self.n_rows, self.scale = len(rows), len(rows) / size
        self.y = (products.y[rows] - self.mean_y) * np.sqrt(products.weights[rows] * self.scale)
        self.cross = products.cross[other].sum(axis=0) * self.scale - self.n_rows * self.mean * self.mean_y
        self.gradient = self.cross / self.n_rows
        self.penalty = float(np.abs(self.gradient).max(initial=0.0))
        self.coefficients = np.zeros(len(self.mean))

    def step(self, penalty: float) -> None:
        """Move on to a smaller penalty."""
        inside = (self.coefficients != 0) | (np.abs(self.gradient) >= 2 * penalty - self.penalty)
        while inside.any():
            use = np.flatnonzero(inside)
            self.products.take_in(use)
            gram = self.products.among(use, self.fold) * self.scale
            gram -= self.n_rows * np.outer(self.mean[use], self.mean[use])
            self.coefficients[use] = lasso_path(
                np.broadcast_to(0.0, (self.n_rows, len(use))),  # beside a Gram matrix only its shape is read
                self.y,
                alphas=[penalty],
                precompute=gram,
                Xy=self.cross[use],
                coef_init=self.coefficients[use],
                tol=TOLERANCE,
                max_iter=10_000,
                check_input=False,
            )[1][:, 0]
            moved = self.products.times(self.coefficients, self.fold) * self.scale
            moved -= self.n_rows * float(self.mean @ self.coefficients) * self.mean
            self.gradient = (self.cross - moved) / self.n_rows
            missed = (np.abs(self.gradient) > penalty * (1 + SLACK)) & ~inside
            if not missed.any():
                break
            inside |= missed
        self.penalty = penalty

    def error(self) -> float:
        """Mean squared error on the fold's own rows."""
        assert self.fold is not None
        rows, used = self.products.folds[self.fold], np.flatnonzero(self.coefficients)
        part = self.products.blocks[self.fold][:, used] - self.mean[used]
        rest = self.products.y[rows] - self.mean_y - part @ self.coefficients[used]
        return float(np.average(rest**2, weights=self.products.weights[rows]))


def fit_lasso(
    columns: NDArray[np.generic], y: Array, weights: Array, folds: NDArray[np.intp], choice: str | int
) -> LassoFit:
    """The lasso at the penalty of least cross-validated error, or (``"1se"``) the largest within one standard error.

    A number chooses that many columns at most, and least squares on them. ``folds`` numbers the fold of each row.
    Columns are taken as they are: their scale is part of the model.
    """
    products = _Products(columns, y, weights, folds)
    full = _Path(products, None)
    if full.penalty == 0 or len(products.folds) < 2:
        return LassoFit(full.coefficients, full.mean_y, full.penalty, float("nan"))
    if isinstance(choice, int):
        return _first_columns(full, columns, y, weights, choice)
    grid = full.penalty * GRID
    with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        errors = _fold_errors(products, grid)
        mean = errors.mean(axis=1)
        chosen = int(mean.argmin())
        if choice == "1se":
            within = mean[chosen] + errors[chosen].std(ddof=1) / np.sqrt(errors.shape[1])
            chosen = int(np.flatnonzero(mean <= within)[0])
        for penalty in grid[: chosen + 1]:
            full.step(float(penalty))
    intercept = full.mean_y - float(full.mean @ full.coefficients)
    return LassoFit(full.coefficients, intercept, float(grid[chosen]), float(mean[chosen]))


def _first_columns(full: _Path, columns: NDArray[np.generic], y: Array, weights: Array, n_columns: int) -> LassoFit:
    """Least squares on the columns that the path holds before there are more than so many."""
    chosen, penalty = np.zeros(0, dtype=np.intp), full.penalty
    for share in FINE_GRID:
        full.step(float(penalty * share))
        inside = np.flatnonzero(full.coefficients)
        if len(inside) > n_columns:
            if len(chosen) == 0:  # several came in at once
                chosen = np.sort(inside[np.argsort(-np.abs(full.coefficients[inside]))][:n_columns])
            break
        chosen = inside
    root = np.sqrt(weights)[:, None]
    used = np.concatenate([np.ones((len(y), 1)), columns[:, chosen].astype(np.float64)], axis=1)
    found = np.linalg.lstsq(used * root, y * root[:, 0], rcond=None)[0]
    coefficients = np.zeros(columns.shape[1])
    coefficients[chosen] = found[1:]
    return LassoFit(coefficients, float(found[0]), full.penalty, float("nan"))


def _fold_errors(products: _Products, grid: Array) -> Array:
    """Mean squared error of each fold (second axis) at each penalty, until it has risen for a while."""
    paths = [_Path(products, k) for k in range(len(products.folds))]
    errors: list[list[float]] = []
    for penalty in grid:
        for path in paths:
            path.step(float(penalty))
        errors.append([path.error() for path in paths])
        best = int(np.mean(errors, axis=1).argmin())
        if len(errors) > best + PATIENCE:
            break
    return np.array(errors)


# The standard deviation a typical rule has; linear terms are scaled to it so that the lasso treats both alike.
RULE_DEVIATION = 0.4
# A rule whose two outputs differ by less than this share of the response's deviation says nothing.
LEAST_GAP = 1e-6


@documented
@dataclass(eq=False, repr=False)
class RuleFitRegressor(TreeRuleRegressor, TreeTable, BoostedRules):
    """RuleFit: rules from boosted trees, and optionally linear terms, combined by the lasso.

    Predictions have the same form as in SIRUS, ``intercept + sum of weight * (inside if the rule applies else
    outside)``, except that weights may be negative. This is equivalent to a coefficient, ``rule.weight * (rule.inside -
    rule.outside)``, times an indicator.

    {parameters}

    Attributes
    ----------
    selected_, rules_ : RuleSet
        The rules selected by the lasso, most frequent first.
    terms_ : tuple of LinearTerm
        The linear terms selected by the lasso.
    intercept_ : float
        Added to the weighted outputs.
    lasso_penalty_ : float
        The penalty chosen by cross-validation.
    candidates_ : RuleSet
        All distinct candidate rules.
    {fitted}

    Notes
    -----
    CART trees are grown on min(n / 2, 100 + 6 sqrt(n)) rows drawn without replacement, conditional inference trees on n
    / 2 rows. If several rules apply to the same training rows, or to exactly the complementary rows, only one is kept.
    ``trees="conditional", n_trees=500`` gives the defaults of the R package pre, except for its linear terms.

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
        if self.trees == "conditional":
            growing = Growing(self.max_depth, self.min_node_size)
            trees = conditional_nodes(training, rng, growing, self.n_trees, self.learning_rate)
        else:
            boosting = Boosting(self.n_trees, self.learning_rate, self.mean_leaves, self.min_node_size)
            trees = boosted_nodes(training, rng, boosting)
        candidates = distinct_nodes(trees, training.coded, complements=True)
        linear = linear_columns(training, self.winsor) if self.linear_terms else LinearColumns.none(training)
        return candidates, combine(training, candidates, linear, rng, self.n_rules or self.lasso_choice)


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


def conditional_nodes(
    training: TreeTraining, rng: np.random.Generator, growing: Growing, n_trees: int, learning_rate: float
) -> list[list[Node]]:
    """The nodes of each tree of a boosted ensemble of conditional inference trees, each grown on half of the rows."""
    n, trees = len(training.y), []
    grown = ConditionalTrees(training, growing)
    rest = training.y - training.mean
    for _ in range(n_trees):
        nodes, predicted = grown.grow(rest, rng.permutation(n)[: max(min(2, n), n // 2)])
        rest = rest - learning_rate * predicted
        trees.append(nodes)
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
    training: TreeTraining, candidates: Candidates, linear: LinearColumns, rng: np.random.Generator, choice: str | int
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
        rules.append(outputs.with_weight(candidates.rules(training.coded, [i])[0], i, weight))
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

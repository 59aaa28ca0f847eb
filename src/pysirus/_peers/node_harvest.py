"""Node harvest for regression (Meinshausen 2010), on this project's rules: forest nodes in, a weighted mean out.

The weights of nodes solve a quadratic program, by PIQP: minimise the squared error of the weighted sum of node means
over weights >= 0 such that the weights of the nodes that hold a training row sum to one, for every training row. The
root, which holds them all, makes that possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.linalg import qr
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeRegressor

from pysirus._families.numbers import WeightedMean
from pysirus._model.facts import Facts
from pysirus._model.model import Model
from pysirus._parameters import documented
from pysirus._peers.tree_based import HarvestedNodes, TreeRuleRegressor, TreeTable, TreeTraining, outputs_of
from pysirus._peers.trees import Candidates, Node, distinct_nodes, membership, node_key, nodes_of
from pysirus._runtime.console import warn_user
from pysirus._terms.listing import RuleSet

Array = NDArray[np.float64]
LEAST_SHARE = 0.01  # nodes below this share of the largest weight are dropped
RANK_TOLERANCE = 1e-9
FEASIBLE = 1e-5


def harvest_weights(inside: NDArray[np.bool_], means: Array, y: Array, row_weights: Array) -> Array:
    """The weights of nodes; ``inside[row, node]``, the root first."""
    deviation = float(np.sqrt(np.average((y - means[0]) ** 2, weights=row_weights)))
    # in units of the response's deviation from the root's mean: the weights do not depend on them
    fitted = inside * ((means - means[0]) / deviation) * np.sqrt(row_weights / row_weights.mean())[:, None]
    wanted = (y - means[0]) / deviation * np.sqrt(row_weights / row_weights.mean())
    weights = _solve(fitted.T @ fitted, -fitted.T @ wanted, _independent_rows(inside))
    weights[weights < LEAST_SHARE * weights.max()] = 0.0
    return weights


def _independent_rows(inside: NDArray[np.bool_]) -> Array:
    """Rows that span all rows: a constraint that others imply is left out, for a solver of full rank."""
    _, first = np.unique(np.packbits(inside, axis=1), axis=0, return_index=True)
    patterns = inside[np.sort(first)].astype(np.float64)
    triangle, order = qr(patterns.T, mode="r", pivoting=True, check_finite=False)
    size = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(size > RANK_TOLERANCE * size[0]))
    return np.asarray(patterns[np.sort(order[:rank])])


def _solve(quadratic: Array, linear: Array, rows: Array) -> Array:
    try:
        import piqp
    except ImportError as error:
        raise ImportError(
            "Node harvest solves a quadratic program with PIQP, which is not installed: pip install pysirus[compare]"
        ) from error
    n_nodes, ones = len(linear), np.ones(len(rows))
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    solver.setup(quadratic, linear, A=rows, b=ones, x_l=np.zeros(n_nodes), x_u=np.full(n_nodes, np.inf))
    status = solver.solve()
    weights: Array = np.maximum(np.array(solver.result.x), 0.0)
    gap = float(np.abs(rows @ weights - 1).max())
    if not gap < FEASIBLE:
        raise RuntimeError(
            f"The quadratic program was not solved ({status}): node weights miss their sum by {gap:.2g}."
        )
    if status != piqp.PIQP_SOLVED:
        warn_user(f"The quadratic program ended early ({status}).", ConvergenceWarning)
    return weights


MAX_TREES = 3_000
MAX_IDLE = 100  # trees in a row without a new node: there are no more to find


@documented
@dataclass(eq=False, repr=False)
class NodeHarvestRegressor(TreeRuleRegressor, TreeTable, HarvestedNodes):
    """Node harvest: a weighted mean of the means of a few nodes of a forest.

    The prediction for a row is the weighted mean over the nodes that contain it. These include the root, which contains
    all rows and has weight ``root_weight_``; its mean is the prediction for rows in no other node.

    {parameters}

    Attributes
    ----------
    selected_, rules_ : RuleSet
        The nodes with positive weight, most frequent first; ``inside`` is the mean of a node.
    root_weight_ : float
        Weight of the root.
    candidates_ : RuleSet
        All candidate nodes except the root.
    n_trees_ : int
        Number of trees grown.
    intercept_ : float
        Always 0: a prediction is a weighted mean.
    {fitted}

    Notes
    -----
    Needs a solver for quadratic programs: ``pip install pysirus[compare]``.

    Examples
    --------
    >>> from pysirus import NodeHarvestRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = NodeHarvestRegressor(random_state=0).fit(X, y)
    >>> len(model.rules_) < 100
    True
    """

    _fitted_facts: ClassVar[tuple[str, ...]] = ("n_trees",)

    @property
    def root_weight_(self) -> float:
        """Weight of the root."""
        return self._model.family.root_weight

    def _learn(self, training: TreeTraining) -> tuple[Candidates, Model]:
        trees = self._grow(training)
        candidates = distinct_nodes(trees, training.coded, complements=False)
        return candidates, weigh(training, candidates, len(trees), Kept(self.min_weight, self.n_rules))

    def _grow(self, training: TreeTraining) -> list[list[Node]]:
        """The large enough nodes of trees, grown until there are ``n_nodes`` distinct ones or no more to find."""
        rng = np.random.default_rng(training.seed)
        codes, n = training.coded.codes, len(training.y)
        size = min(n, max(2, round(self.max_samples * n)))
        tree = DecisionTreeRegressor(
            max_depth=self.max_depth,
            min_samples_leaf=ceil(self.min_node_size * self.max_samples),
            max_features=min(codes.shape[1], self.max_features or max(1, codes.shape[1] // 3)),
        )
        trees: list[list[Node]] = []
        seen: set[bytes] = set()
        newest = 0
        with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
            while len(seen) < self.n_nodes and len(trees) < MAX_TREES and len(trees) - newest <= MAX_IDLE:
                rows = rng.permutation(n)[:size]
                tree.random_state = int(rng.integers(2**31))
                tree.fit(codes[rows], training.y[rows], training.weights[rows], check_input=training.coded.has_missing)
                nodes, columns = self._large_nodes(tree, training)
                trees.append(nodes)
                before = len(seen)
                seen.update(columns)
                newest = len(trees) if len(seen) > before else newest
        return trees

    def _large_nodes(self, tree: DecisionTreeRegressor, training: TreeTraining) -> tuple[list[Node], list[bytes]]:
        """The nodes of a tree that hold enough training rows, and a fingerprint of their rows."""
        nodes = nodes_of(tree.tree_)
        inside = membership([node_key(node, training.coded.cuts) for node in nodes], training.coded)
        size = inside.sum(axis=0)
        large = np.flatnonzero((size >= self.min_node_size) & (size < len(inside)))
        return [nodes[i] for i in large], [np.packbits(inside[:, i]).tobytes() for i in large]


@dataclass(frozen=True)
class Kept:
    """Which of the nodes of positive weight are kept."""

    min_weight: float
    n_rules: int | None

    def among(self, weights: Array) -> list[int]:
        """The numbers of nodes that are kept, in order; the root is not among them."""
        heavy = np.flatnonzero((weights > 0) & (weights >= self.min_weight))
        if self.n_rules is not None:
            heavy = np.sort(heavy[np.argsort(-weights[heavy], kind="stable")][: self.n_rules])
        return [int(i) for i in heavy]


def weigh(training: TreeTraining, candidates: Candidates, n_trees: int, keeping: Kept) -> Model:
    """The weighted nodes, as a model."""
    outputs = outputs_of(candidates.inside, training)
    weights: NDArray[np.float64] = np.array([1.0])
    if candidates.nodes and not (training.y == training.y[0]).all():
        inside = np.concatenate([np.ones((len(training.y), 1), dtype=bool), candidates.inside], axis=1)
        means = np.concatenate([[training.mean], outputs.inside])
        weights = harvest_weights(inside, means, training.y, training.weights)
    else:
        warn_user("There are no nodes to harvest: the model predicts the mean.")
    kept = keeping.among(weights[1:])
    rules = [
        outputs.with_weight(rule, i, weights[1 + i]) for rule, i in zip(candidates.rules(training.coded, kept), kept)
    ]
    facts = {
        "n_trees": n_trees,
        "n_candidates": len(candidates.nodes),
        "n_rows": len(training.y),
        "seed": training.seed,
    }
    family = WeightedMean(training.target, training.mean, float(weights[0]))
    return Model(RuleSet(rules), 0.0, family, facts=Facts.of(facts), **training.schema)

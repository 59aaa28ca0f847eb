"""SIRUS for regression (Bénard, Biau, Da Veiga, Scornet 2021), behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from pysirus._data.table import Table, read_table
from pysirus._data.zero_weights import without_weightless
from pysirus._model.model import RuleModel
from pysirus._parameters import check_integer
from pysirus._response.response import Response, read_numbers, read_weights, target_name
from pysirus._rules.rule import with_weights
from pysirus._select.select import Span
from pysirus._stages.correct import correct
from pysirus._weights.weights import Weighed, weigh_by_ridge
from pysirus.estimators.files import FitsFiles
from pysirus.estimators.sirus import SirusBase, Training, TrainingBase


def check_stages(n_stages: Any) -> None:
    """A number of stages, or auto."""
    if n_stages != "auto":
        check_integer("n_stages (a number or 'auto')", n_stages, 1)


class RegressionBase(RegressorMixin, SirusBase):  # type: ignore[misc]
    """What the two regressors share: reading a numeric response, predicting it."""

    _fitted_facts: ClassVar[tuple[str, ...]] = ("n_trees", "ridge_penalty", "idle_columns")

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Response, str]:
        with without_weightless(X, y, sample_weight) as (X, y, sample_weight):
            table = read_table(X, categorical=self.categorical_features)
            values = read_numbers(y, table.n_rows)
            weights = read_weights(sample_weight, table.n_rows)
        return table, Response(values, None, 1, weights), target_name(y)

    def _model_of(self, training: TrainingBase, weighed: Weighed, row: int, n_trees: int) -> RuleModel:
        """The model of one of the weighed prefixes."""
        size = weighed.sizes[row]
        return RuleModel(
            selected=with_weights(weighed.rules[:size], weighed.weights[row, :size].tolist()),
            intercept=weighed.intercepts[row],
            mean=weighed.mean,
            features=training.features,
            named=training.named,
            target=training.target,
            moments=weighed.moments,
            facts={**training.facts, "n_trees": n_trees, "ridge_penalty": float(weighed.penalties[row])},
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the response.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Columns are found by name where both tables have names.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        return self._decide(X)


class SirusRegressor(FitsFiles, RegressionBase):
    """Stable and interpretable rules for regression.

    Grows a large forest of shallow trees that cut at quantiles, counts how often each path occurs, keeps the frequent
    ones, drops those that are linear combinations of earlier ones, and combines the rest by non-negative ridge.

    Parameters
    ----------
    p0 : float, optional
        Keep the rules whose frequency is above p0 (at most ``max_rules``). By default the ``n_rules`` most frequent.
    n_rules : int, default=10
        How many rules to keep when ``p0`` is None.
    max_rules : int, default=25
        At most so many rules when ``p0`` is set.
    n_bins : int, default=10
        Cut columns at the quantiles i / n_bins.
    max_depth : int, default=2
        Depth of the trees, 1 to 4; a rule has at most so many splits.
    max_features : int, optional
        Candidate columns at each node; by default a third of them, at least 2, and all in the forests on residuals.
    n_trees : int or "auto", default="auto"
        Trees in the forest; "auto" grows until two such forests would share ``1 - alpha`` of their rules.
    alpha : float, default=0.05
        See ``n_trees``.
    discrete_limit : int, default=10
        A column of at most so many distinct values is cut at each of them.
    min_node_size : int, default=5
        A node of at most so many drawn rows is not split.
    max_samples : float or int, optional
        Rows that each tree draws, on average: a share of them, or a number. By default as many as there are. Millions
        of rows need no more than a part of them in each tree, and the paper's theory asks for a vanishing share.
    categorical_features : str, int, list of them or list of bool, optional
        Columns of numbers or text to take as labels, by name, by number or by a flag per column. Columns of text,
        booleans and categories of a data frame are labels without being named.
    n_stages : int or "auto", default=1
        1 is the paper. More stages grow forests on the residuals and add rules that correct the list: at most so many,
        or with "auto" until no path is above ``p0`` or ``max_rules`` are reached. Each stage keeps its rules above
        ``p0``, or its ``n_rules`` most frequent ones; ``max_rules`` limits them all. Trees on residuals draw three
        tenths of the rows that those of the first forest draw.
    n_jobs : int, optional
        Threads; the rules do not depend on it. None is 1, -1 is all cores.
    random_state : int, Generator or RandomState, optional
        The seed; the same seed gives the same rules on any machine.
    verbose : int, default=0
        Show progress on standard error.

    Attributes
    ----------
    selected_ : RuleSet
        The rules after post-treatment, in order of frequency.
    rules_ : RuleSet
        Those of positive weight.
    intercept_ : float
        What is added to the weighted outputs.
    n_trees_ : int
        Trees grown.
    ridge_penalty_ : float
        The penalty that cross-validation chose.
    idle_columns_ : dict
        Columns that add nothing to the forest, and why: constant, all missing, or the same as another.
    candidates_ : RuleSet
        Every path of the forest, before post-treatment.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, when the table had names.

    Examples
    --------
    >>> from pysirus import SirusRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=3, random_state=0).fit(X, y)
    >>> print(model.rules_[0])
    if temp < 65.4 then 7.0 else 19.0
    """

    _fitted_facts = (*RegressionBase._fitted_facts, "n_stages")

    def __init__(
        self,
        p0: float | None = None,
        n_rules: int = 10,
        max_rules: int = 25,
        n_bins: int = 10,
        max_depth: int = 2,
        max_features: int | None = None,
        n_trees: int | str = "auto",
        alpha: float = 0.05,
        discrete_limit: int = 10,
        min_node_size: int = 5,
        max_samples: float | None = None,
        categorical_features: Any = None,
        n_stages: int | str = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SirusRegressor:
        """Learn the rules.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The table.
        y : array of shape (n_rows,)
            The response.
        sample_weight : array of shape (n_rows,), optional
            How much each row counts; a weight of zero is the same as leaving the row out.

        Returns
        -------
        self : SirusRegressor
        """
        self._check_parameters()
        check_stages(self.n_stages)
        self._learn(self._bin(*self._read(X, y, sample_weight)))
        return self

    def _learn(self, training: TrainingBase) -> None:
        paths = self._paths_of(training)
        span = Span()
        rules = self._select_rules(training, paths, span)
        first = weigh_by_ridge(rules, training.moments(rules), [len(rules)])
        stages = [first, *self._stages(training, first, span, paths.n_trees)]
        model = self._model_of(training, stages[-1], 0, len(stages) * paths.n_trees)
        self._set_model(replace(model, facts={**model.facts, "n_stages": len(stages)}))
        self._keep_paths(training, paths)

    def _stages(self, training: TrainingBase, first: Weighed, span: Span, n_trees: int) -> Iterator[Weighed]:
        """The list with the corrections of the second stage, the third, ..."""
        if self.n_stages == 1 or not first.rules:
            return iter(())
        assert isinstance(training, Training)  # the others allow for one stage only
        stages = correct(
            training,
            first,
            span,
            self._recipe(training),
            first_tree=n_trees,
            n_trees=n_trees,
            p0=self.p0,
            n_rules=self.n_rules,
            max_rules=max(self.max_rules, len(first.rules)),
        )
        return stages if self.n_stages == "auto" else islice(stages, int(self.n_stages) - 1)

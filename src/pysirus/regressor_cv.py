"""SIRUS for regression with p0 tuned for accuracy and stability: the default way to use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._response import Response
from pysirus._rule import Rule
from pysirus._sirus import Training
from pysirus._tuned import TunedBase
from pysirus._weights import Weighed, gram_of, rule_moments, useful_sizes, weigh_moments, with_outputs
from pysirus.regressor import RegressionBase
from pysirus.tune import PooledError


class SirusRegressorCV(RegressionBase, TunedBase):
    """Stable and interpretable rules for regression, with the number of rules chosen by cross-validation.

    In each fold one forest is grown; then p0 is walked down the frequencies. The choice is the p0 nearest to no error
    and a stability of 0.9, the median over repetitions. After ``fit`` it is a fitted regressor at that p0.

    Parameters
    ----------
    cv : int, splitter or iterable, default=10
        Folds. With ``groups`` in ``fit``, rows of a group stay together.
    n_repeats : int, default=10
        Repetitions with other folds and forests.
    criterion : {"stability", "error"}, default="stability"
        "error" takes the largest p0 whose error is within two standard errors of the least.
    max_rules : int, default=25
        The longest list to consider.
    n_bins, max_depth, max_features, n_trees, alpha, discrete_limit, min_node_size, categorical_features, n_jobs,
    random_state, verbose
        As in ``SirusRegressor``. Folds are fitted on ``n_jobs`` threads.

    Attributes
    ----------
    p0_ : float
        The chosen threshold.
    path_ : TuningPath
        Number of rules, error and stability against p0.
    cv_error_, cv_stability_ : float
        Out-of-fold unexplained variance, and stability, at the choice.
    models_ : tuple of RuleModel
        The model of every size on the full data; ``with_rules(k)`` picks one.
    selected_, rules_, intercept_, n_trees_, ridge_penalty_, candidates_, n_features_in_, feature_names_in_
        As in ``SirusRegressor``.

    Examples
    --------
    >>> from pysirus import SirusRegressorCV
    >>> from pysirus.datasets import load_machine
    >>> X, y = load_machine(return_X_y=True, as_frame=True)
    >>> model = SirusRegressorCV(n_repeats=1, n_trees=2000, random_state=0).fit(X, y)
    >>> len(model.with_rules(3).selected)
    3
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SirusRegressorCV:
        """Tune p0 and learn the rules.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The table.
        y : array of shape (n_rows,)
            The response.
        sample_weight : array of shape (n_rows,), optional
            How much each row counts.
        groups : array of shape (n_rows,), optional
            Rows of a group stay in one fold.

        Returns
        -------
        self : SirusRegressorCV
        """
        self._check_parameters()
        self._check_tuning()
        self._tune(*self._read(X, y, sample_weight), groups)
        return self

    def _weigh(self, training: Training, rules: list[Rule]) -> Weighed:
        moments = rule_moments(rules, training.binned, training.response, training.seed)
        outputs = with_outputs(rules, moments)
        sizes = useful_sizes(gram_of(moments, outputs), self.max_rules)
        return weigh_moments(outputs[: sizes[-1]], moments.take(sizes[:-1]), sizes)

    def _outcome(self, weighed: Weighed, holds: NDArray[np.bool_], response: Response) -> Any:
        """Weight, sum and sum of squares of the held-out responses, and squared errors of every size."""
        inside = np.array([rule.inside for rule in weighed.rules], dtype=np.float64)
        outside = np.array([rule.outside for rule in weighed.rules], dtype=np.float64)
        base = np.asarray(weighed.intercepts) + weighed.weights @ outside
        predictions = base + holds @ (weighed.weights * (inside - outside)).T
        y = response.values
        assert y is not None
        w = np.ones(len(y)) if response.weights is None else response.weights
        return y, w, w @ (y[:, None] - predictions) ** 2

    def _pooled_error(self, outcomes: Sequence[Any]) -> PooledError:
        y, w = (np.concatenate([outcome[i] for outcome in outcomes]) for i in (0, 1))
        total = float(w @ (y - np.average(y, weights=w)) ** 2)
        errors = [outcome[2] / (total or 1.0) for outcome in outcomes]
        return lambda sizes: np.sum([error[k] for error, k in zip(errors, sizes.T)], axis=0)

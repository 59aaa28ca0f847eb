"""SIRUS for classes with p0 tuned for accuracy and stability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._response.response import Response
from pysirus._rules.rule import Rule
from pysirus._tuning.auc import HeldOut, pooled_error
from pysirus._tuning.path import PooledError
from pysirus._weights.weights import Weighed, weigh_by_mean
from pysirus.estimators.classifier import ClassBase
from pysirus.estimators.sirus import Training
from pysirus.estimators.tuned import TunedBase


class SirusClassifierCV(ClassBase, TunedBase):
    """Stable and interpretable rules for classes, with the number of rules chosen by cross-validation.

    In each fold one forest is grown; then p0 is walked down the frequencies. The choice is the largest p0 whose error
    is within two standard errors of the least. The error is 1 - AUC of the held-out rows of all folds together; for
    more than two classes, 1 - the mean AUC of each class against the rest. After ``fit`` it is a fitted classifier at
    that p0.

    Parameters
    ----------
    cv : int, splitter or iterable, default=10
        Folds. With ``groups`` in ``fit``, rows of a group stay together.
    n_repeats : int, default=10
        Repetitions with other folds and forests.
    criterion : {"error", "stability"}, default="error"
        "stability" takes the p0 nearest to no error and a stability of 0.9, the median over repetitions.
    max_rules : int, default=25
        The longest list to consider.
    n_bins, max_depth, max_features, n_trees, alpha, discrete_limit, min_node_size, max_samples,
    categorical_features, class_weight, n_jobs, random_state, verbose
        As in ``SirusClassifier``. Folds are fitted on ``n_jobs`` threads.

    Attributes
    ----------
    p0_ : float
        The chosen threshold.
    path_ : TuningPath
        Number of rules, error and stability against p0.
    cv_error_, cv_stability_ : float
        Out-of-fold 1 - AUC, and stability, at the choice.
    models_ : tuple of RuleModel
        The model of every size on the full data; ``with_rules(k)`` picks one.
    classes_, selected_, rules_, n_trees_, idle_columns_, candidates_, n_features_in_, feature_names_in_
        As in ``SirusClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pysirus import SirusClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SirusClassifierCV(n_repeats=1, n_trees=1000, random_state=0).fit(X, y)
    >>> model.cv_error_ < 0.03
    True
    """

    def __init__(
        self,
        cv: Any = 10,
        n_repeats: int = 10,
        criterion: str = "error",
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
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SirusClassifierCV:
        """Tune p0 and learn the rules.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The table.
        y : array of shape (n_rows,)
            The labels: text, whole numbers or booleans.
        sample_weight : array of shape (n_rows,), optional
            How much each row counts.
        groups : array of shape (n_rows,), optional
            Rows of a group stay in one fold.

        Returns
        -------
        self : SirusClassifierCV
        """
        self._check_parameters()
        self._check_tuning()
        self._tune(X, y, sample_weight, groups)
        return self

    def _weigh(self, training: Training, rules: list[Rule]) -> Weighed:
        assert training.classes is not None
        return weigh_by_mean(rules, training.moments(rules), training.classes, range(len(rules) + 1))

    def _outcome(self, weighed: Weighed, holds: NDArray[np.bool_], response: Response) -> HeldOut:
        """What ranks the held-out rows."""
        assert response.slots is not None and isinstance(weighed.mean, tuple)
        shape = (len(weighed.rules), response.n_slots)
        inside = np.array([rule.inside for rule in weighed.rules], dtype=np.float64).reshape(shape)
        outside = np.array([rule.outside for rule in weighed.rules], dtype=np.float64).reshape(shape)
        return HeldOut(holds, inside, outside, np.asarray(weighed.mean), response.slots, response.weights)

    def _pooled_error(self, outcomes: Sequence[HeldOut]) -> PooledError:
        return lambda sizes: np.array([pooled_error(outcomes, step) for step in sizes.tolist()])

"""SIRUS for regression with p0 tuned for accuracy and stability: the default way to use it."""

from __future__ import annotations

from dataclasses import dataclass

from pysirus._parameters.table import Constraining, Folds, Growing, Loss, Running, Stages, documented
from pysirus.estimators.sirus import RegressionBase
from pysirus.estimators.tuned import TunedSirus


@documented
@dataclass(eq=False, repr=False)
class SirusRegressorCV(RegressionBase, TunedSirus, Running, Stages, Loss, Growing, Constraining, Folds):
    """Stable and interpretable rules for regression, with the number of rules chosen by cross-validation.

    In each fold one forest is grown; then p0 is lowered through the frequencies. The choice is the p0 closest to error
    0 and stability 0.9, the median over repetitions. After ``fit`` this is a fitted regressor with that p0.

    {parameters}

    Attributes
    ----------
    p0_ : float
        The chosen threshold.
    path_ : TuningPath
        Number of rules, error and stability against p0.
    cv_error_, cv_stability_ : float
        Out-of-fold unexplained variance and stability at the chosen p0.
    models_ : tuple of RuleModel
        The models of every size on the full data; ``with_rules(k)`` returns one.
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

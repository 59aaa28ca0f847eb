"""SIRUS for regression (Bénard, Biau, Da Veiga, Scornet 2021), behind scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass

from pysirus._parameters.check import documented
from pysirus._parameters.table import (
    Constraining,
    Folds,
    Growing,
    ListSize,
    Loss,
    Running,
    Stages,
    replaced,
)
from pysirus.estimators.list_size import FixedSizeSirus, TunedSirus
from pysirus.estimators.sirus import RegressionBase


@documented
@dataclass(eq=False, repr=False)
class SirusRegressor(RegressionBase, FixedSizeSirus, Running, Stages, Loss, Growing, Constraining, ListSize):
    """Stable and interpretable rules for regression.

    Grows a large forest of shallow trees with cuts at quantiles, counts how often each path occurs, keeps the frequent
    ones, drops linear combinations of earlier ones, and combines the rest by non-negative ridge regression. See
    docs/method.md.

    {parameters}

    Attributes
    ----------
    selected_ : RuleSet
        The selected rules (after post-treatment), by decreasing frequency.
    rules_ : RuleSet
        The selected rules of positive weight.
    intercept_ : float
        Added to the weighted outputs.
    ridge_penalty_ : float
        The penalty chosen by cross-validation.
    {grown}
    {fitted}

    Examples
    --------
    >>> from pysirus import SirusRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=3, random_state=0).fit(X, y)
    >>> print(model.rules_[0])
    if temp < 66 then 7.0 else 19.0
    """


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
        Held-out unexplained variance and stability at the chosen p0.
    models_ : tuple of RuleModel
        The models of every size on the full data; ``with_rules(k)`` returns one.
    selected_ : RuleSet
        The selected rules (after post-treatment), by decreasing frequency.
    rules_ : RuleSet
        The selected rules of positive weight.
    intercept_ : float
        Added to the weighted outputs.
    ridge_penalty_ : float
        The penalty of the chosen list.
    {grown}
    {fitted}

    Examples
    --------
    >>> from pysirus import SirusRegressorCV
    >>> from pysirus.datasets import load_machine
    >>> X, y = load_machine(return_X_y=True, as_frame=True)
    >>> model = SirusRegressorCV(n_repeats=1, n_trees=2000, random_state=0).fit(X, y)
    >>> len(model.with_rules(3).selected)
    3
    """

    slopes: bool | str = replaced("slopes", "auto")

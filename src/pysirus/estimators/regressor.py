"""SIRUS for regression (Bénard, Biau, Da Veiga, Scornet 2021), behind scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from pysirus._families.numbers import Gaussian, LogMean
from pysirus._families.of_model import BY_LOSS
from pysirus._learn.grow import Settings
from pysirus._parameters import ParameterError, documented
from pysirus._parameters.table import (
    PARAMETERS,
    Constraining,
    Folds,
    Growing,
    ListSize,
    Loss,
    Running,
    Stages,
    replaced,
)
from pysirus._text.message import Parameter, setting
from pysirus.estimators.base import RuleRegressor
from pysirus.estimators.intervals import NumberIntervals
from pysirus.estimators.list_size import FixedSizeSirus, TunedSirus
from pysirus.estimators.sirus import SirusBase


class RegressionBase(NumberIntervals, RuleRegressor, SirusBase):
    """Estimators of numbers."""

    _fitted_facts: ClassVar[tuple[str, ...]] = ("n_trees", "ridge_penalty", "idle_columns", "n_stages")

    loss: str
    power: float

    @property
    def _idle_parameters(self) -> tuple[str, ...]:
        return () if self.loss == "tweedie" else ("power",)

    def _settings(self) -> Settings:
        """The parameters, checked; a power that nothing would use is an error."""
        settings = super()._settings()
        if self._idle_parameters and self.power != PARAMETERS["power"].default:
            wanted, found = setting("loss", "tweedie"), setting("loss", self.loss)
            raise ParameterError(
                f"{Parameter('power')} is for {wanted}, got {found}. Leave it out, or choose that loss."
            )
        return settings

    @property
    def _family(self) -> Gaussian | LogMean:
        return BY_LOSS[self.loss].from_facts("y", 1.0, {"power": self.power}) if self.loss in BY_LOSS else Gaussian()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the variance explained (R²) or, for counts and amounts, of the deviance (D²).

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Rows that the model was not fitted on.
        y : array of shape (n_rows,)
            Their targets; if the model was fitted on rates, counts per unit of exposure.
        sample_weight : array of shape (n_rows,), optional
            Their weights; for rates, the exposures.

        Returns
        -------
        score : float
            1 is perfect, and 0 is no better than predicting the mean of y. Defined as in scikit-learn's ``r2_score``
            and ``d2_tweedie_score``.
        """
        check_is_fitted(self)
        if self.model_.family.deviance_loss is None and not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        return self.model_.score(X, y, sample_weight)


@documented
@dataclass(eq=False, repr=False)
class SirusRegressor(RegressionBase, FixedSizeSirus, Running, Stages, Loss, Growing, Constraining, ListSize):
    """Stable and interpretable rules for regression.

    SIRUS grows a large forest of shallow trees that split at quantiles, counts how often each path occurs, and keeps
    the frequent paths as rules. It drops rules that are linear combinations of more frequent ones and combines the
    others by ridge regression with non-negative weights. See docs/method.md.

    {parameters}

    Attributes
    ----------
    selected_ : RuleSet
        The selected rules after post-treatment, most frequent first.
    rules_ : RuleSet
        The selected rules with positive weight.
    intercept_ : float
        The number added to the weighted outputs.
    ridge_penalty_ : float
        The ridge penalty, chosen by cross-validation.
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

    One forest is grown in each fold, and the error and stability of its lists are computed for every frequency
    threshold p0. By default the chosen list is the one closest to the ideal point (error 0, stability 0.9). After
    ``fit`` the estimator is fitted on all rows with the chosen p0.

    {parameters}

    Attributes
    ----------
    p0_ : float
        The chosen frequency threshold.
    path_ : TuningPath
        Number of rules, error and stability for every p0.
    cv_error_, cv_stability_ : float
        Held-out unexplained variance and stability at the chosen p0.
    models_ : tuple of RuleModel
        Models of every size, fitted on all rows; ``with_rules(k)`` returns one of them.
    selected_ : RuleSet
        The selected rules after post-treatment, most frequent first.
    rules_ : RuleSet
        The selected rules with positive weight.
    intercept_ : float
        The number added to the weighted outputs.
    ridge_penalty_ : float
        The ridge penalty of the chosen list.
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

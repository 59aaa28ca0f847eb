"""SIRUS for regression (Bénard, Biau, Da Veiga, Scornet 2021), behind scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from pysirus._families.numbers import Gaussian, LogMean
from pysirus._families.of_model import BY_LOSS
from pysirus._learn.grow import Settings
from pysirus._parameters import ParameterError
from pysirus._parameters.check import documented
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
        """R² or, for counts and amounts, D²: the share of the deviance that is explained.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Rows that the model was not fitted on.
        y : array of shape (n_rows,)
            Their targets; rates (counts per unit of exposure) where the model was fitted on rates.
        sample_weight : array of shape (n_rows,), optional
            Their weights; of rates the exposures.

        Returns
        -------
        score : float
            1 is perfect, 0 no better than the mean of y; as ``r2_score`` and ``d2_tweedie_score`` of scikit-learn.
        """
        check_is_fitted(self)
        if self.model_.family.deviance_loss is None and not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        return self.model_.score(X, y, sample_weight)


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

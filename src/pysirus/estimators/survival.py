"""Stable rules for times to an event, behind scikit-survival's interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pysirus._data.column import DataError
from pysirus._data.table import Table
from pysirus._families.of_model import Cox
from pysirus._families.responses import Response
from pysirus._families.survival import WANTED, SurvivalResponse
from pysirus._model.model import Model
from pysirus._parameters import documented
from pysirus._parameters.table import (
    Constraining,
    Event,
    Folds,
    Growing,
    ListSize,
    Running,
    Stages,
    replaced,
)
from pysirus._text.message import InPython
from pysirus.estimators.door import anywhere
from pysirus.estimators.list_size import FixedSizeSirus, TunedSirus
from pysirus.estimators.sirus import SirusBase


class SurvivalBase(SirusBase):
    """What the survival estimators share."""

    _task: ClassVar[str] = "survival"
    _fitted_facts: ClassVar[tuple[str, ...]] = ("n_trees", "ridge_penalty", "idle_columns", "n_stages")

    event: Any
    unique_times_: NDArray[np.float64]
    event_times_: NDArray[np.float64]

    @property
    def _family(self) -> Cox:
        return Cox(asked_event=self.event.item() if isinstance(self.event, np.generic) else self.event)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Response, str]:
        if y is not None and np.ndim(y) == 1 and getattr(np.asarray(y).dtype, "names", None) is None:
            third = InPython(" The third argument of fit is sample_weight.") if sample_weight is not None else ""
            raise DataError(f"{WANTED}, such as df[['time', 'status']]. Found one number for each row.{third}")
        table, response, _ = super()._read(X, y, sample_weight)
        assert isinstance(response, SurvivalResponse)
        return table, response, response.time_name

    def _set_model(self, model: Model) -> None:
        super()._set_model(model)
        self.unique_times_ = self.event_times_ = model.required_survival.hazard.times

    @anywhere
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict risk scores. A higher score means that the event is expected earlier.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Columns are matched by name if both tables have names, otherwise by position.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            The log hazard relative to a score of 0, which is the average score of the training rows.
        """
        return self._raw_predict(X)

    def predict_survival_function(self, X: Any, return_array: bool = False) -> NDArray[Any]:
        """Predict the probability of no event up to each time.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows.
        return_array : bool, default=False
            Whether to return the values at ``unique_times_`` instead of functions.

        Returns
        -------
        survival : ndarray of StepFunction, or ndarray of shape (n_rows, n_times)
            A StepFunction has the attributes ``x`` and ``y`` and can be called with any time.
        """
        check_is_fitted(self)
        return self.model_.predict_survival_function(X, return_array)

    def predict_cumulative_hazard_function(self, X: Any, return_array: bool = False) -> NDArray[Any]:
        """Predict the cumulative hazard up to each time: minus the logarithm of the survival function.

        Parameters
        ----------
        X, return_array
            As in ``predict_survival_function``.

        Returns
        -------
        hazard : ndarray of StepFunction, or ndarray of shape (n_rows, n_times)
        """
        check_is_fitted(self)
        return self.model_.predict_cumulative_hazard_function(X, return_array)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Harrell's concordance: 1 is perfect, and 0.5 is no better than chance.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Rows that the model was not fitted on.
        y : structured array, or a table of two columns
            Their events and times.
        sample_weight : array of shape (n_rows,), optional
            Their weights.

        Returns
        -------
        concordance : float
        """
        check_is_fitted(self)
        return self.metrics(X, y, sample_weight)["concordance"]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        return tags


@documented
@dataclass(eq=False, repr=False)
class SirusSurvival(SurvivalBase, FixedSizeSirus, Running, Stages, Growing, Constraining, Event, ListSize):
    """Stable and interpretable rules for times to an event, some of which are censored.

    The forest is grown on the martingale residuals of the null model. The rules multiply the hazard. Their non-negative
    weights maximise Cox's partial likelihood (Efron's method for ties) with a ridge penalty. The interface follows
    scikit-survival, which is not a dependency. See docs/responses.md.

    {parameters}

    Attributes
    ----------
    selected_ : RuleSet
        The selected rules after post-treatment, most frequent first.
    rules_ : RuleSet
        The selected rules with positive weight.
    unique_times_, event_times_ : ndarray
        The distinct times at which survival functions change, at most 2,000 of them.
    intercept_ : float
        The number added to the weighted outputs.
    ridge_penalty_ : float
        The ridge penalty, chosen by cross-validation.
    {grown}
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from pysirus import SirusSurvival
    >>> draw = np.random.default_rng(0)
    >>> nodes = draw.integers(0, 10, 500)
    >>> until, end = draw.exponential(np.where(nodes >= 4, 2, 8)), draw.uniform(0, 12, 500)
    >>> y = np.array(list(zip(until <= end, np.minimum(until, end))), dtype=[("event", bool), ("years", float)])
    >>> model = SirusSurvival(n_rules=1, random_state=0).fit(nodes[:, None], y)
    >>> bool(model.score(nodes[:, None], y) > 0.6)
    True
    >>> many, few = model.predict_survival_function([[8], [1]])
    >>> bool(many(5.0) < few(5.0))
    True
    """


@documented
@dataclass(eq=False, repr=False)
class SirusSurvivalCV(SurvivalBase, TunedSirus, Running, Stages, Growing, Constraining, Event, Folds):
    """Stable and interpretable rules for times to an event, with the number of rules chosen by cross-validation.

    The error is 2 (1 - C), where C is the concordance of held-out rows, compared within folds. By default the chosen
    list is the one closest to the ideal point (error 0, stability 0.9).

    {parameters}

    Attributes
    ----------
    p0_ : float
        The chosen frequency threshold.
    path_ : TuningPath
        Number of rules, error and stability for every p0.
    cv_error_, cv_stability_ : float
        Held-out error, 2 (1 - C), and stability of the chosen list.
    models_ : tuple of RuleModel
        Models of every size, fitted on all rows; ``with_rules(k)`` returns one of them.
    selected_ : RuleSet
        The selected rules after post-treatment, most frequent first.
    rules_ : RuleSet
        The selected rules with positive weight.
    unique_times_, event_times_ : ndarray
        The distinct times at which survival functions change, at most 2,000 of them.
    intercept_ : float
        The number added to the weighted outputs.
    ridge_penalty_ : float
        The ridge penalty of the chosen list.
    {grown}
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from pysirus import SirusSurvivalCV
    >>> draw = np.random.default_rng(0)
    >>> X = draw.integers(0, 10, (300, 3))
    >>> until, end = draw.exponential(np.where(X[:, 0] >= 4, 2, 8)), draw.uniform(0, 12, 300)
    >>> y = np.array(list(zip(until <= end, np.minimum(until, end))), dtype=[("event", bool), ("years", float)])
    >>> model = SirusSurvivalCV(n_repeats=1, n_trees=500, random_state=0).fit(X, y)
    >>> len(model.with_rules(2).selected)
    2
    """

    slopes: bool | str = replaced("slopes", "auto")

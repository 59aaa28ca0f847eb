"""SIRUS for classes (Bénard, Biau, Da Veiga, Scornet 2021), behind scikit-learn's interface.

One list of rules serves all classes: a rule has the class proportions inside and outside, and one weight.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pysirus._families.classes import ClassFamily, Multinomial
from pysirus._families.of_model import ClassShares
from pysirus._learn.grow import Settings
from pysirus._learn.weigh import NO_STAGES
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, documented
from pysirus._parameters.table import (
    ClassWeight,
    Constraining,
    Folds,
    Growing,
    ListSize,
    PositiveClass,
    Running,
    Stages,
    Weighting,
    replaced,
)
from pysirus.estimators.door import anywhere
from pysirus.estimators.intervals import ClassSets
from pysirus.estimators.list_size import FixedSizeSirus, TunedSirus
from pysirus.estimators.sirus import SirusBase


class ClassBase(ClassSets, ClassifierMixin, SirusBase):  # type: ignore[misc]
    """What the classifiers share."""

    _fitted_facts: ClassVar[tuple[str, ...]] = ("n_trees", "idle_columns")

    class_weight: Any
    positive_class: Any
    weighting: str
    n_stages: int | str
    classes_: NDArray[Any]

    @property
    def _family(self) -> ClassFamily:
        family = ClassShares if self.weighting == "equal" else Multinomial
        return family(spoken_of=self.positive_class, class_weight=self.class_weight)

    def _settings(self) -> Settings:
        settings = super()._settings()
        if self.weighting == "equal" and self.n_stages != 1:
            raise ParameterError(NO_STAGES)
        return replace(settings, known=replace(settings.known, positive_class=self.positive_class))

    @anywhere
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities: the softmax of the scores or, with equal weights, the mean class proportions.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Columns are matched by name if both tables have names, otherwise by position.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            In the order of ``classes_``; each row sums to one.
        """
        return self._raw_predict(X)

    @anywhere
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class; ties go to the first class in ``classes_``.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Columns are matched by name if both tables have names, otherwise by position.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        """
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[self.model_.choose(shares)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the share of rows whose class is predicted correctly.

        Parameters
        ----------
        X : data frame, array, path, query or stream
            Rows that the model was not fitted on.
        y : array of shape (n_rows,) or str
            Their classes, or the name of their column.
        sample_weight : array of shape (n_rows,) or str, optional
            Their weights, or the name of their column.

        Returns
        -------
        accuracy : float
        """
        check_is_fitted(self)
        named = isinstance(y, str)
        return self.model_.score(X, y, sample_weight) if named else float(super().score(X, y, sample_weight))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each class: the intercept plus the weighted outputs of the rules.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Columns are matched by name if both tables have names, otherwise by position.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n_rows, n_classes)
            With two classes, the log-odds of the second class. With equal weights, the mean class proportions instead
            (with two classes, the proportion of the second class minus one half).
        """
        check_is_fitted(self)
        scores = self.model_.scores(X, owner=type(self).__name__)
        return self.model_.family.ranking(scores)

    def _set_model(self, model: Model) -> None:
        super()._set_model(model.speaking_of(self.positive_class))
        self.classes_ = model.labels
        for name in ("ridge_penalty", "n_stages"):
            if name in model.facts:
                setattr(self, f"{name}_", model.facts[name])
            else:
                self.__dict__.pop(f"{name}_", None)

    def _restore(self, document: Mapping[str, Any]) -> None:
        super()._restore(document)
        if isinstance(self.class_weight, dict):  # whose labels JSON has made text of
            labels = {label if isinstance(label, str) else json.dumps(label): label for label in self.classes_.tolist()}
            self.class_weight = {labels.get(name, name): weight for name, weight in self.class_weight.items()}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


@documented
@dataclass(eq=False, repr=False)
class SirusClassifier(
    ClassBase, FixedSizeSirus, Running, Stages, Weighting, ClassWeight, PositiveClass, Growing, Constraining, ListSize
):
    """Stable and interpretable rules for two or more classes.

    SIRUS grows a large forest of shallow trees that split at quantiles, counts how often each path occurs, and keeps
    the frequent paths as rules. It drops rules that are linear combinations of more frequent ones. The outputs of a
    rule are the class proportions inside and outside. Non-negative weights are fitted by penalised likelihood, so that
    the weighted outputs add up to a score for each class (with two classes, the log-odds of the second). See
    docs/classes.md.

    {parameters}

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted; at most 256.
    selected_ : RuleSet
        The selected rules after post-treatment, most frequent first.
    rules_ : RuleSet
        The selected rules with positive weight.
    intercept_ : tuple of float
        The numbers added to the weighted outputs, one per class.
    ridge_penalty_ : float
        The ridge penalty, chosen by cross-validated deviance; absent with equal weights.
    {grown}
    {fitted}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pysirus import SirusClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> y = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    >>> model = SirusClassifier(n_rules=3, random_state=0).fit(X, y)
    >>> print(model.rules_[0])
    if petal width (cm) < 1.8 then setosa 48%, versicolor 47%, virginica 5% else virginica 98%, versicolor 2%
    >>> print(model.predict(X[:1])[0])
    setosa
    """


@documented
@dataclass(eq=False, repr=False)
class SirusClassifierCV(
    ClassBase, TunedSirus, Running, Stages, Weighting, ClassWeight, PositiveClass, Growing, Constraining, Folds
):
    """Stable and interpretable rules for classification, with the number of rules chosen by cross-validation.

    One forest is grown in each fold, and the error and stability of its lists are computed for every frequency
    threshold p0. By default the chosen list is the one closest to the ideal point (error 0, stability 0.9). The error
    is the unexplained deviance of the held-out rows: their deviance divided by that of the class proportions. With
    equal weights the error is 1 - AUC, and the choice is the largest p0 whose error is within two standard errors of
    the minimum. After ``fit`` the estimator is fitted on all rows with the chosen p0.

    {parameters}

    Attributes
    ----------
    p0_ : float
        The chosen frequency threshold.
    path_ : TuningPath
        Number of rules, error and stability for every p0.
    cv_error_, cv_stability_ : float
        Held-out error and stability at the chosen p0.
    models_ : tuple of RuleModel
        Models of every size, fitted on all rows; ``with_rules(k)`` returns one of them.
    classes_ : ndarray
        The class labels, sorted; at most 256.
    selected_ : RuleSet
        The selected rules after post-treatment, most frequent first.
    rules_ : RuleSet
        The selected rules with positive weight.
    intercept_ : tuple of float
        The numbers added to the weighted outputs, one per class.
    ridge_penalty_ : float
        The ridge penalty of the chosen list; absent with equal weights.
    {grown}
    {fitted}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pysirus import SirusClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SirusClassifierCV(n_repeats=1, n_trees=1000, random_state=0).fit(X, y)
    >>> model.cv_error_ < 0.4
    True
    """

    slopes: bool | str = replaced("slopes", "auto")
    criterion: str = replaced("criterion", "auto")

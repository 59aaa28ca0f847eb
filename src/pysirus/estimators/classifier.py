"""SIRUS for classes (Bénard, Biau, Da Veiga, Scornet 2021), behind scikit-learn's interface.

One list of rules serves all classes: a rule has the class proportions inside and outside, and one weight.
"""

from __future__ import annotations

from dataclasses import dataclass

from pysirus._parameters.check import documented
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
from pysirus.estimators.list_size import FixedSizeSirus, TunedSirus
from pysirus.estimators.sirus import ClassBase


@documented
@dataclass(eq=False, repr=False)
class SirusClassifier(
    ClassBase, FixedSizeSirus, Running, Stages, Weighting, ClassWeight, PositiveClass, Growing, Constraining, ListSize
):
    """Stable and interpretable rules for two or more classes.

    Grows a large forest of shallow trees with cuts at quantiles, counts how often each path occurs, keeps the frequent
    ones and drops linear combinations of earlier ones. The outputs of a rule are the class proportions inside and
    outside. Weights are fitted by penalised likelihood, so that the weighted outputs add up to a score for each class
    (with two classes, the log-odds of the second); they are not negative. See docs/classes.md.

    {parameters}

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted; at most 256.
    selected_ : RuleSet
        The selected rules (after post-treatment), by decreasing frequency.
    rules_ : RuleSet
        The selected rules of positive weight.
    intercept_ : tuple of float
        Added to the weighted outputs, one number per class.
    ridge_penalty_ : float
        The penalty that cross-validation of the deviance chose; not with equal weights.
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
    """Stable and interpretable rules for classes, with the number of rules chosen by cross-validation.

    In each fold one forest is grown; then p0 is lowered through the frequencies. The choice is the p0 closest to error
    0 and stability 0.9, the median over repetitions. The error is the unexplained deviance of the held-out rows: their
    deviance over that of the class proportions alone. With equal weights it is 1 - AUC, and the choice is the largest
    p0 whose error is within two standard errors of the minimum. After ``fit`` this is a fitted classifier with that p0.

    {parameters}

    Attributes
    ----------
    p0_ : float
        The chosen threshold.
    path_ : TuningPath
        Number of rules, error and stability against p0.
    cv_error_, cv_stability_ : float
        Held-out error and stability at the chosen p0.
    models_ : tuple of RuleModel
        The models of every size on the full data; ``with_rules(k)`` returns one.
    classes_ : ndarray
        The class labels, sorted; at most 256.
    selected_ : RuleSet
        The selected rules (after post-treatment), by decreasing frequency.
    rules_ : RuleSet
        The selected rules of positive weight.
    intercept_ : tuple of float
        Added to the weighted outputs, one number per class.
    ridge_penalty_ : float
        The penalty of the chosen list; not with equal weights.
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

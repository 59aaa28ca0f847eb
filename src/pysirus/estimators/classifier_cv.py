"""SIRUS for classes with p0 tuned for accuracy and stability."""

from __future__ import annotations

from dataclasses import dataclass

from pysirus._parameters.table import (
    ClassWeight,
    Constraining,
    Folds,
    Growing,
    PositiveClass,
    Running,
    Stages,
    Weighting,
    documented,
    replaced,
)
from pysirus.estimators.sirus import ClassBase
from pysirus.estimators.tuned import TunedSirus


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
        Out-of-fold error and stability at the chosen p0.
    models_ : tuple of RuleModel
        The models of every size on the full data; ``with_rules(k)`` returns one.
    classes_, selected_, rules_, n_trees_, idle_columns_, candidates_, n_features_in_, feature_names_in_
        As in ``SirusClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pysirus import SirusClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SirusClassifierCV(n_repeats=1, n_trees=1000, random_state=0).fit(X, y)
    >>> model.cv_error_ < 0.4
    True
    """

    criterion: str = replaced("criterion", "auto")

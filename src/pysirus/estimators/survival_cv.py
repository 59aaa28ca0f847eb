"""Stable rules for times to an event, with their number tuned: the default way to use them."""

from __future__ import annotations

from dataclasses import dataclass

from pysirus._parameters.table import Constraining, Event, Folds, Growing, Running, Stages, documented
from pysirus.estimators.survival import SurvivalBase
from pysirus.estimators.tuned import TunedSirus


@documented
@dataclass(eq=False, repr=False)
class SirusSurvivalCV(SurvivalBase, TunedSirus, Running, Stages, Growing, Constraining, Event, Folds):
    """Stable and interpretable rules for times to an event, with the number of rules chosen by cross-validation.

    The error is 2 (1 - C), C being the concordance of the held-out rows, compared within folds. The choice is the list
    closest to error 0 and stability 0.9, the median over repetitions.

    {parameters}

    Attributes
    ----------
    p0_ : float
        The chosen threshold.
    path_ : TuningPath
        Number of rules, error and stability against p0.
    cv_error_, cv_stability_ : float
        Out-of-fold error, 2 (1 - C), and stability of the chosen list.
    models_ : tuple of RuleModel
        The models of every size on the full data; ``with_rules(k)`` returns one.
    selected_, rules_, unique_times_, event_times_, n_trees_, ridge_penalty_, candidates_, n_features_in_, \
feature_names_in_
        As in ``SirusSurvival``.

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

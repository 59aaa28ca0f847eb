"""The number of rules tuned on Spark data frames: the same path and choice as in memory, from rows on the executors."""

from __future__ import annotations

from pysirus.estimators import classifier_cv, regressor_cv
from pysirus.estimators.spark import ClassesOnSpark, OnSpark

__all__ = ["SirusClassifierCV", "SirusRegressorCV"]


class SirusRegressorCV(OnSpark, regressor_cv.SirusRegressorCV):  # type: ignore[misc]
    """``pysirus.SirusRegressorCV`` for Spark data frames: the same parameters, path, choice, rules and model files.

    ``cv`` must be a number of folds. The held-out rows are judged on the driver: about 40 bytes a row.

    Examples
    --------
    >>> from pysirus.estimators.spark_cv import SirusRegressorCV
    >>> model = SirusRegressorCV(n_repeats=1, random_state=0).fit(frame, "price", row_id="id")  # doctest: +SKIP
    >>> model.path_  # doctest: +SKIP
    """


class SirusClassifierCV(ClassesOnSpark, classifier_cv.SirusClassifierCV):  # type: ignore[misc]
    """``pysirus.SirusClassifierCV`` for Spark data frames: the same parameters, path, choice, rules and model files.

    The rest is as in ``SirusRegressorCV``.

    Examples
    --------
    >>> from pysirus.estimators.spark_cv import SirusClassifierCV
    >>> model = SirusClassifierCV(n_repeats=1, random_state=0).fit(frame, "fraud", row_id="id")  # doctest: +SKIP
    >>> model.cv_error_  # doctest: +SKIP
    """

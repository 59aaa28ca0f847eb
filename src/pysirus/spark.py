"""The estimators of pysirus in Spark's own words: ``pip install pysirus[spark]``.

Those of pysirus itself take Spark data frames too. These have a ``transform`` that adds predictions to a frame.
"""

from typing import Any

from pysirus.estimators import classifier, regressor
from pysirus.estimators.door import check_frame, transform

__all__ = ["SirusClassifier", "SirusClassifierCV", "SirusRegressor", "SirusRegressorCV", "transform"]


class OnSpark:
    """An estimator that takes Spark data frames alone, and whose ``transform`` is Spark's."""

    def fit(self, frame: Any, target: str, **options: Any) -> Any:
        """Learn the rules: ``fit`` of the estimator in pysirus itself.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
            The table: numbers, text and booleans.
        target : str
            The column to predict.
        **options
            ``sample_weight``, ``exposure``, ``row_id``, ``drop``, and of tuned estimators ``groups`` and ``time``, as
            in ``pysirus.SirusRegressor.fit``: names of columns.

        Returns
        -------
        self : estimator
        """
        check_frame(frame, "fit")
        fit: Any = super().fit  # type: ignore[misc]
        return fit(frame, target, **options)

    def transform(self, X: Any, prediction: str = "prediction") -> Any:
        """Add predictions, which Spark computes without Python; see ``pysirus.spark.transform``.

        Parameters
        ----------
        X : pyspark.sql.DataFrame
            The rows.
        prediction : str, default="prediction"
            Name of the new column.

        Returns
        -------
        frame : pyspark.sql.DataFrame
        """
        return transform(self, X, prediction)


class SirusRegressor(OnSpark, regressor.SirusRegressor):  # type: ignore[misc]
    """``pysirus.SirusRegressor``, whose ``transform`` adds predictions to a Spark data frame.

    Examples
    --------
    >>> from pysirus.spark import SirusRegressor
    >>> model = SirusRegressor(random_state=0).fit(frame, "price", row_id="id")  # doctest: +SKIP
    >>> model.transform(frame).select("id", "prediction")  # doctest: +SKIP
    DataFrame[id: bigint, prediction: double]
    """


class SirusClassifier(OnSpark, classifier.SirusClassifier):  # type: ignore[misc]
    """``pysirus.SirusClassifier``, whose ``transform`` adds predictions to a Spark data frame.

    Examples
    --------
    >>> from pysirus.spark import SirusClassifier
    >>> model = SirusClassifier(random_state=0).fit(frame, "fraud", row_id="id")  # doctest: +SKIP
    >>> model.transform(frame).select("prediction", "probability_yes")  # doctest: +SKIP
    DataFrame[prediction: string, probability_yes: double]
    """


class SirusRegressorCV(OnSpark, regressor.SirusRegressorCV):  # type: ignore[misc]
    """``pysirus.SirusRegressorCV``, whose ``transform`` adds predictions to a Spark data frame.

    ``cv`` must be a number of folds. The held-out rows are evaluated on the executors.

    Examples
    --------
    >>> from pysirus.spark import SirusRegressorCV
    >>> model = SirusRegressorCV(n_repeats=1, random_state=0).fit(frame, "price", row_id="id")  # doctest: +SKIP
    >>> model.path_  # doctest: +SKIP
    """


class SirusClassifierCV(OnSpark, classifier.SirusClassifierCV):  # type: ignore[misc]
    """``pysirus.SirusClassifierCV``, whose ``transform`` adds predictions to a Spark data frame.

    Otherwise like ``SirusRegressorCV``.

    Examples
    --------
    >>> from pysirus.spark import SirusClassifierCV
    >>> model = SirusClassifierCV(n_repeats=1, random_state=0).fit(frame, "fraud", row_id="id")  # doctest: +SKIP
    >>> model.cv_error_  # doctest: +SKIP
    """

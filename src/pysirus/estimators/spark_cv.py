"""The number of rules tuned on Spark data frames: the same path and choice as in memory, from rows on the executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pysirus.estimators import classifier, regressor
from pysirus.estimators.spark import ClassesOnSpark, OnSpark, fit_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SirusClassifierCV", "SirusRegressorCV"]


class TunedOnSpark(OnSpark):
    """A tuned estimator that takes Spark data frames."""

    def fit(
        self,
        frame: DataFrame,
        target: str,
        *,
        weights: str | None = None,
        groups: str | None = None,
        row_id: str | None = None,
        drop: Sequence[str] = (),
    ) -> Any:
        """Choose the number of rules and learn them: the same as in memory, from the same rows in the same order.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
            The table: numbers, text and booleans.
        target : str
            The column to predict.
        weights : str, optional
            The column of row weights.
        groups : str, optional
            A column, which is no feature: rows of the same group stay in the same fold. The groups of all rows are held
            by the driver.
        row_id : str, optional
            A column of unique integers: rows are numbered in its order, and the rules do not depend on how the frame is
            partitioned. It is not a feature. By default rows are numbered in the order of the partitions;
            repartitioning then acts like another seed.
        drop : list of str, optional
            Columns to leave out.

        Returns
        -------
        self : estimator
        """
        return fit_spark(self, frame, target, weights=weights, groups=groups, row_id=row_id, drop=drop)


class SirusRegressorCV(TunedOnSpark, regressor.SirusRegressorCV):  # type: ignore[misc]
    """``pysirus.SirusRegressorCV`` for Spark data frames: the same parameters, path, choice, rules and model files.

    ``cv`` must be a number of folds. The held-out rows are judged on the driver: about 40 bytes a row.

    Examples
    --------
    >>> from pysirus.estimators.spark_cv import SirusRegressorCV
    >>> model = SirusRegressorCV(n_repeats=1, random_state=0).fit(frame, "price", row_id="id")  # doctest: +SKIP
    >>> model.path_  # doctest: +SKIP
    """


class SirusClassifierCV(ClassesOnSpark, TunedOnSpark, classifier.SirusClassifierCV):  # type: ignore[misc]
    """``pysirus.SirusClassifierCV`` for Spark data frames: the same parameters, path, choice, rules and model files.

    The rest is as in ``SirusRegressorCV``.

    Examples
    --------
    >>> from pysirus.estimators.spark_cv import SirusClassifierCV
    >>> model = SirusClassifierCV(n_repeats=1, random_state=0).fit(frame, "fraud", row_id="id")  # doctest: +SKIP
    >>> model.cv_error_  # doctest: +SKIP
    """

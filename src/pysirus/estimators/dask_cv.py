"""The number of rules tuned on Dask collections: the same path and choice as in memory, from rows on the workers."""

from __future__ import annotations

from typing import Any

from pysirus.estimators import classifier, regressor
from pysirus.estimators.dask import ClassesOnDask, OnDask, fit_dask, on_dask

__all__ = ["SirusClassifierCV", "SirusRegressorCV"]


class TunedOnDask(OnDask):
    """A tuned estimator that takes Dask collections too."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Choose the number of rules and learn them; the rows stay where they are.

        Parameters
        ----------
        X : Dask DataFrame or Dask array of shape (n_rows, n_columns)
            The table. It is read several times: ``persist`` it if it is expensive to compute and fits into the workers'
            memory.
        y : Dask Series, Dask array of shape (n_rows,) or str
            The target, with the partitions of X, or the name of its column.
        sample_weight : Dask Series, Dask array of shape (n_rows,) or str, optional
            Row weights. A weight of zero is the same as leaving the row out.
        groups : Dask Series, Dask array of shape (n_rows,) or str, optional
            Rows of the same group stay in the same fold. A column of X that is named here is no feature. The groups of
            all rows are held where ``fit`` is called.

        Returns
        -------
        self : estimator
        """
        if on_dask(X, y, sample_weight, groups):
            return fit_dask(self, X, y, sample_weight, groups)  # type: ignore[type-var]
        return super(OnDask, self).fit(X, y, sample_weight, groups)  # type: ignore[misc]


class SirusRegressorCV(TunedOnDask, regressor.SirusRegressorCV):
    """Rules for regression, with the number of rules chosen by cross-validation, on Dask collections.

    Parameters and fitted attributes are those of ``pysirus.SirusRegressorCV``, and so are the path, the choice and the
    rules: they do not depend on the partitions. ``cv`` must be a number of folds. Predictions of the held-out rows are
    compared where ``fit`` is called: about 40 bytes a row. ``n_jobs`` is the number of threads per task. Tables in
    memory work too.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from pysirus.estimators.dask_cv import SirusRegressorCV
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> table = dd.from_pandas(X.assign(ozone=y), npartitions=2)
    >>> model = SirusRegressorCV(cv=3, n_repeats=1, n_trees=200, random_state=0).fit(table, "ozone")
    >>> model.cv_error_ < 0.5
    True
    """


class SirusClassifierCV(ClassesOnDask, TunedOnDask, classifier.SirusClassifierCV):
    """Rules for two or more classes, with the number of rules chosen by cross-validation, on Dask collections.

    Parameters and fitted attributes are those of ``pysirus.SirusClassifierCV``, and so are the path, the choice and the
    rules: they do not depend on the partitions. The rest is as in ``SirusRegressorCV``.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from pysirus.estimators.dask_cv import SirusClassifierCV
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> table = dd.from_pandas(X.assign(high=y > 15), npartitions=2)
    >>> model = SirusClassifierCV(cv=3, n_repeats=1, n_trees=200, max_rules=5, random_state=0).fit(table, "high")
    >>> model.predict_proba(table).columns.tolist()
    [False, True]
    """

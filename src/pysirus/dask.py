"""Other names of the estimators of pysirus, which take Dask DataFrames and arrays: ``pip install pysirus[dask]``.

Importing this module says at once whether Dask is there.
"""

from pysirus.engine.backends import dask as _dask  # noqa: F401  # a missing Dask is said here
from pysirus.estimators.classifier import SirusClassifier, SirusClassifierCV
from pysirus.estimators.regressor import SirusRegressor, SirusRegressorCV

__all__ = ["SirusClassifier", "SirusClassifierCV", "SirusRegressor", "SirusRegressorCV"]

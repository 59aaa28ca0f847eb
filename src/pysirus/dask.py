"""SIRUS on Dask DataFrames and Dask arrays: ``pip install pysirus[dask]``."""

from pysirus.estimators.dask import SirusClassifier, SirusRegressor

__all__ = ["SirusClassifier", "SirusRegressor"]

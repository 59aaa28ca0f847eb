"""Other names of the estimators of pysirus, which take Dask DataFrames and arrays: ``pip install pysirus[dask]``.

Importing this module says at once whether Dask is there.
"""

from typing import Any

from pysirus._families.target import IN_MEMORY
from pysirus._text.message import say
from pysirus.engine.backends import dask as _dask  # noqa: F401  # a missing Dask is said here
from pysirus.estimators.classifier import SirusClassifier, SirusClassifierCV
from pysirus.estimators.regressor import SirusRegressor, SirusRegressorCV

__all__ = ["SirusClassifier", "SirusClassifierCV", "SirusRegressor", "SirusRegressorCV"]


def __getattr__(name: str) -> Any:
    if name in ("SirusSurvival", "SirusSurvivalCV"):
        raise AttributeError(f"pysirus.dask has no {name}. {say(IN_MEMORY)}")
    raise AttributeError(f"module 'pysirus.dask' has no attribute '{name}'")

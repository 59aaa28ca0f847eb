"""SIRUS on Dask DataFrames and Dask arrays: ``pip install pysirus[dask]``."""

from typing import Any

from pysirus._families.target import IN_MEMORY
from pysirus._text.message import say
from pysirus.estimators.dask import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV

__all__ = ["SirusClassifier", "SirusClassifierCV", "SirusRegressor", "SirusRegressorCV"]


def __getattr__(name: str) -> Any:
    if name in ("SirusSurvival", "SirusSurvivalCV"):
        raise AttributeError(f"pysirus.dask has no {name}. {say(IN_MEMORY)}")
    raise AttributeError(f"module 'pysirus.dask' has no attribute '{name}'")

"""SIRUS on Spark data frames: ``pip install pysirus[spark]``."""

from typing import Any

from pysirus._families.time_target import IN_MEMORY
from pysirus._message import say
from pysirus.estimators.spark import SirusClassifier, SirusRegressor, transform
from pysirus.estimators.spark_cv import SirusClassifierCV, SirusRegressorCV

__all__ = ["SirusClassifier", "SirusClassifierCV", "SirusRegressor", "SirusRegressorCV", "transform"]


def __getattr__(name: str) -> Any:
    if name in ("SirusSurvival", "SirusSurvivalCV"):
        raise AttributeError(f"pysirus.spark has no {name}. {say(IN_MEMORY)}")
    raise AttributeError(f"module 'pysirus.spark' has no attribute '{name}'")

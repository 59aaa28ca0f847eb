"""SIRUS on Spark data frames: ``pip install pysirus[spark]``."""

from typing import Any

from pysirus._families.target import IN_MEMORY
from pysirus._text.message import say
from pysirus.estimators.spark import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV, transform

__all__ = ["SirusClassifier", "SirusClassifierCV", "SirusRegressor", "SirusRegressorCV", "transform"]


def __getattr__(name: str) -> Any:
    if name in ("SirusSurvival", "SirusSurvivalCV"):
        raise AttributeError(f"pysirus.spark has no {name}. {say(IN_MEMORY)}")
    raise AttributeError(f"module 'pysirus.spark' has no attribute '{name}'")

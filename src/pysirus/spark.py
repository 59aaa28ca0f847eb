"""SIRUS on Spark data frames: ``pip install pysirus[spark]``."""

from pysirus.estimators.spark import SirusClassifier, SirusRegressor, transform

__all__ = ["SirusClassifier", "SirusRegressor", "transform"]

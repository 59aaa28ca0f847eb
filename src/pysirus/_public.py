"""The names that ``import pysirus`` offers; importing them together makes every estimator known to ``load``."""

from pysirus import datasets, plot, stability
from pysirus._base import load
from pysirus._column import DataError
from pysirus._file import ModelFileError
from pysirus._model import RuleModel
from pysirus._rule import Condition, Rule, RuleSet, Split
from pysirus._term import LinearTerm
from pysirus.classifier import SirusClassifier
from pysirus.classifier_cv import SirusClassifierCV
from pysirus.node_harvest import NodeHarvestRegressor
from pysirus.regressor import SirusRegressor
from pysirus.regressor_cv import SirusRegressorCV
from pysirus.rulefit import RuleFitRegressor

__all__ = [
    "Condition",
    "DataError",
    "LinearTerm",
    "ModelFileError",
    "NodeHarvestRegressor",
    "Rule",
    "RuleFitRegressor",
    "RuleModel",
    "RuleSet",
    "SirusClassifier",
    "SirusClassifierCV",
    "SirusRegressor",
    "SirusRegressorCV",
    "Split",
    "datasets",
    "load",
    "plot",
    "stability",
]

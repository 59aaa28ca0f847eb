"""The names that ``import pysirus`` offers; importing them together makes every estimator known to ``load``."""

from pysirus import datasets, plot
from pysirus._data.column import DataError
from pysirus._model.file import ModelFileError
from pysirus._peers.node_harvest import NodeHarvestRegressor
from pysirus._peers.rulefit import RuleFitRegressor
from pysirus._terms.lexicon import RuleTextError
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, Rule, Split
from pysirus._terms.stability import Stability, stability, stability_measures
from pysirus._terms.term import LinearTerm
from pysirus._use.evidence import Evidence
from pysirus._use.verify import sign
from pysirus.estimators.alternatives import Alternatives, alternatives
from pysirus.estimators.base import load
from pysirus.estimators.classifier import SirusClassifier, SirusClassifierCV
from pysirus.estimators.regressor import SirusRegressor, SirusRegressorCV
from pysirus.estimators.rule_model import RuleModel
from pysirus.estimators.survival import SirusSurvival, SirusSurvivalCV

__all__ = [
    "Alternatives",
    "Condition",
    "DataError",
    "Evidence",
    "LinearTerm",
    "ModelFileError",
    "NodeHarvestRegressor",
    "Rule",
    "RuleFitRegressor",
    "RuleModel",
    "RuleSet",
    "RuleTextError",
    "SirusClassifier",
    "SirusClassifierCV",
    "SirusRegressor",
    "SirusRegressorCV",
    "SirusSurvival",
    "SirusSurvivalCV",
    "Split",
    "Stability",
    "alternatives",
    "datasets",
    "load",
    "plot",
    "sign",
    "stability",
    "stability_measures",
]

"""pysirus: stable, readable rules.

SIRUS (Bénard, Biau, Da Veiga, Scornet, AISTATS 2021) learns a short list of rules that stays the same when the data
change a little. See ``SirusRegressor`` to learn one, ``load`` to read one back.
"""

from pysirus._base import load
from pysirus._file import ModelFileError
from pysirus._model import RuleModel
from pysirus._rule import Condition, Rule, RuleSet, Split
from pysirus._table import DataError
from pysirus.regressor import SirusRegressor

__version__ = "0.1.0"

__all__ = [
    "Condition",
    "DataError",
    "ModelFileError",
    "Rule",
    "RuleModel",
    "RuleSet",
    "SirusRegressor",
    "Split",
    "load",
]

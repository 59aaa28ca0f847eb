"""A method's name in, what it is and what it needs out. Settings stand in the adapters, fixed before the first result.

What could not be had: R's `sirus` and `pre`, which are on CRAN alone, where this study cannot reach; Debian packages
neither. This library's SIRUS equals R's on R's own outputs (docs/paper.md), and its RuleFit grows pre's trees.
`HSTreeClassifierCV`, `FIGSClassifier` and other rule sets of imodels take two classes, so they are not run on several.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import pysirus
from studies.benchmark import classic, own, rivals
from studies.benchmark.tables import COUNTS, KINDS, NUMBERS, SEVERAL, SURVIVAL, TWO, Problem
from studies.benchmark.terms import Fitted

MODULES = {"imodels": "imodels", "interpret-core": "interpret", "lightgbm": "lightgbm", "aplr": "aplr"}
MODULES |= {"optbinning": "optbinning", "scikit-survival": "sksurv"}
ALWAYS = ("numpy", "scipy", "pandas", "scikit-learn")  # whose versions every cell says


PARTS = {"interpret-core": ("interpret.glassbox",), "scikit-survival": ("sksurv.ensemble", "sksurv.linear_model")}


def preload(package: str) -> None:
    """Import what a package's adapters import, where it is there."""
    for name in PARTS.get(package, (MODULES.get(package, "sklearn"),)):
        if importlib.util.find_spec(name.split(".")[0]) is not None:
            importlib.import_module(name)
    if package == "scikit-learn":
        preload("scikit-survival")


@dataclass(frozen=True)
class Method:
    """A method of the study."""

    title: str
    package: str  # whose version matters most
    kinds: tuple[str, ...]
    fit: Callable[[Problem, int], Fitted]
    cost: float  # seconds of a fit on a thousand rows, roughly: the order of the run, not results
    has_terms: bool = False  # whether its terms are compared between samples

    def missing(self, kind: str = NUMBERS) -> str | None:
        """Why it cannot be run here on a kind of target; None when it can."""
        package = "scikit-survival" if self.package == "scikit-learn" and kind == SURVIVAL else self.package
        module = MODULES.get(package)
        return f"pip install {package}" if module and importlib.util.find_spec(module) is None else None

    @property
    def settings(self) -> str:
        """What a result depends on, in words and parameters."""
        if isinstance(self.fit, partial):
            return repr(own.FORMS[self.fit.args[0]])
        return " ".join((self.fit.__doc__ or "").split())

    def versions(self) -> dict[str, str]:
        """Of everything that had a part in a result."""
        names = {*ALWAYS, *({self.package} if self.package != "pysirus" else ())}
        if self.package == "scikit-learn" and importlib.util.find_spec("sksurv") is not None:
            names.add("scikit-survival")
        return {"pysirus": pysirus.__version__, **{name: version(name) for name in sorted(names)}}


BOTH = (NUMBERS, TWO)
ALL_BUT_SURVIVAL = (NUMBERS, TWO, SEVERAL, COUNTS)
METHODS = {
    "constant": Method("constant", "scikit-learn", KINDS, classic.constant, 0.01),
    "linear": Method("linear with ridge", "scikit-learn", KINDS, classic.linear, 1.0),
    "tree": Method("pruned tree", "scikit-learn", KINDS, classic.tree, 1.0, True),
    "figs": Method("FIGS", "imodels", BOTH, rivals.figs, 0.2, True),
    "shrunken-tree": Method("tree with shrinkage", "imodels", BOTH, rivals.shrunken_tree, 0.2, True),
    "boosted-rules": Method("boosted rules", "imodels", BOTH, rivals.boosted_rules, 0.2, True),
    "skope": Method("SkopeRules", "imodels", (TWO,), rivals.skope, 0.5, True),
    "scorecard": Method("scorecard", "optbinning", (TWO,), rivals.scorecard, 1.0),
    "aplr": Method("APLR", "aplr", ALL_BUT_SURVIVAL, rivals.aplr, 1.5),
    "boosting": Method("boosted trees", "scikit-learn", KINDS, classic.boosting, 1.0),
    "forest": Method("random forest", "scikit-learn", KINDS, classic.forest, 2.0),
    "lasso-cox": Method("Cox with lasso", "scikit-survival", (SURVIVAL,), classic.lasso_cox, 2.0),
    "componentwise": Method("componentwise boosting", "scikit-survival", (SURVIVAL,), classic.componentwise, 1.0),
    "extra-trees": Method("extra survival trees", "scikit-survival", (SURVIVAL,), classic.extra_trees, 5.0),
    "node-harvest": Method("Node harvest", "pysirus", (NUMBERS,), own.node_harvest, 1.5, True),
    "rulefit": Method("RuleFit", "pysirus", (NUMBERS,), own.rulefit, 2.0, True),
    "imodels-rulefit": Method("RuleFit (imodels)", "imodels", BOTH, rivals.imodels_rulefit, 2.5, True),
    "sirus": Method("SIRUS", "pysirus", KINDS, partial(own.sirus, "sirus"), 2.0, True),
    "lightgbm": Method("LightGBM", "lightgbm", ALL_BUT_SURVIVAL, rivals.lightgbm, 8.0),
    "stages": Method("SIRUS with stages", "pysirus", KINDS, partial(own.sirus, "stages"), 6.0, True),
    "slopes": Method("SIRUS with stages and slopes", "pysirus", KINDS, partial(own.sirus, "slopes"), 10.0, True),
    "ebm": Method("EBM", "interpret-core", ALL_BUT_SURVIVAL, rivals.ebm, 15.0),
}
OWN = ("sirus", "stages", "slopes")

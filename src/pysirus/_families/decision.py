"""Probabilities of classes in, the class that is decided for out, where mistakes differ in cost or a rate is wanted.

The class is the one whose probability times its weight is largest. Of two classes that is a cut-off: with the weights
``c`` and ``1 - c`` the second is decided for where its probability is above ``c``. With the costs of mistakes as
weights, probabilities that are right give the least cost; a cut-off from held-out rows does not rely on that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

Basis = Literal["held-out rows", "given rows", "costs"]
BASES: tuple[Basis, ...] = get_args(Basis)
LEAST_WEIGHT = 1e-12  # of a class, where its logarithm is taken
WORDS = {
    "held-out rows": "chosen on held-out rows of cross-validation",
    "given rows": "chosen on given rows",
    "costs": "from the costs alone, for probabilities that are right",
}


@dataclass(frozen=True)
class Decision:
    """How a class is decided for.

    Attributes
    ----------
    weights : tuple of float
        What the probability of each class is multiplied by.
    basis : {"held-out rows", "given rows", "costs"}
        What they were chosen by.
    costs : tuple of float or None
        What a mistake about a row of each class costs.
    rate : float or None
        The share of rows for which the positive class was to be decided.
    selected : float or None
        The share for which it was, among the rows that the cut-off was chosen on.
    cost, cost_before : float or None
        The mean cost of a row there, with this cut-off and with the most likely class.
    """

    weights: tuple[float, ...]
    basis: Basis = "costs"
    costs: tuple[float, ...] | None = None
    rate: float | None = None
    selected: float | None = None
    cost: float | None = None
    cost_before: float | None = None

    def cutoff(self, k: int) -> float:
        """Of two classes the probability of class k above which it is decided for."""
        return self.weights[1 - k] / sum(self.weights)

    def cutoff_odds(self, k: int) -> float:
        """The same as log-odds."""
        return math.log(max(self.weights[1 - k], LEAST_WEIGHT) / max(self.weights[k], LEAST_WEIGHT))

    def how(self) -> str:
        """What it was chosen by, and what that showed, in words."""
        said = [WORDS[self.basis]]
        if self.selected is not None:
            said.append(f"{100 * self.selected:.1f}% of the rows selected there")
        if self.cost is not None and self.cost_before is not None:
            said.append(f"mean cost {self.cost:.4g} a row, {self.cost_before:.4g} by the most likely class")
        return "; ".join(said)

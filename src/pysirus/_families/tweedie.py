"""Amounts that may be exactly zero, such as claims of policies: Tweedie's, between Poisson and gamma.

The variance is the mean to a power between 1 and 2: a Poisson number of gamma amounts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pysirus._families.log_mean import LogMean
from pysirus._families.losses import Loss


@dataclass(frozen=True)
class Tweedie(LogMean):
    """An amount of at least zero for each row."""

    name: ClassVar[str] = "tweedie"

    power: float = 1.5

    @property
    def loss(self) -> Loss:
        """Of its power."""
        return Loss(self.name, self.power)

    @classmethod
    def from_facts(cls, target: str, mean: Any, facts: Mapping[str, Any]) -> Tweedie:
        """With its power."""
        return cls(target, mean, float(facts.get("power", cls.power)))

    @property
    def facts(self) -> dict[str, Any]:
        """Its power too."""
        return {**super().facts, "power": self.power}

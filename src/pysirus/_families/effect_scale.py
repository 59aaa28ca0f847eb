"""What the effects that rules are given are measured on, one scale for each kind of score."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EffectScale:
    """What rules add to or multiply, and the most that may be added to a score."""

    name: str
    largest: float
    multiplies: bool = False


ON_NUMBERS, ON_ODDS = EffectScale("numbers", 1e100), EffectScale("log-odds", 100.0)
ON_MEAN, ON_HAZARD = EffectScale("the prediction", 100.0, True), EffectScale("the hazard", 100.0, True)

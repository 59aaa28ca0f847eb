"""A model in, matplotlib axes out: figures for a paper or a notebook.

Every function takes the axes to draw on (``ax``; new ones by default) and returns them, so that a figure is composed
and saved in matplotlib's own way.
"""

from pysirus.plot._effect import effect, waterfall
from pysirus.plot._quality import calibration, gain, predicted_survival, roc
from pysirus.plot._quality import kaplan_meier_curves as kaplan_meier
from pysirus.plot._rules import overlap, rules
from pysirus.plot._tuning import front, pareto, tuning_path

__all__ = [
    "calibration",
    "effect",
    "front",
    "gain",
    "kaplan_meier",
    "overlap",
    "pareto",
    "predicted_survival",
    "roc",
    "rules",
    "tuning_path",
    "waterfall",
]

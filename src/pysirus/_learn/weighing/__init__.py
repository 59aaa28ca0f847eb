"""A family in, the way to weigh the rules of its models out."""

from __future__ import annotations

from functools import singledispatch

from pysirus._families.base import Family
from pysirus._families.classes import Multinomial
from pysirus._families.numbers import LogMean
from pysirus._families.of_model import ClassShares, Cox
from pysirus._learn.weighing.base import ByRidge, Equally, Weighing
from pysirus._learn.weighing.cox import ByCox
from pysirus._learn.weighing.likelihood import ClassesByLikelihood, MeansByLikelihood


@singledispatch
def weighing_of(family: Family) -> Weighing:
    """How the rules of such a model are weighed."""
    return ByRidge(family)


weighing_of.register(LogMean, MeansByLikelihood)
weighing_of.register(Multinomial, ClassesByLikelihood)
weighing_of.register(ClassShares, Equally)
weighing_of.register(Cox, ByCox)

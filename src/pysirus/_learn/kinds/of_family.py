"""The family of a fitted model in, the kind of response out by which such models are learned."""

from __future__ import annotations

from functools import singledispatch

from pysirus._families.base import Family
from pysirus._families.classes import ClassShares as Shares
from pysirus._families.classes import Multinomial
from pysirus._families.cox import Cox
from pysirus._families.log_mean import LogMean
from pysirus._learn.kinds.class_likelihood import ClassLikelihood
from pysirus._learn.kinds.class_shares import ClassShares
from pysirus._learn.kinds.kind import Kind
from pysirus._learn.kinds.numbers import Numbers
from pysirus._learn.kinds.positive import PositiveNumbers
from pysirus._learn.kinds.survival import SurvivalTimes


@singledispatch
def kind_of(family: Family) -> Kind:
    """How the rules of such a model are weighed."""
    return Numbers()


@kind_of.register
def _(family: LogMean) -> Kind:
    return PositiveNumbers(family)


@kind_of.register
def _(family: Multinomial) -> Kind:
    return ClassLikelihood()


@kind_of.register
def _(family: Shares) -> Kind:
    return ClassShares()


@kind_of.register
def _(family: Cox) -> Kind:
    return SurvivalTimes(family.followed.event_value)

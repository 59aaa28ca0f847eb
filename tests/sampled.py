"""Cross products of test cases: a part in which every value appears, or all of it with ``PYSIRUS_TEST_FULL=1``.

On Dask and Spark, and where other programs open what was exported, one case of each kind; with
``PYSIRUS_TEST_ENGINES=1`` those that take seconds too.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any

import pytest

FULL = os.environ.get("PYSIRUS_TEST_FULL") == "1"
ENGINES = FULL or os.environ.get("PYSIRUS_TEST_ENGINES") == "1"
ON_ENGINES = pytest.mark.skipif(not ENGINES, reason="seconds of Dask or Spark: make test-engines")
CLUSTERS = FULL or os.environ.get("PYSIRUS_TEST_CLUSTERS") == "1"  # servers that take minutes: make clusters


def few(cases: Sequence[Any], every: int = 3) -> list[Any]:
    """Every third of some cases that other programs take long for; with ``PYSIRUS_TEST_ENGINES=1`` the others too."""
    others = [case if isinstance(case, tuple) else (case,) for turn, case in enumerate(cases) if turn % every]
    return [*cases[::every], *(pytest.param(*case, marks=pytest.mark.engines) for case in others if ENGINES)]


def in_turns(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The product of all factors but the last, whose values take turns: of a row of cases, and of a column of them.

    With ``["a", "b"], [1, 2], "xyz"``: a1x, a2y, b1y, b2z.
    """
    if FULL:
        return list(itertools.product(*factors))
    *others, last = factors
    places = itertools.product(*(range(len(factor)) for factor in others))
    return [
        (*(factor[i] for factor, i in zip(others, place, strict=True)), last[sum(place) % len(last)])
        for place in places
    ]

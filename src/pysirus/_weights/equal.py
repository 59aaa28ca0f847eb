"""Rules with outputs in, equal weights out: the mean of the outputs, as in the authors' paper on classification."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pysirus._families.response.response import Response
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.moments import Moments
from pysirus._weights.weighted import WeightedPrefixes


def weigh_equally(
    rules: Sequence[FittedTerm], moments: Moments, response: Response, sizes: Sequence[int]
) -> WeightedPrefixes:
    """Equal weights for some prefixes of a list of rules with outputs. No rule at all is the mean of all rows."""
    mean = response.output(moments.means[0])
    zero = response.output(np.zeros(response.n_outputs))
    size = np.asarray(sizes)[:, None]
    weights = (np.arange(len(rules)) < size) / np.maximum(size, 1)
    intercepts = tuple(zero if k else mean for k in sizes)
    return WeightedPrefixes(tuple(rules), tuple(sizes), weights, intercepts, np.zeros(len(sizes)), mean)

"""Rules with outputs and weights: what a way of weighing answers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.response.response import Output, Response
from pysirus._sums import scores_of, times
from pysirus._terms.fitted import FittedTerm, outputs_of
from pysirus._weights.moments import Moments


def with_outputs(rules: Sequence[FittedTerm], moments: Moments, response: Response) -> list[FittedTerm]:
    """Give rules their outputs, the mean answers inside and outside, and their supports.

    A rule with a fixed effect answers with it, and with nothing outside.
    """
    _, inside, outside = moments.means
    found = []
    for i, rule in enumerate(rules):
        means = response.output(inside[i]), response.output(outside[i])
        outputs: dict[str, Any] = {"inside": means[0], "outside": means[1]}
        if rule.effect is not None:
            added = rule.effect.output(response.labels)
            nothing = (0.0,) * len(added) if isinstance(added, tuple) else 0.0
            outputs = {"inside": added, "outside": nothing, "observed": means if response.shows_means else None}
        n_inside = int(moments.rows[i])
        support: dict[str, Any] = {"n_inside": n_inside, "n_outside": int(moments.n_rows - n_inside)}
        found.append(replace(rule, **outputs, **support, classes=response.labels))
    return found


def with_observed(rules: Sequence[FittedTerm], moments: Moments, response: Response) -> list[FittedTerm]:
    """Give corrections the mean answers inside and outside; the moments end with theirs."""
    _, inside, outside = moments.means
    first = moments.n_rules - len(rules)
    return [
        replace(rule, observed=(response.output(inside[first + i]), response.output(outside[first + i])))
        for i, rule in enumerate(rules)
    ]


@dataclass(frozen=True)
class WeightedPrefixes:
    """Rules with outputs, and the models of several prefixes of their list."""

    rules: tuple[FittedTerm, ...]
    sizes: tuple[int, ...]
    weights: NDArray[np.float64]  # [size, rule], zero behind the prefix
    intercepts: tuple[Output, ...]
    penalties: NDArray[np.float64]
    mean: Output  # of the response
    moments: Moments | None = None  # what the weights came from
    constant: tuple[float, ...] = ()  # the link of the mean, where weights come from a likelihood
    hazard_times: NDArray[np.float64] | None = None  # of events, where they are what is predicted
    hazards: NDArray[np.float64] | None = None  # [size, time] cumulative baseline hazards
    n_dust: tuple[int, ...] = ()  # rules of each list that left it because they moved no prediction
    patterns: Any = field(default=None, compare=False, repr=False)  # what they came from then, while it is at hand

    def bare(self) -> WeightedPrefixes:
        """The same without what the weights came from."""
        return replace(self, moments=None, patterns=None)

    def scores(self, holds: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Intercept plus weighted outputs for every size, [row, size], of rows in which rules hold, [row, rule]."""
        inside, outside = outputs_of(self.rules)
        base = np.asarray(self.intercepts) + times(self.weights, outside)
        return scores_of(holds, base, (self.weights * (inside - outside)).T)

    def in_use(self) -> tuple[frozenset[Hashable], ...]:
        """The rules of positive weight in each model."""
        keys = [rule.key for rule in self.rules]
        return tuple(frozenset(key for key, weight in zip(keys, row) if weight > 0) for row in self.weights)

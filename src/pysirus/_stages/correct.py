"""A list of rules in, the same list with corrections out (spec, section 9; docs/stages.md).

A forest is grown on what the list leaves unexplained: the residuals of 85 hundredths of its prediction. Its trees try
all features at every node and draw three tenths of the rows. Its frequent paths that are not combinations of any rule
kept so far become corrections: rules whose outputs are the means of these residuals inside and outside. Then all
weights are fitted again together on the response, by the same non-negative ridge. One stage is the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._forest.forest import Recipe
from pysirus._rules.rule import Rule
from pysirus._select.select import Span, select
from pysirus._weights.weights import Weighed, bins_inside, weigh_moments, with_outputs
from pysirus.estimators.sirus import Training, rules_of

# The share of the prediction, as a distance from the mean, that the next stage takes as explained. When less than all
# of it is believed, some of the main signal stays in the residuals, and lists come back better from fold to fold; when
# much less is, they say the same again (docs/stages.md).
SHRINKAGE = 0.85

# The share of the rows that a tree on residuals draws. Trees that try every feature find what corrects most: the error
# of Housing goes down from 0.21 to 0.19. With all rows drawn they are too much alike, and the most frequent path hangs
# on a few rows (stability of Housing 0.71); with three tenths it comes back (0.81). With a tenth, or half of the rows,
# lists are farther from the ideal on average (docs/stages.md).
STAGE_SAMPLES = 0.3


def stage_recipe(recipe: Recipe, n_features: int) -> Recipe:
    """How trees on residuals are grown: all features at every node where no number is set, and fewer rows."""
    return replace(
        recipe, max_features=recipe.max_features or n_features, max_samples=STAGE_SAMPLES * recipe.max_samples
    )


def holds_in_bins(rule: Rule, binned: Binned) -> NDArray[np.bool_]:
    """Which training rows are inside a rule that came from these bins."""
    inside = np.ones(binned.bins.shape[1], dtype=bool)
    for condition in rule.conditions:
        inside &= bins_inside(condition, binned)[binned.bins[condition.index]]
    return inside


def fitted_values(weighed: Weighed, binned: Binned) -> NDArray[np.float64]:
    """The prediction of the last of the weighed lists on the training rows."""
    total = np.full(binned.bins.shape[1], weighed.intercepts[-1], dtype=np.float64)
    for rule, weight in zip(weighed.rules, weighed.weights[-1]):
        if weight > 0:
            outputs = np.array([rule.outside, rule.inside], dtype=np.float64)
            total += weight * outputs[holds_in_bins(rule, binned).astype(np.intp)]
    return total


def on_residuals(training: Training, weighed: Weighed) -> Training | None:
    """The training rows with what the last of the weighed lists leaves unexplained; None where it explains all."""
    response = training.response
    assert response.values is not None
    fitted = fitted_values(weighed, training.binned)
    if replace(response, values=response.values - fitted).is_constant:
        return None
    mean = np.float64(weighed.mean)  # type: ignore[arg-type]
    return replace(training, response=replace(response, values=response.values - mean - SHRINKAGE * (fitted - mean)))


def correct(
    training: Training,
    first: Weighed,
    span: Span,
    recipe: Recipe,
    *,
    first_tree: int,
    n_trees: int,
    p0: float | None,
    n_rules: int,
    max_rules: int,
) -> Iterator[Weighed]:
    """The weighed list after the second stage, the third, ...; ends when no path is left above p0 or the list is full.

    Each stage grows ``n_trees`` trees, numbered from ``first_tree`` on, and keeps its paths above ``p0``, or its
    ``n_rules`` most frequent ones when p0 is None.
    """
    recipe = stage_recipe(recipe, len(training.binned.cuts))
    weighed = first
    for stage in count(2):
        room = max_rules - len(weighed.rules)
        unexplained = on_residuals(training, weighed) if room > 0 else None
        if unexplained is None:
            return
        paths = unexplained.forest(recipe, first_tree).grow_to(n_trees).paths()
        first_tree += n_trees
        kept = select(paths, training.binned, p0=p0, n_rules=room if p0 is not None else min(n_rules, room), span=span)
        if not kept:
            return
        new = rules_of(paths, kept, training.binned)
        new = with_outputs(new, unexplained.moments(new))
        rules = [*weighed.rules, *(replace(rule, stage=stage) for rule in new)]
        weighed = weigh_moments(rules, training.moments(rules), [len(rules)])
        yield weighed

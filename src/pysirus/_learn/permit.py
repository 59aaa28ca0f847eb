"""Paths in, whether their rules obey the constraints out: by their form, then by their outputs on these rows."""

from __future__ import annotations

from pysirus._forest.forest import Paths
from pysirus._learn.training import Training
from pysirus._terms.from_path import rule_of
from pysirus._terms.rule import Rule
from pysirus._weights.weighted import with_outputs

AT_ONCE = 64  # paths whose outputs one pass over the rows finds


class Permit:
    """Asked for one path after the other; ``training`` has the response that the outputs of rules are means of."""

    def __init__(self, training: Training, paths: Paths) -> None:
        self._training = training
        self._paths = paths
        self._found: dict[int, bool] = {}  # of paths whose outputs matter

    def __call__(self, position: int) -> bool:
        rule, constraints = self._rule(position), self._training.constraints
        if not constraints.allows_form(rule):
            return False
        if not constraints.steers(rule):
            return True
        if position not in self._found:
            self._ask(position)
        return self._found[position]

    def _rule(self, position: int) -> Rule:
        return rule_of(self._paths.codes[position].tolist(), self._training.binned, 0.0)

    def _ask(self, first: int) -> None:
        """Find the outputs of a path, and of those after it that will be asked for."""
        training, batch = self._training, {}
        for position in range(first, len(self._paths.counts)):
            rule = self._rule(position)
            if training.constraints.allows_form(rule) and training.constraints.steers(rule):
                batch[position] = rule
            if len(batch) == AT_ONCE:
                break
        rules = with_outputs(list(batch.values()), training.moments(list(batch.values())), training.response)
        self._found |= {position: training.constraints.allows(rule) for position, rule in zip(batch, rules)}

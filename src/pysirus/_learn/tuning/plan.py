"""What tuning is asked to do, and the lists that it compares."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pysirus._forest.forest import Paths, Recipe
from pysirus._learn.correct import StageLimits, correct
from pysirus._learn.keep import Limits, keep_rules
from pysirus._learn.kinds.kind import Kind
from pysirus._learn.select import Span
from pysirus._learn.settings import Settings
from pysirus._learn.training import Training
from pysirus._weights.weighted import WeightedPrefixes, with_outputs

# Every stage adds this many rules, so one sequence of forests in a fold gives its whole path. (A common p0 for all
# stages needs a sequence for every p0, and was not better on six of eight datasets: docs/stages-study.md.)
PER_STAGE = 1
STAGE_TREES = 2_000  # the most frequent path of a forest is known with fewer trees than its first fifty


@dataclass(frozen=True)
class TuningPlan:
    """What tuning is asked to do."""

    kind: Kind
    settings: Settings
    max_rules: int
    criterion: str  # "stability": nearest to the ideal point, "error": the shortest list within two standard errors
    n_repeats: int | None  # None: until the choice is settled
    n_stages: int | None = 1  # None: as many as it takes
    post_treatment: str = "sample"

    @property
    def with_stages(self) -> bool:
        """Whether corrected lists are compared too."""
        return self.n_stages != 1

    def plain_list(self, training: Training, paths: Paths) -> WeightedPrefixes:
        """Every prefix of the longest list worth looking at, so that max_rules of its rules may have a weight."""
        kept = keep_rules(training, paths, Limits(2 * self.max_rules, post_treatment=self.post_treatment))
        moments = kept.moments
        rules = with_outputs(kept.rules, moments, training.response)
        sizes = self.kind.sizes(training, rules, moments, self.max_rules)
        return self.kind.weigh(training, rules[: sizes[-1]], moments.take(sizes[:-1]), sizes)

    def staged_lists(self, training: Training, paths: Paths, recipe: Recipe) -> list[WeightedPrefixes]:
        """The list after each stage; the first is the beginning of the plain list."""
        span = Span()
        each = Limits(PER_STAGE, post_treatment=self.post_treatment)
        begin = replace(each, n_rules=max(PER_STAGE, len(training.required)))
        first = self.kind.weigh_kept(training, keep_rules(training, paths, begin, span))
        limits = StageLimits(self.n_stages, min(STAGE_TREES, paths.n_trees), self.max_rules, each)
        return correct(training, first, paths.n_trees, kind=self.kind, span=span, recipe=recipe, limits=limits)

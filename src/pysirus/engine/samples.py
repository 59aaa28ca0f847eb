"""Rows in parts and draws of samples in, the model of each sample out: as in memory, to the bit.

The samples of a draw are learned from together, as the folds of a repetition are, in as many passes over the rows as
one fit takes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from pysirus._bins.numeric import Brackets, Threshold, find_brackets
from pysirus._data.table import Table, recode_table
from pysirus._families.base import Family
from pysirus._families.responses import Response
from pysirus._families.row_metrics import Predicted, Tally, Yardstick
from pysirus._learn.fit import FitPlan, learn_list
from pysirus._learn.folds import bare
from pysirus._learn.grow import Settings
from pysirus._learn.splits import FOREST, Draw, StratifiedFolds, check_known, derive, read_times
from pysirus._learn.training import threshold_places, with_brackets
from pysirus._model.model import Model
from pysirus._runtime.console import show_folds
from pysirus.engine.folds import Answers, FoldQuery, GroupQuery, Samples, beside
from pysirus.engine.parts import EngineOptions, Part
from pysirus.engine.read import PartRows
from pysirus.engine.train import ShardTraining, bin_parts
from pysirus.engine.tune import FoldsOfParts

SMALLEST = 0.25  # the share of the rows in the smallest sample that is drawn


@dataclass(frozen=True)
class BracketsOfSamples(FoldQuery[int, Brackets]):
    """Which values of each sample are next to the numbers that its rules compare with?"""

    models: tuple[Model, ...]
    places: tuple[tuple[Threshold, ...], ...]

    def answer(self, part: Part, table: Table, response: Response) -> Answers[int, Brackets]:
        """The brackets of each sample."""
        found: dict[int, Brackets] = {}
        for block, rows in self.blocks(part, response):
            own = table.take(rows)
            for sample, (model, places) in enumerate(zip(self.models, self.places)):
                if places and self.folds.learns(sample, block):
                    here = find_brackets(recode_table(own, model.features), places)
                    found[sample] = found[sample] + here if sample in found else here
        return Answers(found)


@dataclass(frozen=True)
class TalliesOfPeriods(FoldQuery[int, Tally]):
    """How well is each period but the first predicted by the model of the rows before it?"""

    models: tuple[Model, ...]
    family: Family
    like: Yardstick

    def answer(self, part: Part, table: Table, response: Response) -> Answers[int, Tally]:
        """What the rows of each period say."""
        found: dict[int, Tally] = {}
        for block, rows in self.blocks(part, response):
            if block:
                model, truth = self.models[block - 1], response.take(rows)
                values = model.decision(recode_table(table.take(rows), model.features)).reshape(len(rows), -1)
                seen = Predicted(values, truth.truth, self.family.metric_weights(truth))
                found[block] = self.family.tally(seen, self.like)
        return Answers(found)


class SampledParts:
    """Rows in parts, from which samples are drawn and learned from."""

    def __init__(self, parts: PartRows, target: str, options: EngineOptions, plan: FitPlan) -> None:
        with closing(bin_parts(parts, target, options, plan.settings, share=SMALLEST)) as whole:
            self.whole: ShardTraining = whole  # what is known of the rows; they themselves are let go of
        self.parts, self.plan, self._options = parts.named(), plan, options

    def beside(self, *, times: bool = False) -> NDArray[Any]:
        """The groups, or the times, of all rows."""
        found = beside(self.parts, GroupQuery(self.parts.read, of_times=times))
        if times:
            return read_times(found)
        check_known(found)
        return found

    def samples(self, draw: Draw) -> Samples:
        """A draw, as the parts know it."""
        stats, ranks = self.parts.stats, self.parts.stats.ranks_by_row
        if isinstance(draw.block, StratifiedFolds):
            return Samples(draw.block, ranks, takes=draw.takes)
        return Samples(StratifiedFolds(len(draw.takes[0]), 0, stats.sizes), ranks, draw.block, takes=draw.takes)

    def fit(self, draws: Sequence[Draw], settings: Settings) -> list[Model]:
        """The model of each sample; what a fit of some rows would warn of is of no interest."""
        plan = replace(self.plan, settings=replace(self.plan.settings, continuous=settings.continuous))
        learner = FoldsOfParts(self.parts, self.whole, plan.settings, self._options)

        def learn(training: ShardTraining, own: Settings) -> Model:
            return bare(learn_list(training, replace(plan, settings=own), strict=False)[0])

        models: list[Model] = []
        total = sum(len(draw.takes) for draw in draws)
        with warnings.catch_warnings(), show_folds(0, "resampling", "samples") as progress:
            warnings.simplefilter("ignore")
            for draw in draws:
                samples = self.samples(draw)
                numbers = range(len(models), len(models) + samples.n_folds)
                seeds = [derive(plan.settings.seed, FOREST, number) for number in numbers]
                doing = (f"resampling {numbers.stop} of {total}", "sample")  # with a bar for each pass over the rows
                models += self._short(samples, learner.learn(samples, seeds, learn, doing))
                for _ in numbers:
                    progress(total)
        return models

    def _short(self, samples: Samples, models: Sequence[Model]) -> list[Model]:
        """The models with short thresholds: one more pass over the rows."""
        places = tuple(tuple(threshold_places(model)) for model in models)
        query = BracketsOfSamples(self.parts.read, samples, self.parts.stats.first_rows, tuple(models), places)
        found = self.parts.ask(query).by_key
        return [with_brackets(model, found[k].brackets if places[k] else ()) for k, model in enumerate(models)]

    def tallies(self, draw: Draw, models: Sequence[Model], family: Family, like: Yardstick) -> dict[int, Tally]:
        """What the rows of each period say of the model of those before it."""
        first_rows = self.parts.stats.first_rows
        query = TalliesOfPeriods(self.parts.read, self.samples(draw), first_rows, tuple(models), family, like)
        return dict(self.parts.ask(query).by_key)

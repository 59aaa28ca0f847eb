"""Shards in, the same seen in another way out: some of their rows, other bins, another response.

A view is a small object that is sent along with a question, so rows are looked at where they lie and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pysirus._bins.cuts import Binned
from pysirus._learn.residual import Extremes, Residual, Rounding
from pysirus._response.fixed_point import Scale
from pysirus.engine.parts import Answer, ShardHolder
from pysirus.engine.shard import Shard

View = Callable[[Shard], Shard | None]  # None where no row is seen


@dataclass(frozen=True)
class OfView:
    """A question to shards as they are seen."""

    view: View
    question: Callable[[Shard], Any]

    @property
    def n_threads(self) -> int:
        """How many threads the question takes itself."""
        return getattr(self.question, "n_threads", 1)

    def look(self, shard: Shard) -> Shard | None:
        """A shard as it is seen, through all views that are one upon the other."""
        seen = self.view(shard)
        return self.question.look(seen) if seen is not None and isinstance(self.question, OfView) else seen

    def answer(self, seen: Shard | None) -> Any:
        """What a shard answers that is seen."""
        if seen is None:
            return None
        return self.question.answer(seen) if isinstance(self.question, OfView) else self.question(seen)

    def __call__(self, shard: Shard) -> Any:
        return self.answer(self.look(shard))


@dataclass(frozen=True)
class SeenShards:
    """Shards as they are seen; they belong to someone else."""

    shards: ShardHolder
    view: View

    def ask(self, question: Callable[[Shard], Answer | None]) -> Answer:
        """Ask every shard, and add up the answers."""
        answer: Answer = self.shards.ask(OfView(self.view, question))
        return answer

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class ResidualExtremes:
    """How far do these residuals reach?"""

    residual: Residual
    shape: Binned

    def __call__(self, shard: Shard) -> Extremes:
        return Extremes.of(self.residual.raw(replace(self.shape, bins=shard.bins), shard.response))


@dataclass(frozen=True)
class OnResiduals:
    """Rows with their residuals as response."""

    residual: Residual
    shape: Binned
    rounding: Rounding
    scale: Scale

    def __call__(self, shard: Shard) -> Shard:
        binned = replace(self.shape, bins=shard.bins)
        return replace(shard, response=self.residual.of_rows(binned, shard.response, self.rounding, self.scale))

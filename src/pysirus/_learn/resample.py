"""A table in, resamples of its rows and the models that are learned from them out.

Resamples are drawn by the seed of the model and their number alone, and each has a seed of its own for its forest: the
answer does not depend on the number of threads. Columns keep the kind that they have in the whole table: a number with
eleven values there has cuts at quantiles in every half of it, so that rules compare.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._bins.cuts import Cuts
from pysirus._data.column import DataError
from pysirus._data.table import Table
from pysirus._families.responses import Response
from pysirus._learn.grow import Settings
from pysirus._learn.tuning.folds import StratifiedFolds, derive, fold_of_groups
from pysirus._model.model import Model
from pysirus._runtime.console import cancellable_pool, show_folds

Rows = NDArray[np.intp]
Learn = Callable[[Table, Response, Settings], Model]  # some rows and how to learn from them in, their model out

AT_ONCE = 1 << 20  # draws with replacement
DRAWS, BOOTSTRAP, FOREST = 101, 102, 103  # purposes of seeds, beside the numbers of repetitions


def continuous_columns(cuts: Sequence[Cuts]) -> frozenset[str]:
    """The names of columns with cuts at quantiles."""
    return frozenset(own.column.name for own in cuts if any(kind == "quantile" for kind, _ in own.identities))


@dataclass(frozen=True)
class Draw:
    """Samples that are drawn together: rows lie in blocks, and each sample takes the rows of some of them."""

    block: StratifiedFolds | NDArray[np.unsignedinteger[Any]]  # of each row
    takes: tuple[tuple[int, ...], ...]  # [sample][block]: how often each of its rows is taken

    def samples(self, response: Response) -> list[Rows]:
        """The rows of each sample, of a table in memory."""
        blocks = self.block.of_rows(response) if isinstance(self.block, StratifiedFolds) else self.block
        return [np.repeat(np.arange(response.n_rows), np.array(own)[blocks]) for own in self.takes]


@dataclass(frozen=True)
class Resampling:
    """How rows, or groups of them, are dealt into samples, by the size of their strata and a seed."""

    sizes: tuple[int, ...]  # rows of each stratum
    groups: NDArray[Any] | None
    seed: int

    def _blocks(self, number: int, n_blocks: int) -> StratifiedFolds | NDArray[np.unsignedinteger[Any]]:
        """Blocks of about the same size."""
        seed = derive(self.seed, DRAWS, number)
        if self.groups is not None:
            return fold_of_groups(self.groups, n_blocks, seed)
        if sum(self.sizes) < 2 * n_blocks:
            raise DataError(f"Resamples need at least {2 * n_blocks} rows, found {sum(self.sizes)}.")
        return StratifiedFolds(n_blocks, seed, self.sizes)

    def halves(self, number: int) -> Draw:
        """Two disjoint halves, and a quarter of each."""
        return Draw(self._blocks(number, 4), ((1, 1, 0, 0), (0, 0, 1, 1), (1, 0, 0, 0), (0, 0, 1, 0)))

    def folds(self, number: int, n_folds: int) -> Draw:
        """The training rows of each fold."""
        takes = (tuple(int(block != fold) for block in range(n_folds)) for fold in range(n_folds))
        return Draw(self._blocks(number, n_folds), tuple(takes))

    def bootstrap(self, number: int) -> Draw:
        """As many rows as there are, with replacement; or groups. A block has the rows that are drawn equally often."""
        draw, n_rows = np.random.default_rng(derive(self.seed, BOOTSTRAP, number)), sum(self.sizes)
        names, place = (None, None) if self.groups is None else np.unique(self.groups, return_inverse=True)
        n = n_rows if names is None else len(names)
        taken = np.zeros(n, dtype=np.uint8)
        for first in range(0, n, AT_ONCE):
            some, often = np.unique(draw.integers(0, n, min(AT_ONCE, n - first)), return_counts=True)
            taken[some] += often.astype(np.uint8)
        return Draw(taken if place is None else taken[place], (tuple(range(int(taken.max()) + 1)),))


def of_periods(period: NDArray[Any], n_periods: int) -> Draw:
    """The rows of each period, then for each but the first the rows before it."""
    own = (tuple(int(block == k) for block in range(n_periods)) for k in range(n_periods))
    before = (tuple(int(block < k) for block in range(n_periods)) for k in range(1, n_periods))
    return Draw(period.astype(np.uint8), (*own, *before))


def fit_samples(
    table: Table, response: Response, samples: Sequence[Rows], settings: Settings, learn: Learn
) -> list[Model]:
    """The model of each sample, as many at a time as there are threads; an interrupt stops the forests at once.

    What a fit of some of the rows would warn of is said of the model itself, or of no interest.
    """
    stop = _core.StopFlag()

    def one(number: int) -> Model:
        seed = derive(settings.seed, FOREST, number)
        own = replace(settings, seed=seed, n_threads=1, verbose=0, stop=stop)
        rows = samples[number]
        return bare(learn(table.take(rows), response.take(rows), own))

    with (
        warnings.catch_warnings(),
        cancellable_pool(settings.n_threads, stop.set) as pool,
        show_folds(settings.verbose, "resampling", "samples") as progress,
    ):
        warnings.simplefilter("ignore")
        futures = [pool.submit(one, number) for number in range(len(samples))]
        for future in as_completed(futures):
            future.result()
            progress(len(futures))
        return [future.result() for future in futures]


def bare(model: Model) -> Model:
    """The model without what its weights came from."""
    return replace(model, moments=None, likelihood=None, tuning=None)

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

N_PARTS = 4  # of a table: two of them are a half, one a quarter that is disjoint from the other half
DRAWS, BOOTSTRAP, FOREST = 101, 102, 103  # purposes of seeds, beside the numbers of repetitions


def continuous_columns(cuts: Sequence[Cuts]) -> frozenset[str]:
    """The names of columns with cuts at quantiles."""
    return frozenset(own.column.name for own in cuts if any(kind == "quantile" for kind, _ in own.identities))


@dataclass(frozen=True)
class Resampling:
    """How rows, or groups of them, are dealt into parts of about the same size."""

    response: Response
    groups: NDArray[Any] | None
    seed: int

    def parts(self, number: int, n_parts: int) -> NDArray[np.unsignedinteger[Any]]:
        """The part of each row, in a draw."""
        seed = derive(self.seed, DRAWS, number)
        if self.groups is not None:
            return fold_of_groups(self.groups, n_parts, seed)
        if self.response.n_rows < 2 * n_parts:
            raise DataError(f"Resamples need at least {2 * n_parts} rows, found {self.response.n_rows}.")
        return StratifiedFolds(n_parts, seed, self.response.stratum_sizes).of_rows(self.response)

    def quarters(self, number: int) -> list[Rows]:
        """Four disjoint samples of a quarter each."""
        part = self.parts(number, N_PARTS)
        return [np.flatnonzero(part == k) for k in range(N_PARTS)]

    def folds(self, number: int, n_folds: int) -> list[Rows]:
        """The training rows of each fold."""
        part = self.parts(number, n_folds)
        return [np.flatnonzero(part != k) for k in range(n_folds)]

    def bootstrap(self, number: int) -> Rows:
        """As many rows as there are, with replacement; or groups."""
        draw = np.random.default_rng(derive(self.seed, BOOTSTRAP, number))
        n_rows = self.response.n_rows
        if self.groups is None:
            return np.sort(draw.integers(0, n_rows, n_rows))
        names, place = np.unique(self.groups, return_inverse=True)
        taken = np.bincount(draw.integers(0, len(names), len(names)), minlength=len(names))
        return np.repeat(np.arange(n_rows), taken[place])


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
        return _bare(learn(table.take(rows), response.take(rows), own))

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


def _bare(model: Model) -> Model:
    """The model without what its weights came from."""
    return replace(model, moments=None, likelihood=None, tuning=None)

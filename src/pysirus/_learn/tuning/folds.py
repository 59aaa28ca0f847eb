"""Rows in, training and held-out rows of every fold out."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, PredefinedSplit
from sklearn.utils.validation import column_or_1d

from pysirus import _core
from pysirus._data.column import DataError, is_missing
from pysirus._families.response.response import Response
from pysirus._message import GROUPS, Parameter, setting
from pysirus._parameters import ParameterError, check_integer

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]  # training, held out


def derive(seed: int, *path: int) -> int:
    """A seed of its own for each repetition and fold."""
    return int(np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class StratifiedFolds:
    """Rows dealt into folds like cards, those of each stratum by a permutation of their own.

    The fold of a row depends on its stratum, its rank there, the size of each stratum and the seed, so whoever holds
    some of the rows can deal them. Folds differ by one row at most, all strata together and each for itself.
    """

    n_folds: int
    seed: int
    sizes: tuple[int, ...]  # rows of each stratum

    def of_rows(self, response: Response, ranks: Sequence[int] | None = None) -> NDArray[np.uint32]:
        """The folds that hold out some rows; ``ranks`` counts those of each stratum that come before them."""
        before = [0] * len(self.sizes) if ranks is None else ranks
        return _core.deal(response.n_rows, response.strata, self.sizes, before, self.seed, self.n_folds)

    @property
    def fold_sizes(self) -> list[int]:
        """How many rows each fold holds out."""
        each, rest = divmod(sum(self.sizes), self.n_folds)
        return [each + (fold < rest) for fold in range(self.n_folds)]


def draw_folds(
    cv: Any, n_repeats: int, *, response: Response, groups: Any, kept: NDArray[np.bool_], seed: int
) -> Iterator[list[Split]]:
    """The folds of one repetition after the other, among the rows of positive weight (``kept`` of those given)."""
    groups = None if groups is None else _check_groups(groups, len(kept))[kept]
    given = _given_folds(cv, kept)
    return (_splits(cv, given, response, groups, derive(seed, repeat)) for repeat in range(n_repeats))


def too_few(n_folds: int, what: str, found: int) -> str:
    """What is said of more folds than there are rows or groups."""
    return (
        f"{setting('cv', n_folds)}: so many folds need as many {what}, found {found}. Use a smaller {Parameter('cv')}."
    )


def fold_of_groups(groups: NDArray[Any], n_folds: int, seed: int) -> NDArray[np.unsignedinteger[Any]]:
    """The fold in which each row is held out with its group: the folds of ``GroupKFold``, which shuffles the groups."""
    n_groups = len(np.unique(groups))
    if n_groups < n_folds:
        raise ParameterError(too_few(n_folds, "groups", n_groups))
    folds = np.empty(len(groups), dtype=np.min_scalar_type(n_folds - 1))
    drawn = GroupKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    for fold, (_, held_out) in enumerate(drawn.split(groups, groups=groups)):
        folds[held_out] = fold
    return folds


def _given_folds(cv: Any, kept: NDArray[np.bool_]) -> list[Split] | None:
    """Folds that the user lists, by rows of the table as given; of those the rows of positive weight, as numbered.

    None where folds are drawn among the rows of positive weight.
    """
    if isinstance(cv, PredefinedSplit):
        listed: Any = cv.split()
    elif isinstance(cv, numbers.Integral) or (hasattr(cv, "split") and not isinstance(cv, str)):
        return None
    elif isinstance(cv, str) or not isinstance(cv, Iterable):
        raise ParameterError(f"{Parameter('cv')} must be a number of folds, a splitter or a list of folds, got {cv!r}.")
    else:
        listed = cv
    number = np.cumsum(kept) - 1
    every = np.arange(len(kept))
    return [
        (number[train[kept[train]]], number[test[kept[test]]])
        for train, test in ((every[train], every[test]) for train, test in listed)
    ]


def _splits(cv: Any, given: list[Split] | None, response: Response, groups: Any, seed: int) -> list[Split]:
    """Training and held-out rows of each fold of a repetition."""
    n_rows = response.n_rows
    if given is not None:
        splits: Iterable[Any] = given
    elif isinstance(cv, numbers.Integral):
        check_integer("cv", cv, 2)
        folds: NDArray[np.unsignedinteger[Any]]
        if groups is None:
            check_enough(int(cv), n_rows)
            folds = StratifiedFolds(int(cv), seed, response.stratum_sizes).of_rows(response)
        else:
            folds = fold_of_groups(groups, int(cv), seed)
        splits = ((np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(int(cv)))
    else:
        y = response.answers if response.strata is None else response.strata
        splits = cv.split(np.empty((n_rows, 1)), y, groups)
    result = [(np.arange(n_rows)[train], np.arange(n_rows)[test]) for train, test in splits]
    if len(result) < 2:
        raise ParameterError(f"{Parameter('cv')} must give at least 2 folds to measure stability, got {len(result)}.")
    return result


def _check_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    found: NDArray[Any] = np.asarray(column_or_1d(groups))
    if len(found) != n_rows:
        raise DataError(f"{GROUPS} has {len(found)} entries, the table has {n_rows} rows: one group per row.")
    check_known(found)
    return found


def check_known(groups: NDArray[Any]) -> None:
    """Reject groups that are missing."""
    if any(is_missing(group) for group in (groups.tolist() if groups.dtype.kind in "Of" else ())):
        raise DataError(f"{GROUPS} holds missing values. Fill them, for example with a group of their own.")


def check_enough(n_folds: int, n_rows: int) -> None:
    """Reject more folds than rows."""
    if n_rows < n_folds:
        raise DataError(too_few(n_folds, "rows", n_rows))

"""Rows in, how they are dealt out: into folds, into folds that look forward in time, and into resamples.

All of it is drawn by a seed and numbers alone. Forward folds hold out one period and learn from all rows before it,
which is what happens to a model in production. They begin once half of the rows have been, so that what they learn from
is not too different in size. Rows of one time are never on both sides.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, PredefinedSplit
from sklearn.utils.validation import column_or_1d

from pysirus import _core
from pysirus._data.column import DataError, is_missing
from pysirus._families.responses import Response
from pysirus._parameters import ParameterError, check_integer
from pysirus._text.message import GROUPS, TIME, InPython, Parameter, setting

FORWARD = "forward"
MOST_PERIODS = 24  # values of time that are periods by themselves; of more, rows in order are cut into CUT_INTO
CUT_INTO = 10
LEAST_ROWS = 20  # of a period
LEAST_PERIODS = 3  # two folds, and rows before the first of them
YEAR_FIRST = re.compile(r"\d{4}")
AT_ONCE = 1 << 20  # draws with replacement
DRAWS, BOOTSTRAP, FOREST = 101, 102, 103  # purposes of seeds, beside the numbers of repetitions

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]  # training, held out
Times = NDArray[Any]


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


def draw_folds(
    cv: Any, n_repeats: int, *, response: Response, groups: Any, kept: NDArray[np.bool_], seed: int
) -> Iterator[list[Split]]:
    """The folds of one repetition after the other, among the rows of positive weight (``kept`` of those given)."""
    groups = None if groups is None else check_groups(groups, len(kept))[kept]
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
        raise ParameterError(
            f"{Parameter('cv')} must be a number of folds, a splitter, a list of folds or 'forward', got {cv!r}."
        )
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
        y = response.row_values if response.strata is None else response.strata
        splits = cv.split(np.empty((n_rows, 1)), y, groups)
    result = [(np.arange(n_rows)[train], np.arange(n_rows)[test]) for train, test in splits]
    if len(result) < 2:
        raise ParameterError(f"{Parameter('cv')} must give at least 2 folds to measure stability, got {len(result)}.")
    return result


def check_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    """The groups of rows, one each."""
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


# ------------------------------------------------------------------------------------------------------ forward in time


def read_times(time: Any, n_rows: int | None = None) -> Times:
    """The times of rows as values that sort: numbers, dates, or text that begins with the year."""
    found = _array(time)
    if found.ndim != 1:
        raise DataError(f"{TIME} must have one entry per row, found an array of {found.ndim} dimensions.")
    if n_rows is not None and len(found) != n_rows:
        raise DataError(f"{TIME} has {len(found)} entries, the table has {n_rows} rows: one time per row.")
    if np.isnat(found).any() if found.dtype.kind == "M" else any(map(is_missing, _doubtful(found))):
        raise DataError(f"{TIME} holds missing values. Fill them in, or leave these rows out.")
    if found.dtype.kind == "M":
        days = found.astype("datetime64[D]")
        return days if (days == found).all() else found
    kinds = {type(own) for own in _doubtful(found)}
    if len(kinds) > 1 or not all(issubclass(kind, (str, int, float)) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"{TIME} must be dates, numbers, or text that begins with the year, found {names}.")
    odd = next((own for own in _doubtful(found) if isinstance(own, str) and not YEAR_FIRST.match(own)), None)
    if odd is not None:
        raise DataError(
            f"{TIME} has the text '{odd}', which does not sort by time. Give dates, numbers, or text that begins with "
            "the year, such as 2024-03."
        )
    return found


def _array(time: Any) -> Times:
    """Times as they are given, dates as NumPy has them."""
    series = nw.from_native(time, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series):
        if isinstance(series.dtype, (nw.Date, nw.Datetime)):
            return np.asarray(series.cast(nw.Datetime("us")).to_numpy(), dtype="datetime64[us]")
        return np.asarray(series.to_list())
    found = np.asarray(series)
    dates = found.dtype.kind == "O" and found.size and all(isinstance(own, date) for own in found.tolist())
    return found.astype("datetime64[us]") if dates else found


def _doubtful(times: Times) -> list[Any]:
    """The values of a type that may hold other than numbers."""
    return times.tolist() if times.dtype.kind in "OUf" else []


def periods_of(when: Times, least: int = 2) -> tuple[list[str], NDArray[np.intp]]:
    """The names of periods in their order, and the period of each row.

    Each value is a period by itself, up to 24 of them. Of more, the rows in their order are cut into ten periods of
    about the same size; rows of one value stay together.
    """
    values, place, counts = np.unique(when, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    names = [str(value) for value in values]
    if len(values) > MOST_PERIODS:
        upto = np.cumsum(counts) - counts
        group = np.minimum(upto * CUT_INTO // len(when), CUT_INTO - 1)
        _, group = np.unique(group, return_inverse=True)
        ends = [np.flatnonzero(group == k) for k in range(int(group.max()) + 1)]
        names = [f"{names[own[0]]} to {names[own[-1]]}" for own in ends]
        place = group[place]
    sizes = np.bincount(place)
    if len(names) < least:
        found = f"{len(names)} value{'s' if len(names) > 1 else ''}"
        raise DataError(f"At least {least} periods are needed to look forward in time, found {found} of {TIME}.")
    if sizes.min() < LEAST_ROWS:
        few = names[int(sizes.argmin())]
        raise DataError(
            f"The period '{few}' has {sizes.min()} rows, and a list takes at least {LEAST_ROWS}: use longer periods."
        )
    return names, place


@dataclass(frozen=True)
class Periods:
    """What is held out by folds that look forward: periods by name, and the rows before each."""

    names: tuple[str, ...]
    n_before: tuple[int, ...]
    last: str | float  # the last time of all

    @property
    def shared(self) -> float:
        """Of the rows of a later fold the share that an earlier one has too, on average over pairs."""
        return float(np.mean([early / late for early, late in combinations(self.n_before, 2)]))


@dataclass(frozen=True)
class ForwardFolds:
    """Folds that learn from the rows before each period."""

    periods: Periods
    fold: NDArray[np.unsignedinteger[Any]]  # [row]: the one that holds it out; their number, where none does

    @property
    def n_folds(self) -> int:
        """How many periods are held out."""
        return len(self.periods.names)

    def splits(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """The rows that each fold learns from, and those that it holds out."""
        return [
            (np.flatnonzero(learns_from(self.fold, k, self.n_folds)), np.flatnonzero(self.fold == k))
            for k in range(self.n_folds)
        ]


def learns_from(fold: Any, own: int, n_folds: int) -> Any:
    """Whether a fold that looks forward learns from rows that other folds, or none of them, hold out."""
    return (fold < own) | (fold == n_folds)


def forward_folds(when: Times) -> ForwardFolds:
    """Periods from the middle of the rows on, at least two, are held out one after the other."""
    names, place = periods_of(when, LEAST_PERIODS)
    sizes = np.bincount(place)
    before = np.cumsum(sizes) - sizes
    first = min(int(np.searchsorted(before, len(when) / 2)), len(names) - 2)
    n_folds = len(names) - first
    fold = np.where(place >= first, place - first, n_folds).astype(np.min_scalar_type(n_folds))
    last = np.unique(when)[-1]
    told = float(last) if isinstance(last, (int, float, np.number)) else str(last)
    return ForwardFolds(Periods(tuple(names[first:]), tuple(before[first:].tolist()), told), fold)


def check_forward(cv: Any, groups: Any, time: Any) -> Any:
    """What keeps rows together: groups, or with forward folds the times."""
    if isinstance(cv, str) and cv == FORWARD:
        if time is None:
            where = f"a column of the table{InPython(', or one entry per row')}"
            raise ParameterError(f"{setting('cv', FORWARD)} needs {Parameter('time')}: {where}.")
        if groups is not None:
            raise ParameterError(
                f"{setting('cv', FORWARD)} holds out periods, and does not go with {Parameter('groups')}."
            )
        return time
    if time is not None:
        raise ParameterError(f"{Parameter('time')} goes with {setting('cv', FORWARD)}, got {setting('cv', cv)}.")
    return groups


# ------------------------------------------------------------------------------------------------------------ resamples


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

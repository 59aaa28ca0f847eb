"""What the tuned estimators share: folds in parallel, one forest each, then the path and the choice."""

from __future__ import annotations

import numbers
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit
from sklearn.utils.validation import column_or_1d

from pysirus import _core
from pysirus import _parameters as params
from pysirus._data.column import DataError
from pysirus._data.table import Table, recode_table
from pysirus._data.zero_weights import rows_that_weigh
from pysirus._forest.forest import Forest, Paths, Recipe
from pysirus._model.model import RuleModel
from pysirus._progress import show_folds
from pysirus._response.response import Response
from pysirus._rules.rule import Rule, RuleSet
from pysirus._select.select import select
from pysirus._tuning.path import (
    FoldList,
    PooledError,
    Size,
    Steps,
    Tuning,
    TuningPath,
    average,
    choose_accurate,
    choose_stable,
    walk,
)
from pysirus._weights.weights import Weighed
from pysirus.estimators.sirus import SirusBase, Training, rules_of

Rows = NDArray[np.intp]


class FoldResult(NamedTuple):
    """What a fold learned, what its held-out rows say of every size, and its staged lists where they are asked for."""

    plain: FoldList
    outcome: Any
    staged: Any = None


class TunedBase(SirusBase):
    """Tuning of p0 by cross-validation, for any kind of response."""

    cv: Any
    n_repeats: int
    criterion: str

    @abstractmethod
    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Response, str]:
        """The table, the response and its name, without rows that weigh nothing."""

    @abstractmethod
    def _weigh(self, training: Training, rules: list[Rule]) -> Weighed:
        """Outputs and weights of every prefix of a list of rules."""

    @abstractmethod
    def _outcome(self, weighed: Weighed, holds: NDArray[np.bool_], response: Response) -> Any:
        """What the pooled error needs to know of a fold's held-out rows, for every size."""

    @abstractmethod
    def _pooled_error(self, outcomes: Sequence[Any]) -> PooledError:
        """The error of all held-out rows together, given the size that each fold uses."""

    @abstractmethod
    def _model_of(self, training: Training, weighed: Weighed, row: int, n_trees: int) -> RuleModel:
        """The model of one of the weighed prefixes."""

    @property
    def _longest(self) -> int:
        """Rules to look at, so that max_rules of them may have a positive weight."""
        return 2 * int(self.max_rules)

    def _check_tuning(self) -> None:
        params.check_integer("n_repeats", self.n_repeats, 1)
        params.check_choice("criterion", self.criterion, ("stability", "error"))

    def _given_folds(self, kept: NDArray[np.bool_]) -> list[tuple[Rows, Rows]] | None:
        """Folds that the user lists, by rows of the table as given; of those the rows of positive weight, as numbered.

        None where folds are drawn among the rows of positive weight.
        """
        if isinstance(self.cv, PredefinedSplit):
            listed: Any = self.cv.split()
        elif isinstance(self.cv, numbers.Integral) or (hasattr(self.cv, "split") and not isinstance(self.cv, str)):
            return None
        elif isinstance(self.cv, str) or not isinstance(self.cv, Iterable):
            raise params.ParameterError(
                f"cv must be a number of folds, a splitter or a list of folds, got {self.cv!r}."
            )
        else:
            listed = self.cv
        number = np.cumsum(kept) - 1
        every = np.arange(len(kept))
        return [tuple(number[rows[kept[rows]]] for rows in (every[train], every[test])) for train, test in listed]

    def _splits(
        self,
        response: Response,
        groups: Any,
        repeat: int,
        seed: int,
        given: list[tuple[Rows, Rows]] | None = None,
    ) -> list[tuple[Rows, Rows]]:
        """Training and held-out rows of each fold of a repetition."""
        n_rows = response.n_rows
        if given is not None:
            splits: Iterable[Any] = given
        elif isinstance(self.cv, numbers.Integral):
            params.check_integer("cv", self.cv, 2)
            _check_folds(int(self.cv), n_rows, groups)
            kind = KFold if groups is None else GroupKFold
            cv: Any = kind(int(self.cv), shuffle=True, random_state=_derive(seed, repeat) % 2**32)
            splits = cv.split(np.empty(n_rows), groups=groups)
        else:
            y = response.values if response.values is not None else response.slots
            splits = self.cv.split(np.empty((n_rows, 1)), y, groups)
        result = [(np.arange(n_rows)[train], np.arange(n_rows)[test]) for train, test in splits]
        if len(result) < 2:
            raise params.ParameterError(f"cv must give at least 2 folds to measure stability, got {len(result)}.")
        return result

    def _fit_fold(
        self, table: Table, response: Response, split: tuple[Rows, Rows], seed: int, n_trees: int, stop: _core.StopFlag
    ) -> FoldResult:
        """One fold: bins, forest, list, weights of every prefix, and what they say of the held-out rows."""
        train, test = split
        training = replace(self._bin(table.take(train), response.take(train), ""), seed=seed)
        recipe = replace(self._recipe(training), n_threads=1, stop=stop)
        if training.response.is_constant or training.binned.split_offset[-1] == 0:
            paths = Paths(np.zeros((0, 4), np.int32), np.zeros(0, np.int64), 0)
        else:
            paths = Forest(training.binned, training.response, recipe).grow_to(n_trees).paths()
        weighed = self._weigh_list(training, paths)
        held_out = recode_table(table.take(test), training.features)
        holds = np.empty((held_out.n_rows, len(weighed.rules)), dtype=bool)
        for i, rule in enumerate(weighed.rules):
            holds[:, i] = rule.holds(held_out)
        outcome = self._outcome(weighed, holds, response.take(test))
        staged = self._fit_stages(training, paths, recipe, held_out, response.take(test))
        return FoldResult(FoldList(_frequencies(weighed), weighed.in_use()), outcome, staged)

    def _fit_stages(self, training: Training, paths: Paths, recipe: Recipe, held_out: Table, response: Response) -> Any:
        """The fold's staged lists; None for estimators without stages."""
        return None

    def _choose_stages(self, training: Training, paths: Paths, results: Sequence[Sequence[FoldResult]]) -> None:
        """Replace the plain model by a staged one where that is better; nothing for estimators without stages."""

    def _weigh_list(self, training: Training, paths: Paths) -> Weighed:
        """Outputs and weights of every prefix of the longest list."""
        kept = select(paths, training.binned, n_rules=self._longest)
        return self._weigh(training, rules_of(paths, kept, training.binned))

    def _fold_results(
        self, table: Table, response: Response, splits: Sequence[Sequence[tuple[Rows, Rows]]], seed: int, n_trees: int
    ) -> list[list[FoldResult]]:
        """All folds of all repetitions, on as many threads as asked for; an interrupt stops the forests at once."""
        stop = _core.StopFlag()
        jobs = [(r, f, split) for r, folds in enumerate(splits) for f, split in enumerate(folds)]
        results: list[list[Any]] = [[None] * len(folds) for folds in splits]
        with show_folds(self.verbose, len(jobs)) as progress, ThreadPoolExecutor(self._n_threads()) as pool:
            futures = {
                pool.submit(self._fit_fold, table, response, split, _derive(seed, r, f), n_trees, stop): (r, f)
                for r, f, split in jobs
            }
            try:
                for future in as_completed(futures):
                    r, f = futures[future]
                    results[r][f] = future.result()
                    progress()
            except BaseException:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return results

    def _tune(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Fit on everything, tune on folds, keep the list of every size."""
        table, response, target = self._read(X, y, sample_weight)
        kept = rows_that_weigh(sample_weight)
        kept = np.ones(table.n_rows, dtype=bool) if kept is None else kept
        groups = None if groups is None else _check_groups(groups, len(kept))[kept]
        given = self._given_folds(kept)
        training = self._bin(table, response, target)
        seed = training.seed
        splits = [self._splits(response, groups, repeat, seed, given) for repeat in range(self.n_repeats)]
        paths = self._paths_of(training)
        weighed = self._weigh_list(training, paths)
        self._keep_paths(training, paths)
        if not weighed.rules:
            self._finish(training, weighed, paths.n_trees, [])
            return
        results = self._fold_results(table, response, splits, seed, paths.n_trees)
        repetitions = [
            walk([fold.plain for fold in folds], self._pooled_error([fold.outcome for fold in folds]))
            for folds in results
        ]
        self._finish(training, weighed, paths.n_trees, repetitions, _changed(splits))
        self._choose_stages(training, paths, results)

    def _finish(
        self,
        training: Training,
        weighed: Weighed,
        n_trees: int,
        repetitions: Sequence[Steps],
        changed: float = 0.0,
    ) -> None:
        """Choose p0, take the full data's rules above it, and remember all sizes."""
        if not repetitions:
            nothing = np.zeros(0)
            path = TuningPath(nothing, nothing, nothing, nothing, nothing, nothing, nothing, self.n_repeats)
            tuning = Tuning(path, 1.0, 1.0, 1.0, self.criterion, 0, changed, RuleSet(), ())
            self._set_model(replace(self._model_of(training, weighed, 0, n_trees), tuning=tuning))
            return
        path = average(repetitions, self.max_rules)
        p0 = choose_stable(repetitions, self.max_rules) if self.criterion == "stability" else choose_accurate(path)
        frequencies = _frequencies(weighed)
        size = int((frequencies > p0).sum())
        if size == 0:
            warnings.warn(
                f"No rule of the full data is above the chosen p0 = {p0:.4f}; the most frequent one is kept.",
                UserWarning,
                stacklevel=4,
            )
            size = 1
        edges = np.append(frequencies, 0.0)
        sizes = []
        n_positive = (weighed.weights > 0).sum(axis=1)
        for k in range(1, len(weighed.rules) + 1):
            if k > size and n_positive[k] > self.max_rules:
                break
            own_p0 = p0 if k == size else float((edges[k - 1] + edges[k]) / 2)
            at = path.at(own_p0)
            sizes.append(
                Size(
                    n_rules=k,
                    p0=own_p0,
                    error=float(path.error[at]),
                    stability=float(path.stability[at]),
                    weights=tuple(weighed.weights[k, :k].tolist()),
                    intercept=weighed.intercepts[k],
                    penalty=float(weighed.penalties[k]),
                )
            )
        chosen = sizes[size - 1]
        rules = RuleSet(weighed.rules)
        choice = (p0, chosen.error, chosen.stability, self.criterion, path.at(chosen.p0), changed)
        tuning = Tuning(path, *choice, rules, tuple(sizes))
        model = replace(self._model_of(training, weighed, size, n_trees), tuning=tuning)
        self._set_model(model.with_rules(size))

    def _set_model(self, model: RuleModel) -> None:
        super()._set_model(model)
        if model.tuning is not None:
            self.p0_ = model.tuning.p0
            self.cv_error_ = model.tuning.error
            self.cv_stability_ = model.tuning.stability
            self.path_ = model.tuning.path

    @property
    def models_(self) -> tuple[RuleModel, ...]:
        """The model of every size on the full data, from one rule on; see also ``with_rules``."""
        model = self._model
        if model.tuning is None:
            raise AttributeError("This model was not tuned.")
        return tuple(model.with_rules(size.n_rules) for size in model.tuning.sizes)


def _frequencies(weighed: Weighed) -> NDArray[np.float64]:
    return np.array([rule.frequency for rule in weighed.rules])


def _derive(seed: int, *path: int) -> int:
    """A seed of its own for each repetition and fold."""
    return int(np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)[0])


def _check_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    groups = column_or_1d(groups)
    if len(groups) != n_rows:
        raise DataError(f"groups has {len(groups)} entries, the table has {n_rows} rows: one group per row.")
    return np.asarray(groups)


def _check_folds(n_folds: int, n_rows: int, groups: Any) -> None:
    if groups is not None:
        n_groups = len(np.unique(np.asarray(groups)))
        if n_groups < n_folds:
            raise params.ParameterError(
                f"cv={n_folds} folds need at least {n_folds} groups, found {n_groups}: use a smaller cv."
            )
    elif n_rows < n_folds:
        raise DataError(f"cv={n_folds} folds need at least {n_folds} rows, found n_samples={n_rows}: use a smaller cv.")


def _changed(splits: Sequence[Sequence[tuple[Rows, Rows]]]) -> float:
    """The share of the rows that a fold leaves out, on average."""
    return float(np.mean([len(test) / (len(train) + len(test)) for folds in splits for train, test in folds]))

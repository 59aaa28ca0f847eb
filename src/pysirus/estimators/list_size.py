"""A rule list of a given size, or above a given p0, and one whose size is tuned by cross-validation.

``SirusRegressor``, ``SirusClassifier`` and ``SirusSurvival`` share the first, those whose name ends in CV the second.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from pysirus._bins.cuts import Grids
from pysirus._data.table import Table, recode_table
from pysirus._families.responses import Response
from pysirus._learn.fit import LEAST_ROWS, FitPlan, Fitted, fit, learn_sample, stage_trees, weighing_of
from pysirus._learn.folds import PER_STAGE, TuningPlan
from pysirus._learn.grow import Limits, Settings, bin_rows
from pysirus._learn.held_out import FoldPrediction, evaluate
from pysirus._learn.splits import FORWARD, Periods, check_forward, draw_folds
from pysirus._learn.tune import MOST_REPEATS, tune
from pysirus._model.facts import ColumnRoles
from pysirus._model.held_out import HeldOut
from pysirus._model.model import Model
from pysirus._model.tuning import Ideal
from pysirus._parameters import ParameterError
from pysirus._parameters.table import Folds, ListSize
from pysirus._runtime.console import warn_user
from pysirus._text.message import Parameter
from pysirus.engine.door import RowsInMemory, TrainingRows
from pysirus.engine.given import MEMORY, Given
from pysirus.estimators.intervals import Calibrated
from pysirus.estimators.rule_model import RuleModel
from pysirus.estimators.sirus import SirusBase

if TYPE_CHECKING:
    pass


Self = TypeVar("Self", bound="FixedSizeSirus")


class FixedSizeSirus(SirusBase, ListSize):
    """Bins, forest, selection, weights, stages: once, on all rows."""

    def fit(
        self: Self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        drop: Sequence[str] = (),
        memory: int = MEMORY,
        scratch: str | os.PathLike[str] | None = None,
        row_id: str | None = None,
    ) -> Self:
        """Learn the rules.

        Parameters
        ----------
        X : data frame, array, path, Arrow stream, query, Dask collection or Spark data frame
            The table: a data frame or array; a CSV, Parquet or Excel file, a folder, a pattern such as
            ``data/*.parquet``, or a list of these; a pyarrow Dataset or any object with ``__arrow_c_stream__``, such as
            a DuckDB relation; a polars LazyFrame; a Dask DataFrame or array; or a Spark data frame. The rules do not
            depend on the kind of source. See docs/sources.md.
        y : array of shape (n_rows,) or str
            The target, or the name of its column: numbers for regression; text, integers or booleans for
            classification. For survival, a table with times and events, or a tuple with the names of the two columns.
        sample_weight : array of shape (n_rows,) or str, optional
            Sample weights, or the name of their column. A weight of zero is the same as leaving the row out. Positive
            weights smaller than 2**-20 times the largest weight (in the forest; 2**-40 elsewhere) are raised to that
            value.
        exposure : array of shape (n_rows,) or str, optional
            For counts, the exposure over which they were collected, or the name of its column. The model then predicts
            counts per unit of exposure and weights rows by exposure times sample weight. A column named here is not
            used as a feature.
        drop : list of str, optional
            Columns to leave out.
        memory : int, default=2**30
            Approximate memory limit in bytes for files, queries and streams. Tables that take more than a quarter of it
            are read in batches.
        scratch : str or path, optional
            The folder for scratch files, which are removed at the end. By default the temporary folder.
        row_id : str, optional
            On Spark, the name of a column of unique integers. Rows are numbered in its order, so that the rules do not
            depend on the partitions. The column is not used as a feature.

        Returns
        -------
        self : estimator
        """
        self._enter(Given(X, y, sample_weight, None, exposure, drop, memory, scratch, row_id))
        return self

    def _learn(self, rows: TrainingRows, settings: Settings) -> Fitted:
        return fit(rows.put_in_bins, self._plan(self._settle_device(settings, rows)))

    def cross_validate(
        self: Self, X: Any, y: Any, sample_weight: Any = None, *, cv: Any = 10, groups: Any = None
    ) -> HeldOut:
        """Fit a list of this size in each fold, and evaluate it on the held-out rows.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        cv : int, splitter or list of folds, default=10
            The folds.
        groups : array of shape (n_rows,), optional
            Rows of the same group stay in the same fold.

        Returns
        -------
        held_out : HeldOut
            Has ``metrics`` by name, with standard errors. A fitted estimator stores them in its model, and so they
            appear in printed models, model files and reports.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_machine
        >>> X, y = load_machine(return_X_y=True, as_frame=True)
        >>> found = SirusRegressor(n_rules=5, n_trees=500, random_state=0).cross_validate(X, y, cv=5)
        >>> sorted(found.metrics)
        ['mae', 'r2', 'rmse', 'unexplained_variance']
        """
        settings = self._settings()
        table, response, target = self._read(X, y, sample_weight)
        kept = self._counting(y, sample_weight, table.n_rows)
        (splits,) = draw_folds(cv, 1, response=response, groups=groups, kept=kept, seed=settings.seed)
        plan = self._plan(self._choose_device(settings, table.n_rows, table.n_columns, len(splits)))
        folds = []
        for train, test in splits:
            put_in_bins = partial(bin_rows, table.take(train), response.take(train), target)
            model = fit(put_in_bins, plan, strict=False).model
            values = model.decision(recode_table(table.take(test), model.features)).reshape(len(test), -1)
            folds.append(FoldPrediction(test, response.take(test), values, model.mean))
        found = evaluate(folds, self._family, len(self.model_.selected) if self.__sklearn_is_fitted__() else 0)
        if self.__sklearn_is_fitted__():
            self.model_ = replace(self.model_, facts=replace(self.model_.facts, out_of_fold=found.to_facts()))
        return found

    def _plan_again(self, settings: Settings, *, retune: bool = False) -> FitPlan:
        plan = self._plan(settings)
        return replace(plan, n_stages=self.model_.facts.n_stages) if plan.n_stages is None and not retune else plan

    def _learn_again(
        self, table: Table, response: Response, settings: Settings, *, retune: bool, grids: Grids | None = None
    ) -> Model:
        put_in_bins = partial(bin_rows, table, response, self.model_.target, grids=grids)
        return learn_sample(put_in_bins, self._plan_again(settings, retune=retune))

    def _settings(self) -> Settings:
        settings = super()._settings()
        if self.slopes == "auto":
            raise ParameterError(f"{Parameter('slopes')} must be True or False where nothing is tuned, got 'auto'.")
        return settings

    def _plan(self, settings: Settings) -> FitPlan:
        n_stages = None if self.n_stages == "auto" else int(self.n_stages)
        n_rules = self.n_rules if self.p0 is None else self.max_rules
        min_rows = self.min_samples_leaf or (1 if n_stages == 1 else LEAST_ROWS)
        size = Limits(n_rules, self.p0, self.post_treatment, min_rows)
        return FitPlan(weighing_of(self._family), settings, size, self.max_rules, n_stages)


Tuned = TypeVar("Tuned", bound="TunedSirus")


class TunedSirus(SirusBase, Folds):
    """Tuning by cross-validation, for any kind of response."""

    _is_tuned: ClassVar[bool] = True
    _watch: Callable[..., None] | None = None  # of what held-out rows say, while they are there

    def fit(
        self: Tuned,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        time: Any = None,
        exposure: Any = None,
        drop: Sequence[str] = (),
        memory: int = MEMORY,
        scratch: str | os.PathLike[str] | None = None,
        row_id: str | None = None,
    ) -> Tuned:
        """Choose the number of rules and learn them.

        Parameters
        ----------
        X : data frame, array, path, Arrow stream, query, Dask collection or Spark data frame
            The table: a data frame or array; a CSV, Parquet or Excel file, a folder, a pattern such as
            ``data/*.parquet``, or a list of these; a pyarrow Dataset or any object with ``__arrow_c_stream__``, such as
            a DuckDB relation; a polars LazyFrame; a Dask DataFrame or array; or a Spark data frame. The rules do not
            depend on the kind of source. See docs/sources.md.
        y : array of shape (n_rows,) or str
            The target, or the name of its column: numbers for regression; text, integers or booleans for
            classification. For survival, a table with times and events, or a tuple with the names of the two columns.
        sample_weight : array of shape (n_rows,) or str, optional
            Sample weights, or the name of their column.
        groups : array of shape (n_rows,) or str, optional
            Groups, or the name of their column. Rows of the same group stay in the same fold. A column named here is
            not used as a feature.
        time : array of shape (n_rows,) or str, optional
            With ``cv="forward"``, the time of each row, or the name of its column: numbers, dates, or text that begins
            with the year. Each distinct time is a period; more than 24 times are grouped into ten periods. Each period
            in the later half of the rows is predicted from the rows before it. A column named here is not used as a
            feature.
        exposure : array of shape (n_rows,) or str, optional
            For counts, the exposure over which they were collected, or the name of its column. The model then predicts
            counts per unit of exposure and weights rows by exposure times sample weight. A column named here is not
            used as a feature.
        drop : list of str, optional
            Columns to leave out.
        memory : int, default=2**30
            Approximate memory limit in bytes for files, queries and streams. Tables that take more than a quarter of it
            are read in batches.
        scratch : str or path, optional
            The folder for scratch files, which are removed at the end. By default the temporary folder.
        row_id : str, optional
            On Spark, the name of a column of unique integers. Rows are numbered in its order, so that the rules do not
            depend on the partitions. The column is not used as a feature.

        Returns
        -------
        self : estimator
        """
        groups = check_forward(self.cv, groups, time)
        self._enter(Given(X, y, sample_weight, groups, exposure, drop, memory, scratch, row_id))
        return self

    def _enter(self, given: Given) -> None:
        super()._enter(replace(given, words={"groups": "time"}) if self._forward else given)

    def _fit_rows(self, rows: TrainingRows, settings: Settings) -> None:
        calibrated = self._calibrated
        if calibrated is not None and not isinstance(rows, RowsInMemory):
            raise ParameterError(f"{Parameter('keep_folds')} takes rows in memory: fit without it, and calibrate.")
        super()._fit_rows(rows, settings)
        if calibrated is not None and isinstance(rows, RowsInMemory):
            together = None if self._forward else rows.groups
            calibrated.calibrate(*rows.given, groups=together, nested=self.nested)

    def _learn(self, rows: TrainingRows, settings: Settings) -> Fitted:
        if rows.place != "memory":  # before anything is read
            settings = self._settle_device(settings, rows)
        periods, repetitions = rows.draw_folds(self.cv, self._most_repeats, settings.seed)
        first = next(repetitions)  # what is wrong with the folds is said before anything is grown
        n_forests = 1 + (1 if self.n_repeats == "auto" else self._most_repeats) * len(first)
        settings = self._settle_device(settings, rows, n_forests)
        return self._tune(rows, chain([first], repetitions), settings, periods)

    def _tune(
        self, rows: TrainingRows, repetitions: Iterator[Any], settings: Settings, periods: Periods | None = None
    ) -> Fitted:
        """The list whose size the folds of some repetitions choose."""
        plan = replace(self._plan(settings), periods=periods)
        return tune(rows.put_in_bins, rows.fit_folds(repetitions, plan), plan)

    @property
    def _forward(self) -> bool:
        """Whether folds look forward in time."""
        return isinstance(self.cv, str) and self.cv == FORWARD

    def _remember(self, roles: ColumnRoles) -> None:
        super()._remember(replace(roles, groups=None, time=roles.groups) if self._forward and roles.groups else roles)

    @property
    def _calibrated(self) -> Calibrated | None:
        """The estimator as one that has intervals; None where nobody asks for them."""
        if not self.keep_folds:
            return None
        if not isinstance(self, Calibrated):
            raise ParameterError(f"{Parameter('keep_folds')} is not for times to an event: they have no intervals.")
        return self

    def _learn_again(
        self, table: Table, response: Response, settings: Settings, *, retune: bool, grids: Grids | None = None
    ) -> Model:
        if not retune:
            put_in_bins = partial(bin_rows, table, response, self.model_.target, grids=grids)
            return learn_sample(put_in_bins, self._plan_again(settings))
        if not isinstance(self.cv, Integral):
            raise ParameterError(f"{Parameter('retune')} needs {Parameter('cv')} to be a number of folds.")
        rows = RowsInMemory(table, response, self.model_.target, np.ones(table.n_rows, dtype=bool))
        return self._tune(rows, rows.draw_folds(self.cv, self._most_repeats, settings.seed)[1], settings).model

    def _plan_again(self, settings: Settings, *, retune: bool = False) -> FitPlan:
        model, plan = self.model_, self._plan(settings)
        n_stages = model.facts.n_stages or 1
        slopes = settings.slopes and any(term.line_values for term in model.selected)
        size = plan.each(PER_STAGE, staged=True)
        if n_stages == 1 and not slopes:
            size = replace(plan.each(2 * self.max_rules, staged=False), p0=model.facts.p0)
        settings = replace(settings, slopes=slopes)
        return FitPlan(plan.weighing, settings, size, 2 * self.max_rules, n_stages, as_tuned=True)

    def _trees_of_forest(self, n_trees: int, n_stages: int) -> int:
        n_rows = self.model_.facts.n_rows or 0
        each = stage_trees(n_rows, self._settings().recipe(n_rows))
        return n_trees - (n_stages - 1) * each if n_trees >= n_stages * each else n_trees // n_stages

    def _settings(self) -> Settings:
        return replace(super()._settings(), draws_few=True)

    @property
    def _most_repeats(self) -> int:
        """How often folds are drawn at most. Those that look forward are always the same, with other forests."""
        if self.n_repeats != "auto":
            return int(self.n_repeats)
        return MOST_REPEATS if not self._forward else 2 if self._criterion == "error" else 1

    def _plan(self, settings: Settings) -> TuningPlan:
        return TuningPlan(
            weighing=weighing_of(self._family),
            settings=settings,
            max_rules=self.max_rules,
            criterion=self._criterion,
            n_repeats=None if self.n_repeats == "auto" else int(self.n_repeats),
            ideal=Ideal(float(self.target_stability), float(self.stability_weight)),
            n_stages=None if self.n_stages == "auto" else int(self.n_stages),
            slopes=self.slopes if self.slopes == "auto" else bool(self.slopes),
            post_treatment=self.post_treatment,
            min_samples_leaf=self.min_samples_leaf,
            watch=self._watch,
        )

    def _keep(self, fitted: Fitted) -> None:
        super()._keep(fitted)
        found = fitted.model.out_of_fold
        if found is not None and found.doubt:
            warn_user(found.doubt)

    @property
    def _criterion(self) -> str:
        return self._family.criterion if self.criterion == "auto" else self.criterion

    def _set_model(self, model: Model) -> None:
        super()._set_model(model)
        if model.tuning is not None:
            self.p0_ = model.tuning.p0
            self.cv_error_ = model.tuning.error
            self.cv_stability_ = model.tuning.stability
            self.path_ = model.tuning.path

    @property
    def models_(self) -> tuple[RuleModel, ...]:
        """Models of every size, fitted on all rows, from one rule on; see also ``with_rules``."""
        model = self._model
        return tuple(model.at_size(size.n_rules) for size in model.tuned.sizes)

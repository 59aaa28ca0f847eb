"""A rule list of a given size, or above a given p0, and one whose size is tuned by cross-validation.

``SirusRegressor``, ``SirusClassifier`` and ``SirusSurvival`` share the first, those whose name ends in CV the second.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from pysirus._data.table import Table, recode_table
from pysirus._families.read import name_of
from pysirus._families.responses import Response
from pysirus._learn.fit import FitPlan, Fitted, PutInBins, fit
from pysirus._learn.grow import Limits, Settings, bin_rows
from pysirus._learn.stages import LEAST_ROWS
from pysirus._learn.tuning.folds import PER_STAGE, STAGE_TREES, Split, TuningPlan, draw_folds, fit_folds
from pysirus._learn.tuning.forward import FORWARD, Periods, check_forward, forward_folds, read_times
from pysirus._learn.tuning.held_out import FoldPrediction, evaluate
from pysirus._learn.tuning.tune import MOST_REPEATS, tune
from pysirus._learn.weighing import weighing_of
from pysirus._model.facts import ColumnRoles
from pysirus._model.held_out import HeldOut
from pysirus._model.model import Model
from pysirus._model.tuning import Ideal
from pysirus._parameters import ParameterError
from pysirus._parameters.table import Folds, ListSize
from pysirus._runtime.console import warn_user
from pysirus._text.message import Parameter
from pysirus.estimators.door import MEMORY, Given, enter
from pysirus.estimators.in_parts import InParts
from pysirus.estimators.intervals import Calibrated
from pysirus.estimators.rule_model import RuleModel

if TYPE_CHECKING:
    from pysirus.engine.backends.sources import Paths
    from pysirus.engine.parts import EngineOptions
    from pysirus.engine.read import PartRows


Self = TypeVar("Self", bound="FixedSizeSirus")


class FixedSizeSirus(InParts, ListSize):
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
            The table: in memory; a CSV, Parquet or Excel file, a folder, a pattern such as ``data/*.parquet``, or a
            list of these; a pyarrow Dataset or anything with ``__arrow_c_stream__``, such as a DuckDB relation; a
            polars LazyFrame; a Dask DataFrame or array; a Spark data frame. The rules do not depend on which. See
            docs/sources.md.
        y : array of shape (n_rows,) or str
            The target: numbers or, for classes, text, integers or booleans. Or the name of its column; for survival
            two names in a tuple, of the times and of the events.
        sample_weight : array of shape (n_rows,) or str, optional
            Sample weights, or the name of their column. A weight of zero is the same as leaving the row out. In the
            forest a row counts at least 2**-20 of the heaviest, elsewhere 2**-40.
        exposure : array of shape (n_rows,) or str, optional
            Of counts, what they were collected over: what is learned are counts per unit of it, with the exposure
            (times the weights) as weight. A column that is named here is no feature.
        drop : list of str, optional
            Columns to leave out.
        memory : int, default=2**30
            About how many bytes to use for files, queries and streams. Rows that take more than a quarter of it are
            read in batches.
        scratch : str or path, optional
            The folder for scratch files, by default the temporary folder. They are removed at the end.
        row_id : str, optional
            On Spark, a column of unique integers: rows are numbered in its order, and the rules do not depend on how
            the frame is partitioned. It is no feature.

        Returns
        -------
        self : estimator
        """
        enter(self, Given(X, y, sample_weight, None, exposure, drop, memory, scratch, row_id))
        return self

    def _fit_table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        settings = self._settings()
        table, response, target = self._read(X, y, sample_weight)
        settings = self._choose_device(settings, table.n_rows, table.n_columns)
        self._keep(fit(partial(bin_rows, table, response, target), self._plan(settings)))
        self._remember(ColumnRoles(target, name_of(sample_weight)))

    def cross_validate(
        self: Self, X: Any, y: Any, sample_weight: Any = None, *, cv: Any = 10, groups: Any = None
    ) -> HeldOut:
        """Learn a list of this size in each fold, and evaluate it on the rows that are held out.

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
            Its ``metrics``, by name with standard errors. A fitted estimator remembers them: its model shows them, and
            so do its file and its report.
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

    def _learner(self, parts: PartRows, settings: Settings, options: EngineOptions) -> Callable[[PutInBins], Fitted]:
        return partial(fit, plan=self._plan(settings))

    def _learn_again(self, table: Table, response: Response, settings: Settings, *, retune: bool) -> Model:
        plan = self._plan(settings)
        if plan.n_stages is None and not retune:
            plan = replace(plan, n_stages=self.model_.facts.n_stages)
        return fit(partial(bin_rows, table, response, self.model_.target), plan, strict=False).model

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


class TunedSirus(InParts, Folds):
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
            The table: in memory; a CSV, Parquet or Excel file, a folder, a pattern such as ``data/*.parquet``, or a
            list of these; a pyarrow Dataset or anything with ``__arrow_c_stream__``, such as a DuckDB relation; a
            polars LazyFrame; a Dask DataFrame or array; a Spark data frame. The rules do not depend on which. See
            docs/sources.md.
        y : array of shape (n_rows,) or str
            The target: numbers or, for classes, text, integers or booleans. Or the name of its column; for survival
            two names in a tuple, of the times and of the events.
        sample_weight : array of shape (n_rows,) or str, optional
            Sample weights, or the name of their column.
        groups : array of shape (n_rows,) or str, optional
            Rows of the same group stay in the same fold. A column that is named here is no feature.
        time : array of shape (n_rows,) or str, optional
            With ``cv="forward"``: numbers, dates, or text that begins with the year. Each time is a period (of more
            than 24 ten periods are made), and each period of the later half of the rows is predicted from the rows
            before it. A column that is named here is no feature.
        exposure : array of shape (n_rows,) or str, optional
            Of counts, what they were collected over: what is learned are counts per unit of it, with the exposure
            (times the weights) as weight. A column that is named here is no feature.
        drop : list of str, optional
            Columns to leave out.
        memory : int, default=2**30
            About how many bytes to use for files, queries and streams. Rows that take more than a quarter of it are
            read in batches.
        scratch : str or path, optional
            The folder for scratch files, by default the temporary folder. They are removed at the end.
        row_id : str, optional
            On Spark, a column of unique integers: rows are numbered in its order, and the rules do not depend on how
            the frame is partitioned. It is no feature.

        Returns
        -------
        self : estimator
        """
        groups = check_forward(self.cv, groups, time)
        roles = {"groups": "time"} if self._forward else {}
        enter(self, Given(X, y, sample_weight, groups, exposure, drop, memory, scratch, row_id, roles))
        return self

    def _fit_table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        settings = self._settings()
        calibrated = self._calibrated
        table, response, target = self._read(X, y, sample_weight)
        kept = self._counting(y, sample_weight, table.n_rows)
        seed, periods = settings.seed, None
        splits: Iterator[list[Split]]
        if self._forward:
            folds = forward_folds(read_times(groups, len(kept))[kept])
            splits, periods = repeat(folds.splits(), self._most_repeats), folds.periods
        else:
            splits = draw_folds(self.cv, self._most_repeats, response=response, groups=groups, kept=kept, seed=seed)
        first = next(splits)  # what is wrong with the folds is said before anything is grown
        n_forests = 1 + (1 if self.n_repeats == "auto" else self._most_repeats) * len(first)
        settings = self._choose_device(settings, table.n_rows, table.n_columns, n_forests)
        self._keep(self._tune(table, response, target, settings, chain([first], splits), periods))
        self._remember(ColumnRoles(target, name_of(sample_weight), groups=name_of(groups)))
        if calibrated is not None:
            together = None if self._forward else groups
            calibrated.calibrate(X, y, sample_weight, groups=together, nested=self.nested)

    @property
    def _forward(self) -> bool:
        """Whether folds look forward in time."""
        return isinstance(self.cv, str) and self.cv == FORWARD

    def _told_of_folds(self, groups: Any) -> dict[str, Any]:
        return {} if groups is None else {"time" if self._forward else "groups": groups}

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

    def _tune(
        self,
        table: Table,
        response: Response,
        target: str,
        settings: Settings,
        splits: Iterable[Sequence[Split]],
        periods: Periods | None = None,
    ) -> Fitted:
        """Tuning on rows in memory."""
        plan = replace(self._plan(settings), periods=periods)
        folds = partial(fit_folds, table, response, splits, plan)
        return tune(partial(bin_rows, table, response, target), folds, plan)

    def _learn_again(self, table: Table, response: Response, settings: Settings, *, retune: bool) -> Model:
        model = self.model_
        if retune:
            if not isinstance(self.cv, Integral):
                raise ParameterError(f"{Parameter('retune')} needs {Parameter('cv')} to be a number of folds.")
            kept = np.ones(table.n_rows, dtype=bool)
            n_repeats, seed = self._most_repeats, settings.seed
            splits = draw_folds(self.cv, n_repeats, response=response, groups=None, kept=kept, seed=seed)
            return self._tune(table, response, model.target, settings, splits).model
        plan, n_stages = self._plan(settings), model.facts.n_stages or 1
        slopes = settings.slopes and any(term.line_values for term in model.selected)
        size = plan.each(PER_STAGE, staged=True)
        if n_stages == 1 and not slopes:
            size = replace(plan.each(2 * self.max_rules, staged=False), p0=model.facts.p0)
        settings = replace(settings, slopes=slopes)
        again = FitPlan(plan.weighing, settings, size, 2 * self.max_rules, n_stages, STAGE_TREES)
        return fit(partial(bin_rows, table, response, model.target), again, strict=False).model

    def _trees_of_forest(self, n_trees: int, n_stages: int) -> int:
        later = (n_stages - 1) * STAGE_TREES
        return n_trees - later if n_trees >= n_stages * STAGE_TREES else n_trees // n_stages

    def fit_files(
        self: Tuned,
        paths: Paths,
        target: str,
        *,
        sample_weight: str | None = None,
        groups: str | None = None,
        time: str | None = None,
        exposure: str | None = None,
        drop: Sequence[str] = (),
        memory: int = 1 << 30,
        quantiles: str = "exact",
        scratch: str | os.PathLike[str] | None = None,
    ) -> Tuned:
        """Choose the number of rules and learn them from files that need not fit into memory, as ``fit`` does.

        All folds share the passes over the files. ``cv`` must be a number of folds, or "forward".

        Parameters
        ----------
        paths : str, path or list of them
            Parquet or CSV files, folders of them, or patterns such as ``data/*.parquet``. Rows are numbered in file
            order; the files of a folder or pattern are sorted by name.
        target : str
            The column to predict.
        sample_weight : str, optional
            The column of sample weights.
        groups : str, optional
            A column, which is no feature: rows of the same group stay in the same fold.
        time : str, optional
            With ``cv="forward"``: the column of times, which is no feature.
        exposure : str, optional
            Of counts, the column of what they were collected over: what is learned are counts per unit of it, with the
            exposure (times the weights) as weight. It is no feature.
        drop : list of str, optional
            Columns to leave out.
        memory : int, default=2**30
            About how many bytes to use.
        quantiles : {"exact", "sketch"}, default="exact"
            With "sketch" cuts are near the quantiles, which saves two passes over the files.
        scratch : str or path, optional
            The folder for the scratch files, by default the temporary folder. They are removed at the end.

        Returns
        -------
        self : estimator
        """
        options: dict[str, Any] = {"drop": drop, "memory": memory, "quantiles": quantiles, "scratch": scratch}
        options["groups"] = check_forward(self.cv, groups, time)
        return self._fit_files(paths, target, weights=sample_weight, exposure=exposure, **options)

    def _settings(self) -> Settings:
        return replace(super()._settings(), draws_few=True)

    def _learner(self, parts: PartRows, settings: Settings, options: EngineOptions) -> Callable[[PutInBins], Fitted]:
        from pysirus.engine.folds import draw_repetitions  # as long as nobody has rows in parts, nobody waits for it
        from pysirus.engine.tune import fit_folds_of_parts

        if self.keep_folds:
            raise ParameterError(f"{Parameter('keep_folds')} takes rows in memory: fit without it, and calibrate.")
        periods, repetitions = draw_repetitions(self.cv, self._most_repeats, parts, settings.seed)
        plan = replace(self._plan(settings), periods=periods)
        folds = partial(fit_folds_of_parts, parts, plan, options, repetitions)
        return partial(tune, fit_folds=folds, plan=plan)

    def _choose_device_of_files(self, settings: Settings, n_rows: int, n_columns: int) -> Settings:
        """Forests of folds grow together, from the same rows, which a GPU cannot."""
        if self.device == "gpu":
            raise ParameterError(
                f"{Parameter('device')} must be 'cpu' or 'auto' to tune on files, got 'gpu': tune in memory, or fit "
                f"files with the {Parameter('p0')} of a sample."
            )
        self.device_ = "cpu"
        return settings

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
        """The model of every size on the full data, from one rule on; see also ``with_rules``."""
        model = self._model
        return tuple(model.at_size(size.n_rules) for size in model.tuned.sizes)

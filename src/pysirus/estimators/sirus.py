"""What the SIRUS estimators share: parameters become settings, a table and its response are read."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from pysirus._bins.cuts import Cuts, Grids
from pysirus._bins.numeric import may_slope
from pysirus._data.column import DataError
from pysirus._data.frame import merge_errors, rows_that_count, which_count
from pysirus._data.table import Table, read_table
from pysirus._families.base import Family
from pysirus._families.read import target_name
from pysirus._families.responses import Response
from pysirus._forest.gpu_setup import Work, choose_device
from pysirus._learn.constraints import ConstraintParams
from pysirus._learn.fit import FitPlan, Fitted
from pysirus._learn.grow import Settings
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, to_seed, to_share
from pysirus._parameters.table import Constraining, Growing, Running, check_parameters
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import rules_of
from pysirus._terms.stability import Universe, universe_of
from pysirus._text.message import Parameter, setting
from pysirus.engine.door import Reader, TrainingRows, as_dataset
from pysirus.engine.given import MEMORY, Given, InBatches
from pysirus.estimators.base import RuleEstimator

if TYPE_CHECKING:
    from pysirus._use.evidence import Evidence
    from pysirus.engine.backends.sources import Paths

Self = TypeVar("Self", bound="SirusBase")


class SirusBase(RuleEstimator, Running, Growing, Constraining):
    """What the SIRUS estimators share."""

    device_: str
    n_stages: int | str
    slopes: bool | str

    @property
    @abstractmethod
    def _family(self) -> Family:
        """What the target is, before the fit."""

    def _settings(self) -> Settings:
        """The parameters, checked; the seed is drawn where none is given."""
        check_parameters(self)
        return Settings(
            seed=to_seed(self.random_state),
            n_bins=self.n_bins,
            discrete_limit=self.discrete_limit,
            max_depth=self.max_depth,
            max_features=self.max_features,
            min_node_size=self.min_node_size,
            max_samples=self.max_samples,
            n_trees=None if self.n_trees == "auto" else int(self.n_trees),
            alpha=self.alpha,
            known=ConstraintParams(self.monotonic_cst, self.interaction_cst, self.forbidden, self.required_rules),
            n_threads=int(effective_n_jobs(self.n_jobs)),
            verbose=self.verbose,
            slopes=self._may_slope(),
        )

    def _may_slope(self) -> bool:
        """Whether slopes are looked at: where they are asked for, and there are stages."""
        if self.slopes in (False, "auto"):
            return bool(self.slopes) and self.n_stages != 1
        if self.n_stages == 1:
            raise ParameterError(
                f"{setting('slopes', True)} needs stages, and {Parameter('n_stages')} is 1: one stage is the paper's "
                f"rule list. Set {Parameter('n_stages')} to a number above 1 or 'auto'."
            )
        return True

    def _choose_device(self, settings: Settings, n_rows: int, n_columns: int, n_forests: int = 1) -> Settings:
        """Settle where trees are grown, and say so in ``device_``."""
        limit = next((name for name in ("interaction_cst", "forbidden") if getattr(self, name) is not None), None)
        if limit is not None and self.device == "gpu":
            raise ParameterError(
                f"{Parameter('device')} must be 'cpu' or 'auto' with {Parameter(limit)}, got 'gpu': a GPU grows "
                "trees that may put any columns together."
            )
        to_share("max_samples", self.max_samples, n_rows)  # which refuses more rows than there are
        if limit is not None or self.device == "cpu":
            self.device_ = "cpu"
            return settings
        n_read = settings.recipe(n_rows).rows_read(n_rows)
        work = Work(n_read, n_columns, settings.n_trees, n_forests, settings.n_threads)
        device, self.device_ = choose_device(self.device, work)
        return replace(settings, device=device)

    def _settle_device(self, settings: Settings, rows: TrainingRows, n_forests: int = 1) -> Settings:
        """The same for rows that may lie elsewhere: a GPU takes those that are in memory or, untuned, in files."""
        if rows.place == "memory" or (rows.place == "files" and not self._is_tuned):
            assert rows.n_rows is not None
            return self._choose_device(settings, rows.n_rows, rows.n_columns, n_forests)
        if self.device == "gpu":
            where, instead = "for Dask and Spark", "a GPU takes rows that are in memory or in files."
            if rows.place == "files":  # whose folds grow together, from the same rows
                where = "to tune on files"
                instead = f"tune in memory, or fit files with the {Parameter('p0')} of a sample."
            raise ParameterError(f"{Parameter('device')} must be 'cpu' or 'auto' {where}, got 'gpu': {instead}")
        self.device_ = "cpu"
        return settings

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn the rules."""

    def fit_files(self: Self, paths: Paths, target: str, *, quantiles: str = "exact", **options: Any) -> Self:
        """Learn the rules from files, which are always read in batches; otherwise like ``fit``.

        The files are read a few times and encoded once into a scratch file with one byte per value. With ``prepare``,
        dates become features, as in ``fit``; all other columns must be usable directly.

        Parameters
        ----------
        paths : str, path or list of them
            Parquet files, folders or patterns such as ``data/*.parquet``, or CSV files in UTF-8, which are read once
            more to find the types of their columns. Addresses such as ``s3://bucket/data/*.parquet`` work too. Rows are
            numbered in file order; the files in a folder or pattern are sorted by name.
        target : str
            The column to predict.
        quantiles : {"exact", "sketch"}, default="exact"
            "exact" needs another pass, rarely two, for columns with very many distinct values. "sketch" takes the
            quantiles from the first pass; ``model_.facts["quantile_error"]`` then bounds their distance from the exact
            quantiles, as a fraction of the rows.
        **options
            ``sample_weight``, ``exposure``, ``drop``, ``memory`` and ``scratch`` and, for tuned estimators, ``groups``
            and ``time``, as in ``fit``. Columns are given by name.

        Returns
        -------
        self : estimator
        """
        self.fit(InBatches(paths, quantiles), target, **options)
        return self

    def _enter(self, given: Given) -> None:
        """Learn from rows, wherever they lie."""
        settings = self._settings()
        with as_dataset(given, self._reader(settings)) as rows:
            self._fit_rows(rows, settings)

    def _reader(self, settings: Settings) -> Reader:
        """How rows are read."""
        known = self._family, self.categorical_features, self.prepare
        return Reader(*known, settings.n_threads, self.verbose, self._is_tuned, self._read)

    def _fit_rows(self, rows: TrainingRows, settings: Settings) -> None:
        """Learn from rows that were opened, and keep the model."""
        self._keep(self._learn(rows, settings))
        if rows.roles is not None:
            self._remember(rows.roles)
        self._keep_marks(rows.marks)

    @abstractmethod
    def _learn(self, rows: TrainingRows, settings: Settings) -> Fitted:
        """What the rows teach."""

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Response, str]:
        """The table, the response and its name, without rows that do not count."""
        with rows_that_count(X, y, sample_weight, need_target=self.prepare) as (X, y, sample_weight):
            try:
                max_levels = self.max_levels if self.prepare else None
                table = read_table(X, categorical=self.categorical_features, max_levels=max_levels)
            except DataError as error:  # what is wrong with the target is said at once too
                raise merge_errors(
                    error, lambda: self._family.read(y, sample_weight, len(y)), prepared=self.prepare
                ) from error
            response = self._family.read(y, sample_weight, table.n_rows)
        return table, response, target_name(y)

    def _counting(self, y: Any, sample_weight: Any, n_rows: int) -> NDArray[np.bool_]:
        """Which of the rows given count, of which ``n_rows`` do."""
        rows = which_count(y, sample_weight, need_target=self.prepare)
        return np.ones(n_rows, dtype=bool) if rows is None else rows

    def _keep(self, fitted: Fitted) -> None:
        """Keep the model, and what its rules were selected from."""
        self._set_model(fitted.model)
        self.__dict__.pop("_kept", None)  # intervals of an earlier fit
        self._paths, self._cuts = fitted.paths, fitted.cuts

    @property
    def _universe(self) -> Universe | None:
        """What a list is picked from; not known of a model from a file."""
        return self._universe_of(self._cuts.cuts) if "_cuts" in self.__dict__ else None

    def _universe_of(self, cuts: Sequence[Cuts]) -> Universe:
        """The same, for some cuts."""
        n_slopes = sum(map(may_slope, cuts)) if self._may_slope() else 0
        return universe_of(cuts, self.max_depth, n_slopes)

    def evidence(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        how: str = "halves",
        n_resamples: int = 100,
        time: Any = None,
        groups: Any = None,
        retune: bool = False,
        n_jobs: int | None = None,
        exposure: Any = None,
        memory: int = MEMORY,
        scratch: str | os.PathLike[str] | None = None,
        row_id: str | None = None,
    ) -> Evidence:
        """Estimate how certain the list is: which of its terms are selected again on resamples of the rows?

        Parameters
        ----------
        X, y, sample_weight
            The training rows, from any source that ``fit`` takes. The target, weights and groups may be column names.
            The result does not depend on the kind of source.
        how : {"halves", "periods"}, default="halves"
            "halves" draws half of the rows without replacement, in disjoint pairs. "periods" takes the rows of each
            period of time.
        n_resamples : int, default=100
            Number of half-samples. The method also draws half as many pairs of quarters, ten folds, and a fifth as many
            bootstrap samples.
        time : str or array of shape (n_rows,), optional
            With "periods", the period of each row, such as its month, or the name of its column in X. More than 24
            values are grouped into ten periods of about equal size.
        groups : array of shape (n_rows,), optional
            Rows of the same group stay in the same half.
        retune : bool, default=False
            Whether to tune the size of the list again on every resample, for which all rows are read into memory.
            Otherwise p0 (or the number of rules) and the number of stages are those of the fitted list.
        n_jobs : int, optional
            Number of threads. By default the estimator's. The result does not depend on it.
        exposure, memory, scratch, row_id
            As in ``fit``.

        Returns
        -------
        evidence : Evidence
            Prints as tables. ``to_frame()`` has a row for each term.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_machine
        >>> X, y = load_machine(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, n_trees=500, random_state=0).fit(X, y)
        >>> found = model.evidence(X, y, n_resamples=20)
        >>> 0 <= found.expected_return.value <= 1
        True
        """
        from pysirus.estimators.evidence import Question, gather

        given = Given(X, y, sample_weight, groups, exposure, (), memory, scratch, row_id)
        return gather(self, given, Question(how, n_resamples, retune), time=time, n_jobs=n_jobs)

    def _settings_again(self, n_threads: int) -> Settings:
        """How the list was learned, with its seed and its number of trees."""
        facts, settings = self.model_.facts, self._settings()
        n_trees = settings.n_trees or self._trees_of_forest(int(facts.n_trees or 0), facts.n_stages or 1) or None
        seed = settings.seed if facts.seed is None else facts.seed
        return replace(settings, seed=seed, n_trees=n_trees, n_threads=n_threads)

    def _trees_of_forest(self, n_trees: int, n_stages: int) -> int:
        """The trees of the first forest, of those of all stages."""
        return n_trees // n_stages

    @abstractmethod
    def _learn_again(
        self, table: Table, response: Response, settings: Settings, *, retune: bool, grids: Grids | None = None
    ) -> Model:
        """The model of some rows: of a list like this one or, to ``retune``, by all steps of the estimator."""

    @abstractmethod
    def _plan_again(self, settings: Settings) -> FitPlan:
        """How a list like this one is learned from other rows."""

    @property
    def candidates_(self) -> RuleSet:
        """All paths of the forest as rules without outputs, before post-treatment, most frequent first."""
        if "_paths" not in self.__dict__:
            raise AttributeError("candidates_ exists only after fit; model files do not store it.")
        return RuleSet(rules_of(self._paths, range(len(self._paths.counts)), self._cuts))

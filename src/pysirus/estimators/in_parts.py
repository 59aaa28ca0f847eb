"""Rows in files, or in other parts: what estimators share that learn from them what they learn from memory."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pysirus._data.table import columns_named
from pysirus._families.read import rate_name
from pysirus._learn.fit import Fitted, PutInBins
from pysirus._learn.grow import Settings
from pysirus._model.facts import ColumnRoles
from pysirus._parameters import ParameterError
from pysirus._runtime.console import warn_user
from pysirus._text.message import Parameter, naming, setting
from pysirus.estimators.sirus import SirusBase

if TYPE_CHECKING:
    from pysirus._data.recipe import ColumnRecipe
    from pysirus.engine.backends.sources import Paths
    from pysirus.engine.parts import EngineOptions, RowDataset
    from pysirus.engine.read import PartRows

Self = TypeVar("Self", bound="InParts")


class InParts(SirusBase):
    """Learning from rows in parts."""

    @abstractmethod
    def _fit_table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Learn from a table in memory."""

    @abstractmethod
    def _learner(self, parts: PartRows, settings: Settings, options: EngineOptions) -> Callable[[PutInBins], Fitted]:
        """What puts rows into bins and learns from them; refuses before that what it cannot do."""

    def _told_of_folds(self, groups: Any) -> dict[str, Any]:
        """What ``fit`` takes of rows that stay together; nothing where there are no folds."""
        return {}

    def _fit_parts(
        self: Self,
        rows: RowDataset,
        target: str,
        options: EngineOptions,
        settings: Settings | None = None,
        find_recipe: Callable[[], ColumnRecipe | None] | None = None,
    ) -> Self:
        """Learn the rules from rows in parts; ``find_recipe`` looks for columns to prepare."""
        from pysirus.engine.read import scan_response  # as long as nobody has rows in parts, nobody waits for it
        from pysirus.engine.train import bin_parts

        if self.prepare and find_recipe is None:
            warn_user(
                f"{setting('prepare', True)} has no effect on Dask and Spark: columns must be usable as they are."
            )
        if settings is None:  # of rows on other machines
            settings = self._remote_settings()
        parts = scan_response(rows, self._family, self.categorical_features)
        if self.prepare and find_recipe is not None:
            parts = parts.prepared(find_recipe())
        learn = self._learner(parts, settings, options)
        self._keep(learn(partial(bin_parts, parts, target, options)))
        return self

    def fit_files(
        self: Self,
        paths: Paths,
        target: str,
        *,
        sample_weight: str | None = None,
        exposure: str | None = None,
        drop: Sequence[str] = (),
        memory: int = 1 << 30,
        quantiles: str = "exact",
        scratch: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn the rules from Parquet files that need not fit into memory; the rules are those of ``fit``.

        The files are read in batches, a few times, and encoded once into a scratch file with one byte per value. With
        ``prepare`` dates become features, as in ``fit``; all other columns must be usable as they are.

        Parameters
        ----------
        paths : str, path or list of them
            Parquet files, folders of them, or patterns such as ``data/*.parquet``; or CSV files in UTF-8, which are
            read once more for their types. Addresses such as ``s3://bucket/data/*.parquet`` too. Rows are numbered in
            file order; the files of a folder or pattern are sorted by name.
        target : str
            The column to predict.
        sample_weight : str, optional
            The column of sample weights.
        exposure : str, optional
            Of counts, the column of what they were collected over: what is learned are counts per unit of it, with the
            exposure (times the weights) as weight. It is no feature.
        drop : list of str, optional
            Columns to leave out.
        memory : int, default=2**30
            About how many bytes to use.
        quantiles : {"exact", "sketch"}, default="exact"
            Columns with very many distinct values need one more pass, rarely two, for cuts at the exact quantiles. With
            "sketch" the cuts come from the first pass, and ``model_.facts["quantile_error"]`` bounds their distance
            from the exact quantiles, as a fraction of the rows.
        scratch : str or path, optional
            The folder for the scratch file, by default the temporary folder. The file is removed at the end.

        Returns
        -------
        self : estimator
        """
        options: dict[str, Any] = {"drop": drop, "memory": memory, "quantiles": quantiles, "scratch": scratch}
        return self._fit_files(paths, target, weights=sample_weight, exposure=exposure, **options)

    def _fit_files(self: Self, paths: Paths, target: str, *, drop: Any, memory: int, **given: Any) -> Self:
        from pysirus.engine.backends.files import open_files, within
        from pysirus.engine.dates import date_recipe

        settings = self._settings()
        exposure = given.get("exposure")
        if exposure is not None and not self._family.takes_exposure:
            raise ParameterError(f"{Parameter('exposure')} is for counts, and this estimator predicts classes.")
        rows, options = open_files(
            paths,
            target,
            drop=[drop] if isinstance(drop, str) else drop,
            memory=memory,
            n_threads=settings.n_threads,
            verbose=self.verbose,
            labels=[name for name in self.categorical_features or () if isinstance(name, str)],
            n_copies=2 if self._is_tuned else 1,
            **given,
        )
        settings = self._choose_device_of_files(settings, rows.n_rows, len(rows.features))
        forced = columns_named(self.categorical_features, tuple(rows.features))
        labels = [name for i, name in enumerate(rows.features) if i in forced]

        def find_recipe() -> ColumnRecipe | None:
            return date_recipe(rows.features, rows.date_columns(labels))

        columns = {"weights": given.get("weights"), "groups": given.get("groups"), "time": given.get("groups")}
        with within(memory), naming(target=target, **columns):
            name = target if exposure is None else rate_name(target, exposure)
            self._fit_parts(rows, name, options, settings, find_recipe)
        self._remember(ColumnRoles(target, given.get("weights"), exposure, given.get("groups")))
        self._keep_marks(rows.marks)
        return self

    def _choose_device_of_files(self, settings: Settings, n_rows: int, n_columns: int) -> Settings:
        """Settle where trees on the rows of files are grown."""
        return self._choose_device(settings, n_rows, n_columns)

    def _remote_settings(self) -> Settings:
        """The settings for rows on other machines."""
        settings = self._settings()
        if self.device == "gpu":
            raise ParameterError(
                f"{Parameter('device')} must be 'cpu' or 'auto' for Dask and Spark, got 'gpu': a GPU takes rows "
                "that are in memory or in files."
            )
        self.device_ = "cpu"
        return settings

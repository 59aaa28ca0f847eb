"""What ``fit_files`` is called with; the work is done in ``pysirus.engine``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pysirus.engine.holders.files import Paths

Self = TypeVar("Self", bound="FitsFiles")


class FitsFiles:
    """An estimator that can learn from files larger than memory."""

    def fit_files(
        self: Self,
        paths: Paths,
        target: str,
        *,
        weights: str | None = None,
        drop: Sequence[str] = (),
        memory: int = 1 << 30,
        quantiles: str = "exact",
        scratch: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn the rules from Parquet files that need not fit into memory: the same rules as from ``fit``.

        The files are read in batches, a few times, and encoded once into a scratch file of a byte a value.

        Parameters
        ----------
        paths : str, path or list of them
            Parquet files, folders of them, or patterns such as ``data/*.parquet``. Rows are numbered in the order of
            the files: by name where a pattern or a folder is given.
        target : str
            The column to predict.
        weights : str, optional
            The column of row weights.
        drop : list of str, optional
            Columns to leave out.
        memory : int, default=2**30
            About how many bytes to use.
        quantiles : {"exact", "sketch"}, default="exact"
            Columns with very many distinct values take one more pass, rarely two, for cuts at their true quantiles.
            With "sketch" the cuts come from the first pass, and ``model_.facts["quantile_error"]`` says how far from
            the true quantiles they may be, as a share of the rows.
        scratch : str or path, optional
            The folder for the scratch file, by default that for temporary files. Nothing is left there.

        Returns
        -------
        self : estimator
        """
        from pysirus.engine.holders.files import fit_files

        options: dict[str, Any] = {"weights": weights, "drop": drop, "memory": memory, "quantiles": quantiles}
        return fit_files(self, paths, target, **options, scratch=scratch)  # type: ignore[type-var]

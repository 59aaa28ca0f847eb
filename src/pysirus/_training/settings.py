"""What an estimator's parameters say of learning, checked and in plain types."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral

from pysirus._constraints.read import Known
from pysirus._forest.forest import Recipe
from pysirus._message import Parameter
from pysirus._parameters import ParameterError, to_share


@dataclass(frozen=True)
class Settings:
    """How rows are put into bins and how trees are grown on them."""

    seed: int
    n_bins: int = 10
    discrete_limit: int = 10
    max_depth: int = 2
    max_features: int | float | str | None = None
    min_node_size: int = 5
    max_samples: float | None = None  # a share of the rows, or a number of them
    most_drawn: int | None = None  # rows that a tree draws at most, where no number is given
    n_trees: int | None = None  # None: until two such forests would share 1 - alpha of their rules
    alpha: float = 0.05
    known: Known = field(default=Known(), compare=False)
    n_threads: int = 1
    verbose: int = 0
    device: str = "cpu"  # or "gpu"

    def recipe(self, n_rows: int) -> Recipe:
        """How trees on this many rows are grown."""
        return Recipe(
            seed=self.seed,
            max_depth=self.max_depth,
            max_features=self.max_features,
            min_node_size=self.min_node_size,
            max_samples=to_share("max_samples", self.max_samples, n_rows),
            most_drawn=self.most_drawn if self.max_samples is None else None,
            in_blocks=isinstance(self.max_samples, Integral) and self.max_samples < n_rows,
            n_threads=self.n_threads,
            device=self.device,
        )

    def check_columns(self, n_columns: int) -> None:
        """Reject more candidate columns than the table has."""
        if isinstance(self.max_features, Integral) and self.max_features > n_columns:
            raise ParameterError(
                f"{Parameter('max_features')} must be at most the number of columns ({n_columns}), got "
                f"{self.max_features}."
            )

"""What an estimator's parameters say of learning, checked and in plain types."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral

from pysirus._constraints.read import ConstraintParams
from pysirus._forest.forest import Recipe
from pysirus._message import Parameter
from pysirus._parameters import ParameterError, to_share

# Rows that a tree draws at most, where their number is not set: on residuals and, in tuned models, always. On large
# tables 1,000 rows to 10,000 cost no error on average, and the fewer, the more stable and the faster (docs/rows.md).
# Where a class has one row in a hundred 1,000 are too few; 5,000 leave the tables of the paper as they are.
MOST_DRAWN = 5_000


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
    draws_few: bool = False  # whether all trees draw at most MOST_DRAWN rows, not only those of stages
    n_trees: int | None = None  # None: until two such forests would share 1 - alpha of their rules
    alpha: float = 0.05
    known: ConstraintParams = field(default=ConstraintParams(), compare=False)
    n_threads: int = 1
    verbose: int = 0
    device: str = "cpu"  # or "gpu"

    def recipe(self, n_rows: int) -> Recipe:
        """How trees on this many rows are grown. Who says how many rows a tree draws is not held to a limit."""
        most = MOST_DRAWN if self.max_samples is None else None
        return Recipe(
            seed=self.seed,
            max_depth=self.max_depth,
            max_features=self.max_features,
            min_node_size=self.min_node_size,
            max_samples=to_share("max_samples", self.max_samples, n_rows),
            most_drawn=most if self.draws_few else None,
            most_in_stages=most,
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

"""What `device` says and how much there is to do in, where trees are grown out. JAX is imported if a GPU is used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from pysirus._bins.cuts import Binned
from pysirus._device.platform import DeviceError, accelerator
from pysirus._device.shape import RowSource
from pysirus._families.responses import Response
from pysirus._forest.forest import GrowingForest, Recipe

# Rows times columns times trees for which one thread of the core takes as long as a GPU takes to compile its code:
# nearly twice 5.4 s at 4.9e9 a second (docs/accelerator.md, "When it pays"). With less to do "auto" stays on the CPU.
STARTING = 50_000_000_000
USUAL_TREES = 10_000  # where the number of trees is not given


@dataclass(frozen=True)
class Work:
    """How much there is to do."""

    n_rows: int  # that a tree looks at
    n_columns: int
    n_trees: int | None
    n_forests: int = 1
    n_threads: int = 1

    @property
    def pays(self) -> bool:
        """Whether the threads of the core would take longer than a GPU takes to start."""
        trees = (self.n_trees or USUAL_TREES) * self.n_forests
        return self.n_rows * self.n_columns * trees > STARTING * self.n_threads


def choose_device(device: str, work: Work) -> tuple[str, str]:
    """Where to grow, "cpu" or "gpu", and what to call it: the GPU itself, where one is used."""
    if device == "gpu":
        return "gpu", f"gpu: {accelerator().name}"
    if device == "auto" and work.pays and find_spec("jax") is not None:
        try:
            return "gpu", f"gpu: {accelerator().name}"
        except DeviceError:
            return "cpu", "cpu"
    return "cpu", "cpu"


def device_forest(
    binned: Binned,
    response: Response,
    recipe: Recipe,
    first_tree: int,
    source: RowSource | None = None,
    most_bytes: int | None = None,
) -> GrowingForest:
    """A forest to be grown on the GPU, on rows in memory or on those of a source, some bytes of them at a time."""
    gpu = accelerator()
    from pysirus._device.forest import (
        BlockLimits,
        DeviceForest,  # imports JAX
    )

    most = BlockLimits()
    if most_bytes is not None:
        a_row = len(binned.cuts) + 4 * response.n_outputs + 4
        most = BlockLimits(rows=max(1, min(most.rows, most_bytes // a_row)))
    return DeviceForest(binned, response, recipe, gpu, first_tree, most=most, source=source)

"""What a forest on a GPU begins with: the GPU that `device` asks for, and the arrays that it multiplies out.

JAX is imported here, when a GPU is asked for. `PYSIRUS_TEST_JAX_PLATFORM` names another platform of JAX
than "gpu" to run the same code on, which is how it is tested where there is no GPU.

Compiled code is kept on disk from one process to the next. JAX has a cache for this, which is off unless somebody
names a folder. Here it is on while pysirus computes, in the user's own cache folder; who has set up the cache of JAX,
or switched it off, finds it as it was. Processes may share the folder: what one of them has not finished writing
another compiles for itself.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._families.responses import Response
from pysirus._text.message import SafeTextError, setting

if TYPE_CHECKING:
    from collections.abc import Iterator

SWITCH = "PYSIRUS_COMPILATION_CACHE"
OFF = ("off", "0", "no", "false")
SETTINGS: dict[str, Any] = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,  # each piece is small, and there are a dozen
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
FOLDER = "jax_compilation_cache_dir"


def cache_folder() -> Path:
    """Where compiled code is kept; it need not be there."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pysirus" / "compiled"


def _usable_folder() -> Path | None:
    """The folder, made if need be; none where it cannot be, or where others may put code into it, which would run."""
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except (OSError, RuntimeError):  # no home
        return None
    if hasattr(os, "getuid") and (state.st_uid != os.getuid() or state.st_mode & 0o022):
        return None
    return folder if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else None


def _wanted(jax: Any) -> bool:
    """Whether nobody else has settled it."""
    if os.environ.get(SWITCH, "").strip().lower() in OFF:
        return False
    return bool(jax.config.jax_enable_compilation_cache) and not getattr(jax.config, FOLDER)


@contextmanager
def keeping_compiled(jax: Any) -> Iterator[None]:
    """Within it JAX looks for compiled code in the folder, and leaves its own there."""
    folder = _usable_folder() if _wanted(jax) else None
    if folder is None:
        yield
        return
    cache = importlib.import_module("jax.experimental.compilation_cache.compilation_cache")
    before = {name: getattr(jax.config, name) for name in (FOLDER, *SETTINGS)}
    try:
        for name, value in {**SETTINGS, FOLDER: str(folder)}.items():
            jax.config.update(name, value)
        cache.reset_cache()  # it asks for its folder once
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        cache.reset_cache()


TEST_PLATFORM = "PYSIRUS_TEST_JAX_PLATFORM"
TEST_BYTES = 1 << 30  # of a platform that does not say how much memory it has
USED = 0.85  # of the free memory


CPU, GPU = setting("device", "cpu"), setting("device", "gpu")


class DeviceError(SafeTextError, RuntimeError):
    """An accelerator was asked for that is not there, or not large enough."""


@dataclass(frozen=True)
class Accelerator:
    """A device of JAX."""

    device: Any

    @property
    def name(self) -> str:
        """What it is called."""
        if self.device.platform == "cpu":
            return "JAX on the cpu, for tests"
        return str(self.device.device_kind)

    def free_bytes(self) -> int:
        """How much of its memory may be used."""
        known = self.device.memory_stats() or {}
        if "bytes_limit" not in known:
            return TEST_BYTES
        return int(USED * (known["bytes_limit"] - known.get("bytes_in_use", 0)))

    def put(self, array: Any) -> Any:
        """A copy of an array in its memory."""
        return _jax().device_put(array, self.device)

    def computing(self) -> AbstractContextManager[Any]:
        """Within it JAX has 64-bit numbers, computes here and keeps what it compiles; the user's own stays as it is."""
        return _Computing(self.device)


class _Computing:
    """64-bit numbers and a default device, in this thread; compiled code on disk."""

    def __init__(self, device: Any) -> None:
        jax = _jax()
        owner = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")
        self._contexts = (owner.enable_x64(True), jax.default_device(device), keeping_compiled(jax))

    def __enter__(self) -> None:
        for context in self._contexts:
            context.__enter__()

    def __exit__(self, *error: Any) -> None:
        for context in reversed(self._contexts):
            context.__exit__(*error)


def _jax() -> Any:
    try:
        return importlib.import_module("jax")
    except ImportError as error:
        raise DeviceError(
            f"{GPU} needs JAX, which is not installed: pip install pysirus[gpu], or use {CPU}."
        ) from error


@lru_cache(maxsize=8)
def _devices(platform: str) -> tuple[Any, ...]:
    return tuple(_jax().devices(platform))


def _found(jax: Any) -> str:
    """What there is instead."""
    try:
        return "only " + ", ".join(sorted({device.platform for device in jax.devices()}))
    except RuntimeError as error:  # JAX_PLATFORMS may rule out even the CPU
        return f"none at all ({error})"


def accelerator() -> Accelerator:
    """The first GPU that JAX finds."""
    jax = _jax()
    platform = os.environ.get(TEST_PLATFORM, "gpu")
    try:
        return Accelerator(_devices(platform)[0])
    except RuntimeError as error:
        raise DeviceError(
            f'{GPU} found no GPU: JAX {jax.__version__} was asked for platform "{platform}" and has '
            f"{_found(jax)}. An NVIDIA GPU needs its driver and JAX with CUDA (pip install pysirus[gpu] on Linux); "
            f"or use {CPU} or {setting('device', 'auto')}."
        ) from error


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


# ------------------------------------------------------------------------------------------------------------- arrays

# Training rows, their columns and their response in, the arrays that the GPU multiplies out. A cell is a bin of a
# feature. The matrix has a row for each cell and each plane; a plane is a byte for each table row, a digit of what that
# row adds to a sum. Only the cells that a search reads are there: a feature with c cuts has c of them, for the last bin
# is what is left of the node, and one more for missing values. Features with equally many cuts stand together, bin by
# bin, so that one step of the search adds one bin of all of them. Rows come from memory, or from wherever else they are
# read.


class RowArrays(NamedTuple):
    """What the forest reads of some rows, the last axis: bins, and values or codes, with weights or without."""

    bins: NDArray[np.uint8]  # [feature, row]
    values: NDArray[np.int32] | None  # [column, row]
    codes: NDArray[np.uint8] | None
    weights: NDArray[np.int32] | None

    def between(self, first: int, end: int) -> RowArrays:
        """Some of these rows."""
        return RowArrays._make(None if array is None else array[..., first:end] for array in self)

    def padded(self, n_rows: int) -> RowArrays:
        """The same rows, and zeros after them."""
        return RowArrays._make(None if array is None else _pad(array, n_rows) for array in self)


@dataclass(frozen=True)
class RowSource:
    """Rows that are numbered from 0 on."""

    n_rows: int
    weighted: bool
    read: Callable[[int, int], RowArrays]  # from a row up to another


def arrays_of(bins: NDArray[np.uint8], response: Response) -> RowArrays:
    """What the forest reads of rows in bins."""
    values, codes = response.forest_arrays()
    return RowArrays(bins, None if values is None else np.atleast_2d(values), codes, response.forest_weights())


def in_memory(binned: Binned, response: Response) -> RowSource:
    """Rows in memory; bins that no cut of the table reads are left out."""
    arrays = arrays_of(binned.bins[: len(binned.cuts)], response)
    return RowSource(response.n_rows, response.weights is not None, arrays.between)


def _pad(array: NDArray[Any], n_rows: int) -> NDArray[Any]:
    if array.shape[-1] == n_rows:
        return array
    padded = np.zeros((*array.shape[:-1], n_rows), dtype=array.dtype)
    padded[..., : array.shape[-1]] = array
    return padded


DIGIT = 7  # bits: digits go from -64 to 64
# numbers of cuts that features are padded to, so that tables that differ little share their compiled code
WIDTHS = (*range(11), 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 255)


@dataclass(frozen=True)
class Group:
    """Features with equally many cuts, padded ones included."""

    n_features: int
    n_cuts: int
    has_missing: bool

    @property
    def n_cells(self) -> int:
        """Cells of all its features."""
        return self.n_features * (self.n_cuts + self.has_missing)

    @property
    def n_splits(self) -> int:
        """Splits that are tried, padded ones included."""
        return self.n_features * (2 * self.n_cuts + 1 if self.has_missing else self.n_cuts)


@dataclass(frozen=True)
class Shape:
    """What compiled code depends on, besides the numbers of rows and trees."""

    groups: tuple[Group, ...]
    n_slots: int  # columns of the response, or classes
    size_digits: int  # 0: the size of a cell is the sum of its classes
    sum_digits: int  # of each slot
    value_digits: int  # of the response itself, 0 for classes
    weighted: bool

    @property
    def n_features(self) -> int:
        """Number of columns of the table."""
        return sum(group.n_features for group in self.groups)

    @property
    def n_cells(self) -> int:
        """Cells of all features."""
        return sum(group.n_cells for group in self.groups)

    @property
    def n_splits(self) -> int:
        """Splits that are tried, padded ones included."""
        return sum(group.n_splits for group in self.groups)

    @property
    def n_planes(self) -> int:
        """Bytes that a table row adds to each of its cells."""
        return self.size_digits + self.n_slots * self.sum_digits

    @property
    def n_totals(self) -> int:
        """Rows of the matrix that are summed over a whole node: the planes, the count, numbers and their squares."""
        own = self.value_digits if self.weighted else 0
        return self.n_planes + 1 + self.n_slots * (own + 2 * self.value_digits)

    @property
    def n_rows(self) -> int:
        """Rows of the matrix, in whole tiles."""
        return -(-(self.n_planes * self.n_cells + self.n_totals) // 16) * 16


@dataclass(frozen=True)
class Columns:
    """What stands in the groups: the cells, and the splits that are tried, in the order in which they are offered."""

    cell_feature: NDArray[np.int32]
    cell_bin: NDArray[np.uint8]
    feature: NDArray[np.int32]  # of each split that is tried
    number: NDArray[np.int32]  # among all splits of the table; -1 for one that only fills up its group
    cut: NDArray[np.uint8]  # bins up to it go left ...
    other: NDArray[np.uint8]  # ... and this one, that of the missing values, or again the cut


def columns_of(binned: Binned) -> tuple[tuple[Group, ...], Columns]:
    """The features of a table in groups."""
    n_cuts = np.array([c.n_cuts for c in binned.cuts], dtype=np.int32)
    widths = np.array(WIDTHS)[np.searchsorted(WIDTHS, n_cuts)]
    missing, offset = binned.has_missing.astype(bool), np.array(binned.split_offset, dtype=np.int32)
    groups, cells, tried = [], [], []
    for width, has_missing in sorted(set(zip(widths.tolist(), missing.tolist()))):
        own = np.flatnonzero((widths == width) & (missing == has_missing))
        c, first = n_cuts[own], offset[own]
        groups.append(Group(len(own), width, has_missing))
        for cut in range(width):  # cells beyond a feature's own cuts repeat its last one, and are not read
            bins = np.minimum(cut, np.maximum(c - 1, 0))
            cells.append([own, bins])
            tried.append([own, np.where(cut < c, first + cut, -1), bins, bins])
            if has_missing:  # on the right, then on the left
                tried.append([own, np.where(cut < c, first + c + cut, -1), bins, c + 1])
        if has_missing:
            cells.append([own, c + 1])
            tried.append([own, first + 2 * c, c, c])
    nothing: NDArray[Any] = np.zeros(0, dtype=np.int32)
    feature, bins = (np.concatenate([nothing, *column]) for column in zip([nothing] * 2, *cells))
    of, number, upto, other = (np.concatenate([nothing, *column]) for column in zip([nothing] * 4, *tried))
    return tuple(groups), Columns(
        *(feature.astype(np.int32), bins.astype(np.uint8), of.astype(np.int32), number.astype(np.int32)),
        *(upto.astype(np.uint8), other.astype(np.uint8)),
    )


def bin_sums(
    cells: NDArray[np.int64], total: NDArray[np.int64], columns: Columns, n_bins: list[int], has_missing: list[int]
) -> NDArray[np.int64]:
    """The sums of all bins, [tree, bin, size and sums], from those of the cells [.., cell, tree] and of the node."""
    first = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.intp)
    found = np.zeros((total.shape[1], first[-1], len(total)), dtype=np.int64)
    found[:, first[columns.cell_feature] + columns.cell_bin] = cells.transpose(2, 1, 0)
    whole = total.T
    for start, end, missing in zip(first[:-1], first[1:], has_missing):
        last = end - 1 - missing  # the last known bin is what is left of the node
        found[:, last] = 0
        found[:, last] = whole - found[:, start:end].sum(axis=1)
    return found


# ------------------------------------------------------------------------------------------------------------- planes


@dataclass(frozen=True)
class Digits:
    """How many digits the numbers of a response take; the same for every part of it."""

    size: int
    sum: int
    value: int


def digits_of(response: Response, weighted: bool) -> Digits:
    """How many digits a response takes, whatever its rows: a number has 20 bits and a sign, and so has a weight."""
    size = 3 if weighted else 1
    if response.by_class:
        return Digits(0, size, 0)
    return Digits(size, 6 if weighted else 3, 3)

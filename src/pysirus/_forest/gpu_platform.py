"""`device` and how much there is to do in, the GPU to use out, or an error that says what was looked for.

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
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

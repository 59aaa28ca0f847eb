"""`device` in, the accelerator to use out, or an error that says what was looked for.

JAX is imported here, when somebody asks for an accelerator. `PYSIRUS_TEST_JAX_PLATFORM` names another platform of JAX
than "gpu" to run the same code on, which is how it is tested where there is no GPU.
"""

from __future__ import annotations

import importlib
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pysirus._device.compiled import keeping_compiled
from pysirus._message import PlainError, setting

TEST_PLATFORM = "PYSIRUS_TEST_JAX_PLATFORM"
TEST_BYTES = 1 << 30  # of a platform that does not say how much memory it has
USED = 0.85  # of the free memory


CPU, GPU = setting("device", "cpu"), setting("device", "gpu")


class DeviceError(PlainError, RuntimeError):
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

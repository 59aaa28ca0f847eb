"""Compiled code of the accelerator, kept on disk from one process to the next.

JAX has a cache for this, which is off unless somebody names a folder. Here it is on while pysirus computes, in the
user's own cache folder; who has set up the cache of JAX, or switched it off, finds it as it was. Processes may share
the folder: what one of them has not finished writing another compiles for itself.
"""

from __future__ import annotations

import importlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

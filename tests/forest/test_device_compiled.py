"""Compiled code is kept on disk, unless somebody else has settled it; what is damaged there is compiled anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the accelerator's code is JAX: pip install jax runs it on the CPU")

import jax

from pysirus import SirusRegressor
from pysirus._forest import gpu_kernels, gpu_setup
from pysirus._forest.gpu_setup import SWITCH, TEST_PLATFORM, cache_folder, keeping_compiled
from sampled import ON_ENGINES

X = np.random.default_rng(4).integers(0, 3, size=(64, 2)).astype(float)
Y = X[:, 0] + X[:, 1] * (X[:, 0] > 1)
ENTRIES = "*-cache"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(TEST_PLATFORM, "cpu")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(SWITCH, raising=False)
    return tmp_path / "pysirus" / "compiled"


@pytest.fixture
def hits() -> Iterator[list[str]]:
    """Names of what was found on disk."""
    found: list[str] = []

    def listen(event: str, **_: Any) -> None:
        if event == "/jax/compilation_cache/cache_hits":
            found.append(event)

    jax.monitoring.register_event_listener(listen)
    yield found
    jax.monitoring.unregister_event_listener(listen)


def fit_anew() -> str:
    """The rules of a process that has compiled nothing as yet."""
    jax.clear_caches()
    gpu_kernels._product.cache_clear()
    return str(SirusRegressor(n_trees=16, random_state=0, device="gpu").fit(X, Y).rules_)


def test_compiled_code_is_kept_and_found_again(home: Path, hits: list[str]) -> None:
    first = fit_anew()
    kept = sorted(home.glob(ENTRIES))
    assert kept and not hits and home.stat().st_mode & 0o077 == 0
    assert fit_anew() == first and len(hits) == len(kept) and sorted(home.glob(ENTRIES)) == kept
    assert jax.config.jax_compilation_cache_dir is None  # the user's own JAX stays as it is


@pytest.mark.engines
@ON_ENGINES
@pytest.mark.filterwarnings("ignore:Error reading persistent compilation cache")
def test_an_entry_that_was_cut_off_is_compiled_anew(home: Path) -> None:
    first = fit_anew()
    for path in home.glob(ENTRIES):
        path.write_bytes(path.read_bytes()[:40])
    assert fit_anew() == first


def folder_within() -> str | None:
    """Where JAX keeps compiled code while pysirus computes."""
    with keeping_compiled(jax):
        folder: str | None = jax.config.jax_compilation_cache_dir
        return folder


def test_who_has_settled_it_finds_it_so(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder_within() == str(home)
    monkeypatch.setenv(SWITCH, "Off")
    assert folder_within() is None
    monkeypatch.delenv(SWITCH)
    own = str(tmp_path / "own")
    jax.config.update("jax_compilation_cache_dir", own)
    try:
        assert folder_within() == own
    finally:
        jax.config.update("jax_compilation_cache_dir", None)


def test_a_folder_that_others_write_to_is_not_used(home: Path) -> None:
    home.mkdir(parents=True)
    home.chmod(0o777)
    assert gpu_setup._usable_folder() is None
    home.chmod(0o700)
    assert gpu_setup._usable_folder() == home == cache_folder()


def test_no_folder_where_none_can_be_made(home: Path) -> None:
    home.parent.write_text("a file where the folder would be")
    assert gpu_setup._usable_folder() is None

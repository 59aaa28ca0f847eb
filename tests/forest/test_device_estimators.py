"""`device` in the estimators: the same models, what is said where there is no GPU, no JAX until it is asked for."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from in_memory import MemoryRows
from parts import fit_rows
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, SirusSurvival
from pysirus._forest import gpu_setup
from pysirus._forest.gpu_setup import TEST_PLATFORM, DeviceError, Work, choose_device
from pysirus._parameters import ParameterError
from survival_table import target

RNG = np.random.default_rng(2)
X = RNG.integers(0, 4, size=(128, 4)).astype(float)  # the same cuts in every fold, so that all share compiled code
Y = 2.0 * (X[:, 0] > 1) + X[:, 1] * (X[:, 2] > 2) + RNG.normal(size=128) / 4
LARGE = Work(n_rows=1_000_000, n_columns=100, n_trees=10_000)


def file_of(estimator: Any, path: Path) -> bytes:
    estimator.save(path)
    return path.read_bytes()


def test_tuned_models_with_stages_are_the_same_on_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason="the accelerator's code is JAX: pip install jax runs it on the CPU")
    monkeypatch.setenv(TEST_PLATFORM, "cpu")
    given = {"n_trees": 64, "cv": 4, "n_repeats": 1, "n_stages": 2, "random_state": 1, "n_jobs": 2}
    core, card = (SirusRegressorCV(**given, device=device).fit(X, Y) for device in ("cpu", "gpu"))
    assert file_of(card, tmp_path / "card.json") == file_of(core, tmp_path / "core.json")
    assert core.device_ == "cpu" and card.device_ == "gpu: JAX on the cpu, for tests"


def test_times_to_an_event_are_the_same_on_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason="the accelerator's code is JAX: pip install jax runs it on the CPU")
    monkeypatch.setenv(TEST_PLATFORM, "cpu")
    times = target(RNG.random(128) < 0.7, np.exp(-Y) + 0.1)
    given = {"n_trees": 64, "n_rules": 6, "n_stages": 2, "random_state": 1}
    core, card = (SirusSurvival(**given, device=device).fit(X, times) for device in ("cpu", "gpu"))
    assert file_of(card, tmp_path / "card.json") == file_of(core, tmp_path / "core.json")
    assert card.device_ == "gpu: JAX on the cpu, for tests"


def test_device_is_no_part_of_a_model_file(tmp_path: Path) -> None:
    fitted = SirusRegressor(n_trees=10, random_state=0, device="auto").fit(X, Y)
    assert fitted.device_ == "cpu"  # too little to do for a GPU
    assert file_of(fitted, tmp_path / "a.json") == file_of(
        SirusRegressor(n_trees=10, random_state=0).fit(X, Y), tmp_path / "b.json"
    )


def test_device_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^device must be one of 'cpu', 'gpu', 'auto', got 'cuda'"):
        SirusClassifier(device="cuda").fit(X, Y > 1)


def test_gpu_without_a_card_says_what_was_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    jax = pytest.importorskip("jax", reason="asks JAX for its devices")
    monkeypatch.setenv(TEST_PLATFORM, "rocm")  # nobody has this here, whether there is a GPU or not
    with pytest.raises(
        DeviceError, match=rf'no GPU: JAX {jax.__version__} was asked for platform "rocm" and has only '
    ):
        SirusRegressor(device="gpu").fit(X, Y)
    assert choose_device("auto", LARGE) == ("cpu", "cpu")


def test_platforms_of_jax_that_cannot_start_are_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with JAX_PLATFORMS=cuda where there is no driver: JAX then has no device at all."""
    jax = pytest.importorskip("jax", reason="asks JAX for its devices")

    def no_devices(backend: str | None = None) -> None:
        raise RuntimeError("Unable to initialize backend 'cuda'")

    monkeypatch.setattr(jax, "devices", no_devices)
    monkeypatch.setenv(TEST_PLATFORM, "cuda")
    with pytest.raises(DeviceError, match=r"has none at all \(Unable to initialize backend 'cuda'\)"):
        SirusRegressor(device="gpu").fit(X, Y)
    assert choose_device("auto", LARGE) == ("cpu", "cpu")


def test_gpu_without_jax_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)  # importing it now fails as if it were not installed
    with pytest.raises(DeviceError, match=r"needs JAX, which is not installed: pip install pysirus\[gpu\]"):
        SirusRegressor(device="gpu").fit(X, Y)


def test_auto_takes_a_card_where_there_is_enough_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason="asks JAX for its devices")
    monkeypatch.setenv(TEST_PLATFORM, "cpu")
    assert choose_device("auto", LARGE)[0] == "gpu"
    assert choose_device("auto", Work(1000, 10, 1000)) == ("cpu", "cpu")
    assert choose_device("cpu", LARGE) == ("cpu", "cpu")


def test_auto_counts_the_rows_that_trees_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason="asks JAX for its devices")
    monkeypatch.setenv(TEST_PLATFORM, "cpu")
    every = SirusRegressor(device="auto", n_trees=10_000, n_jobs=1)
    tuned = SirusRegressorCV(device="auto", n_trees=10_000, n_jobs=1)
    few = SirusRegressor(device="auto", n_trees=10_000, n_jobs=1, max_samples=1_000)
    devices = [own._choose_device(own._settings(), 1_000_000, 20).device for own in (every, tuned, few)]
    assert devices == ["gpu", "cpu", "cpu"]


def test_interactions_that_are_ruled_out_stay_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"device must be 'cpu' or 'auto' with interaction_cst, got 'gpu'"):
        SirusRegressor(device="gpu", interaction_cst="no_interactions").fit(X, Y)
    with pytest.raises(ParameterError, match=r"device must be 'cpu' or 'auto' with interaction_cst, got 'gpu'"):
        SirusRegressorCV(device="gpu", interaction_cst=[[0, 1]]).fit(X, Y)
    monkeypatch.setattr(gpu_setup, "STARTING", 0)  # enough to do for a GPU
    fitted = SirusRegressor(device="auto", interaction_cst="no_interactions", n_trees=20, random_state=0).fit(X, Y)
    assert fitted.device_ == "cpu"


@pytest.mark.parametrize("weights", [None, "w"])
def test_files_are_sent_to_a_card_in_blocks(
    weights: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block of the GPU holds rows of two files."""
    pytest.importorskip("jax", reason="the accelerator's code is JAX: pip install jax runs it on the CPU")
    pa, pq = pytest.importorskip("pyarrow"), importlib.import_module("pyarrow.parquet")
    monkeypatch.setenv(TEST_PLATFORM, "cpu")
    table = pa.table({**{f"x{j}": column for j, column in enumerate(X.T)}, "y": Y, "w": np.arange(128.0) % 3})
    table = table if weights else table.drop_columns(["w"])
    pq.write_table(table[:50], tmp_path / "1.parquet")
    pq.write_table(table[50:], tmp_path / "2.parquet")
    core, card = (
        SirusRegressor(n_trees=64, random_state=1, device=device).fit_files(tmp_path, "y", sample_weight=weights)
        for device in ("cpu", "gpu")
    )
    assert file_of(card, tmp_path / "card.json") == file_of(core, tmp_path / "core.json")
    assert core.device_ == "cpu" and card.device_ == "gpu: JAX on the cpu, for tests"


def test_rows_that_do_not_stay_on_the_card_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason="the accelerator's code is JAX: pip install jax runs it on the CPU")
    from pysirus._forest import gpu

    monkeypatch.setenv(TEST_PLATFORM, "cpu")
    sent, blocks_before = [], gpu.blocks_of

    def blocks_of(*given: Any) -> Any:
        return replace(blocks_before(*given), keep_rows=False, keep_matrix=False, keep_counts=False)

    def put(self: Any, array: Any) -> Any:
        sent.append(type(array).__name__)
        return accelerator_put(self, array)

    accelerator_put = gpu_setup.Accelerator.put
    monkeypatch.setattr(gpu, "blocks_of", blocks_of)
    monkeypatch.setattr(gpu_setup.Accelerator, "put", put)
    core, card = (
        SirusRegressor(n_trees=64, random_state=1, device=device).fit(X, Y).candidates_ for device in ("cpu", "gpu")
    )
    assert core == card and sent.count("Rows") == 2  # once a level


def test_rows_on_other_machines_refuse_a_card() -> None:
    with pytest.raises(ParameterError, match="device must be 'cpu' or 'auto' for Dask and Spark, got 'gpu'"):
        fit_rows(SirusRegressor(device="gpu"), MemoryRows([]))


def test_choosing_imports_no_jax() -> None:
    assert not {name.split(".")[0] for name in vars(gpu_setup)} & {"jax", "jaxlib"}

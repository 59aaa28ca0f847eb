"""Datasets: shapes, targets, frames; downloads that are checked, kept, and never half there."""

from __future__ import annotations

import hashlib
import http.server
import inspect
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pysirus import SirusRegressor, datasets
from pysirus.datasets import FOLDER, SHIPPED, DownloadError

SHAPES = {
    "ozone": (330, 9),
    "mpg": (398, 7),
    "prostate": (97, 8),
    "housing": (506, 13),
    "diabetes": (442, 10),
    "machine": (209, 6),
}
SHARED = Path(os.environ.get("PYSIRUS_SHARED", Path(__file__).parents[3] / "shared")) / "data"


@pytest.mark.parametrize("name", SHAPES)
def test_load_gives_what_scikit_learn_gives(name: str) -> None:
    loader = getattr(datasets, f"load_{name}")
    bunch = loader()
    assert bunch.data.shape == SHAPES[name]
    assert bunch.data.dtype == np.float64
    assert bunch.target.shape == (SHAPES[name][0],)
    assert bunch.target_names == [SHIPPED[name].target]
    assert len(bunch.feature_names) == SHAPES[name][1]
    assert Path(bunch.filename).is_file()
    assert bunch.DESCR and bunch.frame is None
    X, y = loader(return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)
    assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(loader).parameters.values())


@pytest.mark.parametrize("name", SHAPES)
def test_load_as_frame_holds_the_same_numbers(name: str) -> None:
    pytest.importorskip("pandas")
    loader = getattr(datasets, f"load_{name}")
    bunch = loader(as_frame=True)
    assert list(bunch.data.columns) == bunch.feature_names
    assert bunch.target.name == SHIPPED[name].target
    assert list(bunch.frame.columns) == [*bunch.feature_names, SHIPPED[name].target]
    np.testing.assert_array_equal(bunch.data.to_numpy(dtype=float), loader().data)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_load_as_a_frame_of_any_library(library: str) -> None:
    package = pytest.importorskip(library)
    X, y = datasets.load_ozone(return_X_y=True, as_frame=library)
    assert isinstance(X, package.Table if library == "pyarrow" else package.DataFrame)
    fitted = SirusRegressor(n_rules=3, n_trees=200, random_state=0).fit(X, y)
    assert "mean O3" in str(fitted) and fitted.feature_names_in_.tolist() == datasets.load_ozone().feature_names
    frame = datasets.load_ozone(as_frame=library).frame
    assert list(frame.column_names if library == "pyarrow" else frame.columns)[-1] == "O3"


def test_load_as_a_frame_of_no_known_library() -> None:
    with pytest.raises(
        ValueError, match="as_frame must be True, False or one of 'pandas', 'polars', 'pyarrow'; got 'R'"
    ):
        datasets.load_ozone(as_frame="R")


def test_load_as_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        datasets.load_ozone(as_frame=True)


def test_mpg_misses_six_values_of_horsepower() -> None:
    bunch = datasets.load_mpg()
    missing = np.isnan(bunch.data)
    assert missing.sum() == 6
    assert missing[:, bunch.feature_names.index("horsepower")].sum() == 6


def test_every_shipped_file_states_its_source() -> None:
    readme = (FOLDER / "README.md").read_text()
    assert {path.stem for path in FOLDER.glob("*.csv")} == set(SHIPPED)
    assert all(f"| {name}.csv | {dataset.target} |" in readme for name, dataset in SHIPPED.items())


# ---------------------------------------------------------------------------------------------------------- fetching

RAW = b"M,0.5,0.4,0.1,0.5,0.2,0.1,0.2,15\nI,0.4,0.3,0.1,0.2,0.1,0.1,0.1,7\n"


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[datasets.Remote]:
    """A real server on this machine that answers with two abalones; the cache is a folder that does not exist yet."""
    served = tmp_path / "served"
    served.mkdir()
    (served / "abalone.data").write_bytes(RAW)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(served))  # type: ignore[arg-type]

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PYSIRUS_DATA", str(tmp_path / "cache" / "deep"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    csv = datasets.ABALONE.to_csv(RAW.decode())
    url = f"http://127.0.0.1:{server.server_port}/abalone.data"
    yield replace(datasets.ABALONE, url=url, sha256=hashlib.sha256(csv.encode()).hexdigest())
    server.shutdown()
    server.server_close()


def test_fetch_downloads_once_and_keeps_the_file(remote: datasets.Remote) -> None:
    path = datasets.fetch_file(remote)
    assert path.read_text().splitlines()[0].startswith("sex,length,")
    assert [p.name for p in path.parent.iterdir()] == ["abalone.csv"]
    assert datasets.fetch_file(replace(remote, url="http://127.0.0.1:1/nothing")) == path


def test_fetch_replaces_a_damaged_file(remote: datasets.Remote) -> None:
    path = datasets.fetch_file(remote)
    good = path.read_bytes()
    path.write_bytes(good[:50])
    assert datasets.fetch_file(remote).read_bytes() == good


def test_fetch_refuses_another_file_and_keeps_nothing(remote: datasets.Remote) -> None:
    with pytest.raises(DownloadError, match="checksum differs"):
        datasets.fetch_file(replace(remote, sha256="0" * 64))
    assert not datasets.data_folder().exists()


def test_fetch_refuses_the_page_of_a_portal(remote: datasets.Remote, tmp_path: Path) -> None:
    (tmp_path / "served" / "abalone.data").write_text("<style> body { -webkit-text-size-adjust:100% } </style>")
    for dataset in (datasets.ABALONE, datasets.BONES):
        with pytest.raises(DownloadError, match="checksum differs"):
            datasets.fetch_file(replace(dataset, url=remote.url))


def test_fetch_of_half_a_file_says_what_to_do(remote: datasets.Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = http.server.SimpleHTTPRequestHandler
    send = handler.send_header
    longer = {"Content-Length": str(2 * len(RAW))}
    monkeypatch.setattr(handler, "send_header", lambda self, name, value: send(self, name, longer.get(name, value)))
    with pytest.raises(DownloadError, match=r"could not be downloaded.*PYSIRUS_DATA"):
        datasets.fetch_file(remote)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/abalone.data", "http://127.0.0.1:{port}/absent"])
def test_fetch_without_an_answer_says_what_to_do(remote: datasets.Remote, url: str) -> None:
    port = remote.url.split(":")[2].split("/")[0]
    with pytest.raises(DownloadError, match=r"could not be downloaded.*PYSIRUS_DATA"):
        datasets.fetch_file(replace(remote, url=url.format(port=port)))


def test_bones_are_turned_into_csv() -> None:
    raw = "idnum\tage\tgender\tspnbmd\n  1\t11.7 \tmale\t 0.01808067 \n 40\t20.25\tfemale\t 8.073632e-4\n"
    assert datasets._bones_to_csv(raw).splitlines()[1:] == ["1,11.7,male,0.01808067", "40,20.25,female,0.0008073632"]


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the files that may not be shipped are not at {SHARED}")
@pytest.mark.parametrize(("name", "shape"), [("abalone", (4177, 8)), ("bones", (485, 3))])
def test_fetch_reads_the_real_files(name: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSIRUS_DATA", str(SHARED))
    fetch = getattr(datasets, f"fetch_{name}")
    assert fetch().data.shape == shape
    frame = pytest.importorskip("pandas") and fetch(as_frame=True).frame
    assert frame.shape == (shape[0], shape[1] + 1)


def test_data_folder_defaults_to_the_user_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSIRUS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert datasets.data_folder() == Path("/somewhere/pysirus")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert datasets.data_folder() == Path.home() / ".cache" / "pysirus"

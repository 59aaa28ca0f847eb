"""The paper's eight datasets: six are shipped (``load_*``), two are downloaded once (``fetch_*``).

A dataset is a scikit-learn Bunch, or a pair (X, y). ``SHIPPED`` says where the file of each lies, what it predicts and
what it is.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn.utils import Bunch

from pysirus._runtime.output import write_text
from pysirus._text.message import SafeTextError

__all__ = [
    "DownloadError",
    "fetch_abalone",
    "fetch_bones",
    "load_diabetes",
    "load_housing",
    "load_machine",
    "load_mpg",
    "load_ozone",
    "load_prostate",
]


FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Shipped:
    """A dataset that comes with the package."""

    name: str
    target: str
    about: str

    @property
    def path(self) -> Path:
        """The CSV file."""
        return FOLDER / f"{self.name}.csv"


_DATASETS = (
    Shipped(
        "ozone",
        "O3",
        "Daily maximum of ozone in Los Angeles, 1976, from nine measurements of the weather (330 days). vh: height at "
        "which the pressure is 500 millibar (m); wind: speed (mph); humidity (%); temp: temperature at Sandburg (F); "
        "ibh: inversion base height (ft); dpg: Daggett pressure gradient (mmHg); ibt: inversion base temperature (F); "
        "vis: visibility (miles); doy: day of the year. Breiman and Friedman (1985).",
    ),
    Shipped(
        "mpg",
        "mpg",
        "Miles per gallon of 398 cars, 1970 to 1982, from seven attributes; origin is 1 (USA), 2 (Europe) or 3 "
        "(Japan). Six values of horsepower are missing. UCI Machine Learning Repository, Auto MPG.",
    ),
    Shipped(
        "prostate",
        "lpsa",
        "Log of the prostate specific antigen of 97 men about to receive surgery, from eight clinical measures. "
        "Stamey et al. (1989).",
    ),
    Shipped(
        "housing",
        "medv",
        "Median value of homes, in 1,000 dollars, in 506 census tracts of Boston, from 13 attributes. The column "
        "`black` encodes a racial assumption of the original authors; use the data to compare methods, not to decide. "
        "Harrison and Rubinfeld (1978).",
    ),
    Shipped(
        "diabetes",
        "target",
        "Progression of diabetes in 442 patients one year after baseline, from age, sex, body mass index, blood "
        "pressure and six blood serum measurements (not scaled). Efron et al. (2004).",
    ),
    Shipped(
        "machine",
        "perf",
        "Published relative performance of 209 computers from their cycle time (syct, ns), main memory (mmin, mmax, "
        "kB), cache (cach, kB) and channels (chmin, chmax). UCI Machine Learning Repository, Computer Hardware.",
    ),
)
SHIPPED: Mapping[str, Shipped] = {dataset.name: dataset for dataset in _DATASETS}


LIBRARIES = ("pandas", "polars", "pyarrow")
AsFrame = bool | Literal["pandas", "polars", "pyarrow"]


def _library(as_frame: AsFrame) -> str:
    """The library that is asked for, once it is sure to be there."""
    name = "pandas" if as_frame is True else as_frame
    if name not in LIBRARIES:
        raise ValueError(f"as_frame must be True, False or one of {', '.join(map(repr, LIBRARIES))}; got {as_frame!r}.")
    try:
        import_module(name)
    except ImportError as error:
        raise ImportError(
            f"as_frame={as_frame!r} needs {name}: `pip install {name}`. as_frame='pyarrow' needs nothing more."
        ) from error
    return name


def _frames(table: pa.Table, names: list[str], target: str, library: str) -> tuple[Any, Any, Any]:
    """The whole table, the features and the target; Arrow's arrays have no names, so its target is a table too."""
    if library == "pyarrow":
        return table, table.select(names), table.select([target])
    frame = table.to_pandas() if library == "pandas" else import_module("polars").from_arrow(table)
    return frame, frame[names], frame[target]


def _to_array(table: pa.Table) -> np.ndarray[Any, Any]:
    """Columns side by side: numbers, NaN for missing; objects when a column holds text."""
    columns = [column.to_numpy() for column in table.columns]
    kinds = {column.dtype.kind for column in columns}
    return np.column_stack([c.astype(object if "O" in kinds else np.float64) for c in columns])


def make_bunch(path: Path, target: str, about: str, *, return_X_y: bool, as_frame: AsFrame) -> Any:
    """Read a dataset as scikit-learn's loaders do."""
    table = pyarrow.csv.read_csv(path)
    names = [name for name in table.column_names if name != target]
    frame = None
    data: Any
    response: Any
    if as_frame is not False:
        frame, data, response = _frames(table.select([*names, target]), names, target, _library(as_frame))
    else:
        data, response = _to_array(table.select(names)), table[target].to_numpy().astype(np.float64)
    if return_X_y:
        return data, response
    return Bunch(
        data=data,
        target=response,
        frame=frame,
        feature_names=names,
        target_names=[target],
        DESCR=about,
        filename=str(path),
    )


Loader = TypeVar("Loader", bound=Callable[..., Any])

_DOC = """{about}

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool or {{"pandas", "polars", "pyarrow"}}, default=False
        Give ``data`` as a data frame and ``target`` as a series, instead of arrays; True is "pandas". With "pyarrow",
        which is always there, both are tables.

    Returns
    -------
    bunch : Bunch or tuple
        With ``data``, ``target``, ``frame``, ``feature_names``, ``target_names``, ``DESCR`` and ``filename``.

    Examples
    --------
    >>> from pysirus.datasets import {loader}
    >>> X, y = {loader}(return_X_y=True)
    >>> X.shape
    {shape}
    """


def _documented(name: str, shape: tuple[int, int]) -> Callable[[Loader], Loader]:
    """Give a loader its docstring."""

    def document(loader: Loader) -> Loader:
        loader.__doc__ = _DOC.format(about=SHIPPED[name].about, loader=loader.__name__, shape=shape)
        return loader

    return document


def _load(name: str, return_X_y: bool, as_frame: AsFrame) -> Any:
    dataset = SHIPPED[name]
    return make_bunch(dataset.path, dataset.target, dataset.about, return_X_y=return_X_y, as_frame=as_frame)


@_documented("ozone", (330, 9))
def load_ozone(*, return_X_y: bool = False, as_frame: AsFrame = False) -> Any:
    return _load("ozone", return_X_y, as_frame)


@_documented("mpg", (398, 7))
def load_mpg(*, return_X_y: bool = False, as_frame: AsFrame = False) -> Any:
    return _load("mpg", return_X_y, as_frame)


@_documented("prostate", (97, 8))
def load_prostate(*, return_X_y: bool = False, as_frame: AsFrame = False) -> Any:
    return _load("prostate", return_X_y, as_frame)


@_documented("housing", (506, 13))
def load_housing(*, return_X_y: bool = False, as_frame: AsFrame = False) -> Any:
    return _load("housing", return_X_y, as_frame)


@_documented("diabetes", (442, 10))
def load_diabetes(*, return_X_y: bool = False, as_frame: AsFrame = False) -> Any:
    return _load("diabetes", return_X_y, as_frame)


@_documented("machine", (209, 6))
def load_machine(*, return_X_y: bool = False, as_frame: AsFrame = False) -> Any:
    return _load("machine", return_X_y, as_frame)


# ---------------------------------------------------------------------------------------------------------------- fetch

# Two datasets that are downloaded once: a name in, a checked file in the cache folder out.
#
# The folder is the environment variable PYSIRUS_DATA, or ``pysirus`` in the user's cache folder. The checksum is that
# of the CSV file kept there, after the source's own layout was turned into it.


TIMEOUT = 30  # seconds without an answer


class DownloadError(SafeTextError, OSError):
    """A dataset could not be downloaded, or the file is not the expected one."""


@dataclass(frozen=True)
class Remote:
    """A dataset at its source."""

    name: str
    target: str
    about: str
    url: str
    sha256: str
    to_csv: Callable[[str], str]


def _abalone_to_csv(text: str) -> str:
    header = "sex,length,diameter,height,whole_weight,shucked_weight,viscera_weight,shell_weight,rings"
    return "\n".join([header, *text.split()]) + "\n"


def _bones_to_csv(text: str) -> str:
    lines = (",".join(_plain_number(cell) for cell in line.split()) for line in text.splitlines() if line.strip())
    return "\n".join(lines) + "\n"


def _plain_number(cell: str) -> str:
    """A number as the source writes it, but without an exponent of one digit (``8.07e-4``)."""
    try:
        return repr(float(cell)) if "e-" in cell and cell[0] in "-0123456789" else cell
    except ValueError:  # not a number, so not the dataset: the checksum will tell
        return cell


ABALONE = Remote(
    name="abalone",
    target="rings",
    about="Rings (age) of 4177 abalones from sex, a category (M, F or I for infant), and seven sizes and weights. "
    "UCI Machine Learning Repository, Abalone.",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/abalone/abalone.data",
    sha256="d1098cbcde176fd1e0bbfca34c105bd155fb5f5d81fe601b7b106ed4c3973664",
    to_csv=_abalone_to_csv,
)
BONES = Remote(
    name="bones",
    target="spnbmd",
    about="Relative change in spinal bone mineral density of adolescents (485 measurements) from the number of the "
    "child, age and gender, a category. Hastie, Tibshirani and Friedman, The Elements of Statistical Learning.",
    url="https://hastie.su.domains/ElemStatLearn/datasets/bone.data",
    sha256="5409068b69cf0229636b8560b2c739da88b2c4c5be733dd864988f047be633e8",
    to_csv=_bones_to_csv,
)


def data_folder() -> Path:
    """Where downloads are kept."""
    if folder := os.environ.get("PYSIRUS_DATA"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pysirus"


def _fits(content: bytes, remote: Remote) -> bool:
    return hashlib.sha256(content).hexdigest() == remote.sha256


def fetch_file(remote: Remote) -> Path:
    """The dataset's CSV file, downloaded unless it is there already."""
    path = data_folder() / f"{remote.name}.csv"
    if path.is_file() and _fits(path.read_bytes(), remote):
        return path
    try:
        with urllib.request.urlopen(remote.url, timeout=TIMEOUT) as answer:
            content = answer.read()
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(
            f"The dataset '{remote.name}' could not be downloaded from {remote.url} ({reason}). With a connection try "
            f"again; without one put its CSV file at '{path}', or set PYSIRUS_DATA to a folder that has it."
        ) from error
    text = remote.to_csv(content.decode("utf-8", errors="replace"))
    if not _fits(text.encode(), remote):
        raise DownloadError(
            f"What {remote.url} answered is not the dataset '{remote.name}': its checksum differs. Nothing was kept. "
            "The source may have changed or the download may be damaged; try again later."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise DownloadError(
            f"The dataset '{remote.name}' was downloaded but cannot be kept at '{path}' ({error.strerror or error}). "
            "Set PYSIRUS_DATA to a folder that can be written."
        ) from error
    return path


def fetch_abalone(*, return_X_y: bool = False, as_frame: AsFrame = False) -> Any:
    """Rings (age) of 4,177 abalones; downloaded on first use. The column sex is categorical.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool or {"pandas", "polars", "pyarrow"}, default=False
        Give ``data`` as a data frame and ``target`` as a series, instead of arrays; True is "pandas". With "pyarrow",
        which is always there, both are tables.

    Returns
    -------
    bunch : Bunch or tuple
        With ``data``, ``target``, ``frame``, ``feature_names``, ``target_names``, ``DESCR`` and ``filename``.

    Raises
    ------
    DownloadError
        If the file is not in the cache folder (``PYSIRUS_DATA``) and cannot be downloaded.
    """
    return _fetch(ABALONE, return_X_y, as_frame)


def fetch_bones(*, return_X_y: bool = False, as_frame: AsFrame = False) -> Any:
    """Relative change in spinal bone mineral density (485 rows); downloaded on first use. Gender is categorical.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool or {"pandas", "polars", "pyarrow"}, default=False
        Give ``data`` as a data frame and ``target`` as a series, instead of arrays; True is "pandas". With "pyarrow",
        which is always there, both are tables.

    Returns
    -------
    bunch : Bunch or tuple
        With ``data``, ``target``, ``frame``, ``feature_names``, ``target_names``, ``DESCR`` and ``filename``.

    Raises
    ------
    DownloadError
        If the file is not in the cache folder (``PYSIRUS_DATA``) and cannot be downloaded.
    """
    return _fetch(BONES, return_X_y, as_frame)


def _fetch(remote: Remote, return_X_y: bool, as_frame: AsFrame) -> Any:
    return make_bunch(fetch_file(remote), remote.target, remote.about, return_X_y=return_X_y, as_frame=as_frame)

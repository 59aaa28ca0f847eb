"""Two datasets that are downloaded once: a name in, a checked file in the cache folder out.

The folder is the environment variable PYSIRUS_DATA, or ``pysirus`` in the user's cache folder. The checksum is that of
the CSV file kept there, after the source's own layout was turned into it.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pysirus._runtime.output import write_text
from pysirus._text.message import SafeTextError
from pysirus.datasets._load import AsFrame, make_bunch

TIMEOUT = 30  # seconds without an answer


class DownloadError(SafeTextError, OSError):
    """A dataset could not be downloaded, or is not the file that was expected."""


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

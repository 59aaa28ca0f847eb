"""The six shipped datasets, as scikit-learn loads its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pysirus.datasets._bunch import AsFrame, make_bunch
from pysirus.datasets._catalog import SHIPPED

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

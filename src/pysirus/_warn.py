"""A message in, a warning out that points at the user's line of code."""

from __future__ import annotations

import contextlib
import sys
import warnings
from os import sep
from pathlib import Path
from types import FrameType

from pysirus._message import say

PACKAGE = str(Path(__file__).parent) + sep
# libraries that call estimators for the user, in pipelines, searches and scores
CALLERS = ("sklearn", "joblib", "dask", "distributed")


def _is_users(file: str) -> bool:
    """Whether a file is neither of this package nor of a library between it and the user."""
    if file.startswith(PACKAGE) or file == contextlib.__file__:
        return False
    return not any(f"site-packages{sep}{name}{sep}" in file for name in CALLERS)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line of the user; at the nearest outside this package where the user has none."""
    frame: FrameType | None = sys._getframe(1)
    level, outside = 1, None
    while frame is not None:
        file = frame.f_code.co_filename
        if _is_users(file):
            break
        if outside is None and not file.startswith(PACKAGE):
            outside = level
        level, frame = level + 1, frame.f_back
    else:
        level = outside or 1
    warning = category(say(message))
    vars(warning)["message"] = message  # for another door
    warnings.warn(warning, stacklevel=level + 1)

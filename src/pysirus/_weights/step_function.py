"""A function of time that changes in steps, as scikit-survival's: ``x``, ``y``, and a call at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepFunction:
    """What it is from each time on.

    Attributes
    ----------
    x : ndarray of shape (n_times,)
        Times, rising.
    y : ndarray of shape (n_times,)
        The value from each time on.
    start : float
        The value before the first time.

    Examples
    --------
    >>> import numpy as np
    >>> from pysirus._weights.step_function import StepFunction
    >>> alive = StepFunction(np.array([1.0, 2.0]), np.array([0.8, 0.5]), start=1.0)
    >>> alive([0.5, 1.0, 7.0]).tolist()
    [1.0, 0.8, 0.5]
    """

    x: Floats
    y: Floats
    start: float = 0.0

    def __call__(self, x: Any) -> Any:
        """The value at one time, or at several."""
        times = np.asarray(x, dtype=np.float64)
        if not np.isfinite(times).all() or (times < 0).any():
            raise ValueError("x must be times from 0 on, without missing ones.")
        found = np.searchsorted(self.x, times, side="right")
        values = np.concatenate([[self.start], self.y])[found]
        return float(values) if values.ndim == 0 else values

    @property
    def domain(self) -> tuple[float, float]:
        """The times that it is known for; after the last it stays what it is."""
        return 0.0, float(self.x[-1]) if len(self.x) else 0.0

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"StepFunction(x={self.x!r}, y={self.y!r}, start={self.start!r})"


def step_functions(times: Floats, values: Floats, start: float) -> NDArray[np.object_]:
    """One function for each row of values [row, time]."""
    functions = np.empty(len(values), dtype=object)
    for i, own in enumerate(values):
        functions[i] = StepFunction(times, own, start)
    return functions

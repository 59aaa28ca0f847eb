"""Parameters in, checked parameters out: a message names the parameter, what it got and what it takes."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np


class ParameterError(ValueError, TypeError):
    """A parameter has a value that cannot be used."""


def check_integer(name: str, value: Any, low: int, high: int | None = None, none: bool = False) -> None:
    """A whole number from low to high."""
    if none and value is None:
        return
    whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not whole or value < low or (high is not None and value > high):
        limits = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise ParameterError(f"{name} must be a whole number {limits}{' or None' if none else ''}, got {value!r}.")


def check_real(name: str, value: Any, low: float, high: float, none: bool = False) -> None:
    """A number strictly between low and high."""
    if none and value is None:
        return
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not real or not low < value < high:
        raise ParameterError(
            f"{name} must be a number between {low:g} and {high:g} (both excluded){' or None' if none else ''}, "
            f"got {value!r}."
        )


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """One of several values."""
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def check_jobs(value: Any) -> None:
    """A number of threads; below zero it is counted from the number of cores."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if value is not None and (not whole or value == 0):
        raise ParameterError(f"n_jobs must be a whole number other than 0 (-1: all cores) or None, got {value!r}.")


LEAST_SHARE = 1e-8  # a draw of 32 bits parts one row in so many from none


def to_share(name: str, value: Any, n_rows: int) -> float:
    """The share of the rows that a tree draws: given as such, as a number of rows, or all of them (None)."""
    if value is None:
        return 1.0
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) else 0.0
    if isinstance(value, numbers.Integral) and number >= 1:
        return max(LEAST_SHARE, min(1.0, number / n_rows))
    if not isinstance(value, numbers.Integral) and LEAST_SHARE <= number <= 1:
        return number
    raise ParameterError(
        f"{name} must be a share of the rows above 0 and at most 1.0, a whole number of rows, or None, got {value!r}."
    )


def to_seed(random_state: Any) -> int:
    """One 64-bit seed: an integer is its own seed, a generator gives one, None takes one from the system."""
    if random_state is None:
        return int.from_bytes(os.urandom(8), "little")
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, (bool, np.bool_)):
        if not 0 <= int(random_state) < 2**64:
            raise ParameterError(f"random_state must be from 0 to 2**64 - 1, got {random_state!r}.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**64, dtype=np.uint64))
    raise ParameterError(f"random_state must be None, an integer or a NumPy generator, got {random_state!r}.")

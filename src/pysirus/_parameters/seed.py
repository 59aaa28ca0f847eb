"""A ``random_state`` in, one 64-bit seed out."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from pysirus._message import Parameter
from pysirus._parameters.check import ParameterError


def to_seed(random_state: Any) -> int:
    """One 64-bit seed: an integer is its own seed, a generator gives one, None takes one from the system."""
    if random_state is None:
        return int.from_bytes(os.urandom(8), "little")
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, (bool, np.bool_)):
        if not 0 <= int(random_state) < 2**64:
            raise ParameterError(f"{Parameter('random_state')} must be from 0 to 2**64 - 1, got {random_state!r}.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**64, dtype=np.uint64))
    raise ParameterError(
        f"{Parameter('random_state')} must be None, an integer or a NumPy generator, got {random_state!r}."
    )

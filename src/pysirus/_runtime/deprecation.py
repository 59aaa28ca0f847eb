"""Something public that is to go in, the same out with a warning that names its replacement and when it goes.

docs/versions.md has the policy.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
UNSET: Any = object()  # no value that somebody gives


def _warn(what: str, instead: str, removed_in: str) -> None:
    said = f"{what} is deprecated and will be removed in pysirus {removed_in}; use {instead} instead."
    warnings.warn(said, FutureWarning, stacklevel=3)


def deprecated(instead: str, removed_in: str) -> Callable[[Function], Function]:
    """Decorate a function or method that another one replaces."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def warned(*given: Any, **named: Any) -> Any:
            _warn(f"{function.__qualname__}()", instead, removed_in)
            return function(*given, **named)

        return warned  # type: ignore[return-value]

    return decorate


def renamed_parameter(earlier: str, now: str, removed_in: str) -> Callable[[Function], Function]:
    """Decorate a function one of whose parameters has a new name: the earlier one is still taken."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def renamed(*given: Any, **named: Any) -> Any:
            value = named.pop(earlier, UNSET)
            if value is not UNSET:
                if now in named:
                    raise TypeError(f"{function.__qualname__}() got {now} and {earlier}, which is its earlier name.")
                _warn(f"{earlier}=", f"{now}=", removed_in)
                named[now] = value
            return function(*given, **named)

        return renamed  # type: ignore[return-value]

    return decorate

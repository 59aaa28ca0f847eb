"""Run one target under Atheris: python -m trust.fuzz.doors [--planted] NAME [arguments of libFuzzer]."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import atheris


def main() -> None:
    """Import what is tried with its branches counted, and hand over to libFuzzer."""
    arguments = sys.argv[1:]
    planted = arguments[:1] == ["--planted"]
    name, *rest = arguments[planted:]
    with atheris.instrument_imports(include=["pysirus", "trust.fuzz.doors"]):
        target: Any = import_module(f"trust.fuzz.doors.{name}")
    if planted:
        target.plant()
    more = {"custom_mutator": target.mutate} if hasattr(target, "mutate") else {}
    atheris.Setup([sys.argv[0], *rest], target.one, **more)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

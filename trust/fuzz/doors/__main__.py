"""Run one target under Atheris: python -m trust.fuzz.doors [--planted] NAME [arguments of libFuzzer]."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

import atheris

from trust.record import ROOT


class InSource(MetaPathFinder):
    """Finds the package where its source is: an editable install wraps loaders, and Atheris would count nothing."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module as Python itself loads it; what is not there, such as the core, the install finds."""
        if name.split(".")[0] != "pysirus":
            return None
        return PathFinder.find_spec(name, [str(ROOT / "src")] if path is None else path)


def main() -> None:
    """Import what is tried with its branches counted, and hand over to libFuzzer."""
    arguments = sys.argv[1:]
    planted = arguments[:1] == ["--planted"]
    name, *rest = arguments[planted:]
    sys.meta_path.insert(0, InSource())
    with atheris.instrument_imports(include=["pysirus", "trust.fuzz.doors"]):
        target: Any = import_module(f"trust.fuzz.doors.{name}")
    if planted:
        target.plant()
    more = {"custom_mutator": target.mutate} if hasattr(target, "mutate") else {}
    atheris.Setup([sys.argv[0], *rest], target.one, **more)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

"""One file for each library that is measured; each offers functions of a Problem, to be timed.

Those of ``OTHERS`` may not be installed: their files offer ``TITLE``, ``VERSION_OF`` (a distribution), ``ready()``,
which imports what is needed, and ``fit(problem)``.
"""

from __future__ import annotations

from importlib import import_module, metadata
from types import ModuleType

OTHERS = ("tree", "lightgbm_boosting", "imodels_rulefit", "sirus_pypi", "interpret_ebm", "r_sirus")


def find_rivals() -> tuple[dict[str, ModuleType], dict[str, str]]:
    """The adapters whose libraries are here, and why the others are not."""
    found: dict[str, ModuleType] = {}
    absent: dict[str, str] = {}
    for name in OTHERS:
        adapter = import_module(f"benchmarks.rivals.{name}")
        try:
            adapter.ready()
        except (ImportError, OSError) as error:
            absent[name] = f"{adapter.TITLE}: skipped, {error}"
        else:
            found[name] = adapter
    return found, absent


def version_of(adapter: ModuleType) -> str:
    """The version of the library behind an adapter."""
    try:
        return metadata.version(adapter.VERSION_OF)
    except metadata.PackageNotFoundError:
        return "?"

"""pysirus: stable, readable rules.

SIRUS (Bénard, Biau, Da Veiga, Scornet, AISTATS 2021) learns a short list of rules that changes little when a few rows
change. ``SirusRegressor`` fits a list, ``load`` reads one from a file.

The public names live in ``pysirus._public`` and are imported when first used, so that ``pysirus --help`` need not wait
for scikit-learn.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pysirus._public import *  # noqa: F403
    from pysirus._public import __all__ as __all__

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module 'pysirus' has no attribute '{name}'")
    import importlib

    public = importlib.import_module("pysirus._public")
    if name == "__all__":
        return public.__all__
    if name not in public.__all__:
        raise AttributeError(f"module 'pysirus' has no attribute '{name}'")
    return getattr(public, name)


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("_")), *__getattr__("__all__")})

"""The shim as Python sees it: calls are counted, and the k-th fails."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

KINDS = {"allocation": 1, "write": 2, "read": 3, "open": 4, "rename": 5, "thread": 6}
LIBRARIES = ["-ldl", "-Wl,--no-as-needed", "-l:libstdc++.so.6"]  # whose functions the shim hands on to
SOURCE = Path(__file__).with_name("shim.c")


def build_shim(folder: Path) -> Path:
    """Compile the shim."""
    path = folder / "faults.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O1", "-w", "-shared", "-fPIC", str(SOURCE), "-o", str(path), *LIBRARIES], check=True)
    return path


def run_below(shim: Path, arguments: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run this package again with the shim loaded."""
    environment = {**os.environ, "LD_PRELOAD": str(shim), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-m", "trust.faults.points", *arguments], env=environment, **options)


class System:
    """The shim that was loaded before this process began."""

    def __init__(self, core: str, folder: Path) -> None:
        self._shim = ctypes.CDLL(None)
        if not self._shim.faults_core(core.encode()):
            raise RuntimeError(f"no library is called {core}")
        self._shim.faults_folder(str(folder).encode())
        self._shim.faults_arm.argtypes = [ctypes.c_int, ctypes.c_long]
        for name in ("faults_disarm", "faults_fired", "faults_live"):
            getattr(self._shim, name).restype = ctypes.c_long
        self.count = 0

    @contextmanager
    def failing(self, kind: str, k: int) -> Iterator[None]:
        """The k-th call of a kind fails; with 0 none does, and ``count`` says how many there were."""
        self._shim.faults_arm(KINDS[kind], k)
        try:
            yield
        finally:
            self.count = int(self._shim.faults_disarm())

    @property
    def fired(self) -> bool:
        """Whether it came to that."""
        return bool(self._shim.faults_fired())

    @property
    def live(self) -> int:
        """What the core allocated and has not given back."""
        return int(self._shim.faults_live())


class Queries:
    """The same for queries to rows in partitions."""

    def __init__(self) -> None:
        self.count, self.fired = 0, False

    @contextmanager
    def failing(self, kind: str, k: int) -> Iterator[None]:
        """The k-th query that a part is asked raises an error, as a lost worker would."""
        from pysirus.engine.backends.files import FileRows, Scratch

        self.count, self.fired = 0, False
        originals = [(kind_, name, getattr(kind_, name)) for kind_ in (FileRows, Scratch) for name in self._asks(kind_)]

        def failing(original: Any) -> Any:
            def ask(rows: Any, query: Any) -> Any:
                def asked(part: Any) -> Any:
                    self.count += 1
                    if self.count == k:
                        self.fired = True
                        raise ConnectionError("the worker of these rows is gone")
                    return query(part)

                return original(rows, asked)

            return ask

        for owner, name, original in originals:
            setattr(owner, name, failing(original))
        try:
            yield
        finally:
            for owner, name, original in originals:
                setattr(owner, name, original)

    @staticmethod
    def _asks(kind: Any) -> list[str]:
        return [name for name in ("map_reduce", "map_reduce_response", "encode") if hasattr(kind, name)]

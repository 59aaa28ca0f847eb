"""Inputs that lead far, one file for each target: a line in base64 for each input."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

from trust.record import ROOT

CORPUS = Path(__file__).with_name("corpus")
LONGEST = 1 << 12  # bytes of an input that is kept
MOST = 150  # inputs kept of a target, the shortest first


def unpack(target: str, folder: Path) -> None:
    """Lay the inputs of a target out as files; model files are those of the tests."""
    folder.mkdir(parents=True, exist_ok=True)
    path = CORPUS / f"{target}.txt"
    for i, line in enumerate(path.read_text(encoding="ascii").split() if path.exists() else ()):
        (folder / f"kept-{i}").write_bytes(base64.b64decode(line))
    if target == "models":
        for golden in sorted((ROOT / "tests" / "golden").glob("v*/*.json")):
            if not golden.name.endswith(".rows.json") and golden.stat().st_size < 1 << 15:
                shutil.copy(golden, folder / f"{golden.parent.name}-{golden.name}")


def pack(target: str, folder: Path) -> int:
    """Keep the inputs of a folder; how many."""
    inputs = {path.read_bytes() for path in folder.iterdir()}
    kept = sorted((data for data in inputs if len(data) <= LONGEST), key=lambda data: (len(data), data))[:MOST]
    lines = [base64.b64encode(data).decode("ascii") for data in kept if data]
    (CORPUS / f"{target}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return len(lines)

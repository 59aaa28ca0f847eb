"""Figures of a run in, a file under ``trust/results`` out: docs/trust.md takes its tables from there."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")


def commit() -> str:
    """The commit that was tried, with a plus where files had changed."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short=10", "HEAD") + ("+" if git("status", "--porcelain", "--", "src", "cpp") else "")


def record(name: str, figures: dict[str, Any]) -> Path:
    """Write the figures of a run, with what it was a run of."""
    made_with = {"commit": commit(), "python": platform.python_version(), "machine": platform.machine()}
    path = RESULTS / f"{name}.json"
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps({**made_with, **figures}, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}", file=sys.stderr)
    return path

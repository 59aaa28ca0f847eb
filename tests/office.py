"""Workbooks as LibreOffice computes them, many in one start of the program."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hostile import new_rows
from sampled import FULL

EVERY = 2 if FULL else 17  # LibreOffice is slow; with every 17th row each rule holds and fails, each level is there


def sheet_rows():
    """The new rows that workbooks predict."""
    return new_rows()[::EVERY]


def recalculate(books: Iterable[Path]) -> dict[str, Path]:
    """The workbooks of a folder after LibreOffice computed them, by their names without the ending."""
    books = list(books)
    folder = books[0].parent
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("workbooks are recalculated by LibreOffice, which is not installed (libreoffice-calc)")
    profile = f"-env:UserInstallation=file://{folder}/profile"
    target = "xlsx:Calc MS Excel 2007 XML"
    command = [office, "--headless", profile, "--convert-to", target, "--outdir", str(folder / "out"), *map(str, books)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    return {book.stem: folder / "out" / book.name for book in books}


def values_of(book: Path) -> Any:
    """A workbook with the results of its formulas."""
    return pytest.importorskip("openpyxl").load_workbook(book, data_only=True)

"""Command lines: each ends with code 0, 1 or 2, and with a complaint where it is not 0; nothing else comes out.

They run in a folder of their own. A word that could lead out of it is left out.
"""

from __future__ import annotations

import contextlib
import io
import os
import pkgutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import pysirus
from pysirus import cli

# what commands import when they run, while imports are watched; the rest needs libraries of its own
for found in pkgutil.walk_packages(pysirus.__path__, "pysirus."):
    if not any(part in found.name for part in ("dask", "spark", "mlflow", "gpu", "plot", "__main__", "_core")):
        import_module(found.name)

WORDS = (  # in the order of the numbers that stand for them in the corpus
    *("fit", "tune", "predict", "show", "score", "edit", "explain", "export", "report", "diff"),
    *("t.csv", "w.csv", "m.json", "new.json", "out.csv", "y", "x", "town"),
    *("--target", "--rules", "--trees", "--depth", "--seed", "--to", "--output", "--drop", "--add", "--row", "--jobs"),
    *("--stages", "--family", "--sample-weight", "--time", "--event", "--help", "--version", "--device", "-h"),
    *("-", "1", "2", "3", "0", "-1", "1e9", "nan", "sql", "python", "auto", "numbers", "classes", "counts"),
    *("if", "x<3", "town=a", "y,x"),
)
FOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
ROWS = "".join(f"{i % 5},{'ab'[i % 2]},{i * i % 7}\n" for i in range(24))
MODEL = ""


def prepare() -> None:
    """The files that commands find, as they were."""
    global MODEL
    folder = Path(FOLDER.name)
    os.chdir(folder)
    for path in folder.iterdir():
        path.unlink()
    Path("t.csv").write_text(f"x,town,y\n{ROWS}")
    Path("w.csv").write_text("x;town;y\n1,5;a;2\n")
    if not MODEL:
        rows = [row.split(",") for row in ROWS.split()]
        model = pysirus.SirusRegressor(n_trees=20, random_state=0)
        model.fit([[float(row[0])] for row in rows], [float(row[2]) for row in rows]).save("m.json")
        MODEL = Path("m.json").read_text()
    Path("m.json").write_text(MODEL)


def words_of(data: bytes) -> list[str]:
    """Known words by number, and texts: a byte below 200 is a word, any other begins a text up to the next zero."""
    words, at = [], 0
    while at < len(data) and len(words) < 9:
        if data[at] < 200:
            words.append(WORDS[data[at] % len(WORDS)])
            at += 1
        else:
            end = data.find(b"\0", at + 1)
            end = len(data) if end < 0 else end
            text = data[at + 1 : end].decode("utf-8", "surrogateescape")
            at = end + 1
            if not (set(text) & set("/~") or ".." in text):
                words.append(text)
    return words


def one(data: bytes) -> None:
    """Run a command."""
    prepare()
    words = words_of(data)
    if {"fit", "tune"} & set(words[:1]):
        words += ["--trees", "5"]
    said, complaint, code = io.StringIO(), io.StringIO(), None
    sys.stdin = io.TextIOWrapper(io.BytesIO())
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaint):
            cli.main(words)
    except SystemExit as leaving:
        code = leaving.code
    if code not in (0, 1, 2) or (code != 0 and "Error: " not in complaint.getvalue() and words):
        raise AssertionError(f"{words} ended with {code}: {complaint.getvalue()!r}")
    if list(Path().glob(".pysirus-*")):
        raise AssertionError(f"{words} left a file behind")


def plant() -> None:
    """Whoever writes messages expects each to have a quote."""
    cli.as_typed = lambda text: text.split("'")[1]

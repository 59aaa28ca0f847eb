"""Model files: each is a ``ModelFileError``, or a model that predicts, prints and is written again the same.

Bytes are changed as libFuzzer likes, documents as ``tests/damage`` does: what the fuzzer keeps is damaged further.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import warnings
from pathlib import Path

import atheris
import numpy as np

import pysirus
from pysirus import ModelFileError
from pysirus._model import file

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))  # other packages install a folder of that name too
from damage.life import answers, rows_for
from damage.mutants import STRUCTURAL, Writer

FOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
FILE, AGAIN = Path(FOLDER.name) / "m.json", Path(FOLDER.name) / "again.json"
LIMIT = 400_000  # bytes of a document that is still damaged further
warnings.simplefilter("ignore", UserWarning)
warnings.simplefilter("error", RuntimeWarning)


def one(data: bytes) -> None:
    """Load; predict, print, save and load again."""
    FILE.write_bytes(data)
    try:
        model = pysirus.load(FILE)
    except ModelFileError as error:
        if not str(error):
            raise AssertionError("a complaint without words") from error
        return
    X = rows_for(model._as_model())
    expected = answers(model, X)
    model.save(AGAIN)
    again = pysirus.load(AGAIN)
    if str(again) != str(model) or not np.array_equal(answers(again, X), expected):
        raise AssertionError("written and read again it is another model")


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """A document with something put, changed or left out; bytes that are none are changed by libFuzzer."""
    rng = random.Random(seed)
    if rng.random() < 0.25 or len(data) > LIMIT:
        return atheris.Mutate(data, most)
    try:
        document = json.loads(data)
        writer = Writer()
        rng.choice(STRUCTURAL)(document, rng, writer)
        damaged = writer.text(document, rng).encode("utf-8", "surrogatepass")
    except Exception:  # no JSON, or none that this damage fits
        return atheris.Mutate(data, most)
    return damaged if len(damaged) <= most else atheris.Mutate(data, most)


def plant() -> None:
    """Rules are no longer compared with the columns: a number of a column that is not there comes through."""
    file.check_document = lambda document: None

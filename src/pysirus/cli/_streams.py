"""What a command prints in, standard output and error out, whatever they are: full, closed, or of ASCII alone.

Results go to standard output and their loss is an error. What is said beside them goes to standard error, and its loss
is none. Errors and warnings of the library speak of options, and of columns by their names.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import isfinite
from shutil import get_terminal_size
from typing import TextIO

from pysirus._parameters.table import PARAMETERS
from pysirus._text.message import (
    InCommand,
    InPython,
    Learner,
    Parameter,
    Role,
    Row,
    Setting,
    Term,
    message_of,
    role_words,
    say,
)

# what a parameter is called here
OPTIONS: dict[str, str] = {
    name: own.metadata["option"].name for name, own in PARAMETERS.items() if own.metadata["option"]
}
OPTIONS |= {"memory": "--memory", "max_rows": "--max-rows", "categorical_features": "--categorical"}
OPTIONS |= {"monotonic_cst": "--increasing/--decreasing", "drop": "--drop", "event": "--event"}
OPTIONS |= {"sample_weight": "--sample-weight", "rules": "--add", "full": "`pysirus show MODEL --full`"}
OPTIONS |= {"y": "--target", "time": "--periods", "groups": "--groups"}
OPTIONS |= {"tolerance": "--tolerance", "training": "--training"}
OPTIONS |= {"pdo": "--pdo", "base_score": "--base-score", "base_odds": "--base-odds"}
OPTIONS |= {name: f"--{name}" for name in ("direction", "outcome", "reference", "by", "reasons", "table", "edit")} | {
    "k": "-k",
    "texts": "--reason",
}
OPTIONS |= {
    "to": "--to",
    "fixed": "--fixed",
    "costs": "--costs",
    "rate": "--rate",
    "directions": "--up/--down",
    "category_step": "--category-step",
}
SETTINGS = {("prepare", "True"): "leaving --strict out", ("slopes", "True"): "--slopes yes"}
LEARNERS = {"SirusRegressor": "--task regression", "SirusClassifier": "--task classification"}
QUOTES = "'\""


def as_typed(said: object) -> str:
    """What an error or a warning says on the command line."""
    return say(message_of(said), _typed)


def _typed(term: Term) -> str:
    """What a term is called on the command line."""
    if isinstance(term, Role):
        return role_words(term)
    if isinstance(term, Row):
        return term.counted(1)
    if isinstance(term, Parameter):
        return OPTIONS.get(term.name, term.name)
    if isinstance(term, Setting):
        typed = f"{OPTIONS.get(term.name, term.name)} {term.value.strip(QUOTES)}"
        return SETTINGS.get((term.name, term.value), typed)
    if isinstance(term, Learner):
        return LEARNERS.get(term.name, term.name)
    if isinstance(term, InCommand):
        return f" ({OPTIONS[term.name]} {term.value}".rstrip() + ")"
    assert isinstance(term, InPython)
    return ""


CLOSED_PIPE = 128 + 13  # what a shell says of a command that SIGPIPE ended


class PrintError(Exception):
    """Standard output cannot be written. No OSError: typer would take a closed pipe for its own business."""


class PipeClosed(PrintError):
    """The reader left."""


def open_streams() -> None:
    """Make standard streams that are closed fail rather than be None, and letters that they lack be written out."""
    for name in ("stdin", "stdout", "stderr"):  # in the order of their numbers
        if getattr(sys, name) is None:
            _occupy(name)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _occupy(name: str) -> None:
    """Open a closed descriptor, or a file that is opened later would get its number, and what is printed."""
    # standard output for reading: writing to it fails, as it does where it is closed
    found = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
    setattr(sys, name, os.fdopen(found, "r" if name == "stdin" else "w", encoding="utf-8"))


def silence(stream: TextIO) -> None:
    """Lead a stream that failed to nowhere, or Python fails again when it closes it."""
    with suppress(OSError, ValueError):
        number = stream.fileno()
        found = os.open(os.devnull, os.O_WRONLY)
        os.dup2(found, number)
        os.close(found)


@contextmanager
def printing() -> Iterator[None]:
    """What is printed here is written when it ends, or a PrintError says why not."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        silence(sys.stdout)
        if error.errno == errno.EPIPE:
            raise PipeClosed from error
        if error.errno == errno.EBADF:
            raise PrintError("Standard output is closed.") from error
        raise PrintError(f"Standard output cannot be written: {error.strerror or error}.") from error


def print_text(text: object) -> None:
    """Print a result for a reader."""
    with printing():
        print(text)


def print_prose(text: str) -> None:
    """Print sentences for a reader, broken between words where the terminal ends."""
    from pysirus._runtime.console import wrapped
    from pysirus._terms.words import LINE

    print_text(wrapped(text, min(LINE, get_terminal_size().columns) if sys.stdout.isatty() else LINE))


def print_json(data: object) -> None:
    """Print plain data as JSON; what is no number is null."""
    from json import dumps

    def finite(value: object) -> object:
        if isinstance(value, dict):
            return {str(key): finite(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [finite(item) for item in value]
        return None if isinstance(value, float) and not isfinite(value) else value

    print_text(dumps(finite(data), indent=1, allow_nan=False))


def print_data(text: str) -> None:
    """Print what a program may read: as in a file, in UTF-8; on a terminal with control characters written out."""
    from pysirus._text.format import one_line

    with printing():
        buffer = getattr(sys.stdout, "buffer", None)
        if buffer is None or sys.stdout.isatty():
            sys.stdout.write(re.sub(r"[^\n\t]+", lambda part: one_line(part[0]), text))
        else:
            sys.stdout.flush()
            buffer.write(text.encode("utf-8"))


def tell_aside(text: str) -> None:
    """Say on standard error what was done."""
    from pysirus._runtime.console import tell
    from pysirus._text.format import one_line

    tell(one_line(text))


def deliver(files: Sequence[tuple[Callable[[], None], str]], show: Callable[[], None], *, silent: bool = False) -> None:
    """Write files, then print a result, then say which files were written: no failure keeps the others back."""
    written, failures = [], []
    for write, done in files:
        try:
            write()
            written.append(done)
        except OSError as error:
            failures.append(error)
    try:
        show()
    except PipeClosed:
        written = []  # nobody listens
        if not failures:
            raise
    finally:
        for done in [] if silent else written:
            tell_aside(done)
    if failures:
        raise failures[0]

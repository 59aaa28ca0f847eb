"""Long work: threads that stop promptly when it is cancelled; messages, bars and warnings beside it.

An interrupt reaches the thread that called, which then waits for the others. So whoever works for long looks now and
then whether anyone still waits for the answer: a part of the rows has some hundred thousand of them, and the question
of a fold about its trees takes seconds. Threads are always joined.

What is said goes to standard error, and warnings point at the user's line of code. The work goes on when nobody can be
told any more: a terminal that went away is no failure of it.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import count
from os import sep
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from pysirus._text.format import one_line
from pysirus._text.message import say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn

_here = threading.local()
_pools = count()


class Cancelled(Exception):
    """The work was cancelled: nobody waits for this answer any more."""


def check_cancelled() -> None:
    """Raise ``Cancelled`` in a thread of a pool that was cancelled."""
    cancelled: threading.Event | None = getattr(_here, "cancelled", None)
    if cancelled is not None and cancelled.is_set():
        raise Cancelled


@contextmanager
def cancellable_pool(n_threads: int, on_cancel: Callable[[], None] = lambda: None) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads that an error or an interrupt cancels; ``on_cancel`` is then called."""
    cancelled, name = threading.Event(), f"pysirus-pool-{next(_pools)}-"

    def begin() -> None:
        _here.cancelled = cancelled

    with ThreadPoolExecutor(n_threads, thread_name_prefix=name, initializer=begin) as pool:
        try:
            yield pool
        except BaseException:
            cancelled.set()
            on_cancel()
            pool.shutdown(wait=True, cancel_futures=True)
            # an interrupt while a thread starts: it runs, but the pool has not heard of it
            while any(thread.name.startswith(name) for thread in threading.enumerate()):
                time.sleep(0.001)
            raise


class _Outlived:
    """A stream whose failures are not failures of the work: a terminal that went away, a pipe without a reader."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        try:
            return self._stream.write(text)
        except (OSError, ValueError):  # gone, or closed by Python
            return len(text)

    def flush(self) -> None:
        """Write what can be written now."""
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return

    def isatty(self) -> bool:
        """Whether it is, or was, a terminal."""
        return not self._stream.closed and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def error_console(**options: Any) -> Console:
    """A console on standard error that outlives it."""
    from rich.console import Console

    stream: Any = io.StringIO() if sys.stderr is None else _Outlived(sys.stderr)
    return Console(file=stream, **options)


def wrapped(text: str, width: int) -> str:
    """Text in lines of at most ``width`` characters, broken between words; lines that go on are indented."""
    lines = [
        textwrap.wrap(line, max(width, 20), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    ]
    return "\n".join("\n".join(own) for own in lines)


def tell(text: str, style: str | None = None) -> None:
    """Say something on standard error: wrapped for a terminal, else a line each."""
    console = error_console(highlight=False, soft_wrap=True)
    console.print(wrapped(text, console.width) if console.is_terminal else text, style=style, markup=False)


Heard = Callable[[str, float, float], None]  # told what is done, how much of it, and of how much
_listener: ContextVar[Heard | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Heard) -> Iterator[None]:
    """Tell a function of progress instead of drawing bars: for a page, or another process."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


Grown = Callable[[int, float], None]  # told of the trees so far, and of their estimated stability


@contextmanager
def show_trees(verbose: int, n_trees: int | None, goal: float) -> Iterator[Grown | None]:
    """A bar of trees against a fixed number, or of estimated stability against its goal; None when not verbose."""
    if (listener := _listener.get()) is not None:
        yield lambda trees, stability: listener("trees", trees if n_trees else stability, n_trees or goal)
        return
    if not verbose:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("growing"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[trees]:>7,} trees, estimated stability between forests {task.fields[stability]:.1%}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=error_console()) as bar:
        task = bar.add_task("", total=n_trees or goal, trees=0, stability=0.0)

        def update(trees: int, stability: float) -> None:
            done = trees if n_trees else min(max(stability, 0.0), goal)
            bar.update(task, completed=done, trees=trees, stability=stability)

        yield update


@contextmanager
def show_folds(verbose: int, doing: str = "tuning ", what: str = "folds") -> Iterator[Callable[[int], None]]:
    """A bar of folds, with the time left: to be told of each that is done, and of how many; silent when not verbose."""
    if (listener := _listener.get()) is not None:
        done = count(1)
        yield lambda n_folds: listener(what, next(done), n_folds)
        return
    if not verbose:
        yield lambda n_folds: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(doing), BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn(f"{what}, time left"))
    with Progress(*columns, TimeRemainingColumn(), console=error_console()) as bar:
        task = bar.add_task("", total=None)
        yield lambda n_folds: bar.update(task, advance=1, total=n_folds)


Advance = Callable[[float, int], None]
ShowPass = Callable[[str, int], AbstractContextManager[Advance]]


def _pass_bar(*columns: ProgressColumn) -> Bar:
    """A bar that says what a pass over the rows is for, how far it is, and the time that it has taken."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    what = TextColumn("{task.description:<16}", markup=False)
    return Progress(what, BarColumn(bar_width=30), *columns, TimeElapsedColumn(), console=error_console())


@contextmanager
def show_pass(what: str, n_bytes: int) -> Iterator[Advance]:
    """A bar of the bytes and rows that a pass over files has read."""
    from rich.progress import DownloadColumn, TextColumn

    with _pass_bar(DownloadColumn(), TextColumn("{task.fields[rows]:>13,} rows")) as bar:
        task = bar.add_task(one_line(what), total=n_bytes, rows=0)
        n_rows = 0

        def advance(n_bytes: float, rows: int) -> None:
            nonlocal n_rows
            n_rows += rows
            bar.update(task, advance=n_bytes, rows=n_rows)

        yield advance


@contextmanager
def show_rows(n_rows: int, what: str) -> Iterator[Callable[[float], None]]:
    """A bar of the rows that a pass over rows in bins has gone through."""
    from rich.progress import MofNCompleteColumn, TextColumn

    with _pass_bar(MofNCompleteColumn(), TextColumn("rows")) as bar:
        task = bar.add_task(one_line(what), total=n_rows)
        yield lambda rows: bar.advance(task, rows)
        bar.update(task, completed=n_rows)  # rows on other machines give no sign


@contextmanager
def no_pass(what: str, n_bytes: int) -> Iterator[Advance]:
    """The same without a bar."""
    yield lambda n_bytes, rows: None


PACKAGE = str(Path(__file__).parents[1]) + sep
# libraries that call estimators for the user, in pipelines, searches and scores
CALLERS = ("sklearn", "joblib", "dask", "distributed")


def _is_users(file: str) -> bool:
    """Whether a file is neither of this package nor of a library between it and the user."""
    if file.startswith(PACKAGE) or file == contextlib.__file__:
        return False
    return not any(f"site-packages{sep}{name}{sep}" in file for name in CALLERS)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line of the user; at the nearest outside this package where the user has none."""
    frame: FrameType | None = sys._getframe(1)
    level, outside = 1, None
    while frame is not None:
        file = frame.f_code.co_filename
        if _is_users(file):
            break
        if outside is None and not file.startswith(PACKAGE):
            outside = level
        level, frame = level + 1, frame.f_back
    else:
        level = outside or 1
    warning = category(say(message))
    vars(warning)["message"] = message  # for another door
    warnings.warn(warning, stacklevel=level + 1)


# ---------------------------------------------------------------------------------------------------------- deprecation

# Something public that is to go in, the same out with a warning that names its replacement and when it goes.
#
# docs/versions.md has the policy.


Function = TypeVar("Function", bound=Callable[..., Any])
UNSET: Any = object()  # no value that somebody gives


def _warn(what: str, instead: str, removed_in: str) -> None:
    said = f"{what} is deprecated and will be removed in pysirus {removed_in}; use {instead} instead."
    warnings.warn(said, FutureWarning, stacklevel=3)


def deprecated(instead: str, removed_in: str) -> Callable[[Function], Function]:
    """Decorate a function or method that another one replaces."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def warned(*given: Any, **named: Any) -> Any:
            _warn(f"{function.__qualname__}()", instead, removed_in)
            return function(*given, **named)

        return warned  # type: ignore[return-value]

    return decorate


def renamed_parameter(earlier: str, now: str, removed_in: str) -> Callable[[Function], Function]:
    """Decorate a function one of whose parameters has a new name: the earlier one is still taken."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def renamed(*given: Any, **named: Any) -> Any:
            value = named.pop(earlier, UNSET)
            if value is not UNSET:
                if now in named:
                    raise TypeError(f"{function.__qualname__}() got {now} and {earlier}, which is its earlier name.")
                _warn(f"{earlier}=", f"{now}=", removed_in)
                named[now] = value
            return function(*given, **named)

        return renamed  # type: ignore[return-value]

    return decorate

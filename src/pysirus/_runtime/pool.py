"""Threads that leave early and leave nobody behind.

An interrupt reaches the thread that called, which then waits for the others. So whoever works for long looks now and
then whether anyone still waits for the answer: a part of the rows has some hundred thousand of them, and the question
of a fold about its trees takes seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

_here = threading.local()
_crews = count()


class GivenUp(Exception):
    """Nobody waits for this answer any more."""


def go_on() -> None:
    """Leave, where this is a thread of a crew that was dismissed."""
    dismissed: threading.Event | None = getattr(_here, "dismissed", None)
    if dismissed is not None and dismissed.is_set():
        raise GivenUp


@contextmanager
def crew(n_threads: int, dismiss: Callable[[], None] = lambda: None) -> Iterator[ThreadPoolExecutor]:
    """Some threads; what raises, an interrupt above all, dismisses them, and ``dismiss`` is told."""
    dismissed, name = threading.Event(), f"pysirus-crew-{next(_crews)}-"

    def begin() -> None:
        _here.dismissed = dismissed

    with ThreadPoolExecutor(n_threads, thread_name_prefix=name, initializer=begin) as pool:
        try:
            yield pool
        except BaseException:
            dismissed.set()
            dismiss()
            pool.shutdown(wait=True, cancel_futures=True)
            # an interrupt while a thread starts: it runs, but the pool has not heard of it
            while any(thread.name.startswith(name) for thread in threading.enumerate()):
                time.sleep(0.001)
            raise

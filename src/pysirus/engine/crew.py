"""Threads out that leave early: whoever works on a part looks now and then whether anyone still waits for the answer.

An interrupt reaches the thread that called, which then waits for the others: a part has some hundred thousand rows, and
the question of a fold about its trees takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, local

_here = local()


class GivenUp(Exception):
    """Nobody waits for this answer any more."""


def go_on() -> None:
    """Leave, where this is a thread of a crew that was dismissed."""
    dismissed: Event | None = getattr(_here, "dismissed", None)
    if dismissed is not None and dismissed.is_set():
        raise GivenUp


@contextmanager
def crew(n_threads: int) -> Iterator[ThreadPoolExecutor]:
    """Some threads; what raises, an interrupt above all, dismisses them."""
    dismissed = Event()

    def begin() -> None:
        _here.dismissed = dismissed

    with ThreadPoolExecutor(n_threads, initializer=begin) as pool:
        try:
            yield pool
        except BaseException:
            dismissed.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise

"""Threads that stop promptly when the work is cancelled, and that are always joined.

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

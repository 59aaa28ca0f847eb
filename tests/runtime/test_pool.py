"""Threads that are cancelled: none is left, whenever the interrupt comes."""

import threading
import time

import pytest

from pysirus._runtime.console import Cancelled, cancellable_pool, check_cancelled


def work_until_cancelled() -> None:
    while True:
        check_cancelled()
        time.sleep(0.001)


def pool_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("pysirus-pool-")}


def test_cancelled_threads_stop() -> None:
    before, told, working = pool_threads(), [], threading.Semaphore(0)

    def work() -> None:
        working.release()
        work_until_cancelled()

    with pytest.raises(KeyboardInterrupt), cancellable_pool(2, lambda: told.append("stop")) as pool:
        futures = [pool.submit(work) for _ in range(5)]
        assert working.acquire(timeout=60) and working.acquire(timeout=60)
        raise KeyboardInterrupt
    assert pool_threads() == before and told == ["stop"]
    # a thread that has stopped may take up another task before the rest are taken from the pool, and stops there too
    assert all(future.cancelled() or isinstance(future.exception(), Cancelled) for future in futures)
    assert isinstance(futures[0].exception(), Cancelled) and isinstance(futures[1].exception(), Cancelled)


def test_a_thread_that_an_interrupt_found_starting_leaves_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool notes a thread after it has waited for its start; the interrupt comes while it waits."""
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    before = pool_threads()
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), cancellable_pool(2) as pool:
        pool.submit(work_until_cancelled)
    assert pool_threads() == before


def test_outside_a_pool_one_goes_on() -> None:
    check_cancelled()
    with cancellable_pool(1) as pool:
        assert pool.submit(check_cancelled).result() is None

"""Threads that are cancelled: none is left, whenever the interrupt comes."""

import threading
import time

import pytest

from pysirus._runtime.console import Cancelled, cancellable_pool, check_cancelled


def work_until_cancelled() -> None:
    while True:
        check_cancelled()
        time.sleep(0.001)


def test_cancelled_threads_stop() -> None:
    before, told = threading.active_count(), []
    with pytest.raises(KeyboardInterrupt), cancellable_pool(2, lambda: told.append("stop")) as pool:
        futures = [pool.submit(work_until_cancelled) for _ in range(5)]
        time.sleep(0.02)
        raise KeyboardInterrupt
    assert threading.active_count() == before and told == ["stop"]
    assert sum(future.cancelled() for future in futures) == 3
    assert all(isinstance(future.exception(), Cancelled) for future in futures[:2])


def test_a_thread_that_an_interrupt_found_starting_leaves_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool notes a thread after it has waited for its start; the interrupt comes while it waits."""
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    before = threading.active_count()
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), cancellable_pool(2) as pool:
        pool.submit(work_until_cancelled)
    assert threading.active_count() == before


def test_outside_a_pool_one_goes_on() -> None:
    check_cancelled()
    with cancellable_pool(1) as pool:
        assert pool.submit(check_cancelled).result() is None

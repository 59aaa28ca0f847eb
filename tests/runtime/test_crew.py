"""Threads that are dismissed: none is left, whenever the interrupt comes."""

import threading
import time

import pytest

from pysirus._runtime.pool import GivenUp, crew, go_on


def work_until_dismissed() -> None:
    while True:
        go_on()
        time.sleep(0.001)


def test_who_is_dismissed_leaves() -> None:
    before, told = threading.active_count(), []
    with pytest.raises(KeyboardInterrupt), crew(2, lambda: told.append("stop")) as pool:
        futures = [pool.submit(work_until_dismissed) for _ in range(5)]
        time.sleep(0.02)
        raise KeyboardInterrupt
    assert threading.active_count() == before and told == ["stop"]
    assert sum(future.cancelled() for future in futures) == 3
    assert all(isinstance(future.exception(), GivenUp) for future in futures[:2])


def test_a_thread_that_an_interrupt_found_starting_leaves_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool notes a thread after it has waited for its start; the interrupt comes while it waits."""
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    before = threading.active_count()
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), crew(2) as pool:
        pool.submit(work_until_dismissed)
    assert threading.active_count() == before


def test_outside_a_crew_one_goes_on() -> None:
    go_on()
    with crew(1) as pool:
        assert pool.submit(go_on).result() is None

"""Queries that kill who is asked: the worker of Dask, the executor of Spark, the first time only."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pysirus.engine.lockstep import _QueryBatch


def kind_of(query):
    """What is asked, beneath what other queries it is wrapped in."""
    folds = ""
    while isinstance(query, _QueryBatch) or hasattr(query, "query"):
        if isinstance(query, _QueryBatch):
            query, folds = query.queries[0], " of folds"
        else:
            query = query.query
    return type(query).__name__ + folds


def this_process():
    return os.getpid()


def this_executor():
    """The Java process that this Python works for."""
    import psutil

    return next(process.pid for process in psutil.Process().parents() if process.name() == "java")


@dataclass(frozen=True)
class Deadly:
    """A query that takes along who is asked first."""

    query: Any
    mark: Path
    victim: Any

    def __call__(self, part):
        if not self.mark.exists():
            self.mark.touch()
            os.kill(self.victim(), signal.SIGKILL)
        return self.query(part)


@dataclass(frozen=True)
class Slow:
    """A query that one of the workers takes long to answer."""

    query: Any
    pid: int

    def __call__(self, part):
        if os.getpid() == self.pid:
            time.sleep(0.1)
        return self.query(part)


def make_deadly(monkeypatch, owners, kinds, folder, victim=this_process):
    """See that the first query of each of some kinds kills; a mark in the folder then has its name."""

    def deadly(ask):
        def asked(self, query):
            kind = kind_of(query)
            return ask(self, Deadly(query, folder / kind, victim) if kind in kinds else query)

        return asked

    for owner, name in owners:
        monkeypatch.setattr(owner, name, deadly(getattr(owner, name)))

"""Questions that kill who is asked: the worker of Dask, the executor of Spark, the first time only."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pysirus.engine.lockstep import _QueryBatch


def kind_of(question):
    """What is asked, beneath what other questions it is wrapped in."""
    folds = ""
    while isinstance(question, _QueryBatch) or hasattr(question, "question"):
        if isinstance(question, _QueryBatch):
            question, folds = question.questions[0], " of folds"
        else:
            question = question.question
    return type(question).__name__ + folds


def this_process():
    return os.getpid()


def this_executor():
    """The Java process that this Python works for."""
    import psutil

    return next(process.pid for process in psutil.Process().parents() if process.name() == "java")


@dataclass(frozen=True)
class Deadly:
    """A question that takes along who is asked first."""

    question: Any
    mark: Path
    victim: Any

    def __call__(self, part):
        if not self.mark.exists():
            self.mark.touch()
            os.kill(self.victim(), signal.SIGKILL)
        return self.question(part)


@dataclass(frozen=True)
class Slow:
    """A question that one of the workers takes long to answer."""

    question: Any
    pid: int

    def __call__(self, part):
        if os.getpid() == self.pid:
            time.sleep(0.1)
        return self.question(part)


def make_deadly(monkeypatch, owners, kinds, folder, victim=this_process):
    """See that the first question of each of some kinds kills; a mark in the folder then has its name."""

    def deadly(ask):
        def asked(self, question):
            kind = kind_of(question)
            return ask(self, Deadly(question, folder / kind, victim) if kind in kinds else question)

        return asked

    for owner, name in owners:
        monkeypatch.setattr(owner, name, deadly(getattr(owner, name)))

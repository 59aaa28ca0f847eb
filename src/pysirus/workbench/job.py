"""A plan on standard input in, progress in lines of JSON out, and a model file: learning in a process of its own.

It can then be stopped at once, whatever it is doing, and the page goes on answering.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from pysirus._text.message import SafeTextError, say

Tell = Callable[[dict[str, Any]], None]


class Stopped(Exception):
    """Somebody stopped the work."""


def learn(job: dict[str, Any], tell: Tell) -> None:
    """Fit an estimator as a job says, and save it; whoever asked is told of progress and warnings."""
    import pysirus
    from pysirus._runtime.console import heard_by

    def heard(what: str, done: float, of: float) -> None:
        tell({"doing": what, "done": done, "of": of})

    estimator = getattr(pysirus, job["estimator"])(**job["parameters"])
    y = tuple(job["y"]) if isinstance(job["y"], list) else job["y"]
    with warnings.catch_warnings(record=True) as found, heard_by(heard):
        warnings.simplefilter("always")
        estimator.fit(job["table"], y, **job["given"])
    estimator.save(job["to"])
    for text in dict.fromkeys(str(own.message) for own in found if issubclass(own.category, UserWarning)):
        tell({"warning": text})


class Worker:
    """Jobs in a process of their own, one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._stopped = threading.Event()

    def run(self, job: dict[str, Any], tell: Tell) -> None:
        """Do a job; ``Stopped`` when it was stopped, an error of the job as it was said there."""
        self._stopped.clear()
        command = [sys.executable, "-m", "pysirus.workbench.job"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        ) as process:
            self._process = process
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            try:
                process.stdin.write(json.dumps(job))
                process.stdin.close()
            except BrokenPipeError:
                pass  # stopped before it began
            failed = _follow(process.stdout, tell)
            said = process.stderr.read()
        if self._stopped.is_set():
            raise Stopped
        if failed is not None:
            raise JobError(failed)
        if process.returncode:
            raise JobError((said.strip().splitlines() or ["the process ended"])[-1])

    def stop(self) -> None:
        """End the job that runs, if one does."""
        self._stopped.set()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()


class JobError(SafeTextError, ValueError):
    """What went wrong in a job, in the words of its own process."""


def _follow(lines: IO[str], tell: Tell) -> str | None:
    """Pass on what a process tells; its error, if it has one."""
    failed = None
    for line in lines:
        told = json.loads(line)
        failed = told.get("error", failed)
        if "error" not in told:
            tell(told)
    return failed


def main() -> int:
    """Do the job that stands on standard input."""
    job = json.loads(sys.stdin.read())

    def tell(told: dict[str, Any]) -> None:
        print(json.dumps(told), flush=True)

    try:
        learn(job, tell)
    except (SafeTextError, ImportError, OSError, ValueError) as error:
        Path(job["to"]).unlink(missing_ok=True)
        tell({"error": say(str(error))})
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

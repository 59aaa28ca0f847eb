"""What was chosen on the page in, the Python and the command line that do the same out; and a process that learns.

A fit and the edits after it are data (``Plan``, ``Edit``), which the session runs and which are written as code. What
takes long runs in a process of its own (``Worker``): a job on standard input in, progress in lines of JSON and a model
file out. It can then be stopped at once, whatever it is doing, and the page goes on answering.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

from pysirus._text.message import SafeTextError, say

ESTIMATORS = {"classes": "SirusClassifierCV", "survival": "SirusSurvivalCV"}
LOSSES = {"counts": "poisson", "amounts": "gamma", "zeros": "tweedie"}
KINDS = ("number", "classes", "counts", "amounts", "zeros", "survival")
MODEL = "{stem}.json"
COMMAND = (sys.executable, "-m", "pysirus.workbench.plan")  # a process that does a job
Tell = Callable[[dict[str, Any]], None]


class Step(NamedTuple):
    """A step of the session: what it was, and how it is written."""

    what: str
    python: str
    command: str


@dataclass(frozen=True)
class Aim:
    """What is to be predicted."""

    kind: str  # one of KINDS
    target: str  # of survival the times
    event: str | None = None
    event_value: Any = None
    exposure: str | None = None
    positive: Any = None
    weights: str | None = None
    groups: str | None = None

    @property
    def y(self) -> str | tuple[str, str]:
        """The target as ``fit`` takes it."""
        return self.target if self.event is None else (self.target, self.event)

    @property
    def used(self) -> set[str]:
        """The columns that are no features."""
        return {name for name in (self.target, self.event, self.exposure, self.weights, self.groups) if name}


@dataclass(frozen=True)
class Plan:
    """How a list is learned: the target, what is known of columns, and settings of the estimator."""

    aim: Aim
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    directions: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def estimator(self) -> str:
        """The name of its class."""
        return ESTIMATORS.get(self.aim.kind, "SirusRegressorCV")

    @property
    def parameters(self) -> dict[str, Any]:
        """What the estimator is made with."""
        given: dict[str, Any] = {"random_state": 0, "n_jobs": -1, "prepare": True, **self.settings}
        given |= {"loss": LOSSES[self.aim.kind]} if self.aim.kind in LOSSES else {}
        given |= {"event": self.aim.event_value} if self.aim.event_value is not None else {}
        given |= {"positive_class": self.aim.positive} if self.aim.positive is not None else {}
        given |= {"categorical_features": list(self.categorical)} if self.categorical else {}
        return given | ({"monotonic_cst": dict(self.directions)} if self.directions else {})

    @property
    def given(self) -> dict[str, Any]:
        """What ``fit`` is called with besides the table and the target."""
        aim = self.aim
        named = {"sample_weight": aim.weights, "groups": aim.groups, "exposure": aim.exposure}
        return {name: value for name, value in (*named.items(), ("drop", list(self.drop))) if value}

    def step(self, file: str, to: str) -> Step:
        """As code; the command writes the model to a file."""
        made, given = keywords(self.parameters), keywords(self.given)
        fit = ", ".join([repr(file), repr(self.aim.y), *([given] if given else [])])
        python = f"from pysirus import {self.estimator}\n\nmodel = {self.estimator}({made}).fit({fit})"
        return Step("tune", python, command("tune", file, *self._options(), "--model", to))

    def _options(self) -> Iterable[str]:
        aim = self.aim
        if aim.event is None:
            yield from ("--target", aim.target)
        else:
            value = "" if aim.event_value is None else f"={aim.event_value}"
            yield from ("--time", aim.target, "--event", f"{aim.event}{value}")
        if aim.kind == "classes":
            yield from ("--task", "classification")
        named: tuple[tuple[str, Any], ...] = (
            ("--loss", LOSSES.get(aim.kind)),
            ("--exposure", aim.exposure),
            ("--positive", aim.positive),
            ("--sample-weight", aim.weights),
            ("--groups", aim.groups),
        )
        for option, given in named:
            if given is not None:
                yield from (option, str(given))
        for name, sign in self.directions.items():
            yield from ("--increasing" if sign > 0 else "--decreasing", name)
        for option, names in (("--categorical", self.categorical), ("--drop", self.drop)):
            for name in names:
                yield from (option, name)
        from pysirus._parameters.table import PARAMETERS

        for name, value in {"random_state": 0, **self.settings}.items():
            yield from (PARAMETERS[name].metadata["option"].name, str(value))


@dataclass(frozen=True)
class Edit:
    """A change of a list: ``with_rules``, ``without``, ``adding`` or ``decide``."""

    method: str
    value: Any
    note: str | None = None
    by: str | None = None
    date: str | None = None

    @property
    def _told(self) -> dict[str, str]:
        """Why, by whom and when, as far as it was said."""
        return {name: text for name in ("note", "by", "date") if (text := getattr(self, name))}

    def apply(self, model: Any, rows: tuple[Any, Any, Any]) -> Any:
        """The edited model."""
        if self.method == "with_rules":
            return model.with_rules(self.value)
        if self.method == "decide":
            return model.decide(self.value)
        return getattr(model, self.method)(self.value, *rows, **self._told)

    def step(self, file: str, aim: Aim, name: str, to: str) -> Step:
        """As code; the command reads one model file and writes another."""
        own: list[Any] = []
        python = f"model = model.{self.method}({self.value!r}"
        if self.method == "with_rules":
            return Step("length", f"{python})", command("edit", name, "--rules", self.value, "-o", to))
        if self.method == "decide":
            costs = ",".join(f"{label}={cost:g}" for label, cost in self.value.items())
            return Step("decide", f"{python})", command("decide", name, "--costs", costs, "-o", to))
        kept = keywords({**({"sample_weight": aim.weights} if aim.weights else {}), **self._told})
        python += ", " + ", ".join([repr(file), repr(aim.y), *([kept] if kept else [])]) + ")"
        own += ["--without" if self.method == "without" else "--add", self.value]
        own += [word for name, text in self._told.items() for word in (f"--{name}", text)]
        return Step(self.method, python, command("edit", name, file, *own, "-o", to))


def model_file(file: str) -> str:
    """The name of the model that is learned from a file."""
    return MODEL.format(stem=Path(file).name.split(".")[0] or "model")


def all_steps(plan: Plan, edits: Sequence[Edit], file: str, to: str | None = None) -> list[Step]:
    """A fit and the edits after it; commands write a file each, the last one the model."""
    last = model_file(file) if to is None else to
    files = [f"{Path(last).stem}-{number}.json" for number in range(1, len(edits) + 1)] + [last]
    edited = (edit.step(file, plan.aim, *names) for edit, names in zip(edits, pairwise(files)))
    return [plan.step(file, files[0]), *edited]


def python_script(steps: Sequence[Step], to: str, after: Sequence[Step] = ()) -> str:
    """All steps as a script that writes the model file, and does what comes ``after``."""
    return "\n".join([*(step.python for step in steps), f"model.save({to!r})", *(step.python for step in after)]) + "\n"


def shell_script(steps: Sequence[Step]) -> str:
    """All steps as commands."""
    return "\n".join(step.command for step in steps) + "\n"


def keywords(given: Mapping[str, Any]) -> str:
    """Arguments by name, as Python writes them."""
    return ", ".join(f"{name}={value!r}" for name, value in given.items())


def command(*words: Any) -> str:
    """A command line of pysirus."""
    return shlex.join(["pysirus", *map(str, words)])


# ------------------------------------------------------------------------------------------------ a process that learns


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
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as aside,  # a pipe would fill up
            subprocess.Popen([*COMMAND], **pipes, stderr=aside, text=True, encoding="utf-8") as process,
        ):
            self._process = process
            if self._stopped.is_set():  # before the process was known here
                process.kill()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(json.dumps(job))
                process.stdin.close()
            except BrokenPipeError:
                pass  # stopped before it began
            failed = _follow(process.stdout, tell)
            process.wait()
            aside.seek(0)
            said = aside.read()
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
    """Do the job that stands on standard input. Its progress alone goes to standard output."""
    job, output = json.loads(sys.stdin.read()), sys.stdout

    def tell(told: dict[str, Any]) -> None:
        print(json.dumps(told), file=output, flush=True)

    try:
        with redirect_stdout(sys.stderr):
            learn(job, tell)
    except (SafeTextError, ImportError, OSError, ValueError) as error:
        Path(job["to"]).unlink(missing_ok=True)
        tell({"error": say(str(error))})
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What people choose, step by step, in; a rule list, its files and the code that makes it out. No page, no server.

Each method is a step of the page and returns plain data. The list is always the tuned one with the edits applied in
their order, so that an edit can be taken back, and all of it is written as code (``recorded``).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pysirus import load
from pysirus._data.column import Column, DataError
from pysirus._data.read import check_column, read_file
from pysirus._parameters import ParameterError
from pysirus._terms.from_text import columns_of_rules, read_rule
from pysirus._terms.lexicon import RuleTextError
from pysirus._text.format import format_level
from pysirus._use.edit import now
from pysirus.estimators.door import in_memory
from pysirus.estimators.rule_model import RuleModel
from pysirus.workbench.plan import (
    KINDS,
    Aim,
    Edit,
    Plan,
    Step,
    Worker,
    all_steps,
    model_file,
    python_script,
    shell_script,
)
from pysirus.workbench.understood import describe, looks_like_event, picture, possible_kinds, read_columns

MOST_BYTES = 200 << 20  # of a table


@dataclass(frozen=True)
class Learned:
    """A tuned list, the plan that it was learned by, and what was said meanwhile."""

    plan: Plan
    estimator: Any
    rows: tuple[Any, Any, Any]  # features, targets and weights
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kept:
    """A list that was put aside to compare others with."""

    model: Any
    steps: tuple[Step, ...]


class Session:
    """The work on one table, from its file to a signed list.

    Parameters
    ----------
    folder : path, optional
        Where uploaded files and models lie meanwhile; by default a temporary folder that ``close`` removes.
    settings : dict, optional
        Parameters of the estimator, such as ``n_trees``, instead of its defaults.

    Examples
    --------
    >>> from pysirus.datasets import SHIPPED
    >>> session = Session(settings={"n_trees": 200, "n_repeats": 1})
    >>> session.open(SHIPPED["ozone"].path)["rows"]
    330
    >>> aim = session.aim("number", "O3")
    """

    def __init__(self, folder: Path | None = None, settings: Mapping[str, Any] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pysirus-")) if folder is None else folder
        self._is_own = folder is None
        self._settings = dict(settings or {})
        self.worker = Worker()
        self._forget()

    def close(self) -> None:
        """Stop what runs, and remove the files."""
        self.worker.stop()
        if self._is_own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _forget(self) -> None:
        self.path: Path | None = None
        self.name = ""
        self.table: pa.Table | None = None
        self.plan: Plan | None = None
        self.categorical: tuple[str, ...] = ()
        self.drop: tuple[str, ...] = ()
        self.directions: dict[str, int] = {}
        self.learned: Learned | None = None
        self.edits: tuple[Edit, ...] = ()
        self.kept: dict[str, Kept] = {}
        self._model: Any = None
        self.signed: dict[str, Any] | None = None

    # ------------------------------------------------------------------------------------------------------- the table

    def open(self, path: Path | str, name: str | None = None) -> dict[str, Any]:
        """Read a table; what was chosen for another one is forgotten."""
        path = Path(path)
        if path.exists() and path.stat().st_size > MOST_BYTES:
            raise DataError(
                f"'{name or path.name}' has {path.stat().st_size >> 20} MB, and the workbench takes "
                f"{MOST_BYTES >> 20}. Take a sample of its rows, or use the command line, which reads in batches."
            )
        table = read_file(path)
        self._forget()
        self.path, self.name, self.table = path, name or str(path), table
        return self.understood()

    def understood(self) -> dict[str, Any]:
        """The table and its columns, as they are read now."""
        return {"name": Path(self.name).name, **describe(self._table, self.categorical, self.drop)}

    def column(self, name: str, use: str) -> dict[str, Any]:
        """Change how a column is read: ``use`` is "auto", "categories" or "leave out"."""
        check_column(self._table, name, "table")
        if use not in ("auto", "categories", "leave out"):
            raise ParameterError(f"use must be 'auto', 'categories' or 'leave out', got {use!r}.")
        self.categorical = _toggled(self.categorical, name, use == "categories")
        self.drop = _toggled(self.drop, name, use == "leave out")
        if use == "categories":  # leading zeros count
            assert self.path is not None
            self.table = read_file(self.path, labels=self.categorical)
        if self.plan is not None and name not in self.plan.aim.used:
            self.plan = self._plan_for(self.plan.aim)
        return self.understood()

    @property
    def _table(self) -> pa.Table:
        if self.table is None:
            raise ParameterError("There is no table yet. Choose a CSV, Excel or Parquet file first.")
        return self.table

    # ------------------------------------------------------------------------------------------------------ the target

    def targets(self) -> list[dict[str, Any]]:
        """The columns that can be predicted, with the kinds of target that each can be."""
        table = self._table
        return [
            {"name": name, "kinds": kinds, "event": looks_like_event(table[name])}
            for name in table.column_names
            if (kinds := possible_kinds(table[name])) or looks_like_event(table[name])
        ]

    def aim(self, kind: str, target: str, **more: Any) -> dict[str, Any]:
        """Choose what to predict; ``more`` are ``event``, ``event_value``, ``exposure``, ``positive``, ``weights``,
        ``groups``."""
        if kind not in KINDS:
            raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
        if (kind == "survival") == (more.get("event") is None):
            raise ParameterError("event goes with survival: the column that says whether the time ended with it.")
        aim = Aim(kind, target, **{name: value for name, value in more.items() if value not in (None, "")})
        for name in aim.used:
            check_column(self._table, name, "table")
        aim = replace(aim, event_value=self._value(aim.event, aim.event_value))
        aim = replace(aim, positive=self._value(target, aim.positive))
        names = [name for name in (aim.target, aim.event, aim.exposure, aim.weights, aim.groups) if name]
        if len(set(names)) < len(names):
            raise ParameterError("A column has two roles. Choose another one for one of them.")
        if kind not in possible_kinds(self._table[target]):
            raise DataError(f"Column '{target}' cannot be taken so: see which kinds of target it can be.")
        self.plan = self._plan_for(aim)
        return self.aimed()

    def _value(self, column: str | None, text: Any) -> Any:
        """The value of a column that a text stands for."""
        if column is None or text is None:
            return None
        values = self._table[column].unique().drop_null().to_pylist()
        found = [value for value in values if value == text or text in (str(value), format_level(value))]
        if not found:
            raise ParameterError(f"Column '{column}' has no value {text!r}.")
        return found[0]

    def _plan_for(self, aim: Aim) -> Plan:
        names = self._table.column_names
        drop = tuple(name for name in self.drop if name in names and name not in aim.used)
        categorical = tuple(name for name in self.categorical if name not in aim.used and name not in drop)
        directions = {name: sign for name, sign in self.directions.items() if name not in {*aim.used, *drop}}
        return Plan(aim, categorical, drop, directions, self._settings)

    def aimed(self) -> dict[str, Any]:
        """What was chosen, with a picture of the target and the columns that are left."""
        aim, table = self._required.aim, self._table
        as_classes = [aim.target] if aim.kind == "classes" else []
        made, _ = read_columns(table.select([aim.target, *([] if aim.event is None else [aim.event])]), as_classes)
        used = aim.used | set(self._required.drop)
        target = next((own for own in made.columns if own.name == aim.target), made.columns[0])
        return {
            "aim": vars(aim),
            "picture": picture(target),
            "missing": table[aim.target].null_count,
            "about": _about(aim, target),
            "features": [name for name in table.column_names if name not in used],
            "code": self.steps()[0]._asdict(),
        }

    @property
    def _required(self) -> Plan:
        if self.plan is None:
            raise ParameterError("Nothing is chosen to be predicted yet.")
        return self.plan

    # --------------------------------------------------------------------------------------------------------- tuning

    def constrain(
        self, directions: Mapping[str, int] | None = None, drop: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Set directions (1 rises, -1 falls, 0 free) and columns to leave out; the list must be tuned again."""
        for name, sign in (directions or {}).items():
            check_column(self._table, name, "table")
            if sign not in (-1, 0, 1):
                raise ParameterError(f"The direction of '{name}' must be 1, -1 or 0, got {sign!r}.")
            self.directions = {key: own for key, own in {**self.directions, name: sign}.items() if own}
        for name in drop or ():
            check_column(self._table, name, "table")
            self.drop = _toggled(self.drop, name, True)
        self.plan = self._plan_for(self._required.aim)
        return {"stale": self.is_stale, "directions": self.directions, "drop": list(self.drop)}

    @property
    def is_stale(self) -> bool:
        """Whether something was changed since the list was tuned."""
        return self.learned is None or self.learned.plan != self.plan

    def tune(self, tell: Callable[[dict[str, Any]], None] = lambda told: None) -> None:
        """Learn the list, in a process of its own; ``Stopped`` if it is stopped. Edits start anew."""
        said: list[str] = []
        plan = self._plan_for(self._required.aim)
        to = self.folder / "tuned.json"
        job = {"estimator": plan.estimator, "parameters": plan.parameters, "table": str(self.path), "y": plan.aim.y}

        def heard(told: dict[str, Any]) -> None:
            if "warning" in told:
                said.append(told["warning"])
            tell(told)

        self.worker.run({**job, "given": plan.given, "to": str(to)}, heard)
        estimator = load(to)
        rows = in_memory(estimator._as_model(), str(self.path), plan.aim.y, plan.aim.weights)
        self.plan, self.learned = plan, Learned(plan, estimator, rows, tuple(said))
        self.edits, self._model, self.signed = (), estimator._as_model(), None

    def stop(self) -> None:
        """Stop tuning."""
        self.worker.stop()

    # -------------------------------------------------------------------------------------------------------- the list

    @property
    def tuned(self) -> Learned:
        """What was learned; an error where nothing was."""
        if self.learned is None:
            raise ParameterError("There is no list yet. Choose a target and tune first.")
        return self.learned

    @property
    def model(self) -> RuleModel:
        """The list as it is now."""
        assert self.tuned
        return RuleModel.of(self._model)

    def length(self, n_rules: int) -> None:
        """Take the list of another length; later edits are applied to it where they can be."""
        others = [own for own in self.edits if own.method != "with_rules"]
        self._apply([Edit("with_rules", int(n_rules)), *others], lenient=True)

    def remove(self, rule: str, note: str | None = None, by: str | None = None) -> None:
        """Remove a rule, by its text."""
        self._apply([*self.edits, Edit("without", rule, note or None, by or None, now())])

    def add(self, rule: str, note: str | None = None, by: str | None = None) -> None:
        """Add a rule in words."""
        self._apply([*self.edits, Edit("adding", rule.strip(), note or None, by or None, now())])

    def costs(self, costs: Mapping[Any, float]) -> None:
        """Decide by what mistakes about each class cost."""
        others = [own for own in self.edits if own.method != "decide"]
        self._apply([*others, *([Edit("decide", dict(costs))] if costs else [])])

    def undo(self) -> None:
        """Take the last edit back."""
        self._apply(self.edits[:-1])

    def _apply(self, edits: Sequence[Edit], lenient: bool = False) -> None:
        """The list with these edits; a lenient one leaves out those that no longer apply."""
        learned, done = self.tuned, []
        model: Any = learned.estimator
        for edit in edits:
            try:
                model = edit.apply(model, learned.rows)
            except (ParameterError, RuleTextError, ValueError):
                if not lenient or edit.method == "with_rules":
                    raise
                continue
            done.append(edit)
        self.edits, self._model, self.signed = tuple(done), model._as_model(), None

    def check_rule(self, text: str) -> dict[str, Any]:
        """What a rule in words asks, and how many rows it covers; or where it cannot be read."""
        model = self.model
        try:
            rule = read_rule(text, columns_of_rules(model.features, model.all_rules))
            covered = int(rule.holds(model.align(self.tuned.rows[0])).sum())
        except RuleTextError as error:
            return {"fine": False, "problem": str(error)}
        return {"fine": True, "rows": covered, "of": self._table.num_rows, "text": rule.condition_text}

    # ------------------------------------------------------------------------------------------------------- the code

    def steps(self, to: str | None = None) -> list[Step]:
        """What was done, as code that ends in the model file, or in one of another name."""
        if self.plan is None:
            return []
        plan = self.plan if self.learned is None else self.learned.plan
        return all_steps(plan, self.edits, self.name, to)

    def script(self) -> dict[str, str]:
        """All of it as a Python script and as commands, a signature included."""
        steps = self.steps()
        signed = [] if self.signed is None else [self.signed["code"]]
        return {"python": python_script(steps, self.model_name, signed), "shell": shell_script([*steps, *signed])}

    @property
    def model_name(self) -> str:
        """The name of the model file."""
        return model_file(self.name)

    def answers(self, start: int, n_rows: int) -> list[str]:
        """What is predicted of some of the rows, in words; of classes, the decision."""
        model = self.model
        return [
            str(own) if model.classes else model.family.prediction_text(float(own))
            for own in model.predict(self._table.slice(start, n_rows))
        ]

    def keep(self, name: str) -> list[str]:
        """Put the list aside under a name, to compare others with it."""
        self.kept[name] = Kept(self.model, tuple(self.steps(f"{name}.json")))
        return list(self.kept)

    def save(self, path: Path) -> None:
        """Write the model file, as the script would."""
        untouched = not self.edits
        (self.tuned.estimator if untouched else self.model).save(path)


def _about(aim: Aim, target: Column) -> str | None:
    """Of two classes, the one whose probability is talked about."""
    if aim.kind != "classes" or len(target.levels) != 2:
        return None
    return format_level(sorted(target.levels)[1] if aim.positive is None else aim.positive)


def _toggled(names: tuple[str, ...], name: str, wanted: bool) -> tuple[str, ...]:
    rest = tuple(own for own in names if own != name)
    return (*rest, name) if wanted else rest

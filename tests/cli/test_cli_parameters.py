"""Options that come from the table of parameters."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import pysirus
from pysirus._parameters.table import (
    ClassWeight,
    Constraining,
    Folds,
    Growing,
    ListSize,
    Loss,
    Option,
    PositiveClass,
    Running,
    Stages,
    Weighting,
    parameter,
)
from pysirus.cli._options import takes
from pysirus.cli.fit import fit, tune

EVERY = (ClassWeight, PositiveClass, Weighting, Loss, Growing, Constraining, Stages, Running)


def to_half(text: str) -> float:
    if not text.endswith("/2"):
        raise ValueError(f"a half such as 3/2, got '{text}'.")
    return int(text[:-2]) / 2


@dataclass
class Shape:
    """A group that nobody has seen before."""

    width: int = parameter(7, "int", "How wide.", option=Option("--wide", "N", "How wide it is.", None))
    height: float | None = parameter(None, "float", "How high.", option=Option("--high", "X", "How high.", None, "-y"))
    depth: float = parameter(
        1.5, "float", "How deep.", option=Option("--deep", "N/2", "How deep.", type=str, default="3/2", parse=to_half)
    )
    hidden: int = parameter(3, "int", "Of estimators alone.")


@pytest.fixture
def call():
    app, seen = typer.Typer(add_completion=False), []

    @app.command()
    @takes(Shape)
    def build(place: str, *, parameters: dict[str, Any], loud: bool = False) -> None:
        """Build it."""
        seen.append((place, parameters, loud))

    def run(*arguments: str) -> tuple[int, str, list]:
        result = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
        return result.exit_code, result.output, seen

    return run


def test_a_field_of_the_table_is_an_option(call) -> None:
    assert call("here")[2][-1] == ("here", {"width": 7, "depth": 1.5}, False)
    typed = call("here", "--wide", "2", "-y", "0.5", "--deep", "5/2", "--loud")[2][-1]
    assert typed == ("here", {"width": 2, "height": 0.5, "depth": 2.5}, True)


def test_help_has_what_the_table_says(call) -> None:
    code, out, _ = call("--help")
    lines = [line for line in out.splitlines() if "--" in line]
    assert code == 0 and "hidden" not in out
    # a short form first, then as in the table, then the command's own; panels come last
    assert [line.split()[1] for line in lines] == ["--high", "--wide", "--loud", "--help", "--deep"]
    assert "How wide it is." in lines[1] and "[default: 7]" in lines[1] and "[default: 3/2]" in lines[4]


def test_what_cannot_be_parsed_names_the_option(call) -> None:
    code, out, seen = call("here", "--deep", "2")
    assert code == 2 and not seen and "--deep" in out and "a half such as 3/2, got '2'" in out


@pytest.mark.parametrize(
    ("command", "groups", "estimators"),
    [
        (
            fit,
            (ListSize, *EVERY),
            (pysirus.SirusRegressor, pysirus.SirusClassifier),
        ),
        (
            tune,
            (Folds, *EVERY),
            (pysirus.SirusRegressorCV, pysirus.SirusClassifierCV),
        ),
    ],
)
def test_commands_offer_every_option_that_an_estimator_takes(command, groups, estimators) -> None:
    options = {own.name for group in groups for own in fields(group) if own.metadata["option"]}
    taken = {name for estimator in estimators for name in estimator._get_param_names()}
    with_option = {own.name for e in estimators for own in fields(e) if own.metadata["option"]}
    assert options == with_option <= taken
    assert options <= set(inspect.signature(command).parameters)

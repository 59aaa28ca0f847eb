"""The application that commands join, the options that several of them take, and parameters as options.

A parameter is an option as soon as its field in the table says so: commands name groups, never parameters.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType

from pysirus._parameters.table import PARAMETERS, Option


def _name_no_flags(parameters: list[Any]) -> list[Any]:
    """A flag takes nothing, so that the help shows no type for it."""
    for own in parameters:
        if getattr(own, "is_flag", False):
            own.metavar = ""
    return parameters


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _name_no_flags(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _name_no_flags(super().get_params(ctx))


class _App(typer.Typer):
    def command(self, *names: Any, **options: Any) -> Callable[[CommandFunctionType], CommandFunctionType]:
        return super().command(*names, **{"cls": _Command, **options})


BELOW = 3  # the exit code of `diff --fail-below`
ALARM = 3  # and of `monitor`, `refit` and `verify`
EXIT_CODES = {
    0: "done",
    1: "the table, the model file or the output cannot be used",
    2: "the command or a parameter is wrong",
    BELOW: "`monitor` or `refit` raised an alarm, `verify` found a difference, or stability is below `--fail-below`",
    130: "interrupted",
    141: "the program that reads the output closed it",
}

app = _App(
    cls=_Group,
    name="pysirus",
    help="Stable, readable rules from a table (SIRUS).\n\nTry it: [bold]pysirus fit ozone[/bold]",
    epilog="Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DATASETS = "ozone, mpg, prostate, housing, diabetes, machine"
TABLE_HELP = f"A CSV, Parquet or Excel file, - for standard input, or a shipped dataset: {DATASETS}."
MODEL_HELP = "A model file written by `pysirus fit --model` or `save`; - for standard input."


def _print_version(wanted: bool) -> None:
    if wanted:
        from pysirus import __version__

        typer.echo(f"pysirus {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


COLUMNS = "Columns"
FIGURES = (".png", ".pdf", ".svg")
FILES_HELP = " Or a folder, a pattern or an address (s3://...) of Parquet or CSV files, which are read in batches."
TableArgument = Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP + FILES_HELP)]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COL", help="The column to predict.", show_default=False)
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical", metavar="COL,...", help="Numeric columns to treat as categorical.", rich_help_panel=COLUMNS
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL,...", help="Columns to leave out.", rich_help_panel=COLUMNS),
]
Weights = Annotated[
    str | None, typer.Option("--sample-weight", metavar="COL", help="Sample weights.", rich_help_panel=COLUMNS)
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COL",
        help="Rows with the same value (patients, customers, sites) stay in the same fold of the cross-validation.",
        rich_help_panel=COLUMNS,
    ),
]
Periods = Annotated[
    str | None,
    typer.Option(
        "--periods",
        metavar="COL",
        help="With --folds forward, the column with the times: numbers, dates, or text that begins with the year.",
        rich_help_panel=COLUMNS,
    ),
]
Increasing = Annotated[
    list[str] | None,
    typer.Option(
        "--increasing",
        metavar="COL,...",
        help="Columns in which the prediction never decreases (with two classes, the probability of the positive "
        "class).",
        rich_help_panel=COLUMNS,
    ),
]
Decreasing = Annotated[
    list[str] | None,
    typer.Option(
        "--decreasing",
        metavar="COL,...",
        help="Columns in which the prediction never increases.",
        rich_help_panel=COLUMNS,
    ),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        metavar="COL",
        help="With --loss poisson or tweedie: the exposure of counts or amounts, such as years. Predictions are per "
        "unit of exposure.",
        rich_help_panel=COLUMNS,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COL",
        help="Survival: the time to the event or the end of observation, instead of --target.",
        rich_help_panel=COLUMNS,
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        "--event",
        metavar="COL[=VALUE]",
        help="Survival: whether the event occurred (1, true) or the time was censored (0, false). status=2: the value "
        "2 is the event, all others are censored.",
        rich_help_panel=COLUMNS,
    ),
]
Sql = Annotated[
    str | None,
    typer.Option(
        "--sql",
        metavar="QUERY",
        help="Read the result of this query. TABLE is then a database (DuckDB, SQLite, postgresql://...).",
        rich_help_panel=COLUMNS,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Read Parquet or CSV files in batches, using about this much memory: 500MB, 2GB. For several files the "
        "default is 1GB.",
        rich_help_panel=COLUMNS,
    ),
]
Task = Annotated[
    str,
    typer.Option(
        "--task",
        metavar="TASK",
        help="regression, classification or auto (text and true/false targets are classes, numbers are not).",
        rich_help_panel=COLUMNS,
    ),
]
ModelOut = Annotated[
    Path | None, typer.Option("--model", "-m", metavar="FILE", help="Write the model to this JSON file.")
]
JsonOut = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no table and no progress, only warnings, errors and --json.")
]


class Manner(NamedTuple):
    """How what was learned is told: as a table, as JSON, or not at all."""

    json: bool = False
    quiet: bool = False
    alone: bool = False  # the model goes to standard output and stands alone there


def manner_of(json: bool, quiet: bool, model: Path | None) -> Manner:
    """How what was learned is told."""
    alone = model == Path("-")
    if json and alone:
        raise typer.BadParameter(
            "is printed, and so is the model (--model -): leave one of them out.", param_hint="--json"
        )
    return Manner(json, quiet, alone)


def parse_memory(text: str | None) -> int:
    """A number of bytes from a size such as 500MB."""
    if text is None:
        return 1 << 30
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if match is None:
        raise typer.BadParameter(f"a size such as 500MB or 2GB, got '{text}'.", param_hint="--memory")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def parse_label(text: str, classes: list[Any]) -> Any:
    """The class that is typed."""
    known = {name: label for label in classes for name in _label_names(label)}
    if text not in known:
        shown = ", ".join(map(str, classes[:8])) + (", ..." if len(classes) > 8 else "")
        raise typer.BadParameter(f"'{text}' is not a class. The classes are: {shown}.", param_hint="--positive")
    return known[text]


def parse_class_weight(text: str, classes: list[Any]) -> str | dict[Any, float]:
    """Weights of classes: balanced, or pairs such as yes=5,no=1."""
    return text if text == "balanced" else _weight_by_label(text, classes)


def _weight_by_label(text: str, classes: list[Any]) -> dict[Any, float]:
    """The classes that pairs such as yes=5,no=1 name, with their weights; labels may hold commas and equals signs."""
    from pysirus._data.read import name_in

    *pairs, rest = re.split(r"=([^=,]*)(?:,|$)", text)
    if rest or not pairs:
        raise typer.BadParameter(f"balanced, or pairs such as yes=5,no=1, got '{text}'.", param_hint="--class-weight")
    known = {name: label for label in classes for name in _label_names(label)}
    found: dict[Any, float] = {}
    for text, weight in zip(pairs[::2], pairs[1::2]):
        name = name_in(text, known, "--class-weight", "class")
        if name not in known or known[name] in found:
            wrong = "is named twice" if name in known else "is not a class"
            shown = ", ".join(map(str, classes[:8])) + (", ..." if len(classes) > 8 else "")
            raise typer.BadParameter(f"'{name}' {wrong}. The classes are: {shown}.", param_hint="--class-weight")
        found[known[name]] = _parse_weight(name, weight)
    return found


def _label_names(label: Any) -> set[str]:
    """How a label may be written: as it prints, true and false as in CSV files, whole numbers without their zero."""
    names = {str(label)}
    if isinstance(label, bool):
        names.add(str(label).lower())
    return names | {str(int(label))} if isinstance(label, float) else names


def _parse_weight(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise typer.BadParameter(
            f"the weight of '{name}' must be a number above 0, got '{text}'.", param_hint="--class-weight"
        )
    return weight


def standard_output(path: Path | None) -> Path | None:
    """Where to write: standard output for -."""
    return Path("/dev/stdout") if path == Path("-") else path


def check_output(
    path: Path | None, option: str, inputs: Sequence[os.PathLike[str]] = (), kind: str | None = None
) -> None:
    """Complain about an output before the work, not after it."""
    from pysirus._runtime import output as _output

    try:
        if path is not None:
            _output.check_output(path, inputs, kind)
    except OSError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def check_figure(path: Path | None, option: str, inputs: Sequence[os.PathLike[str]]) -> None:
    """The same for a figure, whose ending says its format, and whose library may not be there."""
    if path is None:
        return
    if path.suffix.lower() not in FIGURES:
        raise typer.BadParameter(f"'{path}' must end in {', '.join(FIGURES[:-1])} or {FIGURES[-1]}.", param_hint=option)
    check_output(path, option, inputs)
    from pysirus.plot._rules import pyplot

    pyplot()  # a missing extra is said here


Command = Callable[..., None]


def takes(*groups: type) -> Callable[[Command], Command]:
    """Give a command the options of some groups: what is typed reaches it as one dictionary, ``parameters``."""
    table = {own.name: own for group in groups for own in fields(group) if own.metadata["option"]}
    types = {name: hint for group in groups for name, hint in get_type_hints(group).items()}
    common = [name for name in table if _of(table[name]).panel is None]
    common.sort(key=lambda name: _of(table[name]).short is None)  # those with a short form first

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**typed: Any) -> None:
            parameters = {name: _parse(_of(own), typed.pop(name)) for name, own in table.items()}
            command(**typed, parameters={name: value for name, value in parameters.items() if value is not None})

        own = {p.name: p for p in signature(command, eval_str=True).parameters.values()}
        place = list(own).index("parameters")
        names = [*list(own)[:place], *common, *list(own)[place + 1 :], *(name for name in table if name not in common)]
        options = {name: _option(field, types[name]) for name, field in table.items()}
        shown = [options.get(name) or own[name].replace(kind=Parameter.KEYWORD_ONLY) for name in names]
        run.__signature__ = Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in shown}
        return run

    return decorate


def _of(own: Field[Any]) -> Option:
    option: Option = own.metadata["option"]
    return option


def _option(own: Field[Any], hint: Any) -> Parameter:
    """The option of a parameter, as typer reads it from a signature."""
    option = _of(own)
    names = [option.name] if option.short is None else [option.name, option.short]
    info = typer.Option(*names, metavar=option.metavar, help=option.help, rich_help_panel=option.panel)
    default = own.default if option.default is ... else option.default
    kind = hint if option.type is None else option.type
    if default is None:
        kind = kind | None
    elif kind is str:
        default = str(default)
    return Parameter(own.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def _parse(option: Option, value: Any) -> Any:
    if value is None or option.parse is None:
        return value
    try:
        return option.parse(value)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option.name) from None


ESTIMATORS = {"regression": "SirusRegressor", "classification": "SirusClassifier", "survival": "SirusSurvival"}
REFUSALS = {"survival": "is not for times to an event. Leave the option out."}  # where an option does not say it


def make_estimator(
    task: str, parameters: dict[str, Any], training: Any, *, tuned: bool = False, silent: bool = False
) -> Any:
    """An estimator with the parameters that were typed; one that it does not have is refused."""
    import pysirus

    estimator = getattr(pysirus, f"{ESTIMATORS[task]}{'CV' if tuned else ''}")
    taken = estimator._get_param_names()
    for name, value in parameters.items():
        if name not in taken and value != PARAMETERS[name].default:
            option = _of(PARAMETERS[name])
            raise typer.BadParameter(REFUSALS.get(task, option.refusal), param_hint=option.name)
    given = {name: value for name, value in parameters.items() if name in taken}
    if "class_weight" in given:
        given["class_weight"] = parse_class_weight(given["class_weight"], training.classes())
    if "positive_class" in given:
        given["positive_class"] = parse_label(given["positive_class"], training.classes())
    given["monotonic_cst"] = training.monotonic
    return estimator(
        **given, categorical_features=training.categorical, verbose=int(sys.stderr.isatty() and not silent)
    )


def existing(path: Path | None, option: str) -> Path | None:
    """A path that was typed, once it is found that it is a file."""
    if path is not None and not path.is_file():
        raise typer.BadParameter(f"there is no file '{path}'.", param_hint=option)
    return path


def result_of(path: Path | None, option: str) -> Any:
    """What another command printed as JSON."""
    import json

    if existing(path, option) is None:
        return None
    assert path is not None
    key = {"--evidence": "expected_return", "--monitoring": "verdict"}[option]
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or key not in found:
        raise typer.BadParameter(f"'{path}' is not what that command prints with --json.", param_hint=option)
    return found

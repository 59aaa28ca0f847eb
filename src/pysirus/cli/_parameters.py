"""Groups of the table of parameters in; the options of a command, and the estimator that they describe, out.

A parameter is an option as soon as its field in the table says so: commands name groups, never parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import Field, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from pysirus._parameters.table import PARAMETERS, Option
from pysirus.cli._options import parse_class_weight, parse_label

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

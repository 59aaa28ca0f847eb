"""The application that the commands join."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType


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
EXIT_CODES = {
    0: "done",
    1: "the table, the model file or the output cannot be used",
    2: "the command or a parameter is wrong",
    BELOW: "`diff --fail-below`: the stability is below the limit",
    130: "interrupted",
    141: "the reader of the output left",
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
MODEL_HELP = "A model file that `fit --model` or `save` wrote; - for standard input."


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

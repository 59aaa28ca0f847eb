"""The application that the commands join."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    name="pysirus",
    help="Stable, readable rules from a table (SIRUS).\n\nTry it: [bold]pysirus fit ozone[/bold]",
    no_args_is_help=True,
    add_completion=False,
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

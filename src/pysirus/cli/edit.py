"""``pysirus edit``: a model file in, the model without some rules or with others out, with a note of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pysirus.cli._options import MODEL_HELP, TABLE_HELP, app, check_output
from pysirus.cli.use import Weights, load_model


@app.command()
def edit(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]",
            help=TABLE_HELP + " The training rows, to fit weights on: needed to add rules, and for survival.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.", show_default=False)
    ] = None,
    rules: Annotated[
        int | None,
        typer.Option("--rules", metavar="N", help="Take the first N rules; of a tuned model also more than it has."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="RULE", help="Remove a rule: its number in the list, from 1, or its text."),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="RULE", help="Add a rule: its text, such as 'age < 25 & job in {cook, clerk}'."),
    ] = None,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            "--reason",
            metavar="RULE=TEXT",
            help="What people are told where a rule counts, by its number: 3='R03 income', or with a | "
            "between what is told where it applies and where it does not.",
        ),
    ] = None,
    weights: Weights = None,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Why, for the model's trail.")] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who, for the model's trail.")] = None,
) -> None:
    """Remove rules from a model, or add some, and fit the weights again. The file keeps a trail of its edits.

    On the training rows the other rules keep their outputs. On another TABLE everything is estimated on its rows:
    outputs and counts of all rules, and all weights. A warning says so, and the file.

    Example: [bold]pysirus edit credit.json --without 3 --note "not allowed" --by "A. Smith" -o signed.json[/bold]

    Adding: [bold]pysirus edit credit.json credit.csv --add "age < 25 & debt >= 1000" -o signed.json[/bold]
    """
    if output is None:
        raise typer.BadParameter("the model file to write is missing.", param_hint="--output / -o")
    if rules is None and not without and not add and not reason:
        raise typer.BadParameter(
            "say what to change: --rules N, --without RULE, --add RULE or --reason RULE=TEXT.", param_hint="--without"
        )
    if add and table is None:
        raise typer.BadParameter("takes the training rows: give the TABLE after the model.", param_hint="--add")
    from pysirus._use import edit as edits
    from pysirus.cli._show import model_of, print_facts, print_model
    from pysirus.cli._streams import deliver
    from pysirus.cli._table import paths_of
    from pysirus.cli.fit import MODEL

    check_output(output, "--output", [model, *([] if table is None else paths_of(table))], MODEL)
    loaded = load_model(model)
    found: Any = model_of(loaded)
    signed = _note(note, by)
    X, y, sample_weight = (None, None, None) if table is None else training_rows(table, found, weights)
    if rules is not None:
        found = edits.with_rules(found, rules)
    if without:
        found = edits.without(found, [_which(text, len(found.rules)) for text in without], X, y, sample_weight, signed)
    if add:
        found = edits.adding(found, add, X, y, sample_weight, signed)
    if reason:
        found = found.with_reasons(dict(_reason(text, len(found.rules)) for text in reason))
    found = loaded._keep_recipe(found)

    def show() -> None:
        print_model(found)
        print_facts(found)

    deliver([(lambda: found.save(output), f"Model written to {output}")], show)


def _note(note: str | None, by: str | None) -> Any:
    """The note, with the time of day: a trail says when."""
    from datetime import datetime, timezone

    from pysirus._use.edit import Note

    return Note(note, by, datetime.now(timezone.utc).isoformat(timespec="seconds"))


def _which(text: str, n_rules: int, option: str = "--without") -> int | str:
    """A rule by its number from 1, or by its text."""
    if not text.strip().isdecimal():
        return text
    number = int(text)
    if not 1 <= number <= n_rules:
        raise typer.BadParameter(f"there is no rule {number}: the list has rules 1 to {n_rules}.", param_hint=option)
    return number


def _reason(text: str, n_rules: int) -> tuple[int | str, Any]:
    """A rule by its number and what is told of it; nothing removes that."""
    number, equals, said = text.partition("=")
    if not equals or not number.strip().isdecimal():
        raise typer.BadParameter(
            f"the number of a rule and a text, such as 3='R03 income', got '{text}'.", param_hint="--reason"
        )
    return _which(number, n_rules, "--reason"), tuple(map(str.strip, said.split("|"))) if said.strip() else None


def training_rows(name: str, model: Any, weights: str | None) -> tuple[Any, Any, Any]:
    """Features, targets and weights of a table; rows without a target are left out, as in training."""
    from pysirus._data.frame import rows_that_count
    from pysirus.cli._predict import Truth
    from pysirus.cli._table import open_table
    from pysirus.engine.backends.parquet import known_columns

    truth = Truth(weights=weights).of(model)
    text, numbers = truth.kinds(model)
    found = truth.read(model, open_table(name, model, text=text, known=known_columns(model, numbers)))
    with rows_that_count(found.X, found.y, found.weights, need_target=True) as taken:
        return taken

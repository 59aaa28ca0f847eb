"""``pysirus evidence``, ``calibrate`` and ``edit``: a model file in, what resamples say of it or another model out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pysirus.cli._options import MODEL_HELP, TABLE_HELP, app, check_output
from pysirus.cli.use import Json, Weights, load_model


@app.command()
def evidence(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP + " The training rows.")],
    resamples: Annotated[
        int, typer.Option("--resamples", metavar="N", help="Number of half-samples, drawn in disjoint pairs.", min=4)
    ] = 100,
    periods: Annotated[
        str | None,
        typer.Option(
            "--periods", metavar="COL", help="Learn a list for each period in this column instead of half-samples."
        ),
    ] = None,
    groups: Annotated[
        str | None, typer.Option("--groups", metavar="COL", help="Rows with the same value stay in the same half.")
    ] = None,
    retune: Annotated[
        bool, typer.Option("--retune", help="Tune the number of rules again in every sample (slow).")
    ] = False,
    weights: Weights = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Threads; -1 is all cores.")] = -1,
    json: Json = False,
) -> None:
    """Estimate how certain a rule list is: which of its rules are selected again on resamples of the rows?

    The command draws half of the rows without replacement and learns a list from them, many times. RETURNED is the
    share of these lists that contain the rule; NEARBY also counts rules whose cuts are one quantile away. Below the
    rules it prints how many of them to expect in a list from an independent sample of half the size, and the stability
    between folds, bootstrap samples and disjoint halves. Parquet files, folders and patterns need not fit into memory.

    Example: [bold]pysirus evidence houses.json houses.csv[/bold]

    Over time: [bold]pysirus evidence credit.json credit.csv --periods month[/bold]
    """
    from pysirus.cli._streams import print_json, print_text

    roles = {"time": periods, "groups": groups}
    with _training_rows(model, table, weights, roles, in_parts=True) as (loaded, rows, columns):
        loaded.verbose = int(sys.stderr.isatty() and not json)
        how = "halves" if periods is None else "periods"
        found = loaded.evidence(*rows, how=how, n_resamples=resamples, retune=retune, n_jobs=jobs, **columns)
    if json:
        print_json(found.to_dict())
    else:
        print_text(found)


@app.command()
def calibrate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP + " The training rows.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file of folds to write.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option("--groups", metavar="COL", help="Rows with the same value stay in the same fold.")
    ] = None,
    nested: Annotated[bool, typer.Option("--nested", help="Tune each fold separately (slow).")] = False,
    weights: Weights = None,
) -> None:
    """Prepare prediction intervals: learn a list in each of ten folds and keep the held-out errors.

    The file of folds belongs to this model. It contains the targets of the training rows.

    Example: [bold]pysirus calibrate houses.json houses.csv -o houses.folds.json[/bold]

    Then: [bold]pysirus predict houses.json new.csv --interval 90 --folds houses.folds.json[/bold]
    """
    if output is None:
        raise typer.BadParameter("say which file to write.", param_hint="--output")
    from pysirus.cli._streams import deliver
    from pysirus.cli._table import paths_of

    check_output(output, "--output", [model, *paths_of(table)])
    with _training_rows(model, table, weights, {"groups": groups}) as (loaded, rows, columns):
        if not hasattr(loaded, "calibrate"):
            raise typer.BadParameter("is of times to an event, which have no intervals.", param_hint="MODEL")
        loaded.verbose = int(sys.stderr.isatty())
        loaded.calibrate(*rows, nested=nested, **columns)
    deliver([(lambda: loaded.save_folds(output), f"Folds written to {output}")], lambda: None)


@contextmanager
def _training_rows(
    path: Path, table: str, weights: str | None, roles: dict[str, str | None], *, in_parts: bool = False
) -> Iterator[tuple[Any, tuple[Any, Any, Any], dict[str, Any]]]:
    """A model, the features, targets and weights of its training table, and the columns that have other roles.

    Where they may be ``in_parts``, rows of files stay there, and columns are named.
    """
    from pysirus._text.message import naming
    from pysirus.cli._predict import is_parquet
    from pysirus.cli._show import model_of
    from pysirus.cli._table import check_named, is_files
    from pysirus.cli._truth import Truth
    from pysirus.estimators.sirus import SirusBase

    loaded = load_model(path)
    rules = model_of(loaded)
    if not isinstance(loaded, SirusBase):
        raise typer.BadParameter(
            "was edited, or is of another method: lists are learned as SIRUS learned this one.", param_hint="MODEL"
        )
    truth = Truth(weights=weights).of(rules)
    given = {role: name for role, name in roles.items() if name is not None}
    with naming(target=truth.target, weights=truth.weights):
        if in_parts and rules.named and (is_files(table) or (is_parquet(Path(table)) and Path(table).exists())):
            target = truth.target if truth.event is None else (truth.target, truth.event)
            others = {} if truth.exposure is None else {"exposure": truth.exposure}
            yield loaded, (table, target, truth.weights), given | others
            return
        rows = truth.open(rules, table, labels=list(given.values()))
        y, sample_weight = truth.response(rows)
        columns = {role: check_named(rows, name, role) for role, name in given.items()}
        yield loaded, (_features(rows, rules, [*truth.names, *given.values()]), y, sample_weight), columns


def _features(rows: Any, model: Any, others: list[str]) -> Any:
    """All columns that the model was learned from; by position, those that have no other role."""
    from pysirus._data.read import check_column

    if not model.named:
        return rows.drop_columns(list(dict.fromkeys(others)))
    for name in model.columns:
        check_column(rows, name, "feature")
    return rows.select(list(model.columns))


# ---------------------------------------------------------------------------------------------------------------- edit


@app.command()
def edit(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]",
            help=TABLE_HELP + " The training rows, needed to add rules, and for survival.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.", show_default=False)
    ] = None,
    rules: Annotated[
        int | None,
        typer.Option("--rules", metavar="N", help="Keep the first N rules; a tuned model also offers longer lists."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without", metavar="RULE", help="Remove a rule, given by its number in the list (from 1) or its text."
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(
            "--add", metavar="RULE", help="Add a rule, given by its text, such as 'age < 25 & job in {cook, clerk}'."
        ),
    ] = None,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            "--reason",
            metavar="RULE=TEXT",
            help="The text of a rule as a reason, by its number: 3='R03 income'. Two texts separated by | are shown "
            "if the rule applies and if it does not.",
        ),
    ] = None,
    weights: Weights = None,
    note: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", help="The reason, for the log of edits.")
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="The editor's name, for the log of edits.")
    ] = None,
    date: Annotated[
        str | None, typer.Option("--date", metavar="TEXT", help="The time, for the log of edits. Default: now.")
    ] = None,
) -> None:
    """Remove rules from a model or add rules, and refit the weights. The model file keeps a log of edits.

    If TABLE contains the training rows, the other rules keep their outputs. If it contains other rows, the outputs,
    counts and weights of all rules are estimated on them, with a warning; the model file records it.

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
    signed = _note(note, by, date)
    X, y, sample_weight = (None, None, None) if table is None else training_rows(table, found, weights)
    if rules is not None:
        found = edits.with_rules(found, rules)
    if without:
        found = edits.without(found, [_which(text, len(found.rules)) for text in without], X, y, sample_weight, signed)
    if add:
        found = edits.adding(found, add, X, y, sample_weight, signed)
    if reason:
        found = found.with_reasons(dict(_reason(text, len(found.rules)) for text in reason))
    found = loaded._keep_recipe(found, rules)

    def show() -> None:
        print_model(found)
        print_facts(found)

    deliver([(lambda: found.save(output), f"Model written to {output}")], show)


def _note(note: str | None, by: str | None, date: str | None) -> Any:
    """The note, with the time of day: a trail says when."""
    from pysirus._use.edit import Note, now

    return Note(note, by, now() if date is None else date)


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
    from pysirus.cli._truth import Truth

    truth = Truth(weights=weights).of(model)
    found = truth.read(model, truth.open(model, name))
    with rows_that_count(found.X, found.y, found.weights, need_target=True) as taken:
        return taken

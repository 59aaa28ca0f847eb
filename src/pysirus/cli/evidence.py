"""``pysirus evidence`` and ``calibrate``: a model file and its training table in, what resamples say of it out."""

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
        int, typer.Option("--resamples", metavar="N", help="Samples of half of the rows, in disjoint pairs.", min=4)
    ] = 100,
    periods: Annotated[
        str | None,
        typer.Option("--periods", metavar="COL", help="A list for each period in this column, instead of halves."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option("--groups", metavar="COL", help="Rows of a group stay in the same half.")
    ] = None,
    retune: Annotated[
        bool, typer.Option("--retune", help="Tune the number of rules again in every sample. Takes long.")
    ] = False,
    weights: Weights = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Threads; -1 is all cores.")] = -1,
    json: Json = False,
) -> None:
    """How sure a rule list is: which of its rules return in lists from other samples of the rows.

    Half of the rows are drawn, without replacement, a list is learned from them, again and again. RETURNED is the share
    of these lists that have the rule, NEARBY also counts rules whose cuts are one quantile away. Below the rules: how
    many of them a list from an independent sample of half the size would have, and the stability between folds,
    bootstrap samples and disjoint halves. Parquet files, folders and patterns need not fit into memory.

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
        str | None, typer.Option("--groups", metavar="COL", help="Rows of a group stay in the same fold.")
    ] = None,
    nested: Annotated[bool, typer.Option("--nested", help="Tune each fold by itself. Takes long.")] = False,
    weights: Weights = None,
) -> None:
    """Learn lists in ten folds and keep how far they miss held-out rows, for intervals of predictions.

    The file of folds belongs to the model. It holds the targets of the training rows.

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
    from pysirus.cli._predict import Truth, is_parquet
    from pysirus.cli._show import model_of
    from pysirus.cli._table import check_named, is_files, open_table
    from pysirus.engine.backends.parquet import known_columns
    from pysirus.estimators.sirus import SirusBase

    loaded = load_model(path)
    rules = model_of(loaded)
    if not isinstance(loaded, SirusBase):
        raise typer.BadParameter(
            "was edited, or is of another method: lists are learned as SIRUS learned this one.", param_hint="MODEL"
        )
    truth = Truth(weights=weights).of(rules)
    text, numbers = truth.kinds(rules)
    given = {role: name for role, name in roles.items() if name is not None}
    with naming(target=truth.target, weights=truth.weights):
        if in_parts and rules.named and (is_files(table) or (is_parquet(Path(table)) and Path(table).exists())):
            target = truth.target if truth.event is None else (truth.target, truth.event)
            others = {} if truth.exposure is None else {"exposure": truth.exposure}
            yield loaded, (table, target, truth.weights), given | others
            return
        rows = open_table(table, rules, labels=list(given.values()), text=text, known=known_columns(rules, numbers))
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

"""``pysirus fit``: a table in, rules out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pysirus.cli._app import TABLE_HELP, app


def _parse_trees(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"a whole number or auto, got '{text}'.", param_hint="--trees") from None


@app.command()
def fit(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP)],
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COL", help="The column to predict.", show_default=False)
    ] = None,
    rules: Annotated[
        int | None, typer.Option("--rules", "-n", metavar="N", help="Keep the N most frequent rules. Default: 10.")
    ] = None,
    p0: Annotated[
        float | None, typer.Option("--p0", metavar="X", help="Keep the rules more frequent than X, instead of --rules.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", metavar="FILE", help="Write the model to this JSON file.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed: the same seed gives the same rules.")] = 0,
    jobs: Annotated[int, typer.Option(metavar="N", help="Threads; -1 is all cores. The rules stay the same.")] = -1,
    trees: Annotated[
        str,
        typer.Option(metavar="N|auto", help="Trees; auto grows until the rules are stable.", rich_help_panel="Forest"),
    ] = "auto",
    depth: Annotated[
        int, typer.Option(metavar="N", help="Conditions in a rule, at most (1 to 4).", rich_help_panel="Forest")
    ] = 2,
    bins: Annotated[
        int, typer.Option(metavar="N", help="Cut columns at their N-quantiles.", rich_help_panel="Forest")
    ] = 10,
    max_features: Annotated[
        int | None,
        typer.Option(metavar="N", help="Columns tried at a node. Default: a third.", rich_help_panel="Forest"),
    ] = None,
    min_node_size: Annotated[
        int, typer.Option(metavar="N", help="Nodes of at most N rows are not split.", rich_help_panel="Forest")
    ] = 5,
    max_rules: Annotated[
        int, typer.Option(metavar="N", help="With --p0: at most N rules.", rich_help_panel="Forest")
    ] = 25,
) -> None:
    """Learn rules from a table and print them. A target of text is classes, a target of numbers is regression.

    Example: [bold]pysirus fit houses.csv --target price --rules 10 --model houses.json[/bold]
    """
    if rules is not None and p0 is not None:
        raise typer.BadParameter("give --rules or --p0, not both.", param_hint="--rules")
    n_trees = _parse_trees(trees)
    if model is not None and not model.parent.is_dir():
        raise typer.BadParameter(f"there is no folder '{model.parent}'.", param_hint="--model")
    from pysirus import SirusClassifier, SirusRegressor
    from pysirus.cli._show import print_facts, print_model
    from pysirus.cli._table import open_training

    training = open_training(table, target)
    kind = SirusRegressor if training.is_numeric else SirusClassifier
    estimator = kind(
        p0=p0,
        n_rules=10 if rules is None else rules,
        max_rules=max_rules,
        n_bins=bins,
        max_depth=depth,
        max_features=max_features,
        n_trees=n_trees,
        min_node_size=min_node_size,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(sys.stderr.isatty()),
    )
    estimator.fit(training.features, training.target)
    print_model(estimator.model_)
    print_facts(estimator.model_)
    if model is not None:
        estimator.set_params(verbose=0).save(model)
        typer.echo(f"Model written to {model}", err=True)

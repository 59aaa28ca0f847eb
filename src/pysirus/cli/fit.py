"""``pysirus fit``: a table in, rules out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pysirus._parameters.table import (
    ClassWeight,
    Constraining,
    Growing,
    ListSize,
    Loss,
    PositiveClass,
    Running,
    Stages,
    Weighting,
)
from pysirus.cli import _options as options
from pysirus.cli._app import app
from pysirus.cli._parameters import make_estimator, takes
from pysirus.cli._streams import deliver
from pysirus.cli.tune import MODEL, learn_tuned, save


@app.command()
@takes(ListSize, ClassWeight, PositiveClass, Weighting, Loss, Growing, Constraining, Stages, Running)
def fit(
    table: options.TableArgument,
    target: options.Target = None,
    *,
    parameters: dict[str, Any],
    tuned: Annotated[
        bool, typer.Option("--tune", help="Choose the number of rules by cross-validation, as `pysirus tune` does.")
    ] = False,
    cv: Annotated[bool, typer.Option("--cv", help="Judge lists of this size by 10-fold cross-validation.")] = False,
    model: options.ModelOut = None,
    json: options.JsonOut = False,
    quiet: options.Quiet = False,
    categorical: options.Categorical = None,
    drop: options.Drop = None,
    weights: options.Weights = None,
    groups: options.Groups = None,
    increasing: options.Increasing = None,
    decreasing: options.Decreasing = None,
    exposure: options.Exposure = None,
    time: options.Time = None,
    event: options.Event = None,
    memory: options.Memory = None,
    task: options.Task = "auto",
) -> None:
    """Learn rules from a table and print them. A target of text is classes, a target of numbers is regression.

    Example: [bold]pysirus fit houses.csv --target price --rules 10 --model houses.json[/bold]

    Survival: [bold]pysirus fit gbsg.csv --time rfstime --event status[/bold]

    Larger than memory: [bold]pysirus fit 'houses/*.parquet' --target price --memory 2GB[/bold]
    """
    wanted = {"--rules": "n_rules" in parameters, "--p0": "p0" in parameters, "--tune": tuned}
    given = [option for option, is_given in wanted.items() if is_given]
    if len(given) > 1:
        raise typer.BadParameter(f"give {' or '.join(given)}, not both.", param_hint=given[0])
    if groups is not None and not (tuned or cv):
        raise typer.BadParameter("is for cross-validation: give --tune or --cv with it.", param_hint="--groups")
    if cv and memory is not None:
        raise typer.BadParameter("takes the whole table into memory. Leave --memory out.", param_hint="--cv")
    manner = options.manner_of(json, quiet, model)
    from pysirus.cli._show import print_learned
    from pysirus.cli._table import Roles, Training, is_files, open_rows, paths_of

    strict = not parameters["prepare"]
    roles = Roles(categorical, drop, weights, task, exposure, increasing, decreasing, strict, time, event, groups)
    if tuned:
        learn_tuned(table, target, roles, parameters, memory=memory, model=model, manner=manner)
        return
    if cv and is_files(table):
        raise typer.BadParameter(f"takes one table, and '{table}' is a folder or a pattern.", param_hint="--cv")
    model = options.standard_output(model)
    options.check_output(model, "--model", paths_of(table), MODEL)
    training = open_rows(table, target, roles, memory)
    estimator = make_estimator(training.task, parameters, training, silent=quiet)
    training.fit(estimator)
    if cv and isinstance(training, Training):
        training.cross_validate(estimator)
    files = [] if model is None else [(lambda: save(estimator, model), f"Model written to {model}")]
    weighed = bool(weights or "class_weight" in parameters)
    deliver(files, lambda: print_learned(estimator, manner, weighed=weighed), silent=quiet)

"""``pysirus fit``, ``tune`` and ``workbench``: a table in, rules out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pysirus._parameters.table import (
    ClassWeight,
    Constraining,
    Folds,
    Growing,
    ListSize,
    Loss,
    PositiveClass,
    Running,
    Stages,
    Weighting,
)
from pysirus.cli import _options as options
from pysirus.cli._options import app, make_estimator, takes
from pysirus.cli._streams import deliver

if TYPE_CHECKING:
    from pysirus.cli._training import Roles

MODEL = "a model file"  # as pysirus._runtime.output calls what is replaced only by its own kind


@app.command()
@takes(Folds, ClassWeight, PositiveClass, Weighting, Loss, Growing, Constraining, Stages, Running)
def tune(
    table: options.TableArgument,
    target: options.Target = None,
    *,
    parameters: dict[str, Any],
    model: options.ModelOut = None,
    json: options.JsonOut = False,
    quiet: options.Quiet = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plot error and stability between folds to this PNG, PDF or SVG file."),
    ] = None,
    categorical: options.Categorical = None,
    drop: options.Drop = None,
    weights: options.Weights = None,
    groups: options.Groups = None,
    periods: options.Periods = None,
    increasing: options.Increasing = None,
    decreasing: options.Decreasing = None,
    exposure: options.Exposure = None,
    time: options.Time = None,
    event: options.Event = None,
    sql: options.Sql = None,
    memory: options.Memory = None,
    task: options.Task = "auto",
) -> None:
    """Choose the number of rules for accuracy and stability, and print the rules.

    Example: [bold]pysirus tune houses.csv --target price --model houses.json --plot path.png[/bold]

    Larger than memory: [bold]pysirus tune 'houses/*.parquet' --target price --memory 2GB[/bold]

    Forward in time: [bold]pysirus tune credit.csv --target paid --cv forward --time month[/bold]
    """
    from pysirus._learn.splits import check_forward
    from pysirus.cli._table import queried
    from pysirus.cli._training import Roles

    table = queried(table, sql)
    strict = not parameters["prepare"]
    if parameters.get("cv") == "forward" and event is None:  # --time is of survival otherwise
        periods, time = periods or time, None
    groups = check_forward(parameters.get("cv"), groups, periods)
    roles = Roles(categorical, drop, weights, task, exposure, increasing, decreasing, strict, time, event, groups)
    manner = options.manner_of(json, quiet, model)
    learn_tuned(table, target, roles, parameters, memory=memory, model=model, plot=plot, manner=manner)


def learn_tuned(
    table: str,
    target: str | None,
    roles: Roles,
    parameters: dict[str, Any],
    *,
    memory: str | None = None,
    model: Path | None = None,
    plot: Path | None = None,
    manner: options.Manner,
) -> None:
    """Tune, write what is asked for, and print the rules."""
    from pysirus.cli._show import print_learned
    from pysirus.cli._table import paths_of
    from pysirus.cli._training import open_rows

    model = options.standard_output(model)
    options.check_output(model, "--model", paths_of(table), MODEL)
    options.check_figure(plot, "--plot", paths_of(table))
    if plot is not None and model is not None and plot.resolve() == model.resolve():
        raise typer.BadParameter(f"'{plot}' is the file of --model. Give another name.", param_hint="--plot")
    training = open_rows(table, target, roles, memory)
    estimator = make_estimator(training.task, parameters, training, tuned=True, silent=manner.quiet)
    with warnings.catch_warnings():
        if not manner.quiet:
            warnings.filterwarnings("ignore", "Nothing was learned")  # which stands below the rules
        training.fit(estimator)
    files: list[tuple[Callable[[], None], str]] = []
    if model is not None:
        files.append((lambda: save(estimator, model), f"Model written to {model}"))
    if plot is not None:
        files.append((lambda: _draw(estimator, plot), f"Figure written to {plot}"))
    weighed = bool(roles.weights or "class_weight" in parameters)
    deliver(files, lambda: print_learned(estimator, manner, weighed=weighed), silent=manner.quiet)


def save(estimator: Any, path: Path) -> None:
    """Write what was learned; to show progress is not part of it."""
    estimator.set_params(verbose=0).save(path)


def _draw(estimator: Any, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from pysirus._runtime.output import writing
    from pysirus.plot import tuning_path

    figure = tuning_path(estimator)[0].figure
    with writing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)


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
    cv: Annotated[
        bool, typer.Option("--cv", help="Also estimate the error of a list of this size by 10-fold cross-validation.")
    ] = False,
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
    sql: options.Sql = None,
    memory: options.Memory = None,
    task: options.Task = "auto",
) -> None:
    """Learn rules from a table and print them. A text target means classification, a numeric target regression.

    Example: [bold]pysirus fit houses.csv --target price --rules 10 --model houses.json[/bold]

    Survival: [bold]pysirus fit gbsg.csv --time rfstime --event status[/bold]

    Larger than memory: [bold]pysirus fit 'houses/*.parquet' --target price --memory 2GB[/bold]

    From a database: [bold]pysirus fit warehouse.duckdb --sql 'select * from houses' --target price[/bold]
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
    from pysirus.cli._table import is_files, paths_of, queried
    from pysirus.cli._training import Roles, open_rows

    table = queried(table, sql)
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
    if cv:
        X, y, sample_weight, together = training.split()
        estimator.cross_validate(X, y, sample_weight, groups=together)
    files = [] if model is None else [(lambda: save(estimator, model), f"Model written to {model}")]
    weighed = bool(weights or "class_weight" in parameters)
    deliver(files, lambda: print_learned(estimator, manner, weighed=weighed), silent=quiet)


@app.command()
def workbench(
    table: Annotated[
        Path | None, typer.Argument(metavar="[TABLE]", help="A CSV, Parquet or Excel file to start with.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page, or only print its address.")
    ] = True,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port. Default: any free port.")] = 0,
) -> None:
    """Open a page in the browser to look at a table and to tune, edit, compare, sign and export a list, without code.

    The page is available only on this computer, and no data leave it. Stop it with Ctrl-C.

    Example: [bold]pysirus workbench credit.csv[/bold]
    """
    from pysirus.workbench.server import serve
    from pysirus.workbench.session import Session

    session = Session()
    try:
        if table is not None:
            session.open(table)

        def tell(url: str) -> None:
            print(url, flush=True)

        serve(session, port=port, browser=browser, tell=tell)
    finally:
        session.close()

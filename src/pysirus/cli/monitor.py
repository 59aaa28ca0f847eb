"""``pysirus monitor`` and ``refit``: a model file and new rows in, what has changed since it was learned out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pysirus.cli._options import ALARM, FILES_HELP, TABLE_HELP, app, check_output
from pysirus.cli.use import Json, Model, Weights, load_model


@app.command()
def monitor(
    model: Model,
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP + FILES_HELP + " The new rows.")],
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COL",
            help="The column with the period of each row: dates, which are grouped by month, or names of periods.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COL", help="The column of the target. Default: the model's."),
    ] = None,
    weights: Weights = None,
    training: Annotated[
        str | None,
        typer.Option(
            "--training",
            metavar="TABLE",
            help="Compare with these rows instead of the training rows recorded in the model.",
        ),
    ] = None,
    sums: Annotated[
        bool, typer.Option("--sums", help="TABLE contains the sums that the query of --sql returned.")
    ] = False,
    sql: Annotated[
        bool,
        typer.Option(
            "--sql",
            help="TABLE is the name of a table in a database: print the query that computes the sums for --sums.",
        ),
    ] = False,
    dialect: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --sql: the database engine, such as duckdb or postgres.")
    ] = None,
    math_functions: Annotated[
        bool, typer.Option("--math-functions", help="With --sql: your SQLite has the function EXP (not all builds do).")
    ] = False,
    alpha: Annotated[
        float, typer.Option(metavar="P", help="Upper bound on the probability of an alarm if nothing has changed.")
    ] = 0.01,
    tolerance: Annotated[
        float, typer.Option(metavar="S", help="Changes smaller than this, in standard deviations, raise no alarm.")
    ] = 0.02,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write an HTML page with plots.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare new rows with the training rows: have the rules, columns, outputs or error changed?

    If the table contains the target, the outputs of rules and the error are compared too. The tests are corrected for
    multiplicity. The exit code is 3 if there is an alarm.

    Example: [bold]pysirus monitor credit.json june.csv --time month -o june.html[/bold]

    In a job: [bold]pysirus monitor credit.json june.csv || alert[/bold]

    In a database: [bold]pysirus monitor credit.json loans --sql --target default --dialect duckdb > nightly.sql[/bold]
    """
    from pysirus._runtime.output import DOCUMENT, write_text
    from pysirus._use.monitor import monitor_parts
    from pysirus.cli._show import model_of
    from pysirus.cli._streams import print_data, print_json, print_text, tell_aside
    from pysirus.cli._table import paths_of

    rules: Any = model_of(load_model(model))
    if sql:
        from pysirus.cli._truth import Truth

        own = weights if rules.family.has_hazard or target is None else Truth(target, weights).of(rules).weights
        given: dict[str, Any] = {"table": table, "dialect": dialect, "target": target, "weights": own, "time": time}
        given |= {"math_functions": True} if math_functions else {}
        print_data(rules.export("monitor", **{name: value for name, value in given.items() if value is not None}))
        return
    check_output(output, "--output", [model, *paths_of(table)], DOCUMENT)
    if training is not None:
        rules = rules.with_reference(*_training_rows(rules, training, target, weights))
    limits = {"alpha": alpha, "tolerance": tolerance}
    if sums:
        found = _from_sums(rules, table, limits)
    else:
        found = monitor_parts(rules, _parts(rules, table, time, target, weights), **limits)
    if output is not None:
        write_text(output, found.to_html())
        tell_aside(f"Page written to {output}")
    if json:
        print_json(found.to_dict())
    else:
        print_text(found)
    if found.alarm:
        raise typer.Exit(ALARM)


@app.command()
def refit(
    model: Model,
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP + FILES_HELP + " The new rows.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the new model to this file.")
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(
            metavar="P", help="Upper bound on the probability of reporting a changed output if none has changed."
        ),
    ] = 0.01,
    fail_below: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Also exit with code 3 if the stability between the two lists is below this.",
            min=0,
            max=1,
        ),
    ] = None,
    resamples: Annotated[
        int,
        typer.Option(
            "--resamples",
            metavar="N",
            help="Number of half-samples used to estimate how many rules should be selected again.",
        ),
    ] = 0,
    jobs: Annotated[int | None, typer.Option("--jobs", metavar="N", help="Threads. Default: the model's.")] = None,
    json: Json = False,
) -> None:
    """Fit a model again on new rows with the same recipe, and show what has changed.

    The recipe comprises the settings, the seed, the constraints and required rules and, if the model was changed after
    the fit, its edits, cut-off and reason texts. The exit code is 3 if outputs changed by more than chance explains or
    an edit cannot be repeated; the new model is written in any case.

    Example: [bold]pysirus refit credit.json 2026.parquet -o credit-2026.json[/bold]
    """
    if table == "-":
        raise typer.BadParameter("rows are read more than once: give a file, not standard input.", param_hint="TABLE")
    from pysirus.cli._show import model_of
    from pysirus.cli._streams import deliver, print_json, print_text
    from pysirus.cli._table import paths_of
    from pysirus.cli._training import check_columns, fit_like
    from pysirus.cli.fit import MODEL
    from pysirus.estimators.recipe import compare_again

    check_output(output, "--output", [model, *paths_of(table)], MODEL)
    loaded = load_model(model)
    rules: Any = model_of(loaded)
    check_columns(rules, table)
    estimator, training = fit_like(loaded, table, jobs=jobs)
    again = compare_again(
        rules,
        estimator,
        training.given,
        training.rows(),
        lambda: (own for own, _ in _parts(rules, table, None, None, None)),
        alpha=alpha,
        n_resamples=resamples,
    )
    files = [] if output is None else [(lambda: again.model.save(output), f"Model written to {output}")]
    deliver(files, lambda: print_json(again.to_dict()) if json else print_text(again))
    if again.alarm or (fail_below is not None and again.diff.stability < fail_below):
        raise typer.Exit(ALARM)


def _from_sums(rules: Any, table: str, limits: dict[str, float]) -> Any:
    from pysirus._use.monitor import compare, read_sums, reference_in
    from pysirus.cli._table import open_table

    return compare(rules, read_sums(open_table(table, text=["period", "part"]), rules, reference_in(rules)), **limits)


def _training_rows(rules: Any, table: str, target: str | None, weights: str | None) -> tuple[Any, Any, Any]:
    """Features, targets and weights of the training rows."""
    from pysirus.cli._truth import Truth

    truth = Truth(target, weights).of(rules)
    rows = truth.read(rules, truth.open(rules, table))
    return rows.X, rows.y, rows.weights


def _parts(
    rules: Any, table: str, time: str | None, target: str | None, weights: str | None
) -> Iterator[tuple[Any, Any]]:
    """The rows in batches, each with the times of its rows; without targets where the table has none."""
    from pysirus._data.read import check_column
    from pysirus._text.message import naming
    from pysirus._use.score import Rows, with_truth
    from pysirus.cli._table import features_of
    from pysirus.cli._truth import Truth

    columns = Truth(target, weights).of(rules)
    parts = (part for source in columns.sources(rules, table) for part in source.read(source.schema.names))
    for name, rows in parts:
        if time is not None:
            check_column(rows, time, "time")
        times = None if time is None else rows[time]
        if target is None and not columns.are_in(rows):
            apart = [own for own in (time,) if own in rows.column_names and own not in rules.columns]
            yield Rows(features_of(rows.drop_columns(apart), rules), None, None, name), times
            continue
        with naming(target=columns.target, weights=columns.weights):
            own = with_truth(columns.read(rules, rows, name)._replace(time=times))
        yield own._replace(time=None), own.time

"""``pysirus explain``, ``export``, ``report`` and ``diff``: a model file in, what people and systems need of it out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pysirus.cli._options import BELOW, MODEL_HELP, TABLE_HELP, app, check_output, standard_output
from pysirus.cli._streams import print_data, print_json, print_text, tell_aside
from pysirus.cli.use import FoldsFile, Interval, Json, Model, Weights, load_model

if TYPE_CHECKING:
    from pysirus.estimators.rule_model import RuleModel

Rows = Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP + " Columns are matched by name.")]


@app.command()
def explain(
    model: Model,
    table: Rows,
    row: Annotated[int, typer.Option("--row", "-r", metavar="N", help="The row to explain. The first row is 1.")] = 1,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Show contributions as weight times output, relative to the intercept instead of the average row.",
        ),
    ] = False,
    exposure: Annotated[
        str | None,
        typer.Option(
            "--exposure",
            metavar="COL",
            help="Counts: the column of exposures, for the expected count. Default: the model's, if the table has it.",
        ),
    ] = None,
    interval: Interval = None,
    folds: FoldsFile = None,
    json: Json = False,
) -> None:
    """Show which rules apply to a row and what each adds to its prediction, relative to the average training row.

    Example: [bold]pysirus explain houses.json new.csv --row 12[/bold]

    With an interval: [bold]pysirus explain houses.json new.csv --interval 90 --folds houses.folds.json[/bold]
    """
    from pysirus.cli._predict import EXPECTED, coverage_of, expected_count
    from pysirus.cli._show import model_of
    from pysirus.cli._table import features_of, open_table

    loaded = load_model(model)
    coverage = coverage_of(loaded, interval, folds)
    rules = model_of(loaded)
    rows = open_table(table, rules)
    features = features_of(rows, rules)
    if not 1 <= row <= features.num_rows:
        raise typer.BadParameter(f"the table has rows 1 to {features.num_rows}, got {row}.", param_hint="--row")
    if raw and not rules.family.adds_up:
        raise typer.BadParameter(
            f"'{model}' predicts a weighted mean of rules (Node harvest): its contributions are measured from the "
            "mean. Leave the option out.",
            param_hint="--raw",
        )
    explanation = loaded.explain(features.slice(row - 1, 1), raw=raw, coverage=coverage)
    expected = expected_count(rules, rows.slice(row - 1, 1), exposure, explanation.prediction[0])
    if json:
        count = {} if expected is None else {"exposure": expected.exposure, EXPECTED: expected.count}
        print_json({"row": row, **explanation.to_dict(), **count})
    else:
        print_text(explanation if expected is None else f"{explanation}\n\n{expected}")


@app.command()
def export(
    model: Model,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="sql, python, javascript, excel, latex, markdown, html, json, pmml, onnx, monitor or scorecard. "
            "Default: from the extension of --output.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here instead of printing.")
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="SQL: a dialect such as snowflake, tsql or bigquery. Default: ANSI."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="SQL: the table to select from; without it an expression. Excel: rows to fill in. Scorecard: rows "
            "on which to measure what rounding costs.",
        ),
    ] = None,
    pdo: Annotated[
        float | None, typer.Option(metavar="N", help="Scorecard: points that double the odds. Default: 20.")
    ] = None,
    base_score: Annotated[
        float | None, typer.Option(metavar="N", help="Scorecard: the score at --base-odds. Default: 600.")
    ] = None,
    base_odds: Annotated[
        float | None, typer.Option(metavar="N", help="Scorecard: odds of N to 1 at --base-score. Default: 50.")
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Scorecard: the class that higher scores favour. Default: the positive class of the model.",
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="WHAT", help="Scorecard: points by rule or by attribute. Default: rule.")
    ] = None,
    reasons: Annotated[
        int | None,
        typer.Option(metavar="N", help="SQL for postgres and duckdb: add up to N reasons per row."),
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="CLASS", help="SQL: the class of --reasons. Default: the predicted one.")
    ] = None,
) -> None:
    """Export the model to another system.

    Example: [bold]pysirus export houses.json --to sql --dialect snowflake -o houses.sql[/bold]

    Example: [bold]pysirus export credit.json --to scorecard --by attribute -o card.html[/bold]
    """
    from pysirus.cli._table import paths_of
    from pysirus.export import FORMATS, check_extra, format_of, kind_written
    from pysirus.export.scorecard import kind_of

    format = to or (format_of(output) if output is not None else None)
    if format not in FORMATS:
        found = f"got '{to}'" if to else "say which"
        raise typer.BadParameter(f"one of {', '.join(FORMATS)}; {found}.", param_hint="--to")
    if output == Path("-"):  # text is printed
        output = standard_output(output) if format in ("excel", "onnx") else None
    kind = None if format != "scorecard" or output is None else kind_of(output)
    if format in ("excel", "onnx") and output is None:
        raise typer.BadParameter(f"{format} is a binary file: say where to write it.", param_hint="--output")
    rows = table if format in ("excel", "scorecard") and kind != "sql" else None
    check_output(
        output,
        "--output",
        [model, *(paths_of(rows) if rows is not None else [])],
        None if output is None else kind_written(format, output),
    )
    check_extra(kind or format, dialect)
    from pysirus.cli._show import model_of

    loaded = model_of(load_model(model))
    card = {"pdo": pdo, "base_score": base_score, "base_odds": base_odds, "positive": positive, "by": by}
    given = {"dialect": dialect, "table": None if rows is not None else table, **card}
    given |= {"reasons": reasons, "outcome": outcome}
    options: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    if rows is not None:
        options |= _rows_and_target(rows, loaded, with_target=format == "scorecard")
    content = loaded.export(format, output, **options)
    if output is None:
        print_data(content)
    else:
        tell_aside(f"{format} written to {output}")


def _rows_and_target(table: str, model: RuleModel, with_target: bool) -> dict[str, object]:
    """The rows of a table as ``X`` and, where it has the target, ``y``."""
    from pysirus.cli._table import features_of
    from pysirus.cli._truth import Truth

    rows = Truth(unweighted=True).of(model).open(model, table)
    found: dict[str, object] = {"X": features_of(rows, model)}
    if with_target:
        found |= Truth(unweighted=True).shown(model, rows)
    return found


@app.command()
def report(
    model: Model,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help=TABLE_HELP + " Readers can look up its rows in the report.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    label: Annotated[
        str | None, typer.Option(metavar="COL", help="The column with the names of the rows. Default: their numbers.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COL", help="The column of the target. Default: the model's."),
    ] = None,
    weights: Weights = None,
    exposure: Annotated[
        str | None,
        typer.Option("--exposure", metavar="COL", help="Counts: the column of exposures. Default: the model's."),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The heading of the report.")] = None,
    max_rows: Annotated[int, typer.Option(metavar="N", help="Maximum number of rows in the file.")] = 1000,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COL", help="Compare how the model treats the groups given by this column."),
    ] = None,
    change_to: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT", help="Add the smallest change of rows to this class or range: '>= 20', '20 to 30'."
        ),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option("--fixed", metavar="COL,...", help="With --change-to: columns that must not change."),
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(
            "--row", metavar="N", help="With --change-to: only these rows. Default: 20 rows with another decision."
        ),
    ] = None,
    interval: Interval = None,
    folds: FoldsFile = None,
    evidence: Annotated[
        list[Path] | None,
        typer.Option("--evidence", metavar="FILE", help="Add what `pysirus evidence --json` printed; may be repeated."),
    ] = None,
    periods: Annotated[
        str | None,
        typer.Option(
            "--periods", metavar="COL", help="The column of times of a model tuned forward. Default: its own."
        ),
    ] = None,
    edit: Annotated[
        bool, typer.Option("--edit", help="Squared error: let readers edit and save the list in the browser.")
    ] = False,
    with_patterns: Annotated[
        bool,
        typer.Option(
            "--with-patterns",
            help="Like --edit, for classification, counts and amounts. TABLE must contain the training rows; the page "
            "stores which rules apply together, with the target.",
        ),
    ] = False,
) -> None:
    """Write a report as one HTML file that opens in any browser, without network access.

    Example: [bold]pysirus report houses.json houses.csv -o houses.html[/bold]

    Groups and changes: [bold]pysirus report credit.json test.csv --by sex --change-to good --fixed age[/bold]
    """
    for given, option in (
        (by, "--by"),
        (change_to, "--change-to"),
        (label, "--label"),
        (target, "--target"),
        (weights, "--sample-weight"),
        (exposure, "--exposure"),
        (periods, "--periods"),
        (with_patterns or None, "--with-patterns"),
    ):
        if given is not None and table is None:
            raise typer.BadParameter("is a column of a TABLE: give one.", param_hint=option)
    from pysirus._data.read import check_column
    from pysirus._runtime.output import DOCUMENT
    from pysirus.cli._options import result_of
    from pysirus.cli._predict import coverage_of
    from pysirus.cli._show import model_of
    from pysirus.cli._table import features_of, paths_of
    from pysirus.cli._truth import Truth, time_column

    output = standard_output(output) or output
    check_output(output, "--output", [model, *(paths_of(table) if table is not None else [])], DOCUMENT)
    estimator = load_model(model)
    found = [result_of(path, "--evidence") for path in evidence or ()]
    shown = {"edit": edit, "with_patterns": with_patterns, "evidence": found or None}
    options: dict[str, object] = {"coverage": coverage_of(estimator, interval, folds), **shown}
    loaded = model_of(estimator)
    if table is not None:
        truth = Truth(target, weights, exposure=exposure)
        groups = [by] if by is not None and by not in loaded.columns else []
        rows = truth.of(loaded).open(loaded, table, labels=groups, text=groups)
        options["X"], options["data"] = features_of(rows, loaded), Path(table).name
        if label is not None:
            check_column(rows, label, "label")
            options["labels"] = rows[label].to_pylist()
        options |= truth.shown(loaded, rows)
        if (name := time_column(rows, loaded, periods)) is not None and (periods or "y" in options):
            options["time"] = rows[name]
        options |= _asked_of_rows(rows, by, change_to, fixed, row)
    (loaded if interval is None else estimator).report(output, title=title, max_rows=max_rows, **options)
    tell_aside(f"Report written to {output}")


def _asked_of_rows(
    rows: Any, by: str | None, change_to: str | None, fixed: list[str] | None, row: list[int] | None
) -> dict[str, object]:
    """What a report is to say of groups and of changes."""
    from pysirus._data.read import check_column
    from pysirus.cli._table import names_of

    if change_to is None and (fixed or row):
        raise typer.BadParameter("is about nearest changes: say --change-to too.", param_hint="--fixed and --row")
    wrong = [k for k in row or () if not 1 <= k <= rows.num_rows]
    if wrong:
        raise typer.BadParameter(f"the table has rows 1 to {rows.num_rows}, got {wrong[0]}.", param_hint="--row")
    found: dict[str, object] = {}
    if by is not None:
        check_column(rows, by, "option --by")
        found["by"] = {by: rows[by].to_pylist()}
    if change_to is not None:
        numbers = None if row is None else [k - 1 for k in row]
        found["change"] = {"to": change_to, "fixed": names_of(rows.column_names, fixed, "--fixed"), "rows": numbers}
    return found


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help=MODEL_HELP)],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="A newer model file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    fail_below: Annotated[
        float | None,
        typer.Option(
            "--fail-below",
            metavar="S",
            help=f"Leave with exit code {BELOW} if the stability between the two lists (0 to 1) is below this.",
        ),
    ] = None,
) -> None:
    """Show which rules were kept, shifted, added or removed between two models.

    Example: [bold]pysirus diff january.json february.json[/bold]

    In a job: [bold]pysirus diff january.json february.json --fail-below 0.8 || alert[/bold]
    """
    if fail_below is not None and not 0 <= fail_below <= 1:
        raise typer.BadParameter(f"a stability from 0 to 1, got {fail_below:g}.", param_hint="--fail-below")
    import json

    from pysirus._use.diff import diff as compare

    found = compare(load_model(old), load_model(new))
    if as_json:
        print_data(json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n")
    else:
        print_text(found)
    if fail_below is not None and found.stability < fail_below:
        tell_aside(f"The stability between the two lists, {found.stability:.4g}, is below {fail_below:g}.")
        raise typer.Exit(BELOW)

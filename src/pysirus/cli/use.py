"""``pysirus show`` and ``pysirus predict``: a model file in, its rules or its predictions out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pysirus.cli._options import MODEL_HELP, TABLE_HELP, Sql, app, check_output

Model = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP)]

ENDINGS = (".csv", ".parquet", ".txt", "")  # what is not Parquet is written as CSV, which .xlsx, say, must not name


def load_model(path: Path) -> Any:
    """What a model file holds."""
    from pysirus import ModelFileError, load

    if path == Path("-"):
        path = Path("/dev/stdin")
    if not path.exists() or path.is_dir():
        raise ModelFileError(f"There is no model file '{path}'. Make one with: pysirus fit TABLE --model {path}")
    return load(path)


Weights = Annotated[
    str | None, typer.Option("--sample-weight", metavar="COL", help="Sample weights. Default: the model's.")
]
Interval = Annotated[
    float | None,
    typer.Option(
        "--interval",
        metavar="PERCENT",
        help="Also print prediction intervals with this coverage, such as 90. Needs --folds.",
    ),
]
FoldsFile = Annotated[
    Path | None,
    typer.Option("--folds", metavar="FILE", help="The file that `pysirus calibrate` wrote, for --interval."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command()
def show(
    model: Model,
    full: Annotated[bool, typer.Option("--full", help="Print long names and sets of categories in full.")] = False,
    json: Json = False,
) -> None:
    """Print the rules of a model.

    Example: [bold]pysirus show houses.json[/bold]
    """
    from pysirus.cli._show import model_data, model_of, print_doubts, print_facts, print_model, print_start, print_tuned
    from pysirus.cli._streams import print_json

    loaded = model_of(load_model(model))
    if json:
        print_json(model_data(loaded))
        return
    print_model(loaded, full=full)
    print_start(loaded)
    print_doubts(loaded)
    print_facts(loaded, full=full)
    print_tuned(loaded)


@app.command()
def score(
    model: Model,
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP + " Rows that the model was not fitted on.")],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COL", help="The column of the target. Default: the model's."),
    ] = None,
    weights: Weights = None,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="Weight all rows equally, even if the model was fitted with weights.")
    ] = False,
    exposure: Annotated[
        str | None,
        typer.Option("--exposure", metavar="COL", help="Counts: the column of exposures. Default: the model's."),
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", metavar="COL", help="Survival: the column of times. Default: the model's.")
    ] = None,
    event: Annotated[
        str | None, typer.Option("--event", metavar="COL", help="Survival: the column of events. Default: the model's.")
    ] = None,
    periods: Annotated[
        str | None,
        typer.Option(
            "--periods",
            metavar="COL",
            help="For models tuned with --folds forward: the column of times. Default: the model's.",
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COL", help="Compare the groups of rows given by this column.")
    ] = None,
    sql: Sql = None,
    json: Json = False,
) -> None:
    """Compare the predictions for a table with its targets.

    Classification: accuracy, balanced accuracy, AUC, log loss, Brier score and calibration error. Regression: R²,
    errors and unexplained variance. Counts and amounts: D², deviances and errors (with an exposure, those of rates,
    weighted by the exposure). Survival: concordance and the integrated Brier score. ± gives the standard error.

    The model stores the names of its target, exposure and weight columns. In a single table, rows without a target are
    ignored. Folders and patterns of files are read in batches.

    Example: [bold]pysirus score houses.json sold.csv[/bold]
    """
    from dataclasses import replace

    from pysirus._text.message import naming
    from pysirus.cli._show import model_of
    from pysirus.cli._streams import print_json, print_text
    from pysirus.cli._table import queried
    from pysirus.cli._truth import Truth, score_groups, score_rows

    table = queried(table, sql)
    rules = model_of(load_model(model))
    truth = Truth(target, weights, time, event, exposure, unweighted).of(rules)
    if by is not None:
        found_groups = score_groups(rules, table, truth, by)
        if json:
            print_json(found_groups.to_dict())
        else:
            print_text(found_groups)
        return
    with naming(target=truth.target, weights=truth.weights):
        found = replace(score_rows(rules, table, truth, periods), weighted_by=truth.weighted_by)
    if json:
        print_json(found.to_dict())
    else:
        print_text(found)


@app.command()
def predict(
    model: Model,
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP + " Columns are found by name.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write here (.csv, .parquet, or a folder for several files) instead of printing.",
        ),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also write class probabilities in columns probability_<label>.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COL,...", help="Columns to write in front of the prediction, such as an id."),
    ] = None,
    exposure: Annotated[
        str | None,
        typer.Option(
            "--exposure",
            metavar="COL",
            help="Counts: multiply rates by this column and write expected_count instead of prediction_per_...",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="T,...", help="Survival: also write the probability of no event up to these times."
        ),
    ] = None,
    interval: Interval = None,
    folds: FoldsFile = None,
    spreadsheet: Annotated[
        bool,
        typer.Option(
            "--spreadsheet",
            help="In CSV output, put an apostrophe before text that a spreadsheet would run as a formula.",
        ),
    ] = False,
    sql: Sql = None,
) -> None:
    """Predict each row of a table. The output has a column named prediction; for survival it is the risk score.

    A model for counts with an exposure, such as claims with years, predicts rates in a column named
    prediction_per_years; with --exposure years it predicts counts. The table needs only the columns that are features.

    Folders and patterns of files are read in batches. If the output is a folder, it gets a file for each input file.

    Example: [bold]pysirus predict houses.json new.csv --keep id -o predicted.csv[/bold]
    """
    from pysirus._data.elsewhere import remote_output
    from pysirus.cli._table import is_files, paths_of, queried

    table = queried(table, sql)
    output = None if output == Path("-") else output
    there = None if output is None else remote_output(output)
    in_batches = is_files(table) or (output is not None and output.is_dir() and table.endswith(".parquet"))
    if there is not None and not in_batches:
        in_batches = Path(table).exists()  # batches go to stores, from the files of a folder or pattern or from one
    to_folder = in_batches and output is not None and not output.suffix
    _check_ending(output, spreadsheet, to_folder)
    from pysirus._runtime.output import PARQUET
    from pysirus.cli._predict import Wanted, check_replaced, coverage_of, is_parquet, predict_rows
    from pysirus.cli._show import model_of
    from pysirus.cli._truth import exposure_of

    if not to_folder and there is None:
        check_output(output, "--output", [model, *paths_of(table)], PARQUET if is_parquet(output) else None)
        check_replaced(output)
    loaded = load_model(model)
    rules = model_of(loaded)
    _check_probabilities(probabilities, rules, model)
    wanted = Wanted([], probabilities, at, exposure_of(rules, exposure), coverage=coverage_of(loaded, interval, folds))
    paths = paths_of(table) if in_batches else None
    predict_rows(loaded, table, there or output, keep, wanted, spreadsheet=spreadsheet, paths=paths)


def _check_probabilities(wanted: bool, rules: Any, model: Path) -> None:
    if wanted and not rules.family.shape:
        raise typer.BadParameter(
            f"'{model}' predicts numbers; only classes have probabilities. Leave the option out.",
            param_hint="--probabilities",
        )


def _check_ending(output: Path | None, spreadsheet: bool, to_folder: bool) -> None:
    if output is None:
        return
    if output.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"'{output}' must end in .csv or .parquet.", param_hint="--output")
    if spreadsheet and (to_folder or output.suffix.lower() == ".parquet"):
        raise typer.BadParameter("is for CSV: no spreadsheet opens Parquet.", param_hint="--spreadsheet")

"""``pysirus reasons``, ``change``, ``decide`` and ``alternatives``: a model or rows in, why and how it decides out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pysirus._parameters.table import (
    ClassWeight,
    Constraining,
    Folds,
    Growing,
    Loss,
    PositiveClass,
    Running,
    Weighting,
)
from pysirus.cli import _options as options
from pysirus.cli._options import TABLE_HELP, app, check_output, takes
from pysirus.cli.ship import Rows
from pysirus.cli.use import Json, Model, load_model

Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here (.csv, .parquet) instead of printing.")
]
Row = Annotated[
    int | None, typer.Option("--row", "-r", metavar="N", help="Only this row, in words. The first row is 1.")
]


def rows_of(model: Any, table: str) -> Any:
    """The features of a table that a model reads."""
    from pysirus.cli._table import features_of, open_table

    return features_of(open_table(table, model), model)


def one_row(rows: Any, row: int, option: str) -> Any:
    """A row of a table by its number from 1."""
    if not 1 <= row <= rows.num_rows:
        raise typer.BadParameter(f"the table has rows 1 to {rows.num_rows}, got {row}.", param_hint=option)
    return rows.slice(row - 1, 1)


@app.command()
def reasons(
    model: Model,
    table: Rows,
    k: Annotated[int, typer.Option("-k", metavar="N", help="Maximum number of reasons per row.")] = 4,
    row: Row = None,
    direction: Annotated[
        str | None,
        typer.Option(metavar="WAY", help="for, against or both. Default: for in classification, otherwise both."),
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="The class to give reasons for or against. Default: the predicted class."),
    ] = None,
    reference: Annotated[
        str,
        typer.Option(
            metavar="FROM",
            help="The reference for contributions: average, best (for each term), or the number of a row.",
        ),
    ] = "average",
    by: Annotated[str, typer.Option(metavar="WHAT", help="rule, or column to sum contributions by column.")] = "rule",
    output: Output = None,
    json: Json = False,
) -> None:
    """List the terms that contribute most for or against the decision for each row, with the input values.

    The contributions of all terms add up to the score. With two classes it is that of the
    positive one, as in [bold]pysirus explain[/bold]. To give rules texts, use [bold]pysirus edit --reason[/bold].

    Example: [bold]pysirus reasons credit.json new.csv --outcome bad -o reasons.csv[/bold]

    One row: [bold]pysirus reasons credit.json new.csv --row 12[/bold]
    """
    if json and row is None:
        raise typer.BadParameter("is for one row: say which with --row N.", param_hint="--json")
    if output is not None and (row is not None or output.suffix.lower() not in (".csv", ".parquet")):
        wrong = "is for all rows: leave --row out" if row is not None else f"'{output}' must end in .csv or .parquet"
        raise typer.BadParameter(f"{wrong}.", param_hint="--output")
    from pysirus._runtime.output import PARQUET
    from pysirus.cli._predict import is_parquet, open_output
    from pysirus.cli._show import model_of
    from pysirus.cli._streams import print_json, print_text
    from pysirus.cli._table import paths_of

    check_output(output, "--output", [model, *paths_of(table)], PARQUET if is_parquet(output) else None)
    rules = model_of(load_model(model))
    rows = rows_of(rules, table)
    from_: Any = one_row(rows, int(reference), "--reference") if reference.isdecimal() else reference
    taken = rows if row is None else one_row(rows, row, "--row")
    found = rules.reasons(taken, k, direction=direction, outcome=outcome, reference=from_, by=by)
    if json:
        print_json({"row": row, **found.to_dict()})
    elif row is not None:
        print_text(found)
    else:
        frame = found.to_frame("pyarrow")
        numbered = [number + 1 for number in frame["row"].to_pylist()]  # rows count from 1 on the command line
        import pyarrow as pa

        with open_output(output, [], spreadsheet=False) as write:
            write(frame.set_column(0, "row", pa.array(numbered, pa.int64())))


@app.command()
def decide(
    model: Model,
    table: Annotated[
        str | None,
        typer.Argument(metavar="[TABLE]", help=TABLE_HELP + " Rows that the model was not fitted on, with the target."),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(metavar="CLASS=N,...", help="The cost of misclassifying a row of each class: good=1,bad=5."),
    ] = None,
    rate: Annotated[float | None, typer.Option(metavar="S", help="The share of rows to classify as positive.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.", show_default=False)
    ] = None,
) -> None:
    """Set how the model decides between classes: by the costs of errors, or by a rate.

    The cut-off between two classes is chosen on the rows of TABLE, or on the held-out rows stored in a tuned model.
    Without --costs and --rate the model predicts the most likely class again.

    Example: [bold]pysirus decide credit.json --costs good=1,bad=5 -o careful.json[/bold]
    """
    if output is None:
        raise typer.BadParameter("say which file to write.", param_hint="--output")
    from pysirus.cli._show import model_of
    from pysirus.cli._streams import deliver, print_text
    from pysirus.cli._table import paths_of
    from pysirus.cli.edit import training_rows
    from pysirus.cli.fit import MODEL

    check_output(output, "--output", [model, *([] if table is None else paths_of(table))], MODEL)
    loaded = load_model(model)
    rules = model_of(loaded)
    X, y, sample_weight = (None, None, None) if table is None else training_rows(table, rules, None)
    found = loaded.decide(_costs(costs), rate=rate, X=X, y=y, sample_weight=sample_weight)
    said = found.family.decision_text or "the most likely class"
    deliver([(lambda: found.save(output), f"Model written to {output}")], lambda: print_text(f"decides for {said}"))


def _costs(given: str | None) -> dict[str, float] | None:
    """Costs by class, as they were typed."""
    if given is None:
        return None
    pairs = [text.rpartition("=") for text in given.split(",")]
    try:
        return {label.strip(): float(cost) for label, _, cost in pairs if label.strip() or cost}
    except ValueError:
        raise typer.BadParameter(
            f"classes and numbers such as good=1,bad=5, got '{given}'.", param_hint="--costs"
        ) from None


@app.command()
@takes(Folds, ClassWeight, PositiveClass, Weighting, Loss, Growing, Constraining, Running)
def alternatives(
    table: options.TableArgument,
    target: options.Target = None,
    *,
    parameters: dict[str, Any],
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="COL,...", help="Columns to drop: each separately, and all together."),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option("--rules", metavar="N,...", help="Lengths to compare, in addition to the tuned length."),
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            "--monotone",
            metavar="COL=1|-1",
            help="A column in which predictions may only increase (1) or decrease (-1).",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plot loss against stability between folds to this PNG, PDF or SVG file."),
    ] = None,
    json: Json = False,
    categorical: options.Categorical = None,
    drop: options.Drop = None,
    weights: options.Weights = None,
    groups: options.Groups = None,
    task: options.Task = "auto",
) -> None:
    """Compare what restrictions on a rule list, and other lengths, cost on the same folds.

    The cost is the difference in held-out loss from the unrestricted tuned list, with its paired standard error.

    Example: [bold]pysirus alternatives credit.csv --target Status --without age,sex --rules 5,8,12[/bold]
    """
    from pysirus.cli._streams import deliver, print_json, print_text
    from pysirus.cli._table import names_of, paths_of
    from pysirus.cli._training import Roles, open_rows
    from pysirus.estimators.alternatives import alternatives as compare

    options.check_figure(plot, "--plot", paths_of(table))
    roles = Roles(categorical, drop, weights, task, strict=not parameters["prepare"], groups=groups)
    training = open_rows(table, target, roles, None)
    if training.in_batches or training.task == "survival":
        raise typer.BadParameter("takes one table with a target of classes or numbers.", param_hint="TABLE")
    estimator = options.make_estimator(training.task, parameters, training, tuned=True, silent=True)
    X, y, sample_weight, together = training.split()
    columns = names_of(X.column_names, without, "--without")
    found = compare(
        estimator,
        X,
        y,
        without=[*columns, *([columns] if len(columns) > 1 else [])],
        monotone=_monotone(monotone),
        n_rules=_lengths(rules),
        sample_weight=sample_weight,
        groups=together,
    )
    files = [] if plot is None else [(lambda: _draw(found, plot), f"Plot written to {plot}")]
    deliver(files, lambda: print_json(found.to_dict()) if json else print_text(found))


def _lengths(given: str | None) -> list[int]:
    words = [] if given is None else given.split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise typer.BadParameter(f"whole numbers such as 5,8,12, got '{given}'.", param_hint="--rules")
    return [int(word) for word in words]


def _monotone(given: list[str] | None) -> dict[str, int]:
    pairs = [text.rpartition("=") for text in given or []]
    if not all(equals and sign in ("1", "+1", "-1") for _, equals, sign in pairs):
        raise typer.BadParameter("a column and 1 or -1, such as income=-1.", param_hint="--monotone")
    return {name: int(sign) for name, _, sign in pairs}


def _draw(found: Any, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from pysirus._runtime.output import writing
    from pysirus.plot import front

    with writing(path) as file:
        front(found).figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)


@app.command()
def change(
    model: Model,
    table: Rows,
    to: Annotated[
        str, typer.Option("--to", metavar="WHAT", help="The wanted class or range: '>= 20', '<= 5', '20 to 30'.")
    ],
    row: Annotated[int, typer.Option("--row", "-r", metavar="N", help="The row to change. The first row is 1.")] = 1,
    fixed: Annotated[
        list[str] | None, typer.Option("--fixed", metavar="COL,...", help="Columns that must not change.")
    ] = None,
    up: Annotated[
        list[str] | None, typer.Option("--up", metavar="COL,...", help="Columns that may only increase.")
    ] = None,
    down: Annotated[
        list[str] | None, typer.Option("--down", metavar="COL,...", help="Columns that may only decrease.")
    ] = None,
    category_step: Annotated[
        float, typer.Option(metavar="S", help="The distance of changing a category, in quantiles.")
    ] = 0.25,
    json: Json = False,
) -> None:
    """Find the smallest change to a row that changes its decision: fewest columns first, then smallest in quantiles.

    Quantiles are those of the training rows, which the model stores; other rows of TABLE make no difference. If no
    change leads to the decision, the command says so, and --json prints null.

    Example: [bold]pysirus change credit.json new.csv --row 12 --to good --fixed age --up income[/bold]
    """
    from pysirus.cli._show import model_of
    from pysirus.cli._streams import print_json, print_text
    from pysirus.cli._table import names_of

    rules = model_of(load_model(model))
    rows = rows_of(rules, table)
    columns = rows.column_names
    ways = {name: way for way, names in (("up", up), ("down", down)) for name in names_of(columns, names, f"--{way}")}
    found = rules.nearest_change(
        one_row(rows, row, "--row"),
        to,
        fixed=names_of(columns, fixed, "--fixed"),
        directions=ways,
        category_step=category_step,
    )
    if json:
        print_json({"row": row, "change": None if found is None else found.to_dict()})
    else:
        print_text(f"no change of the columns that may change brings {to} about" if found is None else found)

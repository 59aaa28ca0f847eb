"""``pysirus verify``, ``sign`` and ``card``: is a file what its data give, who signs it, what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pysirus._text.format import one_line
from pysirus.cli._options import ALARM, MODEL_HELP, TABLE_HELP, app, check_output
from pysirus.cli.use import Json, Model, load_model


@app.command()
def verify(
    model: Model,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help=TABLE_HELP + " The training rows, to fit again.")
    ] = None,
    sql: Annotated[
        Path | None,
        typer.Option("--sql", metavar="FILE", help="A deployed query in the form that `export --to sql` writes."),
    ] = None,
    on: Annotated[
        Path | None, typer.Option("--on", metavar="FILE", help="The DuckDB or SQLite database to run it on.")
    ] = None,
    prediction: Annotated[
        str, typer.Option(metavar="COL", help="The column of predictions in the query.")
    ] = "prediction",
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="A public key (PEM) that must match a signature of the file."),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", metavar="N", help="Threads. Default: the model's.")] = None,
    json: Json = False,
) -> None:
    """Check a model file: fit it again, compare a deployed query with it, and check its signatures.

    With TABLE the model is fitted again with its settings and seed, and every number is compared. The exit code is 3 if
    something differs: the data, the settings or the file.

    Example: [bold]pysirus verify credit.json train.parquet[/bold]

    The deployed query: [bold]pysirus verify credit.json --sql credit.sql --on warehouse.duckdb[/bold]
    """
    from pysirus._model.file import read_document
    from pysirus._use.verify import signatures
    from pysirus.cli._streams import print_json, print_text

    if (sql is None) != (on is None):
        raise typer.BadParameter("give both: a query and a database.", param_hint="--sql" if sql is None else "--on")
    loaded, document = load_model(model), read_document(model)
    signed = signatures(document)
    if table is None and sql is None and not signed and key is None:
        raise typer.BadParameter("say what to check: the training TABLE, or --sql and --on.", param_hint="TABLE")
    told: dict[str, Any] = {"signatures": [own._asdict() for own in signed]}
    lines, fine = [str(own) for own in signed], all(own.fits for own in signed)
    if key is not None:
        by_key = _has_signed(key, signed)
        told["signed_by_key"], fine = by_key, fine and by_key
        lines.append(f"{'signed' if by_key else 'NOT SIGNED'} by the key of {key}")
    if table is not None:
        found = _fit_again(loaded, document, table, jobs)
        told["fit"], fine = found.to_dict(), fine and found.reproduced
        lines.append(str(found))
    if sql is not None and on is not None:
        deployed = _run_query(loaded, sql, on, prediction)
        told["query"] = deployed.to_dict()
        fine = fine and deployed.agrees
        lines.append(str(deployed))
    if json:
        print_json({"verified": fine, **told})
    else:
        print_text("\n".join(lines))
    if not fine:
        raise typer.Exit(ALARM)


def _has_signed(key: Path, signed: Any) -> bool:
    from pysirus._use.verify import public_key_of

    own = public_key_of(key)
    return any(each.fits and each.public_key == own for each in signed)


def _fit_again(loaded: Any, document: Any, table: str, jobs: int | None) -> Any:
    """Learn the model again, and compare."""
    from pysirus._model.file import model_to_json
    from pysirus._use.verify import verify as compare
    from pysirus.cli._training import fit_like
    from pysirus.estimators.recipe import repeat_changes

    estimator, training = fit_like(loaded, table, jobs=jobs)
    again, _, failed = repeat_changes(loaded._as_model(), estimator, training.rows(), as_then=True)
    return compare(document, model_to_json(again._as_model()), not_repeated=failed)


def _run_query(loaded: Any, sql: Path, on: Path, prediction: str) -> Any:
    """Run a query on a database, and compare what it finds with what the model finds."""
    from dataclasses import replace

    import numpy as np

    from pysirus._data.read import check_column
    from pysirus._use.verify import compare_columns
    from pysirus.cli._show import model_of
    from pysirus.cli._table import features_of
    from pysirus.export.sql import changed_text, predicted_columns

    for file, what, option in ((sql, "query", "--sql"), (on, "database", "--on")):
        if not file.is_file():
            raise typer.BadParameter(f"there is no {what} '{file}'.", param_hint=option)
    rules = model_of(loaded)
    rows = _result_of(sql, on)
    check_column(rows, prediction, "prediction")
    X = features_of(rows.drop_columns([prediction]), rules)
    wanted = predicted_columns(rules, X, prediction)
    kinds = {name: np.float64 if own.dtype.kind == "f" else object for name, own in wanted.items()}
    found = {
        name: np.array(rows[name].to_pylist(), dtype=kind) for name, kind in kinds.items() if name in rows.column_names
    }
    return replace(
        compare_columns(rules, X, found, wanted),
        changed=changed_text(rules, sql.read_text(encoding="utf-8"), prediction),
    )


def _result_of(sql: Path, database: Path) -> Any:
    """What a query finds: SQLite for its own files, else DuckDB; both only read."""
    from pysirus._data.column import DataError

    with database.open("rb") as file:
        find = _on_sqlite if file.read(15) == b"SQLite format 3" else _on_duckdb
    try:
        rows = find(sql.read_text(encoding="utf-8"), database)
    except ImportError:
        raise
    except Exception as error:
        what = one_line(str(error).partition("\n")[0])
        raise DataError(f"The query of '{sql}' does not run on '{database}': {what}") from error
    if not rows.num_rows:
        raise DataError(f"The query of '{sql}' finds no rows on '{database}': there is nothing to compare.")
    return rows


def _on_sqlite(query: str, database: Path) -> Any:
    import sqlite3
    from contextlib import closing

    import pyarrow as pa

    with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        cursor = connection.execute(query)
        names = [own[0] for own in cursor.description or ()]
        rows = cursor.fetchall()
    return pa.Table.from_arrays([pa.array([row[i] for row in rows]) for i in range(len(names))], names)


def _on_duckdb(query: str, database: Path) -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise ImportError("Queries on DuckDB need duckdb: pip install duckdb.") from error
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.sql(query).to_arrow_table()


@app.command()
def sign(
    model: Model,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who signs.")],
    key: Annotated[Path, typer.Option("--key", metavar="FILE", help="An Ed25519 private key in PEM format.")],
    note: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", help='The meaning of the signature, such as "validated".')
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write. Default: the same file.")
    ] = None,
    date: Annotated[str | None, typer.Option("--date", metavar="TEXT", help="When. Default: now.")] = None,
) -> None:
    """Sign a model file. `pysirus verify` then shows who signed it and whether it has changed since.

    Example: [bold]pysirus sign credit.json --by "A. Smith" --key key.pem --note "validated"[/bold]
    """
    from pysirus._use.verify import sign as add_signature
    from pysirus.cli._streams import tell_aside
    from pysirus.cli.fit import MODEL

    if not key.exists():
        raise typer.BadParameter(f"there is no key file '{key}'.", param_hint="--key")
    if output is not None:
        check_output(output, "--output", [key], MODEL)
    add_signature(model, key, by=by, note=note, date=date, output=output)
    tell_aside(f"Signed: {output or model}")


@app.command()
def card(
    model: Annotated[Path | None, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)] = None,
    table: Annotated[
        str | None,
        typer.Argument(metavar="[TABLE]", help=TABLE_HELP + " Rows that the model was not fitted on, with the target."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here: .md or .html. Default: print Markdown."),
    ] = None,
    about: Annotated[
        Path | None,
        typer.Option("--about", metavar="FILE", help="Statements by a person, as a TOML file; see --template."),
    ] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Print a blank file for --about, with explanations.")
    ] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COL",
            help="Compare the groups of rows given by this column of TABLE; numbers are split into quarters of the "
            "rows if there are more than 12. May be repeated.",
        ),
    ] = None,
    evidence: Annotated[
        Path | None, typer.Option("--evidence", metavar="FILE", help="The output of `pysirus evidence --json`.")
    ] = None,
    monitoring: Annotated[
        Path | None, typer.Option("--monitoring", metavar="FILE", help="The output of `pysirus monitor --json`.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="The heading.")] = None,
) -> None:
    """Write a model card: purpose, population, data, method, rules, evidence, groups, limits, monitoring and owner.

    The command fills in what the model file records. Statements that only a person can make come from --about; missing
    ones are marked "not stated". TABLE adds metrics on rows that the model was not fitted on.

    Example: [bold]pysirus card credit.json --about about.toml -o card.html[/bold]

    The blank: [bold]pysirus card --template > about.toml[/bold]
    """
    from pysirus.cli._options import existing, result_of
    from pysirus.cli._streams import deliver, print_data, tell_aside
    from pysirus.report._about import template as blank

    if template:
        print_data(blank())
        return
    if model is None:
        raise typer.BadParameter("give a model file, or --template.", param_hint="MODEL")
    if output is not None and output.suffix.lower() not in (".md", ".html", ".htm"):
        raise typer.BadParameter(f"'{output}' must end in .md or .html.", param_hint="--output")
    if by and table is None:
        raise typer.BadParameter("makes groups of the rows of TABLE: give one.", param_hint="--by")
    inputs = [own for own in (model, about, evidence, monitoring) if own is not None]
    from pysirus._runtime.output import DOCUMENT

    check_output(output, "--output", inputs, DOCUMENT)
    loaded = load_model(model)
    rows = {} if table is None else _found_on(loaded, table, by)
    results = {"evidence": result_of(evidence, "--evidence"), "monitoring": result_of(monitoring, "--monitoring")}
    found = loaded.card(existing(about, "--about"), **rows, **results, title=title)
    if output is None:
        print_data(found.to_markdown())
    else:
        deliver([(lambda: found.save(output), f"Model card written to {output}")], lambda: None)
    if found.missing:
        tell_aside(f"{len(found.missing)} answers are not stated: {', '.join(found.missing[:4])}, ...")


def _found_on(loaded: Any, table: str, by: Sequence[str] | None) -> dict[str, Any]:
    """The metrics of rows, and those of the groups that they make."""
    from pysirus.cli._show import model_of
    from pysirus.cli._truth import Truth, score_groups
    from pysirus.cli.edit import training_rows

    rules = model_of(loaded)
    name = Path(table).name if Path(table).exists() else None  # an address may have a password in it
    found = {"metrics": rules.metrics(*training_rows(table, rules, None)), "source": name}
    return {**found, "groups": [score_groups(rules, table, Truth().of(rules), own, banded=True) for own in by or ()]}

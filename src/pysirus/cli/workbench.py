"""``pysirus workbench``: a page in the browser, from a table to a signed rule list, without code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pysirus.cli._options import app


@app.command()
def workbench(
    table: Annotated[
        Path | None, typer.Argument(metavar="[TABLE]", help="A CSV, Parquet or Excel file to begin with.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page, or print its address only.")
    ] = True,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port. Default: any that is free.")] = 0,
) -> None:
    """Open a page on this computer: look at a table, tune, edit, compare, sign and export a list, without code.

    The page is for this computer alone, and nothing leaves it. Ctrl-C ends it.

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

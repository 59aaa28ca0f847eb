"""Trees grown or rows read in, a progress bar out (on standard error, so that results can be piped)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from pysirus._console import error_console
from pysirus._plain import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn

Grown = Callable[[int, float], None]  # told of the trees so far, and of their estimated stability


@contextmanager
def show_trees(verbose: int, n_trees: int | None, goal: float) -> Iterator[Grown | None]:
    """A bar of trees against a fixed number, or of estimated stability against its goal; None when not verbose."""
    if not verbose:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("growing"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[trees]:>7,} trees, estimated stability {task.fields[stability]:.1%}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=error_console()) as bar:
        task = bar.add_task("", total=n_trees or goal, trees=0, stability=0.0)

        def update(trees: int, stability: float) -> None:
            done = trees if n_trees else min(max(stability, 0.0), goal)
            bar.update(task, completed=done, trees=trees, stability=stability)

        yield update


@contextmanager
def show_folds(verbose: int) -> Iterator[Callable[[int], None]]:
    """A bar of folds, with the time left: to be told of each that is done, and of how many; silent when not verbose."""
    if not verbose:
        yield lambda n_folds: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("tuning "), BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("folds, time left"))
    with Progress(*columns, TimeRemainingColumn(), console=error_console()) as bar:
        task = bar.add_task("", total=None)
        yield lambda n_folds: bar.update(task, advance=1, total=n_folds)


Advance = Callable[[float, int], None]
ShowPass = Callable[[str, int], AbstractContextManager[Advance]]


def _pass_bar(*columns: ProgressColumn) -> Bar:
    """A bar that says what a pass over the rows is for, how far it is, and the time that it has taken."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    what = TextColumn("{task.description:<16}", markup=False)
    return Progress(what, BarColumn(bar_width=30), *columns, TimeElapsedColumn(), console=error_console())


@contextmanager
def show_pass(what: str, n_bytes: int) -> Iterator[Advance]:
    """A bar of the bytes and rows that a pass over files has read."""
    from rich.progress import DownloadColumn, TextColumn

    with _pass_bar(DownloadColumn(), TextColumn("{task.fields[rows]:>13,} rows")) as bar:
        task = bar.add_task(one_line(what), total=n_bytes, rows=0)
        n_rows = 0

        def advance(n_bytes: float, rows: int) -> None:
            nonlocal n_rows
            n_rows += rows
            bar.update(task, advance=n_bytes, rows=n_rows)

        yield advance


@contextmanager
def show_rows(n_rows: int, what: str) -> Iterator[Callable[[float], None]]:
    """A bar of the rows that a pass over rows in bins has gone through."""
    from rich.progress import MofNCompleteColumn, TextColumn

    with _pass_bar(MofNCompleteColumn(), TextColumn("rows")) as bar:
        task = bar.add_task(one_line(what), total=n_rows)
        yield lambda rows: bar.advance(task, rows)
        bar.update(task, completed=n_rows)  # rows on other machines give no sign


@contextmanager
def no_pass(what: str, n_bytes: int) -> Iterator[Advance]:
    """The same without a bar."""
    yield lambda n_bytes, rows: None

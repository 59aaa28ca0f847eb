"""Parquet files that change while ``fit_files`` reads them: an error that names the file, never a crash, never a model.

The passes over the files are hooked, so each change happens at the same moment in every run.
"""

import os
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pysirus import DataError, SirusClassifier, SirusRegressor
from pysirus.engine.backends import files
from pysirus.engine.backends.files import FileRows
from sampled import FULL, in_turns

ROWS = 1500  # of a file ...
BATCH = 1000  # ... and of a batch of it
N_FILES = 3
ESTIMATORS = {"numbers": SirusRegressor, "classes": SirusClassifier}
# numbers: the range of the target, the columns, their quantiles, the encoding, in the end the values next to cuts;
# classes: the labels before that
N_PASSES = {"numbers": 6, "classes": 7}  # the last one for what monitoring compares with


def table_of(kind, number, n_rows=ROWS):
    rng = np.random.default_rng(number)
    x = rng.normal(size=(4, n_rows))
    y = 2.0 * (x[0] > 0) + x[1]
    columns = {f"x{i}": column for i, column in enumerate(x)}
    columns["group"] = np.array(["left", "middle", "right"])[rng.integers(0, 3, n_rows)]
    return pa.table({**columns, "y": y if kind == "numbers" else np.where(y > 1, "yes", "nay")})


def write(path, table):
    """Plain pages without statistics: other values of the same types make a file of the same size and footer."""
    pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)


@pytest.fixture
def folder(tmp_path, request):
    kind = request.getfixturevalue("kind")
    for number in range(N_FILES):
        write(tmp_path / f"part-{number}.parquet", table_of(kind, number))
    return tmp_path


# ------------------------------------------------------------------------------------------------------------ changes


def other_values(path, kind):
    """The same columns with other values; of classes, with a label that nobody has seen."""
    table = pq.read_table(path)
    y = np.array(table["y"].to_pylist())
    y = y * 1e9 if kind == "numbers" else np.where(np.arange(len(y)) % 7 == 0, "aye", y)
    return table.set_column(table.column_names.index("y"), "y", pa.array(y))


def replaced(path, kind):
    write(path.with_suffix(".new"), other_values(path, kind))
    path.with_suffix(".new").replace(path)


def rewritten(path, kind):
    new = other_values(path, kind)
    with path.open("r+b") as file:
        file.truncate(0)
        write(file, new)


def truncated(path, kind):
    os.truncate(path, path.stat().st_size // 2)


def emptied(path, kind):
    os.truncate(path, 0)


def overwritten(path, kind):
    """Bytes of nothing in the place of the pages; the footer stays."""
    with path.open("r+b") as file:
        file.seek(4)
        file.write(b"\xff" * (path.stat().st_size // 2))


def grown(path, kind):
    write(path, pa.concat_tables([pq.read_table(path)] * 2))


def shrunk(path, kind):
    write(path, pq.read_table(path).slice(0, 100))


def retyped(path, kind):
    table = pq.read_table(path)
    write(path, table.set_column(0, "x0", pa.array([f"level {i % 5}" for i in range(len(table))])))


def retyped_target(path, kind):
    table = pq.read_table(path)
    other = np.arange(len(table)) % 3
    write(path, table.set_column(5, "y", pa.array(other.astype(str) if kind == "numbers" else other)))


def another_column(path, kind):
    table = pq.read_table(path)
    write(path, table.append_column("new", table["x0"]))


def a_column_less(path, kind):
    write(path, pq.read_table(path).drop_columns(["x1"]))


def removed(path, kind):
    path.unlink()


def unseen_by_size_and_time(path, kind):
    """Other values in a file of the same size, time and footer."""
    before = path.stat()
    table = pq.read_table(path)
    y = np.array(table["y"].to_pylist())
    y = y / 2 if kind == "numbers" else np.where(np.arange(len(y)) < 100, "yes", y)
    x = np.array(table["x0"]) + 1
    table = table.set_column(0, "x0", pa.array(x)).set_column(5, "y", pa.array(y))
    footer = footer_of(path)
    write(path, table)
    assert footer_of(path) == footer
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def footer_of(path):
    content = path.read_bytes()
    return content[-8 - int.from_bytes(content[-8:-4], "little") :]


CHANGES = [replaced, rewritten, truncated, emptied, overwritten, grown, shrunk, retyped, retyped_target]
CHANGES += [another_column, a_column_less, removed]


# ------------------------------------------------------------------------------------------------------------- passes


@pytest.fixture
def passes(monkeypatch):
    """Calls something before some pass, or once a pass has read its first batch; counts the passes."""
    original = FileRows._parts
    monkeypatch.setattr(files, "tally_of_bytes", lambda *_: 1024)  # so that quantiles take a pass of their own

    class Passes:
        n = 0

        def hook(self, number, when, change):
            numbers = count()

            def parts(rows, features):
                here = next(numbers)
                self.n = here + 1
                rows.batch_rows = BATCH
                if here == number and when == "before":
                    change()
                for i, part in enumerate(original(rows, features)):
                    yield part
                    if here == number and when == "within" and i == 0:
                        change()

            monkeypatch.setattr(FileRows, "_parts", parts)

    return Passes()


def fit(kind, folder, **options):
    model = ESTIMATORS[kind](n_trees=20, random_state=0, **options)
    return model.fit_files(folder, "y", memory=1 << 26)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_files_that_stay_are_read_in_so_many_passes(kind, folder, passes):
    passes.hook(-1, "before", None)
    assert fit(kind, folder).model_.facts["n_rows"] == N_FILES * ROWS
    assert passes.n == N_PASSES[kind]


EVERY_PASS = [(kind, number) for kind, n_passes in N_PASSES.items() for number in range(n_passes)]
MOMENTS = [("before", 2), ("within", 0), ("within", 2)]
# each change in every third pass, at each moment
SOME = [
    (at, change, MOMENTS[(i + j) // 3 % len(MOMENTS)])
    for i, at in enumerate(EVERY_PASS)
    for j, change in enumerate(CHANGES)
    if (i + j) % 3 == 0
]


@pytest.mark.parametrize(
    "kind, number, change, when, file",
    [(*at, change, *moment) for at, change, moment in (in_turns(EVERY_PASS, CHANGES, MOMENTS) if FULL else SOME)],
)
def test_a_file_that_changes_is_named(kind, number, change, when, file, folder, passes):
    path = folder / f"part-{file}.parquet"
    passes.hook(number, when, lambda: change(path, kind))
    with pytest.raises(DataError, match=path.name):
        fit(kind, folder)
    assert passes.n in (number + 1, number + 2)  # now, or when the next pass begins


@pytest.mark.parametrize(
    "kind, number, when, file",
    [
        (*at, *moment)
        for at, moment in in_turns([at for at in EVERY_PASS if at[1]], [("before", 0), ("before", 2), ("within", 2)])
    ],
)
def test_other_values_behind_the_same_size_time_and_footer_are_named(kind, number, when, file, folder, passes):
    path = folder / f"part-{file}.parquet"
    passes.hook(number, when, lambda: unseen_by_size_and_time(path, kind))
    with pytest.raises(DataError, match=rf"rows 0 to 999 of .*{path.name}.* changed while"):
        fit(kind, folder)


@pytest.mark.parametrize("change", [replaced, rewritten, truncated, grown], ids=lambda change: change.__name__)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_file_that_changes_is_named_by_several_threads(kind, change, folder, passes):
    path = folder / "part-2.parquet"
    passes.hook(N_PASSES[kind] - 1, "within", lambda: change(path, kind))
    with pytest.raises(DataError, match=path.name):
        fit(kind, folder, n_jobs=3)

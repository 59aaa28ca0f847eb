"""What ``fit_files`` says of files that do not go together, of damaged pages, and of limits of the system."""

import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warm
from pysirus import DataError, SirusClassifier, SirusRegressor
from pysirus._parameters import ParameterError
from pysirus.engine.backends import files as scratch_file


def table_of(n_rows=3000, seed=0):
    x = np.random.default_rng(seed).normal(size=(4, n_rows))
    return pa.table({"a": x[0], "b": x[1], "c": x[2], "y": 2.0 * (x[0] > 0) + x[1]})


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for number in range(3):
        pq.write_table(table_of(seed=number), data / f"part-{number}.parquet", compression="none")
    return data


MODEL = SirusRegressor(n_trees=20, random_state=0)


# ------------------------------------------------------------------------------------------------------------ columns


def test_columns_that_only_later_files_have_are_named(folder):
    table = table_of()
    more = table.append_column("d", table["a"]).append_column("e", table["a"])
    pq.write_table(more, folder / "part-2.parquet")
    message = r"part-0.parquet' has no column 'd' \(and e\), which '.*part-2.parquet' has.*under drop"
    with pytest.raises(DataError, match=message):
        MODEL.fit_files(folder, "y")
    with pytest.raises(DataError, match=r"part-0.parquet' has no column 'e', which '.*part-2.parquet' has"):
        MODEL.fit_files(folder, "y", drop=["d"])
    found = MODEL.fit_files(folder, "y", drop=["d", "e"])
    assert list(found.feature_names_in_) == ["a", "b", "c"]


def test_columns_that_later_files_lack_are_named_before_anything_is_read(folder, monkeypatch):
    pq.write_table(table_of().drop_columns(["b"]), folder / "part-1.parquet")
    monkeypatch.setattr("pysirus.engine.backends.files.FileRows._parts", None)
    with pytest.raises(DataError, match=r"part-1.parquet' has no column 'b', which '.*part-0.parquet' has"):
        MODEL.fit_files(folder, "y")


def test_the_command_line_drops_columns_that_only_some_files_have(folder):
    table = table_of()
    pq.write_table(table.append_column("d", table["a"]), folder / "part-2.parquet")
    command = [*warm.command(), "fit", str(folder), "--target", "y", "--trees", "20"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 1 and "part-0.parquet' has no column 'd'" in answer.stderr.replace("\n", " ")
    assert subprocess.run([*command, "--drop", "d"], capture_output=True, check=False).returncode == 0


def test_columns_in_another_order_are_the_same(folder):
    expected = MODEL.fit_files(folder, "y").model_
    pq.write_table(table_of(seed=1).select(["y", "c", "a", "b"]), folder / "part-1.parquet")
    assert MODEL.fit_files(folder, "y").model_.selected == expected.selected


# ------------------------------------------------------------------------------------------------------------- damage


def damage(path, offset, bytes_):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(bytes_)


@pytest.mark.parametrize("estimator", [SirusRegressor, SirusClassifier])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_a_damaged_page_names_its_file(estimator, compression, folder):
    path = folder / "part-1.parquet"
    labels = estimator is SirusClassifier
    table = table_of(seed=1)
    if labels:
        for number in range(3):
            whole = table_of(seed=number)
            text = pa.array(np.where(np.array(whole["y"]) > 1, "yes", "no"))
            pq.write_table(whole.set_column(3, "y", text), folder / f"part-{number}.parquet")
        table = pq.read_table(path)
    pq.write_table(table, path, compression=compression)
    column = pq.ParquetFile(path).metadata.row_group(0).column(3)
    start = column.dictionary_page_offset or column.data_page_offset
    damage(path, start, b"\xff" * 40)
    with pytest.raises(DataError, match=r"part-1.parquet'.*damaged"):
        estimator(n_trees=20).fit_files(folder, "y")


@pytest.mark.parametrize("seed", range(40))
def test_bytes_of_noise_name_their_file_or_do_nothing(seed, folder):
    path = folder / "part-1.parquet"
    rng = np.random.default_rng(seed)
    pq.write_table(table_of(seed=1), path, compression=["none", "snappy", "zstd", "gzip"][seed % 4])
    damage(path, int(rng.integers(4, path.stat().st_size - 8)), rng.bytes(int(rng.integers(1, 30))))
    try:
        MODEL.fit_files(folder, "y")
    except DataError as error:
        assert "part-1.parquet" in str(error) or str(error).startswith("The range of column 'y'")  # of all files


# ------------------------------------------------------------------------------------------------------------ scratch


def test_a_scratch_folder_that_cannot_be_used_is_named_before_anything_is_read(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("pysirus.engine.backends.files.FileRows._parts", None)
    (tmp_path / "file").touch()
    for scratch, reason in ((tmp_path / "none", "No such file"), (tmp_path / "file", "Not a directory")):
        with pytest.raises(ParameterError, match=rf"scratch must be a folder that .*{scratch.name}.*{reason}"):
            MODEL.fit_files(folder, "y", scratch=scratch)
    with pytest.raises(ParameterError, match="scratch must be a folder"):
        MODEL.fit_files(folder, "y", scratch=5)


def test_a_scratch_folder_without_room_is_named_before_anything_is_read(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("pysirus.engine.backends.files.FileRows._parts", None)
    monkeypatch.setattr(scratch_file.shutil, "disk_usage", lambda _: Usage())
    message = rf"scratch must be a folder with room for 99,000 bytes.*'{tmp_path}' has 98,999 free"
    with pytest.raises(ParameterError, match=message):
        MODEL.fit_files(folder, "y", scratch=tmp_path)


class Usage:
    free = 98_999  # one less than 9,000 rows of 3 + 8 bytes


def test_a_scratch_file_that_cannot_be_written_is_named(folder, tmp_path):
    """Under a limit on the size of files, which is noticed when the rows in bins are written."""
    code = (
        "import resource, signal, sys\n"
        "from pysirus import SirusRegressor\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "SirusRegressor(n_trees=20).fit_files(sys.argv[1], 'y', scratch=sys.argv[2])\n"
    )
    command = [*warm.python(code), str(folder), str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    *_, said = (line for line in answer.stderr.splitlines() if line.startswith("OSError"))  # coverage.py complains too
    assert answer.returncode == 1
    assert "File too large" in said
    assert f"the scratch file in '{tmp_path}'" in said and "under scratch" in said


def test_no_folder_for_temporary_files_is_named(folder, monkeypatch):
    def none(*args, **options):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", none)
    with pytest.raises(ParameterError, match=r"scratch must be .*temporary files cannot be used \(No usable"):
        MODEL.fit_files(folder, "y")


# ------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("memory", [0, -1, 10, (1 << 26) - 1, 1e9, "2GB", True])
def test_too_little_memory_is_called_by_its_name(memory, folder):
    with pytest.raises(ParameterError, match=r"^memory must be a whole number of bytes, 64 MiB \(67108864\) or more"):
        MODEL.fit_files(folder, "y", memory=memory)


def test_too_little_memory_is_called_by_its_option(folder):
    command = [*warm.command(), "fit", str(folder), "--target", "y", "--memory", "1MB"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode != 0
    assert "--memory must be a whole number of bytes, 64 MiB" in " ".join(answer.stderr.split())


LIMITED = """
import resource, sys, threading
import numpy as np, pyarrow.parquet as pq
from pysirus import SirusRegressor
from pysirus.engine.backends import files
import pysirus.cli._options
SirusRegressor(n_trees=2).fit_files(sys.argv[1], 'y', drop=['a'])  # what is imported late is imported now
used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {more}, used + {more}))
threading.stack_size({stack})
try:
    SirusRegressor(n_trees=200, n_jobs={jobs}).fit_files(sys.argv[1], 'y')
except (MemoryError, RuntimeError) as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
@pytest.mark.parametrize(
    # memory for the rows is refused to one thread, and the stack of a second thread, where all else has room
    "jobs, more, stack, message",
    [
        (1, 1 << 20, 0, "NoMemoryError memory: the system gave less than the 1,073,741,824 bytes"),
        (8, 1 << 30, 1 << 32, "NoThreadError n_jobs: the system started no further thread, 8 are wanted"),
    ],
    ids=["memory", "threads"],
)
def test_limits_of_the_system_are_called_by_their_parameters(jobs, more, stack, message, tmp_path):
    pq.write_table(table_of(200_000), tmp_path / "part.parquet")
    command = [*warm.python(LIMITED.format(jobs=jobs, more=more, stack=stack)), str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith(message) and "n_jobs" in answer.stdout, answer.stdout
    assert "part.parquet" not in answer.stdout


@pytest.mark.parametrize("value", [1e-9, 0.0, -0.5, 1.5, float("nan")])
def test_a_share_of_rows_that_is_too_small_is_told_the_limits(value):
    X, y = np.random.default_rng(0).normal(size=(2, 50, 2))
    message = (
        r"max_samples must be a share of the rows from 1e-08 to 1.0 or a whole number of rows of at least 1 or None"
    )
    with pytest.raises(ParameterError, match=message):
        SirusRegressor(max_samples=value).fit(X, y[:, 0])

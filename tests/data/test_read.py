"""Reading files: each kind, and each way it can fail."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from pysirus import DataError
from pysirus._data import read
from pysirus._data.read import check_column, did_you_mean, read_file

TEXT = "a,b,label\n1,2.5,x\n3,,y\n"


def check(table: pa.Table) -> None:
    assert table.column_names == ["a", "b", "label"]
    assert table["a"].to_pylist() == [1, 3]
    assert table["b"].to_pylist() == [2.5, None]
    assert table["label"].to_pylist() == ["x", "y"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_read_csv_finds_the_delimiter(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TEXT.replace(",", delimiter))
    check(read_file(path))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("header", "names"),
    [
        ('"a;b;c",d', ["a;b;c", "d"]),
        ('d,"a;b;c"', ["d", "a;b;c"]),
        ('"a,b,c";d', ["a,b,c", "d"]),
        ('"a\tb\tc",d', ["a\tb\tc", "d"]),
        ('"a ""x;y;z""","d"', ['a "x;y;z"', "d"]),
        ('"two\nlines;;",d', ["two\nlines;;", "d"]),
        ('height 5",d', ['height 5"', "d"]),
    ],
)
def test_read_csv_does_not_split_quoted_names(tmp_path: Path, header: str, names: list[str], mark: bytes) -> None:
    path = tmp_path / "t.csv"
    delimiter = ";" if header.endswith(";d") else ","
    path.write_bytes(mark + f"{header}\n1{delimiter}2\n".encode())
    assert read_file(path).to_pydict() == dict(zip(names, ([1], [2])))


def test_read_csv_infers_types_of_compressed_files_from_every_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"1\n" * 700_000 + b"1.5\n"))
    assert read_file(path)["a"].type == pa.float64()


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv"])
def test_read_csv_compressed_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT.encode()))
    check(read_file(path))
    path.write_bytes(gzip.compress(TEXT.encode())[:-12])
    with pytest.raises(DataError, match=rf"{name}'"):
        read_file(path)


def feed(path: Path, content: bytes) -> threading.Thread:
    """A pipe with a writer, who does not mind that the reader leaves."""
    os.mkfifo(path)

    def write() -> None:
        with suppress(BrokenPipeError), path.open("wb") as file:
            file.write(content)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ["csv", "gzip", "parquet"])
def test_read_file_takes_pipes(tmp_path: Path, kind: str) -> None:
    path, content = tmp_path / "pipe", TEXT.encode()
    if kind == "parquet":
        sink = pa.BufferOutputStream()
        pyarrow.parquet.write_table(pa.table({"a": [1, 3], "b": [2.5, None], "label": ["x", "y"]}), sink)
        content = sink.getvalue().to_pybytes()
    writer = feed(path, gzip.compress(content) if kind == "gzip" else content)
    check(read_file(path))
    writer.join()


def test_read_file_of_a_pipe_that_gives_nothing_or_too_much(tmp_path: Path, monkeypatch) -> None:
    writer = feed(tmp_path / "empty", b"")
    with pytest.raises(DataError, match=r"'.*empty' is empty"):
        read_file(tmp_path / "empty")
    writer.join()
    monkeypatch.setattr(read, "MAX_UNSEEN", 1 << 21)
    with pytest.raises(DataError, match=r"'/dev/zero' gives more than 2 MB\. Write it to a file first"):
        read_file("/dev/zero")


def peak_of(script: str, *arguments: object) -> tuple[int, str]:
    """Megabytes that a script takes beyond what it has at its start, and what it prints."""
    measure = f"""import resource, sys
from pysirus._data.read import read_file
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
start = peak()
{script}
print(peak() - start)"""
    command = [sys.executable, "-c", measure, *map(str, arguments)]
    *lines, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return int(peak), "\n".join(lines)


READ = """try:
    read_file(sys.argv[1])
except ValueError as error:
    print(error)"""


def test_read_file_is_not_blown_up_by_a_small_one(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    rows = gzip.compress(b"0,0\n" * (1 << 18), compresslevel=1)
    path.write_bytes(gzip.compress(b"a,b\n") + rows * 400)
    assert path.stat().st_size < 3 << 20  # of 400 MB
    peak, said = peak_of(READ, path)
    assert "is compressed and holds more than" in said and "decompress it first" in said
    assert peak < 600
    path = tmp_path / "bomb.parquet"
    schema = pa.schema([("a", pa.float64())])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        rows = pa.table({"a": pa.nulls(1 << 20, pa.float64())}, schema)
        for _ in range(200):
            writer.write_table(rows)
    peak, said = peak_of(READ, path)
    assert "takes 1.56 GB of memory, from" in said and "in batches" in said
    assert peak < 100


def test_read_csv_with_a_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    check(read_file(path))


def test_read_csv_compressed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    check(read_file(path))


def test_read_parquet_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "t.data"
    pyarrow.parquet.write_table(pa.table({"a": [1, 3], "b": [2.5, None], "label": ["x", "y"]}), path)
    check(read_file(path))


def test_read_csv_infers_types_from_every_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "1\n" * 700_000 + "1.5\n")
    assert read_file(path)["a"].type == pa.float64()


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("a;b\n12,5;x\n-3;y\n", [12.5, -3], ["x", "y"]),
        ("a;b\n0,125;1,234\n1e3;2\n", [0.125, 1000], [1.234, 2]),  # the file has decimal commas: 1,234 too
        ("a;b\n1.5;1,234\n2;5\n", [1.5, 2], ["1,234", "5"]),
        ("a;b\n1.5;1,25\n2;5\n", [1.5, 2], ["1,25", "5"]),  # both kinds
        ("a;b\n1,234;x\n5;y\n", ["1,234", "5"], ["x", "y"]),  # may be thousands
        ("a;b\n1,234;1,25\n5;x\n", ["1,234", "5"], ["1,25", "x"]),
        ("a;b\n1.234,5;1,25\n2;x\n", [1234.5, 2], ["1,25", "x"]),
        ("a;b\n1,234,567;1,25\n2;5\n", ["1,234,567", "2"], [1.25, 5]),
        ('a,b\n"12,5",x\n3,y\n', ["12,5", "3"], ["x", "y"]),  # commas between columns
    ],
)
def test_read_csv_with_decimal_commas(tmp_path: Path, text: str, a: list[object], b: list[object]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert read_file(path).to_pydict() == {"a": a, "b": b}


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (["01", "2", ""], ["01", "2", None]),
        (["0", "2", "-10"], [0, 2, -10]),
        (["0.5", "02.5", "2"], [0.5, 2.5, 2]),
        (["00012345678901234567890", "", "7"], ["00012345678901234567890", None, "7"]),
    ],
)
def test_read_csv_labels_keep_leading_zeros(tmp_path: Path, values: list[str], read: list[object]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x;zip\n" + "".join(f"01;{value}\n" for value in values))
    assert read_file(path, labels=["zip", "absent"]).to_pydict() == {"x": [1, 1, 1], "zip": read}


def test_read_csv_quoted_line_break_and_empty_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,label\n1,"two\nlines"\n2,\n')
    assert read_file(path)["label"].to_pylist() == ["two\nlines", None]


def test_read_csv_names_an_index_without_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",a\n0,5\n1,6\n")
    assert read_file(path).column_names == ["Unnamed: 0", "a"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.csv", b"a,a\n1,2\n", "'a' occurs more than once"),
        ("t.csv", b"a,b\n1,2\n3\n", "cannot be read as CSV"),
        ("t.csv", b"\xff\xfea", "begins like UTF-16 and cannot be read as that"),
        ("t.xlsx", b"PK\x03\x04" + bytes(range(256)), "is a zip archive. Unpack it"),
        ("t.xls", b"\xd0\xcf\x11\xe0" * 9, "is an Excel workbook of the old kind.* Save it as .xlsx"),
        ("t.csv", bytes(range(256)) * 4, "t.csv"),
        ("t.parquet", b"a,b\n1,2\n", "not a Parquet file"),
        ("t.parquet", b"PAR1 and then nothing", "begins like a Parquet file"),
    ],
)
def test_read_file_says_what_is_wrong(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_file(path)


def test_read_file_not_there_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        read_file(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_file(tmp_path)


def test_check_column_suggests() -> None:
    table = pa.table({"price": [1], "size": [2]})
    check_column(table, "size", "target")
    with pytest.raises(DataError, match=r"no column 'Prize' for the target\. Did you mean 'price'\? .* price, size"):
        check_column(table, "Prize", "target")
    assert did_you_mean("zzz", ["price"]) == ""

"""Files that are not plain CSV in UTF-8: Latin-1, UTF-16, German numbers, Excel workbooks, standard input."""

import datetime
import io
import warnings
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest

from pysirus._data.column import DataError
from pysirus._data.read import read_file


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
@pytest.mark.parametrize("text", ["größe,ort\n1,Köln\n2,Rom\n", "a,ort\n1,Köln\n2,Rom\n", "größe,b\n1,2\n2,3\n"])
def test_latin_1_is_read_and_said(tmp_path, encoding, text):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    expected = read_file(path, ["ort"])
    path.write_bytes(text.encode(encoding))
    with pytest.warns(UserWarning, match=r"t.csv' is not in UTF-8. It is read as Windows-1252 \(Latin-1\)"):
        assert read_file(path, ["ort"]).equals(expected)


def test_bytes_that_windows_1252_lacks_are_latin_1(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,\x81x\n")
    with pytest.warns(UserWarning, match="Latin-1"):
        assert read_file(tmp_path / "t.csv")["b"].to_pylist() == ["\x81x"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_read(tmp_path, encoding):
    mark = b"\xfe\xff" if encoding.endswith("be") else b""
    (tmp_path / "t.csv").write_bytes(mark + "höhe;b\n1;x\n".encode(encoding))
    assert read_file(tmp_path / "t.csv").to_pydict() == {"höhe": [1], "b": ["x"]}


@pytest.mark.parametrize(
    "rows, expected",
    [
        (["80,5;1.960,12", "7,25;950,00"], [[80.5, 7.25], [1960.12, 950.0]]),
        (["80,5;1.960", "7,25;12.000"], [[80.5, 7.25], [1960.0, 12000.0]]),
        (["8;1.960,12", "7;950,00"], [[8, 7], [1960.12, 950.0]]),
        (["8;1.960", "7;2.500"], [[8, 7], [1.96, 2.5]]),  # nothing says that the point parts thousands
        (["80,5;1.960 x", "7,25;2"], [[80.5, 7.25], ["1.960 x", "2"]]),
    ],
)
def test_german_numbers_are_read_where_the_file_shows_them(tmp_path, rows, expected):
    (tmp_path / "t.csv").write_text("\n".join(["a;b", *rows]) + "\n")
    assert [column.to_pylist() for column in read_file(tmp_path / "t.csv").columns] == expected


def test_german_codes_stay_text_where_asked(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n8,5;1.960,12\n7,5;2.100,50\n")
    assert read_file(tmp_path / "t.csv", text=["b"])["b"].to_pylist() == ["1.960,12", "2.100,50"]


# -------------------------------------------------------------------------------------------------------------- Excel


def workbook(path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for i, rows in enumerate(sheets):
        sheet = book.create_sheet(f"s{i}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_excel_is_read_with_its_types(tmp_path):
    day = datetime.datetime(2024, 5, 9)
    rows = [["n", "x", "day", "city", None, "mixed"], [1, 1.5, day, "Oslo", 7, 3], [2, None, day, "#N/A", 8, "x"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_file(workbook(tmp_path / "t.xlsx", rows))
    assert table.to_pydict() == {
        "n": [1, 2],
        "x": [1.5, None],
        "day": [day, day],
        "city": ["Oslo", None],
        "column_5": [7, 8],
        "mixed": ["3", "x"],
    }
    assert read_file(tmp_path / "t.xlsx", text=["n"])["n"].to_pylist() == ["1", "2"]


def test_excel_takes_the_first_sheet_with_rows_and_says_so(tmp_path):
    path = workbook(tmp_path / "book.of.anything", [], [[None], ["a"], [1]], [["b"], [2]])
    with pytest.warns(UserWarning, match="has several sheets: 's1' is read, and not 's2'"):
        assert read_file(path).to_pydict() == {"a": [1]}


def test_excel_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="no sheet has a header"):
        read_file(workbook(tmp_path / "t.xlsx", []))
    with pytest.raises(DataError, match="no rows"):
        read_file(workbook(tmp_path / "t.xlsx", [["a", "b"]]))
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<broken")
    with pytest.raises(DataError, match="cannot be read as an Excel workbook"):
        read_file(tmp_path / "t.xlsx")


# ------------------------------------------------------------------------------------------------------ command line


def test_excel_and_german_files_on_the_command_line(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"Fläche": rng.normal(80, 20, 100).round(1), "Ort": rng.choice(["Köln", "München"], 100)})
    frame["Miete"] = 1000 + 12 * frame["Fläche"] + 300 * (frame["Ort"] == "Köln")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    german = frame.assign(Miete=[f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in frame["Miete"]])
    german.to_csv(tmp_path / "german.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    outputs = [run("fit", tmp_path / name, "-t", "Miete", "--trees", 50) for name in ("t.csv", "t.xlsx", "german.csv")]
    assert [code for code, *_ in outputs] == [0, 0, 0]
    assert outputs[0][1] == outputs[1][1] == outputs[2][1]


def test_a_dash_is_standard_input_and_output(run, tmp_path, monkeypatch):
    text = "a,y\n" + "".join(f"{i % 10},{i % 10 > 4}\n" for i in range(100))
    (tmp_path / "t.csv").write_text(text)

    def typed(*arguments):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return run(*arguments)

    options = ["-t", "y", "--trees", 20]
    assert typed("fit", "-", *options)[:2] == run("fit", tmp_path / "t.csv", *options)[:2]
    assert run("fit", tmp_path / "t.csv", *options, "-m", tmp_path / "m.json")[0] == 0
    expected = run("predict", tmp_path / "m.json", tmp_path / "t.csv")
    assert typed("predict", tmp_path / "m.json", "-", "-o", "-") == expected
    assert run("export", tmp_path / "m.json", "--to", "sql", "-o", "-")[1].startswith("--")

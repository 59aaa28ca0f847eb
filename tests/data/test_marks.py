"""Marks of numbers: what a file shows, what a model keeps, how new files are read by it, and what contradicts it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pysirus
from pysirus._data.marks import COMMA, POINT, Shown, has_decimal_commas, marks_of, read_numbers
from pysirus._data.read import read_file
from pysirus._data.written import NumberForm
from pysirus.engine.backends.sources import scan_files

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("form", "texts", "values", "odd"),
    [
        (POINT, ["1.5", " 2 ", "-3e2", None], [1.5, 2, -300, None], []),
        (POINT, ["1.5", "+2", "unknown", "0x1F"], [1.5, 2, None, 31], []),
        (POINT, ["1.5", "1,5", "8,937"], [1.5, None, None], ["1,5", "8,937"]),
        (COMMA, ["1,5", "4.000", "1.234,5", "12", ",5", "5,"], [1.5, 4000, 1234.5, 12, 0.5, 5], []),
        (COMMA, ["1,5e-3", "-", "+2,0", "inf"], [0.0015, None, 2, np.inf], []),
        (COMMA, ["1,5", "4.5", "1.2345", "0.500", "x"], [1.5, None, None, None, None], ["0.500", "1.2345", "4.5", "x"]),
    ],
)
def test_numbers_are_read_in_their_form(form, texts, values, odd):
    found, unread = read_numbers(pa.chunked_array([texts], pa.string()), form)
    assert found.to_pylist() == values and sorted(unread) == odd


def test_what_the_texts_of_a_column_show():
    def shown(*texts):
        return Shown().add(pa.array(texts, pa.string()))

    assert shown("1,5", "2").shows and shown("3.366,33").shows and shown("1,5e3").shows
    assert not shown("8,937", "6,000").shows and shown("8,937").fits
    assert not shown("1.5").fits and not shown("0.125").fits and shown("4.000").fits
    assert shown("1,5", "unknown", "").fits and not shown("1,5", "unknown").is_comma_column
    assert has_decimal_commas([shown("1,5"), shown("x", "1,5")], [shown("4.000")])
    assert not has_decimal_commas([shown("1,5")], [shown("4.5")])  # another column has points
    assert not has_decimal_commas([shown("x", "1,5")], [])
    assert shown("1,5").add(pa.array(["x"])).fits is False  # batch after batch


def test_a_table_says_which_marks_its_file_had(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;c;d\n3.366,33;4.000;7;x\n1,5;2.000;8;y\n")
    table = read_file(path)
    assert table.to_pydict() == {"a": [3366.33, 1.5], "b": [4000, 2000], "c": [7, 8], "d": ["x", "y"]}
    assert marks_of(table.schema) == dict.fromkeys("abc", COMMA)
    assert marks_of(table.select(["b", "d"]).slice(1).schema) == {"b": COMMA}
    path.write_text("a;b\n1.5;2\n")
    assert marks_of(read_file(path).schema) == {}


def test_commas_that_show_nothing_are_said(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n8,937;x\n6,125;y\n")
    with pytest.warns(UserWarning, match="'a' has commas before three digits, as in 1,234: .* thousands marks"):
        read_file(tmp_path / "t.csv")


def test_labels_have_the_marks_of_their_file_and_keep_their_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("a;b;x, y;y\n4,5;007;1;1,5\n3,0;2,5;2;2,5\n")
    labels = ["a", "b", "x, y", "x", "y"]  # what may be meant by a,b and x, y
    table = read_file(tmp_path / "t.csv", labels=labels)
    assert table.to_pydict() == {"a": [4.5, 3], "b": ["007", "2,5"], "x, y": [1, 2], "y": [1.5, 2.5]}
    [file] = scan_files([tmp_path / "t.csv"], labels=labels)
    with file.batches(file.schema.names, 100) as batches:
        assert pa.Table.from_batches(list(batches)).to_pydict() == table.to_pydict()


# ------------------------------------------------------------------------------------------------------- with a model


def fit(run, path: Path, text: str, *options: object) -> Path:
    """The model that the command learns from a file."""
    path.write_text(text, encoding="utf-8")
    model = path.with_suffix(".json")
    code, _, err = run("fit", path, "-t", "y", "--rules", 3, "--trees", 50, "--seed", 1, *options, "-m", model)
    assert code == 0, err
    return model


def predict(run, model: Path, path: Path, text: str, *options: object) -> list[str]:
    """What is predicted for the rows of a file."""
    path.write_text(text, encoding="utf-8")
    code, out, err = run("predict", model, path, *options)
    assert code == 0, err
    return out.splitlines()[1:]


def refused(run, model: Path, path: Path, text: str, command: str = "predict") -> str:
    """What is said of a file that contradicts the model."""
    path.write_text(text, encoding="utf-8")
    code, out, err = run(command, model, path)
    assert code != 0 and out == ""
    return " ".join(err.split())


def german(value: float, places: int = 2) -> str:
    return f"{value:,.{places}f}".replace(",", "_").replace(".", ",").replace("_", ".")


VALUES = [37.5 * i + 0.33 for i in range(1, 121)]  # 37.83 to 4500.33
GERMAN = "x;z;y\n" + "".join(f"{german(v)};{i % 7};{german(0.5 + (v > 3000))}\n" for i, v in enumerate(VALUES))


def test_a_point_after_training_with_commas_parts_thousands(run, tmp_path):
    model = fit(run, tmp_path / "t.csv", GERMAN)
    low, high = predict(run, model, tmp_path / "n.csv", "x;z\n40,5;1\n4.000,00;1\n")
    assert low != high
    for text in ("4.000", "4000", "4000,0", "4.000,5"):
        assert predict(run, model, tmp_path / "n.csv", f"x;z\n{text};1\n") == [high]
        assert predict(run, model, tmp_path / "n.csv", f'x,z\n"{text}",1\n') == [high]  # whatever parts columns
    alone = fit(run, tmp_path / "o.csv", GERMAN, "--drop", "z")
    low, high = predict(run, alone, tmp_path / "n.csv", "x;k\n40,5;1\n4.000;1\n")
    assert low != high and predict(run, alone, tmp_path / "n.csv", "x\n40,5\n4.000\n") == [low, high]
    assert json.loads(alone.read_text())["marks"].keys() == {"x", "y"}
    marks = json.loads(model.read_text())["marks"]
    assert marks == {key: {"decimal": ",", "thousands": "."} for key in ["x", "z", "y"]}


def test_what_contradicts_the_marks_of_training_is_an_error(run, tmp_path):
    model = fit(run, tmp_path / "t.csv", GERMAN)
    for text in ("4.5", "0.125", "4,000.5"):
        said = refused(run, model, tmp_path / "n.csv", f"x;z\n{text};1\n")
        assert f"Column 'x' holds '{text}'. In training its numbers were written with a comma before decimals" in said
        assert "(1.234,5)" in said and "Write them as in training" in said
    assert "labels such as 'far'" in refused(run, model, tmp_path / "n.csv", "x;z\nfar;1\n")
    plain = fit(run, tmp_path / "p.csv", "x,y\n" + "".join(f"{v:.2f},{int(v > 3000)}\n" for v in VALUES))
    assert "marks" not in json.loads(plain.read_text())
    for text in ("8,937", "3,5", "1,234.5"):
        said = refused(run, plain, tmp_path / "n.csv", f"x;k\n{text};1\n")
        assert f"Column 'x' holds '{text}'" in said and "a point before decimals and nothing between thousands" in said


@pytest.mark.parametrize("command", ["predict", "score", "explain", "report"])
def test_every_command_reads_by_the_marks_of_the_model(run, tmp_path, command):
    model = fit(run, tmp_path / "t.csv", GERMAN)
    output = ("-o", tmp_path / "r.html") if command == "report" else ()
    for rows in ("4.000;1;1,5\n40,5;2;1.000\n", "4.000;1;1\n"):
        (tmp_path / "n.csv").write_text("x;z;y\n" + rows)
        code, out, err = run(command, model, tmp_path / "n.csv", *output)
        assert code == 0, err
        if command == "explain":
            assert "x >=" in out
    (tmp_path / "n.csv").write_text("x;z;y\n4.5;1;1,5\n")
    code, _, err = run(command, model, tmp_path / "n.csv", *output)
    assert code != 0 and "Column 'x' holds '4.5'" in " ".join(err.split())


def test_the_truth_has_the_marks_of_training_too(run, tmp_path):
    model = fit(run, tmp_path / "t.csv", GERMAN)
    (tmp_path / "n.csv").write_text("x;z;y\n40,5;1;1.000\n41,5;2;1.000\n")
    _, out, _ = run("score", model, tmp_path / "n.csv", "--json")
    (tmp_path / "p.csv").write_text("x;z;y\n40,5;1;1000,0\n41,5;2;1000,0\n")
    assert json.loads(out) == json.loads(run("score", model, tmp_path / "p.csv", "--json")[1])
    said = refused(run, model, tmp_path / "n.csv", "x;z;y\n40,5;1;1.5\n41,5;1;1,5\n", "score")
    assert "Column 'y' holds '1.5'" in said
    assert predict(run, model, tmp_path / "n.csv", "x;z;y\n40,5;1;what\n")  # which predict does not look at


def test_thousands_of_training_stay_thousands(run, tmp_path):
    """8,937 in a file that shows no decimal commas, and 6,000 in one that does."""
    values = [1000 + 131 * i for i in range(60)]
    model = fit(run, tmp_path / "t.csv", "x;y\n" + "".join(f"{v:,};{int(v > 5000)}\n" for v in values))
    low, high = predict(run, model, tmp_path / "n.csv", "x;k\n1,131;a\n8,937;a\n")
    assert low != high
    assert predict(run, model, tmp_path / "n.csv", "x;k\n6,000;3,5\n1,200;4,5\n") == [high, low]
    assert "Column 'x' holds '3,5'" in refused(run, model, tmp_path / "n.csv", "x;k\n6,000;1\n3,5;2\n")


def test_units_and_missing_words_have_the_marks_of_their_file(run, tmp_path):
    """In a file with decimal commas 12,500 km are twelve and a half."""
    rows = [
        f"{german(v / 1000, 3)} km;{'unknown' if i % 5 else german(v, 3)};{german(v > 3000, 1)}\n"
        for i, v in enumerate(VALUES)
    ]
    model = fit(run, tmp_path / "t.csv", "way;x;y\n" + "".join(rows))
    own = pysirus.load(model).model_.recipe.derived
    assert [entry.form for entry in own] == [NumberForm("km", ",", "."), NumberForm("", ",", ".")]
    first, second = predict(run, model, tmp_path / "n.csv", "way;x\n3,500 km;3.500\n3500,0 km;3500\n")[:2]
    assert predict(run, model, tmp_path / "n.csv", "way;x\n3,500 km;3.500\n") == [first] and second


def test_columns_that_hold_nothing_or_other_types_are_read_as_in_training(run, tmp_path):
    rows = [
        f"{v:.1f},{i % 3 == 0},{i % 2}{'.0' * (i % 5 == 0)},{i % 4:03}a,{int(v > 3000)}\n" for i, v in enumerate(VALUES)
    ]
    text = "x,flag,group,code,y\n" + "".join(rows)
    model = fit(run, tmp_path / "t.csv", text, "--categorical", "group,code")
    whole = predict(run, model, tmp_path / "n.csv", text)
    for i in (0, 1, 5, 119):
        assert predict(run, model, tmp_path / "n.csv", "x,flag,group,code,y\n" + rows[i]) == [whole[i]]
    for empty in ("", "NA", "unknown", "-"):
        alone = predict(run, model, tmp_path / "n.csv", f"x,flag,group,code\n{empty},True,1,001a\n")
        assert (
            alone
            == predict(run, model, tmp_path / "n.csv", f"x,flag,group,code\n{empty},True,1,001a\n5,1,1.0,001a\n")[:1]
        )
        assert (
            alone
            == predict(run, model, tmp_path / "n.csv", f"x,flag,group,code\n{empty},1,1.0,001a\n9,odd,odd,1\n")[:1]
        )


def test_python_refuses_numbers_with_other_marks():
    import pandas as pd

    x = [german(v) for v in VALUES]
    y = np.array(VALUES) > 3000
    model = pysirus.SirusClassifier(n_rules=3, n_trees=50, prepare=True, random_state=0).fit(pd.DataFrame({"x": x}), y)
    assert model.predict(pd.DataFrame({"x": ["4.000"]})).tolist() == [True]
    with pytest.raises(ValueError, match=r"Column 'x' holds '4\.5'\. In training .* a comma before decimals"):
        model.predict(pd.DataFrame({"x": ["4.000", "4.5"]}))
    with pytest.warns(UserWarning, match="taken as missing"):
        model.predict(pd.DataFrame({"x": ["4.000", "far"]}))


# ------------------------------------------------------------------------------------------------------------ batches


def test_batches_read_by_the_marks_of_the_model(run, tmp_path):
    model = fit(run, tmp_path / "t.csv", GERMAN)
    header, *rows = GERMAN.splitlines()
    whole = predict(run, model, tmp_path / "n.csv", GERMAN)
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, some in enumerate((rows[:1], rows[1:50], rows[50:51], rows[51:])):
        (folder / f"{i}.csv").write_text("\n".join([header, *some]) + "\n")
    code, out, err = run("predict", model, folder / "*.csv")
    assert code == 0 and out.splitlines()[1:] == whole, err
    assert run("score", model, folder, "--json")[1] == run("score", model, tmp_path / "t.csv", "--json")[1]
    (folder / "1.csv").write_text("x;z;y\n4.5;1;1\n")
    code, _, err = run("predict", model, folder)
    assert code != 0 and "Column 'x' holds '4.5'" in " ".join(err.split())


def test_files_with_decimal_commas_are_learned_from_in_batches(run, tmp_path):
    options = ("--rules", 3, "--trees", 50, "--seed", 1, "--strict")
    memory = fit(run, tmp_path / "t.csv", GERMAN, "--strict")
    header, *rows = GERMAN.splitlines()
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_text("\n".join([header, *rows[:1]]) + "\n")
    (folder / "b.csv").write_text("\n".join([header, *rows[1:]]) + "\n")
    for place, more in ((folder, ()), (tmp_path / "t.csv", ("--memory", "100MB"))):
        files = tmp_path / "files.json"
        code, _, err = run("fit", place, "-t", "y", *options, *more, "-m", files)
        assert code == 0, err
        found, expected = pysirus.load(files).model_, pysirus.load(memory).model_
        assert found.selected == expected.selected and found.intercept == expected.intercept
        assert found.marks == expected.marks == dict.fromkeys(["x", "z", "y"], COMMA)
    (folder / "c.csv").write_text(f"{header}\n1.5;2;3.25\n")
    code, _, err = run("fit", folder, "-t", "y", *options)
    assert code != 0 and "Column 'x' of" in err and "decimal commas" in err


# --------------------------------------------------------------------------------------------------------- model file


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ({"x": {"decimal": ";", "thousands": ""}}, "decimal"),
        ({"x": {"decimal": ","}}, "thousands"),
        ({"x": {"decimal": ",", "thousands": ","}}, "the same mark"),
        ({"x": ","}, "marks"),
        ([], "marks"),
    ],
)
def test_marks_of_a_damaged_file_are_refused(run, tmp_path, marks, message):
    model = fit(run, tmp_path / "t.csv", GERMAN)
    document = json.loads(model.read_text())
    assert document["version"] == 2
    model.write_text(json.dumps({**document, "marks": marks}))
    with pytest.raises(pysirus.ModelFileError, match=message):
        pysirus.load(model)
    model.write_text(json.dumps({**document, "version": 1, "marks": document["marks"]}))
    with pytest.raises(pysirus.ModelFileError):
        pysirus.load(model)

"""The commands explain, export, report and diff, run as a user runs them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import pysirus
from pysirus._parameters import ParameterError
from pysirus.export import FORMATS


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def files(tmp_path, ozone):
    X, y = ozone
    X.assign(O3=y, day=[f"day {i}" for i in range(len(y))]).to_csv(tmp_path / "days.csv", index=False)
    pysirus.SirusRegressor(n_rules=8, n_trees=500, random_state=0).fit(X, y).save(tmp_path / "old.json")
    pysirus.SirusRegressor(n_rules=8, n_trees=500, random_state=1).fit(X[:250], y[:250]).save(tmp_path / "new.json")
    return tmp_path


def test_explain_prints_one_row(run, files, ozone):
    code, out, _ = run("explain", "old.json", "days.csv", "--row", "13")
    assert code == 0
    expected = pysirus.load(files / "old.json").predict(ozone[0])[12]
    assert float(out.split()[-1]) == pytest.approx(expected, abs=0.01)
    numbers = [float(line.split()[-1]) for line in out.splitlines()[2:]]
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=0.1)
    assert out.startswith("Contributions to O3, from the average training row\n")
    code, raw, _ = run("explain", "old.json", "days.csv", "--row", "13", "--raw")
    assert code == 0 and raw != out and raw.split()[-1] == out.split()[-1]
    assert raw.startswith("Contributions to O3, weight times output, from the intercept\n")
    code, _, err = run("explain", "old.json", "days.csv", "--row", "1000")
    assert code == 2 and "rows 1 to 330" in err


def test_every_format_is_named_where_readers_look(run):
    said = [" ".join(run("export", "--help")[1].replace("│", " ").split()), pysirus.RuleModel.export.__doc__]
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    for format in FORMATS:
        assert all(re.search(rf"\b{format}\b", text) for text in said) and f"`{format}`" in page


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "scorecard"])  # which is of classes
def test_export_writes_every_format(run, files, format):
    path = files / f"model{FORMATS[format][0]}"
    code, out, err = run("export", "old.json", "--to", format, "-o", str(path))
    assert code == 0 and out == "" and str(path) in err.replace("\n", "")
    assert path.stat().st_size > 200
    assert run("export", "old.json", "-o", str(path))[0] == 0  # the ending says it
    code, out, err = run("export", "old.json", "--to", format)
    if format in ("excel", "onnx"):
        assert code == 2 and "--output" in err
    else:
        assert code == 0 and out == path.read_text(encoding="utf-8")


def test_export_says_what_it_takes(run, files):
    code, _, err = run("export", "old.json")
    assert code == 2 and "one of sql, python" in err
    code, _, err = run("export", "old.json", "--to", "sql", "--dialect", "basic")
    assert code == 1 and "basic" in err and len(err.strip().splitlines()) == 1
    code, _, err = run("export", "old.json", "--to", "latex", "--dialect", "tsql")
    assert code == 1 and err.strip().endswith("does not take this option: dialect. It takes caption, label.")
    code, out, _ = run("export", "old.json", "--to", "sql", "--table", "days")
    assert code == 0 and 'FROM "days"' in out


def test_report_takes_a_table(run, files, ozone):
    code, _, err = run("report", "old.json", "days.csv", "-o", "out.html", "--label", "day", "--title", "Ozone & more")
    assert code == 0 and "out.html" in err
    text = (files / "out.html").read_text(encoding="utf-8")
    assert "<title>Ozone &amp; more</title>" in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    assert data["rows"]["labels"][117] == "day 117" and float(data["rows"]["truth"][117]) == ozone[1][117]
    fired = np.array([[c == "1" for c in row] for row in data["rows"]["fired"]])
    assert (fired[:, 0] == pysirus.load(files / "old.json").explain(ozone[0]).fired[:, 0]).all()
    assert run("report", "old.json")[0] == 0 and (files / "report.html").exists()
    code, _, err = run("report", "old.json", "--label", "day", "-o", "no.html")
    assert code == 2 and "--label" in err and not (files / "no.html").exists()
    code, _, err = run("report", "old.json", "days.csv", "--label", "name")
    assert code != 0 and "name" in err


@pytest.mark.parametrize(
    "arguments",
    [["export", "old.json", "--to", "sql"], ["report", "old.json"], ["predict", "old.json", "days.csv"]],
)
def test_a_folder_is_no_file_to_write(run, files, arguments):
    (files / "folder").mkdir()
    code, out, err = run(*arguments, "-o", "folder")
    assert code == 2 and out == "" and "'folder' is a folder. Give the name of a file." in err


@pytest.mark.parametrize("command", ["explain", "report"])
def test_several_files_are_not_for_all_commands(run, files, command):
    code, _, err = run(command, "old.json", "days*.csv")
    assert (
        code == 1
        and "is a folder or a pattern, and only `pysirus fit`, `tune`, `predict` and `score` take several files" in err
    )


def test_diff_is_a_one_screen_answer(run, files):
    code, out, _ = run("diff", "old.json", "new.json")
    assert code == 0 and out.startswith("stability ") and len(out.splitlines()) < 25
    code, out, _ = run("diff", "old.json", "new.json", "--json")
    found = json.loads(out)
    assert 0 <= found["stability"] <= 1 and set(found) == {
        *("stability", "kept", "shifted", "added", "removed", "same", "changes")
    }
    code, _, err = run("diff", "old.json", "nowhere.json")
    assert code == 1 and "nowhere.json" in err


def test_diff_is_of_models_of_one_kind(run, files, ozone):
    X, y = ozone
    pysirus.SirusRegressor(n_rules=3, n_trees=100, random_state=0).fit(X, y.rename("ozone")).save("renamed.json")
    high = (y > 10).rename("high")
    pysirus.SirusClassifier(n_rules=3, n_trees=100, random_state=0).fit(X, high).save("classes.json")
    code, out, err = run("diff", "old.json", "renamed.json", "--json")
    assert code == 0 and json.loads(out)
    assert err.startswith("Warning: The old model predicts 'O3' and the new one 'ozone'.")
    assert len(err.splitlines()) == 1
    code, out, err = run("diff", "old.json", "classes.json")
    assert code == 2 and out == ""
    assert err.startswith("Error: The old model predicts numbers ('O3') and the new one classes ('high'): ")
    with pytest.raises(ParameterError, match=r"old model predicts classes \('high'\) and the new one numbers \('O3'\)"):
        pysirus.load("classes.json").diff(pysirus.load("old.json"))
    assert run("diff", "classes.json", "classes.json")[2] == ""


def test_export_writes_a_scorecard(run, files, ozone):
    X, y = ozone
    high = (y > 10).map({True: "high", False: "low"}).rename("level")
    model = pysirus.SirusClassifier(n_rules=4, n_trees=100, random_state=0).fit(X, high)
    model.save("classes.json")
    X.assign(level=high).to_csv("days.csv", index=False)
    code, out, _ = run("export", "classes.json", "--to", "scorecard", "--positive", "high", "--table", "days.csv")
    assert code == 0 and out == model.export("scorecard", positive="high", X=X, y=high)
    assert "Scorecard of level: points for high" in out and "AUC " in out
    code, _, err = run("export", "classes.json", "-o", "card.scorecard.html", "--pdo", "40", "--base-odds", "1")
    assert code == 0 and "40 points double the odds; even odds are at 600" in Path("card.scorecard.html").read_text()
    code, out, _ = run("export", "classes.json", "--to", "scorecard", "--by", "attribute", "--table", "days.csv")
    assert code == 0 and out == model.export("scorecard", by="attribute", X=X, y=high)
    options = ("--to", "scorecard", "--table", "days", "--dialect", "duckdb", "-o", "card.sql")
    assert run("export", "classes.json", *options)[0] == 0
    expected = model.export("scorecard", kind="sql", table="days", dialect="duckdb")
    assert Path("card.sql").read_text(encoding="utf-8") == expected
    code, _, err = run("export", "old.json", "--to", "scorecard")
    assert code != 0 and "A scorecard needs classes with likelihood weights; this model predicts numbers" in err
    code, _, err = run("export", "old.json", "--to", "sql", "--pdo", "40")
    assert code != 0 and "sql does not take this option: pdo" in err


@pytest.mark.parametrize("command", ["explain", "export", "report", "diff"])
def test_help_teaches_with_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0 and f"Example: pysirus {command}" in out

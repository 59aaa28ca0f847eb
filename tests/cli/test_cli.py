"""The command line as a user meets it: output, files, exit codes, one line of complaint."""

from __future__ import annotations

import csv
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import pysirus
import warm
from pysirus.cli._options import DATASETS
from pysirus.datasets import SHIPPED, load_ozone


@pytest.fixture(scope="module")
def ozone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the ozone data."""
    path = tmp_path_factory.mktemp("model") / "ozone.json"
    X, y = load_ozone(return_X_y=True, as_frame=True)
    pysirus.SirusRegressor(n_rules=5, n_trees=1000, random_state=3).fit(X, y).save(path)
    return path


def test_fit_prints_the_table_of_the_paper(run) -> None:
    code, out, err = run("fit", "ozone", "--rules", 13, "--seed", 0)
    assert code == 0
    lines = out.splitlines()
    assert re.fullmatch(r"mean O3 = 11\.8 +intercept = -\d\.\d", lines[0])
    assert lines[2].split() == ["#", "frequency", "rule", "weight", "rows"]
    assert re.fullmatch(r" *1 +0\.2\d+ +if temp < 66 then 7\.0 else 19\.0 +0\.\d+ +198 \(60%\)", lines[3])
    assert "13 rules selected" in err and "seed 0" in err


def test_fit_saves_what_it_prints(run, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    code, out, _ = run("fit", "machine", "--rules", 4, "--trees", 2000, "--model", path)
    assert code == 0
    assert run("show", path)[:2] == (0, out)
    model = pysirus.load(path)
    assert (model.n_trees_, model.n_rules, model.verbose, model.model_.target) == (2000, 4, 0, "perf")


def test_fit_is_the_same_with_any_number_of_jobs_and_as_from_python(run) -> None:
    outputs = {run("fit", "ozone", "--rules", 5, "--trees", 1000, "--jobs", jobs)[1] for jobs in (1, 2)}
    X, y = load_ozone(return_X_y=True, as_frame=True)
    model = pysirus.SirusRegressor(n_rules=5, n_trees=1000, random_state=0).fit(X, y)
    assert outputs == {f"{model}\n"}


def test_fit_p0_keeps_rules_above_it(run) -> None:
    _, out, _ = run("fit", "ozone", "--p0", 0.1, "--trees", 3000)
    frequencies = [float(line.split()[0]) for line in out.splitlines()[3:]]
    assert frequencies and min(frequencies) > 0.1


def test_fit_takes_missing_values(run) -> None:
    assert run("fit", "mpg", "--trees", 1000)[0] == 0


def test_fit_file_wins_over_a_shipped_name(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{i},{i // 20}" for i in range(40))
    Path("ozone").write_text(f"x,answer\n{rows}\n")
    code, out, _ = run("fit", "ozone", "--target", "answer", "--trees", 500)
    assert code == 0 and "mean answer" in out
    assert run("fit", "ozone")[0] == 2


def test_fit_takes_a_target_of_text_for_classes(run, tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 7},{'low' if i < 30 else 'high'}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(f"x,z,level\n{rows}")
    code, out, _ = run("fit", tmp_path / "t.csv", "-t", "level", "--trees", 500, "-m", tmp_path / "m.json")
    assert code == 0 and out.startswith("probability of low: 50.0% on average; ") and "if x <" in out
    _, out, _ = run("predict", tmp_path / "m.json", tmp_path / "t.csv")
    assert out.splitlines() == ["prediction"] + ["low"] * 30 + ["high"] * 30


def test_predict_writes_csv_parquet_and_standard_output(run, ozone: Path, tmp_path: Path) -> None:
    X, _ = load_ozone(return_X_y=True, as_frame=True)
    expected = pysirus.load(ozone).predict(X)
    code, out, err = run("predict", ozone, "ozone")
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(out.splitlines()))
    assert [float(row["prediction"]) for row in rows] == expected.tolist()
    for name in ("p.csv", "p.parquet"):
        assert run("predict", ozone, "ozone", "-o", tmp_path / name)[:2] == (0, "")
    assert (tmp_path / "p.csv").read_text() == out
    table = pyarrow.parquet.read_table(tmp_path / "p.parquet")
    np.testing.assert_array_equal(table["prediction"].to_numpy(), expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.csv", "p.parquet"]


@pytest.mark.parametrize("name", ["p.xlsx", "p.csv.gz"])
def test_predict_does_not_write_csv_under_another_name(run, ozone: Path, tmp_path: Path, name: str) -> None:
    code, _, err = run("predict", ozone, "ozone", "-o", tmp_path / name)
    assert code == 2 and "must end in .csv or .parquet" in err and not (tmp_path / name).exists()


def test_predict_finds_columns_by_name_in_any_order(run, ozone: Path, tmp_path: Path) -> None:
    X, _ = load_ozone(return_X_y=True, as_frame=True)
    X[X.columns[::-1]].assign(extra="text").to_csv(tmp_path / "t.csv", index=False)
    assert run("predict", ozone, tmp_path / "t.csv") == run("predict", ozone, "ozone")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fit", "nothere.csv", "--target", "y"], 1, "no file 'nothere.csv'"),
        (["fit", "ozon"], 1, "Did you mean 'ozone'?"),
        (["fit", "ozone", "--target", "o3"], 1, "Did you mean 'O3'?"),
        (["fit", "ozone", "--rules", "0"], 2, "--rules must be"),
        (["fit", "ozone", "--p0", "2"], 2, "--p0 must be"),
        (["fit", "ozone", "--p0", "0.1", "--rules", "3"], 2, "not both"),
        (["fit", "ozone", "--rules", "many"], 2, "--rules"),
        (["fit", "ozone", "--trees", "some"], 2, "--trees"),
        (["fit", "ozone", "--seed", "-1"], 2, "--seed must be"),
        (["fit", "ozone", "--wrong"], 2, "--wrong"),
        (["fit", "ozone", "--model", "no/folder/m.json"], 2, "no folder"),
        (["fit"], 2, "TABLE"),
        (["fti"], 2, "fti"),
        (["show", "nothere.json"], 1, "no model file"),
        (["predict", "nothere.json", "ozone"], 1, "no model file"),
    ],
)
def test_mistake_is_one_line_on_standard_error(run, arguments: list[str], code: int, message: str) -> None:
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert err.startswith("Error: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--trees", "0", "(a number or 'auto') must be a whole number of at least 1, got 0."),
        ("--depth", "9", "must be a whole number from 1 to 4, got 9."),
        ("--bins", "1", "must be a whole number from 2 to 255, got 1."),
        (
            "--max-features",
            "0",
            "must be a whole number of at least 1, a share of the columns up to 1.0, 'sqrt' or 'log2', got 0.",
        ),
        ("--max-features", "99", "must be at most the number of columns (9), got 99."),
        ("--min-node-size", "0", "must be a whole number from 1 to "),
        ("--min-samples-leaf", "0", "must be a whole number of rows of at least 1 or a share of them above 0 and up"),
        ("--min-samples-leaf", "0.7", "must be a whole number of rows of at least 1 or a share of them above 0 and up"),
        (
            "--max-samples",
            "-1",
            "must be a share of the rows from 1e-08 to 1.0 or a whole number of rows of at least 1, got -1.0.",
        ),
        ("--max-rules", "0", "must be a whole number of at least 1, got 0."),
        ("--stages", "0", "(a number or 'auto') must be a whole number of at least 1, got 0."),
        ("--jobs", "0", "must be a whole number other than 0 (-1: all cores), got 0."),
        ("--folds", "1", "must be a whole number of at least 2, got 1."),
        ("--folds", "331", "331: so many folds need as many rows, found 330. Use a smaller --folds."),
        ("--repeats", "0", "(a number or 'auto') must be a whole number of at least 1, got 0."),
        ("--criterion", "best", "must be one of 'stability', 'error', 'auto', got 'best'."),
    ],
)
def test_complaint_names_the_option(run, option: str, value: str, message: str) -> None:
    code, out, err = run("tune", "ozone", option, value)
    assert code and out == ""
    assert err.startswith(f"Error: {option} {message}") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,y\n1,2\n2,\n3,4\n", "target, is missing in 1 of 3 rows"),
        ("x,y\n1,2020-01-01\n2,2020-01-02\n3,2020-01-03\n", "holds dates or times"),
        ("x,y\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n", "or drop the column (--drop x)"),
        ("x,y\n" + "".join(f"id{i},{i}\n" for i in range(300)), "or drop it (--drop x)"),
        ("x,y\n1,2\n", "minimum of 2"),
        ("x,x,y\n1,1,2\n2,2,3\n", "occurs more than once"),
        ("x,y\n1,2\nhello,3\n3,4\n4,4\n", "numbers and text"),
        ("y\n1\n2\n3\n", "No feature is left"),
    ],
)
def test_fit_bad_table_is_one_line(run, tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    code, out, err = run("fit", path, "--target", "y", "--strict")
    assert (code, out) == (1, "")
    assert message in err and err.count("\n") == 1


def test_fit_does_not_work_before_it_says_that_the_model_is_a_folder(run, tmp_path: Path) -> None:
    code, out, err = run("fit", "ozone", "--model", tmp_path)
    assert (code, out) == (2, "") and "--model" in err and "is a folder. Give the name of a file." in err


def test_fit_without_target_names_the_columns(run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("first,second\n1,2\n3,4\n")
    code, _, err = run("fit", tmp_path / "t.csv")
    assert code == 2 and "--target" in err and "first, second" in err


def test_predict_complains_about_absent_columns_and_writes_nothing(run, ozone: Path, tmp_path: Path) -> None:
    code, _, err = run("predict", ozone, "machine", "-o", tmp_path / "p.csv")
    assert code == 1 and "vh" in err and not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "{}", '{"format": "pysirus-model", "version": 99}'])
def test_show_complains_about_a_file_that_is_no_model(run, tmp_path: Path, content: str) -> None:
    (tmp_path / "m.json").write_text(content)
    code, out, err = run("show", tmp_path / "m.json")
    assert (code, out) == (1, "") and err.count("\n") == 1


def test_constant_response_warns_in_one_line_and_gives_the_mean(run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i},7\n" for i in range(0, 40, 2)))
    code, out, err = run("fit", tmp_path / "t.csv", "--target", "y")
    assert code == 0 and "(no rules)" in out
    assert err.splitlines()[0].startswith("Warning: There are no rules to find")


def test_help_breaks_no_word(run) -> None:
    code, out, _ = run("fit", "--help")
    assert code == 0 and "regression, classification or auto" in " ".join(out.replace("│", " ").split())


@pytest.mark.parametrize("command", ["fit", "show", "predict"])
def test_help_teaches_with_an_example(run, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0 and f"Example: pysirus {command}" in out


def test_help_names_the_shipped_datasets() -> None:
    assert DATASETS.split(", ") == list(SHIPPED)


def test_help_does_not_import_scikit_learn() -> None:
    code = "import sys, pysirus.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pysirus.cli" in done.stdout.split()
    assert not {"sklearn", "scipy", "pyarrow", "numpy"} & set(done.stdout.split())


def test_version_is_the_installed_one(run) -> None:
    import importlib.metadata

    assert run("--version")[1] == f"pysirus {importlib.metadata.version('pysirus')}\n"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_show_on_a_terminal_truncates_nothing(ozone: Path, width: int) -> None:
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(width), "TERM": "xterm"}
    subprocess.run([*warm.command(), "show", str(ozone)], stdout=slave, stderr=slave, env=environment, check=True)
    os.close(slave)
    text = b""
    while chunk := _read_or_end(master):
        text += chunk
    os.close(master)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.decode())
    assert "…" not in plain
    table = plain.split("weight", 1)[1].split("5 rules selected" if "rules selected" in plain else "330 rows")[0]
    words = table.split()
    for rule in pysirus.load(ozone).rules_:
        assert all(word in words for word in str(rule).split())
    assert all(len(line) <= width for line in plain.split("330 rows")[0].splitlines()[:-1])


def _read_or_end(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other end is closed
        return b""


def test_interrupt_leaves_at_once_with_130(tmp_path: Path, interrupts: None) -> None:
    arguments = ["fit", "housing", "--trees", "2000000000", "--model", str(tmp_path / "m.json")]
    master, slave = pty.openpty()  # a terminal, so that the progress bar tells when the forest grows
    with subprocess.Popen([*warm.command(), *arguments], stdout=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        shown = b""
        while b" trees" not in shown and (chunk := _read_or_end(master)):
            shown += chunk
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        while chunk := _read_or_end(master):
            shown += chunk
        process.wait(timeout=30)
        seconds = time.monotonic() - start
        assert process.stdout is not None and process.stdout.read() == b""
    os.close(master)
    assert process.returncode == 130
    assert seconds < 10  # of days; a second where nothing else runs
    assert b"Traceback" not in shown
    assert not list(tmp_path.iterdir())


def test_reader_that_leaves_early_ends_it_quietly(ozone: Path) -> None:
    command = f"set -o pipefail; {warm.words()} predict {ozone} ozone | head -1"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert found.returncode in (0, 141)  # 0 where all was written before it left
    assert (found.stdout, found.stderr) == ("prediction\n", "")

"""Column names, levels, labels and file names come from others: nothing in them steers the reader's terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import unicodedata
import warnings
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import pysirus
import warm
from pysirus import DataError, ModelFileError, SirusClassifier, SirusRegressor
from pysirus._parameters import ParameterError
from pysirus.export import ExportError

# red, a window title, the escape of one byte, the other direction, a line that is written over, a line separator
EVIL = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202e\r\u2028"


def is_plain(text: str) -> bool:
    return not any(c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in text)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rows = range(90)
    data = {f"x{EVIL}": rows, f"w{EVIL}": [f"{i % 3}{EVIL}" for i in rows], "y": [float(i // 30) for i in rows]}
    data[f"label{EVIL}"] = [f"{'high' if i > 45 else 'low'}{EVIL}" for i in rows]
    data[f"none{EVIL}"] = [None] * 90
    return pd.DataFrame(data)


@pytest.fixture(scope="module")
def models(table: pd.DataFrame) -> list:
    X, label = table.iloc[:, :2], table.iloc[:, 3]
    number = table["y"].rename(f"y{EVIL}")
    return [
        SirusRegressor(n_rules=4, n_trees=100, random_state=0).fit(X, number),
        SirusClassifier(n_rules=4, n_trees=100, random_state=0).fit(X, label),
        pysirus.RuleFitRegressor(random_state=0).fit(X[[X.columns[0]]], number),
    ]


def test_what_prints_is_plain(models: list, table: pd.DataFrame) -> None:
    for model in models:
        X = table[[f.name for f in model.model_.features]]
        rules = [*model.rules_, *(condition for rule in model.rules_ for condition in rule.conditions)]
        shown = [model, model.model_, model.rules_, *rules, *model.model_.terms, model.explain(X)]
        shown += [model.diff(model), model.explain(X).centred()]
        for text in (*map(str, shown), *map(repr, model.rules_)):
            assert is_plain(text), repr(text)
    assert is_plain(str(models[0].diff(models[0].without(1)))) and is_plain(str(models[0].diff(models[2])))


def test_errors_and_warnings_are_plain(models: list, table: pd.DataFrame, tmp_path: Path) -> None:
    regressor = models[0]
    X = table.iloc[:, :2]
    new = X.assign(**{X.columns[1]: f"other{EVIL}"})
    gone = f"gone{EVIL}"
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        regressor.predict(new)
        SirusRegressor(n_trees=20).fit(table[[X.columns[0], table.columns[4]]], table["y"])
        SirusRegressor(n_trees=20).fit(X.assign(**{"Unnamed: 0": range(90)}), table["y"])
    said += [str(warning.message) for warning in caught if "pysirus" in warning.filename or "tests" in warning.filename]
    assert len(said) >= 2
    for call in (
        lambda: regressor.predict(X.drop(columns=X.columns[0])),
        lambda: regressor.predict(X.assign(**{X.columns[0]: f"a{EVIL}"})),
        lambda: SirusRegressor().fit(X, table.iloc[:, 3]),
        lambda: SirusRegressor(categorical_features=[gone]).fit(X, table["y"]),
        lambda: SirusClassifier(class_weight={gone: 1.0}).fit(X, table.iloc[:, 3]),
        lambda: SirusRegressor(n_rules=gone).fit(X, table["y"]),
        lambda: SirusRegressor().fit(X.assign(**{gone: pd.Timestamp("2020")}), table["y"]),
        lambda: SirusRegressor().fit_files(tmp_path / gone, "y"),
        lambda: regressor.model_.export(gone),
        lambda: regressor.export("sql", dialect=gone),
        lambda: regressor.export("sql", tmp_path / gone / "f"),
        lambda: regressor.report(tmp_path / gone / "f"),
        lambda: regressor.save(tmp_path / gone / "f"),
        lambda: pysirus.load(tmp_path / gone),
    ):
        with pytest.raises((DataError, ParameterError, ExportError, ModelFileError, OSError, ValueError)) as error:
            call()
        said.append(str(error.value))
    for text in said:
        assert is_plain(text), repr(text)


def test_command_line_is_plain(run, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, model = f"t{EVIL}.csv", f"m{EVIL}.json"
    table.to_csv(file, index=False)
    table.drop(columns=f"none{EVIL}").to_parquet("t.parquet")
    label, gone = f"label{EVIL}", f"gone{EVIL}"
    fit = ["fit", file, "-t", label, "--trees", 100]
    codes = set()
    for arguments in (
        [*fit, "--model", model],
        ["fit", "t.parquet", "-t", label, "--memory", "1GB", "--trees", 100],
        ["show", model],
        ["explain", model, file],
        ["diff", model, model],
        ["export", model, "--to", "latex", "-o", f"o{EVIL}.tex"],
        ["report", model, "-o", f"o{EVIL}.html"],
        ["tune", file, "-t", label, "--folds", 2, "--repeats", 1, "--trees", 50, "--plot", f"p{EVIL}.png"],
        ["fit", file, "-t", gone],
        ["fit", file],
        ["fit", gone, "-t", "y"],
        [*fit, "--drop", gone],
        [*fit, "--sample-weight", gone],
        [*fit, "--class-weight", f"{gone}=1"],
        [*fit, "--task", gone],
        [*fit, "--task", "regression"],
        [*fit, "--trees", gone],
        [*fit, "--model", f"{gone}/m.json"],
        [*fit, "--model", file],
        [*fit, f"--{gone}"],
        [gone],
        ["show", gone],
        ["show", file],
        ["predict", model, "ozone"],
        ["predict", model, file, "-o", f"p{EVIL}.xlsx"],
        ["export", model, "--to", gone],
        ["export", model, "--to", "sql", "--dialect", gone],
        ["tune", file, "-t", label, "--plot", f"p{EVIL}.txt"],
    ):
        code, out, err = run(*arguments)
        codes.add(code)
        assert is_plain(out) and is_plain(err), (arguments, repr(out + err))
    assert codes == {0, 1, 2}


def on_terminal(*arguments: object) -> str:
    """What the command writes to a terminal, but for the colours that are its own."""
    master, slave = pty.openpty()
    command = [*warm.command(), *map(str, arguments)]
    with subprocess.Popen(command, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", "COLUMNS": "200"}):
        os.close(slave)
        text = b""
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except OSError:  # Linux says so when the other end is closed
            pass
    os.close(master)
    own = re.compile(r"\x1b\[([0-9;]*m|\?25[lh]|[0-9]*[AK])|\r(?=\n|\x1b|$)|\r+\n?")
    return own.sub("", text.decode().replace("\x1b[31mE", "E"))


def test_terminal_is_shown_data_with_escapes_written_out(table: pd.DataFrame, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    label = f"label{EVIL}"
    pa.parquet.write_table(pa.Table.from_pandas(table.iloc[:, [0, 1, 3]], preserve_index=False), "t.parquet")
    assert is_plain(on_terminal("fit", "t.parquet", "-t", label, "--memory", "1GB", "--trees", 100, "-m", "m.json"))
    for arguments in (
        ["show", "m.json"],
        ["predict", "m.json", "t.parquet", "--keep", label],
        ["export", "m.json", "--to", "sql"],
        ["export", "m.json", "--to", "json"],
        ["diff", "m.json", "m.json", "--json"],
    ):
        text = on_terminal(*arguments)
        assert is_plain(text) and r"\x9b2J" in text, (arguments, repr(text))
        assert "[31m" in text, arguments  # the words are there, without their power
    # a program gets what is there
    piped = subprocess.run([*warm.command(), "predict", "m.json", "t.parquet"], capture_output=True, check=True)
    assert EVIL in piped.stdout.decode()


def test_progress_takes_a_name_as_it_is(table: pd.DataFrame, tmp_path: Path, capsys) -> None:
    for name in ("[/bold]", "[red]y", f"y{EVIL}"):
        path = tmp_path / "t.parquet"
        frame = pa.table({"x": range(60), name: [float(i // 20) for i in range(60)]})
        pa.parquet.write_table(frame, path)
        SirusRegressor(n_trees=20, n_rules=2, verbose=1).fit_files(path, name)
        assert is_plain(capsys.readouterr().err)

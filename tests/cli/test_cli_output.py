"""What the command line does when the terminal fails, and that its outputs destroy no input."""

from __future__ import annotations

import csv
import gzip
import io
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

import pysirus
import warm
from pysirus.datasets import load_ozone


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and its table."""
    folder = tmp_path_factory.mktemp("made")
    X, y = load_ozone(return_X_y=True, as_frame=True)
    pysirus.SirusRegressor(n_rules=3, n_trees=200, random_state=3).fit(X, y).save(folder / "m.json")
    X.assign(O3=y).to_csv(folder / "t.csv", index=False)
    X.assign(O3=y).to_parquet(folder / "t.parquet")
    return folder


@pytest.fixture
def files(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same in a folder of its own, which is the current one."""
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(line: str, *, fresh: bool = False, **environment: str) -> tuple[int, str, str]:
    """Run a line of bash, where `pysirus` is the command; its status is that of the command."""
    line = f"set -o pipefail; {line.replace('pysirus', warm.words(fresh), 1)}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


FIT = "pysirus fit t.csv -t O3 --trees 100 --rules 3 --jobs 1 --model out.json"
TUNE = "pysirus tune t.csv -t O3 --trees 50 --folds 2 --repeats 1 --max-rules 3 --model out.json"
FRESH = (">&- 2>&-", "> /dev/full")  # by an interpreter that starts and ends with such streams
CLOSED = 128 + 13  # what a shell says of a command that SIGPIPE ended


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("| true", CLOSED, ""),
        ("2>&1 | true", CLOSED, ""),
        ("2> >(true)", 0, ""),
        ("> /dev/full", 1, "Standard output cannot be written: No space left on device."),
        (">&-", 1, "Standard output is closed."),
        (">&- 2>&-", 1, ""),
        ("<&- 2>&-", 0, ""),
        ("> /dev/full 2>&1", 1, ""),
    ],
)
def test_fit_saves_the_model_whatever_becomes_of_the_terminal(files: Path, end: str, status: int, said: str) -> None:
    code, _, err = shell(f"{FIT} {end}", fresh=end in FRESH)
    assert (code, len(pysirus.load("out.json").rules_) > 0) == (status, True)
    assert "Traceback" not in err and "Exception" not in err and said in err
    assert status != CLOSED or err == ""
    if said:
        assert "Model written to out.json" in err


def test_tune_saves_model_and_figure_before_it_prints(files: Path) -> None:
    code, _, err = shell(f"{TUNE} --plot path.png > /dev/full")
    assert code == 1 and "cannot be written: No space" in err and "Figure written to path.png" in err
    assert pysirus.load("out.json").model_.tuning is not None
    assert (files / "path.png").read_bytes().startswith(b"\x89PNG")


def test_fit_prints_the_rules_when_they_cannot_be_saved(files: Path) -> None:
    code, out, err = shell(f"{FIT.replace('out.json', '/dev/full')}")
    assert code == 1 and "if temp <" in out and "'/dev/full': No space left on device" in err


@pytest.mark.parametrize(
    "line",
    [
        "pysirus show m.json",
        "pysirus predict m.json t.csv",
        "pysirus predict m.json t.csv -o /dev/stdout",
        "pysirus export m.json --to sql",
        "pysirus diff m.json m.json --json",
        "pysirus fit --help",
    ],
)
def test_closed_pipe_ends_quietly_and_a_full_disk_does_not(files: Path, line: str) -> None:
    assert shell(f"{line} | true") == (CLOSED, "", "")
    code, _, err = shell(f"{line} > /dev/full")
    assert code == 1 and "No space left on device" in err and err.count("\n") == 1


def test_progress_bar_outlives_its_terminal(files: Path) -> None:
    master, slave = pty.openpty()
    arguments = [*warm.command(), *FIT.replace("--trees 100", "--trees 200000").split()[1:]]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        os.read(master, 100)  # the bar is there
        os.close(master)  # the terminal is not
        out, _ = process.communicate()
    assert process.returncode == 0 and b"if temp <" in out and pysirus.load("out.json").rules_


def test_ascii_streams_show_other_letters_as_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{'groß' if i % 3 else 'klein'},{'ja' if i < 30 else 'né'}\n" for i in range(60))
    Path("t.csv").write_text(f"höhe,größe,antwort\n{rows}", encoding="utf-8")
    ascii_ = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    fit = "pysirus fit t.csv -t antwort --trees 100 --rules 3 --model out.json"
    code, out, err = shell(fit, fresh=True, **ascii_)
    assert code == 0 and r"h\xf6he" in out and "Traceback" not in err and pysirus.load("out.json").rules_
    code, out, _ = shell("pysirus explain out.json t.csv", **ascii_)
    assert code == 0 and r"h\xf6he" in out
    # data stay what they are: UTF-8, as in a file
    code, out, _ = shell("pysirus predict out.json t.csv", **ascii_)
    assert code == 0 and out.splitlines()[-1] == "né"
    code, out, _ = shell("pysirus export out.json --to sql", **ascii_)
    assert code == 0 and '"höhe"' in out


REPLACING = [
    (["predict", "m.json", "t.csv", "-o", "t.csv"], "t.csv", "--output"),
    (["predict", "m.json", "t.parquet", "-o", "t.parquet"], "t.parquet", "--output"),
    (["fit", "t.csv", "-t", "O3", "--trees", "50", "--model", "t.csv"], "t.csv", "--model"),
    (["fit", "t.parquet", "-t", "O3", "--memory", "1GB", "--model", "t.parquet"], "t.parquet", "--model"),
    (["fit", "t.par*", "-t", "O3", "--model", "t.parquet"], "t.parquet", "--model"),
    (["fit", ".", "-t", "O3", "--model", "t.parquet"], "t.parquet", "--model"),
    (["fit", "t.csv", "-t", "O3", "--tune", "--model", "t.csv"], "t.csv", "--model"),
    (["tune", "t.csv", "-t", "O3", "--model", "t.csv"], "t.csv", "--model"),
    (["report", "m.json", "t.csv", "-o", "t.csv"], "t.csv", "--output"),
    (["report", "m.json", "t.csv", "-o", "m.json"], "m.json", "--output"),
    (["export", "m.json", "--to", "sql", "-o", "m.json"], "m.json", "--output"),
    (["export", "m.json", "--to", "json", "-o", "m.json"], "m.json", "--output"),
    (["export", "m.json", "--to", "excel", "--table", "t.csv", "-o", "t.csv"], "t.csv", "--output"),
]


@pytest.mark.parametrize(("arguments", "input", "option"), REPLACING)
def test_outputs_destroy_no_input(run, files: Path, arguments: list[str], input: str, option: str) -> None:
    before, ending = (files / input).read_bytes(), Path(input).suffix
    (files / f"link{ending}").symlink_to(input)
    os.link(input, f"hard{ending}")
    for name in (input, f"link{ending}", f"hard{ending}", str(files / input), f"../{files.name}/{input}"):
        code, out, err = run(*arguments[:-1], name)
        assert (code, out) == (2, "") and f"'{name}' is an input" in err and option in err and err.count("\n") == 1
        assert (files / input).read_bytes() == before


def test_figure_replaces_neither_table_nor_model(run, files: Path) -> None:
    os.link("t.csv", "t.png")
    code, _, err = run("tune", "t.csv", "-t", "O3", "--plot", "t.png")
    assert code == 2 and "--plot" in err and "'t.png' is an input" in err
    code, _, err = run("tune", "t.csv", "-t", "O3", "--plot", "new.png", "--model", "./new.png")
    assert code == 2 and "--plot" in err and "the file of --model" in err


def test_outputs_keep_modes_and_follow_links(run, files: Path) -> None:
    for name, arguments in {
        "out.csv": ["predict", "m.json", "t.csv"],
        "out.parquet": ["predict", "m.json", "t.csv"],
        "out.sql": ["export", "m.json"],
        "out.html": ["report", "m.json"],
        "out.json": ["export", "m.json"],
    }.items():
        real = files / f"real-{name}"
        real.touch()
        real.chmod(0o600)
        (files / name).symlink_to(real)
        assert run(*arguments, "-o", name)[0] == 0
        assert (files / name).is_symlink() and real.stat().st_size > 100 and stat.S_IMODE(real.stat().st_mode) == 0o600


def test_outputs_to_pipes_are_streams(files: Path) -> None:
    expected = shell("pysirus predict m.json t.csv")[1]
    for end in ("-o /dev/stdout", "-o /dev/stdout | cat", "-o /dev/stderr 2>&1 >/dev/null", "-o >(cat) | cat"):
        assert shell(f"pysirus predict m.json t.csv {end}")[:2] == (0, expected)
    os.mkfifo("pipe.parquet")
    code, _, err = shell("pysirus predict m.json t.csv -o pipe.parquet & cat pipe.parquet > p.parquet; wait")
    assert code == 0 and stat.S_ISFIFO((files / "pipe.parquet").stat().st_mode), err
    assert pyarrow.parquet.read_table("p.parquet").num_rows == 330


def test_plot_format_is_checked_before_the_work(run, files: Path) -> None:
    for name in ("x.txt", "x", "x.pgf"):
        code, out, err = run("tune", "t.csv", "-t", "O3", "--plot", name)
        assert (code, out) == (2, "") and f"'{name}' must end in .png, .pdf or .svg" in err and "--plot" in err
        assert err.count("\n") == 1
    code, out, err = run("tune", "t.csv", "-t", "O3", "--plot", "no/x.png")
    assert (code, out) == (2, "") and "no folder" in err


@pytest.mark.parametrize("name", ["x.png", "x.pdf", "x.svg", "X.PNG"])
def test_plot_draws_every_format_it_takes(run, files: Path, name: str) -> None:
    tune = TUNE.split()[1:-2]
    assert run(*tune, "--plot", name)[0] == 0
    marks = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}
    assert (files / name).read_bytes().startswith(marks[Path(name).suffix.lower()])


@pytest.mark.parametrize(
    ("arguments", "module", "extra"),
    [
        (["tune", "t.csv", "-t", "O3", "--plot", "x.png"], "matplotlib", "plot"),
        (["export", "m.json", "-o", "x.xlsx", "--table", "absent.csv"], "openpyxl", "excel"),
        (["export", "absent.json", "-o", "x.onnx"], "onnx", "onnx"),
        (["export", "absent.json", "--to", "sql", "--dialect", "tsql"], "sqlglot", "sql"),
    ],
)
def test_missing_extra_is_said_before_the_work(run, files: Path, monkeypatch, arguments, module: str, extra: str):
    for name in [n for n in sys.modules if n.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    code, out, err = run(*arguments)
    assert (code, out) == (1, "") and f"pip install pysirus[{extra}]" in err


def test_tables_and_models_come_through_pipes(files: Path) -> None:
    expected = shell("pysirus predict m.json t.csv")
    Path("t.csv.gz").write_bytes(gzip.compress(Path("t.csv").read_bytes()))
    for line in (
        "cat t.csv | pysirus predict m.json /dev/stdin",
        "cat t.parquet | pysirus predict m.json /dev/stdin",
        "cat t.csv.gz | pysirus predict m.json /dev/stdin",
        "pysirus predict m.json /dev/stdin < t.csv",
        "pysirus predict m.json <(cat t.csv)",
        "pysirus predict <(cat m.json) t.csv",
        "cat m.json | pysirus predict /dev/stdin t.csv",
    ):
        assert shell(line) == expected, line
    assert shell("cat m.json | pysirus show /dev/stdin")[0] == 0
    code, _, err = shell("pysirus predict m.json /dev/stdin < /dev/null")
    assert code == 1 and "'/dev/stdin' is empty" in err


def test_spreadsheet_option_disarms_formulas(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    labels = ["=cmd|'/c calc'!A1", "@SUM(1)"]
    with Path("t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "-id", "label"])
        writer.writerows([i, "+1 555" if i % 2 else -i - 1, labels[i >= 30]] for i in range(60))
    fit = ["fit", "t.csv", "-t", "label", "--drop", "-id", "--trees", 50, "-m", "m.json"]
    assert run(*fit)[0] == 0
    plain, quoted = (
        list(csv.reader(io.StringIO(run("predict", "m.json", "t.csv", "--probabilities", "--keep", "-id", *more)[1])))
        for more in ([], ["--spreadsheet"])
    )
    assert plain[0] == ["-id", "prediction", *(f"probability_{label}" for label in labels)]
    assert plain[1][:2] == ["-1", labels[0]] and plain[2][0] == "+1 555"
    assert quoted[0] == ["'-id", *plain[0][1:]]
    assert quoted[1][:2] == ["-1", f"'{labels[0]}"] and quoted[2][0] == "'+1 555"  # a number is no formula
    assert [row[2:] for row in quoted[1:]] == [row[2:] for row in plain[1:]]
    assert run("predict", "m.json", "t.csv", "--spreadsheet", "-o", "p.csv")[0] == 0
    assert Path("p.csv").read_text().splitlines()[1] == "'=cmd|'/c calc'!A1"
    code, _, err = run("predict", "m.json", "t.csv", "--spreadsheet", "-o", "p.parquet")
    assert code == 2 and "--spreadsheet" in err

"""Tables as they come, on the command line: gaps, several faults, columns made ready, constraints."""

from __future__ import annotations

import numpy as np
import pandas as pd

import pysirus


def test_rows_without_a_target_are_left_out_of_a_score(run, tmp_path):
    table, model = tmp_path / "t.csv", tmp_path / "m.json"
    table.write_text("x,y\n" + "\n".join(f"{i},{'' if i % 10 == 3 else i % 2 * 5}" for i in range(40)))
    code, _, err = run("fit", table, "-t", "y", "--trees", 10, "-m", model)
    assert code == 0 and "4 of 40 rows have no target and are left out." in err
    code, out, err = run("score", model, table)
    assert code == 0 and out.startswith("y, 36 rows") and "4 of 40 rows have no target and are left out." in err


def test_all_that_is_wrong_with_a_table_is_said_line_by_line(run, tmp_path):
    rows = "\n".join(f'2024-01-{i:02d},"{i},50",{i}' for i in range(1, 30))
    (tmp_path / "t.csv").write_text(f'when,"a\nb",y\n{rows}\n')
    code, _, err = run("fit", tmp_path / "t.csv", "--target", "y", "--trees", 10, "--strict")
    lines = err.splitlines()
    assert code == 1 and len(lines) == 4 and lines[3].startswith("Or try leaving --strict out: ")
    assert lines[0] == "Error: 2 things are wrong with the table:"
    assert lines[1].startswith("- Column 'when'") and lines[2].startswith("- Column 'a b'")


def test_the_command_line_makes_the_best_of_a_table(run, tmp_path):
    days = [np.datetime64("2024-01-01") + i for i in range(200)]
    frame = pd.DataFrame(
        {"when": days, "price": [f"${1000 + i % 9},00" for i in range(200)], "name": list(map(str, days))}
    )
    frame["name"] = "n" + frame["name"]
    frame["y"] = [3.0 * (day.astype(int) % 7 in (2, 3)) for day in days]
    frame.loc[0, "y"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run("fit", tmp_path / "t.csv", "-t", "y", "--trees", 50, "-m", tmp_path / "m.json")
    assert code == 0 and "if weekday of when in {all but Saturday, Sunday}" in out
    assert "Warning: 1 of 200 rows have no target and are left out.\n" in err
    assert "Warning: Ignored: 'name' (another text in every row).\n" in err
    code, out, _ = run("predict", tmp_path / "m.json", tmp_path / "t.csv")
    assert code == 0 and np.corrcoef(np.array(out.split()[2:], dtype=float), frame["y"][1:])[0, 1] > 0.99
    assert run("explain", tmp_path / "m.json", tmp_path / "t.csv")[0] == 0
    assert run("report", tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / "r.html")[0] == 0


def test_predict_needs_only_columns_that_a_rule_uses(run, tmp_path):
    rows = "\n".join(f"{i % 10},{i % 3},{i % 10 > 4}" for i in range(200))
    (tmp_path / "t.csv").write_text(f"a,b,y\n{rows}\n")
    assert run("fit", tmp_path / "t.csv", "-t", "y", "--rules", 1, "--trees", 50, "-m", tmp_path / "m.json")[0] == 0
    (tmp_path / "new.csv").write_text("a\n1\n9\n")
    code, out, _ = run("predict", tmp_path / "m.json", tmp_path / "new.csv")
    assert code == 0 and out.split() == ["prediction", "False", "True"]
    (tmp_path / "new.csv").write_text("b\n1\n")
    code, _, err = run("predict", tmp_path / "m.json", tmp_path / "new.csv")
    assert code == 1 and "needs a column that the table does not have: a." in err


def test_directions_and_interactions_are_typed(run, tmp_path):
    options = ["--rules", 6, "--trees", 200, "--increasing", "rm,zn", "--decreasing", "lstat", "--interactions", "none"]
    code, out, _ = run("fit", "housing", *options, "--model", tmp_path / "m.json")
    assert code == 0 and "increasing in rm, zn; decreasing in lstat; no interactions" in out
    model = pysirus.load(tmp_path / "m.json")
    assert model.monotonic_cst == {"rm": 1, "zn": 1, "lstat": -1} and model.interaction_cst == "no_interactions"
    fast = ["--folds", 2, "--repeats", 1, "--trees", 100]
    code, out, _ = run("tune", "housing", *fast, "--interactions", "rm,lstat; crim,nox")
    assert code == 0 and "interactions within {rm, lstat}, {crim, nox}, {zn," in out
    for wrong, message in (
        (["--increasing", "rom"], "There is no column 'rom' for the option --increasing."),
        (["--increasing", "rm", "--decreasing", "rm"], "cannot be increasing and decreasing"),
        (["--interactions", "rm,lstatt"], "--interactions names 'lstatt'"),
    ):
        code, _, err = run("fit", "housing", *wrong)
        assert code != 0 and message in " ".join(err.replace("│", " ").split())

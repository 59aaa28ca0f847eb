"""Dates on the command line: rules that are asked for, added and compared, in memory and in batches."""

from __future__ import annotations

import numpy as np
import pandas as pd


def test_dates_in_batches_give_the_rules_of_memory(run, tmp_path):
    rng = np.random.default_rng(0)
    t = pd.Series(pd.Timestamp("2023-12-01") + pd.to_timedelta(rng.integers(0, 200 * 24, 600), "h"))
    frame = pd.DataFrame({"t": t.dt.strftime("%d.%m.%Y %H:%M"), "x": rng.random(600)})
    frame["y"] = 3.0 * (t >= "2024-03-01") + (t.dt.day_of_week >= 5) + frame["x"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ["--target", "y", "--trees", 60, "--rules", 6, "--require", "t < 2024-03-01", "--model"]
    one = run("fit", tmp_path / "t.csv", *options, tmp_path / "a.json")
    assert one[0] == 0 and "t < 2024-03-01" in one[1] and "weekday of t in {" in one[1]
    other = run("fit", tmp_path / "t.csv", *options, tmp_path / "b.json", "--memory", "64MB")
    assert other[:2] == one[:2]
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    code, _, err = run("fit", tmp_path / "t.csv", *options, tmp_path / "c.json", "--memory", "64MB", "--strict")
    assert code == 1 and "Column 't'" in err
    added = ["--add", "t >= 2024-04-15 12:00", "-o", tmp_path / "d.json"]
    code, _, err = run("edit", tmp_path / "a.json", tmp_path / "t.csv", *added)
    assert code == 0, err
    assert "t >= 2024-04-15 12:00" in (tmp_path / "d.json").read_text()
    assert "stability 1.00 between the two lists: " in run("diff", tmp_path / "a.json", tmp_path / "b.json")[1]

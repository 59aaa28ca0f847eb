"""The study of real tables: what it says of tables like those, and that README's promise holds on them."""

import csv
import datetime

import numpy as np
import pandas as pd
import pytest
from studies.tables.__main__ import RESULTS, Outcome, look, read_outcomes, summary

N = 60


def columns():
    """A column of every kind that real tables have."""
    rng = np.random.default_rng(0)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(i)) for i in rng.integers(0, 900, N)]
    return {
        "rownames": range(1, N + 1),
        "name": [f"name {i}" for i in range(N)],
        "day": days,
        "written": [f"{day:%d.%m.%Y}" for day in days],
        "time": [f"{i % 24:02d}:{i % 60:02d}:00" for i in range(N)],
        "price": [f"${v:,.2f}" for v in rng.random(N) * 5000],
        "share": [f"{v:.1f}%" for v in rng.random(N) * 100],
        "way": [f"{v} km" for v in range(N)],
        "mixed": ["<5" if i % 3 == 0 else str(i) for i in range(N)],
        "objects": [i if i % 2 else "x" for i in range(N)],
        "far": np.where(rng.random(N) < 0.1, np.inf, rng.random(N)),
        "empty": [None] * N,
        "level": rng.choice(["a", "b", None], N),
        "flag": rng.random(N) < 0.5,
        "x": rng.normal(size=N),
    }


@pytest.mark.parametrize("target", ["number", "class", "gaps"])
def test_a_table_of_everything_fits_as_it_is(target):
    frame = pd.DataFrame(columns())
    number = frame["x"] + frame["flag"]
    values = {"number": number, "class": np.where(number > 0, "high", "low"), "gaps": number.where(number > -1)}
    outcome = look("p", "i", frame.assign(y=values[target]), n_trees=10)
    assert outcome.prepared == "fits" and "things are wrong with the table" in outcome.strict
    assert outcome.aside == 4 and outcome.derived > 8 and outcome.rules


def test_the_summary_counts_what_is_refused():
    about = ("p", "i", 50, 4, "numbers")
    outcomes = [Outcome(*about, "fits", "fits"), Outcome(*about, "no: 1", "fits", 1), Outcome(*about, "no: 2", "no: 3")]
    text = summary(outcomes)
    assert "3 tables, 2 fit, 1 are refused (33.3%); without preparation 2 are refused." in text
    assert "1 tables with columns set aside" in text and "1  no" in text


def test_the_list_in_the_repository_has_at_most_two_percent_refused():
    with RESULTS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 1000 and len({(row["package"], row["item"]) for row in rows}) == len(rows)
    assert sum(row["prepared"] != "fits" for row in rows) <= 0.02 * len(rows)


def test_a_run_goes_on_where_it_stopped(tmp_path):
    assert read_outcomes(tmp_path / "none.csv") == []
    assert [(o.package, o.item, o.rows) for o in read_outcomes(RESULTS)][:1] != []

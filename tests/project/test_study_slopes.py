"""The study of slopes: its page is that of its results, and its figures are what they say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from studies.results import Figures
from studies.slopes.__main__ import PAGE, main
from studies.slopes.cells import RESULTS
from studies.slopes.measure import measure
from studies.slopes.methods import METHODS
from studies.slopes.page import Pair
from studies.slopes.problems import FRESH, NAMED, PAPER
from studies.sources import Problem


def test_the_page_is_that_of_the_results(tmp_path: Path) -> None:
    written = tmp_path / "page.md"
    assert main(["--write", "--page", str(written), "--results", str(RESULTS)]) == 0
    assert written.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_there_are_eight_named_tables_and_24_fresh_ones() -> None:
    assert len(NAMED) + len(PAPER) == 8 and len(FRESH) == 24


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

"""Text for notebooks and pages: minus signs, and what is escaped."""

from pathlib import Path

import pytest

import pysirus
from pysirus._text.format import NUMBER_AFTER, html_lines, true_minus


@pytest.mark.parametrize(
    "text, shown",
    [
        ("mean y = 11.8    intercept = -0.82", "mean y = 11.8    intercept = −0.82"),
        ("points are log-odds of y = yes, from -0.90 on", "points are log-odds of y = yes, from −0.90 on"),
        ("decided for above 40.0% (log-odds -0.41)", "decided for above 40.0% (log-odds −0.41)"),
        ("if t < -3 then -1.5 else -2", "if t < −3 then −1.5 else −2"),
        ("the mean residual is -0.3", "the mean residual is −0.3"),
        ("outputs -1.2 / -3.4 then", "outputs −1.2 / −3.4 then"),
        ("month-9, a -5, 2026-01-31", "month-9, a -5, 2026-01-31"),
    ],
)
def test_hyphens_before_numbers_become_minus_signs(text, shown):
    assert true_minus(text) == shown


def test_pages_take_the_same_hyphens_for_minus_signs_as_notebooks():
    charts = (Path(pysirus.__file__).parent / "report/charts.js").read_text(encoding="utf-8")
    assert f"replace(/{NUMBER_AFTER.pattern.replace('/', chr(92) + '/')}/g" in charts


def test_lines_of_a_notebook_are_escaped():
    assert html_lines("a < -1", "<b>") == "<p>a &lt; −1<br>&lt;b&gt;</p>"

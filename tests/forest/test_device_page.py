"""The page about the GPU shows the figures of the file, and "auto" is where they put it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pysirus._forest.gpu_setup import STARTING

ROOT = Path(__file__).parents[2]


def test_page_shows_the_figures_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import accelerator_page

    page = accelerator_page.PAGE.read_text(encoding="utf-8")
    assert {found[1] for found in accelerator_page.PART.findall(page)} == set(accelerator_page.PARTS)
    assert accelerator_page.with_figures(page) == page, "python benchmarks/accelerator_page.py writes it again"


def test_auto_takes_a_card_only_after_it_breaks_even(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.accelerator_page import read, start_and_rate

    start, rate = start_and_rate(read())
    assert start * rate < STARTING < 3 * start * rate


def test_recorded_trees_are_those_of_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.accelerator_page import read

    compared = [line["different_trees"] for lines in read().values() for line in lines if "different_trees" in line]
    assert len(compared) >= 12 and not any(compared)

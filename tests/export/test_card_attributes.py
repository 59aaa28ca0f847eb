"""Scorecards by attribute and of several classes: one line of each block applies, and the points say what rules say."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import engines
from decision_models import random_model, random_rows
from hand_made import HAND_MADE, HAND_SLOPED, ROWS, make_model
from office import recalculate, values_of
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule
from pysirus.export import ExportError
from pysirus.export._card import make_card, make_cards
from pysirus.export.scorecard import entries_of

pytestmark = pytest.mark.filterwarnings("ignore:.*unseen category")
FINE = 1e6  # points that double the odds: rounding loses nothing that matters


def rule_of(conditions, odds):
    """A rule of two classes that adds these log-odds where it applies and elsewhere."""
    sides = {name: (-own / 2, own / 2) for name, own in zip(("inside", "outside"), odds)}
    common = {"frequency": 0.5, "weight": 1.0, "classes": ("bad", "good"), "stage": 2}
    return FittedRule(tuple(conditions), **common, **sides, observed=(sides["inside"], sides["outside"]))


def of_rules(*rules):
    return replace(make_model([], ("bad", "good")), selected=RuleSet(list(rules)))


def points_by_text(model, **options):
    """The points of each line, and the start."""
    (card,) = make_cards(model, by="attribute", **options)
    return card.start, dict(zip(card.lines.texts, card.points[:, 0].tolist()))


def check_blocks(cards, rows):
    """Exactly one line of each block applies to each row, and the start and these lines add up to the total."""
    table = cards[0].model.align(rows)
    holds = np.column_stack([rule.holds(table) for rule in cards[0].lines.rules])
    for block in cards[0].lines.blocks:
        assert (holds[:, block.lines].sum(axis=1) == 1).all(), block
    for card in cards:
        assert (card.points >= 0).all() and card.points[:, 1].max(initial=0) == 0
        assert (card.start + holds @ card.points[:, 0] == card.total.raw_predict(rows)).all()


def test_attributes_of_one_column_by_hand():
    """Below 66 a doubling less, from 100 on two more: three ranges of one column, and missing values as rules say."""
    two = math.log(2.0)
    low = rule_of([Condition("x", upper=66.0, missing=True, index=0)], (-two, 0.0))
    high = rule_of([Condition("x", lower=100.0, missing=False, index=0)], (2 * two, 0.0))
    start, points = points_by_text(of_rules(low, high), base_odds=1)
    assert points == {"x < 66": 0, "66 <= x < 100": 20, "x >= 100": 60, "x is missing": 0} and start == 580
    _, other = points_by_text(of_rules(low, high), base_odds=1, positive="bad")
    assert other == {"x < 66": 60, "66 <= x < 100": 40, "x >= 100": 0, "x is missing": 60}


def test_a_rule_of_two_columns_is_a_grid_whose_equal_neighbours_are_one_line():
    both = [Condition("x", upper=66.0, missing=False, index=0), Condition("z", lower=2.0, missing=True, index=1)]
    model = of_rules(rule_of(both, (math.log(2.0), 0.0)), rule_of(both[:1], (0.0, math.log(2.0))))
    _, points = points_by_text(model)
    assert points == {
        "x < 66": 0,
        "x >= 66": 20,
        "x is missing": 20,
        "x < 66 & z < 2": 0,
        "x < 66 & (z >= 2 or missing)": 20,
        "x >= 66 or missing": 0,
    }
    text = model.export("scorecard", by="attribute")
    assert "Exactly one line of each block applies" in text and "A block of several columns" in text


@pytest.mark.parametrize("kind", ["two", "three"])
@pytest.mark.parametrize("seed", range(12))
def test_attributes_add_up_to_the_score_of_the_model(kind, seed):
    """Without slopes exactly, whatever rules ask of which columns; the oracle is the model itself."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, kind, n_rules=7, n_slopes=0, n_numeric=3, n_categories=2)
    rows = random_rows(rng, model, 400)
    rows.loc[rng.random(400) < 0.1, "c0"] = "never seen"
    for by in ("rule", "attribute"):
        cards = make_cards(model, by=by, pdo=FINE)
        if by == "attribute":
            check_blocks(cards, rows)
        totals = np.column_stack([card.total.raw_predict(rows) for card in cards])
        found = (totals - cards[0].offset) / cards[0].factor
        exact = model.decision_function(rows)
        if kind == "two":
            assert np.abs(found[:, 0] - exact).max() < 1e-4
        else:
            assert np.abs((found - found.mean(1)[:, None]) - (exact - exact.mean(1)[:, None])).max() < 1e-4


@pytest.mark.parametrize("kind", ["two", "three"])
@pytest.mark.parametrize("seed", range(6))
def test_whole_points_and_ranges_stay_within_what_the_card_says(kind, seed):
    rng = np.random.default_rng(100 + seed)
    model = random_model(rng, kind, n_rules=5, n_slopes=2, n_numeric=3, n_categories=1)
    rows = random_rows(rng, model, 400)
    y = model.predict(rows)
    cards = make_cards(model, by="attribute", X=rows, y=y)
    check_blocks(cards, rows)
    loss = cards[0].loss
    assert 0 < loss.rows["log_odds"] <= loss.log_odds + 1e-9 and loss.rows["probability"] <= loss.probability + 1e-9
    totals = np.column_stack([card.total.raw_predict(rows) for card in cards])
    scores = (totals - cards[0].offset) / cards[0].factor
    if kind == "two":
        scores = np.column_stack([np.zeros(len(rows)), scores])
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    gap = np.abs(shares - model.predict_proba(rows)).max()
    assert gap == pytest.approx(loss.rows["probability"]) and loss.rows["log_loss_points"] > 0
    for card, total in zip(cards, totals.T):
        assert card.range[0] <= total.min() and total.max() <= card.range[1]


def test_a_slope_and_a_cut_of_one_column_are_one_block_with_points_per_step():
    (card,) = make_cards(HAND_SLOPED["two"], by="attribute")
    titles = [block.title for block in card.lines.blocks]
    assert sorted(titles) == ["x", "z"]
    edges = [text for text in card.lines.texts if "x" in text]
    assert "x is missing" in edges and any("< 0" in text for text in edges)
    assert "x: +8.05 points for each 0.5, from -2 to 3, before rounding." in HAND_SLOPED["two"].export("scorecard")


# ----------------------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize("kind", ["two", "three"])
def test_sql_of_attributes_adds_whole_points(kind):
    rng = np.random.default_rng(5)
    model = random_model(rng, kind, n_rules=6, n_slopes=1, n_numeric=2, n_categories=1)
    rows, engine = random_rows(rng, model, 200), engines.duckdb()
    columns = {name: pa.array([None if v != v else v for v in rows[name]]) for name in rows}
    engine.load(pa.table(columns), "data")
    text = model.export("scorecard", kind="sql", by="attribute", table="data", dialect="duckdb")
    found = engine.added(text, len(columns))
    totals = [card.total.raw_predict(rows) for card in make_cards(model, by="attribute")]
    assert [list(own) for own in found] == [own.astype(int).tolist() for own in totals]


def test_workbooks_of_attributes_and_of_classes_follow_their_cards(tmp_path):
    models, rng = {}, np.random.default_rng(6)
    for kind in ("two", "three"):
        model = models[kind] = random_model(rng, kind, n_rules=5, n_slopes=1, n_numeric=2, n_categories=1)
        for by in ("rule", "attribute"):
            rows = random_rows(np.random.default_rng(7), model, 30)
            model.export("scorecard", tmp_path / f"{kind}-{by}.xlsx", by=by, X=rows)
    for name, book in recalculate(tmp_path.glob("*.xlsx")).items():
        kind, by = name.split("-")
        cards = make_cards(models[kind], by=by, X=rows)
        header, *lines = values_of(book)["Predict"].values
        frame = pd.DataFrame(lines, columns=header)
        for card in cards:
            points = "points" if kind == "two" else f"points for {card.label}"
            assert frame[points].tolist() == card.total.raw_predict(rows).tolist()
        totals = np.column_stack([card.total.raw_predict(rows) for card in cards]) / cards[0].factor
        if kind == "three":
            shares = np.exp(totals - totals.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            found = frame[[f"probability of {card.label}" for card in cards]].to_numpy(dtype=float)
            assert np.abs(found - shares).max() < 1e-9


@pytest.mark.parametrize("kind", ["text", "html", "markdown", "latex", "sql"])
@pytest.mark.parametrize("by", ["rule", "attribute"])
@pytest.mark.parametrize("name", ["two", "four"])
def test_every_format_shows_all_lines_and_points(kind, by, name):
    model = HAND_MADE[name]
    text, cards = model.export("scorecard", kind=kind, by=by), make_cards(model, by=by)
    for card in cards:
        assert str(card.start) in text and card.label in text
    plain = text.replace(r"\textless{}", "<").replace("&lt;", "<").replace("&gt;", ">").replace(r"\textgreater{}", ">")
    plain = plain.replace("\\%", "%").replace("{-}", "-")
    for own in entries_of(cards):
        assert own.text in plain or own.text == "start", own
        assert all(cell in plain for cell in own.cells)


def test_points_of_several_classes_by_hand():
    """Ties of points are ties of probabilities, and 20 points more are odds of two to one."""
    two = math.log(2.0)
    model = make_model([((two, 0.0, -two), (0.0, 0.0, 0.0))], ("a", "b", "c"))
    cards = make_cards(model, by="attribute")
    assert [own.start for own in cards] == [600, 600, 580]
    assert [own.points[:, 0].tolist() for own in cards] == [[20, 0, 20], [0, 0, 0], [0, 20, 0]]
    assert cards[0].lines.texts == ["x < 0", "x >= 0", "x is missing"]


def test_several_classes_that_are_decided_by_costs_say_what_to_add():
    model = HAND_MADE["four"].decide({"a": 1, "b": 2, "c": 4, "d": 1})
    for by in ("rule", "attribute"):
        text = model.export("scorecard", by=by)
        assert "the most points after adding 0.0 to a, 20.0 to b, 40.0 to c, 0.0 to d" in text
    cards = make_cards(model, pdo=FINE)
    totals = np.column_stack([card.total.raw_predict(ROWS) for card in cards])
    chosen = (totals + cards[0].factor * np.log([1.0, 2.0, 4.0, 1.0])).argmax(axis=1)
    assert [model.classes[k] for k in chosen] == model.predict(ROWS).tolist()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("two", {"by": "column"}, "by must be 'rule' or 'attribute', got 'column'"),
        ("four", {"positive": "a"}, "positive is for two classes"),
        ("four", {"base_odds": 50}, "base_odds is for two classes"),
    ],
)
def test_what_makes_no_card_of_attributes_is_named(name, options, message):
    with pytest.raises(ExportError, match=message):
        HAND_MADE[name].export("scorecard", **options)


def test_a_model_without_rules_has_a_card_of_attributes():
    model = make_model([], ("no", "yes"), intercept=(0.2, -0.3))
    assert make_card(model, by="attribute").start == make_card(model).start
    assert "start" in model.export("scorecard", by="attribute")
    assert make_cards(HAND_MADE["one class"], by="attribute")[0].loss.log_odds == 0

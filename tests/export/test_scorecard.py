"""Scorecards: whole points that say what the model says, in every format, and what rounding costs."""

import itertools
import math
import sqlite3
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import engines
from hand_made import HAND_MADE, HAND_SLOPED, ROWS, SLOPED, make_model
from hostile import CLASSES, COLOUR, MARKUP, new_rows
from hostile import make_model as make_hostile
from office import recalculate, sheet_rows, values_of
from pysirus import SirusClassifier
from pysirus.export import ExportError
from pysirus.export._attributes import round_edges
from pysirus.export._card import joint_shares, make_card, observed_shares, round_together

pytestmark = pytest.mark.filterwarnings("ignore:.*unseen category")
KINDS = ["two scores", "staged scores"]
ROWS_OF_SLOPES = SLOPED[np.isfinite(SLOPED.fillna(0.0)).all(axis=1)].reset_index(drop=True)


@pytest.fixture(params=KINDS)
def model(request):
    return make_hostile(request.param).model_


def totals_of(model, rows, **options):
    """Start and points of the rules, added up row by row."""
    card = make_card(model, **options)
    table = model.align(rows)
    total = np.full(table.n_rows, card.start)
    for rule, (inside, outside) in zip(model.rules, card.points.tolist()):
        total += np.where(rule.holds(table), inside, outside)
    return card, total


# ------------------------------------------------------------------------------------------------------- the points


def test_points_by_hand():
    """Log-odds of 2 ln 2 where x < 0 and of 0 elsewhere; z says 1 / 20 of a doubling; 50:1 are 600 points."""
    two = math.log(2.0)
    model = make_model([((-two, two), (0.0, 0.0)), ((0.0, 0.0), (0.0, two / 20))], ("no", "yes"))
    card = make_card(model)
    assert card.points.tolist() == [[40, 0], [0, 1]]
    assert card.start == round(600 - 20 * math.log2(50)) == 487
    assert card.offset == pytest.approx(600 - 20 * math.log2(50))
    assert card.loss.log_odds == pytest.approx(abs(487 - card.offset) / card.factor)
    assert card.probability(600) == pytest.approx(50 / 51)
    even = make_card(model, base_odds=1, pdo=10, positive="no")
    assert even.points.tolist() == [[0, 20], [0, 0]]
    assert even.probability(600) == 0.5


def test_points_are_whole_not_negative_and_near_the_log_odds(model):
    card, total = totals_of(model, new_rows())
    assert card.points.dtype.kind == "i" and (card.points >= 0).all() and (card.points.min(axis=1) == 0).all()
    odds = (total - card.offset) / card.factor
    exact = model.decision_function(new_rows())
    assert np.abs(odds - exact).max() <= card.loss.log_odds + 1e-12
    assert np.abs(card.probability(total) - model.predict_proba(new_rows())[:, 1]).max() <= card.loss.probability
    assert card.range[0] <= total.min() and total.max() <= card.range[1]
    assert np.corrcoef(odds, exact)[0, 1] > 0.999


def test_points_for_the_other_class_are_the_other_way_round(model):
    assert model.classes is not None
    card, total = totals_of(model, new_rows(), positive=model.classes[0], X=new_rows())
    error = np.abs(card.probability(total) - model.predict_proba(new_rows())[:, 0]).max()
    assert error == pytest.approx(card.loss.rows["probability"]) and error < 0.02


def test_rounding_together_loses_less_than_rounding_apart(model):
    exact_odds, rows = model.decision_function(new_rows()), new_rows()
    together, total = totals_of(model, rows, X=rows)
    error = (total - together.offset) / together.factor - exact_odds
    card = make_card(model, pdo=20_000)  # as good as exact
    apart = np.rint(card.points / 1000)
    table = model.align(rows)
    plain = np.rint(together.offset + (card.start - card.offset) / 1000) + sum(
        np.where(rule.holds(table), *points) for rule, points in zip(model.rules, apart)
    )
    plain_error = (plain - together.offset) / together.factor - exact_odds
    assert np.mean(error**2) < np.mean(plain_error**2)
    assert together.loss.rows["log_odds"] == pytest.approx(np.abs(error).max())


def test_rounding_finds_the_best_of_small_lists(rng):
    best = 0
    for _ in range(30):
        points, shares = rng.uniform(0, 9, 5), rng.uniform(0.05, 0.95, 4)
        together = joint_shares(shares)
        whole = round_together(points, together)
        found = (whole - points) @ together @ (whole - points)
        all_ = (np.array(d) for d in itertools.product((0, 1), repeat=5))
        least = min((np.floor(points) + d - points) @ together @ (np.floor(points) + d - points) for d in all_)
        assert found <= (np.rint(points) - points) @ together @ (np.rint(points) - points) + 1e-12
        best += found <= least + 1e-12
    assert best >= 27


def test_shares_of_rows_are_those_that_are_counted(rng):
    given = rng.random((4000, 3)) < [0.2, 0.5, 0.9]
    assert np.abs(observed_shares(given) - joint_shares(given.mean(axis=0))).max() < 0.05
    assert observed_shares(given)[0].tolist() == [1.0, *given.mean(axis=0)]


def test_long_lists_round_without_pairs(rng):
    points = rng.uniform(0, 9, 400)
    whole = round_together(points, joint_shares(rng.random(399)))
    assert np.abs(whole - points).max() <= 2 and (whole >= 0).all()


def test_loss_on_rows_has_auc_and_log_loss():
    metrics = pytest.importorskip("sklearn.metrics")
    model, rows = make_hostile("two scores").model_, new_rows()
    y = np.where(rows["select"] > 0, CLASSES[1], CLASSES[0])
    card, total = totals_of(model, rows, X=rows, y=y)
    truth, seen = y == model.classes[1], card.loss.rows
    assert seen["auc"] == pytest.approx(metrics.roc_auc_score(truth, model.decision_function(rows)))
    assert seen["auc_points"] == pytest.approx(metrics.roc_auc_score(truth, total))
    assert seen["log_loss"] == pytest.approx(metrics.log_loss(truth, model.predict_proba(rows)[:, 1]))
    assert seen["log_loss_points"] == pytest.approx(metrics.log_loss(truth, card.probability(total)))
    text = model.export("scorecard", X=rows, y=y)
    assert f"AUC {seen['auc']:.4f}, with whole points {seen['auc_points']:.4f}" in text
    assert f"log loss {seen['log_loss']:.4f}" in text and "On 1,000 rows" in text


# ------------------------------------------------------------------------------------------------------- the formats


def test_text_shows_every_rule_with_its_points(model):
    lines = model.export("scorecard").splitlines()
    card = make_card(model)
    assert lines[0] == f"Scorecard of y: points for {card.label}"
    for rule, (a, b) in zip(model.rules, card.points.tolist()):
        assert any(line.startswith(rule.condition_text) and line.split()[-2:] == [str(a), str(b)] for line in lines)
    assert any(f"no row by more than {card.loss.log_odds:.3f}" in line for line in lines)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_sql_adds_the_points(model, dialect):
    connection = sqlite3.connect(":memory:") if dialect == "sqlite" else pytest.importorskip("duckdb").connect()
    if dialect == "sqlite":
        new_rows().to_sql("data", connection, index=False)
    else:
        connection.register("frame", new_rows())
        connection.execute("CREATE TABLE data AS SELECT * FROM frame")
    _, total = totals_of(model, new_rows())
    statement = model.export("scorecard", kind="sql", table="data", dialect=dialect)
    expression = model.export("scorecard", kind="sql", dialect=dialect)
    for text in (statement, f"SELECT {expression.rstrip()} AS points FROM data"):
        found = [row[-1] for row in connection.execute(text).fetchall()]
        assert found == total.tolist() and {type(value) for value in found} == {int}


def test_sql_of_other_dialects_adds_whole_numbers():
    pytest.importorskip("sqlglot")
    text = HAND_MADE["two"].export("scorecard", kind="sql", table="shop.data", dialect="snowflake", prediction="score")
    assert '"score"' in text and '"shop"."data"' in text


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """The cards of both models, and one with other points, computed by LibreOffice."""
    openpyxl, folder = pytest.importorskip("openpyxl"), tmp_path_factory.mktemp("cards")
    for kind in KINDS:
        make_hostile(kind).export("scorecard", folder / f"{kind}.xlsx", X=sheet_rows())
    make_hostile("two scores").export("scorecard", folder / "changed.xlsx", X=new_rows()[:20])
    book = openpyxl.load_workbook(folder / "changed.xlsx")
    book["Scorecard"]["D6"], book["Scorecard"]["E6"], book["Scorecard"]["D5"] = 1000, 2000, 0
    book.save(folder / "changed.xlsx")
    return recalculate(folder.glob("*.xlsx"))


@pytest.mark.parametrize("kind", KINDS)
def test_workbook_adds_the_points(kind, books):
    model, some, book = make_hostile(kind).model_, sheet_rows(), values_of(books[kind])
    card, total = totals_of(model, some, X=some)
    header, *rows = book["Predict"].values
    frame = pd.DataFrame(rows, columns=header)
    assert frame["points"].tolist() == total.tolist()
    probability = frame[f"probability of {card.label}"].astype(float)
    assert np.abs(probability - card.probability(total)).max() < 1e-9
    sheet = book["Scorecard"]
    found = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=6, max_row=5 + len(card.points))]
    assert [row[3:5] for row in found] == card.points.tolist()
    assert [row[0] for row in found] == [rule.condition_text for rule in model.rules]
    steps = [(row[6].value, row[7].value) for row in sheet.iter_rows(min_row=5) if row[6].value is not None]
    assert np.allclose(steps, card.steps(), rtol=0, atol=1e-9)


def test_workbook_follows_the_points_of_its_card(books):
    model = make_hostile("two scores").model_
    header, *rows = values_of(books["changed"])["Predict"].values
    points = make_card(model, X=new_rows()[:20]).points.copy()
    points[0] = 1000, 2000
    table = model.align(new_rows()[:20])
    expected = sum(np.where(rule.holds(table), *p) for rule, p in zip(model.rules, points))
    assert [row[header.index("points")] for row in rows] == expected.tolist()


class Cells(HTMLParser):
    """The text of the cells of a page, row by row."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.open = [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")
            self.open = True

    def handle_endtag(self, tag):
        self.open = self.open and tag != "td"

    def handle_data(self, data):
        if self.open:
            self.rows[-1][-1] += data


def test_page_holds_the_points_and_no_markup_of_names(model):
    page = model.export("scorecard", kind="html")
    assert MARKUP not in page and COLOUR not in page and "<script" not in page and "<img" not in page
    card, (_, *rows) = make_card(model), [row for row in Cells(page).rows if len(row) == 3]
    assert [list(map(int, row[1:])) for row in rows] == card.points.tolist()
    for row, rule in zip(rows, model.rules):
        assert row[0].startswith(rule.condition_text)


def test_ending_of_the_file_decides(tmp_path):
    model = HAND_MADE["two"]
    assert model.export("scorecard", tmp_path / "a.html").startswith("<!DOCTYPE html>")
    assert model.export("scorecard", tmp_path / "a.xlsx")[:2] == b"PK"
    assert "CASE WHEN" in model.export("scorecard", tmp_path / "a.sql")
    assert model.export("scorecard", tmp_path / "a.txt").startswith("Scorecard of y")
    assert model.export("scorecard", tmp_path / "b", kind="sql") == (tmp_path / "b").read_text()


# ----------------------------------------------------------------------------------------------------- what is refused


def test_what_is_no_scorecard_is_named(ozone):
    X, y = ozone
    equal = SirusClassifier(n_rules=3, n_trees=100, weighting="equal", random_state=0).fit(X, y > 10)
    for model, found in (
        (equal, "2 classes with equal weights"),
        (HAND_MADE["log"], "numbers"),
    ):
        with pytest.raises(ExportError, match=f"this model predicts {found}"):
            model.export("scorecard")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pdo": 0}, "pdo must be a positive number, got 0"),
        ({"pdo": 1e300}, "larger than 1e\\+09: lower pdo"),
        ({"pdo": 1e308}, "larger than 1e\\+09: lower pdo"),
        ({"base_odds": -1.0}, "base_odds must be a positive"),
        ({"base_score": math.nan}, "base_score must be a number"),
        ({"positive": "maybe"}, "positive must be one of 'no', 'yes', got 'maybe'"),
        ({"kind": "fax"}, "kind must be one of text, excel, html, sql, markdown, latex"),
        ({"table": "data"}, "table: only a scorecard in SQL"),
        ({"y": ["no"]}, "y is given without X"),
        ({"X": ROWS, "y": ["no"]}, "y has 1 values, X has 7 rows"),
        ({"X": ROWS, "y": ["ja"] + ["no"] * 6}, "the label 'ja', which the model does not know"),
    ],
)
def test_options_that_make_no_card_are_named(options, message):
    with pytest.raises(ExportError, match=message):
        HAND_MADE["two"].export("scorecard", **options)


def test_a_model_without_rules_has_a_card(tmp_path):
    model = make_model([], ("no", "yes"), intercept=(0.2, -0.3))
    assert make_card(model).start == round(make_card(model).offset - 0.5 * make_card(model).factor)
    assert "start" in model.export("scorecard") and model.export("scorecard", kind="html")
    assert model.export("scorecard", tmp_path / "card.xlsx", X=ROWS)
    (points,) = engines.sqlite().run(f"SELECT {model.export('scorecard', kind='sql', dialect='sqlite')}")
    assert points == (make_card(model, X=ROWS).start,)


# ------------------------------------------------------------------------------------------------------------ slopes


def test_a_slope_is_ranges_of_a_round_size_of_which_one_applies():
    text = HAND_SLOPED["two"].export("scorecard")
    own = [line for line in text.splitlines() if line.startswith(("x <", "x >=", "x is")) or "<= x" in line]
    lines = [line.rsplit(maxsplit=2) for line in own]
    ranges = [(name.strip(), int(points)) for name, points, _ in lines if "or missing" not in name]
    assert ranges[0] == ("x < -1.5", 0) and ranges[-1][0] == "x is missing" and len(ranges) == 11
    gaps = [b - a for (_, a), (_, b) in itertools.pairwise(ranges[:-1])]
    assert set(gaps) == {8}  # half a unit: 0.558 / 2 of log-odds, times 20 / log 2
    assert "exactly one of them applies" in text


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_totals_of_a_card_with_slopes_stay_within_what_it_says(positive):
    model, rows = HAND_SLOPED["two"], ROWS_OF_SLOPES
    card = make_card(model, positive=positive, X=rows)
    low, high = card.range
    total = card.total.raw_predict(rows)
    assert (total == np.rint(total)).all() and low <= total.min() and total.max() <= high
    exact = model.decision_function(rows) * (1 if positive == "yes" else -1)
    assert np.abs((total - card.offset) / card.factor - exact).max() <= card.loss.log_odds + 1e-12
    assert card.loss.rows["log_odds"] <= card.loss.log_odds < 0.3


def test_the_card_of_a_slope_in_sql_and_excel_gives_its_points(tmp_path):
    model, rows = HAND_SLOPED["two"], ROWS_OF_SLOPES
    card, engine = make_card(model), engines.duckdb()
    engine.load(pa.Table.from_pandas(rows), "data")
    (found,) = engine.added(model.export("scorecard", kind="sql", table="data", dialect="duckdb"), 2)
    assert [int(points) for points in found] == card.total.raw_predict(rows).astype(int).tolist()
    model.export("scorecard", tmp_path / "card.xlsx", X=rows)
    (book,) = recalculate([tmp_path / "card.xlsx"]).values()
    header, *lines = values_of(book)["Predict"].values
    expected = make_card(model, X=rows).total.raw_predict(rows).tolist()
    assert [line[header.index("points")] for line in lines] == expected


@pytest.mark.parametrize(("ends", "points", "edges"), [((18.0, 80.0), 9.0, [20.0, 30.0, 40.0, 50.0, 60.0, 70.0]),
    ((0.0, 1.0), 0.1, [0.5]), ((-3.0, 3.0), 1.0, [-2.0, -1.0, 0.0, 1.0, 2.0]), ((2.0, 2.0), 1.0, [])])  # fmt: skip
def test_ranges_have_round_ends(ends, points, edges):
    assert round_edges(*ends, points) == edges

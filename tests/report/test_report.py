"""The report in a real browser: the slider, a click, a search; nothing is loaded and nothing hostile runs."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from hostile import COLOUR, KINDS, LEVELS, MARKUP, make_model, new_rows
from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV
from pysirus._learn.weigh import SHRINKAGE
from pysirus._terms.fitted import FittedTerm
from pysirus.report import page, summary
from sampled import few, in_turns

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def tuned(ozone):
    return SirusRegressorCV(n_repeats=2, cv=5, n_trees=500, random_state=0).fit(*ozone)


def shown_rules(tab):
    """The rules on the page that are part of the list, as text."""
    return [
        re.sub(r"(stays|comes|goes)$", "", text).replace("−", "-")
        for text in tab.locator(".rule:not(.went) .sentence").all_inner_texts()
    ]


def test_slider_shows_the_list_of_its_size(open_report, ozone, tuned):
    tab = open_report(tuned, ozone[0])
    slider = tab.locator("#slider")
    for k in (1, 4, len(tuned.models_)):
        slider.fill(str(k))
        model = tuned.with_rules(k)
        assert shown_rules(tab) == [str(rule) for rule in model.rules]
        assert tab.locator("#error").inner_text() == f"{model.facts['cv_error']:.3f}"
        assert tab.locator("#stability").inner_text() == f"{model.facts['cv_stability']:.2f}"
        now, then = set(model.rules), set(tuned.rules_)
        assert tab.locator(".rule.came").count() == len(now - then)
        assert tab.locator(".rule.went").count() == len(then - now)
    tab.locator("#reset").click()
    assert shown_rules(tab) == [str(rule) for rule in tuned.rules_]
    assert tab.locator("#compared").inner_text() == "this is the chosen list"


def test_slider_and_points_work_by_keyboard(open_report, tuned):
    tab = open_report(tuned)
    tab.locator("#slider").fill("3")
    tab.locator("#slider").press("ArrowRight")
    assert tab.locator("#slider").input_value() == "4"
    tab.locator('#pareto circle[data-size="1"]').focus()
    tab.keyboard.press("Enter")
    assert shown_rules(tab) == [str(rule) for rule in tuned.with_rules(2).rules]
    assert tab.evaluate("document.activeElement.dataset.size") == "1"


def test_click_on_a_pareto_point_shows_its_list(open_report, tuned):
    tab = open_report(tuned)
    point = tab.locator('#pareto circle[data-size="0"]')
    point.click(force=True)
    assert shown_rules(tab) == [str(rule) for rule in tuned.with_rules(1).rules]
    assert tab.locator('#pareto circle[data-size="0"]').get_attribute("aria-pressed") == "true"
    assert tab.locator("#pareto circle[role=button]").count() == len(tuned.models_)


def test_search_explains_a_row(open_report, ozone, tuned):
    X, y = ozone
    tab = open_report(tuned, X, y=y)
    tab.locator("#search").fill("117")
    assert tab.locator("#matches li").first.inner_text().startswith("row 117:")
    tab.locator("#search").press("Enter")
    assert tab.locator("#row h3").inner_text().startswith("Row 117: predicted ")
    assert float(tab.locator("#row").get_attribute("data-prediction")) == pytest.approx(tuned.predict(X)[116], abs=1e-6)
    tab.locator("#slider").fill("2")  # the row follows the size
    expected = tuned.with_rules(2).predict(X)[116]
    assert float(tab.locator("#row").get_attribute("data-prediction")) == pytest.approx(expected, abs=1e-6)
    tab.locator("#search").fill(f"temp = {X['temp'][5]:.0f} vis = {X['vis'][5]:.0f}")
    rows = [int(item.get_attribute("data-row")) for item in tab.locator("#matches li").all()]
    assert rows[0] == 5 and len(rows) < 8
    tab.locator("#matches li").nth(0).click()
    assert tab.locator("#row h3").inner_text().startswith(f"Row {rows[0] + 1}:")


def test_search_without_a_hit_says_so(open_report, ozone, tuned):
    tab = open_report(tuned, ozone[0])
    tab.locator("#search").fill("no such <b>row</b>")
    assert tab.locator("#no-match").inner_text() == "No row has “no such <b>row</b>” in its name or its values."
    tab.locator("#search").fill("117")
    assert tab.locator("#no-match").inner_text() == ""


def test_choice_is_explained(open_report, tuned):
    tab, tuning = open_report(tuned), tuned.model_.tuning
    assert tab.locator("#reason").inner_text() == " ".join(
        tuning.reasons(len(tuned.model_.selected), "unexplained variance")
    )
    assert (
        tab.locator("#reason")
        .inner_text()
        .startswith("Chosen because it lies closest to the ideal point (unexplained variance 0")
    )


def test_many_levels_are_legible(open_report, rng):
    countries = [f"Republic of {chr(97 + i // 26)}{chr(97 + i % 26)}land" for i in range(60)]
    X = pd.DataFrame({"country": rng.choice(countries, 900), "month": rng.choice(["Jan", "Feb", "Mar", "Apr"], 900)})
    y = X["country"].isin(countries[:20]) * 2.0 + X["month"].isin(["Jan", "Apr"]) + rng.normal(0, 0.1, 900)
    model = SirusRegressor(n_rules=3, n_trees=200, random_state=0).fit(X, y)
    tab = open_report(model, X, width=390)
    effects = {own["feature"]: own for own in tab.evaluate("data.effects[0]")}
    assert effects["month"]["labels"] == ["Jan", "Feb", "Mar", "Apr"]
    members = effects["country"]["members"]
    assert 2 <= len(members) <= 12 and sum(map(len, members)) == 60
    first = X["country"].value_counts()
    assert all(own[0] == max(own, key=first.__getitem__) for own in members)
    names = tab.locator("#effect-list [aria-label='y-axis tick label'] text")
    assert any(name.endswith(" more") for name in names.all_text_contents())
    assert all(name.bounding_box()["x"] >= 0 for name in names.all())
    rule = next(rule for rule in model.rules_ if "categories}" in str(rule))
    card = tab.locator("#rule-list .rule", has_text="of 60 categories").first
    assert card.locator(".whole p").text_content() == rule.condition_text
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_training_metrics_stand_behind_a_warning(open_report, ozone):
    model = SirusRegressor(n_rules=5, n_trees=200, random_state=0).fit(*ozone)
    tab = open_report(model)
    r2 = model.score(*ozone)
    lead, warning = tab.locator("#lead").inner_text(), tab.locator("#unvalidated")
    assert lead.endswith("not validated") and "explains" not in lead
    assert warning.inner_text().startswith("Not validated.") and f"{r2:.3f}" not in warning.inner_text()
    tab.locator("#training-title").click()
    assert tab.locator("#training-metrics dd").all_inner_texts()[0] == f"{r2:.3f}"
    assert not tab.locator("#quality-note").is_visible() and "used to learn" in warning.inner_text()


@pytest.mark.parametrize("kind, scheme", in_turns(KINDS, ["light", "dark"]))
def test_hostile_names_are_text_and_rows_predict_what_the_model_predicts(open_report, kind, scheme):
    model = make_model(kind)
    tab = open_report(model, new_rows()[:200], title=MARKUP, width=390, scheme=scheme, labels=[MARKUP] * 200)
    assert tab.evaluate("window.hacked") is None and tab.locator("main script, main img, h1 script").count() == 0
    assert tab.locator("h1").inner_text() == MARKUP
    text = tab.locator("#rule-list").inner_text()
    assert COLOUR in text and any(level in text for level in LEVELS)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")  # no sideways scrolling on a phone
    assert_rows_predict(tab, model.model_, new_rows()[:200])


def assert_rows_predict(tab, model, rows):
    """The page adds up to what the model predicts."""
    decision = model.decision(model.align(rows)).reshape(len(rows), -1)
    k = tab.evaluate("data.classes ? data.classes.length : 1")
    found = tab.evaluate(f"data.rows.fired.map((_, i) => [...Array({k}).keys()].map((c) => explained(i, c).end))")
    assert np.abs(np.array(found) - decision).max() < 1e-6
    explanation = model.explain(rows)
    starts, steps = tab.evaluate(
        f"[0, 1].map((w) => data.rows.fired.map((_, i) => [...Array({k}).keys()].map((c) => "
        "w ? explained(i, c).steps.map((step) => step.value) : explained(i, c).start)))"
    )
    assert np.abs(np.array(starts) - np.atleast_1d(explanation.baseline)).max() < 1e-6
    for row, found in zip(explanation.contributions, steps):
        shown = [row[r] for r in range(len(row)) if model.family.aggregation == "sum" or row[r] != 0]
        expected = np.reshape(np.array(shown), (len(shown), -1)).T
        assert np.abs(np.sort(np.array(found)) - np.sort(expected)).max() < 1e-6
    assert "training row" in tab.locator("#row").text_content()


@pytest.mark.parametrize("kind", ["two scores", "four scores", "staged scores"])
def test_rows_of_scores_have_their_probabilities(open_report, kind):
    model = make_model(kind).model_
    rows = new_rows()[:60]
    tab = open_report(model, rows, width=390)
    found = tab.evaluate("data.rows.fired.map((_, i) => data.classes.map((_, c) => predicted(i, c)))")
    assert np.abs(np.array(found) - model.predict_proba(rows)).max() < 1e-6
    weighted = [(r, rule) for r, rule in enumerate(model.selected) if rule.weight]
    assert weighted
    for r, rule in weighted:
        points = tab.locator(f'.rule[data-rule="{r}"] .facts .value').last.inner_text()
        assert points.replace("−", "-") == model.family.adds(rule)
        inside, outside = model.family.outputs(rule)
        assert tab.locator(f'.rule[data-rule="{r}"] .output').all_inner_texts() == [inside, outside]
    assert "not validated" in tab.locator("#lead").inner_text() and not tab.locator("#training").is_visible()
    labels = model.predict(rows)
    judged = open_report(model, rows, y=labels, width=390)
    judged.locator("#training-title").click()
    assert judged.locator("#training-metrics dd").first.inner_text().startswith("100.0%")
    assert summary(model, rows, y=[*labels[:-1], "new"])["inSample"] is None
    assert summary(model, rows, y=[*labels[:-1], None])["inSample"]["rows"] == 59
    assert "Metrics of the 60 rows of the table" in judged.locator("#unvalidated").inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_positive_class_is_spoken_of_whatever_is_predicted(open_report, ozone):
    X, y = ozone
    labels = np.where(y > 12, "high", "low")
    model = SirusClassifier(n_rules=4, n_trees=100, random_state=0, positive_class="high").fit(X, labels)
    model.cross_validate(X, labels, cv=3)
    tab = open_report(model, X, y=labels, width=390)
    assert "log-odds of high" in tab.locator("#how-to-read").inner_text()
    assert "high" in tab.locator("#threshold-name").inner_text()
    predicted = model.predict(X)
    for row in (int(np.flatnonzero(predicted == label)[0]) for label in ("high", "low")):
        tab.evaluate(f"pickRow({row})")
        assert "log-odds of high" in tab.locator("#row").text_content()
        shown = float(tab.evaluate("byId('row').dataset.prediction"))
        assert shown == pytest.approx(model.predict_proba(X)[row, 0], abs=1e-6)
    weighted = [(r, rule) for r, rule in enumerate(model.selected_) if rule.weight]
    assert weighted
    for r, rule in weighted:
        points = tab.locator(f'.rule[data-rule="{r}"] .facts .value').last.inner_text()
        assert points.replace("−", "-") == model.model_.family.adds(rule)


def test_held_out_rows_are_judged_at_a_threshold(open_report, ozone):
    X, y = ozone
    labels = np.where(y > 12, "high", "low")
    model = SirusClassifierCV(n_repeats=1, cv=5, n_trees=100, max_rules=6, random_state=0).fit(X, labels)
    tab = open_report(model, X, width=390)
    found = model.model_.out_of_fold
    assert tab.locator("#error-name").inner_text() == "unexplained deviance"
    assert (
        tab.locator("#quality-metrics dd").first.inner_text().startswith(f"{100 * found.metrics['accuracy'][0]:.1f}%")
    )
    assert tab.locator("#reliability svg, #roc svg, #precision svg").count() == 3
    (own,) = found.bins
    for threshold in (0.5, 0.2, 0.0, 1.0):
        tab.locator("#threshold").fill(str(threshold))
        called = own.probability >= threshold
        cells = [own.members[called], own.members[~called], own.others[called], own.others[~called]]
        shown = [int(text.replace(",", "")) for text in tab.locator("#confusion td b").all_inner_texts()]
        assert shown == [round(float(cell.sum())) for cell in cells]
    assert tab.locator("#threshold-value").inner_text() == "100%"
    area = tab.evaluate(
        "d3.sum(d3.pairs(curvePoints(data.heldOut.bins[0]), (a, b) => (b.fall - a.fall) * (a.recall + b.recall) / 2))"
    )
    assert area == pytest.approx(found.metrics["auc"][0], abs=0.005)
    groups = tab.evaluate("reliability(data.heldOut.bins[0])")
    assert len(groups) <= 10 and sum(g["weight"] for g in groups) == pytest.approx(len(y), rel=1e-4)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_several_classes_are_judged_one_by_one_and_together(open_report, ozone):
    X, y = ozone
    labels = np.where(y > 15, "high", np.where(y > 7, "middle", "low"))
    model = SirusClassifier(n_rules=5, n_trees=100, random_state=0).fit(X, labels)
    model.cross_validate(X, labels, cv=4)
    tab = open_report(model)
    confusion = model.model_.out_of_fold.confusion
    shown = [int(text) for text in tab.locator("#all-confusion td b").all_inner_texts()]
    assert shown == np.rint(confusion).astype(int).ravel().tolist()
    tab.locator("#quality-class").select_option("2")
    assert "middle" in tab.locator("#threshold-name").inner_text()
    assert "not validated" not in tab.locator("#lead").inner_text()


def test_held_out_numbers_show_their_metrics(open_report, tuned):
    tab = open_report(tuned)
    value = tuned.model_.out_of_fold.metrics["r2"][0]
    assert tab.locator("#quality-metrics dd").first.inner_text().startswith(f"{value:.3f}")
    assert not tab.locator("#quality-charts").is_visible()


def test_tuned_classes_and_their_effects(open_report, ozone):
    X, y = ozone
    labels = np.where(y > 15, "high", np.where(y > 7, "middle", "low"))
    model = SirusClassifierCV(n_repeats=1, cv=5, n_trees=200, weighting="equal", random_state=0).fit(X, labels)
    tab = open_report(model, X)
    assert tab.locator("#error-name").inner_text() == "1 − AUC"
    tab.locator("#slider").fill("2")
    assert shown_rules(tab) == [str(rule) for rule in model.with_rules(2).rules]
    before = tab.locator("#effect-list").inner_html()
    tab.locator("#effect-class").select_option("low")
    assert tab.locator("#effect-list").inner_html() != before
    assert tab.locator("#row h3").inner_text().startswith(f"Row 1: decision {model.with_rules(2).predict(X)[0]}")


def test_effect_of_a_column_that_is_known_or_missing_has_its_two_marks(open_report, rng):
    gaps = np.where(rng.random(100) < 0.3, np.nan, rng.random(100))
    model = SirusRegressor(n_rules=1, n_trees=100, random_state=0).fit(gaps[:, None], np.isnan(gaps) * 1.0)
    assert str(model.rules_[0]).startswith("if x0 is known")
    chart = open_report(model).locator("#effect-list figure")
    assert chart.locator("circle").count() == 2
    assert {"known", "missing"} <= set(chart.locator("svg text").all_text_contents())


def test_names_of_thresholds_do_not_collide(open_report, rng):
    x = rng.random(400)
    model = SirusRegressor(n_rules=10, n_trees=500, random_state=0).fit(x[:, None], x + 5 * rng.random(400))
    tab = open_report(model)
    assert len(tab.evaluate("data.effects[0][0].edges")) > 3
    ticks = [text.bounding_box() for text in tab.locator("#effect-list [aria-label='x-axis tick label'] text").all()]
    assert len(ticks) > 1 and all(a["x"] + a["width"] < b["x"] for a, b in itertools.pairwise(ticks))


def test_long_rules_of_a_row_can_be_told_apart(open_report, rng):
    X = pd.DataFrame({"line of business with a very long name": rng.random(300), "age": rng.random(300)})
    y = 3.0 * (X.iloc[:, 0] > 0.5) + X["age"] * X.iloc[:, 0]
    model = SirusRegressor(n_rules=8, n_trees=300, random_state=0).fit(X, y)
    tab = open_report(model, X)
    lines = tab.locator("#row svg text").evaluate_all("(texts) => texts.map((t) => t.innerHTML)")
    assert any(line.count("<tspan") == 2 for line in lines)
    shown = [re.sub("<[^>]*>", " ", line) for line in lines]
    for rule in model.rules_:
        text = rule.condition_text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert any(text in " ".join(line.split()) for line in shown)


def test_numbers_of_a_row_are_short(open_report):
    X = pd.DataFrame({"tiny": [1e-10, 2.5e-10, 5e-10] * 20})
    y = X["tiny"] * 1e9 + 1 / 3
    tab = open_report(SirusRegressor(n_rules=1, n_trees=50, random_state=0).fit(X, y), X, y=y)
    assert tab.locator("#row h3").inner_text().endswith(", true 0.4333333")
    assert tab.locator("#row .values li").inner_text() == "tiny = 1e-10"


@pytest.mark.parametrize("kind", few(KINDS))
def test_exported_html_is_text_in_a_browser(blank_tab, kind):
    model, tab = make_model(kind), blank_tab
    tab.set_content(f"<!doctype html><body>{model.export('html')}</body>")
    tab.wait_for_timeout(100)
    assert tab.evaluate("window.hacked") is None and tab.locator("script, img, i").count() == 0
    cells = tab.locator('td[style*="left"]').all_inner_texts()
    for rule, cell in zip(model.model_.rules, cells):
        said = f"if {rule.condition_text} then" if rule.conditions else model.model_.rules.rule_text(rule, named=False)
        assert " ".join(cell.split()).startswith(" ".join(said.split()))


def test_page_without_scripts_still_shows_the_rules(browser, tuned, tmp_path):
    tuned.report(tmp_path / "report.html")
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto((tmp_path / "report.html").as_uri())
    items = tab.locator("#rule-list li").all_inner_texts()
    assert [item.split(" (weight")[0].replace("−", "-") for item in items] == [str(rule) for rule in tuned.rules_]
    context.close()


def test_large_tables_stay_under_two_megabytes(tuned, ozone):
    X = ozone[0].sample(60_000, replace=True, random_state=0).reset_index(drop=True)
    text = page(summary(tuned, X, max_rows=60_000))
    assert len(text.encode()) < 2_000_000
    assert '"total":60000' in text


def test_report_names_how_the_model_was_made(tuned):
    made = dict(summary(tuned.without(1), data="ozone.csv")["made"])
    assert made["Data"] == "ozone.csv" and made["Seed"] == "0" and made["Training rows"] == "330"
    assert made["Edit 1"].startswith(f"removed {tuned.rules_[0].condition_text} | cross-validated")
    assert "pysirus" in made["Report written with"] and "Python" in made["Made with"]


def test_report_names_columns_set_aside_and_features_derived(rng):
    X = pd.DataFrame({"name": [f"n{i}" for i in range(60)], "paid": [f"${i % 9 + 1}.50" for i in range(60)]})
    model = SirusRegressor(n_trees=20, prepare=True, random_state=0).fit(X, np.arange(60) % 9 + rng.random(60))
    made = dict(summary(model)["made"])
    assert made["Set aside"] == "name (another text in every row)" and made["Derived"] == "paid ($) from paid"


def test_the_mark_of_a_list_stands_on_its_path(open_report, tuned):
    tab = open_report(tuned)
    numbers = [tuned.model_.tuning.numbers(size.n_rules) for size in tuned.model_.tuning.sizes]
    assert tab.evaluate("data.sizes.map((size) => size.perFold)") == pytest.approx([own.per_fold for own in numbers])
    assert tab.locator("#numbers").inner_text() == numbers[len(tuned.selected_) - 1].sentence
    assert "rules in the list" in tab.locator("#path").inner_text()


def test_labels_and_truth_must_fit_the_rows(tuned, ozone):
    with pytest.raises(ValueError, match="labels has 2 entries, X has 330 rows"):
        summary(tuned, ozone[0], labels=["a", "b"])


def test_stages_have_headings_and_say_what_each_rule_adds(open_report, ozone):
    model = SirusRegressor(n_rules=3, n_stages=3, n_trees=1000, random_state=0).fit(*ozone)
    tab = open_report(model, ozone[0])
    assert tab.locator("#rule-list h3").all_inner_texts() == [
        "Stage 1",
        "Corrections, stage 2",
        "Corrections, stage 3",
    ]
    shown = [text.replace("−", "-") for text in shown_rules(tab)]
    assert shown == [model.rules_.rule_text(rule) for rule in model.rules_]
    shrunk = f"prediction shrunk by a factor of {SHRINKAGE:g})"
    assert f"the stages before (with their {shrunk}" in tab.locator("#how-to-read").inner_text()
    assert f"the earlier stages (their {shrunk}." in " ".join(tab.locator(".words").inner_text().split())
    assert f"the earlier stages (their {shrunk}." in " ".join((FittedTerm.__doc__ or "").split())
    plain = open_report(SirusRegressor(n_rules=3, n_trees=1000, random_state=0).fit(*ozone), ozone[0])
    assert "correction" not in plain.locator("main").inner_text()
    assert tab.locator("#rule-list .number").all_inner_texts() == [f"#{i + 1}" for i in range(len(model.rules_))]
    tab.locator("#search").fill("6")
    tab.locator("#matches li").first.click()
    assert float(tab.locator("#row").get_attribute("data-prediction")) == pytest.approx(model.predict(ozone[0])[5])
    lonely = open_report(SirusRegressor(n_rules=1, n_stages=4, n_trees=200, random_state=0).fit(*ozone))
    assert lonely.locator("#rule-list h3").all_inner_texts() == ["Stage 1", "Corrections"]
    facts = lonely.locator("#rule-list .facts").all_inner_texts()
    assert ["".join(text.split("frequency")[0].split()) for text in facts] == ["", "stage2", "stage3", "stage4"]


def test_survival_is_read_by_factors_medians_and_events(open_report):
    model = make_model("survival")
    X, y = new_rows()[:40], np.column_stack([np.arange(40) % 2, np.arange(1.0, 41.0)])
    tab = open_report(model, X, y=y)
    assert "rules for time · event: median" in tab.inner_text("#lead")
    rule = next(iter(model.rules_))
    card = tab.inner_text("#rule-list li[data-rule] >> nth=0")
    assert " / ".join(rule.event_texts) in card and "×" in card and "median" in card
    tab.fill("#search", "8")
    tab.keyboard.press("Enter")
    assert "of an average row" in tab.inner_text("#row h3") and "8 (event)" in tab.inner_text("#row h3")
    assert float(tab.get_attribute("#row", "data-prediction")) == pytest.approx(model.predict(X)[7], abs=1e-6)


def test_the_file_the_rows_and_the_truth_may_be_given_in_order(ozone, tuned, tmp_path):
    X, y = ozone
    path = tmp_path / "r.html"
    found = tuned.report(path, X[:20], y[:20])
    assert found == tuned.report(X=X[:20], y=y[:20]) and path.read_text(encoding="utf-8") == found


@pytest.mark.parametrize("kind", ["sloped scores", "four sloped scores"])
def test_rows_of_scores_with_slopes_have_their_probabilities(open_report, kind):
    model, rows = make_model(kind).model_, new_rows()[:60]
    tab = open_report(model, rows, width=390)
    found = tab.evaluate("data.rows.fired.map((_, i) => data.classes.map((_, c) => predicted(i, c)))")
    assert np.abs(np.array(found) - model.predict_proba(rows)).max() < 1e-6
    r = next(r for r, term in enumerate(model.selected) if not term.is_binary)
    card = tab.locator(f'.rule[data-rule="{r}"]')
    assert (
        card.locator(".sentence")
        .inner_text()
        .replace("−", "-")
        .startswith(model.read(model.rules).rule_text(model.selected[r])[:40])
    )
    assert " to " in card.locator(".facts .value").last.inner_text() and "known" in card.inner_text()
    assert "stays at the end of the range" in tab.locator("#how-to-read").inner_text()
    assert "steps and lines" in tab.locator("#effect-form").inner_text() and tab.locator("#slope-name").is_visible()

"""The model card: what is known is filled in, what is not said is marked, and no text breaks out of its place."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, load
from pysirus._families.row_metrics import Predicted
from pysirus._model.held_out import metric_texts
from pysirus._parameters import ParameterError
from pysirus.report._about import CROSSWALK, QUESTIONS, read_about, template
from pysirus.report._card_evidence import Grid, without_rules
from pysirus.report.card import TITLES

SMALL = {"n_trees": 150, "random_state": 2, "n_jobs": 1}
HOSTILE = "</dd><script>alert(1)</script> | [x](http://a.b) `q` **b** <img src=x>\n# head"


def rows(n=300):
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"age": rng.normal(40, 9, n), "job": rng.choice(["cook", "clerk"], n), "idle": rng.normal(size=n)})
    return X, pd.Series(np.where((X.age > 40) + rng.normal(size=n) / 2 > 0.5, "bad", "good"), name="status")


@pytest.fixture(scope="module")
def model():
    return SirusClassifier(n_rules=4, **SMALL).fit(*rows())


def test_blank_asks_every_question_once_and_reads_as_nothing():
    tomllib = pytest.importorskip("tomllib")
    found = tomllib.loads(template())
    assert {s: list(own) for s, own in found.items()} == {s: list(own) for s, own in QUESTIONS.items()}
    assert read_about(found) == {}


def test_card_fills_in_what_is_known_and_marks_what_is_not(model):
    card = model.card({"purpose": {"use": "loans"}, "monitoring": {"review": ["2027", 1]}})
    text = card.to_markdown()
    n_asked = sum(map(len, QUESTIONS.values()))
    assert text.count("**not stated**") == len(card.missing) == n_asked - 2
    assert "- Intended use: loans" in text and "- Next review: 2027; 1" in text and "Training rows: 300" in text
    assert f"seed: {model.model_.facts.seed}" in text.lower() and "SirusClassifier(" in text
    assert "| idle | numeric |" in text and "not used" in text
    assert text.count("**then**") == len(model.rules_) and "claims no compliance" in text
    assert card.to_html().count("class=blank") == len(card.missing)


def test_results_of_other_methods_are_shown(model):
    X, y = rows(200)
    groups = model.metrics(X, y, by="job")
    watched, sure = model.monitor(X, y), model.evidence(*rows(), n_resamples=4)
    text = str(model.card(metrics=model.metrics(X, y), groups=groups, evidence=sure, monitoring=watched))
    assert (
        "| metric | 200 other rows | always the training shares |" in text
        and "| accuracy | " in text
        and "| cook |" in text
        and watched.verdict[:9] in text
    )
    assert "Expected to return in an independent sample" in text
    told = model.card(evidence=json.loads(json.dumps(sure.to_dict())), monitoring=watched.to_dict())
    assert "by 4 resamples" in str(told)


def test_results_of_another_model_are_refused(model):
    X, y = rows()
    other = SirusClassifier(n_rules=3, n_trees=150, random_state=9, n_jobs=1).fit(X, y)
    edited = model.without(1)
    watched, groups = other.monitor(X, y), other.metrics(X, y, by="job")
    found = {"monitoring": watched, "groups": groups, "evidence": other.evidence(X, y, n_resamples=4)}
    told = {"monitoring": watched.to_dict(), "evidence": found["evidence"].to_dict()}
    for name, result in [*found.items(), *told.items()]:
        assert other.card(**{name: result})
        with pytest.raises(ParameterError, match=f"given as {name} is of another model"):
            model.card(**{name: result})
    for result in (model.monitor(X, y), {"verdict": "No alarm: all is well."}):
        with pytest.raises(ParameterError, match="given as monitoring"):
            edited.card(monitoring=result)


def test_groups_of_fewer_than_ten_rows_have_no_metrics_and_the_list_is_named(model):
    X, y = rows(40)
    X["site"] = np.where(np.arange(40) < 3, "east", "west")
    groups = model.metrics(X, y, by=X.site)
    text = str(model.card(groups=groups, monitoring=model.monitor(X, y)))
    assert "| east | 3 |  |  |  |  |  | fewer than 10 rows |" in text and "| west | 37 |" in text
    assert f"- Fingerprint of the list: {model.monitor(X).to_dict()['model']} " in text


def test_date_source_and_fingerprint_of_other_rows_are_told_and_training_rows_are_called_so(model):
    X, y = rows()
    ours, others = model.metrics(X, y), model.metrics(X[:200], y[:200])
    text = str(model.card({"evidence": {"other_rows": "June"}}, metrics=others, source="june|1.csv", date="2026-07-01"))
    assert f"- Other rows: 200 rows of june\\|1.csv, fingerprint {others.fingerprint}\n" in text
    assert "Written on 2026-07-01 with pysirus" in text and "- Where the other rows come from: June" in text
    swapped = np.r_[1, 0, 2:200]
    for rows_of in (X[:199], X[:200].iloc[swapped], X[:200].assign(idle=0.5)):
        assert model.metrics(rows_of, y[: len(rows_of)]).fingerprint != others.fingerprint
    text = str(model.card(metrics=ours))
    assert f"Fingerprint of the training rows: {ours.fingerprint}" in text
    assert "| metric | training rows |" in text and "THE TRAINING ROWS" in text
    assert re.search(r"Written on \d{4}-\d\d-\d\d with", text)


@pytest.fixture(scope="module")
def tuned():
    X, y = rows(400)
    fitted = SirusClassifierCV(cv=4, n_repeats=1, max_rules=5, n_trees=150, random_state=2, n_jobs=1).fit(X, y)
    return fitted, X, y


def tables_of(card, section):
    return [block for block in card.sections[section] if isinstance(block, Grid)]


def test_decisions_and_calibration_of_held_out_rows_are_told(tuned):
    fitted, _, y = tuned
    card = fitted.card()
    measured, decided, bands = tables_of(card, "evidence")
    assert measured.header == ("metric", "held-out rows", "always the training shares")
    right = 0.0
    for label, n, *shares in decided.rows:
        assert int(n) == (y == label).sum()
        right += int(n) * float(shares[["bad", "good"].index(label)].rstrip("%")) / 100
    held = fitted.model_.out_of_fold
    assert right / len(y) == pytest.approx(held.metrics["accuracy"][0], abs=0.01)
    assert sum(int(n) for *_, n in bands.rows) == len(y) and 2 < len(bands.rows) <= 10
    predicted, observed = ([float(row[k].split("%")[0]) for row in bands.rows] for k in (0, 1))
    assert predicted == sorted(predicted)
    label = fitted.model_.labels[fitted.model_.positive]
    share = sum(int(row[2]) * own for row, own in zip(bands.rows, observed)) / len(y)
    assert share == pytest.approx(100 * (y == label).mean(), abs=0.1)
    n = len(fitted.rules_)
    assert card.glance.startswith(f"{n} rule{'s' if n > 1 else ''}. AUC 0.")
    assert " on held-out rows. Stability between folds" in card.glance
    assert len(tables_of(fitted.decide({"bad": 1, "good": 3}).card(), "evidence")) == 2  # another cut-off decides


def test_training_shares_are_judged_as_any_probabilities():
    for n in ([30, 70], [50, 30, 20]):
        codes, shares = np.repeat(np.arange(len(n)), n), np.array(n) / sum(n)
        family = SirusClassifier(n_rules=1, **SMALL).fit(codes[:, None], codes).model_.family
        found = family.score_metrics(Predicted(np.tile(shares, (len(codes), 1)), codes, np.ones(len(codes))))
        told = without_rules(shares.tolist())
        assert told == {name: metric_texts(name, *found[name])[0] for name in told} and "log_loss" in told


def test_few_rows_have_no_bands_and_no_shares_of_a_rare_class():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60)})
    y = np.where(np.arange(60) < 6, "yes", "no")
    with pytest.warns(UserWarning, match="Nothing was learned"):
        fitted = SirusClassifierCV(cv=3, n_repeats=1, max_rules=2, n_trees=50, random_state=0, n_jobs=1).fit(X, y)
    assert "Nothing was learned" in fitted.card().glance
    _, decided, bands = tables_of(fitted.card(), "evidence")
    assert [row[2:] for row in decided.rows if row[0] == "yes"] == [["fewer than 10 rows"] * 2]
    assert len(bands.rows) <= 3 and all(row[2] == "fewer than 10 rows" or int(row[2]) >= 10 for row in bands.rows)


def test_groups_say_how_far_decisions_are_apart_and_whose_predictions_are_off(model):
    X, y = rows(300)
    site = pd.Series(np.where(np.arange(300) < 150, "east", "west"), name="site")
    truth = y.where(site == "east", "good")  # what is predicted of the west is wrong
    by_site, by_job = (model.metrics(X, truth, by=own) for own in (site, X.job))
    card = model.card(groups=[by_site, by_job])
    first, second = tables_of(card, "groups")
    label = model.model_.labels[model.model_.positive]
    off = {row[0]: row[-1] for row in first.rows}
    assert (
        off["west"] == ("predicted too low" if label == "good" else "predicted too high") and second.header[0] == "job"
    )
    chosen = [by_site[name].selected.value for name in ("east", "west")]
    told = [block for block in card.sections["groups"] if isinstance(block, str)]
    assert len(told) == 2 and f"a ratio of {min(chosen) / max(chosen):.2f}." in told[0]
    west = next(row for row in first.rows if row[0] == "west")
    assert west[-2 if label == "good" else -3] == ""  # of the class that no row of it has


def test_every_section_of_the_crosswalk_is_one_of_the_card(model):
    titles = {title for own in CROSSWALK for title in own[0].split("; ")}
    assert titles == {*TITLES.values()} - {"Crosswalk"} and {len(own) for own in CROSSWALK} == {4}


def test_rules_of_fewer_than_ten_rows_are_named():
    X, y = rows(60)
    model = SirusClassifier(n_rules=12, **SMALL).fit(X, y)
    few = [i for i, own in enumerate(model.rules_, start=1) if min(own.n_inside, own.n_outside) < 10]
    assert few and f"{', '.join(map(str, few))} are of fewer than 10 training rows" in str(model.card())
    assert f" {', '.join(map(str, few))} are not shown: they are of fewer than 10" in str(model.monitor(X, y))
    sure = SirusClassifier(n_rules=12, min_samples_leaf=10, **SMALL).fit(X, y)
    assert "of fewer than 10 training rows" not in str(sure.card()) + str(sure.monitor(X, y))


def test_file_without_the_rules_that_the_card_names_does_not_have_their_targets(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.integers(0, 5, 60)})
    y = (X.a > 0) + rng.normal(size=60) / 10
    X.loc[0, "a"], y[0] = 9.0, 123.4567
    model = SirusRegressor(n_rules=8, n_bins=60, **SMALL).fit(X, y.rename("target"))
    (told,) = (own for own in model.card().sections["limits"] if isinstance(own, str) and own.startswith("Outputs of"))
    few = [int(number) for number in re.findall(r"\d+", told.partition(" are of")[0])]
    texts = {}
    for name, own in (("all", model), ("few", model.without(few))):
        own.save(tmp_path / name)
        texts[name] = (tmp_path / name).read_text()
    assert "123.4567" in texts["all"] and "123.4" not in texts["few"]
    assert "123.4567" not in model.export("sql") and "else 123\n" in model.export("sql")  # three digits, as comments


def test_edits_signatures_and_cutoff_are_told(model, tmp_path):
    changed = model.without(1, note="not allowed", by="A. Smith").decide({"bad": 1, "good": 3})
    text = str(changed.card())
    assert "not allowed" in text and "A. Smith" in text and "Decides for: good above" in text
    changed.save(tmp_path / "m.json")
    assert "SirusClassifier(" in str(load(tmp_path / "m.json").card())


def test_hostile_texts_stay_text():
    X, y = rows()
    X = X.rename(columns={"age": HOSTILE}).assign(job=np.where(X.job == "cook", HOSTILE, "b"))
    model = SirusRegressor(n_rules=3, **SMALL).fit(X, pd.Series((y == "bad") * 1.0, name=HOSTILE))
    told = model.card(
        {"owner": {"name": HOSTILE}}, title=HOSTILE, groups=model.metrics(X, (y == "bad") * 1.0, by="job")
    )
    page = told.to_html()
    shown = MarkdownIt("commonmark", {"html": True}).enable("table").render(told.to_markdown())
    for text in (page, shown):
        assert not re.search(r"<(script|img|a)\b", text)
    assert shown.count("<h1>") == 1 and shown.count("<h2>") == page.count("<h2")
    tables = [own.count("<th") for own in shown.split("<table")[1:]]
    assert len(tables) == 5 - (model.model_.out_of_fold is None)  # columns, rules, groups, crosswalk; metrics


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"aim": {}}, "Sections are: purpose, population"),
        ({"owner": {"nam": "x"}}, "Keys are: name, contact"),
        ({"owner": "x"}, r"\[owner\]"),
        ({"owner": {"name": {"first": "x"}}}, "owner.name must be a text"),
        ({"owner": {"approved": ["x", True]}}, "owner.approved must be a text.*got True"),
    ],
)
def test_answers_that_were_not_asked_for_are_refused_by_name(model, about, words):
    with pytest.raises(ParameterError, match=words):
        model.card(about)


def test_command_writes_markdown_and_html_and_prints_the_blank(run, model, tmp_path):
    model.save(tmp_path / "m.json")
    X, y = rows(100)
    X.assign(status=y, site="north").to_csv(tmp_path / "t.csv", index=False)
    assert run("card", "--template")[:2] == (0, template())
    pytest.importorskip("tomllib")
    (tmp_path / "about.toml").write_text('[owner]\nname = "Ann"\n')
    command = ("card", tmp_path / "m.json", tmp_path / "t.csv", "--by", "job", "--about", tmp_path / "about.toml")
    code, _, err = run(*command, "-o", tmp_path / "card.html")
    assert code == 0 and "not stated" in err and "Ann" in (tmp_path / "card.html").read_text()
    code, out, _ = run(*command)
    assert (
        code == 0
        and "- Owner: Ann" in out
        and "| 100 other rows | always" in out
        and "100 rows of t.csv, fingerprint" in out
        and "| clerk |" in out
    )
    code, out, _ = run(*command, "--by", "age")
    heads = re.findall(r"^\| (age|job) \| rows", out, re.MULTILINE)
    assert code == 0 and heads == ["job", "age"] and len(re.findall(r"^\| \d\S* to \d\S* \| \d+ \|", out, re.M)) == 4
    (tmp_path / "about.toml").write_text("[owner\n")
    assert run(*command)[0] == 2 and run("card", tmp_path / "m.json", "-o", tmp_path / "card.txt")[0] == 2
    code, _, err = run("card", tmp_path / "m.json", "--evidence", tmp_path / "m.json")
    assert code == 2 and "--json" in err
    assert run("card")[0] == 2

"""Lists that are edited in the browser: the weights that it finds are Python's, and what it saves opens."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pysirus
from hostile import make_model
from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV, SirusSurvival
from pysirus._parameters import ParameterError
from pysirus._terms.fitted import Effect
from pysirus._use.edit import refit
from pysirus._use.estimate import estimate, read_rows
from pysirus._weights.weighted import weigh_by_ridge
from pysirus.report._editing import candidates_of, patterns_of
from sampled import FULL

NODE = shutil.which("node")
SCRIPTS = Path(pysirus.__file__).parent / "report"
RUN = """import { readFileSync } from "node:fs";
import { byLikelihood } from "./likelihood.js";
import { askedOf, candidates, edited } from "./list.js";
import { bySums } from "./refit.js";
console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(({ model, patterns, kept, fixed }) => {
  const engine = patterns ? byLikelihood(model, patterns) : bySums(model), all = candidates(model);
  const asked = askedOf(model, all, all.map((_, at) => kept.includes(at)), fixed), found = engine.fit(asked);
  return { ...found, file: edited(model, engine, asked, found, { removed: [], added: [] }) };
})));
"""
FIXED = ["+0.5 if age < 40", "+0.3 per unit of z"]
pytestmark = pytest.mark.filterwarnings("ignore")


def table(seed, n_rows=150):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"age": rng.integers(18, 80, n_rows), "x": rng.normal(size=n_rows), "z": rng.exponential(size=n_rows)}
    )
    return X, 2.0 * (X["age"] < 40) + X["x"] * (X["z"] > 1) + 0.5 * X["z"] + rng.normal(size=n_rows)


def some_model(seed):
    """A model of one of four kinds: plain, in stages with slopes, tuned, with fixed effects."""
    rng, (X, y) = np.random.default_rng(seed), table(seed)
    few = {"n_trees": 60, "random_state": seed}
    estimator = [
        SirusRegressor(n_rules=int(rng.integers(1, 20)), **few),
        SirusRegressor(n_rules=1, n_stages=int(rng.integers(2, 20)), slopes=True, **few),
        SirusRegressorCV(n_repeats=1, cv=3, max_rules=9, **few),
        SirusRegressor(
            n_rules=5, n_stages=3, slopes=True, required_rules=["+0.5 if age < 40", "+0.3 per unit of z"], **few
        ),
    ][seed % 4]
    weight = rng.uniform(0.5, 2, len(y)) if seed % 3 == 0 else None
    return estimator.fit(X, y, sample_weight=weight).model_, X


def scored_model(seed):
    """A model of one of five families, plain, in stages or tuned, weighted or not, with a fixed effect or without."""
    rng, (X, score) = np.random.default_rng(seed), table(seed)
    few = {"n_trees": 60, "random_state": seed}
    responses = {
        "two": np.where(score > 1, "a", "b"),
        "three": np.array(["low", "middle", "high"])[np.digitize(score, [0.5, 2])],
        "poisson": np.floor(np.exp(score / 3)),
        "gamma": np.exp(score / 2),
        "tweedie": np.maximum(0, score - 1),
    }
    kind = list(responses)[seed % 5]
    one, tuned = (
        (SirusClassifier, SirusClassifierCV) if kind in ("two", "three") else (SirusRegressor, SirusRegressorCV)
    )
    few |= {} if kind in ("two", "three") else {"loss": kind}
    fixed = {"two": ["+0.5 if age < 40"], "three": [], "tweedie": ["×1.5 if age < 40"]}.get(kind, ["×0.7 if age < 40"])
    few |= {"required_rules": fixed} if seed % 4 == 0 and fixed else {}
    estimator = [
        one(n_rules=int(rng.integers(1, 12)), **few),
        one(n_rules=2, n_stages=int(rng.integers(2, 8)), **few),
        tuned(n_repeats=1, cv=3, max_rules=7, **few),
    ][seed % 3]
    weight = rng.uniform(0.5, 2, len(X)) if seed % 7 == 0 else None
    rows = X, responses[kind], weight
    return estimator.fit(X, responses[kind], sample_weight=weight).model_, rows


def whole_list(model):
    """The model of all terms that its sums are of."""
    longer = model.tuning is not None and len(model.tuning.rules) >= len(model.selected)
    return replace(model, selected=tuple(model.tuning.rules), tuning=None) if longer else model


@pytest.fixture(scope="module")
def in_node(tmp_path_factory):
    """The lists that the scripts of the page find, run by node."""
    if NODE is None:
        pytest.skip("there is no node here")
    folder = tmp_path_factory.mktemp("scripts")
    for path in SCRIPTS.glob("*.js"):
        shutil.copy(path, folder)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (folder / "run.js").write_text(RUN, encoding="utf-8")

    def run(jobs):
        given = [{"model": json.loads(model.export("json")), **rest} for model, rest in jobs]
        command = [NODE, str(folder / "run.js")]
        ran = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    return run


def test_the_browser_finds_the_weights_of_python_and_saves_what_opens(in_node, tmp_path):
    n_models = 200 if FULL else 16
    jobs, expected, tables = [], [], []
    for seed in range(n_models):
        (model, X), rng = some_model(seed), np.random.default_rng(seed)
        full = whole_list(model)
        n = len(full.selected)
        kept = sorted(rng.choice(n, rng.integers(0, n + 1), replace=False).tolist())
        jobs.append((model, {"kept": kept, "fixed": {}}))
        expected.append(refit(full, kept))
        tables.append(X)
    for found, own, X in zip(in_node(jobs), expected, tables):
        np.testing.assert_allclose(found["weights"], [term.weight for term in own.selected], rtol=1e-9, atol=1e-11)
        assert found["intercept"] == pytest.approx(own.intercept, rel=1e-9, abs=1e-9)
        (tmp_path / "edited.json").write_text(json.dumps(found["file"]), encoding="utf-8")
        saved = pysirus.load(tmp_path / "edited.json")
        assert list(saved.selected) == list(own.selected) and saved.facts.edits
        np.testing.assert_allclose(saved.predict(X), own.predict(X), rtol=1e-9, atol=1e-9)


def test_effects_that_are_fixed_in_the_browser_leave_the_rest_to_the_others(in_node, tmp_path):
    jobs, expected, tables = [], [], []
    for seed in range(0, 16, 4):  # of one stage, without effects
        model, X = some_model(seed)
        at = len(model.selected) - 1
        fixed = replace(model.selected[at], effect=Effect(0.75, False), given=True, inside=0.75, outside=0.0)
        order = [at, *range(at)]
        rules = [fixed, *(model.selected[i] for i in range(at))]
        jobs.append((model, {"kept": list(range(at + 1)), "fixed": {at: 0.75}}))
        expected.append(weigh_by_ridge(rules, model.moments.take(order), [len(rules)]))
        tables.append(X)
    for found, own, X in zip(in_node(jobs), expected, tables):
        np.testing.assert_allclose(found["weights"], own.weights[0], rtol=1e-9, atol=1e-11)
        assert found["intercept"] == pytest.approx(own.intercepts[0], rel=1e-9)
        (tmp_path / "edited.json").write_text(json.dumps(found["file"]), encoding="utf-8")
        saved = pysirus.load(tmp_path / "edited.json")
        assert saved.selected[0].effect is not None and saved.selected[0].weight == 1
        inside = saved.selected[0].holds(saved.align(X))
        rest = sum(
            term.weight * np.where(term.holds(saved.align(X)), term.inside, term.outside) for term in saved.selected[1:]
        )
        np.testing.assert_allclose(saved.predict(X), saved.intercept + 0.75 * inside + rest, rtol=1e-9)


def test_the_browser_finds_the_weights_by_likelihood_from_patterns(in_node, tmp_path):
    jobs, expected = [], []
    for seed in range(200 if FULL else 15):
        (model, rows), rng = scored_model(seed), np.random.default_rng(seed)
        terms = candidates_of(model)
        kept = sorted(rng.choice(len(terms), rng.integers(0, len(terms) + 1), replace=False).tolist())
        jobs.append((model, {"patterns": patterns_of(model, *rows), "kept": kept, "fixed": {}}))
        rules = [terms[at] for at in kept]
        full = replace(model, selected=tuple(terms), tuning=None)
        expected.append((estimate(full, rules, read_rows(model, rules, *rows)), rows[0]))
    for found, (own, X) in zip(in_node(jobs), expected):
        np.testing.assert_allclose(found["weights"], [term.weight for term in own.selected], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(found["intercept"], own.intercept, rtol=1e-9, atol=1e-9)
        (tmp_path / "edited.json").write_text(json.dumps(found["file"]), encoding="utf-8")
        saved = pysirus.load(tmp_path / "edited.json")
        assert list(saved.selected) == list(own.selected)
        np.testing.assert_allclose(saved.scores(X), own.scores(X), rtol=1e-9, atol=1e-9)
        if own.likelihood is not None:  # so that it can be edited again without rows
            np.testing.assert_allclose(saved.likelihood.linear, own.likelihood.linear, atol=1e-9)
            np.testing.assert_allclose(saved.likelihood.curvature, own.likelihood.curvature, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 5, 2, 3, 4])  # two classes, twice; counts; amounts; amounts with zeros
def test_effects_that_are_fixed_over_patterns_are_those_of_python(in_node, tmp_path, seed):
    model, rows = scored_model(seed)
    terms = [replace(rule, weight=None) for rule in candidates_of(model)]
    at = next(i for i, rule in enumerate(terms) if rule.stage == 1 and rule.effect is None)
    effect = Effect(0.75, label=model.classes[1]) if model.classes else Effect(0.75, is_factor=True)
    fixed = replace(terms[at], effect=effect, given=True, inside=None, outside=None)
    rules = [
        *(rule for rule in terms if rule.effect),
        fixed,
        *(rule for rule in terms if not rule.effect and rule != fixed),
    ]
    own = estimate(replace(model, selected=tuple(terms), tuning=None), rules, read_rows(model, rules, *rows))
    job = {"patterns": patterns_of(model, *rows), "kept": [*range(len(terms))], "fixed": {at: 0.75}}
    (found,) = in_node([(model, job)])
    (tmp_path / "edited.json").write_text(json.dumps(found["file"]), encoding="utf-8")
    saved = pysirus.load(tmp_path / "edited.json")
    by_text = {rule.key: rule.weight for rule in own.selected}
    assert {rule.key for rule in saved.selected} == set(by_text)
    np.testing.assert_allclose(
        [rule.weight for rule in saved.selected], [by_text[rule.key] for rule in saved.selected], rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(found["intercept"], own.intercept, rtol=1e-9, atol=1e-9)


def test_patterns_hold_no_more_than_is_said(recwarn):
    model, (X, y, weight) = scored_model(1)
    found = patterns_of(model, X, y, weight)
    assert set(found) == {"loss", "power", "n_scores", "spread", "most", "least", "alone", "total", "cells"}
    assert "nearly the row itself" in str(recwarn[-1].message) and 0 < found["alone"] <= len(found["cells"])
    n = found["n_scores"]
    weights = sum(sum(cell[2 :: 2 + n]) for cell in found["cells"])
    assert weights == pytest.approx(found["total"])


def test_patterns_are_refused_where_they_cannot_serve():
    X, y = table(0)
    classes, times = np.where(y > 1, "a", "b"), pd.DataFrame({"time": np.exp(y), "event": y > 0})
    few = {"n_trees": 30, "n_rules": 3, "random_state": 0}
    model = SirusClassifier(**few).fit(X, classes)
    with pytest.raises(ParameterError, match="needs the training rows"):
        model.report(with_patterns=True)
    with pytest.raises(ParameterError, match="these are others: 60 rows"):
        model.report(None, X[:60], classes[:60], with_patterns=True)
    with pytest.raises(ParameterError, match="Squared error needs none"):
        SirusRegressor(**few).fit(X, y).report(None, X, y, with_patterns=True)
    with pytest.raises(ParameterError, match="workbench"):
        SirusSurvival(**few).fit(X, times).report(None, X, times, with_patterns=True)
    amounts = np.exp(X["x"])
    sloped = SirusRegressor(loss="gamma", slopes=True, n_stages=10, n_rules=1, n_trees=100).fit(X, amounts)
    with pytest.raises(ParameterError, match="with slopes each row is a pattern"):
        sloped.report(None, X, amounts, with_patterns=True)


def test_classes_are_edited_in_german(open_report, tmp_path):
    model, (X, y, weight) = scored_model(9)
    tab = open_report(model, X, y, sample_weight=weight, with_patterns=True)
    tab.locator(".edit-language").select_option("de")
    tab.locator(".edit-list input[type=checkbox]").nth(1).click()
    assert "Entfernt: 1" in tab.locator(".edit-sentence").inner_text()
    assert tab.locator("#edit").get_attribute("lang") == "de"
    assert "## Entfernt" in tab.evaluate("editing.log()")


def test_rules_are_removed_and_what_was_done_is_saved(open_report, tmp_path):
    model, _ = some_model(2)
    tab = open_report(model, None, edit=True)
    first = len(model.selected)
    tab.locator(".edit-by").fill("</script><script>document.title='owned'</script>")
    tab.locator(".edit-list input[type=checkbox]").nth(0).click()
    assert "Removed: 1" in tab.locator(".edit-sentence").inner_text()
    with tab.expect_download() as saving:
        tab.locator(".edit-save").click()
    saving.value.save_as(tmp_path / "edited.json")
    edited = pysirus.load(tmp_path / "edited.json")
    removed = model.selected[0]
    assert len(edited.selected) == first - 1 and removed not in edited.selected
    assert edited.facts.edits[-1]["removed"] == [removed.condition_text] and "owned" in edited.facts.edits[-1]["by"]
    assert list(edited.selected) == list(model.without(removed).selected)
    log = tab.evaluate("editing.log()")
    assert f"- {removed.condition_text}" in log and "before" in log
    tab.locator(".edit-undo").click()
    assert "as it was fitted" in tab.locator(".edit-sentence").inner_text() and tab.title() != "owned"


def test_hostile_names_are_text_where_a_list_is_edited(open_report):
    model = make_model("stages")
    tab = open_report(model, None, edit=True)
    shown = tab.locator(".edit-list .what").all_inner_texts()
    assert len(shown) == len(model.model_.selected) and tab.evaluate("window.owned") is None


def test_policy_runs_the_scripts_of_the_page_alone(blank_tab, tmp_path):
    text, broken = str(some_model(1)[0].report(edit=True)), []
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "unsafe" not in policy and policy.startswith("default-src 'none'; script-src 'sha256-")
    ways = (
        "<script>window.hacked = 1</script>",
        "<img src=x onerror='window.hacked = 2'>",
        "<svg onload='window.hacked = 3'></svg>",
        "<iframe srcdoc='<script>parent.hacked = 4</script>'></iframe>",
        "<a id=here href='javascript:window.hacked = 5'>here</a>",
        "<style>main { display: none }</style>",
        "<p style='position: fixed; inset: 0'>over all</p>",
        "<script src='data:text/javascript,window.hacked = 6'></script>",
        "<base href='https://evil.example/'>",
    )
    path = tmp_path / "report.html"
    path.write_text(text.replace("<main>", "".join(ways) + "<main>"), encoding="utf-8")
    blank_tab.on("console", lambda message: broken.append(message.text))
    blank_tab.goto(path.as_uri())
    blank_tab.locator("#here").click()
    blank_tab.locator(".edit-list input[type=checkbox]").nth(0).click()
    assert "Removed: 1" in blank_tab.locator(".edit-sentence").inner_text()
    assert blank_tab.evaluate("window.hacked") is None and not blank_tab.url.startswith("https:")
    assert len([own for own in broken if "Content Security Policy" in own]) >= len(ways) - 1
    assert blank_tab.evaluate("getComputedStyle(document.querySelector('body > p[style]')).position") == "static"


def test_other_families_are_edited_in_the_workbench(tmp_path):
    X, y = table(0)
    model = SirusClassifier(n_trees=30, n_rules=3, random_state=0).fit(X, np.where(y > 1, "a", "b"))
    with pytest.raises(ParameterError, match="workbench"):
        model.report(tmp_path / "r.html", edit=True)

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
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._parameters import ParameterError
from pysirus._terms.fitted import Effect
from pysirus._use.edit import refit
from pysirus._weights.weighted import weigh_by_ridge
from sampled import FULL

NODE = shutil.which("node")
SCRIPT = Path(pysirus.__file__).parent / "report" / "refit.js"
RUN = """const refit = require(process.argv[1]);
const jobs = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(jobs.map(({ model, kept, fixed }) => {
  const all = refit.candidates(model), own = (at) => fixed[at] ?? (all[at].effect ? all[at].effect.adds : undefined);
  const terms = kept.map((at) => ({ at, term: all[at], effect: own(at) }));
  const isFixed = ({ effect }) => effect !== undefined, isFree = ({ effect }) => effect === undefined;
  const asked = [...terms.filter(isFixed), ...terms.filter(isFree)];
  const found = refit.fit(refit.sumsOf(model), asked);
  return { ...found, file: refit.edited(model, asked, found, { removed: [], added: [] }) };
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


def whole_list(model):
    """The model of all terms that its sums are of."""
    longer = model.tuning is not None and len(model.tuning.rules) >= len(model.selected)
    return replace(model, selected=tuple(model.tuning.rules), tuning=None) if longer else model


def in_node(jobs):
    if NODE is None:
        pytest.skip("there is no node here")
    given = [{"model": json.loads(model.export("json")), **rest} for model, rest in jobs]
    ran = subprocess.run(
        [NODE, "-e", RUN, str(SCRIPT)], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)


def test_the_browser_finds_the_weights_of_python_and_saves_what_opens(tmp_path):
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


def test_effects_that_are_fixed_in_the_browser_leave_the_rest_to_the_others(tmp_path):
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


def test_rules_are_removed_and_what_was_done_is_saved(open_report, tmp_path):
    model, _ = some_model(2)
    tab = open_report(model, None, edit=True)
    first = len(model.selected)
    tab.locator("#edit-by").fill("</script><script>document.title='owned'</script>")
    tab.locator("#edit-list input[type=checkbox]").nth(0).click()
    assert "1 rule removed" in tab.locator("#edit-sentence").inner_text()
    with tab.expect_download() as saving:
        tab.locator("#edit-save").click()
    saving.value.save_as(tmp_path / "edited.json")
    edited = pysirus.load(tmp_path / "edited.json")
    removed = model.selected[0]
    assert len(edited.selected) == first - 1 and removed not in edited.selected
    assert edited.facts.edits[-1]["removed"] == [removed.condition_text] and "owned" in edited.facts.edits[-1]["by"]
    assert list(edited.selected) == list(model.without(removed).selected)
    log = tab.evaluate("editing.log()")
    assert f"- {removed.condition_text}" in log and "before" in log
    tab.locator("#edit-undo").click()
    assert "as it was fitted" in tab.locator("#edit-sentence").inner_text() and tab.title() != "owned"


def test_hostile_names_are_text_where_a_list_is_edited(open_report):
    model = make_model("stages")
    tab = open_report(model, None, edit=True)
    shown = tab.locator("#edit-list .what").all_inner_texts()
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
    blank_tab.locator("#edit-list input[type=checkbox]").nth(0).click()
    assert "1 rule removed" in blank_tab.locator("#edit-sentence").inner_text()
    assert blank_tab.evaluate("window.hacked") is None and not blank_tab.url.startswith("https:")
    assert len([own for own in broken if "Content Security Policy" in own]) >= len(ways) - 1
    assert blank_tab.evaluate("getComputedStyle(document.querySelector('body > p[style]')).position") == "static"


def test_other_families_are_edited_in_the_workbench(tmp_path):
    X, y = table(0)
    model = SirusClassifier(n_trees=30, n_rules=3, random_state=0).fit(X, np.where(y > 1, "a", "b"))
    with pytest.raises(ParameterError, match="workbench"):
        model.report(tmp_path / "r.html", edit=True)

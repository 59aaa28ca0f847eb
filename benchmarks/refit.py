"""How long a list of 25 rules takes to be fitted again in the browser: ``python -m benchmarks.refit``.

Twelve models with more than 25 rules (squared error; two classes by likelihood, from patterns) are each fitted five
times, as for somebody who removes one rule after another, in Node and in Chromium. The first fit of each is counted
too. Processor time is what Node used; wall time is what somebody waits, and needs a machine that does nothing else.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import pysirus
from pysirus import SirusClassifier, SirusRegressor
from pysirus.report._editing import patterns_of, script_of

N_RULES, N_EDITS = 25, 5
RESULTS = Path(__file__).parent / "results" / "refit.json"
MEASURE = (
    f"const EDITS = {N_EDITS}, RULES = {N_RULES};"
    + """
const inNode = typeof process !== "undefined", used = () => process.cpuUsage();
const clock = () => (inNode ? (used().user + used().system) / 1000 : performance.now());
const measured = (jobs) => jobs.map(({ model, patterns }) => {
  const engine = patterns ? byLikelihood(model, patterns) : bySums(model), all = candidates(model), times = [];
  for (let gone = 0; gone < EDITS; gone++) {
    const kept = all.map((_, at) => at >= gone && at < RULES + gone), began = clock();
    const found = engine.fit(askedOf(model, all, kept, {}));
    times.push(clock() - began);
    if (!found.weights.some((weight) => weight > 0)) throw new Error("no weights");
  }
  return times;
});
"""
)


def jobs() -> dict[str, list[dict]]:
    """Models with enough rules, as the page gets them."""
    made: dict[str, list[dict]] = {"squared error": [], "likelihood": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.normal(size=(1500, 8)), columns=[f"x{i}" for i in range(8)])
        y = (
            X["x0"]
            + 2 * (X["x1"] > 0) * (X["x2"] < 0.5)
            + np.abs(X["x3"])
            + X["x4"] * (X["x5"] > 0)
            + rng.normal(size=1500)
        )
        few = {"n_rules": N_RULES + N_EDITS, "n_trees": 1000, "random_state": seed}
        model = SirusRegressor(**few).fit(X, y).model_
        made["squared error"].append({"model": json.loads(model.export("json"))})
        classes = np.where(y > y.median(), "a", "b")
        model = SirusClassifier(**few).fit(X, classes).model_
        made["likelihood"].append(
            {"model": json.loads(model.export("json")), "patterns": patterns_of(model, X, classes, None)}
        )
    return made


def in_node(code: str, given: list[dict]) -> list[list[float]]:
    """The times in Node."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "measure.mjs"
        write = "console.log(JSON.stringify(measured(JSON.parse(readFileSync(0)))));"
        path.write_text(f'import {{ readFileSync }} from "node:fs";\n{code}\n{write}', encoding="utf-8")
        ran = subprocess.run(["node", path], input=json.dumps(given), capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def in_chromium(code: str, given: list[dict]) -> list[list[float]]:
    """The times in Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        found = browser.new_page().evaluate(f"(jobs) => {{ {code}; return measured(jobs); }}", given)
        browser.close()
    return found


def main() -> None:
    """Measure, print and write."""
    warnings.simplefilter("ignore")
    code = f"{script_of('list.js', 'refit.js', 'likelihood.js')}\n{MEASURE}"
    told: dict[str, dict] = {}
    for kind, given in jobs().items():
        for place, run in (("Node, processor time", in_node), ("Chromium, wall time", in_chromium)):
            times = run(code, given)
            every = [own for one in times for own in one]
            told[f"{kind}: {place}"] = {
                "median_ms": round(statistics.median(every), 1),
                "largest_ms": round(max(every), 1),
                "first_ms": round(statistics.median([one[0] for one in times]), 1),
                "n": len(every),
            }
            print(f"{kind}: {place}", told[f"{kind}: {place}"])
    RESULTS.write_text(json.dumps({"version": pysirus.__version__, "n_rules": N_RULES, **told}, indent=1) + "\n")


if __name__ == "__main__":
    main()

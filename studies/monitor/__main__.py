"""Counts how often monitoring raises the alarm, without drift and with three kinds of it, and what it puts first.

``python -m studies.monitor``: for each of three laws (``tests/drift_laws.py``), plain and tuned models, 200 times:
1,000 training rows, a model, then 1,000 new rows of the same law and of each drift. A line for each comparison goes to
``studies/monitor/results.csv``; stop it at any time, it goes on where it stopped. Then the table of docs/monitoring.md
is written; ``--page`` does only that.

The tests were chosen while seeds 0 to 199 were looked at, and changed for small samples after seeds 1000 to 1199. Seeds
2000 to 2199 were the next to be counted. The seeds here were fixed, in a commit of their own, before any of them was
drawn, and the tests have not changed since.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from drift_laws import DRIFTS, LAWS, Law
from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV
from pysirus._runtime.output import write_text

RESULTS = Path(__file__).with_name("results.csv")
PAGE = Path(__file__).parents[2] / "docs" / "monitoring.md"
PART = re.compile(r"(<!-- figures: drift -->\n).*?(<!-- end -->)", re.DOTALL)
SEEDS, N_ROWS = range(7000, 7200), 1000
NONE = "none"
HEAD = {
    NONE: "alarms without drift",
    "shifted": "column moved by 0.5 sd",
    "doubled": "share of a category doubled",
    "halved": "effect halved",
}
FIELDS = ["law", "model", "seed", "drift", "alarm", "column_first", "rule_first", "smallest_p"]
GROWING: dict[str, Any] = {"n_trees": 1000, "n_jobs": 1}
SIZES: dict[str, dict[str, Any]] = {
    "plain": {"n_rules": 10},
    "tuned": {"cv": 5, "n_repeats": 1, "max_rules": 12},
}


def estimator(law: Law, model: str, seed: int) -> Any:
    """A plain or tuned estimator of a law."""
    given = {**GROWING, **SIZES[model], "random_state": seed}
    if law.name == "classes":
        return {"plain": SirusClassifier, "tuned": SirusClassifierCV}[model](**given)
    loss = "poisson" if law.name == "counts" else "squared_error"
    return {"plain": SirusRegressor, "tuned": SirusRegressorCV}[model](loss=loss, **given)


def compare(law: Law, model: str, seed: int) -> list[dict[str, Any]]:
    """A model, and what monitoring says of new rows without and with drift."""
    rng = np.random.default_rng([seed, LAWS.index(law), list(SIZES).index(model)])
    fitted = estimator(law, model, seed).fit(*law.draw(rng, N_ROWS))
    found = []
    for drift in (NONE, *DRIFTS):
        watched = fitted.monitor(*law.draw(rng, N_ROWS, None if drift == NONE else drift))
        column = law.column(drift)
        first = watched.to_frame("columns", "pyarrow")["column"][0].as_py()
        rule = watched.to_frame("rules", "pyarrow")["rule"][0].as_py()
        least = min(finding.p for finding in watched.findings)
        values = (law.name, model, seed, drift, watched.alarm, first == column, column in rule, f"{least:.3g}")
        found.append(dict(zip(FIELDS, values)))
    return found


def table() -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """By law, model and drift: comparisons, and alarms; with drift only those with the right rule and column first."""
    found: dict[tuple[str, str], dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    with RESULTS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            needed = ("alarm",) if row["drift"] == NONE else ("alarm", "column_first", "rule_first")
            found[row["law"], row["model"]][row["drift"]].append(all(row[name] == "True" for name in needed))
    return {key: {drift: (len(own), sum(own)) for drift, own in drifts.items()} for key, drifts in found.items()}


def write_page() -> None:
    """The counts as a table of the docs."""
    lines = [["law", "model", *HEAD.values()], ["---", "---", *["---:"] * len(HEAD)]]
    for key, drifts in table().items():
        lines.append([*key, *("{1} of {0}".format(*drifts[drift]) for drift in HEAD)])
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    told = f"Seeds {SEEDS.start} to {SEEDS.stop - 1}:\n\n{rows}\n\n"
    write_text(PAGE, PART.sub(lambda found: f"{found[1]}{told}{found[2]}", PAGE.read_text(encoding="utf-8")))


def main() -> None:
    """Go on where it stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the table of the docs and do nothing else")
    if not parser.parse_args().page:
        warnings.simplefilter("ignore")
        done = set()
        if RESULTS.exists():
            with RESULTS.open(encoding="utf-8") as file:
                done = {(row["law"], row["model"], int(row["seed"])) for row in csv.DictReader(file)}
        with RESULTS.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            if not done:
                writer.writeheader()
            for seed in SEEDS:
                for law in LAWS:
                    for model in SIZES:
                        if (law.name, model, seed) not in done:
                            writer.writerows(compare(law, model, seed))
                            file.flush()
    write_page()


if __name__ == "__main__":
    main()

"""Counts how often monitoring raises the alarm, without drift and with three kinds of it, and what it puts first.

``python -m studies.monitor``: for each of three laws (``tests/drift_laws.py``), plain and tuned models, 200 times:
1,000 training rows, a model, then 1,000 new rows of the same law and of each drift. A line for each comparison goes to
``studies/monitor/results.csv``; stop it at any time, it goes on where it stopped. ``--table`` prints the counts.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from drift_laws import DRIFTS, LAWS, Law
from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV

RESULTS = Path(__file__).with_name("results.csv")
N_TIMES, N_ROWS = 200, 1000
NONE = "none"
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
    rng = np.random.default_rng([seed, len(law.name), len(model)])
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


def table() -> dict[tuple[str, str, str], list[int]]:
    """By law, model and drift: comparisons, alarms, alarms with the right column first, and with the right rule."""
    found: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    with RESULTS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            own = found[row["law"], row["model"], row["drift"]]
            alarm = row["alarm"] == "True"
            own[0] += 1
            own[1] += alarm
            own[2] += alarm and row["column_first"] == "True"
            own[3] += alarm and row["rule_first"] == "True"
    return dict(found)


def main() -> None:
    """Go on where it stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="print the counts and do nothing else")
    if not parser.parse_args().table:
        warnings.simplefilter("ignore")
        done = set()
        if RESULTS.exists():
            with RESULTS.open(encoding="utf-8") as file:
                done = {(row["law"], row["model"], int(row["seed"])) for row in csv.DictReader(file)}
        with RESULTS.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            if not done:
                writer.writeheader()
            for seed in range(N_TIMES):
                for law in LAWS:
                    for model in SIZES:
                        if (law.name, model, seed) not in done:
                            writer.writerows(compare(law, model, seed))
                            file.flush()
    for key, counts in sorted(table().items()):
        print(*key, *counts)


if __name__ == "__main__":
    main()

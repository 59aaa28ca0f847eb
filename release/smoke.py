"""An installed pysirus in, "works" or what is wrong with it out: the test that every wheel passes.

Uses the public interface and shipped data alone, so it needs neither the repository's tests nor any extra:

    python release/smoke.py             # fits, tunes, exports, saves; compares the forests with release/paths.sha256
    python release/smoke.py --print     # the hash of this machine's forests, and nothing else

The hash is that of the number of trees that contain each path, in eight forests. Equal seeds give equal forests on
every system, compiler and processor, so there is one value for all. When the trees themselves change on purpose:

    python release/smoke.py --print > release/paths.sha256
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import pysirus
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV, datasets

RECORDED = Path(__file__).with_name("paths.sha256")
N_TREES = 1_000
SHIPPED = ("ozone", "mpg", "prostate", "housing", "diabetes", "machine")


def load(name: str) -> tuple[Any, Any]:
    """A shipped dataset."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y


def load_kinds() -> tuple[pa.Table, Any]:
    """Ozone with a column of text and one with gaps."""
    bunch = datasets.load_ozone()
    table = dict(zip(bunch.feature_names, bunch.data.T))
    table["warmth"] = np.array(["mild", "cold", "warm"])[np.digitize(table["temp"], [50, 70])]
    table["ibh"] = np.where(table["ibh"] >= 5_000, np.nan, table["ibh"])
    return pa.table(table), bunch.target


def forests() -> Iterator[tuple[str, Any]]:
    """The fitted estimators whose forests are hashed: numbers, classes, text and missing values."""
    for name in SHIPPED:
        yield name, SirusRegressor(n_trees=N_TREES, random_state=7).fit(*load(name))
    X, y = load_kinds()
    yield "kinds", SirusRegressor(n_trees=N_TREES, random_state=7).fit(X, y)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [8, 15])]
    yield "classes", SirusClassifier(n_trees=N_TREES, random_state=7).fit(X, labels)


def asked(condition: Any) -> str:
    """What a condition asks, in plain types: NumPy's print differently from one version to the next."""
    ends = [None if end is None else float(end) for end in (condition.lower, condition.upper)]
    levels = None if condition.levels is None else sorted(map(str, condition.levels))
    return repr((str(condition.feature), *ends, levels, condition.missing, not condition.only_missing))


def lines_of(name: str, model: Any) -> list[str]:
    """The paths of a forest and their counts, in an order that ties do not decide."""
    lines = []
    for rule in model.candidates_:
        lines.append(f"{name} {round(rule.frequency * model.n_trees_)} {sorted(map(asked, rule.conditions))}")
    return sorted(lines)


def hash_of_paths() -> str:
    """One number for all the forests."""
    lines = [line for name, model in forests() for line in lines_of(name, model)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check_use() -> None:
    """Fit, save, load, export and tune."""
    X, y = load_kinds()
    model = SirusRegressor(n_rules=8, random_state=0).fit(X, y)
    expected = model.predict(X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path)
        assert np.array_equal(pysirus.load(path).predict(X), expected), "a saved model predicts something else"
    exported: dict[str, Any] = {}
    exec(model.export("python"), exported)
    answers = [exported["predict"](row) for row in X.to_pylist()]
    assert np.allclose(answers, expected, rtol=1e-12), "the exported function predicts something else"
    for form in ("sql", "markdown", "latex", "html", "pmml"):
        assert len(model.export(form)) > 200, f"the export to {form} is empty"
    tuned = SirusRegressorCV(cv=5, n_repeats=1, n_trees=N_TREES, random_state=0).fit(*load("machine"))
    assert 0 < tuned.cv_error_ < 0.6 and len(tuned.rules_) > 1, "tuning chose a bad list"


def main() -> int:
    """Check the installed package; 0 where all is well."""
    found = hash_of_paths()
    if sys.argv[1:] == ["--print"]:
        print(found)
        return 0
    start = time.perf_counter()
    check_use()
    print(f"pysirus {pysirus.__version__}: fits, saves, exports, tunes ({time.perf_counter() - start:.1f} s)")
    recorded = RECORDED.read_text(encoding="ascii").strip()
    print(f"paths {found}")
    if found != recorded:
        print(f"      {recorded} is recorded in {RECORDED.name}: these are other trees", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

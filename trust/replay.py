"""Models of all kinds, each saved and learned again from a file on another number of threads: how many are reproduced.

``python -m trust.replay``: nine kinds of models, six tables each. They are learned in memory on one thread; ``verify``
learns them again on two, from Parquet or CSV files. The counts go to ``trust/results/replay.json``.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pysirus import SirusClassifier, SirusClassifierCV, SirusRegressor, SirusRegressorCV, SirusSurvival, load
from pysirus._model.file import model_to_json, read_document
from pysirus._use.verify import verify
from pysirus.cli._training import fit_like

RESULTS = Path(__file__).with_name("results") / "replay.json"
N_TABLES = 6
N_ROWS = 200


def models(seed: int) -> Iterator[tuple[str, Any, pd.DataFrame, Any]]:
    """A model of each kind, its rows and targets."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=N_ROWS), "b": rng.integers(0, 30, N_ROWS)})
    X["c"] = rng.choice(["x", "y", "z"], N_ROWS)
    X.loc[::17, "a"] = np.nan
    y = 1.5 * (X.a.fillna(0) > 0) + (X.c == "y") + rng.normal(size=N_ROWS) / 2
    small: dict[str, Any] = {"n_trees": 200, "random_state": seed, "n_jobs": 1}
    tuned = {**small, "cv": 3, "n_repeats": 1, "max_rules": 6}
    labels = np.array(["no", "maybe", "yes"])
    yield "numbers", SirusRegressor(n_rules=5, **small), X, y
    yield "tuned", SirusRegressorCV(**tuned), X, y
    yield "stages", SirusRegressor(n_rules=2, n_stages=3, **small), X, y
    yield "two classes", SirusClassifier(n_rules=5, **small), X, labels[np.where(y > 1, 2, 0)]
    yield "equal weights", SirusClassifierCV(weighting="equal", **tuned), X, labels[np.where(y > 1, 2, 0)]
    yield "three classes", SirusClassifierCV(**tuned), X, labels[np.digitize(y, [0.5, 1.5])]
    yield "counts", SirusRegressor(n_rules=5, loss="poisson", **small), X, rng.poisson(np.exp(y / 2))
    yield "amounts", SirusRegressor(n_rules=5, loss="gamma", **small), X, np.exp(y)
    times = pd.DataFrame({"time": rng.exponential(np.exp(-y)) + 0.01, "event": rng.integers(0, 2, N_ROWS)})
    yield "survival", SirusSurvival(n_rules=4, **small), X, times


def main() -> int:
    """Count models that are reproduced."""
    warnings.simplefilter("ignore")
    found: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(N_TABLES):
            for kind, estimator, X, y in models(seed):
                truth = y if isinstance(y, pd.DataFrame) else pd.DataFrame({"y": np.asarray(y)})
                file, path = Path(folder) / "m.json", Path(folder) / ("t.csv" if seed % 2 else "t.parquet")
                estimator.fit(X, truth if len(truth.columns) > 1 else truth["y"]).save(file)
                table = pd.concat([X, truth], axis=1)
                if seed % 2:
                    table.to_csv(path, index=False, float_format="%.17g")
                else:
                    table.to_parquet(path, index=False)
                again = fit_like(load(file), str(path), jobs=2)[0].model_
                own = found.setdefault(kind, [0, 0])
                own[0] += verify(read_document(file), model_to_json(again)).reproduced
                own[1] += 1
    total = [sum(own[k] for own in found.values()) for k in (0, 1)]
    RESULTS.write_text(json.dumps({"reproduced": total[0], "models": total[1], "by_kind": found}, indent=1) + "\n")
    print(RESULTS.read_text())
    return int(total[0] != total[1])


if __name__ == "__main__":
    sys.exit(main())

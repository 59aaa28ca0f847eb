"""Makes the golden model files: a small model of every kind, rows to ask it about, and its answers to the last bit.

Run once for each version of the file format, from the root of the repository, by the pysirus that introduced it:

    python tests/golden/make.py tests/golden/v1

A model is `NAME.json`. `NAME.rows.json` holds the rows (by column, or as lists for an array without names) and what
the model answered when it was made: numbers as hexadecimal floats, labels as they are. The files are not made again
when the code changes: `tests/model/test_golden.py` reads them with the present code, and its answers must not move.
A new kind of model gets a file of its own, by `python tests/golden/make.py tests/golden/v1 NAME`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from pysirus import (
    NodeHarvestRegressor,
    RuleFitRegressor,
    SirusClassifier,
    SirusClassifierCV,
    SirusRegressor,
    SirusRegressorCV,
    SirusSurvival,
    SirusSurvivalCV,
)

N_TRAIN, N_NEW = 150, 12
SIRUS: dict[str, Any] = {"n_trees": 60, "n_rules": 4, "random_state": 7}
EQUAL: dict[str, Any] = {**SIRUS, "weighting": "equal"}
TUNED: dict[str, Any] = {"n_trees": 40, "max_rules": 4, "cv": 3, "n_repeats": 2, "random_state": 7}
NUMBERS = ["a", "b", "c"]
HOSTILE = {
    "a": "<script>window.hacked = 1</script>",
    "b": "x; DROP TABLE data; --",
    "c": "größe \"μ\" \\ 'it's' 日本\n\t\x1b[31m",
    "colour": "=cmd|'/c calc'!A1",
}
HOSTILE_LEVELS = {"red": "=1+1", "green": "o'brien \\", "blue": "<b>x</b>\n\u2028"}


def table(seed: int, n_rows: int, missing: float = 0.0) -> pd.DataFrame:
    """Two continuous columns, one of few numbers, text, an ordered category and a truth value."""
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": draw.normal(size=n_rows).round(3),
            "b": draw.normal(size=n_rows).round(3),
            "c": draw.integers(0, 4, n_rows).astype(float),
            "colour": np.array(["red", "green", "blue"], dtype=object)[draw.integers(0, 3, n_rows)],
            "size": np.array(["small", "medium", "large"], dtype=object)[draw.integers(0, 3, n_rows)],
            "flag": np.array([False, True], dtype=object)[draw.integers(0, 2, n_rows)],
        }
    )
    for name in ("a", "c", "colour", "flag"):
        X.loc[draw.random(n_rows) < missing, name] = None if X[name].dtype == object else np.nan
    return X


def response(X: pd.DataFrame) -> np.ndarray:
    """Something that rules can find, with a step that only the missing explain."""
    y = 2.0 * (X["a"].fillna(2.0) > 0) + X["b"] + X["c"].fillna(5.0) * (X["b"] > 0.2)
    y += X["colour"].map({"red": 3.0, "green": -1.0, "blue": 0.5}).fillna(2.5)
    y += X["size"].map({"small": -1.0, "medium": 0.0, "large": 2.0}).fillna(0.0)
    return np.round(y.to_numpy() + np.random.default_rng(99).normal(size=len(X)) / 4, 4)


def labels(y: np.ndarray, names: list[Any]) -> np.ndarray:
    """The response in as many classes as there are names."""
    cuts = np.quantile(y, np.arange(1, len(names)) / len(names))
    return np.array(names)[np.digitize(y, cuts)]


def ordered(X: pd.DataFrame) -> pd.DataFrame:
    """The table with an ordered category."""
    return X.assign(size=pd.Categorical(X["size"], ["small", "medium", "large"], ordered=True))


Made = tuple[Any, pd.DataFrame, bool]  # a fitted model, new rows, whether they are an array without names


def numbers(model: Any, *, array: bool = False, **fit: Any) -> Made:
    """A model of the three numeric columns."""
    X = table(0, N_TRAIN)[NUMBERS]
    return model.fit(X.to_numpy() if array else X, response(table(0, N_TRAIN)), **fit), new_rows()[NUMBERS], array


def classes(model: Any, names: list[Any], columns: list[str] = NUMBERS, **fit: Any) -> Made:
    """A classifier."""
    X = table(0, N_TRAIN)
    return model.fit(ordered(X)[columns], labels(response(X), names), **fit), new_rows()[columns], False


def positive(model: Any, **fit: Any) -> Made:
    """A model of positive numbers."""
    y = np.exp(response(table(0, N_TRAIN)) / 4).round(2)
    return model.fit(table(0, N_TRAIN)[NUMBERS], y, **fit), new_rows()[NUMBERS], False


def followed(model: Any, columns: list[str] = NUMBERS, **fit: Any) -> Made:
    """A survival model."""
    X = table(0, N_TRAIN)
    y = np.empty(N_TRAIN, dtype=[("died", bool), ("years", float)])
    draw = np.random.default_rng(98)
    until, end = draw.exponential(np.exp(-response(X) / 4)), draw.exponential(1.0, N_TRAIN)
    y["died"], y["years"] = until <= end, np.ceil(8 * np.minimum(until, end)) / 8
    return model.fit(ordered(X)[columns], y, **fit), new_rows()[columns], False


def new_rows() -> pd.DataFrame:
    """Rows to ask about: missing values and a level that training never saw among them."""
    X = table(1, N_NEW, missing=0.2)
    X.loc[0, "colour"] = "violet"
    return X


def of_table(model: Any, missing: float, **fit: Any) -> Made:
    """A model of all columns."""
    X = table(0, N_TRAIN, missing)
    return model.fit(ordered(X), pd.Series(response(X), name="the target"), **fit), new_rows(), False


def from_files() -> Made:
    """A model of two Parquet files."""
    X = table(0, N_TRAIN, 0.1)
    frame = X[[*NUMBERS, "colour"]].assign(y=response(X))
    with tempfile.TemporaryDirectory() as folder:
        for i, part in enumerate((frame[:60], frame[60:])):
            part.to_parquet(Path(folder) / f"part{i}.parquet")
        model = SirusRegressor(**SIRUS).fit_files(folder, "y")
    return model, new_rows()[[*NUMBERS, "colour"]], False


def from_polars() -> Made:
    """A model of a polars frame with an enumeration."""
    X = table(0, N_TRAIN, 0.1)
    frame = pl.from_pandas(X).with_columns(pl.col("size").cast(pl.Enum(["small", "medium", "large"])))
    return SirusRegressor(**SIRUS).fit(frame, pl.Series("yield", response(X))), new_rows(), False


def hostile() -> Made:
    """Names, levels and labels that are code elsewhere."""
    X = table(0, N_TRAIN, 0.1)
    y = labels(response(X), ["it's", "<b>yes</b>", "=cmd|'/c calc'!A1"])

    def rename(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(colour=frame["colour"].replace(HOSTILE_LEVELS))[list(HOSTILE)].rename(columns=HOSTILE)

    return SirusClassifier(**EQUAL).fit(rename(X), y), rename(new_rows()), False


def number_levels() -> Made:
    """Numbers, whole and not, as labels of columns."""
    X = table(0, N_TRAIN)[NUMBERS].assign(code=lambda X: (X["a"] * 2).round().clip(-2, 2).astype(int))
    y = response(table(0, N_TRAIN)) + X["code"].map({-2: 4, -1: 0, 0: 5, 1: -3, 2: 1})
    rows = new_rows()[NUMBERS].assign(code=[-2, -1, 0, 1, 2, 7, -2, -1, 0, 1, 2, 0])
    return SirusRegressor(**SIRUS, categorical_features=["c", "code"]).fit(X, y), rows, False


def sloped(model: Any) -> Made:
    """A straight line, for which one rule is too coarse: corrections help."""
    X = table(0, N_TRAIN)[NUMBERS]
    return model.fit(X, X["a"] * 3 + X["b"] / 10), new_rows()[NUMBERS], False


def gaps() -> Made:
    """Missing values that say more than known ones, and columns that say nothing."""
    X = table(0, N_TRAIN, 0.2)[[*NUMBERS, "colour"]].assign(one=1.0, twin=lambda X: X["b"])
    y = 10.0 * X["a"].isna() - 8.0 * X["colour"].isna() + X["b"]
    rows = new_rows()[[*NUMBERS, "colour"]].assign(one=1.0, twin=lambda X: X["b"])
    return SirusRegressor(**{**SIRUS, "n_rules": 6}).fit(X, y), rows, False


def no_rules() -> Made:
    """A response with nothing to explain."""
    return SirusRegressor(**SIRUS).fit(table(0, N_TRAIN)[NUMBERS], np.ones(N_TRAIN)), new_rows()[NUMBERS], False


def bare() -> Made:
    """A model without its estimator."""
    model, rows, array = numbers(SirusRegressor(**SIRUS))
    return model.model_, rows, array


def dates(model: Any) -> Made:
    """Moments with an offset, and new rows with others."""
    draw = np.random.default_rng(4)

    def frame(n_rows: int, zone: str) -> pd.DataFrame:
        moments = np.datetime64("2023-11-27") + draw.integers(0, 500 * 24, n_rows).astype("m8[h]")
        return pd.DataFrame({"when": [f"{m}:00:00{zone}" for m in moments], "b": draw.normal(size=n_rows).round(3)})

    X, rows = frame(N_TRAIN, "+05:00"), frame(N_NEW, "Z")
    rows.loc[0, "when"] = "unknown"
    hours = X["when"].str[11:13].astype(int)
    y = 2.0 * (X["when"] >= "2024-06-01") + (hours >= 12) + X["b"].clip(-1, 1)
    return model.set_params(required_rules=["when >= 2024-09-01 12:30"]).fit(X, np.round(y, 4)), rows, False


def prepared(model: Any) -> Made:
    """Dates and numbers as text, more levels than are taken, a column that is set aside."""
    draw = np.random.default_rng(3)

    def frame(n_rows: int) -> pd.DataFrame:
        day = np.datetime64("2023-01-02") + draw.integers(0, 500, n_rows)
        return pd.DataFrame(
            {
                "when": [f"{d.day:02d}.{d.month:02d}.{d.year}" for d in day.tolist()],
                "price": [f"${v:,.2f}" for v in draw.random(n_rows) * 3000],
                "city": [f"c{k}" for k in draw.zipf(1.5, n_rows) % 40],
                "name": [f"n{k}" for k in range(n_rows)],
                "b": draw.normal(size=n_rows).round(3),
            }
        )

    X, rows = frame(N_TRAIN), frame(N_NEW)
    late = X["when"].str[6:] == "2024"
    y = 2.0 * late + (X["city"] == "c1") + X["price"].str.replace("[$,]", "", regex=True).astype(float) / 1000
    rows.loc[0, ["when", "price", "city"]] = ["tomorrow", "n/a", "never seen"]
    return model.fit(X, np.round(y, 4)), rows, False


WEIGHTS = np.random.default_rng(5).integers(0, 4, N_TRAIN) / 2
EVERY = ["a", "b", "c", "colour", "size", "flag"]
KINDS: dict[str, Callable[[], Made]] = {
    "numbers": lambda: numbers(SirusRegressor(**SIRUS)),
    "array": lambda: numbers(SirusRegressor(**SIRUS), array=True),
    "deep": lambda: numbers(RuleFitRegressor(n_trees=4, mean_leaves=12, random_state=7)),
    "threshold": lambda: numbers(SirusRegressor(p0=0.2, n_trees=60, max_rules=3, random_state=7)),
    "weighted": lambda: numbers(SirusRegressor(**SIRUS), sample_weight=WEIGHTS),
    "staged": lambda: numbers(SirusRegressor(**{**SIRUS, "n_rules": 2}, n_stages=2)),
    "tuned": lambda: numbers(SirusRegressorCV(**TUNED)),
    "tuned_staged": lambda: sloped(SirusRegressorCV(**{**TUNED, "n_trees": 200}, n_stages=3, criterion="error")),
    "labels_missing": lambda: of_table(SirusRegressor(**{**SIRUS, "n_rules": 8}), 0.15),
    "labels_tuned": lambda: of_table(SirusRegressorCV(**TUNED), 0.15),
    "gaps": gaps,
    "number_levels": number_levels,
    "two_classes": lambda: classes(SirusClassifier(**EQUAL), ["no", "yes"]),
    "four_classes": lambda: classes(SirusClassifier(**EQUAL), ["n", "w", "s", "e"], EVERY),
    "classes_tuned": lambda: classes(SirusClassifierCV(**TUNED, weighting="equal"), ["low", "mid", "high"]),
    "classes_bool": lambda: classes(SirusClassifier(**EQUAL), [False, True]),
    "classes_int": lambda: classes(SirusClassifier(**EQUAL), [-3, 4, 10]),
    "classes_real": lambda: classes(SirusClassifier(**EQUAL), [1.0, 2.0]),
    "class_weights": lambda: classes(SirusClassifier(**EQUAL, class_weight={0: 1.0, 1: 2.5}), [0, 1]),
    "class_balanced": lambda: classes(
        SirusClassifierCV(**TUNED, weighting="equal", class_weight="balanced"), ["no", "yes"], sample_weight=WEIGHTS
    ),
    "rulefit": lambda: of_table(RuleFitRegressor(n_trees=6, linear_terms=True, random_state=7), 0.1),
    "rulefit_bins": lambda: numbers(RuleFitRegressor(n_trees=6, n_bins=10, random_state=7)),
    "node_harvest": lambda: of_table(NodeHarvestRegressor(n_nodes=30, random_state=7), 0.1),
    "files": from_files,
    "polars": from_polars,
    "hostile": hostile,
    "no_rules": no_rules,
    "bare": bare,
}
# version 2: models with a link, or with a recipe for their columns
STAGED = {**SIRUS, "n_rules": 1, "n_stages": 4}
KINDS_2: dict[str, Callable[[], Made]] = {
    "scores_two": lambda: classes(SirusClassifier(**SIRUS), ["no", "yes"]),
    "scores_four": lambda: classes(SirusClassifier(**SIRUS), ["n", "w", "s", "e"], EVERY),
    "scores_two_staged": lambda: classes(SirusClassifier(**STAGED), [False, True]),
    "scores_three_staged": lambda: classes(SirusClassifier(**STAGED), [-3, 4, 10]),
    "scores_tuned": lambda: classes(SirusClassifierCV(**TUNED, n_stages=3), ["no", "yes"], sample_weight=WEIGHTS),
    "scores_three_tuned": lambda: classes(SirusClassifierCV(**TUNED), ["low", "mid", "high"]),
    "counts": lambda: positive(SirusRegressor(**SIRUS, loss="poisson"), sample_weight=WEIGHTS),
    "counts_tuned": lambda: positive(SirusRegressorCV(**TUNED, loss="poisson", n_stages=3)),
    "survival": lambda: followed(SirusSurvival(**SIRUS), sample_weight=WEIGHTS),
    "survival_staged": lambda: followed(SirusSurvival(**STAGED), EVERY),
    "survival_tuned": lambda: followed(SirusSurvivalCV(**TUNED, n_stages=3)),
    "amounts_staged": lambda: positive(SirusRegressor(**STAGED, loss="gamma")),
    "dates": lambda: dates(SirusRegressor(**{**SIRUS, "n_rules": 8}, prepare=True)),
    "prepared": lambda: prepared(SirusRegressor(**{**SIRUS, "n_rules": 8}, prepare=True, max_levels=6)),
}
# version 3: lists with slopes
LINES = {**STAGED, "slopes": True}
ASKED = {**LINES, "required_rules": ["slope of b"]}
KINDS_3: dict[str, Callable[[], Made]] = {
    "slopes": lambda: numbers(SirusRegressor(**LINES), sample_weight=WEIGHTS),
    "slopes_fixed": lambda: numbers(SirusRegressor(**LINES, required_rules=["+0.5 per unit of b", "slope of a"])),
    "slopes_two": lambda: classes(SirusClassifier(**ASKED), ["no", "yes"]),
    "slopes_three": lambda: classes(SirusClassifier(**LINES), [-3, 4, 10], EVERY),
    "slopes_counts": lambda: positive(SirusRegressor(**LINES, loss="poisson")),
    "slopes_survival": lambda: followed(SirusSurvival(**ASKED)),
    "slopes_tuned": lambda: sloped(SirusRegressorCV(**TUNED, n_stages=3, slopes=True)),
    "slopes_scores_tuned": lambda: classes(
        SirusClassifierCV(**TUNED, n_stages=3, slopes=True, required_rules=["slope of b"]), ["no", "yes"]
    ),
}
KINDS |= KINDS_2 | KINDS_3


def plain(column: pd.Series) -> list[Any]:
    """A column as JSON has it."""
    return [None if pd.isna(v) else v for v in column.tolist()]


def write(name: str, folder: Path) -> int:
    """Make a model, save it, ask it, write its answers; bytes written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, rows, array = KINDS[name]()
        X = rows.to_numpy() if array else rows
        answers = model.predict(X)
        proba = None if getattr(model, "classes_", None) is None else model.predict_proba(X)
    model.save(folder / f"{name}.json")
    record = {
        "array": array,
        "columns": {column: plain(rows[column]) for column in rows},
        "predict": [v.hex() for v in answers.tolist()] if proba is None else answers.tolist(),
        "predict_proba": None if proba is None else [[v.hex() for v in row] for row in proba.tolist()],
    }
    if hasattr(model, "predict_survival_function") and model._as_model().survival is not None:
        alive = model.predict_survival_function(X, return_array=True)
        record["survival"] = [[v.hex() for v in row] for row in alive.tolist()]
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in record.items())
    (folder / f"{name}.rows.json").write_text("{" + lines + "}\n", encoding="utf-8")
    return sum((folder / f"{name}{end}").stat().st_size for end in (".json", ".rows.json"))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for kind in sys.argv[2:] or KINDS:
        print(f"{kind:16} {write(kind, target):8} bytes")

"""What databases read in their own way: a table full of it, models of five kinds on it, the rows that come out wrong.

Numbers at thresholds, of 32 bits, above 2^53, below the smallest normal double; text that collations equate and that
escapes end early; NULL and NaN; long labels.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from hand_made import grafted
from pysirus import NodeHarvestRegressor, RuleFitRegressor, SirusClassifier, SirusRegressor
from pysirus._data.table import Feature
from pysirus._families.numbers import Gaussian
from pysirus._families.of_model import ClassShares
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition, FittedRule
from pysirus.estimators.rule_model import RuleModel

PWN = r"\')) THEN 1 ELSE 2 END), (SELECT CURRENT_USER) AS pwn -- "
TEXTS = ["e", "E", "é", "e ", "", "\u200b", "it's", "\\", "\\'", 'a"b', PWN, "a\nb", "%_", "日本", "😀", "'''", "x\ty"]
NEVER_SEEN = ["É", "e  ", "ê", "\\\\", "NULL", "\u200b\u200b"]
LONG = "a class whose name is far longer than the 63 bytes that PostgreSQL keeps: "
LABELS = [f"{LONG}one", f"{LONG}two", "\\' OR 1 = 1 -- ", "😀 ", 'say "hi"']

TEXT, GAPS, TINY, BIG, REAL = "größe it's", 'say "hi"', "tiny\\", "big; DROP TABLE data; --", "real`s"
KINDS = {
    "x": pa.float64(),
    GAPS: pa.float64(),
    REAL: pa.float32(),
    BIG: pa.int64(),
    TINY: pa.float64(),
    "wide": pa.float64(),
    TEXT: pa.string(),
    "code": pa.int64(),
    "grade": pa.float64(),
    "flag": pa.bool_(),
}
CATEGORIES = ["code", "grade"]


def _columns(n, draw, texts):
    return {
        "x": draw.normal(size=n).round(1),
        GAPS: draw.normal(size=n),
        REAL: draw.integers(0, 12, n).astype(np.float32) / np.float32(10),
        BIG: 2**53 + draw.integers(0, 24, n),
        TINY: draw.integers(0, 24, n) * 5e-324,
        "wide": draw.choice([-1.0, 1.0], n) * 10.0 ** draw.uniform(-307, 100, n),
        TEXT: np.array(texts, dtype=object)[draw.integers(0, len(texts), n)],
        "code": 2**53 + draw.integers(0, 4, n),
        "grade": draw.choice([1.0, 2.5, 3.0, 5.0], n),
        "flag": draw.random(n) < 0.5,
    }


def _response(columns, draw):
    effect = dict(zip(TEXTS, np.random.default_rng(5).normal(size=len(TEXTS)) * 3))
    y = 2 * (columns["x"] > 0.1) + columns[GAPS] + 2 * (columns[REAL] >= np.float32(0.7))
    y += 2 * (columns[BIG] > 2**53 + 11) + 2 * (columns[TINY] > 11 * 5e-324) + 2 * (np.abs(columns["wide"]) > 1)
    y += np.array([effect.get(text, 0.0) for text in columns[TEXT]]) + 1.5 * (columns["code"] % 2)
    return y + (columns["grade"] == 2.5) + 1.2 * columns["flag"] + 0.3 * draw.normal(size=len(y))


def _arrow(columns, draw, rate):
    """The table, with gaps: NULL everywhere, and NaN as often in doubles."""
    arrays = {}
    for name, kind in KINDS.items():
        values, n = columns[name], len(columns[name])
        if kind == pa.float64() and name != "x":
            values = np.where(draw.random(n) < rate, np.nan, values)
        arrays[name] = pa.array(values, kind, mask=draw.random(n) < rate)
    return pa.table(arrays)


@cache
def training():
    """1,500 rows, their response, and weights."""
    draw = np.random.default_rng(0)
    columns = _columns(1500, draw, TEXTS)
    y = _response(columns, draw)
    gaps = _arrow(columns, draw, 0.08)
    for name in ("x", BIG):  # where training has no gaps, rules say nothing about them
        gaps = gaps.set_column(gaps.column_names.index(name), name, pa.array(columns[name], KINDS[name]))
    return gaps, y, draw.integers(1, 4, len(y)).astype(float)


@cache
def new_rows():
    """2,000 rows, with text that training never saw and gaps where it had none."""
    draw = np.random.default_rng(1)
    return _arrow(_columns(2000, draw, [*TEXTS, *NEVER_SEEN]), draw, 0.08)


MODELS = ["numbers", "two classes", "several classes", "linear terms", "weighted mean"]
MODELS += ["two scores", "four scores", "staged scores"]
SLOPED = {"slopes": "numbers", "sloped scores": "staged scores", "four sloped scores": "four scores"}
MODELS += SLOPED
TWO = ("two classes", "two scores", "staged scores", "sloped scores")
TOLERANCE = 1e-12  # of probabilities that an engine computes from scores by its own exponential


def fit_model(kind, X, y, weights, labels) -> RuleModel:
    """A model of one kind: with stages and weights, of classes, with linear terms, of nodes."""
    options = {"random_state": 1, "categorical_features": CATEGORIES}
    if kind in SLOPED:
        names = [name for name in ("x", GAPS, "real's", REAL, BIG, "wide") if name in X.column_names]
        return grafted(fit_model(SLOPED[kind], X, y, weights, labels), X, names)
    if kind == "numbers":
        staged = SirusRegressor(n_rules=20, n_stages=3, max_rules=40, n_trees=400, **options)
        return staged.fit(X, y, sample_weight=weights).model_
    if kind.endswith(("classes", "scores")):
        cuts = np.quantile(y, np.arange(1, len(labels)) / len(labels))
        y = np.array(labels, dtype=object)[np.digitize(y, cuts)]
        model = SirusClassifier(n_rules=16, n_trees=400, **options)
        model.set_params(weighting="equal" if kind.endswith("classes") else "likelihood")
        if kind.endswith("scores"):
            model.set_params(n_rules=10, **({"n_stages": 5, "max_rules": 30} if kind == "staged scores" else {}))
        return model.fit(X, y, sample_weight=weights).model_
    if kind == "linear terms":
        return RuleFitRegressor(n_trees=30, linear_terms=True, **options).fit(X, y).model_
    return NodeHarvestRegressor(n_nodes=60, **options).fit(X, y).model_


@cache
def make_model(kind) -> RuleModel:
    """A model on the hostile table."""
    labels = LABELS[:4] if kind in ("four scores", "four sloped scores") else LABELS
    return fit_model(kind, *training(), ["it's \\ 'so", "no"] if kind in TWO else labels)


# what every engine reads in the same way, so that it needs no dialect
TAMED = {text: f"it's {i}" if i % 2 else f"größe {i}" for i, text in enumerate([*TEXTS, *NEVER_SEEN])}


def tamed(rows):
    """The table without names and texts that engines read in different ways, and with NULL for NaN."""
    arrays = {}
    for name in ("x", GAPS, REAL, BIG, TEXT, "code", "grade", "flag"):
        values = [None if v is None or v != v else TAMED.get(v, v) for v in rows[name].to_pylist()]
        arrays[name.replace("`", "'")] = pa.array(values, KINDS[name])
    return pa.table(arrays)


@cache
def tame_model(kind) -> RuleModel:
    """A model on the tamed table."""
    X, y, weights = training()
    return fit_model(kind, tamed(X), y, weights, ["it's", "é"] if kind in TWO else ["it's", "é", 'a "b"'])


def long_model(n_rules):
    """A list of many rules on one column."""
    draw = np.random.default_rng(2)
    rules = [
        FittedRule((Condition("x", upper=float(cut), missing=True, index=0),), inside=a, outside=b, weight=w)
        for cut, (a, b, w) in zip(draw.normal(size=n_rules), draw.normal(size=(n_rules, 3)).tolist())
    ]
    return RuleModel(RuleSet(rules), 0.1, Gaussian("y", 0.0), (Feature("x", "numeric"),), named=True)


def level_model(level, column="k"):
    """A rule about one level."""
    rule = FittedRule((Condition(column, levels=(level,), index=0),), inside=1.0, outside=2.0, weight=1.0)
    feature = Feature(column, "categorical", ("plain", level))
    return RuleModel(RuleSet([rule]), 0.0, Gaussian("y", 0.0), (feature,), named=True)


def tied_model():
    """Two classes whose shares are 0.3 and 0.1 + 0.2: in doubles the second is larger, in decimals they are equal."""
    always = Condition("x", missing=True, index=0, upper=1e9)
    rules = [
        FittedRule((always,), inside=(0.0, share), outside=(0.0, 0.0), weight=1.0, classes=("a", "b"))
        for share in (0.1, 0.2)
    ]
    family = ClassShares("y", (0.5, 0.5), ("a", "b"))
    return RuleModel(RuleSet(rules), (0.3, 0.0), family, (Feature("x", "numeric"),), named=True)


def wrong_rows(model, rows, columns):
    """The largest difference, and how many rows are wrong; ``columns`` is what a query adds to the table.

    Sums must be equal to the last bit, and so must labels; probabilities that come from scores, to 1e-12.
    """
    expected = model.decision(model.align(rows)).reshape(rows.num_rows, -1)
    if model.link != "identity":
        expected = np.column_stack([model.decision_function(rows), expected])
    found = np.column_stack([np.asarray(column, dtype=float) for column in columns[: expected.shape[1]]])
    difference = np.abs(found - expected)
    wrong = (difference > (0.0 if model.link == "identity" else TOLERANCE)).any(axis=1)
    if model.classes is not None:
        assert len(columns) == expected.shape[1] + 1
        wrong |= np.array([a != b for a, b in zip(columns[-1], model.predict(rows).tolist())])
    return float(difference.max()), int(wrong.sum())


def used(model):
    """The names of the columns that a model looks at."""
    return {name for term in (*model.rules, *model.terms) for name in term.features}


def python_rows(rows, nan=True):
    """The rows as Python values; without ``nan`` as NULL."""
    return [
        tuple(None if not nan and v is not None and v != v else v for v in row)
        for row in zip(*(rows[name].to_pylist() for name in rows.column_names))
    ]

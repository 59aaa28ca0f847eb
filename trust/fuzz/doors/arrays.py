"""Arrays for the compiled core: sizes and numbers that may not fit together are refused, the others are answered.

The targets in C++ look for errors in the core itself, with sanitizers. This one tries the checks before it.
"""

from __future__ import annotations

from typing import Any

import atheris
import numpy as np

from pysirus import _core

REFUSALS = (TypeError, ValueError, MemoryError, OverflowError)


def array(input: atheris.FuzzedDataProvider, dtype: Any, shape: tuple[int, ...], least: int, most: int) -> np.ndarray:
    """An array that repeats a few numbers."""
    run = [input.ConsumeIntInRange(least, most) for _ in range(input.ConsumeIntInRange(1, 9))]
    return np.resize(np.array(run).astype(dtype), shape)


def size(input: atheris.FuzzedDataProvider, right: int) -> int:
    """A size, now and then another one than would be right."""
    return right if input.ConsumeIntInRange(0, 15) else input.ConsumeIntInRange(0, 9)


def forest(input: atheris.FuzzedDataProvider) -> None:
    """A plan, rows, trees and their paths."""
    n_features, n_rows = input.ConsumeIntInRange(1, 4), input.ConsumeIntInRange(0, 40)
    n_bins = array(input, np.int64, (size(input, n_features),), 0, 12).tolist()
    missing = array(input, np.int64, (size(input, n_features),), 0, 1).tolist()
    counts = [2 * (b - 2) + 1 if m else b - 1 for b, m in zip(n_bins, missing)]
    offset = np.cumsum([0, *counts]).tolist() if input.ConsumeBool() else [0] * size(input, n_features + 1)
    classes, outputs = input.ConsumeBool(), input.ConsumeIntInRange(0, 3)
    thresholds = sorted(array(input, np.int64, (size(input, 3),), 0, 2**32 - 1).tolist())
    plan = _core.Plan(
        n_bins, missing, offset, outputs, classes, thresholds, 7, *(input.ConsumeIntInRange(-1, 5) for _ in range(3))
    )
    bins = array(input, np.uint8, (size(input, n_features), n_rows), 0, 11)
    value = None if classes else array(input, np.int32, (size(input, n_rows),), -(2**21), 2**21)
    codes = array(input, np.uint8, (size(input, n_rows),), 0, 3) if classes else None
    weight = array(input, np.int32, (size(input, n_rows),), -1, 2**20) if input.ConsumeBool() else None
    rows = _core.Rows(bins, value, codes, weight, 0)
    trees = _core.grow(plan, rows, 0, input.ConsumeIntInRange(-1, 40), input.ConsumeIntInRange(-1, 3), "plain")
    counted = _core.PathCounts()
    counted.add(trees)
    paths, counts = counted.paths()
    assert len(paths) == len(counts) and (counts > 0).all()


def moments(input: atheris.FuzzedDataProvider) -> None:
    """Moments and patterns of rules."""
    n_rows, words = input.ConsumeIntInRange(0, 40), input.ConsumeIntInRange(0, 2)
    bins = array(input, np.uint8, (input.ConsumeIntInRange(0, 3), n_rows), 0, 255)
    features = array(input, np.int32, (input.ConsumeIntInRange(0, 3),), -1, 3)
    tables = array(input, np.uint64, (size(input, len(features)), 256, words), 0, 2**63)
    value = array(input, np.int64, (size(input, n_rows),), -(2**45), 2**45)
    weight = array(input, np.int64, (size(input, n_rows),), -1, 2**41) if input.ConsumeBool() else None
    n_rules, n_folds = input.ConsumeIntInRange(-1, 70), input.ConsumeIntInRange(0, 12)
    found = _core.rule_moments(bins, features, tables, n_rules, value, None, 1, weight, 3, n_folds)
    assert found["size"].sum() == (n_rows if weight is None else weight.sum())
    places, n_lines = array(input, np.int32, (input.ConsumeIntInRange(0, 2),), -1, 3), input.ConsumeIntInRange(0, 2)
    centres = array(input, np.int32, (size(input, len(places)),), -1, 2**16)
    _core.line_moments(bins, features, tables, n_rules, places, centres, value, None, 1, weight, 3, n_folds)
    terms = array(input, np.int32, (n_lines,), -1, 130).tolist()
    _core.rule_patterns(bins, features, tables, n_rules, value, None, weight, 3, n_folds, 0, places, centres, terms)


def encode(input: atheris.FuzzedDataProvider) -> None:
    """Bins of a column, and order statistics."""
    n_rows = input.ConsumeIntInRange(0, 60)
    kind = input.PickValueInList([np.float64, np.float32, np.int64, np.int8, np.uint16])
    values = array(input, kind, (n_rows,), -40, 40)[:: input.ConsumeIntInRange(1, 3)]
    cuts = np.unique(array(input, np.float64, (input.ConsumeIntInRange(0, 300),), -40, 40) / 2)
    bins = np.zeros(size(input, len(values)), dtype=np.uint8)
    _core.encode(values, cuts, input.ConsumeIntInRange(-1, 256), bins)
    assert (bins == np.searchsorted(cuts, values.astype(np.float64), side="right")).all()
    ranks = sorted(set(array(input, np.int64, (input.ConsumeIntInRange(0, 9),), -1, 60).tolist()))
    assert (_core.order_statistics(values, ranks) == np.sort(values)[ranks]).all()


def likelihood(input: atheris.FuzzedDataProvider) -> None:
    """Weights by likelihood."""
    n, rules = input.ConsumeIntInRange(0, 12), input.ConsumeIntInRange(0, 8)
    bits = array(input, np.uint64, (size(input, n), input.ConsumeIntInRange(0, 2)), 0, 2**63)
    fold, codes = array(input, np.uint8, (size(input, n),), 0, 5), array(input, np.uint8, (size(input, n),), 0, 3)
    weight = array(input, np.int64, (size(input, n),), 0, 2**40)
    total = array(input, np.int64, (size(input, n), 2), 0, 2**20)
    gap = array(input, np.float64, (rules, input.ConsumeIntInRange(0, 3)), -9, 9) / 8
    loss = input.PickValueInList(["logistic", "softmax", "poisson", "gamma", "tweedie", "squared", "none"])
    sizes = array(input, np.int64, (input.ConsumeIntInRange(0, 3),), -1, 9).tolist()
    grid = [10.0, 0.1] if input.ConsumeBool() else []
    folds = input.ConsumeIntInRange(0, 7)
    found = _core.likelihood_weights(
        bits,
        fold,
        codes,
        weight,
        total,
        array(input, np.int32, (size(input, n), input.ConsumeIntInRange(0, 2)), -(2**15), 2**15),
        array(input, np.int32, (input.ConsumeIntInRange(0, 2),), -1, 9).tolist(),
        loss,
        input.ConsumeBool(),
        0.0,
        3,
        gap,
        sizes,
        grid,
        None,
        folds,
        0.25,
        1,
        0,
        1.5,
    )
    assert len(found["points"]) == len(sizes)


def cox(input: atheris.FuzzedDataProvider) -> None:
    """Weights by Cox's partial likelihood, and what rows make of their own scores."""
    n, rules, n_times = input.ConsumeIntInRange(0, 12), input.ConsumeIntInRange(0, 8), input.ConsumeIntInRange(-1, 9)
    span, event = array(input, np.int32, (size(input, n),), -1, 9), array(input, np.uint8, (size(input, n),), 0, 2)
    bits = array(input, np.uint64, (size(input, n), input.ConsumeIntInRange(0, 2)), 0, 2**63)
    fold = array(input, np.uint8, (size(input, n),), 0, 5)
    gap = (array(input, np.float64, (rules,), -9, 9) / 8).tolist()
    sizes = array(input, np.int64, (input.ConsumeIntInRange(0, 3),), -1, 9).tolist()
    eta = array(input, np.float64, (size(input, n),), -600, 600)
    _core.cox_rows(span, event, None, n_times, eta)
    _core.concordance(eta, event, eta, None)
    folds = input.ConsumeIntInRange(0, 7)
    values = array(input, np.int32, (size(input, n), input.ConsumeIntInRange(0, 2)), -(2**15), 2**15)
    terms = array(input, np.int32, (input.ConsumeIntInRange(0, 2),), -1, 9).tolist()
    rest = (folds, 0.25, 1, 0, values, terms)
    _core.cox_weights(bits, span, event, fold, None, n_times, gap, sizes, [10.0, 0.1], None, *rest)


def deal(input: atheris.FuzzedDataProvider) -> None:
    """Folds of rows: dealt in two pieces, and as many rows of each stratum in each."""
    n_rows, n_strata, n_folds = (input.ConsumeIntInRange(low, high) for low, high in ((-1, 60), (0, 4), (-1, 9)))
    stratum = array(input, np.uint8, (size(input, max(0, n_rows)),), 0, 4) if input.ConsumeBool() else None
    sizes = np.bincount([0] * n_rows if stratum is None else stratum, minlength=n_strata)
    if input.ConsumeBool():
        sizes = sizes + array(input, np.int64, sizes.shape, -2, 2**40)
    seed = input.ConsumeIntInRange(0, 2**64 - 1)
    folds = _core.deal(n_rows, stratum, sizes.tolist(), [0] * len(sizes), seed, n_folds)
    half = n_rows // 2
    first = [half] + [0] * (len(sizes) - 1) if stratum is None else np.bincount(stratum[:half], minlength=len(sizes))
    rest = None if stratum is None else np.ascontiguousarray(stratum[half:])
    found = _core.deal(n_rows - half, rest, sizes.tolist(), np.asarray(first).tolist(), seed, n_folds)
    assert (found == folds[half:]).all()
    if sizes.sum() == n_rows:
        assert np.ptp(np.bincount(folds, minlength=n_folds)) <= 1


def one(data: bytes) -> None:
    """Ask the core for something."""
    input = atheris.FuzzedDataProvider(data)
    try:
        input.PickValueInList([forest, moments, encode, likelihood, cox, deal])(input)
    except REFUSALS as error:
        if not str(error):
            raise AssertionError(f"{type(error).__name__} without words") from error


def plant() -> None:
    """A value that equals a cut has the bin before it."""

    def wrong(values: np.ndarray, cuts: np.ndarray, missing_bin: int, bins: np.ndarray) -> None:
        bins[:] = np.searchsorted(cuts, values, side="left")

    globals()["_core"] = type("Core", (), {**vars(_core), "encode": staticmethod(wrong)})

"""Patterns are put in order and added up, however many rules they have."""

from __future__ import annotations

import numpy as np
import pytest

from pysirus import _core


@pytest.mark.parametrize("n_rules", [0, 1, 12, 48, 49, 64, 70])
def test_patterns_are_in_order_and_equal_ones_add_up(n_rules):
    rng = np.random.default_rng(n_rules)
    n_rows, n_words = 2000, max(1, -(-n_rules // 64))
    holds = np.zeros((n_rows, 64 * n_words), dtype=bool)
    holds[:, :n_rules] = rng.random((n_rows, n_rules)) < 0.05
    holds[:, n_rules - 2 : n_rules] = rng.integers(0, 2, (n_rows, min(n_rules, 2)))  # the last ones too
    fold, code = rng.integers(0, 10, n_rows).astype(np.uint8), rng.integers(0, 2, n_rows).astype(np.uint8)
    weight, total = rng.integers(1, 5, n_rows), rng.integers(-9, 9, n_rows)
    halves = np.stack([np.zeros(n_rows, np.int64), total], axis=1)
    bits = np.packbits(holds, axis=1, bitorder="little").view(np.dtype("<u8")).astype(np.uint64)
    none = np.zeros((n_rows, 0), np.int32)
    given = {"fold": fold, "class_code": code, "weight": weight, "sum": halves}
    found = _core.merge_patterns(bits=bits, **given, values=none, line_terms=[])
    expected: dict[tuple[int, ...], list[int]] = {}
    for key, *amounts in zip(zip(*holds.T.astype(int).tolist(), fold.tolist(), code.tolist()), weight, total):
        entry = expected.setdefault(key, [0, 0])
        entry[0] += int(amounts[0])
        entry[1] += int(amounts[1])
    unpacked = np.unpackbits(found["bits"].astype("<u8").view(np.uint8), axis=1, bitorder="little")
    keys = [tuple(row) for row in np.column_stack([unpacked, found["fold"], found["class_code"]]).tolist()]
    assert keys == sorted(expected)  # by the first rule in which they differ, then by fold and class
    sums = found["sum"][:, 0] * 2**48 + found["sum"][:, 1]
    assert [list(pair) for pair in zip(found["weight"].tolist(), sums.tolist())] == [expected[key] for key in keys]

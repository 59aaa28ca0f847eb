"""The moments of rules against a plain count, for few and for very many signatures."""

import numpy as np
import pytest

import oracle
from pysirus import _core
from pysirus._weights.moments import MomentSums
from sampled import in_turns


def twin(bins, features, tables, n_rules, value, class_code, n_outputs, weight, seed, n_folds):
    """Row by row; sums of answers in Python integers."""
    n_rows = bins.shape[1]
    rows, size = np.zeros(n_rules, int), np.zeros(n_folds, int)
    pair = np.zeros((n_folds, n_rules, n_rules), int)
    total = np.zeros((n_folds, n_outputs), object)
    rule_total = np.zeros((n_folds, n_rules, n_outputs), object)
    square = np.zeros(n_folds, object)
    for row in range(n_rows):
        words = np.bitwise_and.reduce(tables[np.arange(len(features)), bins[features, row]], axis=0)
        inside = [r for r in range(n_rules) if int(words[r // 64]) >> (r % 64) & 1]
        fold = int(oracle.fold_of_row(seed, row, n_folds))
        w = 1 if weight is None else int(weight[row])
        v = np.zeros(n_outputs, object)
        if value is None:
            v[0 if class_code is None else int(class_code[row])] = 1
        else:
            v[:] = [int(x) for x in np.atleast_2d(value)[:, row]]
        size[fold] += w
        total[fold] += w * v
        square[fold] += w * (v @ v)
        rows[inside] += 1
        rule_total[fold, inside] += w * v
        pair[fold][np.ix_(inside, inside)] += np.tril(np.full((len(inside), len(inside)), w))
    return rows, size, pair, total, rule_total, square


def whole(halves):
    """Python integers from high * 2**48 + low."""
    return halves[..., 0].astype(object) * 2**48 + halves[..., 1]


def answers_of(kind, n, rng):
    """Numbers, codes of classes, and how many sums they make."""
    if kind == "classes":
        return None, rng.integers(0, 3, n).astype(np.uint8), 3
    shape = n if kind == "numbers" else (4, n)
    return rng.integers(-(2**43), 2**43, shape), None, 1 if kind == "numbers" else 4


@pytest.mark.parametrize(
    "n_rules, kind, weighed", in_turns([3, 12, 70, 130], ["numbers", "columns", "classes"], [False, True])
)
def test_moments_agree_with_a_plain_count(n_rules, kind, weighed):
    # 130 random rules of 4 features: nearly every row has a signature of its own, and the table of them overflows
    rng = np.random.default_rng(n_rules)
    n, n_words = (1500 if n_rules > 64 else 400), -(-n_rules // 64)
    bins = rng.integers(0, 40, (6, n)).astype(np.uint8)
    features = np.array([0, 2, 3, 5], dtype=np.int32)
    bits = rng.random((4, 256, 64 * n_words)) < 0.85
    tables = np.packbits(bits, axis=2, bitorder="little").view("<u8").astype(np.uint64)
    weight = rng.integers(1, 2**30, n) if weighed else None
    arguments = (bins, features, tables, n_rules, *answers_of(kind, n, rng), weight, 11, 5)
    found = _core.rule_moments(*arguments)
    rows, size, pair, total, rule_total, square = twin(*arguments)
    np.testing.assert_array_equal(found["rows"], rows)
    np.testing.assert_array_equal(found["size"], size)
    np.testing.assert_array_equal(found["pair"], pair)
    np.testing.assert_array_equal(whole(found["sum"]), total)
    np.testing.assert_array_equal(whole(found["rule_sum"]), rule_total)
    np.testing.assert_array_equal(whole(found["square"]) @ [2**44, 2**23, 1], square)


@pytest.mark.parametrize("kind", ["numbers", "columns", "classes"])
def test_moments_of_parts_add_up(kind):
    rng = np.random.default_rng(3)
    n, n_rules = 700, 9
    bins = rng.integers(0, 40, (6, n)).astype(np.uint8)
    features = np.array([1, 4], dtype=np.int32)
    tables = np.packbits(rng.random((2, 256, 64)) < 0.7, axis=2, bitorder="little").view("<u8").astype(np.uint64)
    value, class_code, n_outputs = answers_of(kind, n, rng)
    weight = rng.integers(1, 2**30, n)

    def moments(begin, end):
        arrays = (bins, value, class_code, weight)
        own, *part = (None if array is None else np.ascontiguousarray(array[..., begin:end]) for array in arrays)
        return _core.rule_moments(own, features, tables, n_rules, *part[:2], n_outputs, part[2], 5, 10, begin)

    parts = [moments(begin, end) for begin, end in ((0, 1), (1, 300), (300, 300), (300, n))]
    everything = moments(0, n)
    for name in ("rows", "size", "pair"):
        np.testing.assert_array_equal(sum(part[name] for part in parts), everything[name], err_msg=name)
    for name in ("sum", "rule_sum", "square"):
        np.testing.assert_array_equal(whole(sum(part[name] for part in parts)), whole(everything[name]), err_msg=name)


def test_moments_of_very_many_parts_add_up():
    """Each part brings a low half of up to 48 bits: 2**15 of them and more fill 64."""
    rng = np.random.default_rng(0)
    bins, features = rng.integers(0, 4, (1, 50)).astype(np.uint8), np.zeros(1, np.int32)
    tables = np.full((1, 256, 1), 1, dtype=np.uint64)
    value, weight = rng.integers(-(2**43), 2**43, 50), rng.integers(1, 2**20, 50)
    one = MomentSums(50, _core.rule_moments(bins, features, tables, 1, value, None, 1, weight, 3, 2))
    many = one
    for _ in range(20):
        many = many + many
    for name in ("sum", "rule_sum", "square"):
        assert (whole(many.arrays[name]) == 2**20 * whole(one.arrays[name])).all()
    a, b = one.restore(None), many.restore(None)
    for name in ("fold_weight", "pair_weight", "y_sum", "rule_y_sum", "y_square"):
        np.testing.assert_array_equal(getattr(b, name), 2**20 * getattr(a, name))

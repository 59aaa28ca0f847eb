"""Exponential and logarithm: close to the truth, and bit for bit what a twin in NumPy answers."""

import numpy as np
import pytest

from pysirus import _core
from sampled import FULL

LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
LOG2E, ROUND = float.fromhex("0x1.71547652b82fep+0"), 1.5 * 2.0**52
wide = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than double here")


SOME = 1_000_000 if FULL else 200_000


def points(n=SOME):
    """Numbers of every size, many of them where scores lie."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.uniform(-708, 709.7, n), rng.uniform(-40, 40, n), rng.normal(size=n) * 0.1])


def positive():
    rng = np.random.default_rng(1)
    n = SOME // 2
    near_one = 1 + rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-16, -0.5, n)
    return np.concatenate([np.exp(points(n)), rng.uniform(0.25, 4, n), near_one])


def in_units(found, truth):
    """The largest error in units in the last place."""
    return float(np.max(np.abs(found.astype(np.longdouble) - truth) / np.spacing(np.abs(truth).astype(np.float64))))


@wide
def test_errors_stay_below_one_unit_in_the_last_place():
    x, v = points(), positive()
    t = np.concatenate([np.random.default_rng(2).uniform(0, 1, SOME), np.exp(-np.abs(points(SOME // 2)))])
    assert in_units(_core.exp(x), np.exp(x.astype(np.longdouble))) < 1
    assert in_units(_core.log(v), np.log(v.astype(np.longdouble))) < 1
    assert in_units(_core.log1p(t), np.log1p(t.astype(np.longdouble))) < 1


def test_ends_of_the_range():
    x = np.array([0.0, -0.0, -745.2, -1e300, -np.inf, 709.79, np.inf, np.nan])
    assert np.array_equal(_core.exp(x), [1, 1, 0, 0, 0, np.inf, np.inf, np.nan], equal_nan=True)
    tiny = np.array([-708.5, -720.0, -744.0])
    assert np.allclose(_core.exp(tiny), np.exp(tiny), rtol=0, atol=5e-324)
    v = np.array([1.0, 0.0, -1.0, np.inf, np.nan, 5e-324, 2.0**-1022, np.finfo(float).max])
    truth = [0, -np.inf, np.nan, np.inf, np.nan, *np.log(v[5:])]
    assert np.allclose(_core.log(v), truth, rtol=2e-16, equal_nan=True)
    assert np.allclose(_core.log1p(np.array([0.0, 1e-300, 1.0])), [0, 1e-300, np.log(2)], rtol=2e-16, atol=0)


def power_of_two(n):
    return ((n + (ROUND + 1023.0)).view(np.uint64) << np.uint64(52)).view(np.float64)


def pairs(z, c):
    return (c[0] + z * c[1]) + z * z * (c[2] + z * c[3])


def exp_twin(x):
    """The same operations, array by array: none of them can be fused."""
    whole = (x * LOG2E + ROUND) - ROUND
    high, rest = x - whole * LN2_HIGH, whole * LN2_LOW
    r = high - rest
    factorials = np.cumprod(np.arange(1.0, 14.0))[1:]
    a, b, c = (pairs(r, 1 / factorials[i : i + 4]) for i in (0, 4, 8))
    r4 = (r * r) * (r * r)
    value = 1.0 + (high + (r * r * (a + r4 * (b + r4 * c)) - rest))
    first = (whole * 0.5 + ROUND) - ROUND
    return value * power_of_two(first) * power_of_two(whole - first)


def log_twin(u, rest=None):
    one, root = np.float64(1).view(np.uint64), np.float64.fromhex("0x1.6a09e667f3bcdp-1").view(np.uint64)
    bits = u.view(np.uint64)
    n = (bits - root + one) >> np.uint64(52)
    f = (bits - (n << np.uint64(52)) + one).view(np.float64) - 1.0
    e = n.astype(np.float64) - 1023.0
    s, half = f / (2.0 + f), 0.5 * f * f
    z = s * s
    z4 = (z * z) * (z * z)
    a, b, c = (pairs(z, 2 / np.arange(3.0 + 8 * i, 10.0 + 8 * i, 2)) for i in range(3))
    tail = z * (a + z4 * (b + z4 * c))
    last = e * LN2_LOW
    if rest is not None:
        last = last + rest * power_of_two(-e) * ((1.0 - s) * (1.0 - s + s * s))
    small = s * (half + tail) + last
    return e * LN2_HIGH + (f - (half - small))


def test_the_bits_are_those_of_the_plain_operations():
    x, v = points(SOME // 5), positive()
    assert np.array_equal(_core.exp(x), exp_twin(x))
    assert np.array_equal(_core.log(v), log_twin(v))
    t = exp_twin(-np.abs(x))
    u = 1.0 + t
    assert np.array_equal(_core.log1p(t), log_twin(u, t - (u - 1.0)))

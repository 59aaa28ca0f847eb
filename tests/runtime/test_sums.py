"""Sums of products that are the same on every machine, and whole models with them."""

import json
import os
import platform
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysirus._runtime.sums import ExactSums, cross_products, powers_of_ten, scores_of, times, weighted_sum
from sampled import FULL


def test_they_are_the_products_of_matrices(rng):
    a, b, v, w = rng.normal(size=(50, 4)), rng.normal(size=(50, 3)), rng.normal(size=4), rng.random(50)
    np.testing.assert_allclose(times(a, v), a @ v, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(times(np.stack([a, -a]), v), np.stack([a @ v, -a @ v]), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(weighted_sum(w, b), w @ b, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(weighted_sum(w, b[:, 0]), w @ b[:, 0], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(cross_products(a, b), a.T @ b, rtol=1e-13, atol=1e-14)


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([1e-300, 1e-5, 1.0, 1e12, 1e300]))
def test_scores_are_sums_that_no_order_changes(seed, n_rules, size):
    rng = np.random.default_rng(seed)
    holds = rng.random((30, n_rules)) < 0.5
    base, steps = rng.normal(size=3) * size, rng.normal(size=(n_rules, 3)) * size * rng.choice([1, 1e-6], (n_rules, 3))
    found = scores_of(holds, base, steps)
    order = rng.permutation(n_rules)
    assert np.array_equal(found, scores_of(holds[:, order], base, steps[order]))
    scale = np.abs(base) + np.abs(steps).sum(axis=0)
    assert (np.abs(found - (base + holds @ steps)) <= (n_rules + 2) * 2.0**-51 * scale + 1e-320).all()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30), st.integers(0, 30))
def test_exact_sums_are_those_of_fractions_in_any_split(numbers, at):
    values = np.array(numbers, dtype=float)[:, None] * [1.0, -1.0]
    found = ExactSums.of(values)
    assert found.fractions == [sum(map(Fraction, column.tolist()), Fraction(0)) for column in values.T]
    assert found == ExactSums.of(values[at:]) + ExactSums.of(values[:at])


def test_exact_sums_are_rounded_once_and_say_what_is_not_finite():
    many = ExactSums.of(np.tile([[0.1, 1e300, 5e-324, 1e308]], (200_000, 1)))
    assert many.floats.tolist() == [float(200_000 * Fraction(0.1)), 200_000 * 1e300, 200_000 * 5e-324, np.inf]
    odd = ExactSums.of(np.array([[1.0, np.inf], [2.0, 1.0]])) + ExactSums.of(np.ones((1, 2)))
    assert odd.floats[0] == 4 and np.isnan(odd.floats[1]) and odd.fractions is None


def test_nothing_but_zeros():
    assert np.array_equal(scores_of(np.ones((2, 3), dtype=bool), np.zeros(1), np.zeros((3, 1))), np.zeros((2, 1)))


def test_powers_are_the_nearest_numbers():
    assert powers_of_ten(2, -1, 13)[[0, 4, 8, 12]].tolist() == [100.0, 10.0, 1.0, 0.1]
    np.testing.assert_allclose(powers_of_ten(2, -3, 21), np.geomspace(1e2, 1e-3, 21), rtol=1e-15)


FIT = """
import json, warnings
import numpy as np, pysirus
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(70_000, 4))
y = 2.0 * (X[:, 0] > 0) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=len(X))
tune = {"n_trees": 60, "random_state": 0, "cv": 2, "n_repeats": 1, "max_rules": 6, "n_jobs": 1}
few = slice(0, 3000)
models = [
    pysirus.SirusRegressorCV(**tune).fit(X, y, sample_weight=rng.random(len(X))),
    pysirus.SirusRegressorCV(**tune, n_stages="auto").fit(X[few], y[few]),
    pysirus.SirusClassifierCV(**tune).fit(X, np.digitize(y, [0, 1, 2])),
    pysirus.SirusClassifierCV(**tune, weighting="equal").fit(X[few], y[few] > 1),
    pysirus.SirusRegressorCV(**tune, loss="poisson").fit(X[few], np.floor(np.abs(y[few]))),
]
print(json.dumps([json.loads(model.export("json")) for model in models]))
"""


def fitted_under(**environment):
    code = [sys.executable, "-c", FIT]
    env = {**os.environ, **environment}
    return json.loads(subprocess.run(code, env=env, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the processors are those of x86")
def test_models_are_the_same_whatever_blas_and_numpy_take_the_processor_for():
    """Other kernels of OpenBLAS, other numbers of its threads, no wide vectors of NumPy."""
    expected = fitted_under(OPENBLAS_NUM_THREADS="1")
    assert len(expected) == 5 and all(model["rules"] and model["tuning"] for model in expected)
    narrow = "AVX512_SKX,AVX512_CLX,AVX512_CNL,AVX512_ICL,AVX512_SPR,AVX2,FMA3,X86_V4,X86_V3"
    other = {"NPY_DISABLE_CPU_FEATURES": narrow, "OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Nehalem"}
    assert fitted_under(**other) == expected
    if FULL:
        assert fitted_under(OPENBLAS_CORETYPE="Haswell") == fitted_under(OPENBLAS_NUM_THREADS="2") == expected

"""The shortest number in a gap, against a search through all numbers with few digits."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysirus._bins.numeric import Bracket, find_brackets, shortest_in
from pysirus._data.column import Column
from pysirus._data.table import Table


def n_digits(value):
    return len(Decimal(repr(value)).normalize().as_tuple().digits) if value else 0


def table_of(values):
    return Table((Column("x", "numeric", values),), len(values), None)


@pytest.mark.parametrize(
    "below, above, cut, shortest",
    [
        (65.0, 66.0, 65.4, 66.0),  # whole numbers on both sides
        (65.2, 66.1, 65.4, 66.0),
        (64.9, 66.1, 65.4, 65.0),  # of two the nearer
        (-0.00002, 0.00003, 0.0000101613, 0.0),
        (-5.0, 100.0, 99.0, 0.0),
        (0.0, 1.0, 0.5, 1.0),
        (0.0, 0.6, 0.35, 0.3),  # of two as near the smaller: the double 0.35 is a little less than 0.35
        (2.0, 4.5, 2.5, 3.0),  # as near as 2, which is not in the gap
        (0.25, 0.375, 0.3125, 0.3),
        (9.96, 10.4, 9.99, 10.0),
        (1989.0, 1995.0, 1995.0, 1990.0),
        (0.1, 0.1 + 2**-56, 0.1 + 2**-56, 0.1 + 2**-56),
        (0.2, 0.3, 0.3, 0.3),
        (5e-324, 1e-323, 1e-323, 1e-323),
        (1.7e308, 1.7976931348623157e308, 1.7654321e308, 1.77e308),
        (-66.0, -65.0, -65.4, -65.0),
        (-0.4, -0.1, -0.25, -0.3),  # as near as -0.2
        (12345.2, 12399.8, 12377.7, 12380.0),
    ],
)
def test_the_shortest_number_of_a_gap(below, above, cut, shortest):
    assert shortest_in(Bracket(below, above), cut) == shortest


def test_a_number_that_is_not_in_its_gap_stays():
    assert shortest_in(Bracket(1.0, 2.0), 0.123456789) == 0.123456789
    assert shortest_in(Bracket(-math.inf, 2.0), 1.23456789) == 1.23456789


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-1000, 1000).map(float),
    st.integers(-500, 500).map(lambda k: k / 100),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(-1e-307, 1e-307),
)


@given(st.lists(numbers, min_size=2, max_size=12, unique=True), st.floats(0, 1))
def test_the_number_found_parts_the_same_values_and_none_in_the_gap_is_shorter(values, share):
    values = np.sort(np.array(values)) + 0.0
    low, high = (float(v) for v in values[[len(values) // 2 - 1, len(values) // 2]])
    cut = low + share * (high / 2 - low / 2) * 2
    if not low < cut <= high:
        return
    (gap,) = find_brackets(table_of(values), [(0, cut)]).brackets
    assert gap == Bracket(low, high)
    found = shortest_in(gap, cut)
    assert ((values < found) == (values < cut)).all()
    assert found in gap and n_digits(found) <= n_digits(cut) and str(found) != "-0.0"
    if low.is_integer() and high.is_integer():
        assert found.is_integer()
        return
    for digits in range(1, n_digits(found)):  # neither rounded down nor up is there a shorter one
        size = math.floor(math.log10(abs(cut)))
        unit = Decimal(10) ** (size - digits + 1)
        for k in range(-1, 3):
            assert float((Decimal(cut) // unit + k) * unit) not in gap or n_digits(found) <= digits


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.int64])
def test_parts_of_a_column_have_the_gaps_of_the_whole(dtype):
    rng = np.random.default_rng(1)
    values = np.round(rng.normal(scale=30, size=40_000)).clip(-120, 120).astype(dtype)
    if dtype in (np.float64, np.float32):
        values = values + rng.random(len(values)).astype(dtype)
        values[rng.random(len(values)) < 0.1] = np.nan
    places = [(0, q) for q in (-40.0, -0.1, 0.1, 1 / 3, 17.0)]
    whole = find_brackets(table_of(values), places)
    known = np.sort(values[values == values].astype(np.float64))
    assert [gap.below for gap in whole.brackets] == [known[known < q].max() for _, q in places]
    assert [gap.above for gap in whole.brackets] == [known[known >= q].min() for _, q in places]
    parts = [find_brackets(table_of(part), places) for part in np.array_split(values, [0, 1, 20_000])]
    assert sum(parts[1:], parts[0]) == whole

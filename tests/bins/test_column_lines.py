"""Ranges, means and the numbers of bins: by hand, against fractions, and the same in parts."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from given import column_lines
from pysirus._bins.cuts import bin_table
from pysirus._bins.numeric import line_sums, line_values, lines_of, may_slope, with_grids
from pysirus._data.table import read_table
from pysirus._families.responses import IntegerRows, NumberResponse


def made_of(columns, weights=None, n_bins=10):
    table = read_table(pd.DataFrame(columns))
    dated = tuple(replace(own, is_date=own.name == "day") for own in table.columns)
    table = replace(table, columns=dated)
    response = NumberResponse(np.arange(float(table.n_rows)), weights=weights)
    binned = bin_table(table, response, n_bins=n_bins, discrete_limit=10)
    return table, binned, response


def test_the_numbers_of_bins_are_their_means_centred_between_the_least_and_the_greatest():
    table, binned, response = made_of({"x": np.arange(100.0)})
    (line,) = column_lines(table, binned, response)
    assert (line.lower, line.upper, line.mean) == (0.0, 99.0, 49.5)
    # ten bins of ten values, whose means are 4.5, 14.5, ... 94.5: from -45 to 45 around their middle, times 2**9
    assert line.values.tolist() == [512 * v for v in range(-45, 46, 10)]


def test_missing_values_have_the_number_of_the_mean_of_the_known_rows():
    x = np.append(np.arange(90.0) ** 2, [np.nan] * 5)
    table, binned, response = made_of({"x": x})
    (line,) = column_lines(table, binned, response)
    assert line.mean == pytest.approx(np.nanmean(x), rel=1e-12) and line.upper == 89.0**2
    means = pd.Series(x).groupby(binned.bins[0]).mean()[:-1]
    unit = (means.iloc[-1] - means.iloc[0]) / (int(line.values[-2]) - int(line.values[0]))
    middle = (means.iloc[-1] + means.iloc[0]) / 2
    assert line.values[-1] == pytest.approx((line.mean - middle) / unit, abs=1)


def test_only_numbers_with_many_values_may_be_a_line():
    rng = np.random.default_rng(0)
    columns = {
        "many": rng.normal(size=60),
        "few": rng.integers(0, 5, 60),
        "level": rng.choice(list("abc"), 60),
        "day": np.arange(60.0),
        "three values": np.where(np.arange(60) < 58, 0.0, np.arange(60.0)),
        "eleven": np.arange(60) % 11,
        "ten": np.arange(60) % 10,
    }
    table, binned, response = made_of(columns)
    lines = column_lines(table, binned, response)
    assert [own is not None for own in lines] == [True, False, False, False, False, True, False]
    assert [may_slope(own) for own in binned.cuts] == [own is not None for own in lines]
    told = line_values({0: lines[0], 5: lines[5]}, 7, {0, 1})
    assert told[0] is lines[0].values and told[1:] == (None,) * 6
    assert line_values({0: lines[0]}, 7, ()) == ()


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e12, 1e12) | st.just(float("nan")), min_size=12, max_size=80),
    st.integers(0, 2**32),
    st.sampled_from(["none", "whole", "real"]),
)
def test_lines_are_those_of_exact_fractions_and_of_parts(values, seed, kind):
    rng = np.random.default_rng(seed)
    n = len(values)
    weights = {"none": None, "whole": rng.integers(1, 9, n).astype(float), "real": rng.uniform(1e-3, 5, n)}[kind]
    table, binned, response = made_of({"x": np.array(values)}, weights)
    (line,) = column_lines(table, binned, response)
    if not may_slope(binned.cuts[0]):
        assert line is None
        return
    x = np.array(values)
    known = np.flatnonzero(~np.isnan(x))
    w = [1] * n if weights is None else response.moment_weights().tolist()
    by_bin = {b: [i for i in known if binned.bins[0, i] == b] for b in range(binned.cuts[0].n_cuts + 1)}

    def mean(rows):
        return sum(Fraction(float(x[i])) * w[i] for i in rows) / sum(w[i] for i in rows)

    means = {b: mean(rows) for b, rows in by_bin.items() if rows}
    middle, half = (min(means.values()) + max(means.values())) / 2, (max(means.values()) - min(means.values())) / 2
    assert (line.lower, line.upper) == (np.nanmin(x), np.nanmax(x))
    step = (line.upper - line.lower) * 2.0**-14  # of the places, at most
    assert abs(line.mean - float(mean(known))) <= step + 1e-15 * abs(line.mean)
    assert np.abs(line.values).max() < 2**15
    for b, own in means.items():
        largest = max(abs(int(line.values[b])) for b in means)
        off = 2 * float(step / half) * largest  # of two ends that are off by half a step each
        assert abs(int(line.values[b]) - float((own - middle) / half) * largest) < 1.5 + off

    cuts = sorted(rng.integers(0, n + 1, 3).tolist())
    parts = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, n]) if b > a]
    of_all = replace(response, part_of=response.scale)
    beside = with_grids(binned, table, [0])
    some = [(replace(beside, bins=beside.bins[:, own]), of_all.take(np.arange(n)[own])) for own in parts]
    sums = [line_sums(own, IntegerRows(rows)) for own, rows in some]
    again = lines_of(binned.cuts, beside.grids, sum(sums[1:], sums[0]))[0]
    assert (again.lower, again.upper, again.mean) == (line.lower, line.upper, line.mean)
    assert again.values.tolist() == line.values.tolist()


def test_whole_weights_are_repeated_rows():
    rng = np.random.default_rng(1)
    x, w = rng.exponential(size=50), rng.integers(1, 4, 50)
    (weighted,) = column_lines(*made_of({"x": x}, w.astype(float)))
    (repeated,) = column_lines(*made_of({"x": np.repeat(x, w)}))
    assert weighted.mean == repeated.mean and weighted.values.tolist() == repeated.values.tolist()


def test_the_largest_numbers_and_the_smallest_make_lines():
    for x in (np.linspace(-1, 1, 50) * 1.7e308, np.arange(50) * 5e-324):  # whose squares are no numbers
        assert column_lines(*made_of({"x": x})) == (None,)
    for x in (np.linspace(-1, 1, 50) * 1e100, np.arange(50) * 1e-100, 1e15 + np.arange(50.0)):
        (line,) = column_lines(*made_of({"x": x}))
        assert np.all(np.diff(line.values) > 0) and line.lower <= line.mean <= line.upper

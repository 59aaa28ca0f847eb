"""The name of a dataset in, where its file lies, what it predicts and what it is out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Shipped:
    """A dataset that comes with the package."""

    name: str
    target: str
    about: str

    @property
    def path(self) -> Path:
        """The CSV file."""
        return FOLDER / f"{self.name}.csv"


_DATASETS = (
    Shipped(
        "ozone",
        "O3",
        "Daily maximum of ozone in Los Angeles, 1976, from nine measurements of the weather (330 days). vh: height at "
        "which the pressure is 500 millibar (m); wind: speed (mph); humidity (%); temp: temperature at Sandburg (F); "
        "ibh: inversion base height (ft); dpg: Daggett pressure gradient (mmHg); ibt: inversion base temperature (F); "
        "vis: visibility (miles); doy: day of the year. Breiman and Friedman (1985).",
    ),
    Shipped(
        "mpg",
        "mpg",
        "Miles per gallon of 398 cars, 1970 to 1982, from seven attributes; origin is 1 (USA), 2 (Europe) or 3 "
        "(Japan). Six values of horsepower are missing. UCI Machine Learning Repository, Auto MPG.",
    ),
    Shipped(
        "prostate",
        "lpsa",
        "Log of the prostate specific antigen of 97 men about to receive surgery, from eight clinical measures. "
        "Stamey et al. (1989).",
    ),
    Shipped(
        "housing",
        "medv",
        "Median value of homes, in 1,000 dollars, in 506 census tracts of Boston, from 13 attributes. The column "
        "`black` encodes a racial assumption of the original authors; use the data to compare methods, not to decide. "
        "Harrison and Rubinfeld (1978).",
    ),
    Shipped(
        "diabetes",
        "target",
        "Progression of diabetes in 442 patients one year after baseline, from age, sex, body mass index, blood "
        "pressure and six blood serum measurements (not scaled). Efron et al. (2004).",
    ),
    Shipped(
        "machine",
        "perf",
        "Published relative performance of 209 computers from their cycle time (syct, ns), main memory (mmin, mmax, "
        "kB), cache (cach, kB) and channels (chmin, chmax). UCI Machine Learning Repository, Computer Hardware.",
    ),
)
SHIPPED: Mapping[str, Shipped] = {dataset.name: dataset for dataset in _DATASETS}

"""The paper's eight datasets: six are shipped (``load_*``), two are downloaded once (``fetch_*``)."""

from pysirus.datasets._load import (
    DownloadError,
    fetch_abalone,
    fetch_bones,
    load_diabetes,
    load_housing,
    load_machine,
    load_mpg,
    load_ozone,
    load_prostate,
)

__all__ = [
    "DownloadError",
    "fetch_abalone",
    "fetch_bones",
    "load_diabetes",
    "load_housing",
    "load_machine",
    "load_mpg",
    "load_ozone",
    "load_prostate",
]

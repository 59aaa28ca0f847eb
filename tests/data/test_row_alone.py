"""A row predicted alone is the same row in its file, whatever is written there: random CSV files, read for a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysirus
from csv_files import CsvText, make_file
from pysirus._data.align import align_table
from pysirus._data.column import DataError
from pysirus._data.table import Table, read_table, recode_table
from pysirus._model.model import Model
from pysirus.cli._table import features_of, open_table, sources
from pysirus.cli._training import Roles, open_rows
from sampled import FULL

N_PARTS, N_FILES = (100, 50) if FULL else (3, 10)
N_ALONE = 6  # rows of each file that are read alone

pytestmark = pytest.mark.filterwarnings("ignore")


def learn(path: Path, text: CsvText) -> tuple[Model, Table]:
    """A model of a file, after it was saved, and its training rows as it knows them."""
    training = open_rows(str(path), "y", Roles(categorical=text.categorical or None), None)
    kind = pysirus.SirusClassifier if text.is_classes else pysirus.SirusRegressor
    estimator = kind(
        n_rules=5, n_trees=15, prepare=True, random_state=0, n_jobs=1, categorical_features=training.categorical
    )
    training.fit(estimator)
    estimator.save(path.with_suffix(".json"))
    model = pysirus.load(path.with_suffix(".json")).model_
    seen = read_table(training.split()[0], categorical=training.categorical, max_levels=estimator.max_levels)
    return model, recode_table(seen, model.features)


def read(path: Path, model: Model) -> Table:
    """A file as commands read it for a model, every column."""
    features = features_of(open_table(str(path), model), model)
    return align_table(features, model.schema, owner="model", needed=range(len(model.features)))


def read_batches(paths: list[Path], model: Model) -> list[Table]:
    """The same in batches, as of a folder."""
    found = []
    for source in sources(model, "", paths=paths):
        names = [name for name in model.columns if name in source.schema.names]
        for _, rows in source.read(names):
            found.append(align_table(rows, model.schema, owner="model", needed=range(len(model.features))))
    return found


def differences(found: Table, expected: Table, rows: list[int], what: str) -> list[str]:
    """The columns that have other values than the same rows of another table."""
    return [
        f"{what}: {column.name!r} is {column.values.tolist()}, not {other.values[rows].tolist()}"
        for column, other in zip(found.columns, expected.columns)
        if not np.array_equal(column.values.astype(float), other.values[rows].astype(float), equal_nan=True)
    ]


def compare(seed: int, folder: Path) -> list[str]:
    """What differs between a file, its halves, its rows alone, batches of it and what was learned from it."""
    text = make_file(seed)
    whole = folder / "whole.csv"
    whole.write_bytes(text.content())
    n = len(text.rows)
    model, seen = learn(whole, text)
    found = read(whole, model)
    wrong = differences(found, seen, list(range(n)), "in training")
    for feature, column in zip(model.features, seen.columns):
        values = text.numbers.get(model.schema.column_of(feature), column.values)
        if column.is_numeric and not np.array_equal(column.values, values, equal_nan=True):
            wrong.append(f"{feature.name!r} is {column.values.tolist()} in training, not {values}")
    predicted = model.decision(found)
    parts = [list(range(n // 2)), list(range(n // 2, n)), *([(seed + i * 7) % n] for i in range(N_ALONE))]
    paths = [folder / f"part{k}.csv" for k in range(len(parts))]
    for path, rows in zip(paths, parts):
        path.write_bytes(text.content(rows))
        try:
            part = read(path, model)
        except DataError as error:
            wrong.append(f"rows {rows} are refused: {error}")
            continue
        wrong += differences(part, found, rows, f"rows {rows}")
        if not np.array_equal(model.decision(part), predicted[rows]):
            wrong.append(f"the prediction of rows {rows}")
    for rows, part in zip(parts, read_batches(paths, model), strict=True):
        wrong += differences(part, found, rows, f"rows {rows} in a batch")
    return [f"seed {seed}, {problem}" for problem in wrong]


@pytest.mark.parametrize("part", range(N_PARTS))
def test_a_row_alone_is_the_row_in_its_file(tmp_path: Path, part: int) -> None:
    seeds = range(part * N_FILES, (part + 1) * N_FILES)
    assert [problem for seed in seeds for problem in compare(seed, tmp_path)] == []

"""In how many folds each rule of a tuned list was selected too: fits of the folds one by one, files, other sizes."""

import json

import numpy as np
import pytest

from pysirus import SirusRegressor, SirusRegressorCV, load
from pysirus._learn.splits import derive
from pysirus._model.file import ModelFileError

QUICK = {"n_trees": 300, "max_rules": 8, "random_state": 3}
N_FOLDS = 4


@pytest.fixture(scope="module")
def rows():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(160, 4))
    return X, X[:, 0] + (X[:, 1] > 0) + draw.normal(size=160)


@pytest.fixture(scope="module")
def splits(rows):
    fold = np.arange(len(rows[0])) % N_FOLDS
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(N_FOLDS)]


@pytest.fixture(scope="module")
def model(rows, splits):
    return SirusRegressorCV(cv=splits, n_repeats=2, **QUICK).fit(*rows)


def lists_of_folds(rows, splits, **size):
    """The lists of every fold of two repetitions, each fitted by itself."""
    X, y = rows
    for repetition in range(2):
        for fold, (train, _) in enumerate(splits):
            own = SirusRegressor(**{**QUICK, "random_state": derive(3, repetition, fold), "max_rules": 99}, **size)
            yield set(own.fit(X[train], y[train]).rules_)


def test_returned_counts_the_folds_whose_list_above_p0_has_the_rule(model, rows, splits):
    lists = list(lists_of_folds(rows, splits, p0=model.p0_))
    for rule in model.selected_:
        assert rule.returned == (sum(rule in own for own in lists), 2 * N_FOLDS)
    assert len({rule.returned for rule in model.selected_}) > 1


def test_returned_of_another_size_is_that_of_lists_above_its_p0(model, rows, splits):
    size = 2 if len(model.selected_) != 2 else 3
    other = model.with_rules(size)
    lists = list(lists_of_folds(rows, splits, p0=other.facts["p0"]))
    assert [rule.returned[0] for rule in other.selected] == [
        sum(rule in own for own in lists) for rule in other.selected
    ]


def test_returned_of_stages_counts_lists_of_as_many_stages(rows, splits):
    X, y = rows
    model = SirusRegressorCV(cv=splits, n_repeats=2, n_stages=3, slopes=False, **QUICK).fit(X, y)
    assert model.model_.is_staged
    n_stages = model.model_.facts.n_stages
    lists = list(lists_of_folds(rows, splits, n_rules=1, n_stages=n_stages))
    assert [rule.returned for rule in model.selected_] == [
        (sum(rule in own for own in lists), 2 * N_FOLDS) for rule in model.selected_
    ]


def test_returned_is_printed_saved_and_stays_through_edits(model, tmp_path):
    assert "returned" in str(model).splitlines()[2]
    assert f"{model.rules_[0].returned[0]} of {2 * N_FOLDS}" in str(model)
    frame = model.rules_.to_frame("pyarrow").to_pydict()
    assert frame["n_returned"] == [rule.returned[0] for rule in model.rules_]
    assert set(frame["n_folds"]) == {2 * N_FOLDS}
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert [rule.returned for rule in again.selected_] == [rule.returned for rule in model.selected_]
    assert again.with_rules(2).selected[0].returned == model.with_rules(2).selected[0].returned
    assert model.without(1).rules[0].returned == model.rules_[1].returned


def test_files_without_returned_open_and_wrong_ones_do_not(model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    document = json.loads(path.read_text())
    for size in document["tuning"]["sizes"]:
        del size["returned"]
    del document["tuning"]["n_folds"]
    for rule in document["rules"]:
        del rule["returned"]
    path.write_text(json.dumps(document))
    old = load(path)
    assert old.rules_[0].returned is None and "returned" not in str(old)
    assert "n_returned" not in old.rules_.to_frame("pyarrow").column_names
    document["rules"][0]["returned"] = [9, 8]
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="is 9 of 8 folds"):
        load(path)


def test_a_fit_that_is_not_tuned_shows_rows_alone(rows):
    model = SirusRegressor(n_rules=2, n_trees=300, random_state=0).fit(*rows)
    head = str(model).splitlines()[2].split()
    assert head[-1] == "rows" and "returned" not in head
    inside = int(model.rules_[0].holds(model.model_.align(rows[0])).sum())
    assert f"{inside} ({100 * inside / 160:.0f}%)" in str(model)
    assert model.rules_.to_frame("pyarrow")["share_inside"][0].as_py() == inside / 160


def test_a_table_for_latex_escapes_the_percent_sign(model):
    assert r"\%) & " in model.export("latex")
    assert "| rows | returned |" in model.export("markdown")


def test_a_workbook_has_the_rows_of_each_rule(model, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    model.export("excel", tmp_path / "rules.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "rules.xlsx")["Rules"]
    names = [cell.value for cell in sheet[3]]
    row = dict(zip(names, [cell.value for cell in sheet[4]]))
    rule = model.rules_[0]
    assert row["rows"] == rule.n_inside and row["share of rows"] == pytest.approx(rule.n_inside / 160)
    assert row["returned in folds"] == rule.returned_text

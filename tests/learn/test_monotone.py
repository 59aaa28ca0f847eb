"""Every model obeys its directions: any response, weights, gaps, tuned, staged, edited, saved, in SQL and in parts."""

import duckdb
import numpy as np
import pandas as pd
import pytest

import pysirus
from sampled import FULL
from signed import RESPONSES, answers_of, assert_obeys, draw_table, estimator_of, target_of

pytestmark = pytest.mark.filterwarnings("ignore:.*unseen category", "ignore:.*full data is above the chosen")
SEEDS = range(200) if FULL else range(0, 200, 40)
# of sums of weights times outputs nothing is lost; softmax and exp round
TOLERANCE = {"numbers": 0.0, "poisson": 1e-14, "gamma": 1e-14, "classes": 1e-14, "equal": 1e-15, "survival": 0.0}


def staged(response, seed):
    return response != "equal" and seed // 5 % 2 == 1


def sql_answers(model, X):
    connection = duckdb.connect()
    connection.register("rows", X.assign(grade=X["grade"].astype(object), id=np.arange(len(X))))
    query = model.export("sql", dialect="duckdb").strip()
    frame = connection.execute(f"SELECT id, {query} FROM rows ORDER BY id").df()
    return frame["probability_yes" if "probability_yes" in frame else frame.columns[1]]


@pytest.mark.parametrize("seed", SEEDS)
def test_models_on_random_tables_obey(seed, tmp_path):
    X, score, directions, weights, rng = draw_table(seed)
    for response in RESPONSES if FULL else [RESPONSES[seed // 40 % len(RESPONSES)]]:
        y = target_of(response, score, rng)
        options = {"monotonic_cst": directions, "max_depth": 2 + seed % 2}
        plain = estimator_of(response, n_stages=3 if staged(response, seed) else 1, n_rules=6, **options)
        tuned = estimator_of(response, tuned=True, n_stages="auto" if staged(response, seed) else 1, **options)
        for estimator in (plain, tuned):
            model = estimator.fit(X, y, sample_weight=weights).model_
            assert all(model.constraints.allows(rule) for rule in model.selected)
            model.save(tmp_path / "m.json")
            found = [model, pysirus.load(tmp_path / "m.json")]
            training = (X, y, weights) if response == "survival" else ()
            found += [model.without(1, *training)] if len(model.rules) > 1 else []
            for each in found:
                assert_obeys(each, X, directions, tolerance=TOLERANCE[response])
        assert_obeys(model, X, directions, sql_answers, 1e-12)


def test_directions_cost_rules_that_break_them():
    X, score, _, _, _ = draw_table(3)
    y = np.sin(3 * X["a"]) + 0.2 * score
    free = estimator_of("numbers", n_rules=10).fit(X, y)
    bound = estimator_of("numbers", n_rules=10, monotonic_cst={"a": 1}).fit(X, y)
    with pytest.raises(AssertionError):
        assert_obeys(free.model_, X, {"a": 1})
    assert_obeys(bound.model_, X, {"a": 1})
    assert bound.score(X, y) < free.score(X, y)


def test_nothing_known_changes_nothing():
    X, score, _, weights, _ = draw_table(4)
    free = estimator_of("numbers", n_stages=2).fit(X, score, sample_weight=weights)
    everything = {"monotonic_cst": [0] * 6, "interaction_cst": [list(X)]}
    same = estimator_of("numbers", n_stages=2, **everything).fit(X, score, sample_weight=weights)
    assert [str(rule) for rule in free.rules_] == [str(rule) for rule in same.rules_]
    assert free.predict(X).tolist() == same.predict(X).tolist()
    assert free.model_.constraints is None


@pytest.mark.parametrize("response", ["numbers", "classes"])
def test_parts_learn_the_same_rules(response, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    import dask

    import pysirus.dask

    X, score, _, _, rng = draw_table(5, 240)
    directions = {"a": 1, "b": -1, "grade": 1, "flag": 1}
    X, y = X.drop(columns="free"), pd.Series(target_of(response, score, rng), name="y")
    options = {"n_rules": 8, "monotonic_cst": directions, "interaction_cst": [["a", "grade", "flag"]], "max_depth": 3}
    memory = estimator_of(response, **options).fit(X, y)
    assert any("grade" in str(rule) or "flag" in str(rule) for rule in memory.rules_)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    files = estimator_of(response, **options).fit_files(tmp_path / "rows.parquet", "y")
    estimator = pysirus.dask.SirusRegressor if response == "numbers" else pysirus.dask.SirusClassifier
    with dask.config.set(scheduler="sync"):
        table = dd.from_pandas(X.assign(y=y), npartitions=3)
        on_dask = estimator(n_trees=60, random_state=0, **options).fit(table, "y")
    for other in (files, on_dask):
        assert [str(rule) for rule in other.selected_] == [str(rule) for rule in memory.selected_]
        assert other.model_.constraints == memory.model_.constraints
        assert answers_of(other.model_, X).tolist() == answers_of(memory.model_, X).tolist()
    assert_obeys(memory.model_, X, directions, tolerance=1e-14)


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("seed", range(20) if FULL else range(2))
def test_no_rule_holds_columns_that_may_not_stand_together(seed, depth):
    X, score, directions, weights, rng = draw_table(seed)
    names = list(X)
    groups = [rng.choice(names, rng.integers(1, 4), replace=False).tolist() for _ in range(3)]
    rest = [name for name in names if not any(name in group for group in groups)]
    for given, allowed in (
        (groups, [*groups, rest]),
        ("no_interactions", [[name] for name in names]),
        ("pairwise", [[a, b] for a in names for b in names]),
    ):
        options = {"interaction_cst": given, "monotonic_cst": directions if seed % 2 else None}
        model = estimator_of("numbers", n_rules=12, n_stages=2, max_depth=depth, **options)
        model.fit(X, score, sample_weight=weights)
        for rules in (model.selected_, model.candidates_):
            found = [{condition.feature for condition in rule.conditions} for rule in rules]
            assert found and all(any(own <= set(group) for group in allowed) for own in found)

"""A model remembers what the columns of its table were for; score, predict, explain, report and edit use them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import pysirus
from pysirus import SirusClassifier, SirusRegressor, SirusRegressorCV
from pysirus._parameters import ParameterError

pytestmark = pytest.mark.filterwarnings("ignore")

FIT = ("--target", "claims", "--exposure", "holders", "--loss", "poisson", "--rules", 3, "--trees", 80)


def insured(n_rows: int = 400, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": random.integers(18, 80, n_rows), "district": random.integers(1, 5, n_rows)})
    frame["holders"] = random.integers(1, 60, n_rows)
    frame["claims"] = random.poisson(np.where(frame["age"] < 30, 0.3, 0.1) * frame["holders"])
    frame["w"] = random.integers(1, 4, n_rows)
    frame["site"] = random.integers(0, 30, n_rows)
    return frame


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("insured")
    insured().to_csv(folder / "old.csv", index=False)
    insured(seed=1).to_csv(folder / "new.csv", index=False)
    (folder / "parts").mkdir()
    insured(seed=1)[:150].to_parquet(folder / "parts" / "a.parquet")
    insured(seed=1)[150:].to_parquet(folder / "parts" / "b.parquet")
    return folder


@pytest.fixture(scope="module")
def counts(tables: Path, run_once) -> Path:
    """A model of claims per holder."""
    path = tables / "counts.json"
    run_once("fit", tables / "old.csv", *FIT, "--drop", "w,site", "-m", path)
    return path


@pytest.fixture(scope="module")
def weighted(tables: Path, run_once) -> Path:
    """A model of claims per holder, with weights and groups too."""
    path = tables / "weighted.json"
    run_once("fit", tables / "old.csv", *FIT, "--sample-weight", "w", "--groups", "site", "--cv", "-m", path)
    return path


@pytest.fixture(scope="module")
def run_once():
    from pysirus.cli import main

    def call(*arguments: object) -> None:
        with pytest.raises(SystemExit) as leaving:
            main([str(argument) for argument in arguments])
        assert not leaving.value.code

    return call


def rate_d2(rows: pd.DataFrame, rates: np.ndarray, weights=1.0) -> float:
    mass = rows["holders"] * weights
    return float(metrics.d2_tweedie_score(rows["claims"] / rows["holders"], rates, sample_weight=mass, power=1))


def test_a_model_with_an_exposure_is_scored_without_options(run, tables: Path, counts: Path) -> None:
    code, out, err = run("score", counts, tables / "new.csv", "--json")
    assert code == 0, err
    rows, found = insured(seed=1), json.loads(out)
    rates = pysirus.load(counts).predict(rows[["age", "district"]])
    assert found["metrics"]["d2"]["value"] == pytest.approx(rate_d2(rows, rates), rel=1e-9)
    deviance = metrics.mean_poisson_deviance(rows["claims"] / rows["holders"], rates, sample_weight=rows["holders"])
    assert found["metrics"]["mean_deviance"]["value"] == pytest.approx(deviance, rel=1e-9)
    assert "r2" not in found["metrics"] and found["weighted_by"] == "holders"
    code, out, _ = run("score", counts, tables / "new.csv")
    assert out.splitlines()[0] == "claims per holders, 400 rows, weighted by holders"
    assert out.splitlines()[2].startswith("D² ")


def test_files_in_batches_have_the_same_metrics(run, tables: Path, counts: Path) -> None:
    whole, parts = (json.loads(run("score", counts, tables / name, "--json")[1]) for name in ("new.csv", "parts"))
    assert parts["weighted_by"] == whole["weighted_by"] and parts["n_rows"] == whole["n_rows"]
    for name, metric in whole["metrics"].items():
        assert parts["metrics"][name]["value"] == pytest.approx(metric["value"], rel=1e-12)


def test_options_override_what_is_remembered(run, tables: Path, counts: Path, tmp_path: Path) -> None:
    expected = run("score", counts, tables / "new.csv", "--json")[1]
    renamed = insured(seed=1).rename(columns={"claims": "n", "holders": "people"})
    renamed.to_csv(tmp_path / "renamed.csv", index=False)
    code, _, err = run("score", counts, tmp_path / "renamed.csv")
    assert code == 1 and "'claims'" in err
    code, out, _ = run("score", counts, tmp_path / "renamed.csv", "--target", "n", "--exposure", "people", "--json")
    assert code == 0 and json.loads(out)["metrics"] == json.loads(expected)["metrics"]


def test_weights_are_remembered_and_can_be_left_out(run, tables: Path, weighted: Path, tmp_path: Path) -> None:
    rows = insured(seed=1)
    rates = pysirus.load(weighted).predict(rows[["age", "district"]])
    found = json.loads(run("score", weighted, tables / "new.csv", "--json")[1])
    assert found["metrics"]["d2"]["value"] == pytest.approx(rate_d2(rows, rates, rows["w"]), rel=1e-9)
    assert found["weighted_by"] == "holders × w"
    found = json.loads(run("score", weighted, tables / "new.csv", "--unweighted", "--json")[1])
    assert found["metrics"]["d2"]["value"] == pytest.approx(rate_d2(rows, rates), rel=1e-9)
    rows.drop(columns="w").to_csv(tmp_path / "bare.csv", index=False)
    code, out, err = run("score", weighted, tmp_path / "bare.csv")
    assert code == 2 and out == "" and "'w'" in err and "--unweighted" in err
    assert run("score", weighted, tmp_path / "bare.csv", "--unweighted")[0] == 0
    code, _, err = run("score", weighted, tmp_path / "bare.csv", "--sample-weight", "nope")
    assert code == 1 and "'nope'" in err
    assert run("score", weighted, tables / "new.csv", "--sample-weight", "w", "--unweighted")[0] == 2


def test_cross_validation_is_judged_as_score_judges(run, tables: Path, weighted: Path) -> None:
    code, out, err = run("show", weighted, "--json")
    assert code == 0, err
    data = json.loads(out)
    assert list(data["out_of_fold"])[:2] == ["d2", "mean_deviance"]
    assert "D² " in run("show", weighted)[2]


def test_predictions_say_whether_they_are_rates_or_counts(run, tables: Path, counts: Path, tmp_path: Path) -> None:
    rows = insured(seed=1)
    rows[["age", "district"]].to_csv(tmp_path / "bare.csv", index=False)  # no column with a role is needed
    code, out, err = run("predict", counts, tmp_path / "bare.csv")
    assert code == 0 and err == ""
    rates = np.array(out.split()[1:], dtype=float)
    assert out.splitlines()[0] == "prediction_per_holders"
    assert rates == pytest.approx(pysirus.load(counts).predict(rows[["age", "district"]]))
    code, out, _ = run("predict", counts, tables / "new.csv", "--exposure", "holders", "--keep", "claims,holders")
    assert code == 0 and out.splitlines()[0] == "claims,holders,expected_count"
    found = np.array([line.split(",")[2] for line in out.split()[1:]], dtype=float)
    assert found == pytest.approx(rates * rows["holders"])
    code, out, _ = run("predict", counts, tables / "parts", "--exposure", "holders")
    assert code == 0 and np.array(out.split()[1:], dtype=float) == pytest.approx(found)
    code, _, err = run("predict", counts, tmp_path / "bare.csv", "--exposure", "holders")
    assert code == 1 and "'holders'" in err
    rows.assign(holders=0).to_csv(tmp_path / "none.csv", index=False)
    code, _, err = run("predict", counts, tmp_path / "none.csv", "--exposure", "holders")
    assert code == 1 and "numbers above 0" in err


def test_a_model_of_counts_takes_no_exposure(run, tables: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    run("fit", tables / "old.csv", "-t", "claims", "--loss", "poisson", "--rules", 2, "--trees", 50, "-m", model)
    for command in (("score",), ("predict",), ("explain",)):
        code, out, err = run(*command, model, tables / "new.csv", "--exposure", "holders")
        assert code == 2 and out == "" and "without an exposure" in err and "--exposure" in err
    assert run("predict", model, tables / "new.csv")[1].splitlines()[0] == "prediction"


def test_explanations_have_the_expected_count(run, tables: Path, counts: Path) -> None:
    rows = insured(seed=1)
    rate = pysirus.load(counts).predict(rows[["age", "district"]])[5]
    data = json.loads(run("explain", counts, tables / "new.csv", "--row", 6, "--json")[1])
    assert data["exposure"] == rows["holders"][5]
    assert data["expected_count"] == pytest.approx(rate * rows["holders"][5])
    out = run("explain", counts, tables / "new.csv", "--row", 6)[1]
    assert out.splitlines()[-1].startswith("expected claims: ") and f"{rows['holders'][5]} holders" in out


def test_reports_compare_rates_with_rates(run, tables: Path, counts: Path, tmp_path: Path) -> None:
    code, _, err = run("report", counts, tables / "new.csv", "-o", tmp_path / "r.html")
    assert code == 0, err
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    data = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    rows = insured(seed=1)
    d2 = rate_d2(rows, pysirus.load(counts).predict(rows[["age", "district"]]))
    assert data["inSample"]["explained"]["share"] == pytest.approx(d2, rel=1e-6)
    assert float(data["rows"]["truth"][3]) == pytest.approx(rows["claims"][3] / rows["holders"][3], rel=1e-6)


def test_weights_that_a_table_lacks_are_said(run, tables: Path, weighted: Path, tmp_path: Path) -> None:
    warnings.simplefilter("default")
    insured(seed=1).drop(columns="w").to_csv(tmp_path / "bare.csv", index=False)
    code, _, err = run("report", weighted, tmp_path / "bare.csv", "-o", tmp_path / "r.html")
    assert code == 0 and "no column 'w', the model's weights" in err
    code, _, err = run("report", weighted, tables / "new.csv", "-o", tmp_path / "r.html")
    assert code == 0 and "Warning" not in err
    code, _, err = run("edit", weighted, tmp_path / "bare.csv", "--add", "age < 40", "-o", tmp_path / "e.json")
    assert code == 2 and "'w'" in err and "--sample-weight" in err


def test_rules_are_added_to_a_model_with_an_exposure(run, tables: Path, weighted: Path, tmp_path: Path) -> None:
    edited = tmp_path / "e.json"
    code, _, err = run("edit", weighted, tables / "old.csv", "--add", "age < 40", "-o", edited)
    assert code == 0, err
    assert pysirus.load(edited).roles == pysirus.load(weighted).model_.roles


@pytest.mark.parametrize("command", [("fit", "--rules", 3), ("tune", "--repeats", 1, "--max-rules", 4)])
def test_files_in_batches_take_an_exposure(run, tmp_path: Path, command: tuple[object, ...]) -> None:
    rows = insured()
    rows.loc[5, ["w", "holders"]] = 0  # a row without weight needs no exposure
    (tmp_path / "rows").mkdir()
    rows[:150].to_parquet(tmp_path / "rows" / "a.parquet")
    rows[150:].to_parquet(tmp_path / "rows" / "b.parquet")
    rows.to_parquet(tmp_path / "all.parquet")
    options = (*command[1:], "--trees", 80, *FIT[:6], "--sample-weight", "w", "--drop", "site", "--strict")
    documents = []
    for name in ("all.parquet", "rows"):
        code, _, err = run(command[0], tmp_path / name, *options, "--model", tmp_path / "m.json")
        assert code == 0, err
        documents.append(json.loads((tmp_path / "m.json").read_text()))
    for document in documents:
        assert document.pop("roles") == {"target": "claims", "weights": "w", "exposure": "holders"}
        del document["estimator"], document["facts"]["versions"]
    assert documents[0] == documents[1]
    rows.loc[200, "holders"] = -1
    rows[150:].to_parquet(tmp_path / "rows" / "b.parquet")
    code, _, err = run(command[0], tmp_path / "rows", *options)
    assert code == 1 and "b.parquet" in err and "'holders', the exposure" in err


def test_an_exposure_has_no_other_role(run, tables: Path) -> None:
    for other in (("--sample-weight", "holders"), ("--target", "holders")):
        code, _, err = run("fit", tables / "old.csv", *FIT, *other)
        assert code == 2 and "'holders'" in err
    code, _, err = run("fit", tables / "old.csv", *FIT, "--task", "classification")
    assert code == 2 and "--exposure" in err
    with pytest.raises(ParameterError, match="exposure"):
        SirusClassifier().fit_files(tables / "old.csv", "site", exposure="holders")
    with pytest.raises(ParameterError, match="two roles, sample_weight and exposure"):
        SirusRegressor().fit_files(tables / "old.csv", "claims", exposure="holders", sample_weight="holders")


def test_rows_without_counts_are_left_out_of_scores(run, counts: Path, tmp_path: Path) -> None:
    rows = insured(seed=1)
    rows[:300].to_csv(tmp_path / "known.csv", index=False)
    rows.assign(claims=rows["claims"].where(rows.index < 300)).to_csv(tmp_path / "some.csv", index=False)
    known, some = (run("score", counts, tmp_path / name, "--json")[1] for name in ("known.csv", "some.csv"))
    assert json.loads(known) == json.loads(some)


def test_the_file_keeps_roles(counts: Path, weighted: Path) -> None:
    assert json.loads(counts.read_text())["roles"] == {"target": "claims", "exposure": "holders"}
    everything = {"target": "claims", "weights": "w", "exposure": "holders", "groups": "site"}
    assert json.loads(weighted.read_text())["roles"] == everything
    assert not {"claims", "holders", "w", "site"} & set(pysirus.load(weighted).model_.columns)


def test_python_remembers_names(tmp_path: Path, run, tables: Path) -> None:
    rows = insured()
    X = rows[["age", "district"]]
    model = SirusRegressor(n_rules=2, n_trees=50, random_state=0).fit(X, rows["claims"], sample_weight=rows["w"])
    assert vars(model.model_.roles) == {"target": "claims", "weights": "w"} | dict.fromkeys(
        ("exposure", "groups", "time")
    )
    model.save(tmp_path / "m.json")
    found = json.loads(run("score", tmp_path / "m.json", tables / "new.csv", "--json")[1])
    new = insured(seed=1)
    expected = model.score(new[["age", "district"]], new["claims"], new["w"])
    assert found["metrics"]["r2"]["value"] == pytest.approx(expected)
    tuned = SirusRegressorCV(n_trees=50, cv=3, n_repeats=1, max_rules=4, random_state=0)
    tuned.fit(X, rows["claims"], groups=rows["site"])
    assert tuned.model_.roles.groups == "site" and tuned.with_rules(1).roles == tuned.model_.roles


def test_where_nothing_is_to_be_remembered_the_file_is_as_before(tmp_path: Path) -> None:
    rows = insured()
    X = rows[["age", "district"]]
    for weights in (None, rows["w"].to_numpy()):
        model = SirusRegressor(n_rules=2, n_trees=50, random_state=0).fit(X, rows["claims"], sample_weight=weights)
        model.save(tmp_path / "m.json")
        document = json.loads((tmp_path / "m.json").read_text())
        assert model.model_.roles is None and "roles" not in document and document["version"] == 1


def test_files_and_memory_remember_the_same(tables: Path, tmp_path: Path) -> None:
    rows = insured()
    rows.drop(columns="holders").to_parquet(tmp_path / "rows.parquet")
    make = {"n_rules": 2, "n_trees": 50, "random_state": 0, "prepare": False}
    in_files = SirusClassifier(**make).fit_files(tmp_path / "rows.parquet", "site", sample_weight="w", drop=["claims"])
    in_memory = SirusClassifier(**make).fit(rows[["age", "district"]], rows["site"], sample_weight=rows["w"])
    assert vars(in_files.model_.roles) == vars(in_memory.model_.roles)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({}, "roles lacks"),
        ({"target": 3}, "roles.target"),
        ({"target": "a", "weights": None}, "roles.weights"),
        ({"target": "a", "event": "b"}, "roles has"),
    ],
)
def test_damaged_roles_are_refused(counts: Path, tmp_path: Path, roles: object, message: str) -> None:
    document = json.loads(counts.read_text())
    (tmp_path / "m.json").write_text(json.dumps({**document, "roles": roles}))
    with pytest.raises(pysirus.ModelFileError, match=message):
        pysirus.load(tmp_path / "m.json")


def test_a_truth_without_deviance_is_said_by_its_column(run, counts: Path, tmp_path: Path) -> None:
    insured(seed=1).assign(claims=-1).to_csv(tmp_path / "negative.csv", index=False)
    code, out, err = run("score", counts, tmp_path / "negative.csv")
    assert code == 1 and out == "" and "column 'claims', the target" in err.lower() and "--loss poisson" in err


def test_groups_are_no_feature_when_a_model_is_learned_again_from_several_files(run, tmp_path: Path) -> None:
    rows = insured()[["claims", "age"]].assign(group=np.arange(400) % 20)
    (tmp_path / "more").mkdir()
    for name in ("rows.csv", "more/a.csv", "more/b.csv"):
        rows.to_csv(tmp_path / name, index=False)
    model, again = tmp_path / "m.json", tmp_path / "again.json"
    options = ("--cv", "--groups", "group", "--rules", 2, "--trees", 50)
    assert run("fit", tmp_path / "rows.csv", "--target", "claims", *options, "--model", model)[0] == 0
    code, _, err = run("refit", model, tmp_path / "more", "--output", again)
    assert code in (0, 3), err
    assert pysirus.load(again).model_.columns == pysirus.load(model).model_.columns == ("age",)


@pytest.mark.parametrize("in_batches", [[], ["--memory", "64MB"]])
def test_a_column_with_two_roles_is_refused(run, tmp_path: Path, in_batches: list[str]) -> None:
    insured().to_csv(tmp_path / "rows.csv", index=False)
    code, _, err = run("tune", tmp_path / "rows.csv", "--target", "claims", "--groups", "claims", *in_batches)
    assert code == 2 and "'claims' has two roles, --target and --groups." in err

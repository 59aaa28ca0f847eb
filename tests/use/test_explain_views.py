"""One explanation has one set of numbers: text, frame, JSON, figure and report agree, and add up from a stated base."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import pysirus
from hostile import KINDS, SCORED, make_model, make_table, new_rows
from pysirus._parameters import ParameterError
from pysirus._terms.slope import RANGE_SHARE
from sampled import few

pytestmark = pytest.mark.filterwarnings("ignore")
ALL = [*KINDS, *SCORED]
ROWS = [0, 7, 41]


def score_of(model, rows):
    """What contributions add up to, [row, label]: of two classes the log-odds, of more scores around their mean."""
    scores = model.scores(rows).reshape(len(rows), -1)
    if model.link != "softmax":
        return scores
    if scores.shape[1] == 2:
        return scores[:, 1:] - scores[:, :1]
    return scores - scores.mean(axis=1, keepdims=True)


def frame_parts(explanation):
    """The frame as an array [part, label], the baseline first, and the name of the baseline."""
    frame = explanation.to_frame("pandas")
    n_parts = len(explanation.names) + 1
    return frame["contribution"].to_numpy().reshape(n_parts, -1), frame["rule"].iloc[0]


def dict_parts(data):
    """The same of what JSON has."""
    parts = [data["baseline"], *(rule["contribution"] for rule in data["rules"])]
    return np.array([list(part.values()) if isinstance(part, dict) else [part] for part in parts])


def text_parts(explanation):
    """The same of the printed lines, and half of the last place that is printed; factors as their logarithms."""
    head, _, *lines = str(explanation).splitlines()
    n_labels = frame_parts(explanation)[0].shape[1]
    after = 0 if explanation.family.link == "identity" else 1  # the prediction so far
    found = []
    for line in lines[: len(explanation.names) + 1]:
        cells = line.split()
        if explanation.family.link == "hazard":
            factors = [cell for cell in cells if re.fullmatch(r"×[\d.e-]+", cell)]
            found.append([np.log(float(factors[0][1:]))])
            continue
        cells = cells[: len(cells) - after][-n_labels:]
        found.append([float(cell) for cell in cells])
    decimals = len(cells[-1].partition(".")[2])
    return np.array(found), 0.02 if explanation.family.link == "hazard" else 0.501 * 10.0**-decimals, head


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", ALL)
def test_every_view_has_the_same_numbers(kind, raw, tmp_path):
    model = make_model(kind).model_
    if raw and model.family.aggregation == "mean":
        with pytest.raises(ParameterError, match="weighted mean of rules"):
            model.explain(new_rows(), raw=True)
        return
    base = "intercept" if raw else "mean" if model.family.aggregation == "mean" else "average"
    for row in ROWS:
        rows = new_rows()[row : row + 1]
        explanation = model.explain(rows, raw=raw)
        parts, name = frame_parts(explanation)
        assert name == f"({base})" == f"({explanation.measured_from})"
        assert np.abs(parts.sum(axis=0) - score_of(model, rows)[0]).max() < 1e-9
        data = json.loads(json.dumps(explanation.to_dict()))
        assert data["measured_from"] == base and data["scale"] == explanation.scale
        np.testing.assert_array_equal(dict_parts(data), parts)
        shown, precision, head = text_parts(explanation)
        assert head == explanation.convention and {"average": "average", "mean": "mean"}.get(base, "intercept") in head
        assert np.abs(shown - parts).max() <= precision
        if kind != "survival":
            assert explanation.measured_from in str(explanation).splitlines()[2].split()
        expected = model.decision(model.align(rows))
        if model.family.aggregation == "mean":
            assert explanation.prediction == pytest.approx(expected, rel=1e-12)
        else:
            assert (explanation.prediction == expected).all()  # to the last bit
        assert (explanation.running[:, -1] == explanation.prediction).all()


@pytest.mark.parametrize("kind", few(ALL))
def test_inputs_stand_beside_the_rules_or_below_where_lines_would_be_long(kind, monkeypatch):
    explanation = make_model(kind).model_.explain(new_rows()[:2])
    frame, read = explanation.to_frame("pandas"), [explanation.inputs(row) for row in range(2)]
    for row in range(2):
        own = frame[frame["row"] == row].drop_duplicates("rule")["input"].tolist()
        assert own[0] == "" and set(own[1:]) == set(read[row])
        assert [rule["input"] for rule in explanation[row].to_dict()["rules"]] == read[row]
        for width, beside in ((1000, True), (10, False)):
            monkeypatch.setattr("pysirus._use.explain.LINE", width)
            text = str(explanation[row])
            assert (" input" in text.splitlines()[1]) == beside and ("\ninputs:" in text) != beside
            assert beside or "\xa0" not in text
            words = {word.strip(",") for own in read[row] for word in own.split()}
            assert words <= {word.strip(",") for word in text.split()}


@pytest.mark.parametrize("kind", few(ALL))
def test_the_figure_has_the_same_steps(kind):
    plot = pytest.importorskip("pysirus.plot")
    plt = pytest.importorskip("matplotlib.pyplot")
    model = make_model(kind).model_
    rows = new_rows()[7:8]
    explanations = (
        [model.explain(rows)] if model.family.aggregation == "mean" else [model.explain(rows, raw=r) for r in (0, 1)]
    )
    for explanation in explanations:
        label = None if model.classes is None else model.classes[-1]
        ax = plot.waterfall(model, explanation, class_=label)
        parts, _ = frame_parts(explanation)
        bars = sorted(bar.get_width() for bar in ax.patches if bar.get_height() > 0.5)
        own = parts[1:, -1]
        if model.link == "softmax" and len(model.classes) > 2:  # the figure shows the score itself
            own = explanation.contributions[0, :, -1]
        np.testing.assert_allclose(bars, np.sort(own), atol=1e-9)
        assert explanation.measured_from in ax.get_yticklabels()[0].get_text()
        plt.close("all")


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind != "weighted mean"])
def test_contributions_to_the_average_training_row_are_zero(kind):
    X, _ = make_table(600, seed=0)
    explanation = make_model(kind).explain(X)
    means = explanation.contributions.mean(axis=0)
    spans = np.ptp(explanation.contributions, axis=0)
    lines = np.array([bool(rule.line_values) for rule in explanation.rules] + [False] * len(explanation.terms))
    assert np.abs(means[~lines]).max() < 1e-9
    assert (np.abs(means[lines]) <= RANGE_SHARE * spans[lines]).all()  # their mean is told in few digits
    if not lines.any():
        assert np.abs(explanation.scores.mean(axis=0) - explanation.baseline).max() < 1e-9


def test_terminal_and_json_say_the_same(run, tmp_path):
    draw = np.random.default_rng(3)
    X = pd.DataFrame({"Records": draw.choice(["yes", "no"], 300, p=[0.2, 0.8]), "age": draw.integers(18, 80, 300)})
    odds = 1.5 * (X["Records"] == "yes") - 0.02 * (X["age"] - 40)
    X["status"] = np.where(draw.random(300) < 1 / (1 + np.exp(-odds)), "good", "bad")
    X.to_csv(tmp_path / "credit.csv", index=False)
    file = tmp_path / "credit.json"
    arguments = ["-t", "status", "-n", 4, "--trees", 300, "--seed", 1, "-m", file]
    assert run("fit", tmp_path / "credit.csv", *arguments)[0] == 0
    for option in ([], ["--raw"]):
        code, text, _ = run("explain", file, tmp_path / "credit.csv", "--row", 5, *option)
        data = json.loads(run("explain", file, tmp_path / "credit.csv", "--row", 5, "--json", *option)[1])
        shown = [float(re.split(r" {2,}", line)[-2]) for line in text.splitlines()[2:-2]]
        assert code == 0 and shown == pytest.approx(dict_parts(data)[:, 0].tolist(), abs=0.0051)
        assert data["scale"] == "the log-odds of good" and data["scale"] in text.splitlines()[0]
    pysirus.NodeHarvestRegressor(n_nodes=20, random_state=0).fit(X[["age"]], X["age"] ** 2.0).save(tmp_path / "n.json")
    code, _, err = run("explain", tmp_path / "n.json", tmp_path / "credit.csv", "--raw")
    assert code == 2 and "--raw" in err and "weighted mean" in err

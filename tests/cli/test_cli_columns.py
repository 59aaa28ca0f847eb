"""What columns are for, on the command line: labels, weights, columns to leave out, classes, gaps, an index."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pysirus


@pytest.fixture
def table(tmp_path):
    """A CSV file with numbers, codes, text with gaps, an identifier, weights and two targets."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "zip": rng.integers(1, 5, n),
            "color": rng.choice(["red", "blue", None], n),
            "id": np.arange(n),
            "w": rng.integers(0, 3, n),
        }
    )
    frame["price"] = frame["age"] / 20 + frame["zip"].isin([1, 4]) * 3 + (frame["color"] == "red") + rng.random(n)
    frame["sold"] = frame["price"] > frame["price"].median()
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def test_labels_weights_and_columns_to_drop(run, table, tmp_path):
    arguments = ["fit", table, "--target", "price", "--trees", 500, "--model", tmp_path / "m.json"]
    code, out, err = run(*arguments, "--categorical", "zip", "--drop", "id,sold", "--sample-weight", "w")
    assert code == 0
    assert "zip in {" in out and "id " not in out
    assert "columns: 1 numeric (age), 2 categorical (zip in {1, 2, 3, 4}; color in {blue, red})" in err
    assert "missing values by weight: color (3" in err
    frame = pd.read_csv(table)
    model = pysirus.SirusRegressor(n_trees=500, random_state=0, categorical_features=["zip"])
    model.fit(frame[["age", "zip", "color"]], frame["price"], frame["w"])
    loaded = pysirus.load(tmp_path / "m.json")
    assert loaded.rules_ == model.rules_
    assert [r.inside for r in loaded.rules_] == [r.inside for r in model.rules_]
    code, out, _ = run("predict", tmp_path / "m.json", table)
    assert code == 0
    np.testing.assert_allclose(np.array(out.split()[1:], dtype=float), model.predict(frame[["age", "zip", "color"]]))


@pytest.mark.parametrize("command", ["fit", "tune"])
def test_true_and_false_are_classes(run, table, tmp_path, command):
    few = ["--folds", 3, "--repeats", 1] if command == "tune" else []
    arguments = [command, table, "--target", "sold", "--drop", "price", "--drop", "id", "--trees", 200, *few]
    code, out, _ = run(*arguments, "--model", tmp_path / "m.json")
    assert code == 0
    assert out.startswith("probability of sold = True: ") and "log-odds of sold = True" in out
    assert pysirus.load(tmp_path / "m.json").classes_.tolist() == [False, True]
    if command == "tune":
        assert "unexplained deviance" in out


def test_numbers_are_classes_when_asked(run, table):
    arguments = ["fit", table, "--target", "zip", "--drop", "id", "--trees", 200]
    code, out, _ = run(*arguments, "--task", "classification")
    assert code == 0
    assert out.startswith("zip on average: class ")
    code, out, _ = run(*arguments, "--task", "regression")
    assert out.startswith("mean zip = ")
    code, _, err = run("fit", table, "--target", "color", "--task", "regression", "--strict")
    assert code == 1 and "'color', the target, is missing" in err
    (table.parent / "t.csv").write_text("a,kind\n1,new\n2,old\n3,new\n")
    code, _, err = run("fit", table.parent / "t.csv", "--target", "kind", "--task", "regression")
    assert code == 2 and "regression predicts numbers, and column 'kind' holds text such as 'new'" in err
    code, _, err = run(*arguments, "--task", "counting")
    assert code == 2 and "--task" in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("--drop", "ids", "no column 'ids' for the option --drop. Did you mean 'id'?"),
        ("--categorical", "zip,colour", "no column 'colour' for the option --categorical. Did you mean 'color'?"),
        ("--sample-weight", "weight", "no column 'weight' for the sample weights"),
        ("--sample-weight", "color", "Column 'color', the sample weights, must be numbers, found "),
    ],
)
def test_columns_that_are_not_there_are_named(run, table, option, value, message):
    code, _, err = run("fit", table, "--target", "price", option, value)
    assert code == 1
    assert message in err and len(err.strip().splitlines()) == 1


def test_the_target_cannot_be_the_weights(run, table):
    code, _, err = run("fit", table, "-t", "sold", "--sample-weight", "sold")
    assert code == 2 and "--sample-weight" in err and "'sold' is the target" in err


def test_weights_that_are_missing_are_named(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,w,y\n1,1,3\n2,,4\n3,2,5\n")
    code, _, err = run("fit", tmp_path / "t.csv", "-t", "y", "--sample-weight", "w")
    assert code == 1 and "Column 'w', the sample weights, contains NaN or infinity: nan in row 2" in err


@pytest.mark.parametrize(
    "values, message",
    [
        (["1,5", "2,5", "7"], "the target, holds numbers written as text (for example '1,5')"),
        (["1", "2", "k.A."], "the target, holds numbers and text (for example 'k.A.')"),
    ],
)
def test_a_target_of_numbers_as_text_is_not_classes_unless_asked(run, tmp_path, values, message):
    pd.DataFrame({"a": range(30), "y": values * 10}).to_csv(tmp_path / "t.csv", index=False)
    arguments = ["fit", tmp_path / "t.csv", "-t", "y", "--trees", 50]
    code, _, err = run(*arguments)
    assert code == 1 and message in err and "--task classification" in err
    assert run(*arguments, "--task", "classification")[0] == 0


def test_decimal_commas_are_read_in_files_with_semicolons(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    frame["y"] = frame["a"] + 0.1 * rng.random(200)
    outputs = []
    for sep, decimal in ((",", "."), (";", "."), (";", ",")):
        frame.to_csv(tmp_path / "t.csv", index=False, sep=sep, decimal=decimal)
        model = tmp_path / "m.json"
        fitted = run("fit", tmp_path / "t.csv", "-t", "y", "--trees", 200, "-m", model)
        commands = (["predict"], ["explain"], ["report", "-o", tmp_path / "r.html"])
        outputs.append([fitted, *(run(name, model, tmp_path / "t.csv", *rest) for name, *rest in commands)])
        assert [result[0] for result in outputs[-1]] == [0] * 4
    assert outputs[0] == outputs[1] == outputs[2]
    frame["b"] = [f"{1000 * value:,.2f}" for value in frame["b"]]  # 1,234.56
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    code, _, err = run("fit", tmp_path / "t.csv", "-t", "y", "--trees", 200, "--strict")
    assert code == 1 and "Column 'b' holds numbers written as text" in err
    code, _, err = run("fit", tmp_path / "t.csv", "-t", "y", "--trees", 200)
    assert code == 0 and "columns: 2 numeric (a, b)" in err


def test_a_target_of_whole_numbers_as_text_is_classes(run, tmp_path):
    pd.DataFrame({"a": range(30), "y": ["0", "1", "01"] * 10}).to_parquet(tmp_path / "t.parquet")
    assert run("fit", tmp_path / "t.parquet", "-t", "y", "--trees", 50)[0] == 0


def test_parquet_keeps_categories_and_their_order(run, tmp_path):
    rng = np.random.default_rng(0)
    size = rng.choice(["low", "mid", "high"], 200)
    frame = pd.DataFrame({"size": pd.Categorical(size, ["low", "mid", "high"], ordered=True), "x": rng.random(200)})
    frame["y"] = (size == "high") + frame["x"]
    frame.to_parquet(tmp_path / "t.parquet")
    code, _, err = run("fit", tmp_path / "t.parquet", "-t", "y", "--trees", 200)
    assert code == 0
    assert "columns: 1 numeric (x), 1 ordered (size in {low, mid, high})" in err


def test_an_index_that_pandas_wrote_is_left_out(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(100), "b": 1.0, "y": rng.random(100)}).sort_values("y")
    frame.reset_index(drop=True).to_csv(tmp_path / "t.csv")
    code, _, err = run("fit", tmp_path / "t.csv", "-t", "y", "--trees", 100, "--model", tmp_path / "m.json")
    assert code == 0
    assert "Column 'Unnamed: 0' numbers the rows" in err
    assert "of no use: b (constant)" in err
    assert run("predict", tmp_path / "m.json", tmp_path / "t.csv")[0] == 0


def test_text_stays_text_in_new_rows_that_look_like_something_else(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"code": rng.choice(list("12AB"), 200), "said": rng.choice(["true", "false", "?"], 200)})
    frame["y"] = (frame["code"] == "1") * 2.0 + (frame["said"] == "true") + 0.1 * rng.random(200)
    frame.to_csv(tmp_path / "all.csv", index=False)
    assert run("fit", tmp_path / "all.csv", "-t", "y", "--trees", 200, "-m", tmp_path / "m.json")[0] == 0
    everything = run("predict", tmp_path / "m.json", tmp_path / "all.csv")[1].split()[1:]
    part = (frame["code"].isin(["1", "2"]) & (frame["said"] != "?")).to_numpy()
    frame[part].to_csv(tmp_path / "part.csv", index=False)  # pyarrow alone reads integers and booleans here
    code, out, err = run("predict", tmp_path / "m.json", tmp_path / "part.csv")
    assert code == 0 and err == ""
    assert out.split()[1:] == np.array(everything)[part].tolist()
    code, out, err = run("explain", tmp_path / "m.json", tmp_path / "part.csv")
    assert code == 0 and err == ""


def test_labels_keep_their_leading_zeros(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"zip": rng.choice(["01234", "1234", "20095"], 200), "x": rng.random(200)})
    frame["size"] = rng.integers(1, 4, 200)
    frame["y"] = (frame["zip"] == "01234") * 2.0 + (frame["size"] == 2) + 0.1 * frame["x"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["fit", tmp_path / "t.csv", "-t", "y", "--trees", 200, "-m", tmp_path / "m.json"]
    code, out, err = run(*arguments, "--categorical", "zip, size")
    assert code == 0 and "if zip in {1234, 20095} " in out
    assert "zip in {01234, 1234, 20095}; size in {1, 2, 3}" in err
    frame["zip"] = pd.Categorical(frame["zip"])
    model = pysirus.SirusRegressor(n_trees=200, random_state=0, categorical_features=["size"])
    model.fit(frame[["zip", "x", "size"]], frame["y"])
    part = frame[frame["zip"] != "20095"]
    for rows in (frame, part, part[part["zip"] == "1234"]):
        rows.to_csv(tmp_path / "new.csv", index=False)
        code, out, err = run("predict", tmp_path / "m.json", tmp_path / "new.csv")
        assert code == 0 and err == ""
        np.testing.assert_allclose(np.array(out.split()[1:], dtype=float), model.predict(rows.drop(columns="y")))
    code, _, err = run(*arguments)
    assert code == 0 and "columns: 3 numeric (zip, x, size)" in err


def test_one_strange_value_leaves_the_others_what_they_are(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"flag": rng.random(100) < 0.5, "zip": rng.integers(1, 4, 100)})
    frame["y"] = frame["flag"] * 3.0 + (frame["zip"] == 2)
    frame.to_csv(tmp_path / "all.csv", index=False)
    arguments = ["--categorical", "zip", "--trees", 200, "-m", tmp_path / "m.json"]
    assert run("fit", tmp_path / "all.csv", "-t", "y", *arguments)[0] == 0
    expected = run("predict", tmp_path / "m.json", tmp_path / "all.csv")[1].split()[1:]
    strange = frame.astype(object)
    strange.loc[0, ["flag", "zip"]] = ["perhaps", "near 2"]
    strange.to_csv(tmp_path / "strange.csv", index=False)  # both columns are read as text
    code, out, err = run("predict", tmp_path / "m.json", tmp_path / "strange.csv")
    assert code == 0 and "1 of 100 rows have an unseen category (in flag, zip)" in err
    assert out.split()[2:] == expected[1:]


def test_predict_writes_the_probability_of_each_class(run, table, tmp_path):
    arguments = ["fit", table, "--target", "sold", "--drop", "price,id", "--trees", 200, "--model", tmp_path / "m.json"]
    assert run(*arguments)[0] == 0
    code, out, _ = run("predict", tmp_path / "m.json", table, "--probabilities")
    assert code == 0
    lines = [line.split(",") for line in out.splitlines()]
    assert lines[0] == ["prediction", "probability_False", "probability_True"]
    frame = pd.read_csv(table)
    shares = pysirus.load(tmp_path / "m.json").predict_proba(frame[["age", "zip", "color", "w"]])
    np.testing.assert_array_equal(np.array([line[1:] for line in lines[1:]], dtype=float), shares)
    assert [line[0] == "True" for line in lines[1:]] == (shares[:, 1] > 0.5).tolist()
    assert run("fit", table, "--target", "price", "--model", tmp_path / "n.json", "--trees", 50)[0] == 0
    code, _, err = run("predict", tmp_path / "n.json", table, "--probabilities")
    assert code == 2 and "--probabilities" in err


def test_predict_keeps_columns(run, table, tmp_path):
    arguments = ["fit", table, "--target", "sold", "--drop", "price,id,w", "--trees", 200, "-m", tmp_path / "m.json"]
    assert run(*arguments)[0] == 0
    frame = pd.read_csv(table)
    frame["id"] = [f"{i:05d}" for i in range(300)]
    frame["a,b"] = ["1.50", "true", None] * 100
    frame.to_csv(tmp_path / "t.csv", index=False)
    predict = ["predict", tmp_path / "m.json", tmp_path / "t.csv"]
    alone = run(*predict)[1].splitlines()
    code, out, _ = run(*predict, "--keep", "id, age", "--keep", "a,b")
    assert code == 0
    kept = [f"{i},{age},{said}," for i, age, said in zip(frame["id"], frame["age"], ["1.50", "true", ""] * 100)]
    assert out.splitlines() == ['id,age,"a,b",prediction', *(a + b for a, b in zip(kept, alone[1:]))]
    assert run(*predict, "--keep", "w,id", "--probabilities", "-o", tmp_path / "p.parquet")[0] == 0
    found = pd.read_parquet(tmp_path / "p.parquet")
    assert found.columns.tolist() == ["w", "id", "prediction", "probability_False", "probability_True"]
    assert found["id"].tolist() == frame["id"].tolist() and found["w"].tolist() == frame["w"].tolist()
    code, _, err = run(*predict, "--keep", "ids")
    assert code == 1 and "no column 'ids' for the option --keep. Did you mean 'id'?" in err
    frame.rename(columns={"w": "probability_True"}).to_csv(tmp_path / "t.csv", index=False)
    assert run(*predict, "--keep", "probability_True")[0] == 0
    code, _, err = run(*predict, "--keep", "probability_True", "--probabilities", "-o", tmp_path / "q.csv")
    assert code == 2 and "--keep" in err and "'probability_True' is the name of a column that is added" in err
    assert not (tmp_path / "q.csv").exists()


def test_predict_keeps_columns_beside_a_model_without_names(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = pysirus.SirusRegressor(n_trees=100, random_state=0).fit(X, X[:, 0])
    model.save(tmp_path / "m.json")
    pd.DataFrame({"id": range(100), "a": X[:, 0], "b": X[:, 1]}).to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = run("predict", tmp_path / "m.json", tmp_path / "t.csv", "--keep", "id")
    assert code == 0
    lines = [line.split(",") for line in out.splitlines()[1:]]
    assert [line[0] for line in lines] == [str(i) for i in range(100)]
    np.testing.assert_array_equal([float(line[1]) for line in lines], model.predict(X))


@pytest.mark.parametrize(
    "text, weight",
    [("balanced", "balanced"), ("true=5", {True: 5}), ("True=0.5, False=2", {True: 0.5, False: 2})],
)
def test_classes_are_weighed(run, table, tmp_path, text, weight):
    frame = pd.read_csv(table).drop(columns=["price", "id", "w"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "parts").mkdir()
    for i in range(2):
        frame[150 * i : 150 * (i + 1)].to_parquet(tmp_path / "parts" / f"{i}.parquet", index=False)
    options = ["--target", "sold", "--trees", 200, "--class-weight", text]
    model = pysirus.SirusClassifier(n_trees=200, random_state=0, class_weight=weight)
    expected = f"{model.fit(frame.drop(columns='sold'), frame['sold'])}\n"
    assert run("fit", tmp_path / "t.csv", *options)[:2] == (0, expected)
    assert run("fit", tmp_path / "parts", *options)[:2] == (0, expected)
    tuning = ["--max-rules", 3, "--folds", 2, "--repeats", 1]
    code, out, _ = run("tune", tmp_path / "t.csv", *options, *tuning)
    assert code == 0 and out.split(";")[0] == expected.split(";")[0]


@pytest.mark.parametrize(
    "text, message",
    [
        ("maybe=2,a=1", "'maybe' is not a class. The classes are: a, b=c, d,e."),
        ("a=much", "the weight of 'a' must be a number above 0, got 'much'"),
        ("a=-1", "the weight of 'a' must be a number above 0, got '-1'"),
        ("a=2,a=3", "'a' is named twice"),
        ("a=2,5", "balanced, or pairs such as yes=5,no=1, got 'a=2,5'"),
        ("equal", "balanced, or pairs such as yes=5,no=1, got 'equal'"),
        ("", "balanced, or pairs such as yes=5,no=1, got ''"),
    ],
)
def test_weights_of_classes_that_cannot_be(run, tmp_path, text, message):
    frame = pd.DataFrame({"x": range(30), "y": ["a", "b=c", "d,e"] * 10})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    arguments = ["-t", "y", "--trees", 50, "--class-weight"]
    for command in (["fit", tmp_path / "t.csv"], ["tune", tmp_path / "t.csv"], ["fit", tmp_path, "--memory", "64MB"]):
        code, _, err = run(*command, *arguments, text)
        assert code == 2 and "--class-weight" in err and message in err
    assert run("fit", tmp_path / "t.csv", *arguments, "b=c=2,d,e=3")[0] == 0
    code, _, err = run("fit", tmp_path / "t.csv", "-t", "x", "--class-weight", "balanced")
    assert code == 2 and "--class-weight" in err and "this target is a number" in err


def test_classes_of_whole_numbers_are_named_as_typed(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,0.0\n2,1.0\n3,1.0\n" * 10)
    arguments = ["fit", tmp_path / "t.csv", "-t", "y", "--task", "classification", "--trees", 50]
    code, out, _ = run(*arguments, "--class-weight", "0=2")
    assert code == 0 and out.startswith("probability of class 1.0: 50.0% on average")


def test_several_parquet_files_are_read_in_batches(run, table, tmp_path):
    frame = pd.read_csv(table)
    (tmp_path / "parts").mkdir()
    for i in range(3):
        frame[100 * i : 100 * (i + 1)].to_parquet(tmp_path / "parts" / f"{i}.parquet", index=False)
    options = ["--target", "price", "--trees", 500, "--categorical", "zip", "--drop", "id,sold", "--sample-weight", "w"]
    expected = run("fit", table, *options)
    assert expected[0] == 0
    for name in (tmp_path / "parts", tmp_path / "parts" / "*.parquet"):
        code, out, err = run("fit", name, *options)
        assert (code, out) == (0, expected[1])
        assert "columns: 1 numeric (age), 2 categorical (zip in {1, 2, 3, 4}; color in {blue, red})" in err
        assert "missing values by weight: color (3" in err
    one = run("fit", tmp_path / "parts" / "0.parquet", *options, "--memory", "64MB")
    assert one[0] == 0 and "100 rows" not in one[2]  # rows of weight zero do not count
    code, _, err = run("fit", tmp_path / "parts", *options, "--memory", "much")
    assert code == 2 and "a size such as 500MB or 2GB, got 'much'" in err
    assert run("fit", table, *options, "--memory", "1GB")[:2] == (0, expected[1])
    code, _, err = run("fit", tmp_path / "parts")
    assert code == 2 and "say which column to predict: age, zip" in err


def test_several_files_are_tuned_in_batches(run, table, tmp_path):
    frame = pd.read_csv(table)
    (tmp_path / "parts").mkdir()
    for i in range(2):
        frame[150 * i : 150 * (i + 1)].to_parquet(tmp_path / "parts" / f"{i}.parquet", index=False)
    columns = ["--target", "price", "--categorical", "zip", "--drop", "id,sold", "--sample-weight", "w"]
    options = [*columns, "--trees", 50, "--folds", 3, "--repeats", 1]
    expected = run("tune", table, *options)
    assert expected[0] == 0
    model = tmp_path / "m.json"
    code, out, _ = run("tune", tmp_path / "parts" / "*.parquet", *options, "--memory", "64MB", "--model", model)
    assert (code, out) == (0, expected[1])
    assert pysirus.load(model).path_.n_repeats == 1
    together = [*options, "--groups", "age", "--stages", "2"]
    expected = run("tune", table, *together)
    assert expected[0] == 0 and run("tune", tmp_path / "parts", *together)[:2] == expected[:2]
    code, _, err = run("fit", table, "--tune", "--memory", "64MB", *columns, "--groups", "agr")
    assert code and "agr" in err


def test_a_line_break_in_a_name_breaks_no_line(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sum\ninsured": rng.random(100), "kind": rng.choice(["a\tb", "c"], 100)})
    frame["paid\n(net)"] = frame["sum\ninsured"] + (frame["kind"] == "c")
    frame.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["fit", tmp_path / "t.csv", "-t", "paid\n(net)", "--trees", 200, "-n", 3, "-m", tmp_path / "m.json"]
    code, out, err = run(*arguments)
    lines = out.rstrip().splitlines()
    assert code == 0 and lines[0].startswith(r"mean paid\n(net) = ") and r"sum\ninsured" in out
    assert len(lines) == 3 + len(pysirus.load(tmp_path / "m.json").rules_) and len({len(s) for s in lines[2:]}) == 1
    assert r"columns: 1 numeric ('sum\ninsured'), 1 categorical (kind in {'a\tb', c})" in err
    code, out, _ = run("explain", tmp_path / "m.json", tmp_path / "t.csv")
    assert code == 0 and out.splitlines()[1].endswith(r"paid\n(net)")
    assert out.startswith(r"Contributions to paid\n(net), from")


def test_columns_are_said_in_round_numbers(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((400, 8)), columns=list("abcdefgh"))
    frame["y"] = frame["a"] + frame["b"]
    frame.loc[1:, "a"] = np.nan
    frame.loc[:99, "b"] = np.nan
    frame.loc[:0, "c"] = np.nan
    frame["h"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    _, _, err = run("fit", tmp_path / "gaps.csv", "--target", "y", "--trees", 100, "--drop", "b,c,d,e,f,g,h")
    assert "400 rows, 1 feature;" in err
    _, _, err = run("fit", tmp_path / "gaps.csv", "--target", "y", "--trees", 100)
    assert "columns: 8 numeric (a, b, c, d, e, f, ...)" in err
    assert "missing values: a (99%), b (25%), c (0.25%)\nof no use: h (all missing)" in err


def test_rows_of_no_weight_need_no_target(run, table, tmp_path):
    frame = pd.read_csv(table)
    options = ["--target", "price", "--trees", 100, "--sample-weight", "w", "--drop", "sold,id"]
    expected = run("fit", table, *options)
    frame.loc[frame["w"] == 0, "price"] = np.nan
    frame.to_csv(tmp_path / "unpriced.csv", index=False)
    frame.to_parquet(tmp_path / "unpriced.parquet")
    for more in (["unpriced.csv"], ["unpriced.parquet"], ["unpriced.parquet", "--memory", "64MB"]):
        assert run("fit", tmp_path / more[0], *options, *more[1:])[:2] == expected[:2]
    code, _, err = run("fit", tmp_path / "unpriced.csv", "--target", "price", "--strict")
    assert code == 1 and "is missing in" in err
    code, _, err = run("fit", tmp_path / "unpriced.csv", "--target", "price", "--trees", 10)
    assert code == 0 and f"Warning: {(frame['w'] == 0).sum()} of 300 rows have no target and are left out." in err

"""Commands on new rows: which columns they ask for."""

import numpy as np
import pandas as pd


def test_no_command_asks_for_columns_that_only_rules_of_weight_zero_look_at(run, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, 3)), columns=["a", "b", "idle"])
    table = X.assign(y=X["a"] + 0.5 * (X["b"] > 0.5))
    table.to_csv(tmp_path / "all.csv", index=False)
    table.drop(columns="idle").assign(more="x").to_csv(tmp_path / "new.csv", index=False)
    options = ("--target", "y", "--require", "idle < 0.5", "--trees", 100, "--folds", 3, "--repeats", 1)
    assert run("tune", tmp_path / "all.csv", *options, "--max-rules", 8, "--model", tmp_path / "m.json")[0] == 0
    answers = {}
    for name in ("all.csv", "new.csv"):
        for command in ("predict", "score"):
            code, answers[command, name], err = run(command, tmp_path / "m.json", tmp_path / name)
            assert code == 0, err
        for command in (("explain",), ("report", "-o", tmp_path / "r.html")):
            code, _, err = run(command[0], tmp_path / "m.json", tmp_path / name, *command[1:])
            assert code == 0, err
    assert answers["predict", "all.csv"] == answers["predict", "new.csv"]
    assert answers["score", "all.csv"] == answers["score", "new.csv"]

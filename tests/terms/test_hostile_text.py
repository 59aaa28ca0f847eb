"""Texts of strangers are read or refused within a bound of steps; a text that fits two rules is refused."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import pysirus
from pysirus import ModelFileError, RuleTextError, SirusRegressor
from pysirus._terms.from_text import CutColumn, columns_of_rules, read_rule
from pysirus._terms.lexicon import MORE_STEPS, MOST_STEPS, Lexicon
from pysirus._terms.parse import MOST_CONDITIONS, parse_rule
from pysirus._text.format import apart, from_quotes, in_quotes
from sampled import FULL

TRUTH = (False, True)
NESTED = [CutColumn("a", "categorical", TRUTH), CutColumn("a & a", "categorical", TRUTH)]
ENDLESS = " & ".join(["a"] * 60) + " !"


def steps_for(text, columns):
    lexicon, error = Lexicon(columns), None
    try:
        parse_rule(text, lexicon)
    except RuleTextError as caught:
        error = caught
    return MOST_STEPS + MORE_STEPS - lexicon.steps, error


def test_names_within_names_are_read_place_by_place():
    steps, error = steps_for(ENDLESS, NESTED)
    assert error is not None and error.position == len(ENDLESS) - 1
    longer, _ = steps_for(" & ".join(["a"] * 600) + " !", NESTED)
    assert longer < 11 * steps < 100_000


@pytest.mark.parametrize(
    "text",
    [
        " & ".join(["a"] * 200_000),
        "(" * 200_000 + "a",
        "a" + " " * 500_000 + "!",
        "a < " + "1" * 500_000,
        "1" * 500_000 + " of",
        "+1 for " + "if " * 200_000,
        "+1 for x " + "if a & " * 50_000,
        "a & " * 3_000 + "a",
    ],
)
def test_long_texts_are_refused(text):
    columns = [*NESTED, CutColumn("if a", "categorical", TRUTH), CutColumn(" a", "numeric")]
    steps, error = steps_for(text, columns)
    assert error is not None and 0 <= error.position <= len(text)
    assert steps <= MOST_STEPS + MORE_STEPS + len(text)  # a number is one look


def test_levels_within_levels_are_refused_when_they_take_too_long():
    column = CutColumn("a", "categorical", tuple(",".join(["b"] * (k + 1)) for k in range(255)))
    _, error = steps_for("a in {" + ",".join(["b"] * 100_000) + "!", [column])
    assert error is not None and "steps to read this text" in str(error)


def test_a_rule_has_a_limit_of_conditions():
    columns = [CutColumn(f"x{i}", "numeric") for i in range(3_000)]
    text = " & ".join(f"x{i} < 1" for i in range(3_000))
    with pytest.raises(RuleTextError, match="3,000 conditions, and a rule has 1,000 at most"):
        read_rule(text, columns)
    most = " & ".join(f"x{i} < 1" for i in range(MOST_CONDITIONS))
    assert len(read_rule(most, columns).conditions) == MOST_CONDITIONS


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(200) < 0.5, "a & a": rng.random(200) < 0.5, "x": rng.normal(size=200)})
    path = tmp_path_factory.mktemp("model") / "m.json"
    SirusRegressor(n_trees=50, n_rules=4, random_state=0, forbidden=["x < 0.5"]).fit(X, X["a"] + X["x"]).save(path)
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", [ENDLESS, " & ".join(["a"] * 3_000), "a & a & a", "a & " * 100_000])
def test_a_file_with_such_a_text_is_damaged(document, tmp_path, text):
    path = tmp_path / "m.json"
    document = {**document, "constraints": {**document["constraints"], "forbidden": [text]}}
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"constraints\.forbidden has 'a & a"):
        pysirus.load(path)


@pytest.mark.parametrize("parameter", ["required_rules", "forbidden"])
@pytest.mark.parametrize("text", [ENDLESS, " & ".join(["a"] * 3_000)])
def test_a_parameter_with_such_a_text_is_refused(parameter, text):
    X = pd.DataFrame({"a": [True, False] * 50, "a & a": [True, True, False, False] * 25, "x": np.arange(100) % 7})
    with pytest.raises(RuleTextError):
        SirusRegressor(n_trees=10, **{parameter: [text]}).fit(X, X["x"])


def test_many_texts_share_their_steps(document, tmp_path):
    path = tmp_path / "m.json"
    texts = [" & ".join(["a"] * 5_000) + " & x < 1"] * 300
    document = {**document, "constraints": {**document["constraints"], "forbidden": texts}}
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ModelFileError):
        pysirus.load(path)


def test_a_long_key_is_not_copied_for_every_value_under_it(document, tmp_path):
    path = tmp_path / "m.json"
    facts = {**document["facts"], "k" * 2_000_000: [0] * 300_000 + [[[[[[[[[[]]]]]]]]]]}
    path.write_text(json.dumps({**document, "facts": facts}), encoding="utf-8")
    with pytest.raises(ModelFileError, match="more than 8 deep"):
        pysirus.load(path)


# ------------------------------------------------------------------------------------------------------- ambiguous text


def numeric(*names):
    return [CutColumn(name, "numeric") for name in names]


def test_a_name_is_not_taken_for_one_with_a_space_after_it():
    columns = numeric("x", "x ", " x", "x\xa0")
    for i, column in enumerate(columns):
        rule = read_rule(f"{apart(column.name)} < 3", columns)
        assert [c.index for c in rule.conditions] == [i]
        assert read_rule(rule.condition_text, columns) == rule == read_rule(rule.exact_text, columns)
    assert read_rule("x<3", columns).conditions[0].index == read_rule("1 <= x < 3", columns).conditions[0].index == 0
    for text in ("x  < 3", "1 <= x  < 3"):
        with pytest.raises(RuleTextError, match="in two ways") as caught:
            read_rule(text, columns)
        assert "'x ' < 3" in str(caught.value)


def test_a_name_with_spaces_is_found_without_them_where_it_is_the_only_one():
    assert read_rule("x < 3", numeric("x ")).conditions[0].feature == "x "
    with pytest.raises(RuleTextError, match="no column is called 'x'"):
        read_rule("x < 3", numeric(" x", "x\u200b"))


@pytest.mark.parametrize(
    "names, text",
    [
        (("a", "b", "a < 1 & b"), "a < 1 & b < 2"),
        (("x", "if x"), "if x < 3"),
        (("a", "b", "c", "a < 1 & b", "b < 2 & c"), "a < 1 & b < 2 & c < 3"),
    ],
)
def test_a_text_that_fits_two_rules_is_refused_and_shows_both(names, text):
    columns = numeric(*names)
    with pytest.raises(RuleTextError, match="it can be read in two ways: ") as caught:
        read_rule(text, columns)
    both = str(caught.value.problem).removeprefix("it can be read in two ways: ").split(". Write")[0].split(", or ")
    first, second = (read_rule(said, columns) for said in both)
    assert first != second and [read_rule(rule.exact_text, columns) for rule in (first, second)] == [first, second]


def test_short_forms_give_way_to_what_prints_so():
    columns = [*NESTED, CutColumn("not a", "categorical", TRUTH), CutColumn("b", "numeric")]
    assert read_rule("a & a = True", columns).conditions[0].feature == "a & a"
    with pytest.raises(RuleTextError, match=r"two ways: 'not a' in \{True\}, or 'a' in \{False\}"):
        read_rule("not a", columns)


def test_levels_that_hold_others_are_told_apart():
    column = CutColumn("town", "categorical", ("a", "b", "a, b", "c", "a}", "b "))
    for n in range(1, 6):
        for levels in combinations(column.levels, n):
            rule = read_rule(f"town in {{{', '.join(map(in_quotes, levels))}}}", [column])
            assert set(rule.conditions[0].levels) == set(levels)
            for text in (rule.condition_text, rule.exact_text):
                assert read_rule(text, [column]).conditions[0].levels == rule.conditions[0].levels, text


def test_thresholds_that_print_alike_are_told_apart():
    low, high = 0.1234561234567891, 0.1234561234567892
    column = CutColumn("x", "numeric", thresholds=((low, ("quantile", 1)), (high, ("quantile", 2))))
    assert read_rule(f"x < {low!r}", [column]).conditions[0].upper_cut == ("quantile", 1)
    with pytest.raises(RuleTextError, match=r"two thresholds of 'x' print as 0\.123456"):
        read_rule("x < 0.123456", [column])


# ------------------------------------------------------------------------------------------------ names that look alike

PIECES = ["x", "y", " ", "  ", "\xa0", "\u200b", "\u2003", "é", "e\u0301", "Å", "\u212b", "\t", "\n", "'", '"', "\\",
          "\\x20", "&", " & ", "<", " < 3", ">=", "=", " = ", "{", "}", "(", ")", ",", "if ", "not ",
          " in {", " is known", " or missing", " then ", "1", "-2", "×2", "for "]  # fmt: skip


def hostile_names(rng, n):
    names = {"".join(rng.choice(PIECES, rng.integers(1, 5))) for _ in range(3 * n)}
    return sorted(names)[:: max(1, len(names) // n)][:n]


def test_names_never_print_alike():
    rng = np.random.default_rng(0)
    names = {"".join(rng.choice(PIECES, rng.integers(0, 6))) for _ in range(20_000)}
    assert len({apart(name) for name in names}) == len({in_quotes(name) for name in names}) == len(names) > 10_000
    for name in names:
        assert from_quotes(in_quotes(name)) == name and "\n" not in apart(name) + in_quotes(name)


@pytest.mark.parametrize("seed", range(300) if FULL else range(40))
def test_what_prints_is_read_as_the_same_rule_or_refused(seed):
    rng = np.random.default_rng(seed)
    columns = []
    for name in hostile_names(rng, 7):
        kind = rng.choice(["numeric", "labels", "truth"])
        levels = {"numeric": (), "truth": TRUTH, "labels": tuple(hostile_names(rng, 5))}[kind]
        columns.append(CutColumn(name, "categorical" if levels else "numeric", levels))
    for _ in range(25):
        asked = []
        for i in rng.choice(len(columns), rng.integers(1, 4), replace=False):
            own = columns[i]
            name, some = in_quotes(own.name), [v for v in own.levels if rng.random() < 0.5][:-1] or own.levels[:1]
            levels = ", ".join(in_quotes(v) if isinstance(v, str) else str(v) for v in some)
            asked.append(f"{name} in {{{levels}}}" if own.levels and len(own.levels) > 1 else f"{name} is known")
            if not own.levels:
                asked[-1] = f"{name} < {rng.integers(9)}"
        rule = read_rule(" & ".join(asked), columns)
        assert read_rule(rule.exact_text, columns) == rule
        for text in (rule.condition_text, f"if {rule.condition_text} then 1 else 2"):
            try:
                again = read_rule(text, columns)
            except RuleTextError as error:
                assert "two ways" in str(error), text
            else:
                assert again == rule, text


def test_rules_of_a_model_go_to_the_column_that_they_name(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=["x", "x ", "é", "e\u0301"])
    y = X.to_numpy() @ [3.0, 1.0, 2.0, 1.0]
    options = {"n_trees": 60, "n_rules": 6, "random_state": 0}
    model = SirusRegressor(required_rules=["x < 0", "'e\\u0301' < 0"], **options).fit(X, y)
    given = [rule.conditions[0].feature for rule in model.rules_ if rule.given]
    assert given == ["x", "e\u0301"]
    model = SirusRegressor(forbidden=["x ", "é, x"], **options).fit(X, y)
    used = [{c.feature for c in rule.conditions} for rule in model.rules_]
    assert not any("x " in own or {"é", "x"} <= own for own in used) and any("x" in own for own in used)
    model = SirusRegressor(forbidden=["x < 0", "'x ' >= 1.5"], **options).fit(X, y)
    model.save(tmp_path / "m.json")
    forbidden = pysirus.load(tmp_path / "m.json").model_.constraints.forbidden
    assert [rule.conditions[0].feature for rule in forbidden] == ["x", "x "]
    with pytest.raises(RuleTextError, match="two ways"):
        SirusRegressor(required_rules=["x  < 0"], **options).fit(X, y)
    text = str(SirusRegressor(n_trees=60, n_rules=24, random_state=0).fit(X, y))
    assert "'x ' " in text and "'e\\u0301' " in text and " é " in text


def test_a_rule_is_removed_by_a_text_only_where_one_prints_so():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "a < 1 & b"])
    rules = ["'a' < 1 & 'b' < 2", "'a < 1 & b' < 2"]
    model = SirusRegressor(n_trees=60, n_rules=3, random_state=0, required_rules=rules).fit(X, X.sum(axis=1)).model_
    with pytest.raises(ValueError, match="Two rules print as 'a < 1 & b < 2'"):
        model.without("a < 1 & b < 2")
    left = model.without(rules[1])
    assert len(left.selected) == len(model.selected) - 1
    columns = columns_of_rules(model.features, model.selected)
    assert read_rule(rules[0], columns) in left.selected and read_rule(rules[1], columns) not in left.selected

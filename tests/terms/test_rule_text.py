"""The text of rules: what pysirus prints is read back, whatever names and levels hold; a fault is pointed at."""

import numpy as np
import pandas as pd
import pytest

import hostile
from pysirus import Rule, RuleTextError, SirusClassifier, SirusRegressor
from pysirus._terms.from_text import CutColumn, columns_of_rules, read_rule
from pysirus._terms.lexicon import level_texts
from sampled import FULL

COLUMNS = [
    CutColumn("age", "numeric", thresholds=((25 + 4e-15, ("quantile", 3)),), has_missing=True),
    CutColumn("debt", "numeric"),
    CutColumn("job", "categorical", ("clerk", "cook", "miner"), left_sets=frozenset([frozenset(["cook"])])),
    CutColumn("grade", "ordered", ("low", "mid", "high")),
    CutColumn("sport", "categorical", (False, True)),
    CutColumn("age & debt", "numeric"),
    CutColumn("town", "categorical", ("Bonn", "Oslo", "Pisa", "Rome", "Turku")),
]


@pytest.mark.parametrize(
    "text, printed",
    [
        ("age < 25", "age < 25"),
        ("if age<25 then 3 else 4", "age < 25"),
        ("  3 <= debt < 5.5 ", "3 <= debt < 5.5"),
        ("debt >= 3 & debt < 5.5", "3 <= debt < 5.5"),
        ("debt >= -1e-3", "debt >= -0.001"),
        ("(age < 25 or missing) & debt >= 1", "(age < 25 or missing) & debt >= 1"),
        ("age is missing & debt < 1", "age is missing & debt < 1"),
        ("age is known", "age is known"),
        ("job in {miner, clerk}", "job in {clerk, miner}"),
        ("job in {'miner',\"clerk\"}", "job in {clerk, miner}"),
        ("job in {all but cook}", "job in {clerk, miner}"),
        ("job in {all but cook, clerk}", "job = miner"),
        ("grade in {low} & debt < 1,250,000", "grade = low & debt < 1,250,000"),
        ("town in {all but Rome}", "town in {all but Rome}"),
        ("town in {Bonn, Oslo, Pisa, Turku}", "town in {all but Rome}"),
        ("grade in {mid, high}", "grade in {mid, high}"),
        ("age & debt < 3", "age & debt < 3"),
        ("age < 3 & age & debt < 3", "age < 3 & age & debt < 3"),
    ],
)
def test_rules_are_read(text, printed):
    assert read_rule(text, COLUMNS).condition_text == printed


def test_one_level_and_truth_have_short_forms():
    one = read_rule("job in {cook}", COLUMNS)
    assert read_rule("job = cook", COLUMNS) == one and one.conditions[0].levels == ("cook",)
    assert read_rule("sport", COLUMNS) == read_rule("sport = true", COLUMNS) == read_rule("sport in {True}", COLUMNS)
    assert read_rule("debt < 1 & not sport", COLUMNS) == read_rule("debt < 1 & sport = False", COLUMNS)


def test_cuts_that_are_known_keep_their_identity():
    condition = read_rule("age < 25", COLUMNS).conditions[0]
    assert (condition.upper, condition.upper_cut, condition.missing) == (25 + 4e-15, ("quantile", 3), False)
    assert read_rule("age < 26", COLUMNS).conditions[0].upper_cut == ("value", 26.0)
    both = read_rule("25 <= age < 26", COLUMNS).conditions[0]
    assert (both.lower_cut, both.upper_cut) == (("value", 25 + 4e-15), ("value", 26.0))
    rest = read_rule("job in {clerk, miner}", COLUMNS).conditions[0]
    assert (rest.lower_cut, rest.upper_cut) == (("levels", frozenset(["cook"])), None)


@pytest.mark.parametrize(
    "text, position, message",
    [
        ("", 0, "the text ends, expected"),
        ("aeg < 25", 0, "no column is called 'aeg' (did you mean 'age'?)"),
        ("age <= 25", 5, "use '<' or '>='"),
        ("age > 25", 4, "use '<' or '>='"),
        ("age < x", 6, "expected a number; found 'x'"),
        ("age < 1e999", 6, "expected a number; found '1e999'"),
        ("age < 25 &", 10, "the text ends"),
        ("age < 25 debt", 9, "expected 'or missing', 'then ', '&' or the end; found 'debt'"),
        ("job in {cok}", 8, "expected a category of 'job'; found 'cok' (did you mean 'cook'?)"),
        ("job in {cook", 12, "the text ends, expected ',' or '}'"),
        ("job < 3", 4, "expected 'is missing', 'is known', 'in' or '='; found '<'"),
        ("debt in {1}", 5, "expected 'is missing', 'is known', '>=' or '<'; found 'in'"),
        ("(age < 25", 9, "expected 'or missing' or ')'"),
        ("5 <= age < 3", 0, "no value of 'age' is in this interval"),
        ("age < 3 & age < 5", 10, "'age' has a condition already"),
        ("job in {cook, cook}", 0, "stands twice"),
        ("job in {clerk, cook, miner}", 0, "the condition is always true"),
        ("grade in {low, high}", 0, "these are no neighbours"),
        ("debt < 1 & grade in {low, high}", 11, "these are no neighbours"),
        ("job in {2 of 3 categories}", 8, "the line is folded, to look at and not to be read back"),
        ("town in {all but Bonn, Oslo, Pisa, Rome, Turku}", 0, "none is left"),
    ],
)
def test_a_fault_is_pointed_at(text, position, message):
    with pytest.raises(RuleTextError) as caught:
        read_rule(text, COLUMNS)
    error = caught.value
    assert error.position == position and message in str(error)
    first, shown, pointer = str(error).split("\n")
    assert (
        f"at character {position + 1}: " in first
        and pointer.index("^") == 4 + position
        and shown.strip() == text.strip()
    )


# ------------------------------------------------------------------------------------------------------- printed rules

PIECES = ["a", " & ", "<", ">=", " < 3", " in {", "}", ", ", "(", ")", " or missing", "if ", " then ", "é", "'", '"',
          "\n", "\t", "=", " is known", "not ", " ", "1", "-2.5", "\u202e", "\\", "x"]  # fmt: skip


def hostile_model(seed):
    """A model whose names and levels are made of the signs of the grammar."""
    rng = np.random.default_rng(seed)

    def word(i):
        return "".join(rng.choice(PIECES, rng.integers(1, 5))) + chr(0x4E00 + i)

    n = 120
    names = [word(i) for i in range(6)]
    levels = [[word(10 * i + k) for k in range(int(rng.integers(2, 6)))] for i in range(2)]
    levels[1][0] = f" {levels[1][0]} "
    X = pd.DataFrame({name: rng.normal(size=n).round(2) for name in names[:3]})
    for name, own in zip(names[3:5], levels):
        X[name] = rng.choice(own, n)
    X[names[5]] = pd.Categorical(rng.choice(levels[0], n), levels[0], ordered=True)
    X.loc[rng.random(n) < 0.2, [names[0], names[3]]] = None
    y = sum(rng.normal() * X[name].rank().fillna(0).to_numpy() for name in names[:3])
    y = y + 40 * sum(X[name].map({level: rng.normal() for level in X[name].dropna().unique()}).astype(float).fillna(0)
                     for name in names[3:5])  # fmt: skip
    options = {"n_trees": 60, "n_rules": 25, "random_state": seed, "max_depth": 2 + seed % 3}
    if seed % 2:
        return SirusClassifier(**options).fit(X, np.where(y > np.median(y), "then", "&"))
    return SirusRegressor(n_stages=2, **options).fit(X, y)


@pytest.mark.parametrize("seed", range(50) if FULL else range(6))
def test_print_parse_print_is_the_identity(seed):
    model = hostile_model(seed).model_
    columns = columns_of_rules(model.features, model.selected)
    assert len(model.selected) > 5
    for rule in model.selected:
        for text in (rule.condition_text, rule.set_text, rule.line(rule.condition_text)):
            again = read_rule(text, columns)
            assert again.condition_text == rule.condition_text and again.effect is None
            assert again.key == rule.key
        for effect in ("+0.5", "×2.25", "-3 for & if <"):
            text = rule.with_effect(effect).text
            again = read_rule(text, columns)
            assert again.text == text and again.key == rule.key and str(again.effect) == effect


def test_rules_of_hostile_tables_are_read_back():
    for kind in ("regression", "stages", "classes"):
        model = hostile.make_model(kind)._as_model()
        columns = columns_of_rules(model.features, model.selected)
        assert all(read_rule(rule.line(rule.condition_text), columns) == rule for rule in model.selected)
        assert max(len(str(rule)) for rule in model.selected) <= 120


def test_broken_texts_give_a_message_with_a_position():
    rng, n_broken = np.random.default_rng(0), 0
    whole = ["age < 25 & job in {cook, miner}", "(age < 25 or missing) & 3 <= debt < 5", "grade in {low} & sport",
             "if debt >= 7 then 3 else 4", "age is missing & job = cook",
             "+2.5 if age < 25", "-1 for no if job = cook", "×1.5 if sport"]  # fmt: skip
    i = 0
    while n_broken < (1_000 if FULL else 200):
        i += 1
        text = list(whole[i % len(whole)])
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(text)))
            text[at : at + int(rng.integers(0, 3))] = rng.choice(list("<>=&(){},x9 \n"), rng.integers(0, 3)).tolist()
        broken = "".join(text)
        try:
            found = read_rule(broken, COLUMNS)
            again = read_rule(found.text, COLUMNS)
            assert again == found and str(again.effect) == str(found.effect)  # it was no fault after all
        except RuleTextError as error:
            n_broken += 1
            assert 0 <= error.position <= len(broken) and "^" in str(error)
    assert i < 2 * n_broken  # most are broken


def test_levels_that_look_like_others_are_told_apart():
    assert level_texts(True)[0] == "True" and "true" in level_texts(True)
    assert level_texts(3.0) == ("3", "'3.0'", '"3.0"', "3.0") and level_texts(" a")[0] == "' a'"
    assert isinstance(read_rule("debt < 1", COLUMNS), Rule)


def test_levels_that_read_like_words_of_the_grammar_are_quoted():
    column = CutColumn("town", "categorical", ("Oslo", "Rome", "all but Oslo", "2 of 4 levels", "a & b"))
    for level in column.levels:
        own = read_rule(f"town in {{{level!r}}}", [column]).conditions[0]
        assert own.levels == (level,) and read_rule(str(own), [column]).conditions[0].levels == (level,)
    assert str(read_rule("town in {'all but Oslo'}", [column])) == "if town in {'all but Oslo'}"
    assert str(read_rule("town = Rome", [column])) == "if town = Rome"
    assert str(read_rule("town = a & b", [column])) == "if town in {a & b}"


def test_long_rules_are_folded_to_look_at():
    names = [f"{'very ' * 12}long name {i}" for i in range(5)]
    levels = tuple(f"level number {i}" for i in range(93))
    columns = [CutColumn(name, "numeric") for name in names]
    columns.append(CutColumn("city", "categorical", levels))
    rule = read_rule(f"{names[0]} < 3 & city in {{{', '.join(levels[:9])}}}", columns)
    assert len(str(rule)) <= 120 and "city in {9 of 93 categories}" in str(rule) and "long name 0" in str(rule)
    rest = read_rule(f"city in {{{', '.join(levels[2:])}}}", columns)
    assert str(rest) == "if city in {all but level number 0, level number 1}"
    deep = read_rule(" & ".join(f"{name} < {10 * i}" for i, name in enumerate(names)), columns)
    assert len(str(deep)) <= 120 and len(deep.folded(40)) <= 40 and deep.folded(40).endswith("more conditions")
    for folded in (str(rule), str(deep), deep.folded(40)):
        with pytest.raises(RuleTextError, match="the line is folded"):
            read_rule(folded, columns)

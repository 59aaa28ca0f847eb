"""A model in, the source of a Python function out that needs nothing but Python.

``predict(row)`` takes a mapping from column names to values; None, NaN and an absent column are missing. Numbers are
compared as doubles, as the model does: NumPy would round a threshold to the 32 bits of a value, and Python compares
long integers exactly.
"""

from __future__ import annotations

import keyword
from typing import Any

from pysirus._model.model import Model
from pysirus._plain import one_line
from pysirus._rules.rule import Rule
from pysirus._rules.term import LinearTerm
from pysirus.export._conditions import Test, check_labels, level_type, number, sums_of, tests_of, used_features

# what the module calls itself
TAKEN = frozenset({"_known", "_number", "_mean", "float", "min", "max", "dict"})


def _known(test: Test, value: str) -> str:
    if test.kind == "interval":
        lower = "" if test.lower is None else f"{number(test.lower)} <= "
        upper = "" if test.upper is None else f" < {number(test.upper)}"
        return f"{lower}{value}{upper}"
    listed = ", ".join(map(repr, test.levels)) + ("," if len(test.levels) == 1 else "")
    return f"{value} {test.kind} ({listed})"


def _test(test: Test) -> str:
    value = f"x{test.index}"
    if test.kind == "never":
        return f"{value} is None" if test.missing else "False"
    if test.kind == "known":
        return "True" if test.missing else f"{value} is not None"
    known = _known(test, value)
    return f"({value} is None or {known})" if test.missing else f"({value} is not None and {known})"


def _rule_lines(number_: int, rule: Rule, model: Model) -> list[str]:
    condition = " and ".join(map(_test, tests_of(rule, model))) or "True"
    return [f"    # {one_line(str(rule))}", f"    rule{number_} = {condition}"]


def _linear(term: LinearTerm) -> str:
    value, clipped = f"x{term.index}", f"min(max(x{term.index}, {number(term.lower)}), {number(term.upper)})"
    return f"{number(term.weight)} * ({number(term.missing)} if {value} is None else {clipped})"


def _sum(model: Model, name: str, k: int = 0) -> list[str]:
    """Lines that add a prediction up in ``name``: one at a time, for Python cannot compile a sum of thousands."""
    sums = sums_of(model, k)
    parts = enumerate(sums.parts, start=1)
    terms = [f"({number(inside)} if rule{r} else {number(outside)})" for r, (inside, outside) in parts]
    if sums.weights is None:
        return [
            f"    {name} = {number(sums.base)}",
            *(f"    {name} += {t}" for t in [*terms, *map(_linear, model.terms)]),
        ]
    lines = ["    total = 0.0", f"    weight = {number(sums.root)}", *(f"    total += {term}" for term in terms)]
    lines += [f"    weight += {number(w)} if rule{r} else 0.0" for r, w in enumerate(sums.weights, start=1)]
    return [*lines, f"    {name} = _mean({number(sums.base)}, total, weight)"]


def _body(model: Model) -> list[str]:
    lines = []
    for i in used_features(model):
        read = "_number" if model.features[i].kind == "numeric" else "_known"
        lines.append(f"    x{i} = {read}(row.get({model.features[i].name!r}))")
    for r, rule in enumerate(model.rules, start=1):
        lines += _rule_lines(r, rule, model)
    return lines


HEAD = '''"""{title}

Written by pysirus. ``{name}(row)`` takes a mapping from column names to values; None, NaN and absent columns are
missing.
"""


def _known(value):
    """None for a missing value."""
    return None if value is None or value != value else value


def _number(value):
    """A double; None for a missing value."""
    return None if _known(value) is None else float(value)


'''


MEAN = '''def _mean(base, total, weight):
    """The base plus a weighted mean; the base alone where nothing has weight."""
    return base + total / weight if weight > 0 else base


'''


def _regression(model: Model, name: str) -> str:
    lines = [
        f"def {name}(row):",
        '    """The predicted value."""',
        *_body(model),
        *_sum(model, "value"),
        "    return value",
    ]
    return "\n".join(lines)


def _classification(model: Model, name: str) -> str:
    assert model.classes is not None
    entries = [line for k in range(len(model.classes)) for line in _sum(model, f"share{k}", k)]
    pairs = ", ".join(f"({label!r}, share{k})" for k, label in enumerate(model.classes))
    lines = [
        f"def {name}_proba(row):",
        '    """The probability of each class."""',
        *_body(model),
        *entries,
        f"    return dict([{pairs}])",
        "",
        "",
        f"def {name}(row):",
        '    """The most likely class; the first of those that are equal."""',
        f"    shares = {name}_proba(row)",
        "    return max(shares, key=shares.get)",
    ]
    return "\n".join(lines)


def to_python(model: Model, *, name: str = "predict") -> str:
    """Source of a module with the function ``predict(row)``; for classes also ``predict_proba(row)``.

    Parameters
    ----------
    model : Model
        The model.
    name : str, default="predict"
        Name of the function.

    Returns
    -------
    text : str
    """
    _check(model, name)
    title = repr(f"Predicts {model.target}.")[1:-1].replace('"', '\\"')
    function = _regression(model, name) if model.classes is None else _classification(model, name)
    helper = MEAN if model.aggregation == "mean" else ""
    return HEAD.format(title=title, name=name) + helper + function + "\n"


def _check(model: Model, name: Any) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name must be a Python identifier, got {name!r}.")
    if name in TAKEN:
        raise ValueError(f"name must not be what the module itself calls: {name!r}.")
    check_labels(model, "Python")
    for i in used_features(model):
        if model.features[i].kind != "numeric":
            level_type(model, i, "Python")

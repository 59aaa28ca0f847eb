"""A model in, the source of a JavaScript function out that needs nothing: for Node, browsers and databases that run it.

``predict(row)`` takes an object or a Map from column names to values; null, undefined, NaN and absent columns are
missing. Numbers of JavaScript are doubles, as those of the model, and are added in its order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from pysirus._families.links import Form
from pysirus._model.model import Model
from pysirus._text.format import one_line
from pysirus.export._addends import Branch, Line, Listing, listing_of, pair_of
from pysirus.export._conditions import (
    ExportError,
    Test,
    check_doubles,
    check_labels,
    column_of,
    level_type,
    number,
    used_features,
)
from pysirus.export.lists import link_lines, part_lines

IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
WORDS = [
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "arguments",
    "module",
    "exports",
    "Map",
    "Math",
    "Number",
    "Object",
    "undefined",
    "NaN",
]

READ = """function _cell(row, name) {
  const value = row instanceof Map ? row.get(name)
    : Object.prototype.hasOwnProperty.call(row, name) ? row[name] : undefined;
  return value === undefined || value === null || value !== value ? null : value;
}

function _number(value) {
  return value === null || Number.isNaN(Number(value)) ? null : Number(value);
}

function _code(value) {
  return value === null || typeof value === "string" ? value : Number(value);
}

"""
MEAN = """function _mean(base, total, weight) {
  return weight > 0 ? base + total / weight : base;
}

"""
EXP = """function _exp(value) {
  return Math.exp(Math.min(value, 700.0));
}

"""
LARGEST = """function _largest(values) {
  let best = null;
  for (const [label, value] of values) {
    if (best === null || value > best[1]) best = [label, value];
  }
  return best[0];
}

"""


def _literal(value: Any) -> str:
    """Text, a number or a truth value; in text no tag can end."""
    if isinstance(value, float):
        return number(value)
    return json.dumps(value).replace("</", "<\\/")


def _known(test: Test, model: Model) -> str:
    value = f"x{test.index}"
    if test.kind == "interval":
        ends = [f"{value} >= {number(test.lower)}"] if test.lower is not None else []
        ends += [f"{value} < {number(test.upper)}"] if test.upper is not None else []
        return " && ".join(ends)
    is_text = level_type(model, test.index, "JavaScript") is str
    levels = [_literal(level if is_text else float(level)) for level in test.levels]
    return f"{'' if test.kind == 'in' else '!'}[{', '.join(levels)}].includes({value})"


def _test(test: Test, model: Model) -> str:
    value = f"x{test.index}"
    if test.kind == "never":
        return f"{value} === null" if test.missing else "false"
    if test.kind == "known":
        return "true" if test.missing else f"{value} !== null"
    known = _known(test, model)
    return f"({value} === null || ({known}))" if test.missing else f"({value} !== null && {known})"


def _branch(branch: Branch, k: int, name: str) -> str:
    return f"({name} ? {number(branch.inside[k])} : {number(branch.outside[k])})"


def _line(line: Line, k: int, name: str) -> str:
    return f"{number(line.slopes[k])} * {name}"


ADDENDS: dict[type, Callable[[Any, int, str], str]] = {Branch: _branch, Line: _line}


def _holds(branch: Branch, model: Model) -> str:
    return " && ".join(_test(test, model) for test in branch.tests) or "true"


def _held(line: Line, model: Model) -> str:
    """A column within its limits, less its centre."""
    value = f"x{line.index}"
    clipped = f"Math.min(Math.max({value}, {number(line.lower)}), {number(line.upper)})"
    held = f"({value} === null ? {number(line.missing)} : {clipped})"
    return f"{held} - {number(line.centre)}" if line.centre else held


VALUES: dict[type, Callable[[Any, Model], str]] = {Branch: _holds, Line: _held}  # what is told of a row


def _body(model: Model, listing: Listing) -> list[str]:
    lines = []
    for i in used_features(model):
        cell = f"_cell(row, {_literal(column_of(model, i))})"
        if model.features[i].kind == "numeric":
            cell = f"_number({cell})"
        elif level_type(model, i, "JavaScript") is not str:
            cell = f"_code({cell})"
        lines.append(f"  const x{i} = {cell};")
    for r, (own, said) in enumerate(zip(listing.addends, part_lines(listing.addends, model)), start=1):
        lines += [f"  // {_comment(said)}", f"  const rule{r} = {VALUES[type(own)](own, model)};"]
    return lines


def _comment(text: str) -> str:
    return one_line(text).encode("ascii", "backslashreplace").decode().replace("</", "<\\/")


def _sum(listing: Listing, name: str, k: int = 0) -> list[str]:
    added = [ADDENDS[type(own)](own, k, f"rule{r}") for r, own in enumerate(listing.addends, start=1)]
    start = number(listing.start[k])
    if listing.weights is None:
        return [f"  let {name} = {start};", *(f"  {name} += {part};" for part in added)]
    lines = ["  let total = 0.0;", f"  let weight = {number(listing.root)};", *(f"  total += {own};" for own in added)]
    lines += [f"  weight += rule{r} ? {number(w)} : 0.0;" for r, w in enumerate(listing.weights, start=1)]
    return [*lines, f"  const {name} = _mean({start}, total, weight);"]


def _function(name: str, lines: list[str], returned: str) -> list[str]:
    return [f"function {name}(row) {{", *lines, f"  return {returned};", "}", ""]


Functions = tuple[list[str], tuple[str, ...]]  # lines, and the names of the functions


def _value(model: Model, name: str, returned: str) -> Functions:
    listing = listing_of(model)
    return _function(name, [*_body(model, listing), *_sum(listing, "value")], returned), (name,)


def _sums(model: Model, name: str) -> list[str]:
    """A function that gives a number for each class, by its label."""
    listing, labels = listing_of(model), model.family.labels_of_sums
    lines = [line for k in range(len(labels)) for line in _sum(listing, f"sum{k}", k)]
    pairs = ", ".join(f"[{_literal(label)}, sum{k}]" for k, label in enumerate(labels))
    return _function(name, [*_body(model, listing), *lines], f"new Map([{pairs}])")


def _shares(model: Model, name: str) -> Functions:
    proba = f"{name}_proba"
    return [*_sums(model, proba), *_function(name, [], f"_largest({proba}(row))")], (name, proba)


def _softmax(model: Model, name: str) -> Functions:
    score, proba = f"{name}_score", f"{name}_proba"
    lines = [
        f"  const scores = {score}(row);",
        "  const largest = Math.max(...scores.values());",
        "  const parts = new Map([...scores].map(([label, own]) => [label, _exp(own - largest)]));",
        "  let total = 0.0;",
        "  for (const part of parts.values()) total += part;",
    ]
    shares = "new Map([...parts].map(([label, part]) => [label, part / total]))"
    found = [*_sums(model, score), *_function(proba, lines, shares)]
    return [*found, *_function(name, [], f"_largest({score}(row))")], (name, proba, score)


def _odds(model: Model, name: str) -> Functions:
    """Two classes that one score, the log-odds of the positive one, decides between."""
    listing, pair, labels = listing_of(model), pair_of(model.family), model.family.classes or ()
    other, positive = _literal(labels[pair.other]), _literal(labels[pair.positive])
    shares = [f"[{other}, 1.0 / (1.0 + _exp(own))]", f"[{positive}, 1.0 / (1.0 + _exp(-own))]"]
    listed = ", ".join(shares if pair.positive == 1 else shares[::-1])
    score, proba = f"{name}_score", f"{name}_proba"
    lines = _function(score, [*_body(model, listing), *_sum(listing, "value")], "value")
    lines += _function(proba, [f"  const own = {score}(row);"], f"new Map([{listed}])")
    decided = f"{score}(row) {pair.sign} 0.0 ? {positive} : {other}"
    return [*lines, *_function(name, [], decided)], (name, proba, score)


FUNCTIONS: dict[Form, Callable[[Model, str], Functions]] = {
    "sum": lambda model, name: _value(model, name, "value"),
    "exp": lambda model, name: _value(model, name, "_exp(value)"),
    "shares": _shares,
    "softmax": _softmax,
    "odds": _odds,
}


def to_javascript(model: Model, *, name: str = "predict") -> str:
    """Source of a script with the function ``predict(row)``; for classes also ``predict_proba(row)``.

    Classes with likelihood weights have ``predict_score(row)`` too. Numbers by class are a Map from labels. Where there
    are modules of Node, the functions are exported.

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
    lines, names = FUNCTIONS[model.family.form](model, name)
    parts = ['"use strict";\n', f"// Predicts {_comment(model.family.predicted_text)}. Written by pysirus.\n"]
    parts += [f"// {_comment(line)}\n" for line in link_lines(model)]
    parts += [READ, *([EXP] if model.family.needs_exp else []), *([] if model.family.adds_up else [MEAN])]
    parts += [LARGEST] if model.family.labels_of_sums else []
    listed = ", ".join(names)
    export = f'if (typeof module !== "undefined") module.exports = {{ {listed} }};\n'
    return "".join([*parts, "\n".join(lines), "\n", export])


def _check(model: Model, name: Any) -> None:
    if not isinstance(name, str) or not IDENTIFIER.fullmatch(name) or name in WORDS or name.startswith("_"):
        raise ValueError(f"name must be a JavaScript identifier that is no word of the language, got {name!r}.")
    check_labels(model, "JavaScript")
    for label in model.classes or ():
        if isinstance(label, int) and float(label) != label:
            raise ExportError(
                f"The class {label} has more digits than a number of JavaScript. Fit with labels of text."
            )
    for i in used_features(model):
        if model.features[i].kind != "numeric":
            check_doubles(model, i, "JavaScript")

"""A model in, the source of a Python function out that needs nothing but Python.

``predict(row)`` takes a mapping from column names to values; None, NaN and an absent column are missing. Numbers are
compared as doubles, as the model does: NumPy would round a threshold to the 32 bits of a value, and Python compares
long integers exactly.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

from pysirus._data.derived import Derived
from pysirus._data.written import WEEKDAYS, offset_minutes
from pysirus._families.links import Form
from pysirus._model.model import Model
from pysirus._text.format import one_line
from pysirus.export._addends import Branch, Line, Listing, listing_of, pair_of
from pysirus.export._conditions import Test, check_labels, column_of, date_of, level_type, number, used_features
from pysirus.export.lists import link_lines, part_lines

EPOCH = "1970-01-01"
# what the module calls itself
TAKEN = frozenset(
    {
        "datetime",
        "timedelta",
        "timezone",
        "ZoneInfo",
        "_moment",
        "_days",
        "_part",
        "_known",
        "_number",
        "_mean",
        "_exp",
        "exp",
        "sum",
        "float",
        "min",
        "max",
        "dict",
    }
)


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


def _branch(branch: Branch, k: int, name: str) -> str:
    return f"({number(branch.inside[k])} if {name} else {number(branch.outside[k])})"


def _line(line: Line, k: int, name: str) -> str:
    return f"{number(line.slopes[k])} * {name}"


def _held(line: Line) -> str:
    """A column within its limits, less its centre."""
    value, clipped = f"x{line.index}", f"min(max(x{line.index}, {number(line.lower)}), {number(line.upper)})"
    held = f"({number(line.missing)} if {value} is None else {clipped})"
    return f"{held} - {number(line.centre)}" if line.centre else held[1:-1]


ADDENDS: dict[type, Callable[[Any, int, str], str]] = {Branch: _branch, Line: _line}


def _sum(listing: Listing, name: str, k: int = 0) -> list[str]:
    """Lines that add a sum up in ``name``: one at a time, for Python cannot compile a sum of thousands."""
    added = [ADDENDS[type(own)](own, k, f"rule{r}") for r, own in enumerate(listing.addends, start=1)]
    start = number(listing.start[k])
    if listing.weights is None:
        return [f"    {name} = {start}", *(f"    {name} += {part}" for part in added)]
    lines = ["    total = 0.0", f"    weight = {number(listing.root)}", *(f"    total += {part}" for part in added)]
    lines += [f"    weight += {number(w)} if rule{r} else 0.0" for r, w in enumerate(listing.weights, start=1)]
    return [*lines, f"    {name} = _mean({start}, total, weight)"]


def _body(model: Model, listing: Listing) -> list[str]:
    lines = []
    for i in used_features(model):
        own, cell = date_of(model, i), f"row.get({column_of(model, i)!r})"
        read = "_number" if model.features[i].kind == "numeric" else "_known"
        lines.append(f"    x{i} = {read}({cell})" if own is None else f"    x{i} = {_date_call(own, cell)}")
    for r, (addend, line) in enumerate(zip(listing.addends, part_lines(listing.addends, model)), start=1):
        lines += [f"    # {one_line(line)}", f"    rule{r} = {VALUES[type(addend)](addend)}"]
    return lines


def _holds(branch: Branch) -> str:
    return " and ".join(map(_test, branch.tests)) or "True"


VALUES: dict[type, Callable[[Any], str]] = {Branch: _holds, Line: _held}  # what is told of a row


def _date_call(own: Derived, cell: str) -> str:
    """What reads a date, or a part of it."""
    zone = "None" if not own.zone else f"ZoneInfo({own.zone!r})"
    if own.zone and (minutes := offset_minutes(own.zone)) is not None:
        zone = f"timezone(timedelta(minutes={minutes}))"
    if own.take in ("date", "days"):
        return f"_days(_moment({cell}, {zone}), datetime({', '.join(map(_digits, (own.since or EPOCH).split('-')))}))"
    return f"_part(_moment({cell}, {zone}), {own.take!r})"


def _digits(text: str) -> str:
    return str(int(text))


TITLE = '''"""{title}

Written by pysirus. ``{name}(row)`` takes a mapping from column names to values; None, NaN and absent columns are
missing.
"""

'''


READ = '''
def _known(value):
    """None for a missing value."""
    return None if value is None or value != value else value


def _number(value):
    """A double; None for a missing value."""
    return None if _known(value) is None else float(value)


'''


DATE_IMPORTS = "from datetime import datetime, timedelta, timezone\nfrom zoneinfo import ZoneInfo\n\n"


DATE = '''def _moment(value, zone):
    """The clock on the wall of a datetime, a date or a text such as 2024-05-31 14:30; None for a missing value."""
    if _known(value) is None:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
    elif hasattr(value, "astype"):  # of NumPy
        value = value.astype("M8[us]").item()
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if (value.tzinfo is None) != (zone is None):
        raise ValueError(f"{value} has {'no' if value.tzinfo is None else 'a'} time zone, unlike the training rows")
    return value if zone is None else value.astimezone(zone).replace(tzinfo=None)


def _days(moment, start):
    """The days from a start."""
    return None if moment is None else ((moment - start) // timedelta(microseconds=1)) / 86400000000


def _part(moment, part):
    """The year, month, hour or weekday."""
    if moment is None or part != "weekday":
        return None if moment is None else float(getattr(moment, part))
    return WEEKDAYS[moment.weekday()]


'''.replace("WEEKDAYS", repr(WEEKDAYS))


MEAN = '''def _mean(base, total, weight):
    """The base plus a weighted mean; the base alone where nothing has weight."""
    return base + total / weight if weight > 0 else base


'''


EXP = '''def _exp(value):
    """The exponential; of what is too large for one, a huge number."""
    return exp(min(value, 700.0))


'''


def _value(model: Model, name: str, returned: str) -> list[str]:
    """A function that gives one number."""
    listing = listing_of(model)
    return [
        f"def {name}(row):",
        f'    """The {model.family.value_name}."""',
        *_body(model, listing),
        *_sum(listing, "value"),
        f"    return {returned}",
    ]


def _number(model: Model, name: str) -> list[str]:
    return _value(model, name, "value")


def _exponential(model: Model, name: str) -> list[str]:
    return _value(model, name, "_exp(value)")


def _sums(model: Model, name: str, title: str) -> list[str]:
    """A function that gives a number for each class, by its label."""
    listing, labels = listing_of(model), model.family.labels_of_sums
    pairs = ", ".join(f"({label!r}, sum{k})" for k, label in enumerate(labels))
    entries = [line for k in range(len(labels)) for line in _sum(listing, f"sum{k}", k)]
    body = [*_body(model, listing), *entries]
    return [f"def {name}(row):", f'    """{title}"""', *body, f"    return dict([{pairs}])", "", ""]


def _shares(model: Model, name: str) -> list[str]:
    """Classes whose sums are their probabilities."""
    return [
        *_sums(model, f"{name}_proba", "The probability of each class."),
        f"def {name}(row):",
        '    """The most likely class; the first of those that are equal."""',
        f"    shares = {name}_proba(row)",
        "    return max(shares, key=shares.get)",
    ]


def _odds(model: Model, name: str) -> list[str]:
    """Two classes that one score, the log-odds of the positive one, decides between."""
    listing, pair, labels = listing_of(model), pair_of(model.family), model.family.classes or ()
    other, positive = repr(labels[pair.other]), repr(labels[pair.positive])
    shares = [f"({other}, 1.0 / (1.0 + _exp(score)))", f"({positive}, 1.0 / (1.0 + _exp(-score)))"]
    title = repr(f"The log-odds of {positive}.")[1:-1].replace('"', '\\"')
    return [
        f"def {name}_score(row):",
        f'    """{title}"""',
        *_body(model, listing),
        *_sum(listing, "score"),
        "    return score",
        "",
        "",
        f"def {name}_proba(row):",
        '    """The probability of each class."""',
        f"    score = {name}_score(row)",
        f"    return dict([{', '.join(shares if pair.positive == 1 else shares[::-1])}])",
        "",
        "",
        f"def {name}(row):",
        '    """The more likely class; the first where both are equal."""',
        f"    return {positive} if {name}_score(row) {pair.sign} {pair.cutoff!r} else {other}",
    ]


def _softmax(model: Model, name: str) -> list[str]:
    """Classes with a score each."""
    return [
        *_sums(model, f"{name}_score", "The score of each class."),
        f"def {name}_proba(row):",
        '    """The probability of each class."""',
        f"    scores = {name}_score(row)",
        "    largest = max(scores.values())",
        "    parts = dict([(label, _exp(score - largest)) for label, score in scores.items()])",
        "    total = sum(parts.values())",
        "    return dict([(label, part / total) for label, part in parts.items()])",
        "",
        "",
        f"def {name}(row):",
        '    """The most likely class; the first of those that are equal."""',
        f"    scores = {name}_score(row)",
        "    return max(scores, key=scores.get)",
    ]


FUNCTIONS: dict[Form, Callable[[Model, str], list[str]]] = {
    "sum": _number,
    "exp": _exponential,
    "shares": _shares,
    "softmax": _softmax,
    "odds": _odds,
}


def to_python(model: Model, *, name: str = "predict") -> str:
    """Source of a module with the function ``predict(row)``; for classes also ``predict_proba(row)``.

    Classes with likelihood weights have ``predict_score(row)`` too: the log-odds of the second, or a score for each.

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
    title = repr(f"Predicts {model.family.predicted_text}.")[1:-1].replace('"', '\\"')
    parts = [TITLE.format(title=title, name=name)]
    dated = any(date_of(model, i) is not None for i in used_features(model))
    parts += [DATE_IMPORTS] if dated else []
    parts += ["from math import exp\n\n", READ, EXP] if model.family.needs_exp else [READ]
    parts += [DATE] if dated else []
    parts += [] if model.family.adds_up else [MEAN]
    parts += [f"# {one_line(line)}\n" for line in link_lines(model)]
    return "".join([*parts, "\n".join(FUNCTIONS[model.family.form](model, name)), "\n"])


def _check(model: Model, name: Any) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name must be a Python identifier, got {name!r}.")
    if name in TAKEN:
        raise ValueError(f"name must not be what the module itself calls: {name!r}.")
    check_labels(model, "Python")
    for i in used_features(model):
        if model.features[i].kind != "numeric":
            level_type(model, i, "Python")

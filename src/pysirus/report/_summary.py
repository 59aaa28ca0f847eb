"""A model, and rows if there are some, in; all that the page shows as plain data out.

The page works out what depends on the size of the
list (weights, contributions) from ``rules``, ``sizes`` and ``rows.fired``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np

from pysirus._data.column import UNSEEN, Column
from pysirus._data.table import Table
from pysirus._model.model import Model
from pysirus._model.tuning import Tuning
from pysirus._parameters import check_integer
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.words import LINE
from pysirus._text.format import apart, format_date, format_number
from pysirus._use.edit import trail_lines, with_rules
from pysirus._use.score import chosen_by, cutoff_of
from pysirus.report._sections import (
    changes_data,
    coverage_data,
    effects,
    evidence_data,
    groups_data,
    interval_data,
    obeys,
    quality,
    short,
)

MAX_FEATURES_IN_ROWS = 30
EFFECT_ROWS = 10_000  # effects are averaged over at most this many rows, evenly spaced


def _texts(rule: FittedTerm) -> dict[str, str]:
    """The conditions within a line, and whole where that leaves something out."""
    folded, whole = rule.fold(LINE), rule.condition_text
    return {"text": folded} if folded == whole else {"text": folded, "whole": whole}


def _rule(rule: FittedTerm, model: Model, chosen: RuleSet) -> dict[str, Any]:
    assert rule.inside is not None and rule.outside is not None
    # of numbers in stages the page works out what a rule adds, which depends on the size of the list
    reading = model.family if model.family.is_scored else None
    shown = None if model.positive_class is None else model.positive
    inside, outside = RuleSet([rule], reading, shown=shown).output_texts(rule)
    own = next((weighted for weighted in chosen if weighted == rule), None)
    points: dict[str, Any] = {}
    if model.family.is_scored:
        points = {"shown": model.family.shown_class(rule), "average": short(model.average_output(rule).tolist())}
    if shares := model.family.event_shares(rule):
        points |= {"events": short(shares), "eventsText": " / ".join(rule.event_texts)}
    if rule.line_values:
        points["line"] = {name: short(rule.line_values[name]) for name in ("lower", "upper", "zero_at")}
    elif points and own is not None:
        points["adds"] = model.family.adds(own)
    elif own is not None and model.is_staged:
        points["added"] = list(model.family.added_texts(own))
    return {
        **points,
        **_texts(rule),
        "stage": rule.stage,
        "inside": short(rule.inside),
        "outside": short(rule.outside),
        "insideText": inside,
        "outsideText": outside,
        "frequency": short(rule.frequency),
        **({"given": True} if rule.given else {}),
        **({} if rule.effect is None else {"effect": str(rule.effect)}),
        "nInside": rule.n_inside,
        "nOutside": rule.n_outside,
        "rowsText": rule.support_text,
    }


def _models(model: Model, table: Table | None) -> list[Model]:
    """The model of every size that the columns of the table are enough for; the model alone when it was not tuned."""
    if model.tuning is None:
        return [model]
    absent = frozenset() if table is None else table.absent
    models = [with_rules(model, size.n_rules) for size in model.tuning.sizes]
    return [each for each in models if len(each.selected) == len(model.selected) or not absent & each.needed]


def _size(model: Model, whole: Model) -> dict[str, Any]:
    size = {
        "nRules": len(model.selected),
        "nPositive": len(model.rules),
        "intercept": short(model.intercept),
        "weights": short([rule.weight or 0.0 for rule in model.selected]),
        "error": short(model.facts.cv_error),
        "stability": short(model.facts.cv_stability),
        "p0": short(model.facts.p0),
        "sentence": "",
        "returned": [rule.returned_text for rule in model.selected],
    }
    lines = {str(r): rule for r, rule in enumerate(model.selected) if rule.line_values}
    if lines:
        told = model.read(RuleSet())
        size["lines"] = {
            r: {"text": told.rule_text(rule), "slope": short(rule.line_values["per_unit"])} for r, rule in lines.items()
        }
    if whole.tuning is not None:
        numbers = whole.tuning.numbers(len(model.selected))
        step, path = whole.tuning.step_of(len(model.selected)), whole.tuning.path
        size |= {"perFold": short(numbers.per_fold), "numbers": numbers.sentence}
        size |= {"errorSe": short(path.error_se[step]), "stabilitySe": short(path.stability_se[step])}
        size["sentence"] = whole.tuning.sentence(len(model.rules), model.facts["cv_stability"])
    return size


def _path(tuning: Tuning) -> dict[str, Any]:
    """The entries of the path that some size has, by column."""
    return {name: short([column[i] for i in tuning.steps]) for name, column in tuning.path.columns().items()}


def _number_text(value: float) -> str:
    """A number in at most seven digits, without zeros at its end; empty where missing."""
    if value != value:
        return ""
    if value % 1 == 0:
        return f"{value:.0f}"
    text = format_number(value, 7)
    return text if "e" in text else text.rstrip("0").rstrip(".")


def _cells(column: Column) -> list[str]:
    """The values of a column as text, empty where missing."""
    if column.is_date:
        return ["" if v != v else format_date(v) for v in column.values.tolist()]
    if column.is_numeric:
        return [_number_text(float(v)) for v in column.values.tolist()]
    return ["" if code == -1 else "(unseen)" if code == UNSEEN else str(column.levels[code]) for code in column.values]


def _as_list(values: Any, what: str, n_rows: int) -> list[Any]:
    series = nw.from_native(values, series_only=True, pass_through=True)
    items: list[Any] = series.to_list() if isinstance(series, nw.Series) else list(values)
    if len(items) != n_rows:
        raise ValueError(f"{what} has {len(items)} entries, X has {n_rows} rows.")
    return items


def _truth(model: Model, y: Any, n_rows: int) -> list[str]:
    """What came true, as text; of times to an event whether it was one."""
    truths = _as_list(model.family.truths(y, n_rows), "y", n_rows)
    return [model.family.truth_text(truth, _number_text) for truth in truths]


def _names(table: Table | None, labels: Any) -> list[str]:
    """What rows are called: by their labels or by number."""
    n_rows = 0 if table is None else table.n_rows
    return [str(name) for name in (range(1, n_rows + 1) if labels is None else _as_list(labels, "labels", n_rows))]


def _rows(
    model: Model, rules: Iterable[FittedTerm], table: Table, y: Any, labels: Any, max_rows: int
) -> dict[str, Any]:
    """Rows to look up: their names, values, and which rules of the longest list fire."""
    kept = table.at(slice(max_rows))
    rules = list(rules)
    used = sorted(model.columns_of(rules))
    others = [i for i in range(len(table.columns)) if i not in used]
    shown = [i for i in used + others if i not in table.absent][:MAX_FEATURES_IN_ROWS]
    fired = np.array([rule.holds(kept) for rule in rules], dtype=bool).reshape(len(rules), kept.n_rows)
    names = _names(table, labels)
    truth = None if y is None else _truth(model, y, table.n_rows)[: kept.n_rows]
    return {
        "total": table.n_rows,
        "labels": names[: kept.n_rows],
        "columns": [table.columns[i].name for i in shown],
        "values": [list(row) for row in zip(*(_cells(kept.columns[i]) for i in shown))],
        "fired": ["".join("1" if hit else "0" for hit in row) for row in fired.T],
        "terms": [short(term.weight * (term.values(kept) - term.missing)) for term in model.terms],
        "lines": {str(r): short(rule.values(kept)) for r, rule in enumerate(rules) if rule.line_values},
        "truth": truth,
    }


def _made(model: Model, data: str | None) -> list[list[str]]:
    """How the model was made, as pairs of words and values."""
    from pysirus import __version__

    facts = model.facts
    pairs = [["Data", data or ""], ["Predicted", model.target]]
    names = {
        "n_rows": "Training rows",
        "n_trees": "Trees in the forest",
        "n_stages": "Stages",
        "seed": "Seed",
        "ridge_penalty": "Ridge penalty",
        "p0": "Threshold p0 on the frequency",
    }
    for key, name in names.items():
        value = facts.get(key)
        if value is not None and (key, value) != ("n_stages", 1):
            whole = str(value) if key == "seed" else f"{value:,}"
            pairs.append([name, format_number(value, 4) if isinstance(value, float) else whole])
    pairs.append(["Columns", ", ".join(apart(feature.name) for feature in model.features)])
    if model.recipe is not None:
        pairs.append(["Set aside", "; ".join(f"{name} ({why})" for name, why in model.recipe.aside.items())])
        pairs.append(
            ["Derived", "; ".join(f"{apart(own.feature)} from {apart(own.column)}" for own in model.recipe.derived)]
        )
    if model.tuning is not None:
        repeats = model.tuning.path.n_repeats
        pairs.append(["Tuned for", f"{model.tuning.criterion}, {repeats} repetition{'s' if repeats > 1 else ''}"])
    pairs.append(["Decides for", model.family.decision_text])
    if facts.approximate_weights:
        pairs.append(["Weights", "approximate: fitted again without the data"])
    if trail := trail_lines(model):
        pairs += [[f"Edit {i}", line] for i, line in enumerate(trail, start=1)]
    elif facts.removed_rules:
        pairs.append(["Removed by hand", "; ".join(facts.removed_rules)])
    versions = facts.versions or {}
    pairs.append(["Made with", ", ".join(f"{name} {version}" for name, version in versions.items())])
    pairs.append(["Report written with", f"pysirus {__version__}"])
    return [pair for pair in pairs if pair[1]]


def _deciding(model: Model) -> dict[str, Any]:
    """The weights of classes; of two the cut-off, as a probability and as a score; and what it was chosen by."""
    weights = None if model.decision_rule is None else short(model.decision_rule.weights)
    share, score = cutoff_of(model.family) or (None, None)
    return {"decides": weights, "cutoff": {"probability": share, "score": score, "how": chosen_by(model.family)}}


def _evenly(table: Table) -> Table:
    """Rows that effects are averaged over."""
    return table.at(np.linspace(0, table.n_rows - 1, min(table.n_rows, EFFECT_ROWS)).astype(int))


def summary(
    model: Any,
    X: Any = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    labels: Any = None,
    title: str | None = None,
    data: str | None = None,
    max_rows: int = 1000,
    by: Any = None,
    change: Any = None,
    coverage: float | None = None,
    evidence: Any = None,
    time: Any = None,
) -> dict[str, Any]:
    """All that a report shows, as plain data; see ``pysirus.report.report`` for the parameters."""
    check_integer("max_rows", max_rows, 1)
    sure = None if coverage is None or X is None else interval_data(model, X, y, coverage, max_rows)
    model = model._as_model()
    table = None if X is None else model.align(X)
    models = _models(model, table)
    longest = RuleSet(model.tuning.rules[: len(models[-1].selected)]) if model.tuning is not None else model.selected
    some = None if table is None else _evenly(table)
    tuning, path = model.tuning, None if model.tuning is None else _path(model.tuning)
    reasons = [] if tuning is None else tuning.reasons(len(model.selected), model.family.error_name)
    return {
        "title": title or f"Rules for {model.target}",
        "target": model.target,
        "classes": [str(label) for label in model.classes or ()] or None,
        "positive": model.positive,
        **_deciding(model),
        "errorName": model.family.error_name.replace("-", "−"),
        "link": model.link,
        "scaleName": model.family.scale if model.family.is_scored else "",
        "outcome": model.family.outcome_text,
        "effectName": model.family.effect_name,
        **quality(model, X, table, y, sample_weight, time),
        "mean": short(model.mean),
        "aggregation": model.family.aggregation,
        "rootWeight": short(model.family.root_weight),
        "terms": [{"text": str(t), "feature": t.feature, "average": short(t.weight * t.missing)} for t in model.terms],
        "notes": model.selected.notes,
        "rules": [_rule(rule, model, model.selected) for rule in longest],
        "sizes": [_size(each, model) for each in models],
        "chosen": next(i for i, each in enumerate(models) if len(each.selected) == len(model.selected)),
        "path": path,
        "ideal": None if tuning is None else short(tuning.path.ideal.stability),
        "reason": " ".join(reasons),
        "effects": [effects(each, some) for each in models],
        "rows": None if table is None else _rows(model, longest, table, y, labels, max_rows),
        "obeys": obeys(model),
        "coverage": None if table is None else coverage_data(model, table),
        "groups": None if by is None else groups_data(model, X, y, sample_weight, by),
        "changes": None if change is None else changes_data(model, X, table, _names(table, labels), change),
        "intervals": sure,
        "evidence": None if evidence is None else evidence_data(model, evidence),
        "made": _made(model, data),
    }

"""A model and what was measured of it in, lines and tables of its model card out: the evidence, and groups.

Of fewer than ten rows nothing is told but that they are few: it would be what came true of these persons or things.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysirus._data.column import mark_of_marks
from pysirus._model.held_out import METRICS, Bins, HeldOut, bins_of_sums, metric_texts
from pysirus._model.model import Model
from pysirus._model.row_sums import LEAST_ROWS
from pysirus._text.format import format_label, format_number, format_percent
from pysirus._use.groups import Group, GroupMetrics
from pysirus._use.score import Score

FEW = f"fewer than {LEAST_ROWS} rows"  # which are not counted apart
BANDS = 10  # of predicted probabilities
HELD_OUT = "held-out rows"


class Fact(NamedTuple):
    """A line of a section: what it is, and what is known; None where a person has not said it."""

    name: str
    text: str | None


class Grid(NamedTuple):
    """A table of a section."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Rules(NamedTuple):
    """The rule list, which has its own form in Markdown and in HTML."""

    model: Model


Block = Fact | Grid | Rules | str


def glance(model: Model, metrics: Score | None, monitoring: Any) -> list[str]:
    """What a hurried reader needs: how long the list is, how well it predicts, and whether it still does."""
    n, held = len(model.rules), model.out_of_fold
    said = [f"{n} rule{'s' if n != 1 else ''}."]
    measured = [] if held is None else [(held.metrics, HELD_OUT)]
    measured += [] if metrics is None else [(metrics.metrics, _rows_of(model, metrics))]
    main = next((own for own in ("auc", model.family.score_metric) if measured and own in measured[0][0]), None)
    if main is None:
        said.append("No metric of rows that the model has not seen.")
    else:
        told = " and ".join(f"{_value(main, own)} on {where}" for own, where in measured if main in own)
        said.append(f"{METRICS[main]} {told}.")
    said += [held.doubt] if held is not None and held.doubt else []
    if model.tuning is not None:
        said.append(f"Stability between folds {model.tuning.stability:.2f}.")
    if monitoring is not None:
        verdict = monitoring["verdict"] if isinstance(monitoring, Mapping) else monitoring.verdict
        said.append(f"Last comparison: {verdict}")
    return said


def _value(name: str, metrics: Mapping[str, Any]) -> str:
    return " ± ".join(filter(None, metric_texts(name, *metrics[name]))) if name in metrics else ""


def _rows_of(model: Model, metrics: Score) -> str:
    """What the rows of some metrics are called."""
    return "training rows" if metrics.fingerprint == training_mark(model) else f"{metrics.n_rows:,} other rows"


def training_mark(model: Model) -> str | None:
    """The fingerprint of the training rows, as ``Score`` has that of others."""
    mark = model.facts.fingerprint
    if mark is None:
        return None
    return f"{mark_of_marks(int(own, 16) for own in (*(own for _, own in mark['columns']), mark['target'])):016x}"


def evidence_blocks(model: Model, metrics: Score | None, evidence: Any, source: str | None) -> Iterator[Block]:
    """What is known of how well a model predicts, and of how sure its list is."""
    held, tuning = model.out_of_fold, model.tuning
    if held is None:
        yield Fact("Cross-validation", "none: no metric of held-out rows is in the file")
    else:
        chosen = "; the same folds chose the length of the list" if tuning is not None else ""
        yield Fact("Cross-validation", f"{held.how}{chosen}")
    if tuning is not None:
        yield Fact("Stability between folds", f"{tuning.stability:.2f} (1: the same rules in every fold)")
    if metrics is not None:
        of = "" if source is None else f" of {source}"
        same = ": THE TRAINING ROWS, which say nothing about others"
        same = same if _rows_of(model, metrics) == "training rows" else ""
        yield Fact("Other rows", f"{metrics.n_rows:,} rows{of}, fingerprint {metrics.fingerprint}{same}")
    if evidence is not None:
        yield from _returning(evidence if isinstance(evidence, Mapping) else evidence.to_dict())
    yield from _metrics(model, metrics)
    if held is not None and model.classes is not None:
        yield from _decisions(model, held)
        yield from _calibration(model, held)


def _returning(told: Mapping[str, Any]) -> Iterator[Block]:
    rate = told.get("expected_return")
    if rate is not None:
        error = "" if rate["standard_error"] is None else f" ± {rate['standard_error']:.2f}"
        what = f"{rate['value']:.2f}{error} of the rules, by {told['n_resamples']} resamples"
        yield Fact("Expected to return in an independent sample of half the size", what)


def _metrics(model: Model, metrics: Score | None) -> Iterator[Grid]:
    """Metrics in lines; held-out rows, other rows and what no rules would give side by side."""
    sides: list[tuple[str, Mapping[str, Any]]] = []
    if model.out_of_fold is not None:
        sides.append((HELD_OUT, model.out_of_fold.metrics))
    if metrics is not None:
        sides.append((_rows_of(model, metrics), metrics.metrics))
    names = dict.fromkeys(name for _, own in sides for name in own)
    cells = [(where, {name: _value(name, own) for name in names}) for where, own in sides]
    if sides and model.classes is not None:
        cells.append(("always the training shares", without_rules(np.ravel(model.mean).tolist())))
    if sides:
        rows = [[METRICS[name], *(own.get(name, "") for _, own in cells)] for name in names]
        yield Grid(("metric", *(where for where, _ in cells)), rows)


def without_rules(shares: Sequence[float]) -> dict[str, str]:
    """What the shares of the classes predict of rows that have them."""
    found = {"accuracy": max(shares), "balanced_accuracy": 1 / len(shares)}
    found["log_loss"] = -sum(p * math.log(p) for p in shares if p > 0)
    if len(shares) == 2:
        found |= {"auc": 0.5, "brier": shares[0] * shares[1]}
    return {name: metric_texts(name, value, None)[0] for name, value in found.items()}


def _decisions(model: Model, held: HeldOut) -> Iterator[Grid]:
    """How held-out rows of each class were decided about; by another cut-off than that of the fit it is not known."""
    if held.confusion is None or model.family.decides_by is not None:
        return
    labels = [format_label(own) for own in model.classes or ()]
    rows = []
    for label, own in zip(labels, held.confusion):
        total = float(own.sum())
        shares = [FEW] * len(own) if total < LEAST_ROWS else [format_percent(value / total) for value in own]
        rows.append([label, f"{total:,.0f}", *shares])
    yield Grid((f"{HELD_OUT} that are", "rows", *(f"decided {label}" for label in labels)), rows)


def _calibration(model: Model, held: HeldOut) -> Iterator[Grid]:
    """Of two classes: predicted and observed shares of held-out rows, in bands of about as many rows."""
    if len(model.classes or ()) != 2 or not held.bins:
        return
    own = about_positive(held.bins[0], model)
    mass = own.members + own.others
    n_bands = min(BANDS, int(mass.sum() // (2 * LEAST_ROWS)))
    if n_bands < 2:
        return
    bands = bins_of_sums(own.code, own.members, own.others, mass * own.probability, n_bands)
    rows = []
    for predicted, members, others in zip(bands.probability, bands.members, bands.others):
        n = float(members + others)
        if n < LEAST_ROWS:
            rows.append(["", "", FEW])
            continue
        share = float(members) / n
        error = math.sqrt(share * (1 - share) / n)
        rows.append([f"{100 * predicted:.1f}%", f"{100 * share:.1f}% ± {100 * error:.1f}%", f"{n:,.0f}"])
    label = format_label(model.labels[model.positive])
    yield Grid((f"predicted probability of {label}", f"observed share of {label}", HELD_OUT), rows)


def about_positive(bins: Bins, model: Model) -> Bins:
    """Probabilities of the positive class, where bins are of the other of two."""
    if len(model.classes or ()) != 2 or bins.code == model.positive:
        return bins
    return Bins(model.positive, 1.0 - bins.probability[::-1], bins.others[::-1], bins.members[::-1])


def group_blocks(groups: GroupMetrics | Sequence[GroupMetrics]) -> Iterator[Block]:
    """A table for each grouping, with a line for each group; and how far apart decisions about them are."""
    for found in [groups] if isinstance(groups, GroupMetrics) else groups:
        yield _groups(found)
        yield from _ratio(found)


def _groups(found: GroupMetrics) -> Grid:
    metric = found.model.family.score_metric
    heads = ["observed less predicted (95%)"]
    chosen = found.whole.selected is not None
    if chosen:
        labels = [format_label(own) for own in found.model.labels]
        label = labels.pop(found.model.positive)
        other = labels[0] if len(labels) == 1 else f"not {label}"
        of = [f"of those that are {own}" for own in (label, other)]
        heads = [f"share of {label}: {heads[0]}", f"decided {label}", *of]
    rows = []
    for own in (*found.groups, found.whole):
        if own.n_rows < LEAST_ROWS:
            rows.append([own.name, f"{own.n_rows:,}", "", *([""] * len(heads)), FEW])
            continue
        gap = f"{format_number(own.gap.value, 2)} ({format_number(own.gap.low, 2)} to {format_number(own.gap.high, 2)})"
        shares = [_share(own, name) for name in ("selected", "true_positive", "false_positive")] if chosen else []
        note = "few rows" if own.is_small else _bias(own)
        rows.append([own.name, f"{own.n_rows:,}", _value(metric, own.score.metrics), gap, *shares, note])
    return Grid((found.by, "rows", METRICS[metric], *heads, ""), rows)


def _bias(group: Group) -> str:
    """Whether predictions of a group are off by more than chance explains."""
    return "predicted too high" if group.gap.high < 0 else "predicted too low" if group.gap.low > 0 else ""


def _share(group: Group, name: str) -> str:
    """A rate of a group, unless it is of few rows."""
    rate, of = getattr(group, name), {"true_positive": group.observed, "false_positive": 1 - group.observed}
    few = group.n_rows * of.get(name, 1.0) < LEAST_ROWS or math.isnan(rate.value)
    return "" if few else format_percent(rate.value)


def _ratio(found: GroupMetrics) -> Iterator[str]:
    """The smallest share that is decided for, over the largest, of groups that are not small."""
    rates = [(own.selected.value, own.name) for own in found.groups if own.selected is not None and not own.is_small]
    if len(rates) < 2 or not max(rates)[0] > 0:
        return
    (low, least), (high, most) = min(rates), max(rates)
    label = format_label(found.model.labels[found.model.positive])
    told = f"{format_percent(low)} of {least}, {format_percent(high)} of {most}"
    yield f"Decided {label}: {told}, a ratio of {low / high:.2f}."

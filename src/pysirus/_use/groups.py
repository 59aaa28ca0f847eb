"""A model and rows in, how it treats groups of them out, those that a column makes and those that its rules cover.

Of each group there are metrics, selection, calibration and what rules add. Rates are those of fairlearn: the selection
rate is the share of rows for which the positive class is decided, the demographic parity difference the largest less
the smallest of them, the equalized odds difference the larger of the differences between true and between false
positive rates. The score is a sum, so the difference between the mean score of a group and that of all rows is,
exactly, the sum of such differences over the terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.frame import as_frame
from pysirus._data.table import Table
from pysirus._families.read import check_weights
from pysirus._families.row_metrics import Predicted, weights_or_ones
from pysirus._model.held_out import METRICS, metric_texts
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._terms.listing import RuleSet
from pysirus._text.format import format_label, html_lines, html_table, make_frame, one_line, text_table
from pysirus._text.message import Parameter
from pysirus._use.reasons import Reasons, reasons
from pysirus._use.score import Score

Floats = NDArray[np.float64]
SMALL = 30  # rows; of fewer an interval says little
NORMAL = 1.959963984540054  # standard errors on either side of a 95% interval
MOST_GROUPS = 100
MOST_DRIVERS = 3  # terms that are told of a group


@dataclass(frozen=True)
class Rate:
    """A share or a mean with its 95% interval."""

    value: float
    low: float
    high: float

    def text(self, percent: bool) -> str:
        """The same as text."""
        if math.isnan(self.value):
            return ""
        if percent:
            return f"{100 * self.value:.1f}% ({100 * self.low:.1f} to {100 * self.high:.1f})"
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def share_of(hits: NDArray[np.bool_], weights: Floats) -> Rate:
    """A share with Wilson's interval, by the number of rows that as many equal weights would be."""
    if not weights.sum() > 0:
        return Rate(math.nan, math.nan, math.nan)
    n = float(weights.sum() ** 2 / (weights**2).sum())
    p, z = float(weights @ hits / weights.sum()), NORMAL
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Rate(p, max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n)))


def mean_of(values: Floats, weights: Floats) -> Rate:
    """A mean and the interval of its standard error."""
    mean = float(weights @ values / weights.sum())
    error = float(np.sqrt((weights**2) @ (values - mean) ** 2)) / float(weights.sum())
    return Rate(mean, mean - NORMAL * error, mean + NORMAL * error)


@dataclass(frozen=True)
class Group:
    """How the rows of one group are predicted and decided about.

    ``gap`` is what was observed less what was predicted, on average: 0 where the model is calibrated for the group.
    """

    name: str
    n_rows: int
    score: Score
    observed: float
    predicted: float
    gap: Rate
    selected: Rate | None = None
    true_positive: Rate | None = None
    false_positive: Rate | None = None

    @property
    def is_small(self) -> bool:
        """Whether it has so few rows that its intervals say little."""
        return self.n_rows < SMALL


@dataclass(frozen=True, repr=False)
class GroupMetrics:
    """Metrics by group of rows. Prints as a table.

    Attributes
    ----------
    by : str
        The name of the column that defines the groups.
    groups : tuple of Group
        The groups, ordered by name.
    whole : Group
        All rows.
    names : tuple of str
        The terms of the model.
    drivers : ndarray of shape (n_groups, n_terms)
        The mean contribution of each term in a group minus that in all rows; each row adds up to the difference in
        scores.
    """

    model: Model
    by: str
    groups: tuple[Group, ...]
    whole: Group
    names: tuple[str, ...]
    drivers: Floats

    def __getitem__(self, name: Any) -> Group:
        found = {group.name: group for group in self.groups}
        if str(name) not in found:
            raise KeyError(f"There is no group {name!r}: they are {', '.join(found)}.")
        return found[str(name)]

    @property
    def differences(self) -> dict[str, float]:
        """The largest minus the smallest rate of the groups, as in fairlearn; for regression, of the mean gaps."""

        def spread(rates: Sequence[Rate | None]) -> float:
            values = [rate.value for rate in rates if rate is not None and not math.isnan(rate.value)]
            return max(values) - min(values) if values else math.nan

        if self.whole.selected is None:
            return {"gap": spread([group.gap for group in self.groups])}
        rates = [group.selected.value for group in self.groups if group.selected is not None]
        odds = [spread([getattr(g, name) for g in self.groups]) for name in ("true_positive", "false_positive")]
        ratio = min(rates) / max(rates) if max(rates) > 0 else math.nan
        return {
            "demographic_parity": max(rates) - min(rates),
            "demographic_parity_ratio": ratio,
            "equal_opportunity": odds[0],
            "equalized_odds": max(odds),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """A row for each group, and one for all rows: counts, rates with intervals, metrics with standard errors."""
        data: dict[str, list[Any]] = {"group": [], "rows": [], "small": [], "observed": [], "predicted": []}
        every = [*self.groups, self.whole]
        for group in every:
            for column, value in zip(data, (group.name, group.n_rows, group.is_small, group.observed, group.predicted)):
                data[column].append(value)
        for name in ("gap", "selected", "true_positive", "false_positive"):
            rates = [getattr(group, name) for group in every]
            if rates[-1] is not None:
                data |= {name: [r.value for r in rates], f"{name}_low": [r.low for r in rates]}
                data[f"{name}_high"] = [r.high for r in rates]
        for name in self.whole.score.metrics:
            pairs = [group.score.metrics.get(name, (math.nan, None)) for group in every]
            data |= {name: [value for value, _ in pairs], f"{name}_se": [error for _, error in pairs]}
        return make_frame(data, backend)

    def to_dict(self) -> dict[str, Any]:
        """The groups as plain data, ready for JSON."""
        rows = self.to_frame("pyarrow").to_pylist()
        drivers = [
            {name: float(value) for name, value in zip(self.names, own) if abs(value) > 0} for own in self.drivers
        ]
        told = dict(zip((group.name for group in self.groups), drivers))
        return {"target": self.model.target, "by": self.by, "groups": rows, **self.differences, "drivers": told}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The header and the lines of what prints: one for each group, and one for all rows."""
        family, classes = self.model.family, self.whole.selected is not None
        shown = [name for name in dict.fromkeys((family.score_metric, family.edit_metric)) if name in METRICS]
        header = ["group", "rows", *(["selected"] if classes else []), "observed", "predicted", "observed - predicted"]
        lines = []
        for group in (*self.groups, self.whole):
            means = [family.prediction_text(value) for value in (group.observed, group.predicted)]
            texts = [group.name + (" *" if group.is_small else ""), f"{group.n_rows:,}"]
            texts += [group.selected.text(True)] if group.selected is not None else []
            texts += [*means, group.gap.text(classes)]
            for name in shown:
                pair = group.score.metrics.get(name)
                value, error = ("", "") if pair is None else metric_texts(name, *pair)
                texts.append(f"{value} ± {error}" if error else value)
            lines.append(texts)
        return [*header, *(METRICS[name] for name in shown)], lines

    @property
    def meaning(self) -> str:
        """What the columns of the table are, in a line."""
        head = f"{one_line(self.model.target)} by {one_line(self.by)}, {self.whole.n_rows:,} rows; 95% intervals"
        if self.model.classes is None:
            return head
        label = one_line(format_label(self.model.labels[self.model.positive]))
        return f"{head}; selected: decided for {label}, observed and predicted: its share"

    def notes(self) -> list[str]:
        """Which groups are small, the differences between groups, and the terms that make them, each in a line."""
        small = [f"* fewer than {SMALL} rows: the intervals say little"] if any(g.is_small for g in self.groups) else []
        told = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in self.differences.items())
        return [*small, f"differences: {told}", *self._driver_lines()]

    def _driver_lines(self) -> list[str]:
        """The terms that move the mean score of each group most."""
        k = self.model.family.positive
        scale = one_line(self.model.family.scale_of(k))
        lines = [f"rules that make the difference: mean contribution to {scale}, less that of all rows"]
        for group, own in zip(self.groups, self.drivers):
            order = [t for t in np.argsort(-np.abs(own), kind="stable")[:MOST_DRIVERS].tolist() if own[t]]
            told = ", ".join(f"{own[t]:+.3f} {one_line(self.names[t])}" for t in order) or "none"
            lines.append(f"  {one_line(group.name)}: {own.sum():+.3f} in all, {told}")
        return lines

    def __str__(self) -> str:
        notes = self.notes()
        gap = [*notes[:1], ""] if notes[0].startswith("*") else [""]
        return "\n".join([self.meaning, "", text_table(*self.table()), *gap, *notes[len(gap) - 1 :]])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The groups for a notebook."""
        return html_lines(self.meaning) + html_table(*self.table()) + html_lines(*self.notes())


def group_metrics(
    model: Model, X: Any, y: Any, sample_weight: Any, by: Any, name: str | None = None, order: Sequence[str] = ()
) -> GroupMetrics:
    """Metrics by group, the groups of ``order`` first; see ``RuleModel.metrics``."""
    if model.family.has_hazard:
        raise ParameterError(f"{Parameter('by')} is for classes and numbers; this model predicts times to an event.")
    table = model.align(X)
    known, labels = _labels(X, by, table.n_rows)
    truth = model.family.read_truth(y, table.n_rows, model.labels)
    weights = None if sample_weight is None else check_weights(sample_weight, table.n_rows)
    rows = _Rows(model, model.decision(table), truth, weights_or_ones(weights, truth))
    of_terms = reasons(model, X, outcome=None if model.classes is None else model.classes[model.positive])
    names = sorted(set(labels), key=lambda own: (order.index(own) if own in order else len(order), own))
    if len(names) > MOST_GROUPS:
        raise ParameterError(f"{Parameter('by')} makes {len(names):,} groups, at most {MOST_GROUPS} are compared.")
    codes = np.array([names.index(label) for label in labels])
    groups = tuple(rows.group(own, codes == i) for i, own in enumerate(names))
    drivers = _drivers(of_terms, codes, rows.weights, len(names))
    return GroupMetrics(model, name or known, groups, rows.group("all rows", codes >= 0), of_terms.names, drivers)


def _labels(X: Any, by: Any, n_rows: int) -> tuple[str, list[str]]:
    """The name of the grouping, and the group of each row as text."""
    if isinstance(by, str):
        frame = as_frame(X)
        if frame is None or by not in frame.columns:
            raise ParameterError(f"{Parameter('by')} must be a column of X or one value for each row, got {by!r}.")
        name, values = by, frame[by].to_list()
    elif isinstance(by, Mapping) and len(by) == 1:
        ((name, values),) = by.items()
    else:
        name, values = str(getattr(by, "name", None) or "group"), np.asarray(by, dtype=object).ravel().tolist()
    if len(values) != n_rows:
        raise ParameterError(f"{Parameter('by')} has {len(values):,} values, X has {n_rows:,} rows.")
    missing = [value is None or value != value for value in values]
    return name, ["(missing)" if gap else format_label(value) for value, gap in zip(values, missing)]


def _drivers(of_terms: Reasons, codes: NDArray[Any], weights: Floats, n_groups: int) -> Floats:
    """The mean contribution of each term in each group less that in all rows."""
    found = of_terms.contributions

    def mean(rows: NDArray[np.bool_]) -> Floats:
        return np.asarray(weights[rows] @ found[rows] / max(weights[rows].sum(), 1e-300))

    whole = mean(codes >= 0)
    return np.array([mean(codes == i) - whole for i in range(n_groups)]).reshape(n_groups, found.shape[1])


@dataclass(frozen=True)
class _Rows:
    """Rows, what is predicted of them, and the truth."""

    model: Model
    found: Floats
    truth: NDArray[Any]
    weights: Floats

    def group(self, name: str, rows: NDArray[np.bool_]) -> Group:
        """Some of them."""
        model, w = self.model, self.weights[rows]
        found, truth = self.found[rows], self.truth[rows]
        metrics = model.family.score_metrics(Predicted(found.reshape(len(w), -1), truth, w))
        score = Score(metrics, len(w), model.target)
        said, came, chosen = found, truth.astype(np.float64), None
        if model.classes is not None:
            said, came = found[:, model.positive], (truth == model.positive).astype(np.float64)
            chosen = model.choose(found) == model.positive
        observed, predicted = (float(w @ values / w.sum()) for values in (came, said))
        plain = Group(name, len(w), score, observed, predicted, mean_of(came - said, w))
        if chosen is None:
            return plain
        shares = [share_of(chosen[own], w[own]) for own in (came > 0, came == 0)]
        return Group(name, len(w), score, observed, predicted, plain.gap, share_of(chosen, w), *shares)


# ----------------------------------------------------------------------------------------------------------- coverage

# How many rows each rule covers, and which rules apply together or pull in opposite directions. Slopes apply to every
# row and are left out; rules keep their numbers in the list. Two rules pull in opposite directions in a row where both
# apply and one raises the prediction, compared with rows outside it, while the other lowers it. That is
# no fault of a list, but a reader may want to see where it happens.


SHOWN_PAIRS = 10

WIDTH = 92  # characters of a rule; the other columns take the rest of a line


@dataclass(frozen=True)
class Coverage:
    """How many rows the rules cover, and where they overlap. Prints as a table.

    Attributes
    ----------
    rules : RuleSet
        The rules with positive weight and all required rules, with their numbers in the list; no slopes.
    share : ndarray of shape (n_rules,)
        Proportion of the rows to which each rule applies.
    alone : ndarray of shape (n_rules,)
        Proportion of the rows to which only this rule applies.
    together : ndarray of shape (n_rules, n_rules)
        Proportion of the rows to which both rules apply.
    opposed : ndarray of bool of shape (n_rules, n_rules)
        Whether one of two rules raises the prediction and the other lowers it.
    counts : ndarray of shape (n_rows,)
        The number of rules that apply to each row.
    uncovered : float
        Proportion of the rows that no rule covers.
    """

    rules: RuleSet
    share: NDArray[np.float64]
    alone: NDArray[np.float64]
    together: NDArray[np.float64]
    opposed: NDArray[np.bool_]
    counts: NDArray[np.int64]
    uncovered: float

    @property
    def contradictions(self) -> list[tuple[int, int, float]]:
        """Pairs of rules that apply together and pull in opposite directions, with the proportion of rows."""
        return [pair for pair in self.pairs() if self.opposed[pair[0], pair[1]]]

    def pairs(self) -> list[tuple[int, int, float]]:
        """Pairs of rules that apply together, with the proportion of rows, largest first."""
        found = [(i, j, float(self.together[i, j])) for i, j in combinations(range(len(self.rules)), 2)]
        return sorted((pair for pair in found if pair[2] > 0), key=lambda pair: -pair[2])

    def number(self, i: int) -> int:
        """The number of rule ``i`` in the list of the model."""
        return self.rules.numbers[i] or i + 1

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame with a row for each rule: ``rule``, ``covers``, ``alone``, ``with_others`` and ``contradicted``.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
            ``contradicted`` is the largest proportion of rows in which another rule pulls the other way.
        """
        off = self.together * self.opposed
        return make_frame(
            {
                "rule": [rule.condition_text for rule in self.rules],
                "covers": self.share.tolist(),
                "alone": self.alone.tolist(),
                "with_others": (self.share - self.alone).tolist(),
                "contradicted": [float(row.max(initial=0.0)) for row in off],
            },
            backend,
        )

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [str(number), rule.folded(WIDTH), _percent(share), _percent(alone)]
            for number, rule, share, alone in zip(self.rules.numbers, self.rules, self.share, self.alone)
        ]
        return ["#", "rule", "covers", "alone"], rows

    def _lines(self) -> list[str]:
        """The rows that no rule covers, and the pairs that most often apply together or pull apart."""
        lines = [f"no rule covers {_percent(self.uncovered)} of {len(self.counts):,} rows"]
        for title, pairs in (("apply together", self.pairs()), ("pull in opposite directions", self.contradictions)):
            shown = [
                f"{self.number(i)} and {self.number(j)} ({_percent(share)})" for i, j, share in pairs[:SHOWN_PAIRS]
            ]
            more = f", and {len(pairs) - SHOWN_PAIRS} more pairs" if len(pairs) > SHOWN_PAIRS else ""
            lines.append(f"{title}: {', '.join(shown)}{more}" if shown else f"{title}: none")
        return lines

    def __str__(self) -> str:
        table = text_table(*self._rows()) if len(self.rules) else "(no rules)"
        return "\n".join([table, "", *self._lines()])

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        table = html_table(*self._rows()) if len(self.rules) else "<p>(no rules)</p>"
        return table + html_lines(*self._lines())

    def __repr__(self) -> str:
        return str(self)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def coverage(model: Model, table: Table) -> Coverage:
    """How the rules of a model share the rows of an aligned table out; see ``RuleModel.coverage``."""
    shown, n_rows = model.rules_on(table), table.n_rows
    numbered = [(rule, number) for rule, number in zip(shown, shown.numbers) if rule.is_binary]
    rules = RuleSet([rule for rule, _ in numbered], shown.reading, [n for _, n in numbered], shown=shown.shown)
    holds = np.array([rule.holds(table) for rule in rules], dtype=bool).reshape(len(rules), n_rows)
    counts = holds.sum(axis=0)
    together = holds.astype(np.float64) @ holds.T / n_rows
    gaps = [model.added(rule) if model.family.is_scored else (rule.inside, rule.outside) for rule in rules]
    gap = np.array([np.ravel(np.asarray(a, dtype=float) - np.asarray(b, dtype=float)) for a, b in gaps])
    gap = gap.reshape(len(rules), max(1, gap.size // max(1, len(rules))))
    return Coverage(
        rules=rules,
        share=holds.sum(axis=1) / n_rows,
        alone=(holds & (counts == 1)).sum(axis=1) / n_rows,
        together=together,
        opposed=np.asarray(gap @ gap.T < 0),
        counts=counts.astype(np.int64),
        uncovered=float((counts == 0).sum() / n_rows),
    )

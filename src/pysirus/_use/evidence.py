"""Models of resamples in, the evidence for each term of a list and for the list as a whole out.

Half-samples of the rows that chose a list flatter it: they share half of its rows. So the rates of single terms are
shown with that said, and what may be expected of the whole list comes from samples that share no row: a list is chosen
in one of them and looked for in the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, starmap
from typing import Any, NamedTuple

import numpy as np

from pysirus._model.held_out import Forward, forward_rows
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.stability import NAMES, Estimate, Stability, near_matrix
from pysirus._terms.term import Term
from pysirus._text.format import (
    format_number,
    format_percent,
    format_threshold,
    html_lines,
    html_table,
    make_frame,
    text_table,
)
from pysirus._text.message import InPython, Parameter

COVERAGE = 0.9  # of the intervals over resamples
LEAST = 10  # resamples with a term that make an interval of it
WIDTH = 60  # characters of a term
# A list of all rows has more terms that return than a list of half of them. How many more is extrapolated: this share
# of what a half gains on a quarter. On three simulated laws (docs/evidence.md) 0.5 and 1 miss by more, up to 0.054.
GAIN = 0.75
Interval = tuple[float, float]
Grid = tuple[list[str], list[list[str]]]  # a header and rows


@dataclass(frozen=True)
class TermEvidence:
    """What resamples say of a term.

    Attributes
    ----------
    term : FittedTerm
        The term of the list.
    returned, returned_nearby : float
        The share of the resamples whose list has it, or has it or a neighbour of it.
    inside, outside, weight : tuple of two float, or None
        Where the middle 90% of its outputs and weights are, in the resamples that have it; None where these are fewer
        than ten.
    thresholds : tuple of (str, float, float)
        The same of each threshold, by feature.
    """

    term: FittedTerm
    returned: float
    returned_nearby: float
    inside: Interval | None = None
    outside: Interval | None = None
    weight: Interval | None = None
    thresholds: tuple[tuple[str, float, float], ...] = ()

    @property
    def threshold_text(self) -> str:
        """The intervals of its thresholds, in words."""
        return "; ".join(f"{name} {_between(low, high)}" for name, low, high in self.thresholds)


@dataclass(frozen=True)
class Evidence:
    """How certain a rule list is: which of its rules resamples of the rows select again.

    Attributes
    ----------
    terms : tuple of TermEvidence
        For each term, the number of resamples in which it was selected again, and the spread of its outputs, weight and
        thresholds.
    expected_return : Estimate or None
        The share of the terms expected to be selected again on an independent sample of half the size, estimated from
        samples that share no row, with a standard error over resamples. For periods, the share of a period's terms that
        the next period selects again.
    stability : dict of Stability
        The stability between "folds", "bootstraps" and "halves", or between "periods" and from each to the "next
        period".
    how : str
        "halves" or "periods".
    n_resamples : int
        The number of resamples.
    n_rows : int
        The number of rows of the table.
    retuned : bool
        Whether the size of the list was tuned again in every resample.
    forward : tuple of Forward
        For periods, how well the list learned from earlier periods predicts each one.

    Examples
    --------
    >>> from pysirus import SirusRegressor
    >>> from pysirus.datasets import load_machine
    >>> X, y = load_machine(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=5, n_trees=500, random_state=0).fit(X, y)
    >>> evidence = model.evidence(X, y, n_resamples=20)
    >>> list(evidence.stability)
    ['folds', 'bootstraps', 'halves']
    >>> len(evidence.to_frame("pandas"))
    5
    """

    terms: tuple[TermEvidence, ...]
    expected_return: Estimate | None
    stability: Mapping[str, Stability]
    how: str
    n_resamples: int
    n_rows: int
    retuned: bool = False
    forward: tuple[Forward, ...] = field(default=())

    def to_frame(self, backend: str | None = None) -> Any:
        """A row for each term; ``backend`` is "pandas", "polars" or "pyarrow".

        Columns ``rule``, ``returned`` and ``returned_nearby``; the ends of 90% intervals ``inside_low``,
        ``inside_high``, ``outside_low``, ``outside_high``, ``weight_low`` and ``weight_high``; and ``thresholds`` in
        words.
        """
        data: dict[str, list[Any]] = {"rule": [own.term.text for own in self.terms]}
        for name in ("returned", "returned_nearby"):
            data[name] = [getattr(own, name) for own in self.terms]
        for name in ("inside", "outside", "weight"):
            for i, end in enumerate(("low", "high")):
                found = (getattr(own, name) for own in self.terms)
                data[f"{name}_{end}"] = [None if pair is None else pair[i] for pair in found]
        data["thresholds"] = [own.threshold_text for own in self.terms]
        return make_frame(data, backend)

    def to_dict(self) -> dict[str, Any]:
        """The evidence as plain data, ready for JSON."""
        rate = self.expected_return
        return {
            "how": self.how,
            "n_resamples": self.n_resamples,
            "n_rows": self.n_rows,
            "retuned": self.retuned,
            "terms": self.to_frame("pyarrow").to_pylist(),
            "expected_return": None if rate is None else {"value": rate.value, "standard_error": rate.error},
            "stability": {name: own.to_dict() for name, own in self.stability.items()},
            "forward": [vars(own) for own in self.forward],
        }

    @property
    def told(self) -> Told:
        """The evidence in words."""
        return tell(self.to_dict(), [own.term.folded(WIDTH) for own in self.terms])

    @property
    def head(self) -> str:
        """What was done, in a line."""
        return self.told.head

    def __str__(self) -> str:
        told = self.told
        return "\n\n".join(
            [told.head, text_table(*told.terms), "\n".join(told.notes), *starmap(text_table, told.others)]
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        told = self.told
        notes = html_lines(" ".join(told.notes))
        return "".join([html_lines(told.head), html_table(*told.terms), notes, *starmap(html_table, told.others)])


# -------------------------------------------------------------------------------------------------------------- words


class Told(NamedTuple):
    """Evidence in words: what was done, a row a term, what the numbers mean, and tables of the whole list."""

    how: str
    head: str
    terms: Grid
    notes: list[str]
    others: list[Grid]


def tell(data: Mapping[str, Any], texts: Sequence[str]) -> Told:
    """Evidence as plain data (``Evidence.to_dict``) in words; ``texts`` are those of the terms."""
    fixed = "everything tuned again in each" if data["retuned"] else "p0, or the number of rules, and stages fixed"
    what = "half-samples" if data["how"] == "halves" else "periods"
    head = f"{data['n_resamples']} {what} of {data['n_rows']:,} rows, {fixed}"
    others = [_stability_rows(list(data["stability"].values()))]
    if data["forward"]:
        others.append(forward_rows([Forward(**own) for own in data["forward"]]))
    return Told(data["how"], head, _term_rows(data["terms"], texts), _notes(data), others)


def told_of(evidence: Any, model: Model, width: int) -> Told:
    """The evidence for a model in words: an ``Evidence``, or the JSON of one; an error if it is of another list."""
    try:
        data = evidence if isinstance(evidence, Mapping) else evidence.to_dict()
        found = tell(data, [term.folded(width) for term in model.rules])
        same = [own["rule"] for own in data["terms"]] == [term.text for term in model.rules]
    except (KeyError, TypeError, AttributeError) as error:
        raise ParameterError(
            f"{Parameter('evidence')} must be evidence about this model{InPython(', as model.evidence returns it')}, "
            "or the same as JSON."
        ) from error
    if not same:
        raise ParameterError(
            f"{Parameter('evidence')} is about other rules than the model has. Make it again with this model."
        )
    return found


def _term_rows(terms: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> Grid:
    header = ["#", "rule", "returned", "nearby", "inside", "outside", "weight"]
    rows = [
        [
            str(number),
            text,
            format_percent(own["returned"]),
            format_percent(own["returned_nearby"]),
            *(_between(own[f"{name}_low"], own[f"{name}_high"]) for name in header[4:]),
        ]
        for number, (own, text) in enumerate(zip(terms, texts), start=1)
    ]
    kept = [i for i, name in enumerate(header) if name in header[:4] or any(row[i] for row in rows)]
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]


def _stability_rows(every: Sequence[Mapping[str, Any]]) -> Grid:
    names = [name for name in NAMES if any(name in own for own in every)]
    words = {"dice": "terms", "corrected": "corrected", "nearby": "nearby", "columns": "columns"}
    header = ["between", *(words.get(name, "columns corrected") for name in names)]
    return header, [[own["between"], *(_measure(own, name) for name in names)] for own in every]


def _measure(own: Mapping[str, Any], name: str) -> str:
    """A measure and its standard error; nothing where it was not taken."""
    if name not in own:
        return ""
    return str(Estimate(float("nan") if own[name] is None else own[name], own[f"{name}_se"]))


def _notes(data: Mapping[str, Any]) -> list[str]:
    """What the numbers mean."""
    found = data["expected_return"]
    rate = None if found is None else Estimate(found["value"], found["standard_error"])
    lines = []
    if data["how"] == "halves":
        lines.append(
            "returned: the share of the half-samples whose list has the term. They share rows with the list, which "
            "flatters it."
        )
        if rate is not None:
            lines.append(f"A list from an independent sample of half the size would have {rate} of the terms.")
    elif rate is not None:
        lines.append(f"The list of the next period has {rate} of the terms of a period's list, on average.")
    lines.append("Intervals are the middle 90% over the resamples that have the term; ± are standard errors.")
    return lines


def _between(first: float | None, last: float | None) -> str:
    """An interval in words; nothing where there is none."""
    if first is None or last is None:
        return ""
    ends = (first, last)
    low, high = (format_threshold(value, rounded=True) if value >= 1e4 else format_number(value, 3) for value in ends)
    return low if low == high else f"{low} to {high}"


# ------------------------------------------------------------------------------------------------------------ figures


def terms_evidence(model: Model, models: Sequence[Model]) -> tuple[TermEvidence, ...]:
    """What the models of resamples say of each term of a model."""
    lists = [set(own.rules) for own in models]
    every: list[Term] = list(dict.fromkeys([*model.rules, *(term for own in lists for term in own)]))
    near, place = near_matrix(every) > 0, {term: i for i, term in enumerate(every)}
    has = np.zeros((len(lists), len(every)), dtype=bool)
    for row, own in zip(has, lists):
        row[[place[term] for term in own]] = True
    return tuple(
        _term_evidence(
            term,
            [next(own for own in other.rules if own == term) for other, hit in zip(models, has[:, place[term]]) if hit],
            float(has[:, place[term]].mean()),
            float(has[:, near[place[term]]].any(axis=1).mean()),
            model,
        )
        for term in model.rules
    )


def _term_evidence(
    term: FittedTerm, found: Sequence[FittedTerm], returned: float, nearby: float, model: Model
) -> TermEvidence:
    if len(found) < LEAST:
        return TermEvidence(term, returned, nearby)
    k = model.family.shown_class(term)

    def output(side: Any) -> float:
        values = np.atleast_1d(np.asarray(side, dtype=np.float64))
        return float(values[k if len(values) > 1 else 0])

    sides = (
        [_interval([output(own.means[i]) for own in found]) for i in (0, 1)]
        if term.has_sides and term.is_binary
        else [None, None]
    )
    thresholds = []
    for c, condition in enumerate(term.conditions):
        for end in ("lower", "upper"):
            if getattr(condition, end) is not None:
                values = [float(getattr(_same(own, condition.feature, c), end)) for own in found]
                thresholds.append((condition.feature, *_interval(values)))
    weight = _interval([own.weight or 0.0 for own in found])
    return TermEvidence(term, returned, nearby, sides[0], sides[1], weight, tuple(thresholds))


def _same(term: FittedTerm, feature: str, place: int) -> Any:
    """The condition of an equal term on a feature."""
    return next((own for own in term.conditions if own.feature == feature), term.conditions[place])


def _interval(values: Sequence[float]) -> Interval:
    low, high = np.quantile(values, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return float(low), float(high)


def shared(chosen: Model, looked_for: Model) -> tuple[int, int]:
    """How many terms of one list another one has, and how many there are."""
    there = set(looked_for.rules)
    return sum(term in there for term in chosen.rules), len(chosen.rules)


def expected_return(quarters: Sequence[Sequence[Model]], halves: Sequence[Sequence[Model]]) -> Estimate | None:
    """The share of a list's terms that a list from an independent sample of half the size has.

    Each draw has two disjoint halves, and a quarter of each. The share is known of lists from a half, and from a
    quarter, looked for in the other half; from there it is extrapolated to a list from all rows.
    """
    of_half = np.array([np.sum([shared(a, b), shared(b, a)], axis=0) for a, b in halves], dtype=np.float64)
    of_quarter = np.array(
        [np.sum([shared(p, b), shared(q, a)], axis=0) for (p, q), (a, b) in zip(quarters, halves)], dtype=np.float64
    )

    def share(rows: Any) -> float:
        half, quarter = of_half[rows].sum(axis=0), of_quarter[rows].sum(axis=0)
        if not half[1] or not quarter[1]:
            return float("nan")
        found = half[0] / half[1]
        return float(np.clip(found + GAIN * (found - quarter[0] / quarter[1]), 0.0, 1.0))

    n, every = len(of_half), np.arange(len(of_half))
    value = share(every)
    if np.isnan(value):
        return None
    without = np.array([share(np.delete(every, i)) for i in every]) if n > 1 else np.array([np.nan])
    error = None if np.isnan(without).any() else float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
    return Estimate(value, error)


def next_return(models: Sequence[Model]) -> Estimate | None:
    """The share of the terms of a period's list that the next one has, and its standard error over periods."""
    found = [shared(a, b) for a, b in pairwise(models)]
    shares = [hits / n for hits, n in found if n]
    if not shares:
        return None
    error = float(np.std(shares, ddof=1) / np.sqrt(len(shares))) if len(shares) > 1 else None
    return Estimate(float(np.mean(shares)), error)

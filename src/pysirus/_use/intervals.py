"""Models of folds and how far they missed their held-out rows in, intervals and sets for new rows out.

CV+ (Barber, Candès, Ramdas, Tibshirani 2021): a row that fold k held out was missed by R_i. A new row x would be missed
alike, so its target is looked for between the quantiles of all f_k(x) - R_i and of all f_k(x) + R_i. Classes are in the
set of x unless too many held-out rows were missed by less than the class would be. Rows count once, whatever they
weigh. Fitted values of the list itself have no part in it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._model.model import Model
from pysirus._text.format import format_number, format_percent, html_lines, html_table, make_frame, text_table

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
HALVINGS = 80  # of the range in which an end of an interval lies
SHORT = 1.96  # standard errors below the coverage that was asked for: a group falls short
WIDTH = 60


@dataclass(frozen=True)
class KeptFold:
    """The model of a fold, what it predicted of the rows that it held out, [row, output], and the truth."""

    model: Model
    values: Floats
    truth: NDArray[Any]

    @property
    def missed(self) -> Floats:
        """How far each held-out row was missed, from the least on."""
        return np.sort(self.model.family.misfit(self.values, self.truth))


@dataclass(frozen=True)
class KeptFolds:
    """The folds of one repetition; ``nested`` where each was tuned by itself."""

    folds: tuple[KeptFold, ...]
    nested: bool = False

    @property
    def n_rows(self) -> int:
        """Held-out rows of all folds."""
        return sum(len(fold.truth) for fold in self.folds)

    def predict(self, X: Any) -> list[Floats]:
        """What the model of each fold predicts of new rows, [row, output]."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is unseen is said of the model itself
            found = [fold.model.raw_predict(X) for fold in self.folds]
        return [values.reshape(len(values), -1) for values in found]

    def intervals(self, X: Any, coverage: float) -> Floats:
        """Where the targets of rows lie, [row, end]."""
        values = [own[:, 0] for own in self.predict(X)]
        family = self.folds[0].model.family
        spreads, missed = [family.spread(own) for own in values], [fold.missed for fold in self.folds]
        # as many held-out rows as this are allowed below the lower end, and above the upper one
        outside = int(np.floor((1 - coverage) * (self.n_rows + 1)))
        if outside < 1:
            return np.tile([family.least_value, np.inf], (len(values[0]), 1))
        low = -_end([-own for own in values], spreads, missed, self.n_rows - outside + 1)
        high = _end(values, spreads, missed, self.n_rows - outside + 1)
        return np.stack([np.maximum(low, family.least_value), high], axis=1)

    def sets(self, X: Any, coverage: float) -> Bools:
        """Which classes each row may be of, [row, class]."""
        values = self.predict(X)
        less = np.zeros(values[0].shape)  # held-out rows that were missed by less than the class would be
        for own, fold in zip(values, self.folds):
            less += np.searchsorted(fold.missed, 1 - own, side="left")
        return np.asarray(less < np.ceil(coverage * (self.n_rows + 1)))

    def venn_abers(self, X: Any, positive: int) -> Floats:
        """Of two classes the lower and the upper probability of one, [row, end]: those that fit to either truth.

        Held-out rows have the probabilities of their own fold, new rows the mean of all folds. Isotonic regression of
        the held-out rows and of the new one, taken for the one class and for the other, gives both ends (Vovk, Petej,
        Fedorova 2015, whose folds are calibrated one by one: a tenth of a small table is too little for that).
        """
        known = np.concatenate([fold.values[:, positive] for fold in self.folds])
        truth = np.concatenate([fold.truth == positive for fold in self.folds])
        new = np.mean([own[:, positive] for own in self.predict(X)], axis=0)
        return _venn_abers(known, truth, new)


def _end(values: Sequence[Floats], spreads: Sequence[Floats], missed: Sequence[Floats], rank: int) -> Floats:
    """The rank-th smallest of all values + spread * missed, for each row: found by halving, with sorted misses."""

    def count(end: Floats) -> NDArray[np.intp]:
        found = np.zeros(len(end), dtype=np.intp)
        for own, spread, each in zip(values, spreads, missed):
            found += np.searchsorted(each, (end - own) / spread, side="right")
        return found

    low = np.min(values, axis=0)
    high = np.max([own + spread * each[-1] for own, spread, each in zip(values, spreads, missed)], axis=0)
    for _ in range(HALVINGS):
        middle = low / 2 + high / 2
        enough = count(middle) >= rank
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(high)


def _venn_abers(known: Floats, truth: Bools, new: Floats) -> Floats:
    """Lower and upper calibrated probabilities of new scores, given some whose truth is known."""
    from sklearn.isotonic import isotonic_regression

    scores, place = np.unique(known, return_inverse=True)
    weights = np.bincount(place).astype(np.float64)
    means = np.bincount(place, truth) / weights
    distinct, back = np.unique(new, return_inverse=True)
    found = np.empty((len(distinct), 2))
    for r, score in enumerate(distinct.tolist()):
        at = int(np.searchsorted(scores, score))
        same = at < len(scores) and scores[at] == score
        for label in (0, 1):
            if same:
                own, mass = means.copy(), weights.copy()
                own[at], mass[at] = (means[at] * weights[at] + label) / (weights[at] + 1), weights[at] + 1
            else:
                own, mass = np.insert(means, at, label), np.insert(weights, at, 1.0)
            found[r, label] = isotonic_regression(own, sample_weight=mass)[at]
    return found[back]


def sure_text(own: dict[str, Any]) -> str:
    """The interval or the set of a row, in words."""
    percent = f"{100 * own['coverage']:g}%"
    if "set" not in own:
        low, high = (format_number(own[end], 4) for end in ("lower", "upper"))
        return f"{percent} interval: {low} to {high}"
    text = f"{percent} set: {' or '.join(own['set']) or 'none of the classes, the row is unlike the others'}"
    if "probability" not in own:
        return text
    low, high = (f"{end:.2f}" for end in own["probability"])
    return f"{text}; calibrated probability of {own['of']}: {low if low == high else f'{low} to {high}'}"


# ------------------------------------------------------------------------------------------------------------ coverage


@dataclass(frozen=True)
class IntervalCoverage:
    """How many intervals or sets contain the truth, overall and for the rows of each rule. Prints as a table.

    Attributes
    ----------
    wanted : float
        The requested coverage.
    n_rows, n_covered : int
        The number of rows, and of rows whose interval or set contains the truth.
    groups : tuple of (str, int, int)
        Each rule as text, the number of rows to which it applies, and the number of these whose interval or set
        contains the truth; then the same for the rows to which it does not apply. Rules overlap, and so do these
        groups.
    """

    wanted: float
    n_rows: int
    n_covered: int
    groups: tuple[tuple[str, int, int], ...]

    @property
    def share(self) -> float:
        """The share of all rows whose interval or set contains the truth."""
        return self.n_covered / max(1, self.n_rows)

    @property
    def short(self) -> list[tuple[str, int, int]]:
        """Groups whose share is below the requested coverage by more than 1.96 standard errors, worst first."""
        error = np.sqrt(self.wanted * (1 - self.wanted))
        found = [own for own in self.groups if own[2] / own[1] < self.wanted - SHORT * error / np.sqrt(own[1])]
        return sorted(found, key=lambda own: own[2] / own[1])

    def to_frame(self, backend: str | None = None) -> Any:
        """A row for each group; ``backend`` is "pandas", "polars" or "pyarrow"."""
        short = {own[0] for own in self.short}
        columns: dict[str, list[Any]] = {
            "group": [own[0] for own in self.groups],
            "n_rows": [own[1] for own in self.groups],
            "n_covered": [own[2] for own in self.groups],
            "share": [own[2] / own[1] for own in self.groups],
            "falls_short": [own[0] in short for own in self.groups],
        }
        return make_frame(columns, backend)

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        rows = [[own[0], f"{own[1]:,}", format_percent(own[2] / own[1])] for own in self.groups]
        return ["rule", "rows", "covered"], rows

    @property
    def head(self) -> str:
        """The share of all rows, and the groups that fall short."""
        line = f"{self.n_covered:,} of {self.n_rows:,} rows covered ({self.share:.1%}, asked for {self.wanted:.0%})"
        few = "; ".join(f"{text} ({covered / n:.0%} of {n:,})" for text, n, covered in self.short)
        return f"{line}. Falls short: {few}." if few else f"{line}. No rule falls short."

    def __str__(self) -> str:
        return f"{self.head}\n\n{text_table(*self._rows())}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_lines(self.head) + html_table(*self._rows())


def coverage_by_rule(model: Model, X: Any, covered: Bools, wanted: float) -> IntervalCoverage:
    """How many rows hold, of all and of those to which each rule applies, or does not."""
    table = model.align(X, rules=model.rules)
    groups = []
    for rule in model.rules:
        inside = rule.holds(table)
        for where, text in ((inside, rule.folded(WIDTH)), (~inside, f"not {rule.folded(WIDTH)}")):
            if where.any():
                groups.append((text, int(where.sum()), int(covered[where].sum())))
    return IntervalCoverage(wanted, len(covered), int(covered.sum()), tuple(groups))

"""A model of two classes in, its scorecard out: whole points by rule, whose total says how likely a class is.

``points = base_score`` where the odds are ``base_odds``, and ``pdo`` more double the odds, as is usual in credit
scoring. A rule gives its points on one side and none on the other, so that nothing is subtracted; what that shifts is
in the start. The points are rounded together, and the card says what that costs.

Rounding each part to the nearest whole number lets errors add up. Here the mean square of the error of the total is
made small: parts are moved up or down by one, alone and in pairs, as long as that helps. The mean is over rows, which
enter only by how often two parts are given together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.gaussian import Gaussian
from pysirus._families.links import log_odds
from pysirus._families.row_metrics import merged_auc, rank
from pysirus._model.model import Model
from pysirus._terms.listing import RuleSet
from pysirus._text.format import format_label
from pysirus._text.message import Learner, Parameter, setting
from pysirus.export._addends import listing_of, of_second
from pysirus.export._conditions import ExportError
from pysirus.export._ranges import in_ranges

Matrix = NDArray[np.float64]
LEAST_GAIN = 1e-9  # of the mean square, in squared points; less may be a rounding error of its own
MOST_PAIRED = 100  # parts that are moved in pairs too


def joint_shares(shares: Matrix) -> Matrix:
    """How often the start (always) and any two parts are given together, if independently: [1 + n, 1 + n]."""
    q = np.concatenate([[1.0], shares])
    together = np.outer(q, q)
    np.fill_diagonal(together, q)
    return together


def observed_shares(given: NDArray[np.bool_]) -> Matrix:
    """The same from rows [row, part]."""
    parts = np.column_stack([np.ones(len(given)), given]).astype(np.float64)
    return np.asarray(parts.T @ parts / len(given))


def round_together(points: Matrix, together: Matrix) -> NDArray[np.int64]:
    """Whole numbers near ``points``, the start first, with a small mean square of the error of their total.

    No part becomes negative; the start may.
    """
    n = len(points)
    whole = np.rint(points)
    moves = _moves(n)
    curvature = np.einsum("mi,ij,mj->m", moves, together, moves)
    while True:
        gain = 2 * moves @ (together @ (whole - points)) + curvature
        gain[((whole + moves)[:, 1:] < 0).any(axis=1)] = np.inf
        best = int(gain.argmin())
        if gain[best] >= -LEAST_GAIN:
            return whole.astype(np.int64)
        whole += moves[best]


def _moves(n: int) -> Matrix:
    """One up, one down and, of lists that are not too long, any two of these at once: [move, part]."""
    ones = np.concatenate([np.eye(n), -np.eye(n)])
    if n > MOST_PAIRED:
        return ones
    first, second = np.triu_indices(2 * n, 1)
    return np.concatenate([ones, ones[first] + ones[second]])


LARGEST = 1e9  # points
MOST_STEPS = 16  # rows of the table from points to probabilities


@dataclass(frozen=True)
class Loss:
    """What whole points cost: the largest possible change of log-odds and probability; on rows, what was seen."""

    log_odds: float
    probability: float
    rows: dict[str, float]


@dataclass(frozen=True)
class Card:
    """A scorecard.

    ``start`` and ``points`` [rule, (holds, does not)] are whole numbers; ``factor`` and ``offset`` turn a total into
    log-odds: ``(total - offset) / factor``.
    """

    model: Model
    positive: int
    factor: float
    offset: float
    start: int
    points: NDArray[np.int64]
    loss: Loss
    groups: tuple[tuple[int, ...], ...] = ()  # rules that are the ranges of a slope: one of each holds in a row

    @property
    def label(self) -> str:
        """The label of the positive class, as text."""
        return format_label(self.classes[self.positive])

    @property
    def classes(self) -> tuple[Any, ...]:
        """Both classes."""
        return self.model.family.classes or ()

    @cached_property
    def total(self) -> Model:
        """A model whose prediction is the total."""
        rules = [
            replace(
                rule, inside=float(a), outside=float(b), weight=1.0, classes=None, stage=1, observed=None, effect=None
            )
            for rule, (a, b) in zip(self.model.rules, self.points.tolist())
        ]
        return replace(
            self.model,
            selected=RuleSet(rules),
            intercept=float(self.start),
            family=Gaussian("points", float(self.start)),
            tuning=None,
            moments=None,
        )

    def probability(self, total: Any) -> Any:
        """The probability of the positive class that a total stands for."""
        odds = np.clip((np.asarray(total, dtype=np.float64) - self.offset) / self.factor, -700.0, 700.0)
        return 1.0 / (1.0 + np.exp(-odds))

    @property
    def range(self) -> tuple[int, int]:
        """The least and the most that a total can be."""
        single = self.points[_ungrouped(len(self.points), self.groups)]
        own = [self.points[list(group), 0] for group in self.groups]
        low = single.min(axis=1).sum() + sum(points.min() for points in own)
        return self.start + int(low), self.start + int(single.max(axis=1).sum() + sum(points.max() for points in own))

    def shares(self) -> list[tuple[str, str]]:
        """The share of the positive class where each rule holds and elsewhere, as text."""
        texts = [tuple(f"{100 * mean[self.positive]:.0f}%" for mean in means) for means in self.means()]
        return [(own[0], own[1]) if own else ("", "") for own in texts]

    def means(self) -> list[tuple[Any, ...]]:
        """The shares of both classes where each rule holds and elsewhere; of the range of a slope none."""
        ranges = {r for group in self.groups for r in group}
        return [() if r in ranges else rule.means for r, rule in enumerate(self.model.rules)]

    def steps(self) -> list[tuple[int, float]]:
        """Totals at even distances over the range, and the probability of each."""
        low, high = self.range
        size = next(step for step in _sizes() if (high - low) / step <= MOST_STEPS)
        totals = range(size * math.ceil(low / size), high + 1, size)
        return [(total, float(self.probability(total))) for total in totals] or [(low, float(self.probability(low)))]

    def words(self) -> list[str]:
        """What the points mean and what rounding cost, in sentences."""
        doubles = self.factor * math.log(2.0)
        even = f"{self.offset:.1f}".removesuffix(".0")
        lines = [
            f"More points: {self.label} is more likely. {doubles:g} points double the odds; even odds are at {even}.",
            f"Whole points change the log-odds of no row by more than {self.loss.log_odds:.3f}, and its probability by "
            f"no more than {self.loss.probability:.4f}.",
        ]
        decision = self.model.family.decides_by
        if decision is not None:
            at = self.offset + self.factor * decision.cutoff_odds(self.positive)
            lines.append(f"Decide for {self.label} above {at:.1f} points ({decision.how()}).")
        seen = self.loss.rows
        if seen:
            lines.append(
                f"On {seen['rows']:,.0f} rows: log-odds change by {seen['log_odds']:.3f} at most, probabilities by "
                f"{seen['probability']:.4f} at most."
            )
        if "auc" in seen:
            lines.append(
                f"AUC {seen['auc']:.4f}, with whole points {seen['auc_points']:.4f}; "
                f"log loss {seen['log_loss']:.4f}, with whole points {seen['log_loss_points']:.4f}."
            )
        if self.groups:
            lines.append("A slope is given in ranges, each with the points of its middle; exactly one of them applies.")
        empty = int((self.points[_ungrouped(len(self.points), self.groups)].max(axis=1) == 0).sum())
        if empty:
            lines.append(f"{empty} of {len(self.points)} rules round to 0 points; a larger pdo keeps them apart.")
        return lines


def _ungrouped(n: int, groups: tuple[tuple[int, ...], ...]) -> list[int]:
    """The numbers of rules that are no ranges of a slope."""
    ranges = {r for group in groups for r in group}
    return [r for r in range(n) if r not in ranges]


def _sizes() -> Iterator[int]:
    """1, 2, 5, 10, 20, 50, ..."""
    step = 1
    while True:
        yield from (step, 2 * step, 5 * step)
        step *= 10


# ------------------------------------------------------------------------------------------------------------ making it


def _check(model: Model, pdo: float, base_score: float, base_odds: float) -> None:
    if model.family.form != "odds":
        raise ExportError(
            f"A scorecard needs two classes with likelihood weights; this model predicts {model.family.kind_text}. "
            f"Fit {Learner('SirusClassifier')} with {setting('weighting', 'likelihood')} on two classes."
        )
    for name, value in (("pdo", pdo), ("base_odds", base_odds)):
        if not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0):
            raise ExportError(f"{Parameter(name)} must be a positive number, got {value!r}.")
    if not (isinstance(base_score, (int, float)) and math.isfinite(base_score)):
        raise ExportError(f"{Parameter('base_score')} must be a number, got {base_score!r}.")


def _position(model: Model, positive: Any) -> int:
    """Which of the two classes the points are for; by default the positive one."""
    labels = model.family.classes or ()
    if positive is None:
        return model.positive
    for k, label in enumerate(labels):
        if label == positive or str(label) == str(positive):
            return k
    raise ExportError(f"positive must be one of {', '.join(map(repr, labels))}, got {positive!r}.")


def _inside_shares(model: Model) -> NDArray[np.float64]:
    """The share of the training rows in which each rule holds."""
    counts = [(rule.n_inside or 0, rule.n_outside or 0) for rule in model.rules]
    known = [a / (a + b) if a + b else None for a, b in counts]
    ranges = [rule.conditions[0].share if rule.conditions else None for rule in model.rules]
    shares = [a if a is not None else 0.5 if b is None else b for a, b in zip(known, ranges)]
    return np.array(shares, dtype=np.float64)


def make_card(
    model: Model,
    *,
    pdo: float = 20.0,
    base_score: float = 600.0,
    base_odds: float = 50.0,
    positive: Any = None,
    X: Any = None,
    y: Any = None,
) -> Card:
    """The scorecard of a model; see ``to_scorecard``."""
    _check(model, pdo, base_score, base_odds)
    if y is not None and X is None:
        raise ExportError("y is given without X: the rows that it belongs to are needed too.")
    k, factor = _position(model, positive), pdo / math.log(2.0)
    sign = 1.0 if k == 1 else -1.0
    offset = base_score - factor * math.log(base_odds)
    source, stepped = model, in_ranges(of_second(model), sign, factor)
    model = replace(stepped.model, family=model.family)
    listing = listing_of(stepped.model)
    parts = [(*branch.inside, *branch.outside) for branch in listing.branches]
    with np.errstate(over="ignore", invalid="ignore"):
        sides = sign * factor * np.array(parts, dtype=np.float64).reshape(-1, 2)
        least = sides.min(axis=1)
        exact = np.concatenate([[offset + sign * factor * listing.start[0] + least.sum()], sides.max(axis=1) - least])
    if not np.abs(exact).max() <= LARGEST:
        raise ExportError(f"The points would be larger than {LARGEST:g}: lower pdo ({pdo:g}) or base_score.")
    gives = sides[:, 0] >= sides[:, 1]  # on which side the points are: where the rule holds
    fires = None if X is None else _fires(model, X)
    if fires is None or not len(fires):
        shares = _inside_shares(model)
        together = joint_shares(np.where(gives, shares, 1 - shares))
        for group in stepped.groups:  # of which one holds, never two
            own = 1 + np.array(group)
            together[np.ix_(own, own)] *= np.eye(len(own))
    else:
        together = observed_shares(fires == gives)
    whole = round_together(exact, together)
    points = np.where(np.column_stack([gives, ~gives]), whole[1:, None], 0)
    card = Card(model, k, factor, offset, int(whole[0]), points, Loss(0.0, 0.0, {}), stepped.groups)
    return replace(card, loss=_loss(card, source, whole - exact, stepped.cost, X, y))


def _fires(model: Model, X: Any) -> NDArray[np.bool_]:
    table = model.align(X)
    columns = [rule.holds(table) for rule in model.rules]
    return np.column_stack(columns) if columns else np.zeros((table.n_rows, 0), dtype=bool)


# ----------------------------------------------------------------------------------------------------- what is lost


def _change(odds: float) -> float:
    """The most that a probability changes where its log-odds change by this."""
    return math.tanh(odds / 4)


def _loss(card: Card, source: Model, error: NDArray[np.float64], cost: float, X: Any, y: Any) -> Loss:
    """``error`` of the start and of the parts, ``cost`` of ranges; at worst all errors of one sign come together."""
    single = error[1:][_ungrouped(len(error) - 1, card.groups)]
    own = [error[1:][list(group)] for group in card.groups]
    up = error[0] + single.clip(min=0).sum() + sum(float(part.max()) for part in own)
    down = -error[0] - single.clip(max=0).sum() - sum(float(part.min()) for part in own)
    most = max(up, down) if own else max(up, down, abs(error[0]))
    bound = float(most) / card.factor + cost
    if X is None:
        return Loss(bound, _change(bound), {})
    exact = log_odds(source.scores(X)) * (1.0 if card.positive == 1 else -1.0)
    total = card.total.raw_predict(X)
    found = (total - card.offset) / card.factor
    before, after = 1.0 / (1.0 + np.exp(-exact.clip(-700, 700))), card.probability(total)
    rows = {"rows": float(len(exact))}
    rows["log_odds"] = float(np.abs(found - exact).max(initial=0.0))
    rows["probability"] = float(np.abs(after - before).max(initial=0.0))
    if y is not None:
        rows |= _scores(card, np.asarray(y, dtype=object).tolist(), exact, found)
    return Loss(bound, _change(bound), rows)


def _scores(card: Card, y: list[Any], exact: NDArray[np.float64], found: NDArray[np.float64]) -> dict[str, float]:
    """AUC and log loss by the log-odds of the model and by those of the card."""
    if len(y) != len(exact):
        raise ExportError(f"y has {len(y)} values, X has {len(exact)} rows.")
    for label in y:
        if label not in card.classes:
            raise ExportError(f"y has the label {label!r}, which the model does not know.")
    truth = np.array([label == card.classes[card.positive] for label in y], dtype=bool)
    losses = {}
    for name, odds in (("", exact), ("_points", found)):
        losses[f"log_loss{name}"] = float(np.logaddexp(0.0, np.where(truth, -odds, odds)).mean())
        if truth.any() and not truth.all():
            losses[f"auc{name}"] = merged_auc(rank(odds, truth, None)) or 0.0
    return losses if "auc" in losses else {}

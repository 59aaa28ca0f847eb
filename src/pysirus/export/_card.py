"""A model of classes in, its scorecard out: whole points by rule or by attribute, whose total says how likely each is.

Of two classes ``points = base_score`` where the odds are ``base_odds``, and ``pdo`` more double the odds, as is usual
in credit scoring. Of several each class has its own points and total: ``pdo`` more than another class double the odds
against it, and ``base_score`` is where a score is 0. A line gives its points where it applies and none elsewhere, or
the other way round, so that nothing is subtracted; what that shifts is in the start. The points are rounded together,
and the card says what that costs.

Rounding each part to the nearest whole number lets errors add up. Here the mean square of the error of the total is
made small: parts are moved up or down by one, alone and in pairs, as long as that helps. The mean is over rows, which
enter only by how often two parts are given together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.class_metrics import LEAST_WEIGHT, merged_auc, rank
from pysirus._families.links import log_odds
from pysirus._families.numbers import Gaussian
from pysirus._model.model import Model
from pysirus._terms.listing import RuleSet
from pysirus._text.format import format_label
from pysirus._text.message import Learner, Parameter, setting
from pysirus.export._addends import listing_of, of_second
from pysirus.export._attributes import Lines, lines_of
from pysirus.export._conditions import ExportError

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
BASE_ODDS = 50.0  # at the base score
MOST_STEPS = 16  # rows of the table from points to probabilities


@dataclass(frozen=True)
class Loss:
    """What whole points cost: the largest possible change of log-odds and probability; on rows, what was seen."""

    log_odds: float
    probability: float
    rows: dict[str, float]


@dataclass(frozen=True)
class Card:
    """A scorecard of a class.

    ``start`` and ``points`` [line, (applies, does not)] are whole numbers; ``factor`` and ``offset`` turn a total into
    log-odds of two classes, or into the score of one of several: ``(total - offset) / factor``.
    """

    model: Model  # whose rules are the lines of the card
    positive: int
    factor: float
    offset: float
    start: int
    points: NDArray[np.int64]
    loss: Loss
    lines: Lines

    @property
    def label(self) -> str:
        """The label of the class that points speak for, as text."""
        return format_label(self.classes[self.positive])

    @property
    def classes(self) -> tuple[Any, ...]:
        """All classes."""
        return self.model.family.classes or ()

    @cached_property
    def total(self) -> Model:
        """A model whose prediction is the total."""
        plain = {"weight": 1.0, "classes": None, "stage": 1, "observed": None, "effect": None}
        rules = [
            replace(rule, inside=float(a), outside=float(b), **plain)  # type: ignore[arg-type]
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
        """The probability of the positive one of two classes that a total stands for."""
        odds = np.clip((np.asarray(total, dtype=np.float64) - self.offset) / self.factor, -700.0, 700.0)
        return 1.0 / (1.0 + np.exp(-odds))

    @property
    def single(self) -> list[int]:
        """The numbers of lines that are in no block: rules, which apply or not."""
        taken = {line for block in self.lines.blocks for line in block.lines}
        return [line for line in range(len(self.points)) if line not in taken]

    def reach(self, values: NDArray[Any]) -> tuple[float, float]:
        """The least and the most that some values of the lines, [line, (applies, does not)], can add up to."""
        single, blocks = values[self.single], [values[block.lines, 0] for block in self.lines.blocks]
        low = single.min(axis=1).sum() + sum(own.min() for own in blocks)
        return float(low), float(single.max(axis=1).sum() + sum(own.max() for own in blocks))

    @property
    def range(self) -> tuple[int, int]:
        """The least and the most that a total can be."""
        low, high = self.reach(self.points)
        return self.start + int(low), self.start + int(high)

    def shares(self) -> list[tuple[str, str]]:
        """The share of the positive class where each rule holds and elsewhere, as text."""
        texts = [tuple(f"{100 * mean[self.positive]:.0f}%" for mean in means) for means in self.means()]
        return [(own[0], own[1]) if own else ("", "") for own in texts]

    def means(self) -> list[tuple[Any, ...]]:
        """The shares of both classes where each rule holds and elsewhere; of a line in a block none."""
        single = set(self.single)
        return [rule.means if line in single else () for line, rule in enumerate(self.model.rules)]

    def steps(self) -> list[tuple[int, float]]:
        """Totals at even distances over the range, and the probability of each."""
        low, high = self.range
        size = next(step for step in _sizes() if (high - low) / step <= MOST_STEPS)
        totals = range(size * math.ceil(low / size), high + 1, size)
        return [(total, float(self.probability(total))) for total in totals] or [(low, float(self.probability(low)))]


def words(cards: Sequence[Card]) -> list[str]:
    """What the points mean and what rounding cost, in sentences."""
    first, doubles = cards[0], cards[0].factor * math.log(2.0)
    loss, even = first.loss, f"{first.offset:.1f}".removesuffix(".0")
    lines = [
        f"More points: {first.label} is more likely. {doubles:g} points double the odds; even odds are at {even}."
        if len(cards) == 1
        else f"Each class has its own total. {doubles:g} points more than another class double the odds against it.",
        f"Whole points change the log-odds of no row by more than {loss.log_odds:.3f}, and its probability by "
        f"no more than {loss.probability:.4f}.",
        *_deciding(cards),
    ]
    if seen := loss.rows:
        lines.append(
            f"On {seen['rows']:,.0f} rows: log-odds change by {seen['log_odds']:.3f} at most, probabilities by "
            f"{seen['probability']:.4f} at most."
        )
        auc = f"AUC {seen['auc']:.4f}, with whole points {seen['auc_points']:.4f}; " if "auc" in seen else ""
        if "log_loss" in seen:
            lines.append(f"{auc}log loss {seen['log_loss']:.4f}, with whole points {seen['log_loss_points']:.4f}.")
    return [*lines, *_about_lines(cards)]


def _deciding(cards: Sequence[Card]) -> list[str]:
    """Which class is decided for, where that is not the most likely one."""
    first, decision = cards[0], cards[0].model.family.decides_by
    if decision is None:
        return []
    if len(cards) == 1:
        at = first.offset + first.factor * decision.cutoff_odds(first.positive)
        return [f"Decide for {first.label} above {at:.1f} points ({decision.how()})."]
    head = np.log(np.maximum(decision.weights, LEAST_WEIGHT))
    more = zip(cards, first.factor * (head - head.min()))
    added = ", ".join(f"{points:.1f} to {own.label}" for own, points in more)
    return [f"Decide for the class with the most points after adding {added} ({decision.how()})."]


def _about_lines(cards: Sequence[Card]) -> list[str]:
    """What blocks and slopes are, and which rules have no points."""
    first, said = cards[0], []
    lines, several = first.lines, [block for block in first.lines.blocks if " and " in block.title]
    if lines.blocks and lines.by == "attribute":
        said.append("Exactly one line of each block applies to a row.")
    if several and lines.by == "attribute":
        said.append("A block of several columns stands for rules that ask about all of them.")
    if lines.steps:
        said.append("A slope is given in ranges, each with the points of its middle; exactly one of them applies.")
        for own in lines.steps:
            said += [
                f"{card.label}: {own.text(k)}" if k or len(cards) > 1 else own.text(0) for k, card in enumerate(cards)
            ]
    worth = np.max([own.points[own.single].max(axis=1) for own in cards], axis=0) if first.single else np.ones(0)
    if empty := int((worth == 0).sum()):
        said.append(f"{empty} of {len(worth)} rules round to 0 points; a larger pdo keeps them apart.")
    return said


def _sizes() -> Iterator[int]:
    """1, 2, 5, 10, 20, 50, ..."""
    step = 1
    while True:
        yield from (step, 2 * step, 5 * step)
        step *= 10


# ------------------------------------------------------------------------------------------------------------ making it


def _check(model: Model, by: str, pdo: float, base_score: float, base_odds: float | None, positive: Any) -> None:
    if model.family.form not in ("odds", "softmax"):
        raise ExportError(
            f"A scorecard needs classes with likelihood weights; this model predicts {model.family.kind_text}. "
            f"Fit {Learner('SirusClassifier')} with {setting('weighting', 'likelihood')}."
        )
    if by not in ("rule", "attribute"):
        raise ExportError(f"{Parameter('by')} must be 'rule' or 'attribute', got {by!r}.")
    for name, value in (("pdo", pdo), ("base_odds", 1.0 if base_odds is None else base_odds)):
        if not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0):
            raise ExportError(f"{Parameter(name)} must be a positive number, got {value!r}.")
    if not (isinstance(base_score, (int, float)) and math.isfinite(base_score)):
        raise ExportError(f"{Parameter('base_score')} must be a number, got {base_score!r}.")
    for name, given in (("base_odds", base_odds), ("positive", positive)):
        if given is not None and model.family.form == "softmax":
            raise ExportError(f"{Parameter(name)} is for two classes; of several each has its own points.")


def _position(model: Model, positive: Any) -> int:
    """Which of two classes the points are for; by default the positive one."""
    labels = model.family.classes or ()
    if positive is None:
        return model.positive
    for k, label in enumerate(labels):
        if label == positive or str(label) == str(positive):
            return k
    raise ExportError(f"positive must be one of {', '.join(map(repr, labels))}, got {positive!r}.")


def _inside_shares(model: Model) -> NDArray[np.float64]:
    """The share of the training rows in which each rule holds; without counts that of its first condition, or 0.5."""
    shares = []
    for rule in model.rules:
        inside, outside = rule.n_inside or 0, rule.n_outside or 0
        condition = rule.conditions[0].share if rule.conditions else None
        shares.append(inside / (inside + outside) if inside + outside else 0.5 if condition is None else condition)
    return np.array(shares, dtype=np.float64)


def make_card(model: Model, **options: Any) -> Card:
    """The scorecard of a model of two classes; see ``to_scorecard``."""
    (card,) = make_cards(model, **options)
    return card


def make_cards(
    model: Model,
    *,
    by: str = "rule",
    pdo: float = 20.0,
    base_score: float = 600.0,
    base_odds: float | None = None,
    positive: Any = None,
    X: Any = None,
    y: Any = None,
) -> list[Card]:
    """The scorecard of a model, of several classes one for each; see ``to_scorecard``."""
    _check(model, by, pdo, base_score, base_odds, positive)
    if y is not None and X is None:
        raise ExportError("y is given without X: the rows that it belongs to are needed too.")
    factor, one = pdo / math.log(2.0), model.family.form == "odds"
    positions = [_position(model, positive)] if one else [*range(len(model.family.classes or ()))]
    offset = base_score - (factor * math.log(BASE_ODDS if base_odds is None else base_odds) if one else 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = factor * np.array([1.0 if not one or k == 1 else -1.0 for k in positions])
        lines = lines_of(model, listing_of(of_second(model) if one else model), by, scale)
    shown = replace(model, selected=RuleSet(lines.rules), tuning=None, moments=None, likelihood=None)
    holds = None if X is None else _holds(shown, X)
    cards, errors = [], []
    for k, position in enumerate(positions):
        sides = np.array([(a[k], b[k]) for a, b in zip(lines.inside, lines.outside)]).reshape(-1, 2)
        exact = np.concatenate([[offset + lines.start[k]], sides.max(axis=1)])
        if not np.abs(exact).max() <= LARGEST:
            raise ExportError(f"The points would be larger than {LARGEST:g}: lower pdo ({pdo:g}) or base_score.")
        gives = sides[:, 0] >= sides[:, 1]  # on which side the points are: where the rule holds
        whole = round_together(exact, _together(shown, lines, gives, holds))
        points = np.where(np.column_stack([gives, ~gives]), whole[1:, None], 0)
        for block in lines.blocks:  # what all its lines have after rounding is given to everybody
            common = points[block.lines, 0].min()
            points[block.lines, 0] -= common
            exact[0], whole[0] = exact[0] + common, whole[0] + common
            sides[block.lines, 0] -= common
        cards.append(Card(shown, position, factor, offset, int(whole[0]), points, Loss(0.0, 0.0, {}), lines))
        errors.append((whole[0] - exact[0], points - sides))
    loss = _loss(cards, model, errors, X, y)
    return [replace(card, loss=loss) for card in cards]


def _holds(model: Model, X: Any) -> NDArray[np.bool_] | None:
    """Where each line applies, [row, line]; None without rows."""
    table = model.align(X)
    columns = [rule.holds(table) for rule in model.rules]
    return np.column_stack(columns) if columns and table.n_rows else None


def _together(
    model: Model, lines: Lines, gives: NDArray[np.bool_], holds: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """How often any two lines give their points together."""
    if holds is not None:
        return observed_shares(holds == gives)
    shares = _inside_shares(model)
    together = joint_shares(np.where(gives, shares, 1 - shares))
    for block in lines.blocks:  # of which one holds, never two
        own = 1 + np.array(block.lines)
        together[np.ix_(own, own)] *= np.eye(len(own))
    return together


# ----------------------------------------------------------------------------------------------------- what is lost


def _change(odds: float) -> float:
    """The most that a probability changes where its log-odds change by this."""
    return math.tanh(odds / 4)


def _loss(cards: Sequence[Card], source: Model, errors: Sequence[tuple[float, Matrix]], X: Any, y: Any) -> Loss:
    """What is lost; ``errors`` of the start and of the lines of each card. At worst all of one sign come together."""
    ends = [(start + np.array(card.reach(own))) for card, (start, own) in zip(cards, errors)]
    lost = cards[0].lines.cost / cards[0].factor
    if len(cards) == 1:
        bound = float(np.abs(ends[0]).max()) / cards[0].factor + float(lost[0])
    else:
        pairs = permutations(range(len(cards)), 2)
        apart = [(ends[i][1] - ends[j][0]) / cards[0].factor + lost[i] + lost[j] for i, j in pairs]
        bound = max(apart, default=0.0)
    if X is None:
        return Loss(float(bound), _change(bound), {})
    scores = source.scores(X)
    exact = log_odds(scores)[:, None] * (1.0 if cards[0].positive == 1 else -1.0) if len(cards) == 1 else scores
    totals = np.column_stack([card.total.raw_predict(X) for card in cards])
    found = (totals - cards[0].offset) / cards[0].factor
    gaps = np.column_stack([np.zeros(len(found)), found - exact]) if len(cards) == 1 else found - exact
    before, after = (np.exp(_log_shares(odds)) for odds in (exact, found))
    rows = {"rows": float(len(exact))}
    rows["log_odds"] = float((gaps.max(axis=1) - gaps.min(axis=1)).max(initial=0.0))
    rows["probability"] = float(np.abs(after - before).max(initial=0.0))
    if y is not None:
        rows |= _scores(cards, np.asarray(y, dtype=object).tolist(), exact, found)
    return Loss(float(bound), _change(bound), rows)


def _log_shares(scores: Matrix) -> Matrix:
    """Logarithms of the probabilities: of two classes from the log-odds of the one, which is last."""
    every = np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores
    return np.asarray(every - np.logaddexp.reduce(every, axis=1, keepdims=True))


def _scores(cards: Sequence[Card], y: list[Any], exact: Matrix, found: Matrix) -> dict[str, float]:
    """Log loss, and of two classes AUC, by the scores of the model and by those of the cards."""
    if len(y) != len(exact):
        raise ExportError(f"y has {len(y)} values, X has {len(exact)} rows.")
    classes, first = cards[0].classes, cards[0]
    for label in y:
        if label not in classes:
            raise ExportError(f"y has the label {label!r}, which the model does not know.")
    truth = np.array([classes.index(label) for label in y], dtype=np.int64)
    if len(cards) == 1:
        truth = (truth == first.positive).astype(np.int64)
    losses = {}
    for name, odds in (("", exact), ("_points", found)):
        losses[f"log_loss{name}"] = float(-_log_shares(odds)[np.arange(len(y)), truth].mean())
        if len(cards) == 1 and truth.any() and not truth.all():
            losses[f"auc{name}"] = merged_auc(rank(odds[:, 0], truth == 1, truth != 1)) or 0.0
    return losses

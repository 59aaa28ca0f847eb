"""Training rows in bins, what forest, outputs and weights are computed from; and the short thresholds of their rules.

Rows may lie in several places. What a list leaves unexplained of a row, its residual, is computed where the row lies,
number by number, so it has the same bits everywhere. What must be known of all rows is the range of the residuals: the
extremes of parts add up.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from pysirus import __version__
from pysirus._bins.cuts import Binned, CutIdentity, Cuts
from pysirus._bins.numeric import (
    Bracket,
    Brackets,
    Lines,
    Threshold,
    find_brackets,
    line_values,
    shortest_date_in,
    shortest_in,
)
from pysirus._data.derived import ColumnRecipe
from pysirus._data.table import Feature, Table, recode_table
from pysirus._families.responses import Response
from pysirus._forest.forest import DRAW, Forest, GrowingForest, Recipe
from pysirus._model.model import Model
from pysirus._runtime import changed
from pysirus._runtime.sums import Scale
from pysirus._terms.allowed import Constraints
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition
from pysirus._terms.term import Term
from pysirus._weights.likelihood import Patterns, rule_patterns
from pysirus._weights.moments import Moments, MomentSums, moment_sums

Self = TypeVar("Self", bound="Training")
Answer = TypeVar("Answer")


class RowQuery(ABC, Generic[Answer]):
    """Asked of rows as they came, whose answers add up; it can be sent to where they lie."""

    @abstractmethod
    def __call__(self, table: Table, response: Response, first_row: int, binned: Binned | None = None) -> Answer:
        """The answer of some rows, whose columns are as the model knows them; in memory they are in bins too."""


@dataclass(frozen=True)
class BracketQuery(RowQuery[Brackets]):
    """Which values are next to these numbers?"""

    places: tuple[Threshold, ...]

    def __call__(self, table: Table, response: Response, first_row: int, binned: Binned | None = None) -> Brackets:
        return find_brackets(table, self.places)


@dataclass(frozen=True)
class Training(ABC):
    """Training rows in bins, wherever they lie, and the seed of every draw."""

    binned: Binned  # in memory the rows too, elsewhere only their cuts
    response: Response  # in memory that of the rows, elsewhere of no row
    seed: int
    features: tuple[Feature, ...]
    named: bool
    target: str
    constraints: Constraints | None = field(default=None, kw_only=True)
    columns: ColumnRecipe | None = field(default=None, kw_only=True)  # how the features were made, if they were
    required: tuple[FittedTerm, ...] = field(default=(), kw_only=True)  # rules that are given, which come first
    lines: Lines = field(default_factory=dict, kw_only=True, repr=False)  # of columns that have slopes, or may have
    may_slope: frozenset[int] = field(default=frozenset(), kw_only=True)  # columns whose slopes may be selected
    n_threads: int = field(default=1, kw_only=True)  # that lists of several sizes are weighed on

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return self.response.scale.n_rows

    @property
    @abstractmethod
    def is_constant(self) -> bool:
        """Whether every row answers the same."""

    @property
    @abstractmethod
    def idle_columns(self) -> dict[str, str]:
        """Columns that add nothing to the forest, and why."""

    @abstractmethod
    def forest(self, recipe: Recipe, first_tree: int = 0) -> GrowingForest:
        """A forest on these rows, not yet grown, whose trees are numbered from ``first_tree`` on."""

    def within(self, recipe: Recipe) -> Recipe:
        """The recipe on these rows, whose trees put no columns into one path that may not stand together."""
        recipe = recipe.on(self.n_rows)
        return replace(recipe, together=self.constraints.together) if self.constraints else recipe

    def without_slopes(self: Self) -> Self:
        """The same rows, where no slope is selected."""
        return replace(self, may_slope=frozenset())

    def with_lines(self, recipe: Recipe, before: Sequence[Term] = ()) -> Recipe:
        """The recipe whose trees compare lines too: of columns that may have a slope, and have none in a list yet."""
        sloped = {index for term in (*self.required, *before) if not term.is_binary for index in term.columns}
        allowed = self.may_slope - sloped
        if self.constraints is not None:
            allowed = frozenset(index for index in allowed if self.constraints.allows_slope(index))
        return replace(recipe, lines=line_values(self.lines, len(self.binned.cuts), allowed))

    @abstractmethod
    def moment_sums(self, rules: Sequence[Term]) -> MomentSums:
        """What outputs and weights of rules are computed from, as exact integers."""

    @abstractmethod
    def patterns(self, rules: Sequence[Term]) -> Patterns:
        """Which rules hold together, and with which response: what weights by likelihood are computed from."""

    @abstractmethod
    def on_residuals(self: Self, residual: Residual) -> Self | None:
        """The same rows with what a list leaves unexplained as their response; None where it explains all."""

    def brackets(self, places: Sequence[Threshold]) -> tuple[Bracket, ...]:
        """The known values of columns next to some numbers."""
        return self.ask_rows(BracketQuery(tuple(places))).brackets if places else ()

    @abstractmethod
    def ask_rows(self, question: RowQuery[Answer]) -> Answer:
        """Ask the rows as they came, and add up the answers."""

    def close(self) -> None:  # noqa: B027 - rows in memory leave nothing behind
        """Let go of what was put aside for these rows."""

    def moments(self, rules: Sequence[Term]) -> Moments:
        """What outputs and weights of rules are computed from."""
        return self.restore(self.moment_sums(rules))

    def restore(self, sums: MomentSums) -> Moments:
        """Exact sums in units of the response."""
        return sums.restore(self.response.moment_scale())

    @property
    def facts(self) -> dict[str, Any]:
        """What a model remembers of its training, whatever its rules."""
        facts = {"n_rows": self.n_rows, "seed": self.seed, "draw": DRAW, "idle_columns": self.idle_columns}
        return {**facts, "versions": made_with()}


@dataclass(frozen=True)
class MemoryTraining(Training):
    """Training rows in memory."""

    table: Table | None = field(default=None, kw_only=True, repr=False)  # as it was before it was put into bins

    @property
    def is_constant(self) -> bool:
        """Whether every row answers the same."""
        return self.response.is_constant

    @property
    def idle_columns(self) -> dict[str, str]:
        """Columns that add nothing to the forest, and why."""
        return idle_columns(self.binned)

    def forest(self, recipe: Recipe, first_tree: int = 0) -> GrowingForest:
        """A forest on these rows, not yet grown, whose trees are numbered from ``first_tree`` on."""
        recipe = self.within(recipe)
        if recipe.device == "cpu":
            return Forest(self.binned, self.response, recipe, first_tree)
        from pysirus._forest.gpu import device_forest  # imports JAX

        return device_forest(self.binned, self.response, recipe, first_tree)

    def moment_sums(self, rules: Sequence[Term]) -> MomentSums:
        """What outputs and weights of rules are computed from, as exact integers."""
        return moment_sums(rules, self.binned, self.response, self.seed)

    def patterns(self, rules: Sequence[Term]) -> Patterns:
        """Which rules hold together, and with which response."""
        return rule_patterns(rules, self.binned, self.response, self.seed)

    def on_residuals(self, residual: Residual) -> MemoryTraining | None:
        """The same rows with what a list leaves unexplained as their response; None where it explains all."""
        raw = residual.raw(self.binned, self.response)
        rounding = residual.rounding_for(Extremes.of(raw))
        if rounding is None:
            return None
        response = residual.response(raw, rounding, self.response)
        return replace(self, response=replace(response, part_of=rounding.scale(self.response.scale)))

    def ask_rows(self, question: RowQuery[Answer]) -> Answer:
        """Ask all rows at once."""
        assert self.table is not None
        return question(recode_table(self.table, self.features), self.response, 0, self.binned)


def made_with() -> dict[str, str]:
    """The versions that a model is made with."""
    return {"pysirus": __version__, "Python": platform.python_version(), "NumPy": np.__version__}


def idle_columns(binned: Binned) -> dict[str, str]:
    """Columns of rows in memory that add nothing to the forest, and why."""

    def same(i: int, k: int) -> bool:
        return np.array_equal(binned.bins[i], binned.bins[k])

    return name_idle(binned.cuts, [crc32(bins) for bins in binned.bins], same)


def name_idle(cuts: Sequence[Cuts], marks: Sequence[Hashable], same: Callable[[int, int], bool]) -> dict[str, str]:
    """Columns without cuts, and copies, which take paths from the column that they repeat; copies have equal marks."""
    idle: dict[str, str] = {}
    alike: dict[Hashable, list[int]] = {}
    for i, (own, mark) in enumerate(zip(cuts, marks)):
        name = own.column.name
        if own.idle:
            idle[name] = own.idle
            continue
        same_mark = alike.setdefault(mark, [])
        twin = next((k for k in same_mark if same(i, k)), None)
        if twin is None:
            same_mark.append(i)
        else:
            idle[name] = f"same as {cuts[twin].column.name}"
    return idle


# ---------------------------------------------------------------------------------------------------------- residuals


@dataclass(frozen=True)
class Extremes:
    """The smallest and the largest number of each column of some rows."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Extremes:
        """Those of numbers [row, column]."""
        return cls(values.min(axis=0), values.max(axis=0))

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True)
class Rounding:
    """What fixes the residuals of all rows: their range, and to which power of two they are rounded, if they are."""

    low: float
    high: float
    exponent: int | None = None

    def scale(self, of_response: Scale) -> Scale:
        """What fixes the integers of residuals, given that of the response."""
        return replace(of_response, low=self.low, high=self.high)


class Residual(ABC):
    """What a list leaves unexplained; it can be sent to where rows lie."""

    @abstractmethod
    def raw(self, binned: Binned, response: Response) -> NDArray[np.float64]:
        """What extremes and responses are made of, [row, column], before anything is known of other rows."""

    @abstractmethod
    def rounding_for(self, found: Extremes) -> Rounding | None:
        """Given the extremes of all rows, how residuals are rounded; None where the list explains all."""

    @abstractmethod
    def response(self, raw: NDArray[np.float64], rounding: Rounding, response: Response) -> Response:
        """The residuals of some rows as their response."""

    def of_rows(self, binned: Binned, response: Response, rounding: Rounding, scale: Scale) -> Response:
        """The same for rows in bins, as some of those whose scale is given."""
        return replace(self.response(self.raw(binned, response), rounding, response), part_of=scale)


# --------------------------------------------------------------------------------------------------------- thresholds

# Rules and training rows in, the same rules with short thresholds out, and cuts for conditions that are forbidden. What
# a list shows is not the quantile but the shortest number with the same rows on both sides. Only what a condition
# compares with changes (``lower``, ``upper``): its cuts, by which rules are compared, and the quantiles in the path of
# its rule stay what they were. A condition that is forbidden may be copied from such a list.


CutPlace = tuple[int, CutIdentity]  # the number of a column, and a cut in it


def with_short_thresholds(model: Model, training: Training) -> Model:
    """The model that was learned from some rows, with the shortest thresholds that part them as its cuts do."""
    return with_brackets(model, training.brackets(threshold_places(model)))


def threshold_places(model: Model) -> list[Threshold]:
    """The numbers that conditions compare with, by column, whose neighbours among the rows are to be known."""
    return [(index, number) for (index, _), number in _cuts_of(model.all_rules)[0].items()]


def with_brackets(model: Model, brackets: Sequence[Bracket]) -> Model:
    """The model with the shortest thresholds in the brackets of its places."""
    short = _short_thresholds(model, brackets)
    model = changed(model, selected=_with_thresholds(model.selected, short))
    if model.tuning is None:
        return model
    return changed(model, tuning=replace(model.tuning, rules=_with_thresholds(model.tuning.rules, short)))


def _cuts_of(rules: Iterable[FittedTerm]) -> tuple[dict[CutPlace, float], dict[CutPlace, float]]:
    """The numbers of cuts that were found, and of those that somebody gave."""
    found: dict[CutPlace, float] = {}
    given: dict[CutPlace, float] = {}
    for rule in rules:
        for condition in rule.conditions:
            (given if rule.given else found).update(_ends(condition))
    return found, given


def _short_thresholds(model: Model, brackets: Sequence[Bracket]) -> dict[CutPlace, float]:
    """The threshold of each cut between numbers. A number that somebody gave stays as it is.

    Two cuts in one bracket split the rows in the same way, and the same number for both would leave nothing between
    them: they stay where they are.
    """
    found, given = _cuts_of(model.all_rules)
    at = [(index, bracket) for (index, _), bracket in zip(found, brackets)]
    alone = {cut: bracket for cut, bracket, own in zip(found, brackets, at) if at.count(own) == 1}
    short = {}
    for cut, bracket in alone.items():
        shortest = shortest_date_in if model.features[cut[0]].is_date else shortest_in
        short[cut] = shortest(bracket, found[cut])
    return found | short | given


def _ends(condition: Condition) -> dict[CutPlace, float]:
    """The numbers that a condition compares with, by their cuts."""
    ends = ((condition.lower_cut, condition.lower), (condition.upper_cut, condition.upper))
    return {(condition.index, cut): value for cut, value in ends if cut is not None and value is not None}


def _with_thresholds(rules: RuleSet, short: Mapping[CutPlace, float]) -> RuleSet:
    return RuleSet([rule.map_conditions(lambda condition: _shorten(condition, short)) for rule in rules])


def _shorten(condition: Condition, short: Mapping[CutPlace, float]) -> Condition:
    if condition.levels is not None:
        return condition
    lower, upper = (
        None if cut is None else short[condition.index, cut] for cut in (condition.lower_cut, condition.upper_cut)
    )
    return changed(condition, lower=lower, upper=upper)


# -------------------------------------------------------------------------------------------------------- forbidden


def with_forbidden_cuts(training: Training, constraints: Constraints) -> Training:
    """The training rows with what is forbidden in their cuts."""
    cuts, forbidden = training.binned.cuts, constraints.forbidden
    conditions = [c for rule in forbidden for c in rule.conditions if c.levels is None]
    every = dict.fromkeys((c.index, v) for c in conditions for v in (c.lower, c.upper) if v is not None)
    places = [(index, number) for index, number in every if number not in cuts[index].thresholds]
    if not places:
        return training
    found: dict[Threshold, CutIdentity] = {}
    for (index, number), bracket in zip(places, training.brackets(places)):
        for identity, threshold in zip(cuts[index].identities, cuts[index].thresholds.tolist()):
            if threshold in bracket:
                found[index, number] = identity
    rules = tuple(rule.map_conditions(lambda c: _in_cuts(c, found)) for rule in forbidden)
    return replace(training, constraints=replace(constraints, forbidden=rules))


def _in_cuts(condition: Condition, found: Mapping[Threshold, CutIdentity]) -> Condition:
    ends = ((condition.lower, condition.lower_cut), (condition.upper, condition.upper_cut))
    new = [cut if value is None else found.get((condition.index, value), cut) for value, cut in ends]
    if len({cut[0] for cut in new if cut is not None}) > 1:  # one end is no cut
        return condition
    return replace(condition, lower_cut=new[0], upper_cut=new[1])

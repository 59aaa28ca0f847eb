"""What a list is made of: a term reads columns, has a value in each row, and says in words what it reads.

A rule is one kind: its value is 1 where it holds and 0 elsewhere. Whatever loops over a list asks a term; nobody asks
which kind it is. What was learned of a term stands in ``FittedTerm``.

Another kind is the linear term of RuleFit, ``weight * x`` with ``x`` held within its limits (winsorised), so that a
value far out cannot run away with the prediction (Friedman and Popescu 2008, section 5).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._data.column import Column
from pysirus._data.table import Table
from pysirus._families.links import fold_middle
from pysirus._terms.words import LINE, Sides
from pysirus._text.format import apart, format_date, format_number, format_threshold

if TYPE_CHECKING:
    from pysirus._terms.rule import Condition, Split

Self = TypeVar("Self", bound="Term")
Numbers = Sequence[float]  # one for each sum
BOTH_WAYS = 2  # the direction of what rises and falls
STEPS = 40  # in which the line of a linear term is shown
BinValues = list[tuple[int, NDArray[Any]]]  # rows of the bins, and a value for each of 256 bins there


class HeldColumn(Protocol):
    """A column that is held within limits, less its ``centre``; ``missing`` replaces a missing value."""

    @property
    def feature(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def missing(self) -> float: ...
    @property
    def centre(self) -> float: ...


class Builder(Protocol):
    """What terms are compiled, or written, with: the two forms that they have."""

    def branch(self, conditions: Sequence[Condition], inside: Numbers, outside: Numbers) -> None:
        """Add one thing where all conditions hold, another elsewhere."""

    def line(self, column: HeldColumn, slopes: Numbers) -> None:
        """Add a column times a slope for each sum."""


class Term(ABC):
    """A term of a list; two are equal that read the same, in cut identities, whatever was learned of them.

    Its value is a product of factors, one for each column: a rule's are its conditions.
    """

    kind: ClassVar[str]  # as ``repr`` says it
    is_binary: ClassVar[bool] = True  # whether its value is 0 or 1 in every row
    note: ClassVar[str] = ""  # what is said once below a list that has such terms
    file_version: ClassVar[int] = 1  # of the model file, from which on it can be said
    feature: str  # of a term of one column

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What it reads, comparable between fits."""

    @property
    @abstractmethod
    def columns(self) -> tuple[int, ...]:
        """The numbers of the features that it reads."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the same; a term of one column has it as ``feature``."""
        return (self.feature,)

    @property
    def shape(self) -> Hashable:
        """What it reads of which features, whatever its cuts; terms that are near each other have the same."""
        return self.key

    def is_near(self, other: Term) -> bool:
        """Whether it reads the same or, of a rule, almost: its cuts are at most one quantile away."""
        return self.key == other.key

    @abstractmethod
    def factor(self, index: int, column: Column) -> NDArray[Any]:
        """The factor of its value that one of its columns gives, row by row; yes or no for a condition."""

    @property
    def unit(self) -> float:
        """What its whole values are multiples of."""
        return 1.0

    @property
    def bound(self) -> int:
        """The largest whole value that it can have, without its sign."""
        return 1

    @property
    def extent(self) -> float:
        """How far its least and its greatest value are apart."""
        return 1.0

    def whole_values(self, table: Table) -> NDArray[Any]:
        """Its value in each row of a table, as a multiple of its unit; yes or no where it is binary."""
        return self.holds(table)

    def directions(self) -> dict[int, int]:
        """Whether its value rises (1) or falls (-1) in each of its columns, by number; 2 where it does both."""
        return {}

    def bin_values(self, binned: Binned) -> BinValues:
        """Of a binary term the rows of the bins that it looks at, and yes or no for each bin there."""
        raise NotImplementedError(f"A {self.kind.lower()} has no values of bins.")

    def row_values(self, binned: Binned, bins: NDArray[np.uint8]) -> NDArray[Any]:
        """Its whole value in each of these rows in bins."""
        found = np.ones(bins.shape[1], dtype=bool)
        for row, values in self.bin_values(binned):
            found &= values[bins[row]]
        return found

    @abstractmethod
    def build(self, into: Builder, inside: Numbers, outside: Numbers) -> None:
        """Add to sums what lies at its value between ``outside``, at 0, and ``inside``, at 1."""

    @property
    @abstractmethod
    def condition_text(self) -> str:
        """What it reads, whole: the conditions of a rule, as the parser reads them back."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What must hold for it, one for each feature; nothing, unless it is a rule."""
        return ()

    @property
    def path(self) -> tuple[Split, ...]:
        """The splits that a rule came from."""
        return ()

    def map_conditions(self: Self, change: Callable[[Condition], Condition]) -> Self:
        """The term with each of its conditions changed."""
        return self

    def with_names(self: Self, names: Mapping[int, str]) -> Self:
        """The term with other names for its features, by their numbers."""
        return self.map_conditions(lambda condition: replace(condition, feature=names[condition.index]))

    def fired(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Where it says something, its values being given: everywhere, unless it has conditions."""
        return np.ones(len(values), dtype=bool)

    def holds(self, table: Table) -> NDArray[np.bool_]:
        """The rows of a table for which it says something."""
        return self.fired(self.values(table))

    @property
    def value_ends(self) -> tuple[float, float]:
        """The least and the greatest value that it can have."""
        return 0.0, 1.0

    def between(self, values: NDArray[np.float64], inside: Any, outside: Any) -> NDArray[np.float64]:
        """What lies at its values between ``outside``, at 0, and ``inside``, at 1."""
        return np.asarray(values * inside + (1 - values) * outside)

    def average(self, mean: float) -> float:
        """What its mean value over some rows says: in which share of them a rule applies."""
        return mean

    def average_text(self, average: float) -> str:
        """The same in words."""
        return f"{100 * average:.1f}%"

    def contrast(self, mean: float, deviation: float) -> tuple[float, float]:
        """The two values between which targets are compared."""
        return 1.0, 0.0

    def said(self, holds: bool) -> str:
        """What is true of a row where it holds, or does not."""
        return self.condition_text

    def steps_on(self, index: int) -> set[float]:
        """The numbers of a feature at which its value changes, or is to be shown."""
        return set()

    def values(self, table: Table) -> NDArray[np.float64]:
        """Its value in each row of a table."""
        found = np.ones(table.n_rows)
        for index in self.columns:
            found *= self.factor(index, table.columns[index])
        return found

    @property
    def text(self) -> str:
        """What is said of it where it is asked for."""
        return self.condition_text

    @property
    def exact_text(self) -> str:
        """``condition_text`` in the form that is read in one way only."""
        return self.condition_text

    def fold(self, width: int) -> str:
        """``condition_text`` for display, in at most ``width`` characters."""
        return fold_middle(self.condition_text, width)

    def sentence(self, sides: Sides, width: int | None, after: str = "") -> str:
        """The term in one line, whole or folded to a width; a rule with what it answers on both sides."""
        return self.condition_text if width is None else self.fold(width)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Term) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __getstate__(self) -> dict[str, Any]:
        # `key` may be cached, and holds hashes of text, which differ between processes
        return {name: value for name, value in self.__dict__.items() if name != "key"}

    def __str__(self) -> str:
        return self.sentence(lambda longest: None, LINE)

    def __repr__(self) -> str:
        return f"<{self.kind}: {self}>"


def columns_of(terms: Iterable[Term]) -> set[int]:
    """The numbers of the features that some terms read."""
    return {index for term in terms for index in term.columns}


@dataclass(frozen=True)
class LinearTerm(Term):
    """A numeric column times a weight.

    Attributes
    ----------
    feature : str
        Name of the column.
    weight : float
        The change in the prediction per unit of the column.
    lower, upper : float
        Values are clipped to these limits.
    missing : float
        The value used for missing values: the mean of the clipped training column.

    Examples
    --------
    >>> from pysirus import RuleFitRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = RuleFitRegressor(n_trees=50, linear_terms=True, random_state=0).fit(X, y)
    >>> all(term.weight != 0 for term in model.terms_)
    True
    """

    kind: ClassVar[str] = "LinearTerm"
    is_binary: ClassVar[bool] = False
    frequency: ClassVar[float] = float("nan")  # it comes from no tree
    inside: ClassVar[float] = 1.0
    outside: ClassVar[float] = 0.0

    feature: str
    weight: float
    lower: float
    upper: float
    missing: float
    index: int = field(default=0, compare=False)
    is_date: bool = field(default=False, compare=False, repr=False)

    @property
    def centre(self) -> float:
        """What is taken from a value: nothing."""
        return 0.0

    @property
    def key(self) -> Hashable:
        """The column that it reads."""
        return "linear", self.feature

    @property
    def columns(self) -> tuple[int, ...]:
        """The number of its feature."""
        return (self.index,)

    def factor(self, index: int, column: Column) -> NDArray[np.float64]:
        """The column within its limits, missing values filled in."""
        held = np.clip(column.values.astype(np.float64), self.lower, self.upper)
        return np.where(np.isnan(held), self.missing, held)

    @property
    def value_ends(self) -> tuple[float, float]:
        """Its limits."""
        return self.lower, self.upper

    def between(self, values: NDArray[np.float64], inside: Any, outside: Any) -> NDArray[np.float64]:
        """Its value times what a unit has; at 0 there is nothing."""
        return np.asarray(values * inside)

    def bin_values(self, binned: Binned) -> BinValues:
        """None: its weight comes from the rows themselves, not from bins."""
        raise NotImplementedError("A linear term of RuleFit has no values of bins.")

    def build(self, into: Builder, inside: Numbers, outside: Numbers) -> None:
        """Add the column times its weight; there is nothing at the value 0."""
        into.line(self, inside)

    def with_names(self, names: Mapping[int, str]) -> LinearTerm:
        """The term of a column of another name."""
        return replace(self, feature=names[self.index])

    @property
    def condition_text(self) -> str:
        """The column that it is linear in."""
        return f"linear in {apart(self.feature)}"

    def folded(self, width: int) -> str:
        """The same, whole."""
        return self.condition_text

    def steps_on(self, index: int) -> set[float]:
        """Where its line is shown."""
        return set(np.linspace(self.lower, self.upper, STEPS + 1).tolist()) if index == self.index else set()

    def outputs(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Its output in each row is its value."""
        return values

    def contributions(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What it adds in each row."""
        return self.weight * values

    @property
    def added(self) -> tuple[list[float], list[float]]:
        """What it adds at the values 1 and 0."""
        return [self.weight], [0.0]

    def average_output(self, mean: object) -> float:
        """The mean of its values over the training rows."""
        return self.missing

    @property
    def gap(self) -> float:
        """How far its values are apart at most."""
        return self.upper - self.lower

    def __str__(self) -> str:
        ends = (self.lower, self.upper)
        limits = " to ".join(format_date(end) if self.is_date else format_threshold(end, rounded=True) for end in ends)
        return f"{format_number(self.weight, 3)} * {apart(self.feature)}, within {limits}"

"""Terms in, a compiled list out, which reads columns and answers with sums.

The order of summation is part of the answer: what the sums start with, the rules in their order, the lines in theirs.
``Term.values`` says the same in NumPy; the tests compare the two bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus import _core
from pysirus._data.column import is_plain, readable
from pysirus._data.table import Feature, Table
from pysirus._terms.rule import Condition
from pysirus._terms.term import HeldColumn, Numbers, Term, columns_of


@dataclass(frozen=True)
class Addend:
    """What a term adds to each sum where its value is 1, and where it is 0."""

    term: Term
    inside: Numbers
    outside: Numbers


class Evaluator:
    """A list of terms, compiled for the columns of a model."""

    def __init__(self, features: Sequence[Feature], start: Numbers, addends: Sequence[Addend]) -> None:
        used = sorted(columns_of(addend.term for addend in addends))
        self._place = {index: i for i, index in enumerate(used)}
        self._features = features
        self._only_numbers = all(feature.kind == "numeric" for feature in features)
        self._list = _core.RuleList(used, list(start))
        self._known: dict[Any, int] = {}  # the numbers of conditions, which rules share that ask the same
        for addend in addends:
            addend.term.build(self, addend.inside, addend.outside)

    def branch(self, conditions: Sequence[Condition], inside: Numbers, outside: Numbers) -> None:
        """Add one thing where all conditions hold, another elsewhere."""
        self._list.add_rule([self._number_of(condition) for condition in conditions], list(inside), list(outside))

    def line(self, column: HeldColumn, slopes: Numbers) -> None:
        """Add a column within its limits, less its centre, times a slope for each sum."""
        limits = column.lower, column.upper, column.missing, column.centre
        self._list.add_term(self._place[column.index], list(slopes), *limits)

    def _number_of(self, condition: Condition) -> int:
        """The number of a condition."""
        known = self._known
        column, feature = self._place[condition.index], self._features[condition.index]
        missing = condition.unseen if condition.missing is None else condition.missing
        if feature.kind == "numeric":
            lower = -np.inf if condition.lower is None else condition.lower
            upper = np.inf if condition.upper is None else condition.upper
            interval = (column, np.inf if condition.only_missing else lower, upper, missing)
            if interval not in known:
                known[interval] = self._list.add_interval(*interval)
            return known[interval]
        wanted = set(condition.levels or ())
        answers = (condition.unseen, missing, *(not condition.only_missing and v in wanted for v in feature.levels))
        if (column, answers) not in known:
            known[column, answers] = self._list.add_levels(column, list(answers))
        return known[column, answers]

    def sums(self, table: Table, instruction_set: str | None = None) -> NDArray[np.float64]:
        """The sums [row, output] of an aligned table."""
        columns = [readable(table.columns[index].values) for index in self._place]
        return self._list.evaluate(columns, table.n_rows, instruction_set)

    def matrix_sums(self, X: Any, instruction_set: str | None = None) -> NDArray[np.float64] | None:
        """The same straight from an array of the model's columns.

        None when X is no such array, or holds something to complain about; whoever asked reads it as a table then.
        """
        if type(X) is not np.ndarray or X.ndim != 2 or not self._only_numbers or not is_plain(X):
            return None
        if X.shape[1] != len(self._features) or not X.shape[0]:
            return None
        return self._list.evaluate_matrix(X, instruction_set)

"""A model and rows in, how its rules share them out: how many each covers, which fire together, which contradict.

Slopes say something of every row, and have no part in it; rules keep the numbers that they have in the list.

Two rules contradict each other in a row where both hold and one raises the prediction, compared with rows outside it,
while the other lowers it. That is no fault of a list, but a reader may want to see where it happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._model.model import Model
from pysirus._terms.listing import RuleSet
from pysirus._text.format import html_table, make_frame, text_table

SHOWN_PAIRS = 10

WIDTH = 92  # characters of a rule; the other columns take the rest of a line


@dataclass(frozen=True)
class Coverage:
    """How rules share rows out.

    Attributes
    ----------
    rules : RuleSet
        The rules of positive weight, and those that were given, with their numbers in the list; no slopes.
    share : ndarray of shape (n_rules,)
        Proportion of the rows in which each rule holds.
    alone : ndarray of shape (n_rules,)
        Proportion of the rows in which it is the only one that holds.
    together : ndarray of shape (n_rules, n_rules)
        Proportion of the rows in which two rules hold.
    opposed : ndarray of bool of shape (n_rules, n_rules)
        Whether one of the two raises the prediction and the other lowers it.
    counts : ndarray of shape (n_rows,)
        How many rules hold in each row; 0 for rows that no rule covers.
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
        """Pairs that hold together and pull in different directions, with the proportion of rows; most first."""
        return [pair for pair in self.pairs() if self.opposed[pair[0], pair[1]]]

    def pairs(self) -> list[tuple[int, int, float]]:
        """Pairs of rules that hold together somewhere, with the proportion of rows; most first."""
        found = [(i, j, float(self.together[i, j])) for i, j in combinations(range(len(self.rules)), 2)]
        return sorted((pair for pair in found if pair[2] > 0), key=lambda pair: -pair[2])

    def number(self, i: int) -> int:
        """The number of rule ``i`` in the list of the model."""
        return self.rules.numbers[i] or i + 1

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per rule: ``rule``, ``covers``, ``alone``, ``with_others`` and ``contradicted``.

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
        """The rows that no rule covers, and the pairs that fire together or contradict each other most."""
        lines = [f"no rule covers {_percent(self.uncovered)} of {len(self.counts):,} rows"]
        for title, pairs in (("fire together", self.pairs()), ("contradict each other", self.contradictions)):
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
        return f"{table}<p>{'<br>'.join(self._lines())}</p>"

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

"""Terms of a model in, a list out that prints as a table, for a notebook, as a data frame."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from pysirus._families.links import fold_labels
from pysirus._runtime import changed
from pysirus._terms.fitted import FittedTerm, Reading
from pysirus._terms.words import LINE
from pysirus._text.format import (
    format_label,
    format_number,
    format_percents,
    html_lines,
    html_table,
    make_frame,
    text_table,
)

SIDES = ("inside", "outside")


class RuleSet(Sequence[FittedTerm]):
    """A rule list that prints as a table.

    Two rule sets are equal if they have equal rules in the same order. In models with scores, the table shows what each
    rule adds instead of its weight.

    Rules are numbered from 1. Rules with weight 0 have no number and are hidden unless they are required, so that a
    rule has the same number in ``selected_``, in ``rules_`` and in a slice of either.

    Examples
    --------
    >>> from pysirus import SirusRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=5, random_state=0).fit(X, y)
    >>> print(model.rules_)
    #  frequency  rule                                          weight       rows
    1      0.284  if temp < 66 then 7.0 else 19.0                0.242  198 (60%)
    2      0.170  if ibt < 189 then 7.4 else 18.3                0.314  197 (60%)
    3     0.0631  if temp >= 66 & vis < 150 then 20.3 else 7.3   0.479  114 (35%)
    4     0.0619  if vh < 5840 then 9.5 else 20.2                0.236  260 (79%)
    >>> model.rules_[0] in model.rules_, len(model.rules_.to_frame("pandas"))
    (True, 4)
    """

    def __init__(
        self,
        rules: Sequence[FittedTerm] = (),
        reading: Reading | None = None,
        numbers: Sequence[int | None] | None = None,
        *,
        shown: int | None = None,
    ) -> None:
        self._rules = tuple(rules)
        self.reading = reading
        self.numbers = tuple(_count_shown(self._rules) if numbers is None else numbers)
        self.shown = shown  # the number of the class whose shares are printed, where it is said

    @overload
    def __getitem__(self, index: int) -> FittedTerm: ...
    @overload
    def __getitem__(self, index: slice) -> RuleSet: ...
    def __getitem__(self, index: int | slice) -> FittedTerm | RuleSet:
        if isinstance(index, slice):
            return RuleSet(self._rules[index], self.reading, self.numbers[index], shown=self.shown)
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[FittedTerm]:
        return iter(self._rules)

    def __eq__(self, other: object) -> bool:
        return self._rules == tuple(other) if isinstance(other, (RuleSet, list, tuple)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rules)

    def cells(self) -> dict[str, list[str]]:
        """What a table of the rules has, by the names of its columns; its column ``rule`` is empty."""
        columns = {
            "#": ["" if number is None else str(number) for number in self.numbers],
            "stage": [str(rule.stage) for rule in self],
            "frequency": [rule.frequency_text for rule in self],
            "rule": [""] * len(self),
        }
        if all(rule.stage == 1 for rule in self):
            del columns["stage"]
        if any(rule.weight is not None for rule in self):
            if self.reading is None:
                columns["weight"] = [format_number(rule.weight or 0.0, 3) for rule in self]
            elif self.reading.adds_name:
                columns[self.reading.adds_name] = [rule.adds_by(self.reading) for rule in self]
        if any(events := [" / ".join(f"{side.n_events:,}" for side in rule.survival or ()) for rule in self]):
            columns["events"] = events
        return columns | self.support()

    def support(self) -> dict[str, list[str]]:
        """The rows that each rule covers, and in how many folds it returned, by the names of their columns."""
        columns = {
            "rows": [rule.support_text for rule in self],
            "returned": [rule.returned_text for rule in self],
        }
        return {name: texts for name, texts in columns.items() if any(texts)}

    def _rows(self, named: bool, full: bool) -> tuple[list[str], list[list[str]]]:
        columns = self.cells()
        others = sum(2 + max(map(len, [name, *own])) for name, own in columns.items() if name != "rule")
        width = None if full else LINE - others
        columns["rule"] = [self.rule_text(rule, named, width) for rule in self]
        return list(columns), [list(row) for row in zip(*columns.values())]

    def output_texts(self, rule: FittedTerm, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """A rule's outputs, or the means in the data, inside and outside; labels cut to ``longest`` characters."""
        labels, k = fold_labels(rule.classes, longest), self.shown
        shares = [side for side in (rule.inside, rule.outside) if isinstance(side, tuple)]
        if self.reading is None and k is not None and labels and len(shares) == 2:
            texts = format_percents(*(side[k] for side in shares))
            return f"{format_label(labels[k])} {texts[0]}", texts[1]
        return rule.read_by(self.reading, named=named, longest=longest)

    def rule_text(self, rule: FittedTerm, named: bool = True, width: int | None = None) -> str:
        """A rule as one line, whole or folded to a width."""
        head = rule.effect_text

        def sides(longest: int | None) -> tuple[str, str] | None:
            return self.output_texts(rule, named, longest) if rule.has_sides else None

        return head + rule.sentence(sides, None if width is None else width - len(head))

    def text(self, *, named: bool = True, full: bool = False) -> str:
        """The rules as a table, in lines of at most 120 characters.

        Parameters
        ----------
        named : bool, default=True
            Whether to name the class that the proportions refer to.
        full : bool, default=False
            Whether to print long names and sets of categories in full.

        Returns
        -------
        text : str
        """
        notes = ["", *self.notes] if self.notes else []
        return "\n".join([text_table(*self._rows(named, full)), *notes]) if len(self) else "(no rules)"

    @property
    def notes(self) -> list[str]:
        """What is said once below the list, of the kinds of terms that it has."""
        return list(dict.fromkeys(rule.note for rule in self if rule.note))

    @property
    def is_folded(self) -> bool:
        """Whether the table leaves something out that ``text(full=True)`` says."""
        return self.text() != self.text(full=True)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, *, named: bool = True) -> str:
        """The table as HTML, for notebooks."""
        notes = "".join(map(html_lines, self.notes))
        return html_table(*self._rows(named, False)) + notes if len(self) else "<p>(no rules)</p>"

    def to_frame(self, backend: str | None = None) -> Any:
        """The rules as a data frame, one row per rule.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the data frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``rule``, ``frequency``, ``inside``, ``outside``, ``n_inside``, ``n_outside``, ``share_inside``,
            ``weight`` and ``stage``, and more for some models:

            - fixed effects: ``effect``
            - tuned lists: ``n_returned`` and ``n_folds``, the folds that selected the rule and their total number
            - stages in regression: ``adds_inside`` and ``adds_outside``
            - scores: also ``mean_inside`` and ``mean_outside``, the means in the data
            - survival: ``median_inside``, ``events_inside`` and so on instead of means
            - slopes, which have no outputs: ``per_unit`` (what a unit adds to the score), ``lower`` and ``upper`` (the
              range), and ``zero_at`` (the mean, where the slope adds nothing)
        """
        data: dict[str, list[Any]] = {"rule": [rule.condition_text for rule in self]}
        for name in ("frequency", "inside", "outside", "n_inside", "n_outside", "share_inside", "weight", "stage"):
            column = [getattr(rule, name) if rule.is_binary or name not in SIDES else None for rule in self]
            data[name] = [list(v) if isinstance(v, tuple) else v for v in column]
        if any(rule.effect is not None for rule in self):
            data["effect"] = [None if rule.effect is None else str(rule.effect) for rule in self]
        if any(rule.returned is not None for rule in self):
            for i, name in enumerate(("n_returned", "n_folds")):
                data[name] = [None if rule.returned is None else rule.returned[i] for rule in self]
        if self.reading is not None:
            for i, side in enumerate(SIDES):
                data |= self._side_columns(self.reading, i, side)
        lines = [rule.line_values for rule in self]
        for name in next((list(own) for own in lines if own), []):
            data[name] = [np.asarray(own[name]).tolist() if own else None for own in lines]
        return make_frame(data, backend)

    def _side_columns(self, reading: Reading, i: int, side: str) -> dict[str, list[Any]]:
        """What the data say on a side of each rule, and what it adds there."""
        data: dict[str, list[Any]] = {}
        outcomes = [(rule.survival or (None, None))[i] for rule in self]
        if any(own is not None for own in outcomes):
            data[f"median_{side}"] = [None if own is None else own.median for own in outcomes]
            data[f"events_{side}"] = [None if own is None else own.n_events for own in outcomes]
        elif reading.adds_name:
            means = ((rule.means[i] if rule.is_binary else None) for rule in self)
            data[f"mean_{side}"] = [None if own is None else np.asarray(own).tolist() for own in means]
        data[f"adds_{side}"] = [reading.added(rule)[i].tolist() if rule.is_binary else None for rule in self]
        return data


def _count_shown(rules: Sequence[FittedTerm]) -> list[int | None]:
    """The numbers of rules, from 1; those of weight 0 that nobody gave have none."""
    count = itertools.count(1)
    return [next(count) if rule.weight != 0 or rule.given else None for rule in rules]


def with_weights(rules: Sequence[FittedTerm], weights: Sequence[float]) -> RuleSet:
    """The rules with these weights."""
    return RuleSet([changed(rule, weight=float(weight)) for rule, weight in zip(rules, weights)])

"""Paths in, rules out: what a path says, as data.

A path is the set of splits that leads to a node of a tree; its rule merges the splits on one feature into one condition
(``{x < 5, x < 3}`` reads ``x < 3``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pysirus._bins.cuts import Binned, Cuts
from pysirus._forest.forest import Paths
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import Condition, FittedRule, Split


class SplitSide(NamedTuple):
    """A code of a path, taken apart: feature number, cut number (None: missing apart), side, where missing go."""

    feature: int
    cut: int | None
    less: bool
    missing_left: bool

    @property
    def missing_inside(self) -> bool:
        """Whether missing values go to this side."""
        return self.missing_left == self.less


def decode(code: int, binned: Binned) -> SplitSide:
    """Take a code ``2 * split + side`` apart."""
    split, side = divmod(int(code), 2)
    feature = bisect_right(binned.split_offset, split) - 1
    local, n_cuts = split - binned.split_offset[feature], binned.cuts[feature].n_cuts
    if local == 2 * n_cuts and binned.cuts[feature].has_missing:
        return SplitSide(feature, None, side == 0, False)
    return SplitSide(feature, local % n_cuts, side == 0, local >= n_cuts)


def _split_of(side: SplitSide, cuts: Cuts) -> Split:
    missing = side.missing_inside if cuts.has_missing else None
    if side.cut is None:
        return Split(cuts.column.name, "known" if side.less else "missing", None, ("missing", None), missing)
    if cuts.column.is_numeric:
        value: Any = float(cuts.thresholds[side.cut])
        op = "<" if side.less else ">="
    else:
        value, op = cuts.sorted_levels(0, side.cut + 1), "in" if side.less else "not in"
    return Split(cuts.column.name, op, value, cuts.identities[side.cut], missing)


def merge_sides(sides: Sequence[SplitSide], cuts: Cuts, index: int) -> Condition:
    """The condition that several splits on one feature amount to."""
    lower = max((s.cut for s in sides if s.cut is not None and not s.less), default=None)
    upper = min((s.cut for s in sides if s.cut is not None and s.less), default=None)
    missing = all(s.missing_inside for s in sides) if cuts.has_missing else None
    only_missing = any(s.cut is None and not s.less for s in sides)
    if lower is not None and upper is not None and lower >= upper:
        only_missing = True  # `x < 5 or missing`, then `x >= 5 or missing`
    if only_missing:
        lower = upper = None  # it reads `is missing`, however it came about
    unseen = all(s.less == (True if s.cut is None else bool(cuts.less_is_heavier[s.cut])) for s in sides)
    values: dict[str, Any] = {}
    if cuts.column.is_numeric:
        values["lower"] = None if lower is None else float(cuts.thresholds[lower])
        values["upper"] = None if upper is None else float(cuts.thresholds[upper])
    else:
        values["levels"] = cuts.sorted_levels(0 if lower is None else lower + 1, None if upper is None else upper + 1)
    share = None
    if cuts.shares is not None:
        first, last = 0 if lower is None else lower + 1, cuts.n_cuts if upper is None else upper
        inside = float(cuts.shares[first : last + 1].sum()) if not only_missing else 0.0
        share = inside + (float(cuts.shares[cuts.n_cuts + 1]) if missing else 0.0)
    return Condition(
        feature=cuts.column.name,
        missing=missing,
        only_missing=only_missing,
        unseen=unseen,
        lower_cut=None if lower is None else cuts.identities[lower],
        upper_cut=None if upper is None else cuts.identities[upper],
        index=index,
        share=share,
        column_levels=cuts.column.levels,
        is_date=cuts.column.is_date,
        **values,
    )


def rule_of_sides(sides: Sequence[SplitSide], cuts: Sequence[Cuts], frequency: float) -> FittedTerm:
    """The rule that the splits of a path say."""
    by_feature: dict[int, list[SplitSide]] = {}
    for side in sides:
        by_feature.setdefault(side.feature, []).append(side)
    conditions = tuple(merge_sides(group, cuts[f], f) for f, group in by_feature.items())
    return FittedRule(conditions, tuple(_split_of(side, cuts[side.feature]) for side in sides), frequency=frequency)


def rule_of(codes: Sequence[int], binned: Binned, frequency: float) -> FittedTerm:
    """The rule that a path says."""
    return rule_of_sides([decode(code, binned) for code in codes if code >= 0], binned.cuts, frequency)


def rules_of(paths: Paths, kept: Iterable[int], binned: Binned) -> list[FittedTerm]:
    """The rules of some paths, by position."""
    frequencies = paths.frequencies
    return [rule_of(paths.codes[i].tolist(), binned, float(frequencies[i])) for i in kept]

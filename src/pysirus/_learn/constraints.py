"""Parameters, columns and training rows in, constraints and required rules out.

``monotonic_cst`` and ``interaction_cst`` are as scikit-learn means them; rules are given as text or as rules. A list
begins with its required rules. On all rows one that cannot be kept is an error. In a fold it is left out: there it may
hold nowhere, or turn round. Rules with a fixed effect come first: what they add is taken off the response before the
others are fitted.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pysirus._bins.cuts import Cuts
from pysirus._data.column import Column, ColumnKind
from pysirus._data.read import did_you_mean, names_in
from pysirus._data.table import Table, check_levels
from pysirus._families.base import Family
from pysirus._families.links import Link
from pysirus._families.of_model import family_of
from pysirus._forest.forest import ANY, MOST_GROUPS, InteractionConstraint
from pysirus._learn.training import Training, with_forbidden_cuts
from pysirus._parameters import ParameterError, label_number, to_rows
from pysirus._runtime.console import warn_user
from pysirus._terms.allowed import Constraints, Span, condition_vector, independent_columns
from pysirus._terms.fitted import EffectError, FittedTerm
from pysirus._terms.from_text import CutColumn, columns_of_cuts, read_rules, rule_on
from pysirus._terms.lexicon import RuleTextError
from pysirus._terms.rule import Rule
from pysirus._terms.slope import FittedSlope, Slope, slope_of
from pysirus._terms.term import Term
from pysirus._text.format import in_quotes
from pysirus._text.message import TARGET, InPython, Parameter
from pysirus._weights.weighted import with_outputs

ORDERED = " an ordered categorical (in pandas CategoricalDtype(ordered=True), in polars Enum) or"
MOST = {"no_interactions": 1, "pairwise": 2}


class HasKind(Protocol):
    """A column, or what is known of it."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> ColumnKind: ...
    @property
    def levels(self) -> tuple[Any, ...]: ...
    @property
    def order(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True)
class ConstraintParams:
    """What the user says is known, as it was given."""

    monotonic_cst: Any = None
    interaction_cst: Any = None
    forbidden: Any = None
    required_rules: Any = None
    positive_class: Any = None  # what directions and effects are about, of two classes

    def read(self, columns: Sequence[HasKind], labels: Sequence[Any] | None) -> Constraints | None:
        """The constraints on the columns of a table, if there are any; ``labels`` are those of classes."""
        if self.monotonic_cst is None and self.interaction_cst is None and self.forbidden is None:
            return None
        directions = read_directions(self.monotonic_cst, columns, len(labels or ()))
        names = [column.name for column in columns]
        together = read_interactions(self.interaction_cst, names)
        apart = frozenset(own for own in (as_columns(item, names) for item in listed(self.forbidden)) if own)
        together = replace(together, apart=apart) if apart else together
        if not directions and not together.is_limited:
            return None
        is_first = self.positive_class is not None and label_number(self.positive_class, labels or ()) == 0
        return Constraints(directions, together, of_first=is_first)


# ------------------------------------------------------------------------------------------------------- directions


def read_directions(given: Any, columns: Sequence[HasKind], n_classes: int) -> dict[int, int]:
    """The direction of each column that has one."""
    if given is None:
        return {}
    names = [column.name for column in columns]
    directions = {i: sign for i, sign in _signs(given, names).items() if sign}
    if directions and n_classes > 2:
        raise ParameterError(
            f"{Parameter('monotonic_cst')} is for regression and two classes, and {TARGET} has {n_classes} classes: a "
            "column cannot raise one class without lowering others. Leave it out, or learn one class against the rest."
        )
    for i in directions:
        if columns[i].kind == "categorical" and columns[i].levels and not is_binary(columns[i]):
            raise ParameterError(
                f"{Parameter('monotonic_cst')} gives column '{names[i]}' a direction, but its categories have no "
                f"order. Make it{InPython(ORDERED)} numbers, or leave it out."
            )
    return directions


def is_binary(column: HasKind) -> bool:
    """Whether a column holds true and false, which have an order."""
    return bool(column.levels) and all(isinstance(level, bool) for level in column.levels)


def _signs(given: Any, names: Sequence[str]) -> dict[int, int]:
    """The sign of each column that is named, or of all."""
    if isinstance(given, Mapping):
        return {number_of(name, names, "monotonic_cst"): _sign(sign, str(name)) for name, sign in given.items()}
    values = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    if values is None:
        raise ParameterError(
            f"{Parameter('monotonic_cst')} must be a dict such as {{'age': 1, 'debt': -1}}, a list with -1, 0 or 1 for "
            f"each column, or None, got {given!r}."
        )
    if len(values) != len(names):
        raise ParameterError(
            f"{Parameter('monotonic_cst')} has {len(values)} entries, and the table has {len(names)} columns. Give "
            "one entry per column, or a dict of those that have a direction."
        )
    return {i: _sign(sign, names[i]) for i, sign in enumerate(values)}


def _sign(value: Any, name: str) -> int:
    sign = next((sign for sign in (-1, 0, 1) if isinstance(value, numbers.Real) and value == sign), None)
    if sign is None:
        raise ParameterError(
            f"{Parameter('monotonic_cst')} of column '{name}' must be 1 (increasing), -1 (decreasing) or 0, got "
            f"{value!r}."
        )
    return sign


def number_of(column: Any, names: Sequence[str], parameter: str) -> int:
    """The number of a column that is given by name or by number."""
    if isinstance(column, str) and column in names:
        return list(names).index(column)
    if isinstance(column, numbers.Integral) and not isinstance(column, bool) and 0 <= int(column) < len(names):
        return int(column)
    shown = ", ".join(map(in_quotes, list(names)[:8])) + (", ..." if len(names) > 8 else "")
    hint = did_you_mean(column, list(names)) if isinstance(column, str) else ""
    raise ParameterError(f"{Parameter(parameter)} names {column!r}, which is not a column.{hint} Columns are {shown}.")


# ----------------------------------------------------------------------------------------------------- interactions


def read_interactions(given: Any, names: Sequence[str]) -> InteractionConstraint:
    """Which columns may stand in one rule; columns that no group names are a group of their own, as in scikit-learn."""
    if given is None:
        return ANY
    if isinstance(given, str) and given in MOST:
        return InteractionConstraint(most=MOST[given])
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _no_groups(given)
    groups = []
    for group in given:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise _no_groups(given)
        groups.append(frozenset(number_of(column, names, "interaction_cst") for column in group))
    if len(groups) >= MOST_GROUPS:
        raise ParameterError(f"interaction_cst has {len(groups):,} groups; at most {MOST_GROUPS - 1:,} are taken.")
    rest = frozenset(range(len(names))) - frozenset().union(*groups)
    return InteractionConstraint(groups=tuple(dict.fromkeys([*groups, *([rest] if rest else [])])))


def _no_groups(given: Any) -> ParameterError:
    return ParameterError(
        f"{Parameter('interaction_cst')} must be 'no_interactions', 'pairwise', a list of groups of columns such as "
        f"[['age', 'income'], ['debt']], or None, got {given!r}."
    )


# -------------------------------------------------------------------------------------------------------- forbidden


def listed(given: Any) -> list[Any]:
    """What is forbidden, item by item: a column, a pair of columns, or the text of conditions."""
    if given is None:
        return []
    items = [given] if isinstance(given, (str, Term)) else list(given) if isinstance(given, Iterable) else None
    if items is None:
        raise ParameterError(
            f"{Parameter('forbidden')} must be a list of columns, pairs of columns or conditions such as 'age < 25', "
            "or None, got "
            f"{given!r}."
        )
    return items


def as_columns(item: Any, names: Sequence[str]) -> frozenset[int] | None:
    """The column or the pair that an item names; None where it is conditions."""
    if isinstance(item, Term):
        return None
    if isinstance(item, str):
        parts = names_in(item, names, "forbidden")
        known = all(part in names for part in parts) and len(parts) <= 2
        return frozenset(number_of(part, names, "forbidden") for part in parts) if known else None
    pair = list(item) if isinstance(item, Iterable) else [item]
    if len(pair) not in (1, 2):
        raise ParameterError(f"{Parameter('forbidden')} takes columns and pairs of them, got {item!r}.")
    return frozenset(number_of(column, names, "forbidden") for column in pair)


# --------------------------------------------------------------------------------------------------- order of levels


def whole_order(column: HasKind) -> tuple[Any, ...]:
    """All levels of a column in order, also those that do not occur; of true and false both.

    A level that training has not seen then stands at its place among the others, and not on the heavier side of a cut.
    """
    whole = (False, True) if is_binary(column) else column.order or column.levels
    check_levels(column.name, len(whole))
    return whole


def with_whole_order(column: Column) -> Column:
    """A column of labels in the codes of its whole order."""
    if column.is_numeric:
        return column
    order = whole_order(column)
    position = {level: i for i, level in enumerate(order)}
    table = np.array([*(position[level] for level in column.levels), -1], dtype=column.values.dtype)
    return replace(column, kind="ordered", values=table[column.values], levels=order, order=order)


def order_columns(table: Table, constraints: Constraints | None) -> Table:
    """The columns of a table, those with a direction in their whole order."""
    if constraints is None or not constraints.directions:
        return table
    columns = (with_whole_order(c) if i in constraints.directions else c for i, c in enumerate(table.columns))
    return replace(table, columns=tuple(columns))


# ------------------------------------------------------------------------------------------------- rules that are given


def as_rules(given: Any, columns: Sequence[CutColumn], parameter: str) -> list[FittedTerm]:
    """The rules that are given: one, or several, as text or as rules."""
    if given is None:
        return []
    items = [given] if isinstance(given, (str, Term)) else list(given) if isinstance(given, Iterable) else None
    if items is None or not all(isinstance(item, (str, Rule, Slope)) for item in items):
        wanted = "rules as text, such as 'age < 25', or Rule objects"
        raise ParameterError(f"{Parameter(parameter)} must be {wanted}, got {given!r}.")
    try:
        read = iter(read_rules((item for item in items if isinstance(item, str)), columns))
    except RuleTextError as error:
        raise RuleTextError(error.text, error.position, error.problem, Parameter(parameter)) from None
    return [next(read) if isinstance(item, str) else _on_columns(item, columns, parameter) for item in items]


def _on_columns(rule: Term, columns: Sequence[CutColumn], parameter: str) -> FittedTerm:
    """A rule or a slope of another model on the columns of this table: by what it says."""
    names = [column.name for column in columns]
    if isinstance(rule, Slope):
        index = number_of(rule.feature, names, parameter)
        return FittedSlope(names[index], index, effect=getattr(rule, "effect", None))
    assert isinstance(rule, Rule)
    if not rule.conditions:
        raise ParameterError(f"{Parameter(parameter)} has a rule without conditions, which holds everywhere.")
    return rule_on(rule, columns, [number_of(condition.feature, names, parameter) for condition in rule.conditions])


def read_given(
    known: ConstraintParams, constraints: Constraints | None, cuts: Sequence[Cuts]
) -> tuple[Constraints | None, tuple[FittedTerm, ...]]:
    """The constraints with conditions that are forbidden, and the rules that are required, in the cuts of training."""
    if known.forbidden is None and known.required_rules is None:
        return constraints, ()
    columns = columns_of_cuts(cuts)
    names = [column.name for column in columns]
    conditions = [item for item in listed(known.forbidden) if as_columns(item, names) is None]
    forbidden = tuple(as_rules(conditions, columns, "forbidden"))
    if fixed := next((rule for rule in forbidden if rule.effect is not None), None):
        raise ParameterError(
            f"{Parameter('forbidden')}: '{fixed.text}' has an effect. Give the conditions alone: "
            f"'{fixed.condition_text}'."
        )
    constraints = replace(constraints or Constraints(), forbidden=forbidden) if forbidden else constraints
    required = as_rules(known.required_rules, columns, "required_rules")
    required = [about_class(rule, known.positive_class) for rule in required]
    for term in required:
        _check_slope(term, cuts)
    return constraints, tuple(replace(rule, frequency=1.0, given=True) for rule in required)


def _check_slope(term: FittedTerm, cuts: Sequence[Cuts]) -> None:
    """Reject a slope of a column that is no number."""
    for name, index in zip(term.features, term.columns):
        column = cuts[index].column
        if not term.is_binary and (column.is_date or not column.is_numeric):
            kind = "dates" if column.is_date else "categories"
            raise ParameterError(
                f"{Parameter('required_rules')}: column '{name}' holds {kind}, and a slope needs a numeric column. "
                "Give a rule instead, or leave it out."
            )


def about_class(rule: FittedTerm, positive: Any) -> FittedTerm:
    """A rule whose effect, where it has one and names no class, is about the positive one, where that is said."""
    if rule.effect is None or rule.effect.is_factor or rule.effect.label is not None or positive is None:
        return rule
    return replace(rule, effect=replace(rule.effect, label=positive))


def rows_of_given(required: Sequence[FittedTerm]) -> list[Term]:
    """What must be known of every row: where required rules hold, and where each of their conditions does."""
    singles = [Rule((condition,)) for rule in required for condition in rule.conditions]
    return list(dict.fromkeys((*(rule for rule in required if rule.is_binary), *singles)))


def with_required(training: Training, link: Link, *, strict: bool = True, min_rows: int | float = 1) -> Training:
    """The training rows with the required rules that can be kept, all of them where that is ``strict``.

    One with fewer rows inside or outside than a selected rule must have is then kept with a warning.
    """
    if strict and training.constraints and training.constraints.forbidden:
        training = with_forbidden_cuts(training, training.constraints)
    if not training.required:
        return training
    family = family_of(link, training.target, 0.0, classes=training.response.labels)
    every = [resolve_effect(rule, family, "required_rules") for rule in training.required]
    every.sort(key=lambda rule: rule.effect is None)
    faults = _slope_faults([rule for rule in every if not rule.is_binary], training)
    resolved = [_with_shares(rule, training) for rule in every if rule.is_binary]
    sums = training.moment_sums(resolved)
    gram = sums.gram()
    partial = [i for i in range(len(resolved)) if 0 < gram[1 + i, 1 + i] < gram[0, 0]]  # neither nowhere nor everywhere
    some = [resolved[i] for i in partial]
    answered = dict(zip(partial, with_outputs(some, training.restore(sums.take(partial)), training.response)))
    span = Span()
    for i, (rule, is_fresh) in enumerate(zip(resolved, independent_columns(gram)[1:].tolist())):
        faults.append((rule, _fault(answered.get(i), training, span, is_fresh)))
    for rule, fault in faults:
        if fault and strict:
            kind = rule.kind.lower()
            what = f"the {kind} '{rule.condition_text}' cannot be kept"
            raise ParameterError(f"{Parameter('required_rules')}: {what}: {fault}.")
    if strict:
        _warn_of_few_rows(resolved, sums.least_side().tolist(), to_rows(min_rows, training.n_rows))
    places = {rule.key: i for i, rule in enumerate(every)}
    kept = sorted((rule for rule, fault in faults if not fault), key=lambda rule: places[rule.key])
    return replace(training, required=tuple(kept))


def _slope_faults(slopes: Sequence[FittedTerm], training: Training) -> list[tuple[FittedTerm, str]]:
    """Slopes with the range of their columns, and why each cannot be kept; nothing where it can."""
    found: list[tuple[FittedTerm, str]] = []
    for term in slopes:
        (index,) = term.columns
        line = training.lines.get(index)
        if line is None:
            found.append((term, "its column has not two different known values"))
            continue
        own = slope_of(term.features[0], index, line, training.binned.grids[index], 1.0)
        own = replace(own, given=True, effect=term.effect)
        (answered,) = with_outputs([own], training.moments([own]), training.response)
        faults = training.constraints.faults(answered) if training.constraints else []
        if own in (before for before, _ in found):
            faults = ["the column has a slope already"]
        found.append((own, next(iter(faults), "")))
    return found


def _warn_of_few_rows(rules: Sequence[FittedTerm], rows: Sequence[int], least: int) -> None:
    """Say which required rules rest on few rows, inside or outside."""
    for rule, found in zip(rules, rows):
        if found < least:
            warn_user(
                f"The required rule '{rule.condition_text}' has {found} rows inside or outside, fewer than the {least} "
                f"of {Parameter('min_samples_leaf')}. It is kept."
            )


def resolve_effect(rule: FittedTerm, family: Family, parameter: str) -> FittedTerm:
    """The rule with its effect as the model can take it; an error where it cannot."""
    if rule.effect is None:
        return rule
    try:
        return replace(rule, effect=rule.effect.resolved(family.effect_scale, family.classes))
    except EffectError as error:
        what = f"the effect of '{rule.text}' is not allowed"
        raise ParameterError(f"{Parameter(parameter)}: {what}: {error.message}.") from error


def _fault(rule: FittedTerm | None, training: Training, span: Span, is_fresh: bool) -> str:
    """Why a rule cannot be kept; the span takes it in where it can."""
    if rule is None:
        return "it holds in every row or in none"
    if not is_fresh or not span.add(condition_vector(rule, training.binned)):
        return "it is a combination of the required rules before it"
    return next(iter(training.constraints.faults(rule)), "") if training.constraints else ""


def _with_shares(rule: FittedTerm, training: Training) -> FittedTerm:
    """The rule with the share of rows that satisfy each condition; values it cannot place go where most rows are."""
    gram = training.moment_sums([Rule((condition,)) for condition in rule.conditions]).gram()
    shares = (float(gram[i, i] / gram[0, 0]) for i in range(1, len(gram)))
    return rule.map_conditions(lambda condition: condition.with_share(next(shares)))

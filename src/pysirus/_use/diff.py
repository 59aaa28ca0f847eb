"""Two models in, what changed out: which rules were kept, shifted to another cut, added or removed.

Rules compare by what they read, in cut identities (a threshold at the same quantile is the same cut). So a rule can
stay although the number in it drifts with the data. A rule has shifted when another cut of the same features took its
place. Beside the rules every other value that predictions read is compared (``changes``): the documents of the two
model files are walked through. What is left out is named (``ASIDE``): all else is compared, also what later versions
add. Rules are compared where both models have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pysirus._families.links import fold_middle
from pysirus._model.file import model_to_json, rule_to_json
from pysirus._model.kinds import inner
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._runtime.console import warn_user
from pysirus._terms.fitted import FittedTerm, Reading
from pysirus._terms.stability import dice_sorensen
from pysirus._terms.words import LINE
from pysirus._text.format import format_number, html_lines, html_table, in_quotes, one_line, text_table

# of a document: what no prediction reads, and what is compared below by its name and not by its place
ASIDE = {"format", "version", "facts", "tuning", "moments", "likelihood", "constraints", "rules", "features", "terms"}
# of a rule and its conditions: how it was found, on how many rows, in which words
RULE_ASIDE = {
    "text",
    "path",
    "frequency",
    "n_inside",
    "n_outside",
    "observed",
    "survival",
    "share",
    "index",
    "given",
    "returned",
}
SHOWN = 36  # characters of a value


@dataclass(frozen=True)
class Change:
    """A value that differs: where it stands, what it was and what it is; None where there is none."""

    place: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{one_line(self.place)}: {_shown(self.old)} -> {_shown(self.new)}"


def _shown(value: Any) -> str:
    """A value as a line of a comparison shows it: as Python writes it, long ones with a gap in the middle."""
    return "nothing" if value is None else fold_middle(one_line(repr(value)), SHOWN)


def _leaves(value: Any, place: str, aside: set[str]) -> Iterator[tuple[str, Any]]:
    """Every value, with its place."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key not in aside:
                yield from _leaves(item, inner(place, str(key)), aside)
    elif isinstance(value, (list, tuple)):
        yield f"{place}: how many", len(value)
        for i, item in enumerate(value):
            yield from _leaves(item, f"{place}[{i}]", aside)
    elif isinstance(value, str) and value.count(" ") > 0 and place.startswith("survival."):
        yield from _leaves(value.split(" "), place, aside)  # a line of numbers
    else:
        yield place, value


def _by_name(entries: Sequence[Mapping[str, Any]], key: str) -> dict[str, Any]:
    return {in_quotes(str(entry[key])): entry for entry in entries}


def _read_by_predictions(model: Model) -> dict[str, Any]:
    """What predictions read besides the rules, by place."""
    document = model_to_json(model)
    document["link"] = model.link
    named = {
        "feature": _by_name(document["features"], "name"),
        "order of columns": None if model.named else [feature.name for feature in model.features],
        "linear term": _by_name(document["terms"], "feature"),
        "facts": {"label_type": model.facts.label_type},
    }
    found = dict(_leaves(document, "", ASIDE))
    return {**found, **dict(_leaves(named, "", {"index"}))}


def _rule_values(rule: FittedTerm) -> dict[str, Any]:
    values = rule_to_json(rule)
    values["conditions"] = {in_quotes(entry["feature"]): entry for entry in values.get("conditions", ())}
    return dict(_leaves(values, "", RULE_ASIDE))


def _differing(old: Mapping[str, Any], new: Mapping[str, Any], place: str = "") -> Iterator[Change]:
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        alike = type(before) is type(after) or (_is_number(before) and _is_number(after))
        if not alike or before != after:
            yield Change(f"{place}{key}", before, after)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def changes_between(old: Model, new: Model, kept: Sequence[tuple[FittedTerm, FittedTerm]]) -> list[Change]:
    """All that differs in what predictions read, apart from rules that only one of the models has."""
    found = list(_differing(_read_by_predictions(old), _read_by_predictions(new)))
    for before, after in kept:
        found += _differing(_rule_values(before), _rule_values(after), f"rule '{after.folded(60)}': ")
    places = {after: i for i, after in enumerate(new.rules)}
    order = [places[after] for _, after in kept]
    if order != sorted(order):  # sums of doubles depend on it
        found.append(Change("order of the kept rules", sorted(order), order))
    return found


MOST_LINES = 10  # of changes, where they are printed
MIN_WIDTH = 40  # characters of a rule, however wide the other columns


@dataclass(frozen=True)
class Diff:
    """The differences between two models.

    Attributes
    ----------
    kept : list of (Rule, Rule)
        The old and the new version of each rule that both models contain.
    shifted : list of (Rule, Rule)
        Old rules and their replacements, with the same features and directions but another cut.
    added, removed : list of Rule
        Rules that only the new model contains, and rules that only the old model contains.
    stability : float
        The Dice-Sorensen index of the two lists: twice the number of kept rules divided by the total number.
    readings : pair
        How the rules of each model are read if they add up to a score; otherwise None.
    changes : list of Change
        All other differences that affect predictions: intercept, baseline hazard, classes, columns, and the outputs,
        weights, thresholds and treatment of missing and unseen values in kept rules.
    """

    kept: list[tuple[FittedTerm, FittedTerm]]
    shifted: list[tuple[FittedTerm, FittedTerm]]
    added: list[FittedTerm]
    removed: list[FittedTerm]
    stability: float
    readings: tuple[Reading | None, Reading | None] = (None, None)
    changes: list[Change] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """Whether both models give the same predictions for every possible row."""
        return not (self.shifted or self.added or self.removed or self.changes)

    def rows(self) -> tuple[list[str], list[list[str]]]:
        staged = any(rule.stage > 1 for rule in self._rules())
        header = ["", "rule", *(["stage"] if staged else []), "frequency", self._name]
        pairs: list[tuple[str, FittedTerm | None, FittedTerm | None]] = [("=", *pair) for pair in self.kept]
        pairs += [("~", *pair) for pair in self.shifted]
        pairs += [*(("+", None, new) for new in self.added), *(("-", old, None) for old in self.removed)]
        changes = [self._changes(old, new)[0 if staged else 1 :] for _, old, new in pairs]
        others = sum(2 + max(map(len, column)) for column in zip(header[2:], *changes))
        width = max(LINE - 3 - others, MIN_WIDTH)
        rows = [[mark, _both_texts(old, new, width), *own] for (mark, old, new), own in zip(pairs, changes)]
        return header, rows

    @property
    def _scored(self) -> bool:
        """Whether both models have points to compare."""
        return None not in self.readings

    @property
    def _name(self) -> str:
        """What the last column is called."""
        reading = self.readings[1]
        return (reading.adds_name or "adds") if self._scored and reading is not None else "weight"

    def _changes(self, old: FittedTerm | None, new: FittedTerm | None) -> list[str]:
        """Stage, frequency and weight or points, before and after."""
        cells = []
        for name in ("stage", "frequency", "adds" if self._scored else "weight"):
            before, after = (self._cell(name, rule, age) for age, rule in enumerate((old, new)))
            cells.append(f"{before} -> {after}" if before != after else after)
        return cells

    def _cell(self, name: str, rule: FittedTerm | None, age: int) -> str:
        if rule is None:
            return ""
        reading = self.readings[age]
        return rule.adds_by(reading) if name == "adds" and reading is not None else _text(getattr(rule, name))

    def _rules(self) -> list[FittedTerm]:
        """Every rule of both models."""
        return [*(rule for pair in [*self.kept, *self.shifted] for rule in pair), *self.added, *self.removed]

    @property
    def summary(self) -> str:
        """The counts and the stability index in one line."""
        counts = (
            (self.kept, "kept (=)"),
            (self.shifted, "shifted (~)"),
            (self.added, "added (+)"),
            (self.removed, "removed (-)"),
        )
        told = ", ".join(f"{len(rules)} {what}" for rules, what in counts)
        return f"stability {self.stability:.2f} between the two lists: {told}"

    @property
    def table(self) -> str:
        """The rules of both models, a line for each."""
        header, rows = self.rows()
        return text_table(header, rows) if rows else ""

    def __str__(self) -> str:
        head = f"{self.summary}\n\n{self.table}"
        return "\n".join([head, "", *self.change_lines()])

    def _repr_html_(self) -> str:
        return html_lines(self.summary) + html_table(*self.rows()) + html_lines(*self.change_lines())

    def change_lines(self, most: int = MOST_LINES) -> list[str]:
        """What differs besides the rules that shifted, added and removed, at most so many lines of it."""
        if self.is_same:
            return ["The models are the same in all that predictions read."]
        if not self.changes:
            return ["Nothing else that predictions read has changed."]
        more = len(self.changes) - most
        rest = [f"... and {more} more (as JSON: all of them)"] if more > 0 else []
        return ["Changed in what predictions read:", *map(str, self.changes[:most]), *rest]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data, ready for JSON."""

        def plain(rule: FittedTerm, reading: Reading | None) -> dict[str, Any]:
            about = {
                "rule": rule.line(rule.condition_text),
                "stage": rule.stage,
                "frequency": rule.frequency,
                "weight": rule.weight,
            }
            if rule.line_values or reading is None:
                return {**about, **rule.line_values}
            return {**about, "adds": [side.tolist() for side in reading.added(rule)]}

        before, after = self.readings
        return {
            "stability": self.stability,
            "kept": [{"old": plain(old, before), "new": plain(new, after)} for old, new in self.kept],
            "shifted": [{"old": plain(old, before), "new": plain(new, after)} for old, new in self.shifted],
            "added": [plain(rule, after) for rule in self.added],
            "removed": [plain(rule, before) for rule in self.removed],
            "same": self.is_same,
            "changes": [{"what": own.place, "old": own.old, "new": own.new} for own in self.changes],
        }


def _both_texts(old: FittedTerm | None, new: FittedTerm | None, width: int) -> str:
    """The rule, and what it was before where that changed."""
    both = [rule for rule in (old, new) if rule is not None]
    if len({rule.text for rule in both}) == 1:
        return both[0].folded(width)
    return "  ->  ".join(rule.folded(width // 2 - 3) for rule in both)


def _text(value: float | None) -> str:
    return str(value) if isinstance(value, int) else format_number(value or 0.0, 2)


def _check_targets(old: Model, new: Model) -> None:
    """Reject numbers beside classes; a target of another name may be a renamed one."""
    before, after = one_line(old.target), one_line(new.target)
    kinds = [model.family.predicts for model in (old, new)]
    if kinds[0] != kinds[1]:
        raise ParameterError(
            f"The old model predicts {kinds[0]} ('{before}') and the new one {kinds[1]} ('{after}'): their rules "
            "cannot be compared."
        )
    if old.target != new.target:
        warn_user(
            f"The old model predicts '{before}' and the new one '{after}'. Compare them only if this is the same "
            "target, renamed."
        )


def diff(old: Any, new: Any) -> Diff:
    """Compare two models.

    Parameters
    ----------
    old, new : Model or fitted estimator
        Two regression models or two classifiers; their rules of positive weight are compared.

    Returns
    -------
    diff : Diff
        Prints as a short table.
    """
    old, new = old._as_model(), new._as_model()
    _check_targets(old, new)
    before, after = list(old.rules), list(new.rules)
    new_of = {rule: rule for rule in after}
    kept = [(rule, new_of[rule]) for rule in before if rule in new_of]
    removed, added = [r for r in before if r not in new_of], [r for r in after if r not in set(before)]
    shifted = []
    for rule in list(removed):
        # lists are in order of frequency, so the most frequent rules of a shape are matched with each other
        match = next((other for other in added if other.shape == rule.shape), None)
        if match is not None:
            shifted.append((rule, match))
            removed.remove(rule)
            added.remove(match)
    readings = (old.rules.reading, new.rules.reading)
    return Diff(kept, shifted, added, removed, dice_sorensen(before, after), readings, changes_between(old, new, kept))

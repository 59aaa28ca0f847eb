"""Two models of one recipe and the rows of the newer one in, what has changed between them in words out.

Rules are compared as ``diff`` does. Whether outputs changed is asked of the old list: by its residuals on the new rows
beside those that it remembers of its own, as ``monitor`` does, so that a rule that went is compared too. The tests of
all its rules are corrected for their number by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pysirus._model.held_out import METRICS, metric_texts
from pysirus._model.model import Model
from pysirus._terms.stability import Estimate
from pysirus._text.format import format_number, html_lines, html_table, one_line, text_table
from pysirus._use.diff import Diff, diff
from pysirus._use.drift import NOTHING, OutputChange, adjusted, output_changes
from pysirus._use.monitor import TOLERANCE, check_limits, monitor_parts
from pysirus._use.monitoring import Monitoring, known
from pysirus._use.score import Rows, score_parts

Parts = Callable[[], Iterable[Rows]]
WIDTH = 56  # characters of a rule
OUTPUTS = "Outputs of the old rules, inside / outside, and how their difference changed"


@dataclass(frozen=True)
class RuleOutputs:
    """The outputs of a rule of the old list, on its own rows and on the new ones.

    Attributes
    ----------
    number : int
        Its number in the printed list.
    rule : str
        What it asks.
    fate : {"stayed", "moved", "went"}
        What became of it in the new list.
    then, now : tuple of two float
        The mean target inside and outside; NaN where it is not known.
    change : float
        By how much the difference between inside and outside changed, the other rules allowed for.
    standard_error : float
        That of ``change``.
    p : float
        Corrected for the number of rules.
    changed : bool
        Whether that is small, and the change is not.
    order_kept : bool or None
        Whether the larger output is still the larger one.
    """

    number: int
    rule: str
    fate: str
    then: tuple[float, float]
    now: tuple[float, float]
    change: float
    standard_error: float
    p: float
    changed: bool

    @property
    def order_kept(self) -> bool | None:
        """Whether the larger output is still the larger one; None where that is not known."""
        gaps = np.subtract(*self.then) * np.subtract(*self.now)
        return None if math.isnan(gaps) else bool(gaps >= 0)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        sides = {name: [known(value) for value in getattr(self, name)] for name in ("then", "now")}
        numbers = {name: known(getattr(self, name)) for name in ("change", "standard_error")}
        return {**vars(self), **sides, **numbers, "order_kept": self.order_kept}

    def __str__(self) -> str:
        sides = [_sides_text(own) for own in (self.then, self.now)]
        by = f"{format_number(self.change, 2)} ± {format_number(self.standard_error, 2)}"
        return (
            f"rule {self.number}, if {one_line(self.rule)[:WIDTH]}: {sides[0]} then, {sides[1]} now; "
            f"inside less outside changed by {by} (corrected p {self.p:.2g})"
        )


@dataclass(frozen=True)
class Refit:
    """A model fitted again on new rows, and what has changed. Prints as a comparison.

    Attributes
    ----------
    model : estimator or RuleModel
        The new model.
    alarm : bool
        Whether outputs changed by more than chance explains, or an edit could not be repeated.
    diff : Diff
        The rules that were kept, shifted, added and removed.
    outputs : tuple of RuleOutputs
        The outputs of the rules of the old list, in its order; empty if they could not be compared.
    metric : str
        The name of the metric of ``before`` and ``after``.
    before, after : tuple of (float, float or None)
        The metric of the old model on the new rows, and of the new model, with standard errors.
    held_out : bool
        Whether ``after`` was measured on held-out rows. Otherwise it was measured on the training rows of the new model
        and is too optimistic.
    other_decisions : float
        For classification, the share of new rows with different decisions. Otherwise the mean absolute difference
        between the predictions, in standard deviations of the old ones.
    expected_return : Estimate or None
        The share of rules that lists from independent samples have in common, if resamples were requested.
    other_classes : str
        The classes that were added or removed, in words; empty if there are none.
    notes, not_repeated : tuple of str
        Further remarks, and the edits of the old model that the new one lacks.
    """

    model: Any
    diff: Diff
    outputs: tuple[RuleOutputs, ...]
    n_rows_then: int | None
    n_rows_now: int
    metric: str
    before: tuple[float, float | None]
    after: tuple[float, float | None]
    held_out: bool
    other_decisions: float
    alpha: float
    expected_return: Estimate | None = None
    other_classes: str = ""
    notes: tuple[str, ...] = ()
    not_repeated: tuple[str, ...] = ()

    @property
    def alarm(self) -> bool:
        """Whether a person should look before the new model is used."""
        return any(own.changed for own in self.outputs) or bool(self.not_repeated or self.other_classes)

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        changed = [own.number for own in self.outputs if own.changed]
        found = [self.other_classes] if self.other_classes else []
        if changed:
            found.append(f"outputs of {len(changed)} of {len(self.outputs)} rules changed beyond chance")
        if self.not_repeated:
            found.append(f"{_many(len(self.not_repeated), 'edit')} could not be repeated")
        if found:
            return f"Alarm: {' and '.join(found)}."
        if not self.outputs:
            return "No alarm; outputs could not be compared."
        least = min(own.p for own in self.outputs)
        return (
            f"No alarm: no output changed beyond chance ({len(self.outputs)} rules, smallest corrected p {least:.2g})."
        )

    def _list_lines(self) -> list[str]:
        kept, shifted, added, removed = (
            len(own) for own in (self.diff.kept, self.diff.shifted, self.diff.added, self.diff.removed)
        )
        line = f"Of {_many(kept + shifted + removed, 'rule')} {kept} stayed, {shifted} moved to another threshold"
        stable = f"stability {self.diff.stability:.2f} between the two lists"
        lines = [f"{line} and {removed} went; {added} came ({stable})."]
        if (own := self.expected_return) is not None:
            error = "" if own.error is None else f" ± {100 * own.error:.0f}%"
            share = 100 * kept / max(1, kept + shifted + removed)
            lines.append(
                f"Resamples of the new rows: {100 * own.value:.0f}%{error} of the rules may be expected to return in "
                f"another sample; {share:.0f}% did."
            )
        return lines

    def _metric_lines(self) -> list[str]:
        """Metrics and decisions, where they can be compared."""
        if self.other_classes:
            return ["Outputs, metrics and decisions are not compared, as the classes are others."]
        return [self._metric_line(), self._decision_line()]

    def _metric_line(self) -> str:
        texts = [
            " ± ".join(text for text in metric_texts(self.metric, *own) if text) for own in (self.before, self.after)
        ]
        basis = "on held-out rows" if self.held_out else "on the rows it was learned from, which flatter it"
        return f"{METRICS[self.metric]}: old model on the new rows {texts[0]}; new model {basis} {texts[1]}."

    def _decision_line(self) -> str:
        if self.model._as_model().family.shape:
            return f"The models decide {100 * self.other_decisions:.1f}% of the new rows otherwise."
        return f"Predictions differ by {self.other_decisions:.2f} standard deviations on average."

    def _lines(self) -> list[str]:
        """What is said above the tables."""
        then = "" if self.n_rows_then is None else f"; the old model has {self.n_rows_then:,}"
        lines = [self.verdict, f"Learned again from {self.n_rows_now:,} rows{then}.", *self._list_lines()]
        lines += [f"! {own}" for own in self.outputs if own.changed]
        lines += [f"! not repeated: {one_line(own)}" for own in self.not_repeated]
        turned = [own.number for own in self.outputs if own.order_kept is False]
        lines += [f"The order of the outputs of rule {number} turned." for number in turned]
        return [*lines, *self._metric_lines(), *map(one_line, self.notes)]

    def __str__(self) -> str:
        outputs = ["", OUTPUTS, text_table(*self._output_rows())] if self.outputs else []
        return "\n".join([*self._lines(), "", self.diff.table, *outputs]).rstrip()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        outputs = html_lines(OUTPUTS) + html_table(*self._output_rows()) if self.outputs else ""
        return html_lines(*self._lines()) + html_table(*self.diff.rows()) + outputs

    def _output_rows(self) -> tuple[list[str], list[list[str]]]:
        header = ["", "rule", "fate", "then", "now", "change", "p"]
        rows = [
            [
                str(own.number),
                one_line(own.rule)[:WIDTH],
                own.fate,
                _sides_text(own.then),
                _sides_text(own.now),
                f"{format_number(own.change, 2)} ± {format_number(own.standard_error, 2)}",
                f"{own.p:.2g}{' !' if own.changed else ''}",
            ]
            for own in self.outputs
        ]
        return header, rows

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        expected = self.expected_return
        return {
            "alarm": self.alarm,
            "verdict": self.verdict,
            "alpha": self.alpha,
            "n_rows_then": self.n_rows_then,
            "n_rows_now": self.n_rows_now,
            "diff": self.diff.to_dict(),
            "expected_return": None if expected is None else expected.value,
            "outputs": [own.to_dict() for own in self.outputs],
            "metric": self.metric,
            "before": {"value": known(self.before[0]), "standard_error": self.before[1]},
            "after": {"value": known(self.after[0]), "standard_error": self.after[1], "held_out": self.held_out},
            "other_decisions": known(self.other_decisions),
            "other_classes": self.other_classes,
            "notes": list(self.notes),
            "not_repeated": list(self.not_repeated),
        }


def _many(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def compare_refit(old: Model, new: Any, parts: Parts, *, alpha: float, **told: Any) -> Refit:
    """Compare a model with one that was learned from new rows; ``parts`` gives these, as often as it is called."""
    check_limits(alpha, TOLERANCE)
    model = new._as_model()
    found = diff(old, model)
    notes = list(told.pop("notes", ()))
    outputs: tuple[RuleOutputs, ...] = ()
    before: tuple[float, float | None] = (math.nan, None)
    after = before
    held_out, other = model.out_of_fold, math.nan
    metric = model.family.score_metric
    if old.classes != model.classes:
        told["other_classes"] = _other_classes(old.classes or (), model.classes or ())
    else:
        outputs = _outputs(old, found, parts, alpha, notes)
        before = score_parts(old, parts()).metrics.get(metric, before)
        own = held_out.metrics if held_out is not None else score_parts(model, parts()).metrics
        after, other = own.get(metric, after), _otherwise(old, model, parts)
    rows = (old.facts.n_rows, model.facts.n_rows or 0)
    told = {**told, "notes": tuple(notes), "alpha": alpha}
    return Refit(new, found, outputs, *rows, metric, before, after, held_out is not None, other, **told)


def _other_classes(then: Sequence[Any], now: Sequence[Any]) -> str:
    """Which classes came and went."""
    came, went = (", ".join(repr(c) for c in a if c not in b) for a, b in ((now, then), (then, now)))
    told = [
        f"{'class' if text.count(', ') == 0 else 'classes'} {text} {word}"
        for text, word in ((came, "came"), (went, "went"))
        if text
    ]
    return " and ".join(told) or "the classes are in another order"


def _outputs(old: Model, found: Diff, parts: Parts, alpha: float, notes: list[str]) -> tuple[RuleOutputs, ...]:
    """The rules of the old list on the new rows."""
    if old.reference is None:
        notes.append("Outputs are not compared: the old model remembers nothing of its training rows.")
        return ()
    watched = monitor_parts(old, ((rows, None) for rows in parts()), alpha=alpha)
    if not watched.is_tested(watched.now[None]):
        notes.append(f"Outputs are not compared: {watched.too_few(watched.now[None])}.")
        return ()
    if watched.then.truth is None:
        notes.extend(f"Not compared: {own}." for own in watched.not_compared)
        return ()
    numbers = {rule.key: i for i, rule in enumerate(old.rules, start=1)}
    tested = [(t, _clearest(watched, t)) for t, term in enumerate(old.watched_terms) if term.key in numbers]
    corrected = adjusted([own.test.log_p for _, own in tested])
    fates = {old_rule.key: "stayed" for old_rule, _ in found.kept} | {r.key: "moved" for r, _ in found.shifted}
    rules = [
        RuleOutputs(
            number=numbers[old.watched_terms[t].key],
            rule=old.watched_terms[t].condition_text,
            fate=fates.get(old.watched_terms[t].key, "went"),
            then=watched.sides(watched.then, t),
            now=watched.sides(watched.now[None], t),
            change=own.change,
            standard_error=own.standard_error,
            p=float(p),
            changed=bool(p <= alpha and own.test.size >= TOLERANCE),
        )
        for (t, own), p in zip(tested, corrected)
    ]
    return tuple(sorted(rules, key=lambda own: own.number))


def _sides_text(sides: tuple[float, float]) -> str:
    """Outputs inside and outside in words; they are not known where either side has fewer than ten rows."""
    return "too few rows" if any(map(math.isnan, sides)) else " / ".join(format_number(value, 3) for value in sides)


def _clearest(watched: Monitoring, t: int) -> OutputChange:
    """How the outputs of a term changed: of several classes that of the clearest, allowing for their number."""
    own = output_changes(watched.then, watched.now[None], t, watched.optimism)
    best = min(own, key=lambda change: change.test.log_p)
    log_p = min(NOTHING.log_p, best.test.log_p + math.log(len(own)))
    return best._replace(test=best.test._replace(log_p=log_p))


def _otherwise(old: Model, new: Model, parts: Parts) -> float:
    """How far the predictions of two models are apart on some rows."""
    found: list[Any] = [(old.predict(rows.X), new.predict(rows.X), rows.weights) for rows in parts()]
    before, after = (np.concatenate([own[i] for own in found]) for i in (0, 1))
    weights = np.ones(len(before)) if found[0][2] is None else np.concatenate([np.asarray(own[2]) for own in found])
    if old.family.shape:
        return float(np.average(before != after, weights=weights))
    spread = float(np.sqrt(np.average((before - np.average(before, weights=weights)) ** 2, weights=weights)))
    return float(np.average(np.abs(after - before), weights=weights)) / spread if spread > 0 else math.nan

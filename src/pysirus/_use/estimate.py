"""A model, a list of rules and rows in; the model of that list out, with outputs and weights from the rows.

Every number of a model comes from one sample. On the rows that it was fitted on, rules that have outputs keep them, and
the weights are fitted again. Other rows are told by their number and by what each rule says of them: there everything
is estimated anew, outputs and supports of all rules, the mean, the weights, the baseline hazard. What a rule asks and
how frequent it was in the forest stay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._bins.numeric import ColumnLine, with_grids
from pysirus._data.frame import without_weightless
from pysirus._data.table import Table
from pysirus._families.responses import Response
from pysirus._learn.fit import weighing_of as table_of
from pysirus._learn.training import MemoryTraining
from pysirus._learn.weigh import Weighing
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._runtime.console import warn_user
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.rule import Condition
from pysirus._terms.slope import slope_of
from pysirus._text.message import InCommand, InPython, Parameter
from pysirus._weights.weighted import with_outputs

Fitted = TypeVar("Fitted", bound=Model)

SAME = 1e-6  # means of the same rows, where weights are computed again
KEPT = ("inside", "outside", "weight", "classes", "stage", "observed", "given", "effect", "survival")  # of a slope
OF_LIST: dict[str, Any] = {
    "out_of_fold": None,
    "approximate_weights": None,
    "n_pruned": None,
}  # facts of the list before
OF_SAMPLE: dict[str, Any] = {"cv_error": None, "cv_stability": None}  # facts of the rows before


@dataclass(frozen=True)
class Rows:
    """Rows as a model reads them: its columns, and what it predicts."""

    table: Table
    response: Response


def weighing_of(model: Model) -> Weighing:
    """How the rules of a model are weighed."""
    if not model.family.adds_up or model.terms or model.facts.seed is None:
        raise ParameterError(
            "Rules and weights can be estimated on rows for a model of SIRUS, and this one is of another method."
        )
    if model.family.deviance_loss is not None and model.facts.loss is None:
        raise ParameterError(
            f"This model does not say which loss it was fitted by. Fit it again with {Parameter('required_rules')}."
        )
    return table_of(model.family)


def read_rows(model: Model, rules: Sequence[FittedTerm], X: Any, y: Any, sample_weight: Any) -> Rows:
    """X and y as the columns of some rules and the model's target, without rows of weight zero."""
    weighing = weighing_of(model)
    with without_weightless(X, y, sample_weight) as (X, y, sample_weight):
        table = model.align(X, rules=rules)
        return Rows(table, weighing.family.read_like(y, sample_weight, table.n_rows, model.labels))


def training_on(model: Model, rules: Sequence[FittedTerm], rows: Rows) -> MemoryTraining:
    """Rows of which is known where these rules hold, what numbers the columns of slopes have, and nothing else."""
    binary = [rule for rule in rules if rule.is_binary]
    holds = np.array([rule.holds(rows.table) for rule in binary], dtype=np.uint8)
    binned = Binned(holds.reshape(len(binary), rows.table.n_rows), (), {rule.key: i for i, rule in enumerate(binary)})
    sloped = {rule.columns[0] for rule in rules if not rule.is_binary}
    binned = with_grids(binned, rows.table, sloped) if sloped else binned
    lines = {index: _line_of(index, rows) for index in binned.grids}
    seed, constraints = model.facts.seed or 0, model.constraints
    shape = (model.features, model.named, model.target)
    return MemoryTraining(binned, rows.response, seed, *shape, constraints=constraints, lines=lines)


def _line_of(index: int, rows: Rows) -> ColumnLine:
    """What a line in a column is made of, on these rows."""
    values, weights = rows.table.columns[index].values.astype(np.float64), rows.response.row_weights()
    known = ~np.isnan(values)
    own, weight = values[known], float(weights[known].sum())
    mean = float(weights[known] @ own / weight) if weight else math.nan
    share = weight / float(weights.sum())
    return ColumnLine(float(own.min()), float(own.max()), mean, int(known.sum()), share, np.zeros(0, dtype=np.int16))


def on_rows(rules: Sequence[FittedTerm], training: MemoryTraining, *, anew: bool = False) -> list[FittedTerm]:
    """The rules, and slopes with the numbers of these rows; those that have no range yet, or ``anew``, take theirs."""
    return [rule if rule.is_binary else _slope_on(rule, training, anew) for rule in rules]


def _slope_on(rule: FittedTerm, training: MemoryTraining, anew: bool) -> FittedTerm:
    (index,), line = rule.columns, training.lines.get(rule.columns[0])
    if line is None or not line.lower < line.upper:
        raise ParameterError(f"There is no {rule.text} on these rows: its column has not two different known values.")
    found = slope_of(rule.feature, index, line, training.binned.grids[index], rule.frequency)
    own = rule.line_values
    if not anew and rule.inside is not None:
        found = replace(found, lower=own["lower"], upper=own["upper"], mean=own["zero_at"])
    learned = {name: getattr(rule, name) for name in KEPT}
    return replace(found, **learned, n_inside=line.rows, n_outside=training.n_rows - line.rows)


def estimate(model: Fitted, rules: Sequence[FittedTerm], rows: Rows) -> Fitted:
    """The model of a list: rules of its own, and new ones without outputs."""
    weighing, training = weighing_of(model), training_on(model, rules, rows)
    own, new = _parted(rules)
    _check_rows(model, rules, training)
    reason = other_rows(model, own, training)
    own, new = on_rows(own, training, anew=reason is not None), on_rows(new, training)
    if reason is not None:
        own = _anew(weighing, training, [_with_shares(rule, rows) for rule in own])
    new = with_outputs(new, training.moments(new), rows.response)
    for rule in [*own, *new]:
        if training.constraints and (faults := training.constraints.faults(rule)):
            raise ParameterError(f"The rule '{rule.condition_text}' breaks a constraint of the model: {faults[0]}.")
    every = [replace(rule, weight=None) for rule in [*own, *new]]
    every.sort(key=lambda rule: rule.effect is None)  # what is fixed comes first
    weighted = weighing.describe(training, weighing.weigh(training, every, training.moments(every), [len(every)]))
    found = weighing.model(training, weighted, 0, model.facts.n_trees or 0)
    if reason is not None:
        warn_user(
            f"These are not the rows that the model was fitted on ({reason}). Everything is estimated on them: outputs "
            "and counts of all rules, and all weights. If the fit had weights or class weights, give them"
            f"{InPython(' as sample_weight')}{InCommand('sample_weight', 'COL')}."
        )
    return _taken_over(model, found, reason is not None)


def _parted(rules: Sequence[FittedTerm]) -> tuple[list[FittedTerm], list[FittedTerm]]:
    """Rules that have outputs, and those that have none yet."""
    return [rule for rule in rules if rule.inside is not None], [rule for rule in rules if rule.inside is None]


def _taken_over(model: Fitted, found: Model, is_other: bool) -> Fitted:
    """The model with what was found on the rows, and with its own facts as far as they are still true."""
    taken = ("n_rows", "ridge_penalty", "n_pruned", "n_stages")
    facts = replace(model.facts, **{**OF_LIST, **(OF_SAMPLE if is_other else {})})
    facts = replace(facts, **{name: found.facts[name] for name in taken if name in found.facts})
    facts = replace(facts, estimated_on=found.facts.n_rows) if is_other else facts
    family = found.family.speaking_of(model.family.positive_class).deciding_by(model.family.decides_by)
    edited = replace(model, selected=found.selected, intercept=found.intercept, family=family, facts=facts)
    return replace(edited, tuning=None, moments=found.moments, likelihood=found.likelihood)


def other_rows(model: Model, rules: Sequence[FittedTerm], training: MemoryTraining) -> str | None:
    """How rows differ from those that a model was fitted on; None where they say of its rules what the model says."""
    known = model.facts.n_rows
    if training.n_rows != known:
        return f"{training.n_rows:,} rows" + ("" if known is None else f", and it was fitted on {known:,}")
    rules = on_rows(rules, training)
    for rule, before in zip(rules, model.selected):
        if not rule.is_binary and rule == before and rule.n_inside != before.n_inside:
            return f"'{rule.condition_text}' has another number of known values"
    rules = [rule for rule in rules if rule.is_binary]
    moments = training.moments(rules)
    for rule, n_inside in zip(rules, moments.rows.tolist()):
        if rule.n_inside != n_inside:
            return f"'{rule.condition_text}' holds in {n_inside:,} rows, and in its own in {rule.n_inside or 0:,}"
    _, *sides = moments.means
    for i, rule in enumerate(rules):
        if rule.observed is None and (rule.stage > 1 or rule.effect is not None):  # its outputs are no means
            continue
        for own, found in zip(rule.means, (side[i] for side in sides)):
            if not _alike(own, found, rule.means):
                return f"the mean of the target by '{rule.condition_text}' is another"
    return None


def _alike(own: Any, found: NDArray[np.float64], means: tuple[Any, Any]) -> bool:
    """Whether two outputs are the same but for rounding, measured by the gap of the rule."""
    if own is None:
        return True
    gap = np.abs(np.subtract(*means)).max()
    return bool(np.allclose(np.atleast_1d(own), found, rtol=SAME, atol=SAME * gap))


def _check_rows(model: Model, rules: Sequence[FittedTerm], training: MemoryTraining) -> None:
    """Reject rows from which outputs or weights cannot be estimated."""
    response = training.response
    for label, n in zip(response.labels or (), response.stratum_sizes):
        if not n:
            raise ParameterError(f"y has no row of class {label!r}: rows of every class of the model are needed.")
    if not response.labels and training.is_constant:
        raise ParameterError("y is the same in every row: no outputs and no weights can be estimated.")
    binary = [rule for rule in rules if rule.is_binary]
    for rule, n_inside in zip(binary, training.binned.bins.sum(axis=1, dtype=np.int64).tolist()):
        if rule.inside is not None and n_inside in (0, training.n_rows):
            where = "no row" if n_inside == 0 else "every row"
            raise ParameterError(
                f"The rule '{rule.condition_text}' holds in {where} of X, so its outputs cannot be estimated there. "
                "Give rows in which it holds and others, or remove it first."
            )


def _with_shares(rule: FittedTerm, rows: Rows) -> FittedTerm:
    """The rule with the share of these rows that satisfy each condition."""
    return rule.map_conditions(lambda condition: replace(condition, share=share_of(condition, rows)))


def share_of(condition: Condition, rows: Rows) -> float:
    """The share of the rows that satisfy a condition, by weight."""
    weights = rows.response.row_weights()
    return float(weights @ condition.holds(rows.table.columns[condition.index]) / weights.sum())


def _anew(weighing: Weighing, training: MemoryTraining, rules: Sequence[FittedTerm]) -> list[FittedTerm]:
    """Rules with outputs from the rows, stage by stage: those of corrections are means of what is left unexplained."""
    found: list[FittedTerm] = []
    for stage in sorted({rule.stage for rule in rules}):
        own, on = [rule for rule in rules if rule.stage == stage], training
        if stage > 1:
            weighted = weighing.weigh(training, found, training.moments(found), [len(found)])
            left = training.on_residuals(weighing.residual(training.response, weighted))
            if left is None:
                raise ParameterError(
                    f"The rules before stage {stage} explain these rows wholly: nothing is left for its corrections."
                )
            on = left
        answered = with_outputs(own, on.moments(own), on.response)
        if stage > 1:
            answered = weighing.with_data(answered, training.moments([*found, *answered]), training.response)
        found += answered
    places = {rule.key: rule for rule in found}
    return [places[rule.key] for rule in rules]

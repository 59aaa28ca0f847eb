"""A model, rules and the training rows in, the model with these rules out: outputs and all weights from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._bins.cuts import Binned
from pysirus._constraints.constraints import NO_CONSTRAINTS
from pysirus._constraints.given import as_rules
from pysirus._data.table import Table
from pysirus._data.zero_weights import without_weightless
from pysirus._kind.class_likelihood import ClassLikelihood
from pysirus._kind.class_shares import ClassShares
from pysirus._kind.kind import Kind
from pysirus._kind.numbers import Numbers
from pysirus._kind.positive import PositiveNumbers
from pysirus._kind.survival import SurvivalTimes
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._response.read import read_weights
from pysirus._response.response import ClassResponse, Response
from pysirus._rules.read import columns_of_rules
from pysirus._rules.rule import Rule
from pysirus._select.sample import independent_columns
from pysirus._training.required import settle_effect
from pysirus._training.training import MemoryTraining
from pysirus._use.score import read_codes
from pysirus._weights.weighted import with_outputs

Fitted = TypeVar("Fitted", bound=Model)


def add_rules(model: Fitted, given: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Fitted, list[Rule]]:
    """The model with more rules, and these; see ``RuleModel.adding``."""
    kind = _kind_of(model)
    if X is None or y is None:
        raise ParameterError("To add rules give X and y, the training rows: outputs and weights come from them.")
    columns = columns_of_rules(model.features, model.all_rules)
    asked = as_rules(given, columns, "rules")
    with without_weightless(X, y, sample_weight) as (X, y, sample_weight):
        table = model.align(X, rules=[*model.selected, *asked])
        response = _read(model, kind, y, sample_weight, table.n_rows)
    gaps = [column.missing() is not None for column in table.columns]
    columns = [replace(own, has_missing=own.has_missing or gap) for own, gap in zip(columns, gaps)]
    new = [_settle(rule, table, response) for rule in as_rules(given, columns, "rules")]
    new = [settle_effect(rule, model.link, response.labels, "rules") for rule in new]
    training = training_on(model, [*model.selected, *new], table, response)
    _check_new(model, new, training)
    new = with_outputs(new, training.moments(new), response)
    for rule in new:
        if faults := training.constraints.faults(rule):
            raise ParameterError(f"The rule '{rule.condition_text}' breaks a constraint of the model: {faults[0]}.")
    rules = [*(replace(rule, weight=None) for rule in model.selected), *new]
    rules.sort(key=lambda rule: rule.effect is None)  # what is fixed comes first
    weighted = kind.describe(training, kind.weigh(training, rules, training.moments(rules), [len(rules)]))
    found = kind.model(training, weighted, 0, int(model.facts.get("n_trees", 0)))
    facts = {
        name: fact for name, fact in model.facts.items() if name not in ("out_of_fold", "approximate_weights", "n_dust")
    }
    facts |= {name: found.facts[name] for name in ("ridge_penalty", "n_dust") if name in found.facts}
    edited = replace(model, selected=found.selected, intercept=found.intercept, tuning=None, facts=facts)
    return replace(edited, moments=found.moments, likelihood=found.likelihood, survival=found.survival), new


def _kind_of(model: Model) -> Kind:
    """How the rules of a model are weighed."""
    if model.aggregation != "sum" or model.terms or "seed" not in model.facts:
        raise ParameterError("Rules can be added to a model of SIRUS, and this one is of another method.")
    if model.link == "identity":
        return Numbers() if model.classes is None else ClassShares()
    if model.link == "softmax":
        return ClassLikelihood()
    if model.link == "hazard":
        return SurvivalTimes()
    if model.link == "log" and "loss" in model.facts:
        return PositiveNumbers(model.facts["loss"])
    raise ParameterError("This model does not say which loss it was fitted by. Fit it again with required_rules.")


def _read(model: Model, kind: Kind, y: Any, sample_weight: Any, n_rows: int) -> Response:
    if model.classes is None:
        return kind.read(y, sample_weight, n_rows)
    return ClassResponse(read_codes(model, y, n_rows), model.labels, weights=read_weights(sample_weight, n_rows))


def holds_of(rules: Sequence[Rule], table: Table) -> NDArray[np.uint8]:
    """Where rules hold, [rule, row]."""
    return np.array([rule.holds(table) for rule in rules], dtype=np.uint8).reshape(len(rules), table.n_rows)


def training_on(model: Model, rules: Sequence[Rule], table: Table, response: Response) -> MemoryTraining:
    """Rows of which is known where these rules hold, and nothing else."""
    binned = Binned(holds_of(rules, table), (), {rule.key: i for i, rule in enumerate(rules)})
    seed, constraints = int(model.facts.get("seed", 0)), model.constraints or NO_CONSTRAINTS
    shape = (model.features, model.named, model.target)
    return MemoryTraining(binned, response, seed, *shape, constraints=constraints)


def _settle(rule: Rule, table: Table, response: Response) -> Rule:
    """The rule with the share of rows that satisfy each condition; values it cannot judge go where most rows are."""
    weights = response.row_weights()
    conditions = []
    for condition in rule.conditions:
        share = float(weights @ condition.holds(table.columns[condition.index]) / weights.sum())
        conditions.append(replace(condition, share=share, unseen=share >= 0.5))
    return replace(rule, conditions=tuple(conditions), frequency=1.0, given=True)


def _check_new(model: Model, new: Sequence[Rule], training: MemoryTraining) -> None:
    """No rule twice, none that all rows or none satisfy, none that others make up."""
    for i, rule in enumerate(new):
        if rule in model.selected or rule in new[:i]:
            raise ParameterError(f"The rule '{rule.condition_text}' is in the list already.")
    fresh = independent_columns(training.moment_sums([*model.selected, *new]).gram())[1 + len(model.selected) :]
    for rule, is_fresh in zip(new, fresh):
        if not is_fresh:
            raise ParameterError(
                f"The rule '{rule.condition_text}' adds nothing: on these rows it holds everywhere or nowhere, or it "
                "is a combination of other rules of the list."
            )

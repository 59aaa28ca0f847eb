"""A model, rules and rows in, the model with these rules out: outputs and all weights from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pysirus._constraints.read import about_class, as_rules
from pysirus._learn.required import settle_effect
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._terms.dependence import independent_columns
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.read import columns_of_rules
from pysirus._use.estimate import Rows, estimate, read_rows, share_of, training_on, weighing_of

Fitted = TypeVar("Fitted", bound=Model)


def add_rules(model: Fitted, given: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Fitted, list[FittedTerm]]:
    """The model with more rules, and these; see ``RuleModel.adding``."""
    weighing_of(model)
    if X is None or y is None:
        raise ParameterError("To add rules give X and y, the training rows: outputs and weights come from them.")
    columns = columns_of_rules(model.features, model.all_rules)
    asked = as_rules(given, columns, "rules")
    rows = read_rows(model, [*model.selected, *asked], X, y, sample_weight)
    gaps = [column.missing() is not None for column in rows.table.columns]
    columns = [replace(own, has_missing=own.has_missing or gap) for own, gap in zip(columns, gaps)]
    new = [_settle(rule, rows) for rule in as_rules(given, columns, "rules")]
    new = [about_class(rule, model.positive_class) for rule in new]
    new = [settle_effect(rule, model.family, "rules") for rule in new]
    _check_new(model, new, rows)
    return estimate(model, [*model.selected, *new], rows), new


def _settle(rule: FittedTerm, rows: Rows) -> FittedTerm:
    """The rule with the share of rows that satisfy each condition; values it cannot judge go where most rows are."""
    settled = rule.map_conditions(lambda condition: condition.with_share(share_of(condition, rows)))
    nothing: Any = dict.fromkeys(("inside", "outside", "n_inside", "n_outside", "weight", "observed", "survival"))
    return replace(settled, frequency=1.0, given=True, stage=1, **nothing)


def _check_new(model: Model, new: Sequence[FittedTerm], rows: Rows) -> None:
    """No rule twice, none that all rows or none satisfy, none that others make up."""
    for i, rule in enumerate(new):
        if rule in model.selected or rule in new[:i]:
            raise ParameterError(f"The rule '{rule.condition_text}' is in the list already.")
    every = [*model.selected, *new]
    fresh = independent_columns(training_on(model, every, rows).moment_sums(every).gram())[1 + len(model.selected) :]
    for rule, is_fresh in zip(new, fresh):
        if not is_fresh:
            raise ParameterError(
                f"The rule '{rule.condition_text}' adds nothing: on these rows it holds everywhere or nowhere, or it "
                "is a combination of other rules of the list."
            )

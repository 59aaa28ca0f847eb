"""A model in, a model with fewer or more rules out, its weights fitted again; the facts keep a trail of the edits.

A model stores the sums over ten folds that its weights were computed from (``RuleModel.moments``). They contain those
of every part of its list, so the weights of a shorter list are those that a fit on the same data with that list would
give. Classes with equal weights need no sums. A model of scores keeps a quadratic approximation of its likelihood
instead (``RuleModel.likelihood``): without the data its weights are approximate, and it says so. A survival model needs
its rows again. Where rows are given, weights come from them (``estimate``). The tuning results of the full list do not
apply to an edited one, so the edited model has no tuning path.

A line of the trail says what was changed, by whom and why, and the error before and after. Rules that are added get
their outputs, and all rules their weights, from the rows that are given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, TypeVar

import numpy as np

from pysirus._data.column import is_unicode
from pysirus._learn.constraints import about_class, as_rules, resolve_effect
from pysirus._model.facts import Facts
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, check_integer
from pysirus._terms.allowed import independent_columns
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.from_text import columns_of_rules, read_rule
from pysirus._terms.lexicon import RuleTextError
from pysirus._terms.listing import RuleSet, with_weights
from pysirus._text.message import InPython, Parameter
from pysirus._use.estimate import Rows, estimate, read_rows, share_of, training_on, weighing_of
from pysirus._weights.likelihood import minimise
from pysirus._weights.moments import n_fixed
from pysirus._weights.weighted import weigh_by_ridge

Fitted = TypeVar("Fitted", bound=Model)


@dataclass(frozen=True)
class Note:
    """Why a model was edited, by whom and when, as far as it was said."""

    note: str | None = None
    by: str | None = None
    date: str | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not isinstance(value, str):
                raise ParameterError(f"{name} must be text or None, got {value!r}.")
            if value is not None and not is_unicode(value):
                raise ParameterError(f"{name} must be valid Unicode, got {value!r}.")


def now() -> str:
    """The time of an edit, as a trail says it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def with_trail(
    edited: Fitted, removed: Sequence[str], added: Sequence[str], note: Note, error: dict[str, Any] | None
) -> Fitted:
    """The edited model, whose facts end with this edit."""
    entry: dict[str, Any] = {"removed": list(removed), "added": list(added)}
    entry |= {name: value for name, value in vars(note).items() if value is not None}
    if error is not None:
        entry["error"] = error
    return replace(edited, facts=replace(edited.facts, edits=[*(edited.facts.edits or ()), entry]))


def errors_of(before: Model, after: Model, rows: tuple[Any, Any, Any] | None) -> dict[str, Any] | None:
    """The error before and after: on the rows that are given, or before, where tuning measured it."""
    if rows is not None:
        from pysirus._use.score import score

        name = before.family.edit_metric
        found = {when: score(model, *rows)[name] for when, model in (("before", before), ("after", after))}
        return {"name": f"{name} on the rows given", **found}
    if before.tuning is not None:
        return {"name": f"cross-validated {before.family.error_name}", "before": float(before.tuning.error)}
    return None


def trail_lines(model: Model) -> list[str]:
    """The trail for a reader, an edit a line."""
    lines = []
    for entry in model.facts.edits or ():
        parts = [f"{key} {'; '.join(entry[key])}" for key in ("removed", "added") if entry[key]]
        if "error" in entry:
            values = [f"{when} {entry['error'][when]:.4g}" for when in ("before", "after") if when in entry["error"]]
            parts.append(f"{entry['error']['name']} {', '.join(values)}")
        parts += [entry["note"]] if "note" in entry else []
        signed = ", ".join(entry[key] for key in ("by", "date") if key in entry)
        lines.append(" | ".join([*parts, signed] if signed else parts))
    return lines


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
    new = [_with_shares(rule, rows) for rule in as_rules(given, columns, "rules")]
    new = [about_class(rule, model.positive_class) for rule in new]
    new = [resolve_effect(rule, model.family, "rules") for rule in new]
    _check_new(model, new, rows)
    return estimate(model, [*model.selected, *new], rows), new


def _with_shares(rule: FittedTerm, rows: Rows) -> FittedTerm:
    """The rule with the share of rows that satisfy each condition; values it cannot place go where most rows are."""
    resolved = rule.map_conditions(lambda condition: condition.with_share(share_of(condition, rows)))
    nothing: Any = dict.fromkeys(
        ("inside", "outside", "n_inside", "n_outside", "weight", "observed", "survival", "returned")
    )
    return replace(resolved, frequency=1.0, given=True, stage=1, **nothing)


def _check_new(model: Model, new: Sequence[FittedTerm], rows: Rows) -> None:
    """No rule twice, none that all rows or none satisfy, none that others make up."""
    for i, rule in enumerate(new):
        if rule in model.selected or rule in new[:i]:
            raise ParameterError(f"The {rule.kind.lower()} '{rule.condition_text}' is in the list already.")
    every = [rule for rule in (*model.selected, *new) if rule.is_binary]
    fresh = independent_columns(training_on(model, every, rows).moment_sums(every).gram())[1:]
    added = [rule for rule in new if rule.is_binary]
    for rule, is_fresh in zip(added, fresh[len(every) - len(added) :]):
        if not is_fresh:
            raise ParameterError(
                f"The rule '{rule.condition_text}' adds nothing: on these rows it holds everywhere or nowhere, or it "
                "is a combination of other rules of the list."
            )


Which = FittedTerm | int | str | Sequence[FittedTerm | int | str]


def rule_positions(model: Model, which: Which) -> list[int]:
    """Positions among the selected rules of rules given as such, as text, or by their number in the printed list."""
    items = list(which) if isinstance(which, (Sequence, np.ndarray)) and not isinstance(which, str) else [which]
    shown = model.rules
    positions = []
    for item in items:
        if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            item = _rule_numbered(shown, int(item))
        elif isinstance(item, str):
            item = _rule_called(model, item)
        if isinstance(item, bool) or item not in model.selected:
            raise ValueError(
                f"The model has no rule '{item}'. Pass one of its rules_, or its number in the printed list."
            )
        positions.append(list(model.selected).index(item))
    return positions


def _rule_numbered(shown: Sequence[FittedTerm], number: int) -> FittedTerm:
    """The rule of a number in the printed list, which counts from 1."""
    if 1 <= number <= len(shown):
        return shown[number - 1]
    if number < 1:
        raise IndexError(
            f"There is no rule number {number}: rules are numbered from 1, as they print. The first is "
            "without(1), or without(model.rules_[0])."
        )
    known = f"the model has rules 1 to {len(shown)}" if len(shown) else "the model has no rules"
    raise IndexError(f"There is no rule number {number}: {known}.")


def _rule_called(model: Model, text: str) -> FittedTerm:
    """The rule that a text says: one that prints so, or one that asks the same."""
    wanted = text.strip().removeprefix("if ").split(" then ")[0].strip()
    called = [
        rule for rule in model.selected if wanted in (rule.condition_text, rule.text, model.rules.rule_text(rule))
    ]
    if len(called) > 1:
        raise ParameterError(
            f"Two rules print as '{wanted}': {called[0].exact_text}, and {called[1].exact_text}. Take one of these "
            "texts, or the number of the rule."
        )
    if called:
        return called[0]
    plain = [feature.name for feature in model.features if not any(isinstance(v, bool) for v in feature.levels)]
    if text.strip() in plain:  # the name of a column of true and false is a rule
        using = [f"'{rule.text}'" for rule in model.rules if text.strip() in rule.features]
        found = f"The rules that use it: {', '.join(using)}." if using else "No rule uses it."
        raise ParameterError(f"'{text.strip()}' is a column, and rules are removed: by their text or number. {found}")
    try:
        asked = read_rule(text, columns_of_rules(model.features, model.selected))
    except RuleTextError as error:
        if re.search(r"[<>=]|\bin\b|\bis\b|\bslope of\b", text):
            raise
        known = f", for example '{shown[0].text}'" if len(shown := model.rules) else ""
        raise ParameterError(
            f"'{text.strip()}' is no rule. Rules are removed by their text or number{known}."
        ) from error
    for rule in model.selected:
        if rule == asked:
            return rule
    raise ParameterError(f"The model has no rule '{asked.condition_text}'. Take a text or a number from the list.")


def adding(model: Fitted, rules: Any, X: Any, y: Any, sample_weight: Any = None, note: Note | None = None) -> Fitted:
    """Add rules, with outputs and weights from the rows; see ``RuleModel.adding``."""
    edited, new = add_rules(model, rules, X, y, sample_weight)
    error = errors_of(model, edited, (X, y, sample_weight))
    return with_trail(edited, [], [rule.text for rule in new], note or Note(), error)


def without(
    model: Fitted,
    rules: Which,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    note: Note | None = None,
) -> Fitted:
    """Remove rules and fit the weights of the others again; see ``RuleModel.without``."""
    struck = set(rule_positions(model, rules))
    texts = [model.selected[i].text for i in sorted(struck)]
    kept = [i for i in range(len(model.selected)) if i not in struck]
    edited = _edited(model, kept, X, y, sample_weight)
    facts = replace(edited.facts, removed_rules=[*(model.facts.removed_rules or ()), *texts])
    error = errors_of(model, edited, None if X is None else (X, y, sample_weight))
    return with_trail(replace(edited, facts=facts), texts, [], note or Note(), error)


def with_rules(model: Fitted, n_rules: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> Fitted:
    """Keep the first rules of the list; see ``RuleModel.with_rules``. A tuned model has them ready."""
    kept = [] if model.tuning is None else [size.n_rules for size in model.tuning.sizes]
    check_integer("n_rules", n_rules, 0, max([len(model.selected), *kept]))
    if n_rules in kept and X is None and y is None and sample_weight is None:
        return model.at_size(n_rules)
    whole = model.at_size(n_rules) if n_rules > len(model.selected) else model
    return _edited(whole, range(n_rules), X, y, sample_weight)


NEEDS_ROWS = (
    "Give X and y, the training rows: a survival model of other rules needs another baseline hazard, which cannot be "
    "found without them. (A tuned model has its sizes ready: with_rules(k) of 1 rule or more needs no rows.)"
)


def _edited(model: Fitted, kept: Sequence[int], X: Any, y: Any, sample_weight: Any) -> Fitted:
    """The model of some of the selected rules: by the rows where they are given, else by what the model keeps."""
    needs_rows = model.family.has_hazard
    if X is None and y is None and sample_weight is None and not needs_rows:
        return refit(model, kept)
    if X is None or y is None:
        raise ParameterError(NEEDS_ROWS if needs_rows else "To fit the weights from rows, give both X and y.")
    rules = [model.selected[i] for i in kept]
    return estimate(model, rules, read_rows(model, rules, X, y, sample_weight))


def refit(model: Fitted, kept: Sequence[int]) -> Fitted:
    """The model of some of the selected rules, by what it keeps."""
    rules = [model.selected[i] for i in kept]
    if model.family.is_scored:
        return _refit_scores(model, rules, kept)
    if model.family.weighs_equally:
        if len({rule.weight for rule in model.selected}) > 1:
            raise ParameterError(
                "The rules of this model have unequal weights, and it keeps no sums to fit them again."
            )
        intercept: Any = tuple(np.zeros(model.family.shape).tolist()) if rules else model.mean
        weights = [1 / len(rules) for _ in rules]
        facts = replace(model.facts, out_of_fold=None)
        return replace(model, selected=with_weights(rules, weights), intercept=intercept, tuning=None, facts=facts)
    if model.moments is None:
        raise ParameterError(
            "This model keeps no sums to fit its weights again: it comes from another method, or from a file of a very "
            "long list. Fit it again on its data."
        )
    weighted = weigh_by_ridge(rules, model.moments.take(kept), [len(rules)])
    return replace(
        model,
        selected=with_weights(weighted.rules, weighted.weights[0].tolist()),
        intercept=weighted.intercepts[0],
        moments=weighted.moments,
        tuning=None,
        facts=_facts(model, rules, float(weighted.penalties[0]), weighted.n_pruned[0] if weighted.n_pruned else 0),
    )


def _refit_scores(model: Fitted, rules: list[FittedTerm], kept: Sequence[int]) -> Fitted:
    """By the approximation of the likelihood that the model keeps, at the same penalty."""
    near = model.likelihood.take(kept) if model.likelihood else None
    weights: list[float] = []
    if not rules:  # the link of the mean, exactly
        intercept, penalty = model.family.score_of_mean, 0.0
    elif near is not None:
        penalty = model.facts.ridge_penalty or 0.0
        intercepts, found = minimise(near, penalty, n_fixed(rules))
        intercept, weights = model.family.as_output(intercepts), found.tolist()
    else:
        raise ParameterError(
            "This model does not keep its likelihood, so its weights cannot be fitted again without data: give "
            f"{InPython('X and y, ')}the training rows."
        )
    facts = replace(_facts(model, rules, penalty), approximate_weights=None)  # taken out, so that it is the last again
    facts = replace(facts, approximate_weights=True if rules else None)
    selected = with_weights(rules, weights)
    return replace(model, selected=selected, intercept=intercept, likelihood=near, tuning=None, facts=facts)


def _facts(model: Model, rules: Sequence[FittedTerm], penalty: float, n_pruned: int = 0) -> Facts:
    others = replace(model.facts, ridge_penalty=penalty, out_of_fold=None)  # which is of another list
    return others.of_list(rules, n_pruned)


def with_reasons(model: Fitted, texts: Any) -> Fitted:
    """The model with texts for its rules; see ``RuleModel.with_reasons``."""
    if not hasattr(texts, "items"):
        raise ParameterError(f"{Parameter('texts')} must be a dict from rules to texts, got {texts!r}.")
    said: dict[int, tuple[str, ...]] = {}
    for which, text in texts.items():
        pair = tuple(text) if isinstance(text, (tuple, list)) else () if text is None else (text,)
        if len(pair) > 2 or not all(isinstance(own, str) and own.strip() for own in pair):
            raise ParameterError(
                f"{Parameter('texts')} must have a text for each rule, or one where it applies and one where it does "
                f"not; for {which!r} it has {text!r}. None removes the text of a rule."
            )
        said[rule_positions(model, which)[0]] = pair
    keys = {model.selected[i].key: pair for i, pair in said.items()}

    def changed(rules: RuleSet) -> RuleSet:
        return RuleSet([replace(rule, reason=keys.get(rule.key, rule.reason)) for rule in rules])

    tuning = model.tuning
    if tuning is not None:
        tuning = replace(tuning, rules=changed(tuning.rules))
    return replace(model, selected=changed(model.selected), tuning=tuning)

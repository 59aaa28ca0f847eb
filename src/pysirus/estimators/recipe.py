"""A model and new rows in, the model that the same recipe learns from them out, and how the two differ.

The recipe is the estimator with its settings and seed and, of a model that was changed after its fit, what was done to
it: the length that was asked for, rules that were removed and added, the cut-off, texts of reasons. A rule that was
removed is looked for by what it asks, else by its features and directions, as ``diff`` calls a rule shifted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from pysirus._data.column import DataError
from pysirus._data.elsewhere import is_dask, is_elsewhere, is_spark
from pysirus._data.frame import rows_that_count
from pysirus._learn.splits import check_forward
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.from_text import columns_of_rules, read_rule
from pysirus._terms.lexicon import RuleTextError
from pysirus._text.format import one_line
from pysirus._use.edit import Note, adding, with_reasons, with_rules, without
from pysirus._use.monitor import reference_from
from pysirus._use.refit import Parts, Refit, compare_refit
from pysirus._use.score import Rows, decide, with_truth
from pysirus.engine.door import open_source
from pysirus.engine.given import Given
from pysirus.estimators.door import truth_of
from pysirus.estimators.evidence import Question, columns_of, gather

if TYPE_CHECKING:
    from pysirus.estimators.actions import Decisions
    from pysirus.estimators.base import RuleEstimator

ESTIMATORS: dict[str, type[RuleEstimator]] = {}
# what files that do not name a parameter were made with: the parameter is younger than they are
EARLIER_DEFAULTS = {"post_treatment": "paper", "weighting": "equal", "slopes": False}
ON_ROWS = "on the rows given"  # what the trail says of an error where an edit had rows
NO_RECIPE = (
    "The model has rules and weights, and does not say with which settings they were learned: it was edited by an "
    "earlier version, or is of another program. Take the model that was fitted."
)

NOT_SIRUS = "`refit`, `verify` and `evidence` repeat the fits of SIRUS estimators alone"


def estimator_of(record: Mapping[str, Any]) -> RuleEstimator:
    """The estimator of a record, with its parameters and not fitted."""
    kind = ESTIMATORS[record["name"]]
    before = {name: value for name, value in EARLIER_DEFAULTS.items() if name in kind._get_param_names()}
    return kind(**{**before, **record["parameters"]})


def fresh_estimator(fitted: Decisions) -> RuleEstimator:
    """The estimator that learned a model, not fitted, with its settings and the seed of its fit."""
    model = fitted._as_model()
    estimator: RuleEstimator
    if model is not fitted:
        estimator = clone(fitted)
    elif model.facts.learned_by is not None and model.facts.learned_by["name"] in ESTIMATORS:
        estimator = estimator_of(model.facts.learned_by)
    else:
        raise ParameterError(NO_RECIPE)
    if not hasattr(estimator, "_enter"):
        raise ParameterError(f"{NOT_SIRUS}: this model is of {type(estimator).__name__}.")
    estimator.set_params(random_state=model.facts.seed, verbose=0)
    return estimator


def refit(fitted: Decisions, given: Given, *, time: Any, alpha: float, n_resamples: int) -> Refit:
    """Learn a model again from rows, wherever they lie; see ``RuleModel.refit``."""
    old, estimator = fitted._as_model(), fresh_estimator(fitted)
    groups = check_forward(estimator.cv, given.groups, time) if estimator._is_tuned else None
    given = replace(given, X=columns_of(given, old), groups=groups, only=old.columns if old.named else None)
    with _read_once(given, estimator, old) as own:
        estimator._enter(own)
        if is_elsewhere(own.X):
            parts = partial(_parts, old, own)
            return compare_again(old, estimator, own, None, parts, alpha=alpha, n_resamples=n_resamples)
        with rows_that_count(*own.split()[:3], need_target=True) as taken:
            rows = Rows(*taken)
            return compare_again(old, estimator, own, rows, lambda: [rows], alpha=alpha, n_resamples=n_resamples)


def compare_again(
    old: Model, estimator: Any, given: Given, rows: Rows | None, parts: Parts, *, alpha: float, n_resamples: int
) -> Refit:
    """How an estimator that learned new rows by the recipe of a model differs from it, once its changes are repeated.

    ``rows`` are those that it learned, where they are in memory; ``parts`` gives them as the old model reads them.
    """
    found, notes, failed = repeat_changes(old, estimator, rows)
    told: dict[str, Any] = {"notes": notes, "not_repeated": tuple(failed)}
    if n_resamples:
        own = replace(given, groups=None) if rows is None else Given(*rows[:3])
        asked = Question("halves", n_resamples, retune=False)
        told["expected_return"] = gather(estimator, own, asked, time=None, n_jobs=None).expected_return
    return compare_refit(old, found, parts, alpha=alpha, **told)


@contextmanager
def _read_once(given: Given, estimator: RuleEstimator, old: Model) -> Iterator[Given]:
    """The same, with a table, or files, in place of what may be read once; Dask and Spark keep their rows."""
    if not is_elsewhere(given.X) or is_dask(given.X) or is_spark(given.X):
        yield given
        return
    with open_source(given, estimator.categorical_features, whole=old.family.has_hazard) as found:
        yield replace(given, X=list(found.files) if found.table is None else found.table)


def _parts(old: Model, given: Given) -> Iterator[Rows]:
    """Rows that lie elsewhere, in parts."""
    for rows, _ in truth_of(old, given.X, given.y, given.sample_weight, every_column=True):
        yield with_truth(rows)


def repeat_changes(
    old: Model, new: RuleEstimator, rows: Rows | None, *, as_then: bool = False
) -> tuple[Any, list[str], list[str]]:
    """The new model with the changes of the old one, what is to be known, and what could not be repeated.

    ``rows`` are those of the new model; None where they are not in memory. ``as_then``: only edits that had rows get
    them, and the model remembers what it did, so that the same rows give the same bits.
    """
    record, edits = old.facts.learned_by or {}, old.facts.edits or ()
    reasons = {rule: rule.reason for rule in old.selected if rule.reason}
    if not (edits or reasons or old.decision_rule or "n_rules" in record):
        return new, [], []
    if edits and rows is None:
        raise DataError(
            "The model was edited, and edits are repeated on rows in memory: give one table, not files in batches."
        )
    notes: list[str] = []
    failed: list[str] = []
    model: Any = new._as_model()
    if "n_rules" in record:
        model = _resized(model, record["n_rules"], rows, notes)
    if edits and rows is not None:
        response = new._family.read(rows.y, rows.weights, len(rows.y))
        weighed = rows._replace(weights=response.weights)  # those of classes included
        for entry in edits:
            had_rows = not as_then or (entry.get("error") or {}).get("name", "").endswith(ON_ROWS)
            model = _edited(model, entry, weighed if had_rows else None, notes, failed)
        if not as_then:
            reference = reference_from(model, *rows[:3])
            model = replace(model, facts=replace(model.facts, reference=reference.to_facts()))
    model = _deciding(model, old, notes)
    kept = {i: reasons[rule] for i, rule in enumerate(model.rules, start=1) if rule in reasons}
    model = with_reasons(model, kept) if kept else model
    if len(kept) < len(reasons):
        lost = len(reasons) - len(kept)
        notes.append(f"{lost} of {len(reasons)} texts of reasons are left out: their rules moved or went.")
    return new._keep_recipe(model, record.get("n_rules")), notes, failed


def _resized(model: Any, n_rules: int, rows: Rows | None, notes: list[str]) -> Any:
    """The list of the length that was asked for, as far as the new one goes."""
    longest = max([len(model.selected), *(size.n_rules for size in (model.tuning.sizes if model.tuning else ()))])
    if n_rules > longest:
        notes.append(f"The list was to have {n_rules} rules, and has {longest}.")
    needed = () if rows is None or not model.family.has_hazard or model.tuning else rows[:3]
    return with_rules(model, min(n_rules, longest), *needed)


def _edited(model: Any, entry: Mapping[str, Any], rows: Rows | None, notes: list[str], failed: list[str]) -> Any:
    """The model after one edit of the trail; a rule that is not there need not be removed."""
    note = Note(f"repeated on new rows: {entry.get('note') or 'no note'}", entry.get("by"))
    own: tuple[Any, Any, Any] = (None, None, None) if rows is None else (rows.X, rows.y, rows.weights)
    struck = []
    for text in entry["removed"]:
        rule = _same_or_shifted(model, text)
        if rule is None:
            notes.append(f"The rule '{text}', which was removed, is not in the new list.")
        elif rule not in struck:
            struck.append(rule)
            if rule.text != text:
                notes.append(f"Removed '{rule.text}' for '{text}', which was removed before.")
    if struck:
        model = without(model, struck, *own, note=note)
    for text in entry["added"]:
        try:
            model = adding(model, [text], *own, note=note)
        except (ParameterError, RuleTextError, DataError) as error:
            failed.append(f"adding '{text}': {error}")
    return model


def _same_or_shifted(model: Model, text: str) -> FittedTerm | None:
    """The rule of a list that asks what a text says or, of the same features and directions, the most frequent."""
    try:
        wanted = read_rule(text, columns_of_rules(model.features, model.selected))
    except RuleTextError:
        return next((rule for rule in model.selected if rule.text == text), None)
    same = [rule for rule in model.selected if rule == wanted]
    return next(iter([*same, *(rule for rule in model.selected if rule.shape == wanted.shape)]), None)


def _deciding(model: Any, old: Model, notes: list[str]) -> Any:
    """The model with the cut-off rule of the old one: chosen again on held-out rows, or as it was."""
    rule = old.decision_rule
    if rule is None:
        return model
    if old.classes != model.classes:
        notes.append("The cut-off is left out: the classes are others.")
        return model
    if rule.basis != "given rows":
        try:
            costs = None if rule.costs is None else dict(zip(old.classes or (), rule.costs))
            return decide(model, costs, rule.rate)
        except ParameterError as error:
            notes.append(f"The cut-off is that of the old model: {one_line(str(error))}")
    else:
        notes.append("The cut-off is that of the old model, which was chosen on rows that are not here.")
    return replace(model, family=model.family.deciding_by(rule))

"""A model and rows in, the part of each rule in each prediction out.

A prediction is a sum over rules, so its explanation is exact: the baseline plus the contributions, added in the order
of the rules, is the prediction to the last bit. ``centred`` measures the same sum from the average prediction. A
weighted mean (Node harvest) is a sum too: of distances from the mean response, each by its share of the weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._format import decimals_for, make_frame, text_table
from pysirus._model import RuleModel
from pysirus._rule import Rule, RuleSet
from pysirus._table import Table


@dataclass(frozen=True)
class Explanation:
    """The parts of some predictions.

    Attributes
    ----------
    rules : RuleSet
        The rules of the model, in the order of the columns below.
    baseline : float or ndarray of shape (n_classes,)
        What every row starts from: the intercept.
    contributions : ndarray of shape (n_rows, n_rules) or (n_rows, n_rules, n_classes)
        What each rule adds: its weight times its output, inside or outside.
    fired : ndarray of bool of shape (n_rows, n_rules)
        Whether the conditions of the rule hold.
    target : str
        What is predicted.
    classes : tuple or None
        The labels, for classification.
    from_mean : bool
        Whether contributions are measured from the mean response: those of a weighted mean.
    """

    rules: RuleSet
    baseline: Any
    contributions: NDArray[np.float64]
    fired: NDArray[np.bool_]
    target: str
    classes: tuple[Any, ...] | None = None
    from_mean: bool = False

    def __len__(self) -> int:
        return len(self.fired)

    def __getitem__(self, row: int) -> Explanation:
        """The explanation of one row."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"There is no row {row}: the explanation has rows 0 to {len(self) - 1}.")
        rows = [row]
        return replace(self, contributions=self.contributions[rows], fired=self.fired[rows])

    @property
    def prediction(self) -> NDArray[np.float64]:
        """Baseline plus contributions: what the model predicts, a number or class shares for each row."""
        total = np.repeat(np.asarray(self.baseline, dtype=np.float64)[None], len(self), axis=0)
        for r in range(len(self.rules)):  # rule by rule, as the model adds them
            total += self.contributions[:, r]
        return total

    def centred(self) -> Explanation:
        """The same predictions, measured from the average training prediction.

        Of each rule's contribution its training average is moved to the baseline, so that a contribution says how far
        the rule moves this row from the average row.
        """
        if self.from_mean:
            return self
        means = np.array([_average(rule) for rule in self.rules]).reshape(self.contributions.shape[1:])
        return replace(
            self, baseline=np.asarray(self.baseline) + means.sum(axis=0), contributions=self.contributions - means
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each row of the table, rule and class.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first of these that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``row``, ``rule``, ``fired``, ``class`` (for classes) and ``contribution``. The baseline is a rule
            of its own, called ``(baseline)``, that always fires.
        """
        n, k = self.fired.shape
        labels = self.classes or (None,)
        names = ["(baseline)", *(rule.condition_text for rule in self.rules)]
        parts = self.contributions.reshape(n, k, len(labels))
        base = np.broadcast_to(np.reshape(self.baseline, (1, 1, len(labels))), (n, 1, len(labels)))
        fired = np.concatenate([np.ones((n, 1), dtype=bool), self.fired], axis=1)
        each = len(names) * len(labels)
        data: dict[str, list[Any]] = {
            "row": np.repeat(np.arange(n), each).tolist(),
            "rule": [name for name in names for _ in labels] * n,
            "fired": np.repeat(fired.ravel(), len(labels)).tolist(),
        }
        if self.classes is not None:
            data["class"] = list(labels) * (n * len(names))
        data["contribution"] = np.concatenate([base, parts], axis=1).ravel().tolist()
        return make_frame(data, backend)

    def _rows(self, row: int) -> tuple[list[str], list[list[str]]]:
        labels = self.classes or (self.target,)
        parts = self.contributions[row].reshape(len(self.rules), len(labels))
        base = np.reshape(self.baseline, len(labels))
        total = self.prediction[row].reshape(len(labels))
        decimals = max(decimals_for([float(v) for v in np.abs(total)], 0.0), 2)
        lines = [["", "baseline", *(f"{v:.{decimals}f}" for v in base)]]
        for rule, fired, part in zip(self.rules, self.fired[row], parts):
            lines.append(["yes" if fired else "no", rule.condition_text, *(f"{v:+.{decimals}f}" for v in part)])
        lines.append(["", "prediction", *(f"{v:.{decimals}f}" for v in total)])
        return ["fired", "rule", *map(str, labels)], lines

    def __str__(self) -> str:
        shown = range(min(len(self), 5))
        blocks = [text_table(*self._rows(row)) for row in shown]
        if len(self) > 1:
            blocks = [f"row {row}\n{block}" for row, block in zip(shown, blocks)]
        if len(self) > len(blocks):
            blocks.append(f"and {len(self) - len(blocks)} more rows")
        return "\n\n".join(blocks)


def _average(rule: Rule) -> Any:
    """The mean contribution of a rule over the training rows."""
    assert rule.n_inside is not None and rule.n_outside is not None
    share = rule.n_inside / (rule.n_inside + rule.n_outside)
    return (rule.weight or 0.0) * (share * np.asarray(rule.inside) + (1 - share) * np.asarray(rule.outside))


def explain(model: RuleModel, X: Any) -> Explanation:
    """Explain the predictions of some rows.

    Parameters
    ----------
    model : RuleModel
        The model.
    X : data frame or array of shape (n_rows, n_columns)
        The rows.

    Returns
    -------
    explanation : Explanation

    Examples
    --------
    >>> from pysirus import SirusRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=3, random_state=0).fit(X, y)
    >>> explanation = model.explain(X)
    >>> bool(abs(explanation.prediction - model.predict(X)).max() < 1e-9)
    True
    """
    if model.terms:
        raise ValueError(
            f"The model has {len(model.terms)} linear terms, and explanations are of rules alone. "
            "Fit with linear_terms=False, or read the terms from terms_."
        )
    table = model.align(X)
    rules = model.rules
    if model.aggregation == "mean":
        return _explain_mean(model, table)
    shape = (table.n_rows, len(rules)) + (() if model.classes is None else (len(model.classes),))
    contributions = np.empty(shape)
    fired = np.empty((table.n_rows, len(rules)), dtype=bool)
    for r, rule in enumerate(rules):
        fired[:, r] = rule.holds(table)
        inside = fired[:, r] if model.classes is None else fired[:, r, None]
        contributions[:, r] = (rule.weight or 0.0) * np.where(inside, np.asarray(rule.inside), np.asarray(rule.outside))
    baseline = model.intercept if model.classes is None else np.asarray(model.intercept, dtype=np.float64)
    return Explanation(rules, baseline, contributions, fired, model.target, model.classes)


def _explain_mean(model: RuleModel, table: Table) -> Explanation:
    """Each rule that holds moves the mean by its own distance from it times its share of the weight in the row."""
    mean = float(np.asarray(model.mean))
    fired = np.column_stack([np.zeros((table.n_rows, 0), dtype=bool), *(rule.holds(table) for rule in model.rules)])
    weights = np.array([rule.weight for rule in model.rules], dtype=np.float64)
    distance = np.array([rule.inside for rule in model.rules], dtype=np.float64) - mean
    total = (model.root_weight + fired @ weights)[:, None]
    contributions = np.divide(fired * (weights * distance), total, out=np.zeros(fired.shape), where=total > 0)
    return Explanation(model.rules, mean, contributions, fired, model.target, from_mean=True)


def output_gap(rule: Rule) -> float:
    """How far the two outputs of a rule are apart; for classes the share that changes class."""
    gap = np.abs(np.asarray(rule.inside) - np.asarray(rule.outside))
    return float(gap.sum() / 2 if gap.ndim else gap)


def feature_importance(model: RuleModel, backend: str | None = None) -> Any:
    """How much of the model each feature carries, measured twice.

    ``frequency`` is the share of the rules' frequencies: how firmly the forest holds on to the feature. ``gap`` is the
    share of weight times the gap between the outputs inside and outside: how far the feature moves predictions. What a
    rule brings is divided evenly among its features, and each column sums to one. Features in no rule have zero. A
    linear term has no frequency; its gap is between its limits.

    Parameters
    ----------
    model : RuleModel
        The model.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library of the frame; by default the first of these that is installed.

    Returns
    -------
    frame : DataFrame or Table
        Columns ``feature``, ``frequency``, ``gap``, the largest gap first.
    """
    frequency, gap = np.zeros(len(model.features)), np.zeros(len(model.features))
    for rule in model.rules:
        parts = len(rule.conditions)
        for condition in rule.conditions:
            frequency[condition.index] += (0.0 if np.isnan(rule.frequency) else rule.frequency) / parts
            gap[condition.index] += abs(rule.weight or 0.0) * output_gap(rule) / parts
    for term in model.terms:
        gap[term.index] += abs(term.weight) * (term.upper - term.lower)
    order = np.argsort(-gap, kind="stable")
    data: dict[str, list[Any]] = {"feature": [model.features[i].name for i in order]}
    for name, values in (("frequency", frequency), ("gap", gap)):
        total = values.sum()
        data[name] = (values[order] / total if total > 0 else values[order]).tolist()
    return make_frame(data, backend)

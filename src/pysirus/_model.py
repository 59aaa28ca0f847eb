"""Rules, weights and a schema: a model that predicts. It knows nothing of how it was learned."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._format import decimals_for, format_shares
from pysirus._rule import RuleSet, with_weights
from pysirus._table import Feature, Table, align_table, warn_unseen
from pysirus.tune import Size, Tuning


@dataclass(frozen=True)
class RuleModel:
    """A list of rules and their weights.

    The prediction is ``intercept + sum of weight * (inside if the rule holds else outside)``; for classes the outputs
    are vectors of class shares.

    Attributes
    ----------
    selected : RuleSet
        The rules after post-treatment, each with its weight.
    intercept : float or tuple of float
        What is added to the weighted outputs.
    mean : float or tuple of float
        Mean response (class shares) of the training data.
    features : tuple of Feature
        The columns it was trained on.
    named : bool
        Whether the training table had column names.
    target : str
        What is predicted.
    classes : tuple or None
        The labels, for classification.
    facts : mapping
        How it was made: number of trees, seed, penalty, versions.
    tuning : Tuning or None
        The tuning path and the list of every size, when the model was tuned.
    """

    selected: RuleSet
    intercept: float | tuple[float, ...]
    mean: float | tuple[float, ...]
    features: tuple[Feature, ...]
    named: bool = False
    target: str = "y"
    classes: tuple[Any, ...] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    tuning: Tuning | None = None

    @property
    def rules(self) -> RuleSet:
        """The rules of positive weight."""
        return RuleSet([rule for rule in self.selected if rule.weight])

    @property
    def rules_(self) -> RuleSet:
        """The same under the name that estimators use."""
        return self.rules

    def with_rules(self, n_rules: int) -> RuleModel:
        """The model of the first ``n_rules`` rules of a tuned list, without refitting.

        Parameters
        ----------
        n_rules : int
            From 1 to the number of rules that tuning looked at.

        Returns
        -------
        model : RuleModel
            Its ``facts`` hold the out-of-fold ``cv_error`` and ``cv_stability`` of such lists.
        """
        if self.tuning is None:
            raise ValueError(
                "with_rules needs a tuned model: fit SirusRegressorCV or SirusClassifierCV, or `pysirus tune`."
            )
        for size in self.tuning.sizes:
            if size.n_rules == n_rules:
                return self._sized(self.tuning, size)
        raise ValueError(f"n_rules must be from 1 to {len(self.tuning.sizes)}, got {n_rules!r}.")

    def _sized(self, tuning: Tuning, size: Size) -> RuleModel:
        facts = {**self.facts, "p0": size.p0, "cv_error": size.error, "cv_stability": size.stability}
        if self.classes is None:
            facts["ridge_penalty"] = size.penalty
        rules = with_weights(tuning.rules[: size.n_rules], size.weights)
        return replace(self, selected=rules, intercept=size.intercept, facts=facts)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels as an array of the type they came in."""
        return np.asarray(self.classes, dtype=self.facts.get("label_type"))

    def align(self, X: Any, owner: str = "RuleModel") -> Table:
        """Read a table as the model's columns."""
        table = align_table(X, self.features, named=self.named, owner=owner)
        warn_unseen(table, lambda message: warnings.warn(message, UserWarning, stacklevel=4))
        return table

    def decision(self, table: Table) -> NDArray[np.float64]:
        """The weighted outputs of an aligned table: one number a row, or a row of class shares."""
        intercept = np.asarray(self.intercept, dtype=np.float64)
        total = np.tile(intercept, (table.n_rows, *([1] * intercept.ndim)))
        for rule in self.rules:
            assert rule.weight is not None
            inside = rule.holds(table)
            if self.classes is not None:
                inside = inside[:, None]
            total += rule.weight * np.where(inside, np.asarray(rule.inside), np.asarray(rule.outside))
        return np.asarray(total)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict each row: a number, or the most likely class."""
        decision = self.decision(self.align(X))
        if self.classes is None:
            return decision
        return np.asarray(self.labels[decision.argmax(axis=1)])

    def __str__(self) -> str:
        if not isinstance(self.mean, tuple) and not isinstance(self.intercept, tuple):
            decimals = decimals_for([self.mean, self.intercept], 0.0)
            head = f"mean {self.target} = {self.mean:.{decimals}f}    intercept = {self.intercept:.{decimals}f}"
        else:
            assert isinstance(self.mean, tuple) and self.classes is not None
            head = f"shares of {self.target}: {format_shares(self.mean, self.classes, decimals=1)}"
        return f"{head}\n\n{self.rules}"

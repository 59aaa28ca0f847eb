"""Rules, weights and a schema: a model that predicts. It knows nothing of how it was learned."""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._actions import Actions
from pysirus._format import decimals_for, format_shares
from pysirus._rule import RuleSet, with_weights
from pysirus._table import Feature, Table, align_table, warn_unseen
from pysirus._weights import Moments
from pysirus.tune import Size, Tuning


@dataclass(frozen=True)
class RuleModel(Actions):
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
    moments : Moments or None
        The sums over ten folds from which the weights of any part of the list can be fitted again, those of the
        longest list for a tuned model; None where weights do not come from them.
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
    moments: Moments | None = field(default=None, compare=False, repr=False)

    @property
    def rules(self) -> RuleSet:
        """The rules of positive weight."""
        return RuleSet([rule for rule in self.selected if rule.weight])

    @property
    def rules_(self) -> RuleSet:
        """The same under the name that estimators use."""
        return self.rules

    def sized(self, tuning: Tuning, size: Size) -> RuleModel:
        """The model of one size of its tuned list, with the error and stability of such lists among its facts."""
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

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, one column a class."""
        if self.classes is None:
            raise AttributeError("predict_proba is for classes; this model predicts numbers.")
        return self.decision(self.align(X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file that ``pysirus.load`` reads."""
        from pysirus._file import model_to_json, write_document

        write_document(path, model_to_json(self))

    def _as_model(self) -> RuleModel:
        return self

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._head())}</p>{self.rules._repr_html_()}"

    def __str__(self) -> str:
        return f"{self._head()}\n\n{self.rules}"

    def _head(self) -> str:
        """Mean and intercept, or the class shares, in one line."""
        if not isinstance(self.mean, tuple) and not isinstance(self.intercept, tuple):
            decimals = decimals_for([self.mean, self.intercept], 0.0)
            return f"mean {self.target} = {self.mean:.{decimals}f}    intercept = {self.intercept:.{decimals}f}"
        assert isinstance(self.mean, tuple) and self.classes is not None
        return f"shares of {self.target}: {format_shares(self.mean, self.classes, decimals=1)}"

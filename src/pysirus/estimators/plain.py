"""A list of a given size, or above a given p0: what ``SirusRegressor`` and ``SirusClassifier`` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from pysirus._data.table import recode_table
from pysirus._learn.correct import StageLimits, correct
from pysirus._learn.grow import grow_paths
from pysirus._learn.keep import Limits, keep_rules
from pysirus._learn.kinds.gain import FoldRows
from pysirus._learn.kinds.held_out import Predicted, held_out_of
from pysirus._learn.required import with_required
from pysirus._learn.select import Span
from pysirus._learn.settings import Settings
from pysirus._learn.thresholds import with_short_thresholds
from pysirus._learn.training import Training, bin_rows
from pysirus._learn.tuning.folds import draw_folds
from pysirus._model.held_out import HeldOut
from pysirus._model.roles import ColumnRoles
from pysirus._parameters.table import ListSize
from pysirus._response.read import name_of
from pysirus.estimators.in_parts import InParts

if TYPE_CHECKING:
    from pysirus.engine.options import EngineOptions
    from pysirus.engine.read import PartRows
    from pysirus.engine.train import ShardTraining

Self = TypeVar("Self", bound="PlainSirus")


class PlainSirus(InParts, ListSize):
    """Bins, forest, selection, weights, stages: once, on all rows."""

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rules.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The table.
        y : array of shape (n_rows,)
            The target: numbers or, for classes, text, integers or booleans.
        sample_weight : array of shape (n_rows,), optional
            Row weights. A weight of zero is the same as leaving the row out. In the forest a row counts
            at least 2**-20 of the heaviest, elsewhere 2**-40.

        Returns
        -------
        self : estimator
        """
        settings = self._settings()
        table, response, target = self._read(X, y, sample_weight)
        settings = self._choose_device(settings, table.n_rows, table.n_columns)
        training = bin_rows(table, response, settings, target)
        self._learn(with_required(training, self._kind.link), settings)
        self._remember(ColumnRoles(target, name_of(sample_weight)))
        return self

    def cross_validate(
        self: Self, X: Any, y: Any, sample_weight: Any = None, *, cv: Any = 10, groups: Any = None
    ) -> HeldOut:
        """Learn a list of this size in each fold, and judge it by the rows that are held out.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        cv : int, splitter or list of folds, default=10
            The folds.
        groups : array of shape (n_rows,), optional
            Rows of the same group stay in the same fold.

        Returns
        -------
        held_out : HeldOut
            Its ``figures``, by name with standard errors. A fitted estimator remembers them: its model shows them, and
            so do its file and its report.
        """
        settings = self._settings()
        table, response, target = self._read(X, y, sample_weight)
        kept = self._counting(y, sample_weight, table.n_rows)
        (splits,) = draw_folds(cv, 1, response=response, groups=groups, kept=kept, seed=settings.seed)
        parts, compared = [], []
        settings = self._choose_device(settings, table.n_rows, table.n_columns, len(splits))
        for train, test in splits:
            fold = clone(self)
            rows_of_fold = bin_rows(table.take(train), response.take(train), settings, target)
            fold._learn(with_required(rows_of_fold, self._kind.link, strict=False), settings)
            rows = recode_table(table.take(test), fold.model_.features)
            values = fold.model_.decision(rows).reshape(len(test), -1)
            truth = response.take(test)
            parts.append(Predicted(values, truth.truth, self._kind.figure_weights(truth)))
            compared.append(FoldRows(test, truth.weights, truth.truth, values, np.atleast_1d(fold.model_.mean)))
        n_rules = len(self.model_.selected) if self.__sklearn_is_fitted__() else 0
        found = held_out_of([parts], by_class=response.by_class, loss=self._kind.deviance_loss, n_rules=n_rules)
        gain = self._kind.gain(compared)
        found = replace(found, gain=None if gain is None else (gain.share, gain.signal))
        if self.__sklearn_is_fitted__():
            self.model_ = replace(self.model_, facts={**self.model_.facts, "out_of_fold": found.to_facts()})
        return found

    def _learner(self, parts: PartRows, settings: Settings, options: EngineOptions) -> Callable[[ShardTraining], None]:
        return lambda training: self._learn(with_required(training, self._kind.link), settings)

    def _learn(self, training: Training, settings: Settings) -> None:
        """Grow, select, weigh, correct."""
        kind = self._kind
        paths = grow_paths(training, settings, if_constant=kind.if_constant, mean=kind.mean_name)
        span, most = Span(), self.n_rules if self.p0 is None else self.max_rules
        each = Limits(most, self.p0, self.post_treatment)
        first = kind.weigh_kept(training, keep_rules(training, paths, each, span))
        n_stages = None if self.n_stages == "auto" else int(self.n_stages)
        limits = StageLimits(n_stages, paths.n_trees, max(self.max_rules, len(first.rules)), each)
        recipe = settings.recipe(training.n_rows)
        stages = correct(training, first, paths.n_trees, kind=kind, span=span, recipe=recipe, limits=limits)
        weighted = kind.describe(training, stages[-1])
        model = kind.model(training, weighted, 0, len(stages) * paths.n_trees)
        self._set_model(with_short_thresholds(model, training))
        self._keep_paths(training, paths)

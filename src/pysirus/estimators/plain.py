"""A list of a given size, or above a given p0: what ``SirusRegressor`` and ``SirusClassifier`` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pysirus._data.table import recode_table
from pysirus._families.response.read import name_of
from pysirus._learn.fit import FitPlan, Fitted, PutInBins, fit
from pysirus._learn.grow import Settings, bin_rows
from pysirus._learn.select import Limits
from pysirus._learn.tuning.folds import draw_folds
from pysirus._learn.tuning.held_out import FoldPrediction, judge
from pysirus._learn.weighing.table import weighing_of
from pysirus._model.held_out import HeldOut
from pysirus._model.roles import ColumnRoles
from pysirus._parameters.table import ListSize
from pysirus.estimators.in_parts import InParts

if TYPE_CHECKING:
    from pysirus.engine.parts import EngineOptions
    from pysirus.engine.read import PartRows

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
        self._keep(fit(partial(bin_rows, table, response, target), self._plan(settings)))
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
        plan = self._plan(self._choose_device(settings, table.n_rows, table.n_columns, len(splits)))
        folds = []
        for train, test in splits:
            put_in_bins = partial(bin_rows, table.take(train), response.take(train), target)
            model = fit(put_in_bins, plan, strict=False).model
            values = model.decision(recode_table(table.take(test), model.features)).reshape(len(test), -1)
            folds.append(FoldPrediction(test, response.take(test), values, model.mean))
        found = judge([folds], self._family, len(self.model_.selected) if self.__sklearn_is_fitted__() else 0)
        if self.__sklearn_is_fitted__():
            self.model_ = replace(self.model_, facts=replace(self.model_.facts, out_of_fold=found.to_facts()))
        return found

    def _learner(self, parts: PartRows, settings: Settings, options: EngineOptions) -> Callable[[PutInBins], Fitted]:
        return partial(fit, plan=self._plan(settings))

    def _plan(self, settings: Settings) -> FitPlan:
        size = Limits(self.n_rules if self.p0 is None else self.max_rules, self.p0, self.post_treatment)
        n_stages = None if self.n_stages == "auto" else int(self.n_stages)
        return FitPlan(weighing_of(self._family), settings, size, self.max_rules, n_stages)

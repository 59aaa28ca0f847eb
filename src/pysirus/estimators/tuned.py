"""The number of rules chosen by cross-validation: what ``SirusRegressorCV`` and ``SirusClassifierCV`` share."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from pysirus._model.model import Model
from pysirus._parameters.table import Folds
from pysirus._training.required import with_required
from pysirus._training.training import bin_rows
from pysirus._tuning.folds import draw_folds
from pysirus._tuning.plan import TuningPlan
from pysirus._tuning.tune import tune
from pysirus._warn import warn_user
from pysirus.estimators.rule_model import RuleModel
from pysirus.estimators.sirus import SirusBase

Self = TypeVar("Self", bound="TunedSirus")


class TunedSirus(SirusBase, Folds):
    """Tuning by cross-validation, for any kind of response."""

    _is_tuned: ClassVar[bool] = True
    n_stages: int | str = 1

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the number of rules and learn them.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The table.
        y : array of shape (n_rows,)
            The target: numbers or, for classes, text, integers or booleans.
        sample_weight : array of shape (n_rows,), optional
            Row weights.
        groups : array of shape (n_rows,), optional
            Rows of the same group stay in the same fold.

        Returns
        -------
        self : estimator
        """
        settings = self._settings()
        table, response, target = self._read(X, y, sample_weight)
        kept = self._counting(y, sample_weight, table.n_rows)
        seed = settings.seed
        splits = draw_folds(self.cv, self.n_repeats, y=response.strata, groups=groups, kept=kept, seed=seed)
        settings = self._choose_device(settings, table.n_rows, table.n_columns, 1 + sum(map(len, splits)))
        training = with_required(bin_rows(table, response, settings, target), self._kind.link)
        plan = TuningPlan(
            kind=self._kind,
            settings=settings,
            max_rules=self.max_rules,
            criterion=self._criterion,
            n_repeats=self.n_repeats,
            n_stages=None if self.n_stages == "auto" else int(self.n_stages),
            post_treatment=self.post_treatment,
        )
        model, paths = tune(training, table, splits, plan)
        self._keep_paths(training, paths)
        self._set_model(model)
        if model.out_of_fold is not None and model.out_of_fold.doubt:
            warn_user(model.out_of_fold.doubt)
        return self

    @property
    def _criterion(self) -> str:
        return self._kind.criterion if self.criterion == "auto" else self.criterion

    def _set_model(self, model: Model) -> None:
        super()._set_model(model)
        if model.tuning is not None:
            self.p0_ = model.tuning.p0
            self.cv_error_ = model.tuning.error
            self.cv_stability_ = model.tuning.stability
            self.path_ = model.tuning.path

    @property
    def models_(self) -> tuple[RuleModel, ...]:
        """The model of every size on the full data, from one rule on; see also ``with_rules``."""
        model = self._model
        return tuple(model.at_size(size.n_rules) for size in model.tuned.sizes)

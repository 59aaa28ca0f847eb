"""A fitted estimator and its training rows in, models of folds kept beside it; with them intervals and sets out.

They are on disk only where they are asked for: ``save_folds`` writes a side file, which names the model it belongs to.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from pysirus._data.table import recode_table
from pysirus._learn.folds import continuous_columns, fit_samples
from pysirus._learn.grow import bin_rows
from pysirus._learn.splits import draw_folds
from pysirus._model.agreement import check_document
from pysirus._model.file import ModelFileError, model_from_json, model_to_json
from pysirus._model.kinds import Damage, ensure
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, check_choice
from pysirus._runtime.output import write_text
from pysirus._text.message import Parameter
from pysirus._use.intervals import IntervalCoverage, KeptFold, KeptFolds, coverage_by_rule
from pysirus.engine.given import Given

if TYPE_CHECKING:
    from pysirus.estimators.sirus import SirusBase

Self = TypeVar("Self", bound="Calibrated")
FORMAT = "pysirus-folds"


class Calibrated:
    """Models of folds, kept beside the model."""

    _kept: KeptFolds

    def calibrate(
        self: Self, X: Any, y: Any, sample_weight: Any = None, *, cv: Any = 10, groups: Any = None, nested: bool = False
    ) -> Self:
        """Prepare prediction intervals: fit a list in each fold and keep the lists and their held-out errors.

        Tuned estimators with ``keep_folds=True`` do this in ``fit``.

        Parameters
        ----------
        X, y, sample_weight
            The training rows, as in ``fit``. Files are read into memory.
        cv : int, splitter or list of folds, default=10
            The folds.
        groups : array of shape (n_rows,) or str, optional
            Groups, or the name of their column. Rows of the same group stay in the same fold.
        nested : bool, default=False
            Whether to tune each fold separately. Otherwise all folds use the p0 (or the number of rules) and the number
            of stages chosen on all rows, and coverage is close to the requested value but not guaranteed.

        Returns
        -------
        self : estimator
        """
        check_choice("nested", nested, (True, False))
        self._kept = learn_folds(cast("SirusBase", self), X, y, sample_weight, cv=cv, groups=groups, nested=nested)
        return self

    def _kept_folds(self) -> KeptFolds:
        """The models of the folds; no property, since those who list attributes ask whether each is there."""
        model = cast("SirusBase", self)._as_model()
        if "_kept" not in self.__dict__:
            raise ParameterError(
                f"'{model.target}' has no intervals yet: fit a tuned estimator with {Parameter('keep_folds')}=True, or "
                "call calibrate with the training rows, or load_folds with a file that save_folds wrote."
            )
        return self._kept

    def save_folds(self, path: str | os.PathLike[str]) -> None:
        """Write the models of the folds to a separate file for ``load_folds``; the model file does not contain them.

        Parameters
        ----------
        path : str or path
            The JSON file. Note that it contains the targets of the training rows.
        """
        kept = self._kept_folds()
        folds = [
            {
                "model": model_to_json(fold.model),
                "values": fold.values.tolist(),
                "truth": fold.truth.tolist(),
            }
            for fold in kept.folds
        ]
        about = {"format": FORMAT, "version": 1, "of": _mark(cast("SirusBase", self).model_), "nested": kept.nested}
        write_text(Path(path), json.dumps({**about, "folds": folds}, allow_nan=False) + "\n")

    def load_folds(self: Self, path: str | os.PathLike[str]) -> Self:
        """Read the models of the folds that ``save_folds`` wrote.

        Parameters
        ----------
        path : str or path
            The JSON file.

        Returns
        -------
        self : estimator

        Raises
        ------
        ModelFileError
            If the file is damaged or belongs to another model.
        """
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            if found["format"] != FORMAT or found["version"] != 1:
                raise ModelFileError(f"'{path}' is no file of folds that this pysirus reads.")
            if found["of"] != _mark(cast("SirusBase", self)._as_model()):
                raise ModelFileError(f"'{path}' belongs to another model than this one. Calibrate this one again.")
            folds = tuple(map(_fold_of, found["folds"]))
            ensure(len(folds) > 1, "folds", "must be two at least")
        except ModelFileError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError, Damage) as error:
            raise ModelFileError(f"'{path}' is no file of folds, or it is damaged.") from error
        self._kept = KeptFolds(folds, bool(found["nested"]))
        return self

    def _sure(self, X: Any, coverage: float) -> tuple[dict[str, Any], ...]:
        """The interval or the set of each row, as plain data."""
        raise NotImplementedError

    def _coverage(self, X: Any, y: Any, coverage: float) -> IntervalCoverage:
        """How often they hold, by rule."""
        raise NotImplementedError

    def _covered(self, X: Any, covered: NDArray[np.bool_], coverage: float) -> IntervalCoverage:
        return coverage_by_rule(cast("SirusBase", self)._as_model(), X, covered, coverage)


class NumberIntervals(Calibrated):
    """Intervals of numbers."""

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Predict an interval for the target of each row by CV+ (Barber, Candès, Ramdas and Tibshirani, 2021).

        Needs ``keep_folds=True`` in a tuned estimator, or ``calibrate``. For rows from the same distribution as the
        training rows, a share of about ``coverage`` of the intervals contain the target. With ``nested=True``, a share
        of at least ``2 * coverage - 1`` is guaranteed.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows.
        coverage : float, default=0.9
            The share of intervals that should contain the target, between 0 and 1.

        Returns
        -------
        ends : ndarray of shape (n_rows, 2)
            The lower and upper ends. For counts and amounts, the width grows with the prediction and the lower end is
            at least 0.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_machine
        >>> X, y = load_machine(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, n_trees=500, random_state=0).fit(X[::2], y[::2])
        >>> ends = model.calibrate(X[::2], y[::2]).predict_interval(X[1::2], coverage=0.8)
        >>> bool((ends[:, 0] < ends[:, 1]).all())
        True
        """
        return self._kept_folds().intervals(X, check_coverage(coverage))

    def interval_coverage(self, X: Any, y: Any, coverage: float = 0.9) -> IntervalCoverage:
        """Measure how many intervals contain the target, overall and for the rows of each rule.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Rows that the model was not fitted on.
        y : array of shape (n_rows,)
            Their targets.
        coverage : float, default=0.9
            As in ``predict_interval``.

        Returns
        -------
        found : IntervalCoverage
            Prints as a table. ``short`` lists the groups whose coverage is too low.
        """
        ends, truth = self.predict_interval(X, coverage), np.asarray(y, dtype=np.float64)
        return self._covered(X, (ends[:, 0] <= truth) & (truth <= ends[:, 1]), coverage)

    def _sure(self, X: Any, coverage: float) -> tuple[dict[str, Any], ...]:
        ends = self.predict_interval(X, coverage).tolist()
        return tuple({"coverage": coverage, "lower": low, "upper": high} for low, high in ends)

    def _coverage(self, X: Any, y: Any, coverage: float) -> IntervalCoverage:
        return self.interval_coverage(X, y, coverage)


class ClassSets(Calibrated):
    """Sets of classes, and probabilities with a lower and an upper end."""

    classes_: NDArray[Any]

    def _sure(self, X: Any, coverage: float) -> tuple[dict[str, Any], ...]:
        labels = np.array([str(label) for label in self.classes_])
        found = [{"coverage": coverage, "set": labels[own].tolist()} for own in self.predict_set(X, coverage)]
        if len(labels) == 2:
            of = labels[cast("SirusBase", self).model_.positive]
            ends = self.predict_proba_interval(X).tolist()
            found = [{**own, "of": str(of), "probability": pair} for own, pair in zip(found, ends)]
        return tuple(found)

    def _coverage(self, X: Any, y: Any, coverage: float) -> IntervalCoverage:
        return self.set_coverage(X, y, coverage)

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Predict the set of plausible classes of each row; a share of about ``coverage`` contain the true class.

        Needs ``keep_folds=True`` in a tuned estimator, or ``calibrate``. The sets are cross-conformal (CV+): a class is
        excluded if too many held-out rows had a larger probability for their own class.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows.
        coverage : float, default=0.9
            The share of sets that should contain the true class, between 0 and 1.

        Returns
        -------
        sets : ndarray of bool, of shape (n_rows, n_classes)
            In the order of ``classes_``. A set is empty if no class is as probable as the true classes of most held-out
            rows.
        """
        return self._kept_folds().sets(X, check_coverage(coverage))

    def predict_proba_interval(self, X: Any) -> NDArray[np.float64]:
        """With two classes, predict an interval for the probability of the positive class (cross Venn-Abers).

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows.

        Returns
        -------
        ends : ndarray of shape (n_rows, 2)
            The calibrated probability if the row belonged to the negative class, and if it belonged to the positive
            class (by default the second). A wide interval means that few held-out rows resemble this one.
        """
        if len(self.classes_) != 2:
            raise ParameterError(f"Venn-Abers probabilities are for two classes, and there are {len(self.classes_)}.")
        return self._kept_folds().venn_abers(X, cast("SirusBase", self).model_.positive)

    def set_coverage(self, X: Any, y: Any, coverage: float = 0.9) -> IntervalCoverage:
        """Measure how many sets contain the true class, overall and for the rows of each rule; see
        ``interval_coverage``."""
        sets, model = self.predict_set(X, coverage), cast("SirusBase", self).model_
        truth = model.family.read_truth(y, len(sets), model.labels)
        return self._covered(X, sets[np.arange(len(sets)), truth], coverage)


def check_coverage(coverage: Any) -> float:
    """A share between 0 and 1."""
    if isinstance(coverage, bool) or not isinstance(coverage, (int, float)) or not 0 < coverage < 1:
        raise ParameterError(f"{Parameter('coverage')} must be between 0 and 1, such as 0.9, got {coverage!r}.")
    return float(coverage)


def learn_folds(
    estimator: SirusBase, X: Any, y: Any, sample_weight: Any = None, *, cv: Any, groups: Any, nested: bool
) -> KeptFolds:
    """The models of folds, and what they predict of their held-out rows."""
    from pysirus.estimators.evidence import in_one_table

    model = estimator._as_model()
    exposure = model.exposure if isinstance(y, str) else None
    only = model.columns if model.named else None
    X, y, sample_weight, groups = Given(
        in_one_table(estimator, X), y, sample_weight, groups, exposure, only=only
    ).split()
    table, response, target = estimator._read(X, y, sample_weight)
    kept = estimator._counting(y, sample_weight, table.n_rows)
    settings = estimator._settings_again(int(effective_n_jobs(estimator.n_jobs)))
    seed = settings.seed
    (splits,) = draw_folds(cv, 1, response=response, groups=groups, kept=kept, seed=seed)
    cuts = bin_rows(table, response, target, settings).binned.cuts
    settings = replace(settings, continuous=continuous_columns(cuts))
    learn = partial(estimator._learn_again, retune=nested)
    models = fit_samples(table, response, [train for train, _ in splits], settings, learn)

    def keep(model: Model, test: NDArray[np.intp]) -> KeptFold:
        values = model.decision(recode_table(table.take(test), model.features)).reshape(len(test), -1)
        return KeptFold(model, values, response.take(test).truth)

    return KeptFolds(tuple(keep(model, test) for model, (_, test) in zip(models, splits)), nested)


def _fold_of(told: Any) -> KeptFold:
    """A fold of a file; a ``Damage`` where its predictions and targets do not go together."""
    check_document(told["model"])
    model = model_from_json(told["model"])
    values, truth = np.array(told["values"], dtype=np.float64), np.array(told["truth"])
    n_outputs = len(model.classes or (None,))
    ensure(values.shape == (len(truth), n_outputs) and bool(len(truth)), "values", "are not one for each target")
    ensure(truth.dtype.kind == ("i" if model.classes else "f"), "truth", "is of another kind")
    ensure(bool(np.isfinite(values).all() and np.isfinite(truth).all()), "values", "must be finite")
    ensure(not model.classes or 0 <= truth.min() <= truth.max() < n_outputs, "truth", "names no class")
    return KeptFold(model, values, truth)


def _mark(model: Model) -> str:
    """What tells a model from others."""
    rules = json.dumps(model_to_json(model)["rules"], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(rules.encode()).hexdigest()

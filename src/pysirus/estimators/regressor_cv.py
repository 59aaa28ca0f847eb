"""SIRUS for regression with p0 tuned for accuracy and stability: the default way to use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._forest.forest import Paths, Recipe
from pysirus._model.model import RuleModel
from pysirus._response.response import Response
from pysirus._rules.rule import Rule, RuleSet
from pysirus._tuning.path import IDEAL, PooledError, Size, Tuning, TuningPath
from pysirus._tuning.stages import STAGE_TREES, GrowingList, growing_path, look_at_stages, staged_lists
from pysirus._weights.weights import Weighed, gram_of, rule_moments, useful_sizes, weigh_moments, with_outputs
from pysirus.estimators.regressor import RegressionBase, check_stages
from pysirus.estimators.sirus import Training, TrainingBase
from pysirus.estimators.tuned import FoldResult, TunedBase


class SirusRegressorCV(RegressionBase, TunedBase):
    """Stable and interpretable rules for regression, with the number of rules chosen by cross-validation.

    In each fold one forest is grown; then p0 is walked down the frequencies. The choice is the p0 nearest to no error
    and a stability of 0.9, the median over repetitions. After ``fit`` it is a fitted regressor at that p0.

    Parameters
    ----------
    cv : int, splitter or iterable, default=10
        Folds. With ``groups`` in ``fit``, rows of a group stay together.
    n_repeats : int, default=10
        Repetitions with other folds and forests.
    criterion : {"stability", "error"}, default="stability"
        "error" takes the largest p0 whose error is within two standard errors of the least.
    max_rules : int, default=25
        The longest list to consider.
    n_stages : int or "auto", default=1
        With more than one stage, or "auto", two other kinds of list are tried too, and taken when they come nearer to
        the ideal point: as many rules in every fold, and one rule with corrections of one rule a stage; see
        ``SirusRegressor`` and docs/stages.md.
    n_bins, max_depth, max_features, n_trees, alpha, discrete_limit, min_node_size, max_samples,
    categorical_features, n_jobs, random_state, verbose
        As in ``SirusRegressor``. Folds are fitted on ``n_jobs`` threads.

    Attributes
    ----------
    p0_ : float
        The chosen threshold.
    path_ : TuningPath
        Number of rules, error and stability against p0.
    cv_error_, cv_stability_ : float
        Out-of-fold unexplained variance, and stability, at the choice.
    models_ : tuple of RuleModel
        The model of every size on the full data; ``with_rules(k)`` picks one.
    selected_, rules_, intercept_, n_trees_, ridge_penalty_, candidates_, n_features_in_, feature_names_in_
        As in ``SirusRegressor``.

    Examples
    --------
    >>> from pysirus import SirusRegressorCV
    >>> from pysirus.datasets import load_machine
    >>> X, y = load_machine(return_X_y=True, as_frame=True)
    >>> model = SirusRegressorCV(n_repeats=1, n_trees=2000, random_state=0).fit(X, y)
    >>> len(model.with_rules(3).selected)
    3
    """

    _fitted_facts: ClassVar[tuple[str, ...]] = (*RegressionBase._fitted_facts, "n_stages")

    def __init__(
        self,
        cv: Any = 10,
        n_repeats: int = 10,
        criterion: str = "stability",
        max_rules: int = 25,
        n_bins: int = 10,
        max_depth: int = 2,
        max_features: int | None = None,
        n_trees: int | str = "auto",
        alpha: float = 0.05,
        discrete_limit: int = 10,
        min_node_size: int = 5,
        max_samples: float | None = None,
        categorical_features: Any = None,
        n_stages: int | str = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SirusRegressorCV:
        """Tune p0 and learn the rules.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The table.
        y : array of shape (n_rows,)
            The response.
        sample_weight : array of shape (n_rows,), optional
            How much each row counts.
        groups : array of shape (n_rows,), optional
            Rows of a group stay in one fold.

        Returns
        -------
        self : SirusRegressorCV
        """
        self._check_parameters()
        self._check_tuning()
        check_stages(self.n_stages)
        self._tune(X, y, sample_weight, groups)
        return self

    def _weigh(self, training: Training, rules: list[Rule]) -> Weighed:
        moments = rule_moments(rules, training.binned, training.response, training.seed)
        outputs = with_outputs(rules, moments)
        sizes = useful_sizes(gram_of(moments, outputs), self.max_rules)
        return weigh_moments(outputs[: sizes[-1]], moments.take(sizes[:-1]), sizes)

    def _outcome(self, weighed: Weighed, holds: NDArray[np.bool_], response: Response) -> Any:
        """Weight, sum and sum of squares of the held-out responses, and squared errors of every size."""
        inside = np.array([rule.inside for rule in weighed.rules], dtype=np.float64)
        outside = np.array([rule.outside for rule in weighed.rules], dtype=np.float64)
        base = np.asarray(weighed.intercepts) + weighed.weights @ outside
        predictions = base + holds @ (weighed.weights * (inside - outside)).T
        y = response.values
        assert y is not None
        w = np.ones(len(y)) if response.weights is None else response.weights
        return y, w, w @ (y[:, None] - predictions) ** 2

    def _pooled_error(self, outcomes: Sequence[Any]) -> PooledError:
        total = _total(outcomes)
        errors = [outcome[2] / (total or 1.0) for outcome in outcomes]
        return lambda sizes: np.sum([error[k] for error, k in zip(errors, sizes.T)], axis=0)

    def _model_of(self, training: TrainingBase, weighed: Weighed, row: int, n_trees: int) -> RuleModel:
        model = super()._model_of(training, weighed, row, n_trees)
        return replace(model, facts={**model.facts, "n_stages": max((r.stage for r in model.selected), default=1)})

    def _fit_stages(
        self, training: Training, paths: Paths, recipe: Recipe, held_out: Table, response: Response
    ) -> GrowingList | None:
        if self.n_stages == 1:
            return None
        return look_at_stages(self._staged_lists(training, paths, recipe), held_out, response)

    def _staged_lists(self, training: Training, paths: Paths, recipe: Recipe) -> list[Weighed]:
        n_stages = None if self.n_stages == "auto" else int(self.n_stages)
        return staged_lists(training, paths, recipe, n_stages, self.max_rules)

    def _choose_stages(self, training: Training, paths: Paths, results: Sequence[Sequence[FoldResult]]) -> None:
        """Lists of a fixed length, and staged lists, win where they come nearer to the ideal point than the plain one.

        With ``criterion="error"`` they win where they err less.
        """
        if self.n_stages == 1:
            return
        totals = [_total([fold.outcome for fold in folds]) for folds in results]
        candidates = [
            (self._take_length, [[_by_length(fold) for fold in folds] for folds in results]),
            (self._take_stages, [[fold.staged for fold in folds] for folds in results]),
        ]
        plain = self.model_.tuning
        assert plain is not None
        best = self._badness(plain.error, plain.stability)
        for take, lists in candidates:
            path, step = growing_path(lists, totals, self.max_rules)
            if self.criterion == "error":
                least = path.error.argmin()
                step = int(np.flatnonzero(path.error <= path.error[least] + 2 * path.error_se[least])[0])
            badness = self._badness(float(path.error[step]), float(path.stability[step]))
            if badness < best:
                best = badness
                take(training, paths, path, step)

    def _badness(self, error: float, stability: float) -> float:
        return error if self.criterion == "error" else float(np.hypot(error - IDEAL[0], stability - IDEAL[1]))

    def _take_length(self, training: Training, paths: Paths, path: TuningPath, step: int) -> None:
        """The same number of rules in every fold, without corrections."""
        plain = self.model_.tuning
        assert plain is not None
        last = len(path) - 1
        sizes = [
            replace(size, error=float(path.error[min(k, last)]), stability=float(path.stability[min(k, last)]))
            for k, size in enumerate(plain.sizes)
        ]
        step = min(step, len(sizes) - 1)
        chosen = sizes[step]
        tuning = replace(
            plain,
            path=path,
            p0=chosen.p0,
            error=chosen.error,
            stability=chosen.stability,
            step=step,
            sizes=tuple(sizes),
        )
        self._set_model(replace(self.model_, tuning=tuning).with_rules(step + 1))

    def _take_stages(self, training: Training, paths: Paths, path: TuningPath, stage: int) -> None:
        """Grow the stages on the full data; every prefix of their list is a size."""
        plain = self.model_.tuning
        assert plain is not None
        lists = self._staged_lists(training, paths, self._recipe(training))
        rules = lists[-1].rules
        moments = rule_moments(rules, training.binned, training.response, training.seed)
        weighed = weigh_moments(rules, moments, range(len(rules) + 1))
        lowest = np.minimum.accumulate([rule.frequency for rule in rules])
        sizes = []
        for k in range(1, len(rules) + 1):
            at = min(rules[k - 1].stage, len(path)) - 1
            sizes.append(
                Size(
                    n_rules=k,
                    p0=float(lowest[k - 1]),
                    error=float(path.error[at]),
                    stability=float(path.stability[at]),
                    weights=tuple(weighed.weights[k, :k].tolist()),
                    intercept=weighed.intercepts[k],
                    penalty=float(weighed.penalties[k]),
                )
            )
        size = len(lists[min(stage, len(lists) - 1)].rules)
        choice = (float(lowest[size - 1]), float(path.error[stage]), float(path.stability[stage]))
        tuning = Tuning(path, *choice, self.criterion, stage, plain.changed, RuleSet(rules), tuple(sizes))
        n_trees = paths.n_trees + (len(lists) - 1) * min(STAGE_TREES, paths.n_trees)
        self._set_model(replace(self._model_of(training, weighed, size, n_trees), tuning=tuning).with_rules(size))


def _by_length(fold: FoldResult) -> GrowingList:
    """A fold's plain list, a rule a step."""
    plain = fold.plain
    if not len(plain.frequencies):
        return GrowingList(plain.in_use, (1.0,), tuple(fold.outcome[2]))
    return GrowingList(plain.in_use[1:], tuple(plain.frequencies), tuple(fold.outcome[2][1:]))


def _total(outcomes: Sequence[Any]) -> float:
    """The sum of squares of the held-out responses."""
    y, w = (np.concatenate([outcome[i] for outcome in outcomes]) for i in (0, 1))
    return float(w @ (y - np.average(y, weights=w)) ** 2)

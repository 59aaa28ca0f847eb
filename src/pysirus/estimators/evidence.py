"""A fitted estimator and rows in, the evidence for its list out: resamples are drawn, learned from and compared."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._data.elsewhere import is_dask, is_elsewhere, is_spark
from pysirus._data.read import check_column
from pysirus._data.table import Table, recode_table
from pysirus._families.responses import Response
from pysirus._families.row_metrics import Predicted
from pysirus._learn.grow import Settings, bin_rows
from pysirus._learn.resample import Resampling, continuous_columns, fit_samples
from pysirus._learn.tuning.folds import check_groups
from pysirus._learn.tuning.forward import periods_of, read_times
from pysirus._learn.tuning.held_out import forward_metric
from pysirus._model.held_out import Forward
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, check_integer
from pysirus._terms.stability import Stability, Universe, measure
from pysirus._text.message import Parameter, setting
from pysirus._use.evidence import Evidence, expected_return, next_return, terms_evidence
from pysirus.engine.door import Given

if TYPE_CHECKING:
    from pysirus.estimators.sirus import SirusBase

N_FOLDS = 10


@dataclass(frozen=True)
class _Rows:
    """The rows of a table as an estimator reads them, and how it learns from some of them."""

    estimator: SirusBase
    table: Table
    response: Response
    settings: Settings
    universe: Universe
    retune: bool

    def fit(self, samples: Sequence[NDArray[np.intp]]) -> list[Model]:
        """A model for each sample."""

        def learn(table: Table, response: Response, settings: Settings) -> Model:
            return self.estimator._learn_again(table, response, settings, retune=self.retune)

        return fit_samples(self.table, self.response, samples, self.settings, learn)

    def measure(
        self, models: Sequence[Model], between: str, pairs: Sequence[tuple[int, int]] | None = None
    ) -> Stability:
        """What the lists of some samples share."""
        return measure([own.rules for own in models], pairs, universe=self.universe, between=between)


def gather(
    estimator: SirusBase,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    how: str,
    n_resamples: int,
    time: Any,
    groups: Any,
    retune: bool,
    n_jobs: int | None,
) -> Evidence:
    """The evidence of a list; see ``SirusBase.evidence``."""
    if how not in ("halves", "periods"):
        raise ParameterError(f"{Parameter('how')} must be 'halves' or 'periods', got {how!r}.")
    check_integer("n_resamples", n_resamples, 4)
    if (time is None) == (how == "periods"):
        raise ParameterError(
            f"{Parameter('time')} goes with {setting('how', 'periods')}: a column of X, or an entry per row."
        )
    model = estimator._as_model()
    if not model.rules:
        raise ParameterError("The model has no rules: there is nothing to look for in resamples.")
    X, y, sample_weight, groups = Given(_in_memory(estimator, X), y, sample_weight, groups).split()
    when = None if time is None else _column(X, time)
    own = own_columns(X, model)
    table, response, target = estimator._read(own, y, sample_weight)
    kept = estimator._counting(y, sample_weight, table.n_rows)
    settings = estimator._settings_again(int(effective_n_jobs(estimator.n_jobs if n_jobs is None else n_jobs)))
    cuts = bin_rows(table, response, target, settings).binned.cuts
    settings = replace(settings, continuous=continuous_columns(cuts))
    rows = _Rows(estimator, table, response, settings, estimator._universe_of(cuts), retune)
    if when is not None:
        return _over_time(model, rows, read_times(when, len(kept))[kept])
    grouped = None if groups is None else check_groups(groups, len(kept))[kept]
    return _of_halves(model, rows, Resampling(response, grouped, settings.seed), n_resamples)


def _in_memory(estimator: SirusBase, X: Any) -> Any:
    """Rows that lie elsewhere as a table: resamples are drawn by row number, so they are those of memory."""
    if isinstance(X, np.ndarray) or not is_elsewhere(X):
        return X
    if is_dask(X):
        return X.compute()
    if is_spark(X):
        return X.toPandas()
    from pysirus.engine.backends.streams import (  # as long as nobody has rows elsewhere, nobody waits for it
        Reading,
        opened,
    )

    labels = [name for name in estimator.categorical_features or () if isinstance(name, str)]
    with opened(X, Reading(memory=sys.maxsize, labels=labels)) as rows:
        return rows.table


def own_columns(X: Any, model: Model) -> Any:
    """The columns that the model was learned from; others, such as a month, are left out."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not model.named or not isinstance(frame, nw.DataFrame):
        return X
    absent = [name for name in model.columns if name not in frame.columns]
    if absent:
        raise DataError(f"X lacks '{absent[0]}', a column that the model was learned from.")
    return frame.select(list(model.columns)).to_native()


def _column(X: Any, time: Any) -> Any:
    """The times of rows: a column by its name, or as they are given."""
    if not isinstance(time, str):
        return time
    frame = nw.from_native(X, eager_only=True)
    if time not in frame.columns:
        check_column(frame.to_arrow(), time, "time")
    return frame[time]


def _of_halves(model: Model, rows: _Rows, draw: Resampling, n_resamples: int) -> Evidence:
    """Pairs of disjoint halves, a quarter of each, folds and bootstrap samples."""
    n_draws = n_resamples // 2
    samples: list[NDArray[np.intp]] = []
    for number in range(n_draws):
        parts = draw.quarters(number)
        both = (np.sort(np.concatenate(own)) for own in (parts[:2], parts[2:]))
        samples += [*both, parts[0], parts[2]]
    n_bootstraps = max(2, n_resamples // 5)
    samples += draw.folds(n_draws, N_FOLDS)
    samples += [draw.bootstrap(number) for number in range(n_bootstraps)]
    models = rows.fit(samples)
    drawn, others = models[: 4 * n_draws], models[4 * n_draws :]
    halves = [own for k in range(n_draws) for own in drawn[4 * k : 4 * k + 2]]
    pairs = [drawn[4 * k : 4 * k + 2] for k in range(n_draws)]
    quarters = [drawn[4 * k + 2 : 4 * k + 4] for k in range(n_draws)]
    stability = {
        "folds": rows.measure(others[:N_FOLDS], "folds (89% shared)"),
        "bootstraps": rows.measure(others[N_FOLDS:], "bootstrap samples"),
        "halves": rows.measure(halves, "disjoint halves", [(2 * k, 2 * k + 1) for k in range(n_draws)]),
    }
    return Evidence(
        terms_evidence(model, halves),
        expected_return(quarters, pairs),
        stability,
        "halves",
        2 * n_draws,
        rows.table.n_rows,
        rows.retune,
    )


def _over_time(model: Model, rows: _Rows, when: NDArray[Any]) -> Evidence:
    """A list of each period, and how well each period is predicted by what was learned before it."""
    names, period = periods_of(when)
    own = [np.flatnonzero(period == k) for k in range(len(names))]
    before = [np.flatnonzero(period < k) for k in range(1, len(names))]
    models = rows.fit([*own, *before])
    lists, earlier = models[: len(own)], models[len(own) :]
    forward = [
        _forward(rows, name, learned, len(past), test)
        for name, learned, past, test in zip(names[1:], earlier, before, own[1:])
    ]
    following = [(k, k + 1) for k in range(len(own) - 1)]
    stability = {"periods": rows.measure(lists, "periods")}
    if len(own) > 2:
        stability["next period"] = rows.measure(lists, "a period and the next", following)
    return Evidence(
        terms_evidence(model, lists),
        next_return(lists),
        stability,
        "periods",
        len(own),
        rows.table.n_rows,
        rows.retune,
        tuple(forward),
    )


def _forward(rows: _Rows, name: str, model: Model, n_before: int, test: NDArray[np.intp]) -> Forward:
    """What a model of earlier rows makes of a period."""
    response, family = rows.response.take(test), model.family
    values = model.decision(recode_table(rows.table.take(test), model.features)).reshape(len(test), -1)
    predicted = Predicted(values, response.truth, family.metric_weights(response))
    return forward_metric(name, n_before, [predicted], family)

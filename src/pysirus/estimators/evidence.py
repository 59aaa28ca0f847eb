"""A fitted estimator and rows in, the evidence for its list out: resamples are drawn, learned from and compared.

Rows in memory are taken from the table; elsewhere they stay where they are, and each list is the same to the bit.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from pysirus._bins.cuts import Cuts
from pysirus._data.column import DataError
from pysirus._data.elsewhere import is_dask, is_elsewhere, is_spark
from pysirus._data.read import check_column
from pysirus._data.table import recode_table
from pysirus._families.row_metrics import Predicted, Tally, Yardstick
from pysirus._learn.folds import continuous_columns, fit_samples
from pysirus._learn.grow import Settings, bin_rows
from pysirus._learn.held_out import forward_metric
from pysirus._learn.splits import Draw, Resampling, check_groups, of_periods, periods_of, read_times
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, check_integer
from pysirus._terms.stability import Stability, Universe, measure
from pysirus._text.message import Parameter, setting
from pysirus._use.evidence import Evidence, expected_return, next_return, terms_evidence
from pysirus.engine.door import RowsInMemory, RowsInParts, as_dataset
from pysirus.engine.given import Given

if TYPE_CHECKING:
    from pysirus.estimators.sirus import SirusBase

N_FOLDS = 10


@dataclass(frozen=True)
class Question:
    """What is asked of the rows."""

    how: str
    n_resamples: int
    retune: bool


class Rows(ABC):
    """The rows of a table, wherever they lie, and how lists are learned from samples of them."""

    def __init__(self, estimator: SirusBase, settings: Settings, asked: Question) -> None:
        self.estimator, self.settings, self.asked = estimator, settings, asked

    sizes: tuple[int, ...]  # rows of each stratum
    scale_weight: float  # the largest weight

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return sum(self.sizes)

    @property
    def like(self) -> Yardstick:
        """What the tallies of all rows have in common."""
        mean = np.atleast_1d(np.asarray(self.estimator.model_.mean, dtype=np.float64))
        return Yardstick(self.n_rows, self.scale_weight, float(mean[0]))

    @cached_property
    def universe(self) -> Universe:
        """What lists are picked from."""
        return self.estimator._universe_of(self.cuts)

    @property
    def known(self) -> Settings:
        """The settings, with the kinds that columns have in all rows."""
        return replace(self.settings, continuous=continuous_columns(self.cuts))

    @property
    @abstractmethod
    def cuts(self) -> Sequence[Cuts]:
        """Those of all rows."""

    @abstractmethod
    def fit(self, draws: Sequence[Draw]) -> list[Model]:
        """A model for each sample of some draws."""

    @abstractmethod
    def tallies(self, draw: Draw, models: Sequence[Model]) -> Mapping[int, Tally]:
        """What the rows of each period but the first say of the model of the rows before it."""

    def measure(
        self, models: Sequence[Model], between: str, pairs: Sequence[tuple[int, int]] | None = None
    ) -> Stability:
        """What the lists of some samples share."""
        return measure([own.rules for own in models], pairs, universe=self.universe, between=between)


class InMemory(Rows):
    """Rows of a table in memory."""

    def __init__(self, estimator: SirusBase, settings: Settings, asked: Question, found: RowsInMemory) -> None:
        super().__init__(estimator, settings, asked)
        self.table, self.response = found.table, found.response
        self.sizes, self.scale_weight = found.response.stratum_sizes, found.response.scale.given
        own = settings if asked.retune else estimator._plan_again(settings).settings
        self._binned = bin_rows(found.table, found.response, found.target, own).binned.without_rows()

    @property
    def cuts(self) -> Sequence[Cuts]:
        """Those of all rows."""
        return self._binned.cuts

    def fit(self, draws: Sequence[Draw]) -> list[Model]:
        """A model for each sample; numbers in slopes have the places of all rows."""
        samples = [rows for draw in draws for rows in draw.samples(self.response)]
        learn = partial(self.estimator._learn_again, retune=self.asked.retune, grids=self._binned.grids)
        return fit_samples(self.table, self.response, samples, self.known, learn)

    def tallies(self, draw: Draw, models: Sequence[Model]) -> Mapping[int, Tally]:
        """What the rows of each period but the first say of the model of the rows before it."""
        found, family = {}, self.estimator.model_.family
        for k, (model, test) in enumerate(zip(models, draw.samples(self.response)[1:]), start=1):
            response = self.response.take(test)
            values = model.decision(recode_table(self.table.take(test), model.features)).reshape(len(test), -1)
            found[k] = family.tally(Predicted(values, response.truth, family.metric_weights(response)), self.like)
        return found


class Elsewhere(Rows):
    """Rows in files, on Dask or on Spark."""

    def __init__(self, estimator: SirusBase, settings: Settings, asked: Question, found: RowsInParts) -> None:
        from pysirus.engine.samples import SampledParts  # as long as nobody has rows elsewhere, nobody waits for it

        super().__init__(estimator, settings, asked)
        stats, plan = found.parts.stats, estimator._plan_again(settings)
        self.sizes, self.scale_weight = stats.sizes, stats.scale().given
        self.sampled = SampledParts(found.parts, found.target, found.options, plan)

    @property
    def cuts(self) -> Sequence[Cuts]:
        """Those of all rows."""
        return self.sampled.whole.binned.cuts

    def fit(self, draws: Sequence[Draw]) -> list[Model]:
        """A model for each sample."""
        return self.sampled.fit(draws, self.known)

    def tallies(self, draw: Draw, models: Sequence[Model]) -> Mapping[int, Tally]:
        """What the rows of each period but the first say of the model of the rows before it."""
        return self.sampled.tallies(draw, models, self.estimator.model_.family, self.like)


def gather(estimator: SirusBase, given: Given, asked: Question, *, time: Any, n_jobs: int | None) -> Evidence:
    """The evidence of a list; see ``SirusBase.evidence``."""
    _check(asked, time)
    model = estimator._as_model()
    if not model.rules:
        raise ParameterError("The model has no rules: there is nothing to look for in resamples.")
    settings = estimator._settings_again(int(effective_n_jobs(estimator.n_jobs if n_jobs is None else n_jobs)))
    if asked.retune or estimator._family.has_hazard:
        given = replace(given, X=in_one_table(estimator, given.X))
    if time is not None:
        time = time if is_elsewhere(given.X) else _column(given.X, time)
        given = replace(given, groups=time, words={"groups": "time"})
    given = replace(given, X=columns_of(given, model), only=model.columns if model.named else None)
    with as_dataset(given, estimator._reader(settings)) as found:
        beside: NDArray[Any] | None
        if isinstance(found, RowsInMemory):
            rows: Rows = InMemory(estimator, settings, asked, found)
            kept = found.kept
            read = read_times if time is not None else partial(check_groups, n_rows=len(kept))
            beside = None if found.groups is None else read(found.groups)[kept]
        else:
            assert isinstance(found, RowsInParts)
            rows = Elsewhere(estimator, settings, asked, found)
            beside = rows.sampled.beside(times=time is not None) if found.rows.grouped else None
        return _evidence(model, rows, beside)


def _check(asked: Question, time: Any) -> None:
    """Refuse what does not go together."""
    if asked.how not in ("halves", "periods"):
        raise ParameterError(f"{Parameter('how')} must be 'halves' or 'periods', got {asked.how!r}.")
    check_integer("n_resamples", asked.n_resamples, 4)
    if (time is None) == (asked.how == "periods"):
        raise ParameterError(
            f"{Parameter('time')} goes with {setting('how', 'periods')}: a column of X, or an entry per row."
        )


def in_one_table(estimator: SirusBase, X: Any) -> Any:
    """Rows that lie elsewhere as a table: what tunes again, and times to an event, are not learned in parts."""
    if isinstance(X, np.ndarray) or not is_elsewhere(X):
        return X
    if is_dask(X):
        return X.compute()
    if is_spark(X):
        return X.toPandas()
    from pysirus.engine.backends.streams import Reading, whole_table  # as long as nobody has rows elsewhere, not needed

    labels = [name for name in estimator.categorical_features or () if isinstance(name, str)]
    return whole_table(X, Reading(memory=sys.maxsize, labels=labels))


def columns_of(given: Given, model: Model) -> Any:
    """Of a Dask or Spark data frame the columns that matter, and no month that nobody asks for."""
    X = given.X
    if not model.named or not (is_spark(X) or (is_dask(X) and hasattr(X, "columns"))):
        return X
    wanted = {*model.columns, *given.names.values(), *given.pair, given.row_id}
    absent = [name for name in model.columns if name not in X.columns]
    if absent:
        raise DataError(f"X lacks '{absent[0]}', a column that the model was learned from.")
    names = [name for name in X.columns if name in wanted]
    return X.select(*(f"`{name.replace('`', '``')}`" for name in names)) if is_spark(X) else X[names]


def _column(X: Any, time: Any) -> Any:
    """The times of rows: a column by its name, or as they are given."""
    if not isinstance(time, str):
        return time
    frame = nw.from_native(X, eager_only=True)
    if time not in frame.columns:
        check_column(frame.to_arrow(), time, "time")
    return frame[time]


def _evidence(model: Model, rows: Rows, beside: NDArray[Any] | None) -> Evidence:
    """The evidence of rows, and of their groups or times."""
    if rows.asked.how == "halves":
        return _of_halves(model, rows, Resampling(rows.sizes, beside, rows.settings.seed))
    assert beside is not None
    return _over_time(model, rows, beside)


def _of_halves(model: Model, rows: Rows, draw: Resampling) -> Evidence:
    """Pairs of disjoint halves, a quarter of each, folds and bootstrap samples."""
    n_resamples = rows.asked.n_resamples
    n_draws = n_resamples // 2
    draws = [draw.halves(number) for number in range(n_draws)]
    draws.append(draw.folds(n_draws, N_FOLDS))
    draws += [draw.bootstrap(number) for number in range(max(2, n_resamples // 5))]
    models = rows.fit(draws)
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
        rows.n_rows,
        rows.asked.retune,
    )


def _over_time(model: Model, rows: Rows, when: NDArray[Any]) -> Evidence:
    """A list of each period, and how well each period is predicted by what was learned before it."""
    names, period = periods_of(when)
    n_periods, sizes = len(names), np.bincount(period, minlength=len(names))
    draw, family = of_periods(period, n_periods), model.family
    models = rows.fit([draw])
    lists, earlier = models[:n_periods], models[n_periods:]
    tallies = rows.tallies(replace(draw, takes=draw.takes[:n_periods]), earlier)
    forward = [
        forward_metric(names[k], int(sizes[:k].sum()), int(sizes[k]), [tallies[k].metrics()], family)
        for k in range(1, n_periods)
    ]
    stability = {"periods": rows.measure(lists, "periods")}
    if n_periods > 2:
        following = [(k, k + 1) for k in range(n_periods - 1)]
        stability["next period"] = rows.measure(lists, "a period and the next", following)
    return Evidence(
        terms_evidence(model, lists),
        next_return(lists),
        stability,
        "periods",
        n_periods,
        rows.n_rows,
        rows.asked.retune,
        tuple(forward),
    )

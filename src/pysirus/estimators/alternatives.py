"""A tuned estimator, rows and restrictions in, what each restriction and each length of the list costs out.

Every restriction is tuned as a fit of its own would be, on the same folds: they follow from the target, the weights and
the seed. So the held-out loss of each row is known with and without a restriction, and the price is the mean of the
differences, whose standard error is far smaller than that of either loss. All lengths of a list come from the forests
of one fit, and restrictions that only filter rules share forests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from pysirus._data.frame import as_frame
from pysirus._forest.forest import shared_forests
from pysirus._learn.held_out import FoldPrediction
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, check_integer, to_seed
from pysirus._text.format import html_lines, html_table, make_frame, one_line, text_table
from pysirus._text.message import InPython, Parameter, setting
from pysirus.estimators.list_size import TunedSirus
from pysirus.estimators.rule_model import RuleModel

Floats = NDArray[np.float64]
RESEEDED = "none, another seed"


@dataclass(frozen=True)
class RowLosses:
    """The held-out loss of each row, averaged over repetitions, and the weight of the row; NaN where never held out."""

    losses: Floats
    weights: Floats

    @classmethod
    def of(cls, repetitions: Sequence[Sequence[FoldPrediction]], model: Model) -> RowLosses:
        """The losses of lists that folds use, [repetition][fold]."""
        n_rows = 1 + max(int(fold.index.max()) for own in repetitions for fold in own)
        total, count, weights = np.zeros(n_rows), np.zeros(n_rows), np.ones(n_rows)
        for fold in (fold for own in repetitions for fold in own):
            total[fold.index] += model.family.row_loss(fold.values, fold.response.truth)  # type: ignore[attr-defined]
            count[fold.index] += 1
            own_weights = model.family.metric_weights(fold.response)
            weights[fold.index] = 1.0 if own_weights is None else own_weights
        with np.errstate(invalid="ignore"):
            return cls(total / np.where(count > 0, count, np.nan), weights)

    @property
    def mean(self) -> float:
        """The mean loss."""
        known = ~np.isnan(self.losses)
        return float(self.weights[known] @ self.losses[known] / self.weights[known].sum())

    def less(self, base: RowLosses) -> tuple[float, float]:
        """By how much it is larger than another on the same rows, and the standard error of that."""
        gaps = self.losses - base.losses
        known = ~np.isnan(gaps)
        w, gaps = self.weights[known], gaps[known]
        mean = float(w @ gaps / w.sum())
        return mean, float(np.sqrt((w**2) @ (gaps - mean) ** 2)) / float(w.sum())


@dataclass(frozen=True)
class Alternative:
    """One restriction and length.

    Attributes
    ----------
    restriction : str
        What is not allowed; "none" for the list as it is.
    asked : int or None
        The length that was asked for, rules of weight 0 included; None where tuning chose it.
    n_rules : int
        Rules with a weight, on all rows.
    error, stability : float
        Of such lists, between folds, as a tuned fit reports them.
    loss : float
        The mean held-out loss.
    price, price_se : float
        The loss less that of the tuned list without restriction, and the standard error over rows.
    model : RuleModel
        The list, fitted on all rows.
    """

    restriction: str
    asked: int | None
    n_rules: int
    error: float
    stability: float
    loss: float
    price: float
    price_se: float
    model: RuleModel

    @property
    def tuned(self) -> bool:
        """Whether tuning chose the length."""
        return self.asked is None


@dataclass(frozen=True, repr=False)
class Alternatives:
    """The costs of restrictions and lengths. Prints as a table, with the unrestricted tuned list first.

    Examples
    --------
    >>> from pysirus import SirusRegressorCV, alternatives
    >>> from pysirus.datasets import load_machine
    >>> X, y = load_machine(return_X_y=True, as_frame=True)
    >>> estimator = SirusRegressorCV(cv=5, n_repeats=1, n_trees=200, n_stages=1, random_state=0)
    >>> found = alternatives(estimator, X, y, n_rules=[3])
    >>> found.to_frame("pandas")["restriction"].tolist()
    ['none', 'none', 'none, another seed', 'none, another seed']
    """

    rows: tuple[Alternative, ...]
    loss_name: str
    target: str

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Alternative]:
        return iter(self.rows)

    def __getitem__(self, k: int) -> Alternative:
        return self.rows[k]

    @property
    def front(self) -> list[Alternative]:
        """The alternatives that no other beats in both loss and stability, ordered by stability."""
        better = [
            own
            for own in self.rows
            if not any(
                (o.loss <= own.loss and o.stability >= own.stability)
                and (o.loss, o.stability) != (own.loss, own.stability)
                for o in self.rows
            )
        ]
        return sorted(better, key=lambda own: (own.stability, own.loss))

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each alternative; ``backend`` is "pandas", "polars" or "pyarrow"."""
        names = ("restriction", "asked", "n_rules", "error", "stability", "loss", "price", "price_se")
        return make_frame({name: [getattr(own, name) for own in self.rows] for name in names}, backend)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        rows = self.to_frame("pyarrow").to_pylist()
        return {"target": self.target, "loss": self.loss_name, "alternatives": rows}

    def sentence(self, own: Alternative) -> str:
        """One alternative as a line of text."""
        price = f"{self.loss_name} {own.price:+.4f} ± {own.price_se:.4f}"
        return f"{own.restriction}: {price}, stability {own.stability:.2f} between folds, {own.n_rules} rules"

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        header = ["restriction", "rules", "length", self.loss_name, "price", "stability between folds"]
        return header, [
            [
                one_line(own.restriction),
                str(own.n_rules),
                "tuned" if own.tuned else f"{own.asked} asked for",
                f"{own.loss:.4f}",
                f"{own.price:+.4f} ± {own.price_se:.4f}" if k else "",
                f"{own.stability:.2f}",
            ]
            for k, own in enumerate(self.rows)
        ]

    @property
    def _head(self) -> str:
        return f"{one_line(self.target)}: held-out {self.loss_name}, on the same folds; ± is the paired standard error"

    def __str__(self) -> str:
        return f"{self._head}\n\n{text_table(*self._rows())}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return html_lines(self._head) + html_table(*self._rows())


class _Collector:
    """Takes the held-out losses of the list that tuning chose, and of lists of other lengths, while they are there."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = lengths
        self.chosen: RowLosses | None = None
        self.at: dict[int, RowLosses] = {}

    def __call__(self, model: Model, predict: Callable[[float | None], list[list[FoldPrediction]]]) -> None:
        self.chosen = RowLosses.of(predict(None), model)
        sizes = {size.n_rules: size.p0 for size in model.tuned.sizes}
        self.at = {k: RowLosses.of(predict(sizes[k]), model) for k in self.lengths if k in sizes}


def alternatives(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    without: Sequence[str | Sequence[str]] = (),
    monotone: Mapping[str, int] | None = None,
    n_rules: Sequence[int] = (),
    reseed: bool = True,
    sample_weight: Any = None,
    groups: Any = None,
) -> Alternatives:
    """Measure what restrictions on a rule list, or other lengths, cost on the same folds.

    Parameters
    ----------
    estimator : SirusRegressorCV or SirusClassifierCV
        The settings for tuning. It need not be fitted and is not changed.
    X : data frame
        The table.
    y : array of shape (n_rows,)
        The target.
    without : list of str, or of lists of str
        Columns to drop, one at a time. The columns of an inner list are dropped together.
    monotone : dict, optional
        Columns in which the prediction may only increase (1) or decrease (-1), one at a time.
    n_rules : list of int
        Lengths to compare for every restriction, in addition to the tuned length.
    reseed : bool, default=True
        Whether to add the unrestricted list with another seed, that is, with other trees and folds. Its difference
        shows the effect of chance in the algorithm, which standard errors over rows do not include.
    sample_weight, groups : optional
        As in ``fit``.

    Returns
    -------
    alternatives : Alternatives
        Prints as a table, and ``pysirus.plot.front`` plots it. Each alternative equals a separate fit of the tuned
        estimator.

    Examples
    --------
    >>> import pysirus
    >>> X, y = pysirus.datasets.load_ozone(return_X_y=True, as_frame=True)
    >>> estimator = pysirus.SirusRegressorCV(n_trees=200, n_repeats=1, random_state=0)
    >>> found = pysirus.alternatives(estimator, X, y, without=["temp"])
    >>> [own.restriction for own in found]
    ['none', 'none, another seed', 'without temp']
    """
    _check(estimator, X, without, monotone, n_rules)
    seed, lengths = to_seed(estimator.random_state), [int(k) for k in n_rules]
    found: list[Alternative] = []
    base: RowLosses | None = None
    with shared_forests():
        for restriction, columns, directions in _restrictions(estimator, without, monotone, reseed):
            own, watch = clone(estimator).set_params(random_state=seed), _Collector(lengths)
            if restriction == RESEEDED:
                own.set_params(random_state=(seed + 1) % 2**64)
            if directions is not None:
                own.set_params(monotonic_cst=directions)
            own._watch = watch
            own.fit(_without(X, columns), y, sample_weight=sample_weight, groups=groups)
            model: RuleModel = own._as_model()
            if watch.chosen is None:
                continue  # no rule at all: nothing to compare
            base = base or watch.chosen
            every: list[tuple[int | None, RuleModel, RowLosses]] = [(None, model, watch.chosen)]
            every += [(k, model.at_size(k), losses) for k, losses in watch.at.items()]
            for asked, at, losses in every:
                facts, (price, error) = at.facts, losses.less(base)
                wrong, stable = (np.nan if own is None else float(own) for own in (facts.cv_error, facts.cv_stability))
                held_out = wrong, stable, losses.mean, price, error
                found.append(Alternative(restriction, asked, len(at.rules), *held_out, at))
    if not found:
        raise ParameterError("No list has a rule, so there is nothing to compare.")
    return Alternatives(tuple(found), found[0].model.family.row_loss_name, found[0].model.target)


def _check(estimator: Any, X: Any, without: Any, monotone: Any, n_rules: Any) -> None:
    if not isinstance(estimator, TunedSirus) or estimator._family.has_hazard:
        raise ParameterError(
            f"{Parameter('estimator')} must tune a list for classes or numbers"
            f"{InPython(' (SirusClassifierCV, SirusRegressorCV)')}, got {type(estimator).__name__}."
        )
    frame = as_frame(X)
    if frame is None:
        raise ParameterError("X must be a data frame, whose columns have names.")
    named = [name for own in without for name in ([own] if isinstance(own, str) else own)]
    for parameter, names in (("without", named), ("monotone", monotone or {})):
        for name in names:
            if name not in frame.columns:
                raise ParameterError(f"{Parameter(parameter)} names {name!r}, which is no column of X.")
    for k in n_rules:
        check_integer("n_rules", k, 1)
    if len(n_rules) and estimator.n_stages != 1:
        raise ParameterError(
            f"{Parameter('n_rules')} compares lengths of lists without stages: use {setting('n_stages', 1)}."
        )


def _restrictions(
    estimator: Any, without: Sequence[str | Sequence[str]], monotone: Mapping[str, int] | None, reseed: bool
) -> Iterator[tuple[str, list[str], dict[str, int] | None]]:
    """Nothing, then each restriction: its name, the columns that are left out, and all directions."""
    yield "none", [], None
    if reseed:
        yield RESEEDED, [], None
    for own in without:
        columns = [own] if isinstance(own, str) else list(own)
        yield f"without {', '.join(columns)}", columns, None
    known = estimator.monotonic_cst
    for name, sign in (monotone or {}).items():
        told = "rising" if sign > 0 else "falling"
        yield f"{told} in {name}", [], {**(known if isinstance(known, Mapping) else {}), name: sign}


def _without(X: Any, columns: Sequence[str]) -> Any:
    frame = as_frame(X)
    return X if not columns or frame is None else frame.drop(list(columns)).to_native()

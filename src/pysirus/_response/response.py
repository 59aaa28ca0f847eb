"""A response and its weights in, integers out: sums of integers are the same in any order and in any shard.

Every complaint about a response or about weights is made here.

The forest works with 20 bits, which is more than the choice of a cut can feel (spec, section 2). Rule outputs and the
Gram matrix work with 44 bits, which is more than a reader can see; their sums take 128 bits in the core.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from pysirus._data.column import DataError, check_same_type, first_row, is_missing
from pysirus._data.frame import as_frame

FOREST_BITS = 20
MOMENT_BITS = 44
WEIGHT_BITS = 20
MOMENT_WEIGHT_BITS = 40
MAX_CLASSES = 256
ALL_ZERO = "sample_weight is zero for every row: there is nothing to learn from."


@dataclass(frozen=True)
class FixedPoint:
    """Real numbers as ``integer * 2**-exponent + centre``."""

    centre: float
    exponent: int

    def integers(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The nearest integers."""
        return np.rint(np.ldexp(values - self.centre, self.exponent)).astype(np.int64)

    def restore(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the integers as sums of deviations from the centre, in real units."""
        return np.ldexp(sums, -self.exponent)


def fixed_point(low: float, high: float, bits: int) -> FixedPoint:
    """Centre at the middle of the range; scale by the largest power of two that keeps the size below 2**bits."""
    centre = low / 2 + high / 2
    size = max(high - centre, centre - low)
    return FixedPoint(centre, bits - int(np.frexp(size)[1]) if size > 0 else 0)


def all_whole(weights: NDArray[np.float64]) -> bool:
    """Whether every weight is a whole number; floats from 2**53 on cannot but be whole, which says nothing."""
    return bool(((weights == np.rint(weights)) & (weights < 2**53)).all())


@dataclass(frozen=True)
class Scale:
    """What fixes the integers of a response: the same for every row, in whichever part of a table it lies."""

    n_rows: int
    low: float = 0.0  # of the numbers
    high: float = 0.0
    heaviest: float = 1.0  # the largest weight
    whole: bool = True  # whether every weight is a whole number
    repeated: bool = True  # whether every weight was one before class weights

    @property
    def forest_values(self) -> FixedPoint:
        """The response as the forest sees it."""
        return fixed_point(self.low, self.high, FOREST_BITS)

    @property
    def moment_values(self) -> FixedPoint:
        """The response as rule outputs and weights see it."""
        return fixed_point(self.low, self.high, MOMENT_BITS)

    @property
    def moment_weight_exponent(self) -> int:
        """Weights are multiplied by this power of two, so that integer weights stay what they are."""
        bits = min(MOMENT_WEIGHT_BITS, 62 - int(np.ceil(np.log2(max(2, self.n_rows)))))
        return bits - int(np.frexp(self.heaviest)[1])


@dataclass(frozen=True)
class Response:
    """What the rows answer: a number each (regression) or a class each, and how much each row counts."""

    values: NDArray[np.float64] | None
    slots: NDArray[np.uint8] | None
    n_slots: int
    weights: NDArray[np.float64] | None
    classes: NDArray[Any] | None = None  # the label of each slot
    part_of: Scale | None = None  # that of all rows, where these are only some of them
    repeats: NDArray[np.float64] | None = None  # the weights before class weights, where both are given

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        rows = self.values if self.values is not None else self.slots
        assert rows is not None
        return len(rows)

    @property
    def is_constant(self) -> bool:
        """Whether every row answers the same."""
        rows: NDArray[Any] | None = self.values if self.values is not None else self.slots
        return rows is None or bool((rows == rows[0]).all())

    @property
    def scale(self) -> Scale:
        """What fixes the integers."""
        if self.part_of is not None:
            return self.part_of
        values, weights = self.values, self.weights
        return Scale(
            self.n_rows,
            *((0.0, 0.0) if values is None else (float(values.min()), float(values.max()))),
            *((1.0, True) if weights is None else (float(weights.max()), all_whole(weights))),
            repeated=self.repeats is None or all_whole(self.repeats),
        )

    def forest_values(self) -> NDArray[np.int32] | None:
        """The response as the forest sees it."""
        return None if self.values is None else self.scale.forest_values.integers(self.values).astype(np.int32)

    def forest_weights(self) -> NDArray[np.int32] | None:
        """Weights relative to the largest: their scale does not matter to the forest."""
        if self.weights is None:
            return None
        scale = self.scale
        # count * weight * value summed over all rows must stay below 2**63
        bits = min(WEIGHT_BITS, 62 - FOREST_BITS - int(np.ceil(np.log2(max(2, 2 * scale.n_rows)))))
        relative = np.rint(np.ldexp(self.weights / scale.heaviest, bits))
        weights: NDArray[np.int32] = np.maximum(relative, 1).astype(np.int32)
        return weights

    def moment_scale(self) -> FixedPoint | None:
        """How rule outputs and weights see the response."""
        return None if self.values is None else self.scale.moment_values

    def moment_values(self) -> NDArray[np.int64] | None:
        """The response as rule outputs and weights see it."""
        return None if self.values is None else self.scale.moment_values.integers(self.values)

    def moment_weights(self) -> NDArray[np.int64] | None:
        """Weights times a power of two, so that integer weights stay what they are."""
        if self.weights is None:
            return None
        return np.maximum(np.rint(np.ldexp(self.weights, self.scale.moment_weight_exponent)), 1).astype(np.int64)

    def take(self, rows: NDArray[np.intp]) -> Response:
        """The response of some rows."""

        def part(array: NDArray[Any] | None) -> Any:
            return None if array is None else array[rows]

        return replace(
            self,
            values=part(self.values),
            slots=part(self.slots),
            weights=part(self.weights),
            repeats=part(self.repeats),
        )


# ---------------------------------------------------------------------------------------------------------- reading


def target_name(y: Any) -> str:
    """What the response is called: the name of a series or of a frame's column, or y."""
    frame = as_frame(y)
    name = frame.columns[0] if frame is not None and frame.columns else getattr(y, "name", None)
    return name if isinstance(name, str) and name else "y"


def _as_array(y: Any, n_rows: int) -> NDArray[Any]:
    """A response given as an array, a series or a frame of one column, as an array with an entry a row."""
    if y is None:
        raise DataError("This estimator requires y to be passed, but the target y is None.")
    series = y if isinstance(y, np.ndarray) else nw.from_native(y, pass_through=True, allow_series=True)
    frame = None if isinstance(series, nw.Series) else as_frame(y)
    plain = series.to_numpy() if isinstance(series, nw.Series) else y if frame is None else frame.to_numpy()
    array = column_or_1d(plain, warn=frame is None)
    check_consistent_length(array, np.empty(n_rows))
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: y holds complex numbers.")
    return np.asarray(array)


def read_numbers(y: Any, n_rows: int, *, part: bool = False) -> NDArray[np.float64]:
    """A regression response: finite numbers, one a row; the range of a part of it is not judged."""
    array = _as_array(y, n_rows)
    if array.dtype.kind in "MmV":
        raise DataError("y must be numbers, found dates or times. Predict a number, such as the days since an event.")
    if array.dtype.kind in "OUST":
        try:
            array = np.array([np.nan if is_missing(v) else v for v in array.tolist()]).astype(np.float64)
        except (TypeError, ValueError) as error:
            found = array.tolist()[0]
            raise DataError(f"y must be numbers, found {found!r}. For classes use SirusClassifier.") from error
    array = array.astype(np.float64)
    bad = ~np.isfinite(array)
    if bad.any():
        row = first_row(bad)
        raise DataError(
            f"Input y contains NaN or infinity: {array[row]} in row {row}"
            f"{f' and {bad.sum() - 1} more' if bad.sum() > 1 else ''}. "
            "Rows without a response cannot be learned from: drop them."
        )
    if not part:
        check_spread(float(array.min()), float(array.max()))
    return np.asarray(array)


def check_spread(low: float, high: float) -> None:
    """Refuse a range whose squares overflow or vanish."""
    spread = high - low
    if spread and not 1e-140 < spread < 1e140:
        raise DataError(
            f"The range of y is {spread:g}: its squares overflow or vanish. Rescale y, for example to [0, 1]."
        )


def read_labels(y: Any, n_rows: int) -> NDArray[Any]:
    """A response of classes: labels of one type, one a row, none missing."""
    labels = _as_array(y, n_rows)
    if labels.dtype.kind in "MmV":
        raise DataError("y holds dates or times, which are no labels. Turn them into text or into numbers.")
    if labels.dtype.kind in "OT":
        items = labels.tolist()
        missing = np.array([is_missing(v) for v in items], dtype=bool)
        check_same_type("y", (v for v, bad in zip(items, missing) if not bad))
        labels = labels if isinstance(next(iter(items), None), str) or missing.any() else np.array(items)
    else:
        missing = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(n_rows, dtype=bool)
    if missing.any():
        raise DataError(
            f"Input y contains NaN or a missing label, first in row {first_row(missing)} ({missing.sum()} in all). "
            "Rows without a label cannot be learned from: drop them."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError(f"Input y contains infinity, first in row {first_row(np.isinf(labels))}: it is no label.")
    if labels.dtype.kind == "f" and (labels != np.rint(labels)).any():
        value = labels[first_row(labels != np.rint(labels))]
        raise DataError(
            f"Unknown label type: y holds numbers that are not whole ({value}), which are a quantity rather than "
            "classes. Use SirusRegressor, or turn the labels into text."
        )
    return labels


def class_response(labels: NDArray[Any], weights: NDArray[np.float64] | None) -> Response:
    """Labels as slots."""
    classes = classes_of(labels)
    return Response(None, slots_of(labels, classes), len(classes), weights, classes)


def slots_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.uint8]:
    """The place of each label among the classes."""
    labels = labels.astype(object) if labels.dtype.kind == "T" else labels
    return np.searchsorted(classes, labels).astype(np.uint8)


def classes_of(labels: NDArray[Any]) -> NDArray[Any]:
    """The distinct labels, sorted."""
    classes = np.unique(labels.astype(object) if labels.dtype.kind == "T" else labels)
    if len(classes) > MAX_CLASSES:
        raise DataError(
            f"y has {len(classes)} classes; at most {MAX_CLASSES} are taken. Group the rare ones, or use "
            "SirusRegressor if y is a quantity."
        )
    return classes


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Row weights: finite, not negative, not all zero. None when all are equal to one."""
    if sample_weight is None:
        return None
    weights = check_weights(sample_weight, n_rows)
    if not (weights > 0).any():
        raise DataError(ALL_ZERO)
    return None if (weights == 1).all() else _within_reach(weights)


def _within_reach(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights whose sums and products neither overflow nor vanish: very large or small ones times a power of two."""
    exponent = int(np.frexp(weights.max())[1])
    if abs(exponent) <= 53:
        return weights
    return np.maximum(np.ldexp(weights, -exponent), np.finfo(np.float64).tiny * (weights > 0))


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """The weights of some rows: finite and not negative."""
    if isinstance(sample_weight, numbers.Number):
        raise DataError("sample_weight must be one weight per row, found a single number.")
    series = nw.from_native(sample_weight, pass_through=True, allow_series=True)
    weights = np.asarray(series.to_numpy() if isinstance(series, nw.Series) else sample_weight)
    if weights.ndim != 1:
        raise DataError(f"Sample weights must be 1D: sample_weight has shape {weights.shape}.")
    try:
        weights = weights.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be numbers, found {weights.tolist()[0]!r}.") from error
    if len(weights) != n_rows:
        raise DataError(f"sample_weight.shape == {weights.shape}, expected ({n_rows},): one weight per row.")
    for bad, found in ((~np.isfinite(weights), "NaN or infinity"), (weights < 0, "a negative weight")):
        if bad.any():
            raise DataError(
                f"sample_weight contains {found}: {weights[first_row(bad)]} in row {first_row(bad)}. "
                "Weights must be finite and at least 0."
            )
    return weights

"""A target and its weights as given in, checked arrays out; all errors about them are raised here.

Counts with an exposure become rates, counts per unit of exposure, which are weighted by it.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from pysirus._data.column import DataError, check_same_type, first_row, is_missing, is_unicode, within_floats
from pysirus._data.frame import as_frame
from pysirus._text.message import TARGET, WEIGHTS, Learner, row_named

MOST_LABEL = 2**64  # a whole number in a model file
MAX_CLASSES = 256
NO_TARGET = "This estimator requires y to be passed, but the target y is None."
REGRESSOR, CLASSIFIER = Learner("SirusRegressor"), Learner("SirusClassifier")
ALL_ZERO = f"{WEIGHTS} is zero for every row: there is nothing to learn from."


class UnknownLabelError(DataError):
    """A label that an earlier pass over the rows did not find."""


def target_name(y: Any) -> str:
    """What the response is called: the name of a series or of a frame's column, or y."""
    name = name_of(y) or "y"
    if not is_unicode(name):
        raise DataError(f"The name of {TARGET}, {name!r}, is no valid Unicode. Rename it.")
    return name


def name_of(values: Any) -> str | None:
    """The name of a series or of a frame's first column; None where there is none."""
    if values is None:
        return None
    frame = as_frame(values)
    name = frame.columns[0] if frame is not None and frame.columns else getattr(values, "name", None)
    return name if isinstance(name, str) and name else None


def _as_array(y: Any, n_rows: int) -> NDArray[Any]:
    """A response given as an array, a series or a frame of one column, as an array with one entry per row."""
    if y is None:
        raise DataError(NO_TARGET)
    if type(y) is np.ndarray and y.shape == (n_rows,) and y.dtype.kind in "biuf":
        return y  # nothing to ask
    series = y if isinstance(y, np.ndarray) else nw.from_native(y, pass_through=True, allow_series=True)
    frame = None if isinstance(series, nw.Series) else as_frame(y)
    plain = series.to_numpy() if isinstance(series, nw.Series) else y if frame is None else frame.to_numpy()
    array = column_or_1d(plain, warn=frame is None)
    check_consistent_length(array, np.empty(n_rows))
    if array.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {TARGET} holds complex numbers.")
    is_column = isinstance(series, nw.Series) or frame is not None
    return array.astype(object) if is_column and array.dtype.kind == "U" else np.asarray(array)  # which polars makes


def read_numbers(y: Any, n_rows: int, *, part: bool = False) -> NDArray[np.float64]:
    """A regression target: finite numbers, one per row; the range of a part of it is not checked."""
    array = _as_array(y, n_rows)
    if array.dtype.kind in "MmV":
        raise DataError(
            f"{TARGET} must be numbers, found dates or times. Predict a number, such as the days since an event."
        )
    if array.dtype.kind in "OUST":
        try:
            array = np.array([np.nan if is_missing(v) else within_floats(v) for v in array.tolist()]).astype(np.float64)
        except (TypeError, ValueError) as error:
            found = array.tolist()[0]
            raise DataError(f"{TARGET} must be numbers, found {found!r}. For classes use {CLASSIFIER}.") from error
    array = array.astype(np.float64)
    bad = ~np.isfinite(array)
    if bad.any():
        row = first_row(bad)
        raise DataError(
            f"{TARGET} contains NaN or infinity: {array[row]} in {row_named(row)}"
            f"{f' and {bad.sum() - 1} more' if bad.sum() > 1 else ''}. "
            "Drop rows without a target."
        )
    if not part:
        check_spread(float(array.min()), float(array.max()))
    return np.asarray(array)


def check_spread(low: float, high: float) -> None:
    """Reject a range whose squares overflow or vanish."""
    spread = high - low
    if spread and not 1e-140 < spread < 1e140:
        raise DataError(
            f"The range of {TARGET} is {spread:g}: its squares overflow or vanish. Rescale it, for example to [0, 1]."
        )


def read_labels(y: Any, n_rows: int) -> NDArray[Any]:
    """A response of classes: labels of one type, one per row, none missing."""
    labels = _as_array(y, n_rows)
    if labels.dtype.kind in "MmV":
        raise DataError(f"{TARGET} holds dates or times, which are not labels. Convert them to text or numbers.")
    if labels.dtype.kind in "OT":
        items = labels.tolist()
        missing = np.array([is_missing(v) for v in items], dtype=bool)
        check_same_type(str(TARGET), (v for v, bad in zip(items, missing) if not bad))
        labels = labels if isinstance(next(iter(items), None), str) or missing.any() else np.array(items)
    else:
        missing = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(n_rows, dtype=bool)
    if missing.any():
        row = row_named(first_row(missing))
        raise DataError(
            f"{TARGET} contains NaN or a missing label, first in {row} ({missing.sum()} in all). Drop rows without a "
            "label."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = row_named(first_row(np.isinf(labels)))
        raise DataError(f"{TARGET} contains infinity, first in {row}: not a valid label.")
    if labels.dtype.kind == "f" and (labels != np.rint(labels)).any():
        value = labels[first_row(labels != np.rint(labels))]
        raise DataError(
            f"Unknown label type: {TARGET} holds numbers that are not whole ({value}), which are a quantity rather "
            f"than classes. Use {REGRESSOR}, or turn the labels into text."
        )
    return labels


def class_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.uint8]:
    """The place of each label among the classes; a label that is none of them is refused."""
    labels = labels.astype(object) if labels.dtype.kind == "T" else labels
    known = np.full(len(labels), _group(labels) == _group(classes))
    if known.all():
        places = np.searchsorted(classes, labels)
        known = classes[np.minimum(places, len(classes) - 1)] == labels
        if known.all():
            return places.astype(np.uint8)
    unknown = labels[first_row(~known)].item() if labels.dtype.kind != "O" else labels[first_row(~known)]
    raise UnknownLabelError(
        f"{TARGET} holds the label {unknown!r}, which was not there in an earlier pass over the rows."
    )


def _group(labels: NDArray[Any]) -> str:
    """Labels that can be compared: text, true and false, numbers."""
    return "text" if labels.dtype.kind in "OUS" else "flags" if labels.dtype.kind == "b" else "numbers"


def classes_of(labels: NDArray[Any]) -> NDArray[Any]:
    """The distinct labels, sorted."""
    classes = np.unique(labels.astype(object) if labels.dtype.kind == "T" else labels)
    if len(classes) > MAX_CLASSES:
        raise DataError(
            f"{TARGET} has {len(classes)} classes; at most {MAX_CLASSES} are supported. Group rare classes, or use "
            f"{REGRESSOR} if it is a quantity."
        )
    for label in classes.tolist():
        if isinstance(label, int) and abs(label) > MOST_LABEL:
            raise DataError(
                f"{TARGET} holds the label {label}, a whole number beyond 64 bits. Turn its labels into text."
            )
        if not is_unicode(label):
            raise DataError(
                f"{TARGET} holds the label {label!r}, which is no valid Unicode. Read its file in the right encoding, "
                "or rename the class."
            )
    return classes


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Sample weights: finite, not negative, not all zero. None when all are equal to one."""
    if sample_weight is None:
        return None
    weights = check_weights(sample_weight, n_rows)
    if not (weights > 0).any():
        raise DataError(ALL_ZERO)
    return None if (weights == 1).all() else within_reach(weights, reach_of(float(weights.max())))


def reach_of(heaviest: float) -> int:
    """The power of two that weights are divided by, so that their sums and products neither overflow nor vanish."""
    exponent = int(np.frexp(heaviest)[1])
    return exponent if abs(exponent) > 53 else 0


def within_reach(weights: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Very large or small weights divided by a power of two."""
    if exponent == 0:
        return weights
    return np.maximum(np.ldexp(weights, -exponent), np.finfo(np.float64).tiny * (weights > 0))


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """The weights of some rows: finite and not negative."""
    if isinstance(sample_weight, numbers.Number):
        raise DataError(f"{WEIGHTS} must be one weight per row, found a single number.")
    series = nw.from_native(sample_weight, pass_through=True, allow_series=True)
    weights = np.asarray(series.to_numpy() if isinstance(series, nw.Series) else sample_weight)
    if weights.ndim != 1:
        raise DataError(f"Sample weights must be 1D: {WEIGHTS} has shape {weights.shape}.")
    try:
        weights = np.array([within_floats(v) for v in weights.tolist()]) if weights.dtype.kind == "O" else weights
        weights = weights.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{WEIGHTS} must be numbers, found {weights.tolist()[0]!r}.") from error
    if len(weights) != n_rows:
        raise DataError(f"{WEIGHTS} has {len(weights)} entries, the table has {n_rows} rows: one weight per row.")
    for bad, found in ((~np.isfinite(weights), "NaN or infinity"), (weights < 0, "a negative weight")):
        if bad.any():
            raise DataError(
                f"{WEIGHTS} contains {found}: {weights[first_row(bad)]} in {row_named(first_row(bad))}. "
                "Weights must be finite and at least 0."
            )
    return weights


Floats = NDArray[np.float64]


def rate_name(target: str, exposure: str) -> str:
    """What counts per unit of exposure are called."""
    return f"{target} per {exposure}"


def rates_of(table: pa.Table, target: str, exposure: str, weights: str | None) -> tuple[Floats, Floats]:
    """Rates and weights of the rows of a table; rows of weight 0 need no exposure, and a missing count stays so."""
    mass = (
        np.ones(table.num_rows)
        if weights is None
        else _numbers(table, weights, "the sample weights, must hold numbers")
    )
    counts = _numbers(table, target, "the target, must hold counts, numbers of at least 0")
    weighs = ~(mass == 0)
    units = np.ones(table.num_rows)
    units[weighs] = exposures_of(table.filter(pa.array(weighs)), exposure)
    return counts / units, mass * units


def rates_beside(y: Any, exposure: Any, weights: Any, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Rates and weights of rows whose targets, exposures and weights are columns by themselves, with these names."""
    given = {name: own for name, own in zip(names, (y, exposure, weights)) if own is not None}
    table = pa.table({name: _as_values(own) for name, own in given.items()})
    return rates_of(table, names[0], names[1], None if weights is None else names[2])


def _as_values(column: Any) -> Any:
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    series = nw.from_native(column, pass_through=True, allow_series=True)
    return series.to_numpy() if isinstance(series, nw.Series) else np.asarray(column)


def exposures_of(table: pa.Table, name: str) -> Floats:
    """The exposure of each row, once all can be used."""
    wanted = "the exposure, must hold numbers above 0 in every row"
    found = _numbers(table, name, wanted)
    if not (np.isfinite(found) & (found > 0)).all():
        raise DataError(f"Column '{name}', {wanted}. Drop rows without exposure: nothing could be counted there.")
    return found


def _numbers(table: pa.Table, name: str, wanted: str) -> Floats:
    """A column of numbers; NaN where they are missing."""
    kind = table.schema.field(name).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(f"Column '{name}', {wanted}; it holds {kind}.")
    return np.asarray(table[name].cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)

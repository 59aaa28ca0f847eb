"""A checked target and weights in, the integers that forests and moments add up out.

There is one class for each form of a target: a number, a vector of numbers, or a class per row. The core sums either
columns of numbers or one column per class. Residuals of classes are vectors (``OddsResiduals`` for two classes).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._runtime.sums import (
    FOREST_BITS,
    WEIGHT_BITS,
    FixedPoint,
    Scale,
    all_whole,
    group_sums,
    product_sums,
)

Self = TypeVar("Self", bound="Response")
MomentArrays = tuple[Any, NDArray[np.uint8] | None]  # numbers or None, codes of classes or None
Output = float | tuple[float, ...]  # what a rule or a model answers: a number, or one for each class


@dataclass(frozen=True, kw_only=True)
class Response(ABC):
    """The answers of some rows, and their weights."""

    weights: NDArray[np.float64] | None = None
    part_of: Scale | None = None  # that of all rows, where these are only some of them
    base_weights: NDArray[np.float64] | None = None  # the weights before class weights, where both are given

    by_class: ClassVar[bool]  # whether sums are taken class by class
    shows_means: ClassVar[bool] = True  # whether means of the answers are what the data say

    @property
    @abstractmethod
    def row_values(self) -> NDArray[Any]:
        """One entry per row: the number, the vector, or the code of the class."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Numbers in an output of a rule."""

    @property
    @abstractmethod
    def labels(self) -> tuple[Any, ...] | None:
        """The label of each output; None where the output is the response itself."""

    @abstractmethod
    def output(self, means: NDArray[np.float64]) -> Output:
        """Mean answers of some rows as an output."""

    @abstractmethod
    def forest_arrays(self) -> tuple[NDArray[np.int32] | None, NDArray[np.uint8] | None]:
        """What the forest sums: numbers, or the codes of classes."""

    @abstractmethod
    def moment_arrays(self) -> MomentArrays:
        """What the moments of rules sum: numbers, or the codes of classes."""

    @abstractmethod
    def moment_scale(self) -> FixedPoint | None:
        """What turns sums of moments into units of the response; None where they are counts."""

    @abstractmethod
    def sums_by_group(
        self, groups: NDArray[Any], n_groups: int, weights: NDArray[np.int64] | None, arrays: MomentArrays
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The weight of each group of rows, and its exact sums [group, output], of integers."""

    @property
    def facts(self) -> dict[str, Any]:
        """What a model remembers of the response."""
        return {}

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_values)

    @property
    def truth(self) -> NDArray[Any]:
        """What predictions are held against, one entry per row."""
        return self.row_values

    @property
    def strata(self) -> NDArray[np.uint8] | None:
        """The kind of row, such as its class, of which every fold has its share; None where all are of one kind."""
        return None

    @property
    def n_strata(self) -> int:
        """Kinds of rows."""
        return 1

    @property
    def stratum_sizes(self) -> tuple[int, ...]:
        """Rows of each kind."""
        strata = self.strata
        return (self.n_rows,) if strata is None else tuple(np.bincount(strata, minlength=self.n_strata).tolist())

    @property
    def is_constant(self) -> bool:
        """Whether every row answers the same."""
        return bool((self.row_values == self.row_values[:1]).all())

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest number; classes have none."""
        return 0.0, 0.0

    @cached_property
    def scale(self) -> Scale:
        """What fixes the integers."""
        if self.part_of is not None:
            return self.part_of
        weights = self.weights
        return Scale(
            self.n_rows,
            *self.range,
            *((1.0, True) if weights is None else (float(weights.max()), all_whole(weights))),
            repeated=self.base_weights is None or all_whole(self.base_weights),
            given=self._largest_given,
        )

    @property
    def _largest_given(self) -> float:
        given = self.weights if self.base_weights is None else self.base_weights
        return 1.0 if given is None else float(given.max())

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

    def moment_weights(self) -> NDArray[np.int64] | None:
        """Weights times a power of two, so that integer weights stay what they are."""
        if self.weights is None:
            return None
        return np.maximum(np.rint(np.ldexp(self.weights, self.scale.moment_weight_exponent)), 1).astype(np.int64)

    def row_weights(self) -> NDArray[np.float64]:
        """The weight of each row."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    @abstractmethod
    def row_arrays(self) -> dict[str, NDArray[Any]]:
        """The fields that have one entry per row."""

    def _weight_arrays(self) -> dict[str, NDArray[Any]]:
        given = {"weights": self.weights, "base_weights": self.base_weights}
        return {name: array for name, array in given.items() if array is not None}

    def take(self: Self, rows: NDArray[np.intp]) -> Self:
        """The response of some rows."""
        arrays: dict[str, Any] = {name: array[rows] for name, array in self.row_arrays().items()}
        return replace(self, **arrays)


@dataclass(frozen=True)
class NumberResponse(Response):
    """Rows that answer with a number each."""

    values: NDArray[np.float64]
    by_class: ClassVar[bool] = False

    @property
    def row_values(self) -> NDArray[np.float64]:
        """The numbers."""
        return self.values

    @property
    def n_outputs(self) -> int:
        """One number in an output."""
        return 1

    @property
    def labels(self) -> None:
        """The output is the response itself."""
        return None

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest number."""
        return float(self.values.min()), float(self.values.max())

    def output(self, means: NDArray[np.float64]) -> float:
        """The mean as an output."""
        return float(means[0])

    def forest_arrays(self) -> tuple[NDArray[np.int32], None]:
        """The numbers in 20 bits."""
        return self.scale.forest_values.integers(self.values).astype(np.int32), None

    def moment_arrays(self) -> tuple[NDArray[np.int64], None]:
        """The numbers in 44 bits."""
        return self.scale.moment_values.integers(self.values), None

    def moment_scale(self) -> FixedPoint:
        """Centre and unit of the 44 bits."""
        return self.scale.moment_values

    def sums_by_group(
        self, groups: NDArray[Any], n_groups: int, weights: NDArray[np.int64] | None, arrays: MomentArrays
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The weight of each group, and its sum of weight times number."""
        sums = product_sums(groups, weights, arrays[0], n_groups)[:, None]
        return group_sums(groups, weights, n_groups), sums

    def row_arrays(self) -> dict[str, NDArray[Any]]:
        """The fields that have one entry per row."""
        return {"values": self.values, **self._weight_arrays()}


@dataclass(frozen=True)
class VectorResponse(Response):
    """Rows that answer with a vector each, such as a residual for each class.

    The decrease of a split is the sum over the columns. They have one scale, that of the smallest and the largest
    number of any column, so that they compare.
    """

    values: NDArray[np.float64]  # [row, column]
    labels: tuple[Any, ...] | None = None  # of the columns
    by_class: ClassVar[bool] = False

    @property
    def row_values(self) -> NDArray[np.float64]:
        """The vectors."""
        return self.values

    @property
    def n_outputs(self) -> int:
        """One number per column."""
        return int(self.values.shape[1])

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest number of any column."""
        return float(self.values.min()), float(self.values.max())

    def output(self, means: NDArray[np.float64]) -> tuple[float, ...]:
        """The mean of each column as an output."""
        return tuple(map(float, means))

    def forest_arrays(self) -> tuple[NDArray[np.int32], None]:
        """The numbers in 20 bits, [column, row]."""
        return np.ascontiguousarray(self.scale.forest_values.integers(self.values).T, dtype=np.int32), None

    def moment_arrays(self) -> tuple[NDArray[np.int64], None]:
        """The numbers in 44 bits, [column, row]."""
        return np.ascontiguousarray(self.scale.moment_values.integers(self.values).T), None

    def moment_scale(self) -> FixedPoint:
        """Centre and unit of the 44 bits."""
        return self.scale.moment_values

    def sums_by_group(
        self, groups: NDArray[Any], n_groups: int, weights: NDArray[np.int64] | None, arrays: MomentArrays
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The weight of each group, and its sums of weight times number."""
        sums = [product_sums(groups, weights, column, n_groups) for column in arrays[0]]
        return group_sums(groups, weights, n_groups), np.stack(sums, axis=1)

    def row_arrays(self) -> dict[str, NDArray[Any]]:
        """The fields that have one entry per row."""
        return {"values": self.values, **self._weight_arrays()}


@dataclass(frozen=True)
class ClassResponse(Response):
    """Rows that answer with a class each."""

    codes: NDArray[np.uint8]  # the place of the label among the classes
    classes: NDArray[Any]  # the labels, sorted
    by_class: ClassVar[bool] = True

    @property
    def row_values(self) -> NDArray[np.uint8]:
        """The codes."""
        return self.codes

    @property
    def n_outputs(self) -> int:
        """One number per class."""
        return len(self.classes)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of the classes."""
        return tuple(self.classes.tolist())

    @property
    def facts(self) -> dict[str, Any]:
        """The type that labels came in."""
        return {"label_type": self.classes.dtype.str}

    @property
    def strata(self) -> NDArray[np.uint8]:
        """The codes."""
        return self.codes

    @property
    def n_strata(self) -> int:
        """One kind of rows for each class."""
        return len(self.classes)

    def output(self, means: NDArray[np.float64]) -> tuple[float, ...]:
        """The share of each class as an output."""
        return tuple(map(float, means))

    def forest_arrays(self) -> tuple[None, NDArray[np.uint8]]:
        """The codes."""
        return None, self.codes

    def moment_arrays(self) -> tuple[None, NDArray[np.uint8]]:
        """The codes."""
        return None, self.codes

    def moment_scale(self) -> None:
        """Sums of classes are weights."""
        return

    def sums_by_group(
        self, groups: NDArray[Any], n_groups: int, weights: NDArray[np.int64] | None, arrays: MomentArrays
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The weight of each group, and of each class in it."""
        n = self.n_outputs
        cells = group_sums(groups * n + self.codes, weights, n_groups * n).reshape(n_groups, n)
        return cells.sum(axis=1), cells

    def row_arrays(self) -> dict[str, NDArray[Any]]:
        """The fields that have one entry per row."""
        return {"codes": self.codes, **self._weight_arrays()}


@dataclass(frozen=True)
class OddsResiduals(NumberResponse):
    """Two classes: residuals of the second; those of the first are the same with the other sign."""

    classes: tuple[Any, ...]

    @property
    def labels(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The labels of the classes."""
        return self.classes

    def output(self, means: NDArray[np.float64]) -> tuple[float, ...]:  # type: ignore[override]
        """The mean residual of each class as an output."""
        return -float(means[0]), float(means[0])


# --------------------------------------------------------------------------------------------------------- integer rows

# Rows in, how much they count out: integers, the same in any order of the rows and in any split into parts.


@dataclass(frozen=True)
class Count:
    """How much some rows count: two disjoint sets of rows add up."""

    rows: int = 0
    weight: int = 0  # sum of the integer weights
    virtual_rows: int = 0  # what they amount to: whole weights are repeated rows, others are scaled to a mean of one

    def __add__(self, other: Count) -> Count:
        return Count(self.rows + other.rows, self.weight + other.weight, self.virtual_rows + other.virtual_rows)


@dataclass(frozen=True)
class IntegerRows:
    """The rows of a response in integers, made once for all columns."""

    response: Response

    @cached_property
    def scale(self) -> Scale:
        """What fixes the integers."""
        return self.response.scale

    @cached_property
    def weights(self) -> NDArray[np.int64] | None:
        """Integer weights; None where every row counts one."""
        return self.response.moment_weights()

    @cached_property
    def _arrays(self) -> MomentArrays:
        return self.response.moment_arrays()

    def count(self, mask: NDArray[np.bool_] | None = None) -> Count:
        """How much the rows of a mask count; None for all of them."""
        rows = self.response.n_rows if mask is None else int(np.count_nonzero(mask))
        if self.weights is None:
            return Count(rows, rows, rows)
        weight = int((self.weights if mask is None else self.weights[mask]).sum())
        if not self.scale.whole:
            repeats = self.response.base_weights if self.scale.repeated else None
            return Count(rows, weight, rows if repeats is None else int(repeats[... if mask is None else mask].sum()))
        exponent = self.scale.moment_weight_exponent
        return Count(rows, weight, weight >> exponent if exponent >= 0 else weight << -exponent)

    def sizes(self, groups: NDArray[Any], n_groups: int) -> NDArray[np.int64]:
        """The weight of each group of rows."""
        return group_sums(groups, self.weights, n_groups)

    def sums(self, groups: NDArray[Any], n_groups: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The weight of each group of rows, and what it answers: exact sums [group, output]."""
        return self.response.sums_by_group(groups, n_groups, self.weights, self._arrays)

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

class MomentArrays(TypedDict):
    rows: NDArray[np.int64]
    size: NDArray[np.int64]
    pair: NDArray[np.int64]
    sum: NDArray[np.int64]
    rule_sum: NDArray[np.int64]
    square: NDArray[np.int64]

class LineMomentArrays(TypedDict):
    rows: NDArray[np.int64]
    sum: NDArray[np.int64]
    pair: NDArray[np.int64]
    rule: NDArray[np.int64]
    value_sum: NDArray[np.int64]

class PatternArrays(TypedDict):
    bits: NDArray[np.uint64]
    fold: NDArray[np.uint8]
    class_code: NDArray[np.uint8]
    weight: NDArray[np.int64]
    sum: NDArray[np.int64]
    values: NDArray[np.int32]

class LikelihoodArrays(TypedDict):
    points: NDArray[np.float64]
    losses: NDArray[np.float64]
    penalties: NDArray[np.float64]
    gradient_norm: NDArray[np.float64]

class PathCounts:
    def __init__(self) -> None: ...
    def add(self, splits: NDArray[np.int32]) -> None: ...
    def paths(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...

class StopFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...

def instruction_sets() -> list[str]: ...

class Plan:
    def __init__(
        self,
        n_bins: list[int],
        has_missing: list[int],
        split_offset: list[int],
        n_outputs: int,
        classes: bool,
        thresholds: list[int],
        seed: int,
        max_depth: int,
        max_features: int,
        min_node_size: int,
        most_together: int = 0,
        groups: list[int] = ...,  # [feature, word]
        apart: list[int] = ...,  # [feature, feature]
        block_thresholds: list[int] = ...,  # where blocks of rows draw
        lines: list[list[int]] = ...,  # [feature, bin]: the numbers of its bins, nothing where it may not be a line
    ) -> None: ...

class Rows:
    def __init__(
        self,
        bins: NDArray[np.uint8],
        value: NDArray[np.int32] | None,  # [row], or [column, row]
        class_code: NDArray[np.uint8] | None,
        weight: NDArray[np.int32] | None,
        first_row: int = 0,
    ) -> None: ...

def grow(
    plan: Plan,
    rows: Rows,
    first_tree: int,
    n_trees: int,
    n_threads: int,
    instruction_set: str,
    stop: StopFlag | None = None,
    lines: NDArray[np.int32] | None = None,  # [tree], written: the column whose line wins it
) -> NDArray[np.int32]: ...
def level_sums(
    plan: Plan, rows: Rows, first_tree: int, splits: NDArray[np.int32], n_threads: int, instruction_set: str
) -> NDArray[np.int64]: ...
def search(
    plan: Plan,
    first_tree: int,
    splits: NDArray[np.int32],
    sums: NDArray[np.int64],
    lines: NDArray[np.int32] | None = None,  # [tree], written at the root
) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
def root_lines(
    plan: Plan,
    first_tree: int,
    drawn: NDArray[np.int64],
    sums: NDArray[np.int64],  # [tree, bin of all columns, size and sums]
    lines: NDArray[np.int32],
) -> None: ...
def count_other_values(
    plan: Plan,
    rows: Rows,
    first_tree: int,
    splits: NDArray[np.int32],
    nodes: NDArray[np.int64],
    n_threads: int = 1,
) -> NDArray[np.int64]: ...
def encode(
    values: NDArray[np.floating], cuts: NDArray[np.float64], missing_bin: int, bins: NDArray[np.uint8]
) -> None: ...
def recode(
    grid: NDArray[np.uint8],  # [column, row]
    rows: NDArray[np.int64],
    tables: NDArray[np.uint8],  # [column, 256]
    bins: NDArray[np.uint8],  # [column, row of some]
) -> None: ...
def count_bins(bins: NDArray[np.uint8]) -> NDArray[np.int64]: ...  # of 256 bins
def order_statistics(values: NDArray[Any], ranks: list[int]) -> NDArray[np.float64]: ...
def mark_numbers(column: NDArray[Any], first_row: int = 0) -> tuple[int, float, float]: ...
def mark_labels(codes: NDArray[np.int32], numbers: NDArray[np.uint64], first_row: int = 0) -> int: ...
def find_brackets(column: NDArray[Any], numbers: list[float]) -> tuple[list[float], list[float]]: ...
def sum_bins(
    bins: NDArray[np.uint8],
    n_bins: list[int],
    beside: NDArray[np.float64],  # [row, number]
    n_used: int,
) -> NDArray[np.float64]: ...
def sum_rules(
    bins: NDArray[np.uint8],
    features: NDArray[np.int32],
    tables: NDArray[np.uint64],
    n_rules: int,
    beside: NDArray[np.float64],  # [row, number]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def rule_moments(
    bins: NDArray[np.uint8],
    features: NDArray[np.int32],
    tables: NDArray[np.uint64],
    n_rules: int,
    value: NDArray[np.int64] | None,  # [row], or [column, row]
    class_code: NDArray[np.uint8] | None,
    n_outputs: int,
    weight: NDArray[np.int64] | None,
    seed: int,
    n_folds: int,
    first_row: int = 0,
) -> MomentArrays: ...
def line_moments(
    bins: NDArray[np.uint8],
    features: NDArray[np.int32],
    tables: NDArray[np.uint64],
    n_rules: int,
    line_rows: NDArray[np.int32],
    centres: NDArray[np.int32],
    value: NDArray[np.int64] | None,  # [row], or [column, row]
    class_code: NDArray[np.uint8] | None,
    n_outputs: int,
    weight: NDArray[np.int64] | None,
    seed: int,
    n_folds: int,
    first_row: int = 0,
) -> LineMomentArrays: ...
def ridge_errors(
    train_gram: NDArray[np.float64],
    train_cross: NDArray[np.float64],
    test_gram: NDArray[np.float64],
    test_cross: NDArray[np.float64],
    test_square: NDArray[np.float64],
    penalties: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def independent_columns(gram: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]: ...
def ridge_weights(
    gram: NDArray[np.float64], cross: NDArray[np.float64], penalties: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def rule_patterns(
    bins: NDArray[np.uint8],
    features: NDArray[np.int32],
    tables: NDArray[np.uint64],
    n_rules: int,
    value: NDArray[np.int64] | None,
    class_code: NDArray[np.uint8] | None,
    weight: NDArray[np.int64] | None,
    seed: int,
    n_folds: int,
    first_row: int,
    line_rows: NDArray[np.int32],
    centres: NDArray[np.int32],
    line_terms: list[int],
    most_sampled: int,
) -> PatternArrays: ...
def merge_patterns(
    bits: NDArray[np.uint64],
    fold: NDArray[np.uint8],
    class_code: NDArray[np.uint8],
    weight: NDArray[np.int64],
    sum: NDArray[np.int64],
    values: NDArray[np.int32],
    line_terms: list[int],
) -> PatternArrays: ...
def likelihood_weights(
    bits: NDArray[np.uint64],
    fold: NDArray[np.uint8],
    class_code: NDArray[np.uint8],
    weight: NDArray[np.int64],
    sum: NDArray[np.int64],
    values: NDArray[np.int32],
    line_terms: list[int],
    loss: str,
    classes: bool,
    centre: float,
    exponent: int,
    gap: NDArray[np.float64],
    sizes: list[int],
    grid: list[float],
    penalties: NDArray[np.float64] | None,
    n_folds: int,
    tol: float,
    n_threads: int,
    n_held: int = 0,
    power: float = 0.0,
) -> LikelihoodArrays: ...
def rule_scores(
    bins: NDArray[np.uint8],
    features: NDArray[np.int32],
    tables: NDArray[np.uint64],
    gap: NDArray[np.float64],
    point: list[float],
    line_rows: NDArray[np.int32],
    centres: NDArray[np.int32],
    line_terms: list[int],
) -> NDArray[np.float64]: ...
def loss_of_rows(
    loss: str, eta: NDArray[np.float64], y: NDArray[np.float64], power: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def deviance_of_rows(
    loss: str, eta: NDArray[np.float64], y: NDArray[np.float64], power: float = 0.0
) -> NDArray[np.float64]: ...
def mean_of_scores(loss: str, eta: NDArray[np.float64], power: float = 0.0) -> NDArray[np.float64]: ...
def deviance_of_means(
    loss: str, mean: NDArray[np.float64], y: NDArray[np.float64], power: float = 0.0
) -> NDArray[np.float64]: ...
def slopes_at_means(
    loss: str, mean: NDArray[np.float64], weight: NDArray[np.float64], sum: NDArray[np.float64], power: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def row_bits(
    bins: NDArray[np.uint8], features: NDArray[np.int32], tables: NDArray[np.uint64], n_rules: int
) -> NDArray[np.uint64]: ...
def cox_weights(
    bits: NDArray[np.uint64],
    span: NDArray[np.int32],
    event: NDArray[np.uint8],
    fold: NDArray[np.uint8],
    weight: NDArray[np.int64] | None,
    n_times: int,
    gap: list[float],
    sizes: list[int],
    grid: list[float],
    penalties: NDArray[np.float64] | None,
    n_folds: int,
    tol: float,
    n_threads: int,
    n_held: int,
    values: NDArray[np.int32],
    line_terms: list[int],
) -> LikelihoodArrays: ...
def cox_rows(
    span: NDArray[np.int32],
    event: NDArray[np.uint8],
    weight: NDArray[np.float64] | None,
    n_times: int,
    eta: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]: ...
def concordance(
    time: NDArray[np.float64],
    event: NDArray[np.uint8],
    score: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
) -> tuple[float, float, float]: ...
def exp(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def log(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def log1p(x: NDArray[np.float64]) -> NDArray[np.float64]: ...
def deal(
    n_rows: int,
    stratum: NDArray[np.uint8] | None,
    size: Sequence[int],  # rows of each stratum
    rank: Sequence[int],  # of the first of these rows in each stratum
    seed: int,
    n_folds: int,
) -> NDArray[np.uint32]: ...
def folds_of(seed: int, n_rows: int, n_folds: int) -> NDArray[np.uint32]: ...

class RuleList:
    def __init__(self, columns: list[int], start: list[float]) -> None: ...
    def add_interval(self, column: int, lower: float, upper: float, missing: bool) -> int: ...
    def add_levels(self, column: int, answers: list[bool]) -> int: ...
    def add_rule(self, conditions: list[int], inside: list[float], outside: list[float]) -> None: ...
    def add_term(
        self, column: int, slopes: list[float], lower: float, upper: float, missing: float, centre: float
    ) -> None: ...
    def evaluate(
        self, columns: list[NDArray[Any]], n_rows: int, instruction_set: str | None = None
    ) -> NDArray[np.float64]: ...
    def evaluate_matrix(
        self, matrix: NDArray[Any], instruction_set: str | None = None
    ) -> NDArray[np.float64] | None: ...

"""Rows dealt into folds: evenly, at random, the same whoever deals them."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import chi2

import oracle
from pysirus import SirusClassifierCV, _core
from pysirus._families.responses import ClassResponse, NumberResponse
from pysirus._families.survival import survival_response
from pysirus._learn.splits import StratifiedFolds, draw_folds

TOO_SMALL = 1e-4


def classes(codes: np.ndarray) -> ClassResponse:
    return ClassResponse(codes.astype(np.uint8), np.unique(codes))


def deal_all(response, n_folds: int, seed: int) -> np.ndarray:
    return StratifiedFolds(n_folds, seed, response.stratum_sizes).of_rows(response)


@pytest.mark.parametrize(
    "n_rows, n_folds, seed", [(2, 2, 0), (5, 3, 1), (256, 10, 2**64 - 1), (300, 7, 12), (999, 999, 3)]
)
def test_folds_are_those_of_the_oracle(n_rows: int, n_folds: int, seed: int) -> None:
    rng = np.random.default_rng(n_rows)
    numbers, codes = NumberResponse(rng.normal(size=n_rows)), rng.integers(0, 3, n_rows)
    assert deal_all(numbers, n_folds, seed).tolist() == oracle.deal([0] * n_rows, 1, n_folds, seed)
    three = ClassResponse(codes.astype(np.uint8), np.arange(3))
    assert deal_all(three, n_folds, seed).tolist() == oracle.deal(codes.tolist(), 3, n_folds, seed)


@pytest.mark.parametrize("n_rows, n_folds", [(20, 10), (57, 5), (1000, 10), (1001, 3)])
def test_folds_differ_by_one_row_in_all_and_in_every_class(n_rows: int, n_folds: int) -> None:
    codes = np.random.default_rng(0).choice(3, size=n_rows, p=[0.7, 0.25, 0.05])
    folds = deal_all(classes(codes), n_folds, seed=4)
    for rows in (codes >= 0, codes == 0, codes == 1, codes == 2):
        sizes = np.bincount(folds[rows], minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("n_pieces", [2, 7, 400])
def test_pieces_are_dealt_as_the_whole_is(n_pieces: int) -> None:
    response = classes(np.random.default_rng(1).integers(0, 4, 400))
    own = StratifiedFolds(10, 9, response.stratum_sizes)
    found, ranks = [], np.zeros(4, dtype=int)
    for rows in np.array_split(np.arange(400), n_pieces):
        piece = response.take(rows)
        found += own.of_rows(piece, ranks.tolist()).tolist()
        ranks += piece.stratum_sizes
    assert found == own.of_rows(response).tolist()


def test_rows_of_a_table_that_nobody_holds_are_dealt() -> None:
    last = StratifiedFolds(10, 5, (10**15,)).of_rows(NumberResponse(np.zeros(1000)), [10**15 - 1000])
    assert chi2.sf(((np.bincount(last, minlength=10) - 100.0) ** 2 / 100).sum(), 9) > TOO_SMALL


@pytest.mark.parametrize("n_rows", [3, 4])
def test_every_order_of_a_few_rows_is_as_likely(n_rows: int) -> None:
    n_seeds, orders = 20_000, {order: i for i, order in enumerate(permutations(range(n_rows)))}
    found = [orders[tuple(_core.deal(n_rows, None, [n_rows], [0], seed, n_rows).tolist())] for seed in range(n_seeds)]
    expected = n_seeds / len(orders)
    statistic = ((np.bincount(found, minlength=len(orders)) - expected) ** 2 / expected).sum()
    assert chi2.sf(statistic, len(orders) - 1) > TOO_SMALL


@pytest.mark.parametrize("n_rows, n_folds", [(10, 5), (33, 10), (100, 10)])
def test_every_row_and_every_pair_of_rows_has_its_chance(n_rows: int, n_folds: int) -> None:
    n_seeds, response = 4000, NumberResponse(np.zeros(n_rows))
    folds = np.array([deal_all(response, n_folds, seed) for seed in range(n_seeds)])
    sizes = np.bincount(folds[0], minlength=n_folds)
    for row in range(0, n_rows, max(1, n_rows // 5)):
        expected = n_seeds * sizes / n_rows
        statistic = ((np.bincount(folds[:, row], minlength=n_folds) - expected) ** 2 / expected).sum()
        assert chi2.sf(statistic, n_folds - 1) > TOO_SMALL
    together = (sizes * (sizes - 1)).sum() / (n_rows * (n_rows - 1))
    met = np.array([(folds[:, i] == folds[:, j]).mean() for i, j in combinations(range(n_rows), 2)])
    z = (met - together) / np.sqrt(together * (1 - together) / n_seeds)
    assert abs(z).max() < 4.5 and (z**2).mean() < 1.6


def test_events_are_shared_out_and_numbers_are_not() -> None:
    times, events = np.arange(1.0, 41.0), np.arange(40) < 10
    folds = deal_all(survival_response(times, events), 5, 0)
    assert np.bincount(folds[events]).tolist() == [2] * 5
    numbers = NumberResponse(events.astype(float))
    assert numbers.strata is None and numbers.stratum_sizes == (40,)


def test_repetitions_and_seeds_have_folds_of_their_own() -> None:
    response, kept = NumberResponse(np.zeros(100)), np.ones(100, bool)
    drawn = [list(draw_folds(5, 2, response=response, groups=None, kept=kept, seed=seed)) for seed in (0, 1)]
    held_out = {tuple(test) for repetitions in drawn for folds in repetitions for _, test in folds}
    assert len(held_out) == 20
    for train, test in drawn[0][0]:
        assert sorted([*train, *test]) == list(range(100))


def test_a_class_with_as_many_rows_as_folds_is_held_out_by_each() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(np.arange(60) < 5, "rare", np.where(X[:, 0] > 0, "yes", "no"))
    model = SirusClassifierCV(cv=5, n_repeats=1, n_trees=50, random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["no", "rare", "yes"]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"n_rows": -1}, "n_rows must not be negative"),
        ({"n_folds": 0}, "n_folds must be at least 1"),
        ({"stratum": np.zeros(3, np.uint8)}, "an entry per row"),
        ({"stratum": np.full(4, 2, np.uint8)}, "stratum 2 is not from 0 to 1"),
        ({"size": [], "rank": []}, "a size and a rank for each stratum"),
        ({"rank": [0]}, "a size and a rank for each stratum"),
        ({"size": [3, 0]}, "more rows in a stratum than its size"),
        ({"rank": [1, 0]}, "more rows in a stratum than its size"),
        ({"rank": [-1, 0]}, "more rows in a stratum than its size"),
        ({"rank": [2**62, 0]}, "more rows in a stratum than its size"),
    ],
)
def test_deals_that_cannot_be_are_refused(changes, message: str) -> None:
    right = {"n_rows": 4, "stratum": None, "size": [4, 1], "rank": [0, 0], "seed": 0, "n_folds": 2}
    with pytest.raises(ValueError, match=message):
        _core.deal(**right | changes)

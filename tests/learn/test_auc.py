"""Areas under the curve against scikit-learn's, fold by fold and merged."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pysirus._families.class_metrics import merge, merged_auc, rank
from pysirus._families.responses import ClassResponse
from pysirus._learn.weigh import Cells, HeldOut, pooled_error


@pytest.mark.parametrize("weighted", [False, True])
def test_merged_ranks_give_the_area_of_all_rows(rng, weighted):
    scores = np.round(rng.random(200), 1)  # many ties
    member = rng.random(200) < scores
    weights = rng.integers(1, 4, 200).astype(float) if weighted else None
    parts = np.array_split(np.arange(200), 7)
    mass = np.ones(200) if weights is None else weights
    merged = merge([rank(scores[i], (mass * member)[i], (mass * ~member)[i]) for i in parts])
    assert merged_auc(merged) == pytest.approx(roc_auc_score(member, scores, sample_weight=weights), abs=1e-12)


def test_area_is_unknown_when_a_side_is_empty():
    assert merged_auc(rank(np.array([0.1, 0.2]), np.ones(2), np.zeros(2))) is None


def cells_of(holds, codes, n_classes):
    return Cells.of(holds, ClassResponse(codes, np.arange(n_classes)))


def test_pooled_error_is_one_minus_the_mean_one_vs_rest_area(rng):
    folds, shares, truth = [], [], []
    for _ in range(3):
        holds = rng.random((40, 4)) < 0.5
        inside, outside = (rng.dirichlet([1, 1, 1], 4) for _ in range(2))
        slots = rng.integers(0, 3, 40).astype(np.uint8)
        parts = [cells_of(holds[rows], slots[rows], 3) for rows in (slice(0, 15), slice(15, 40))]  # which add up
        judged = [HeldOut(inside, outside, np.full(3, 1 / 3), *own) for own in parts]
        folds.append(judged[0] + judged[1])
        shares.append(np.where(holds[:, :2, None], inside[:2], outside[:2]).mean(axis=1))
        truth.append(slots)
    shares, truth = np.concatenate(shares), np.concatenate(truth)
    expected = 1 - np.mean([roc_auc_score(truth == k, shares[:, k]) for k in range(3)])
    assert pooled_error(folds, [2, 2, 2]) == pytest.approx(expected, abs=1e-12)


def test_a_fold_without_rules_answers_with_its_shares(rng):
    slots = rng.integers(0, 2, 50).astype(np.uint8)
    cells = cells_of(np.zeros((50, 1), bool), slots, 2)
    assert cells.holds.tolist() == [[False]] and cells.weights.tolist() == [np.bincount(slots).tolist()]
    fold = HeldOut(np.ones((1, 2)), np.zeros((1, 2)), np.array([0.4, 0.6]), *cells)
    assert pooled_error([fold], [0]) == 0.5

"""Areas under the curve against scikit-learn's, fold by fold and merged."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pysirus._families.row_metrics import merge, merged_auc, rank
from pysirus._learn.weighing.base import HeldOut, pooled_error


@pytest.mark.parametrize("weighted", [False, True])
def test_merged_ranks_give_the_area_of_all_rows(rng, weighted):
    scores = np.round(rng.random(200), 1)  # many ties
    member = rng.random(200) < scores
    weights = rng.integers(1, 4, 200).astype(float) if weighted else None
    parts = np.array_split(np.arange(200), 7)
    merged = merge([rank(scores[i], member[i], None if weights is None else weights[i]) for i in parts])
    assert merged_auc(merged) == pytest.approx(roc_auc_score(member, scores, sample_weight=weights), abs=1e-12)


def test_area_is_unknown_when_a_side_is_empty():
    assert merged_auc(rank(np.array([0.1, 0.2]), np.array([True, True]), None)) is None


def test_pooled_error_is_one_minus_the_mean_one_vs_rest_area(rng):
    folds, shares, truth = [], [], []
    for _ in range(3):
        holds = rng.random((40, 4)) < 0.5
        inside, outside = (rng.dirichlet([1, 1, 1], 4) for _ in range(2))
        slots = rng.integers(0, 3, 40).astype(np.uint8)
        folds.append(HeldOut(holds, inside, outside, np.full(3, 1 / 3), slots, None))
        shares.append(np.where(holds[:, :2, None], inside[:2], outside[:2]).mean(axis=1))
        truth.append(slots)
    shares, truth = np.concatenate(shares), np.concatenate(truth)
    expected = 1 - np.mean([roc_auc_score(truth == k, shares[:, k]) for k in range(3)])
    assert pooled_error(folds, [2, 2, 2]) == pytest.approx(expected, abs=1e-12)


def test_a_fold_without_rules_answers_with_its_shares(rng):
    slots = rng.integers(0, 2, 50).astype(np.uint8)
    fold = HeldOut(np.zeros((50, 1), bool), np.ones((1, 2)), np.zeros((1, 2)), np.array([0.4, 0.6]), slots, None)
    assert pooled_error([fold], [0]) == 0.5

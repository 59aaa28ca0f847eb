"""An estimator and rows in parts in, the estimator fitted out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus import _parameters as params
from pysirus.engine.parts import RowHolder
from pysirus.engine.train import Wishes, read_response, train
from pysirus.estimators.classifier import SirusClassifier, class_factors
from pysirus.estimators.regressor import SirusRegressor

Estimator = TypeVar("Estimator", bound=SirusRegressor | SirusClassifier)


def fit_rows(estimator: Estimator, rows: RowHolder, target: str, wishes: Wishes | None = None) -> Estimator:
    """Learn the rules from rows in parts."""
    estimator._check_parameters()
    if isinstance(estimator, SirusRegressor) and estimator.n_stages != 1:
        raise params.ParameterError(
            f"n_stages must be 1 where rows lie in parts, got {estimator.n_stages!r}: the residuals of later stages "
            "are those of rows in memory. Fit a sample of the rows in memory to use stages."
        )
    class_weight = getattr(estimator, "class_weight", None)

    def factors(labels: NDArray[Any], totals: Sequence[float]) -> NDArray[np.float64] | None:
        return None if class_weight is None else class_factors(class_weight, labels, totals)

    reading, extent = read_response(rows, isinstance(estimator, SirusClassifier), factors)
    training = train(
        rows,
        reading,
        extent,
        categorical=estimator.categorical_features,
        n_bins=estimator.n_bins,
        discrete_limit=estimator.discrete_limit,
        seed=params.to_seed(estimator.random_state),
        target=target,
        wishes=wishes or Wishes(),
    )
    try:
        estimator._check_features(len(training.features))
        estimator._learn(training)
    finally:
        training.shards.close()
    return estimator

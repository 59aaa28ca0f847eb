"""How many sizes of a list tuning looks at, where weights come from likelihoods: the search beside all sizes fitted."""

import numpy as np
import pytest

from pysirus import SirusClassifier, SirusRegressor
from pysirus._learn.fit import weighing_of
from pysirus._learn.grow import Limits, bin_rows, grow_paths, select_rules
from pysirus._weights.likelihood import fit_likelihood
from pysirus._weights.moments import n_fixed
from pysirus._weights.weighted import PENALTY_GRID, with_outputs

N_RULES = 24


@pytest.fixture(scope="module", params=["poisson", "logistic"])
def lists(request):
    """A way to weigh, rows in bins and a list of rules, some of which will have no weight."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 6))
    rate = np.exp(X[:, 0] + np.abs(X[:, 1]) - 1)
    classes = request.param == "logistic"
    y = (rate > 1).astype(int) if classes else draw.poisson(rate).astype(float)
    shared = {"n_trees": 200, "random_state": 0}
    estimator = SirusClassifier(**shared) if classes else SirusRegressor(loss="poisson", **shared)
    table, response, target = estimator._read(X, y, None)
    training = bin_rows(table, response, target, estimator._settings())
    weighing = weighing_of(estimator._family)
    paths = grow_paths(training, estimator._settings(), if_constant="", mean="")
    kept = select_rules(training, paths, Limits(N_RULES))
    rules = with_outputs(kept.rules, kept.moments, training.response)
    return weighing, training, rules, kept.moments


def n_positive(weighing, training, rules):
    """The positive weights of every size at the smallest penalty, all fitted together and with cross-validation."""
    sides = weighing._sides(rules, training.response)
    fit = fit_likelihood(
        training.patterns(rules),
        *sides,
        weighing.loss_of(training.response),
        range(len(rules) + 1),
        np.repeat(PENALTY_GRID[-1:], 2),
        n_held=n_fixed(rules),
    )
    return (fit.weights > 0).sum(axis=1)


def test_sizes_end_with_the_first_list_that_is_too_long(lists):
    weighing, training, rules, moments = lists
    assert len(rules) == N_RULES
    positive = n_positive(weighing, training, rules)
    assert positive[-1] < N_RULES  # else the first list that is too long is known without a fit
    for most in (1, 3, 8, 12, int(positive.max()), N_RULES - 1, N_RULES, 50):
        too_many = np.flatnonzero(positive > most)
        wanted = int(too_many[0]) if len(too_many) else N_RULES
        assert weighing.sizes(training, rules, moments, most) == range(wanted + 1)

"""Weights by penalised likelihood, said plainly: dense columns, row by row sums, SciPy's minimiser."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from pysirus import _core
from pysirus._families.links import Loss
from pysirus._families.responses import ClassResponse, NumberResponse
from pysirus._weights.likelihood import Patterns
from pysirus._weights.moments import lines_in

SEED = 5
POWER = 1.5  # of Tweedie's


def loss_of(name):
    return Loss(name, POWER if name == "tweedie" else 0.0)


def patterns_of(holds, response, first_row=0, seed=SEED, most_sampled=2**64 - 1):
    """Patterns of rules that are given by the rows where they hold [row, rule]; penalties are chosen on some rows."""
    n_rules = holds.shape[1]
    allowed = np.ones((n_rules, 256, 64 * max(1, -(-n_rules // 64))), dtype=bool)
    allowed[np.arange(n_rules), 0, np.arange(n_rules)] = False
    tables = np.ascontiguousarray(np.packbits(allowed, axis=2, bitorder="little").view("<u8").astype(np.uint64))
    bins = np.ascontiguousarray(holds.T.astype(np.uint8)).reshape(n_rules, len(holds))
    arrays = _core.rule_patterns(
        bins,
        np.arange(n_rules, dtype=np.int32),
        tables,
        n_rules,
        *response.moment_arrays(),
        response.moment_weights(),
        seed,
        10,
        first_row,
        **lines_in([]),
        most_sampled=most_sampled,
    )
    return Patterns(n_rules, response.by_class, response.moment_scale(), arrays)


def response_of(loss, y, weights=None):
    if loss in ("logistic", "softmax"):
        return ClassResponse(y.astype(np.uint8), np.arange(max(2, int(y.max()) + 1)), weights=weights)
    return NumberResponse(y.astype(np.float64), weights=weights)


def columns_of(holds, inside, outside):
    """Outputs [row, rule, score]; the scores of a rule add up to zero where there are several."""
    outputs = np.where(holds[:, :, None], inside, outside)
    return outputs - outputs.mean(axis=2, keepdims=True) if outputs.shape[2] > 1 else outputs


def loss_and_slope(loss, y, eta):
    """Row by row; eta and slope [row, score]."""
    if loss == "softmax":
        hot = np.eye(eta.shape[1])[y.astype(int)]
        top = eta.max(axis=1, keepdims=True)
        odds = np.exp(eta - top)
        whole = odds.sum(axis=1, keepdims=True)
        return (np.log(whole) + top)[:, 0] - (hot * eta).sum(axis=1), odds / whole - hot
    e = eta[:, 0]
    if loss == "logistic":
        return np.logaddexp(0, e) - y * e, (expit(e) - y)[:, None]
    if loss == "poisson":
        return np.exp(e) - y * e, (np.exp(e) - y)[:, None]
    if loss == "gamma":
        return e + y * np.exp(-e), (1 - y * np.exp(-e))[:, None]
    if loss == "tweedie":
        mu = np.exp(e)
        value = mu ** (2 - POWER) / (2 - POWER) - y * mu ** (1 - POWER) / (1 - POWER)
        return value, (mu ** (2 - POWER) - y * mu ** (1 - POWER))[:, None]
    return 0.5 * e * e - y * e, (e - y)[:, None]


def objective(loss, columns, y, w, penalty):
    """Mean loss plus penalty as a function of intercepts and weights, with its gradient."""
    n_rows, n_rules, n_scores = columns.shape
    by_score = np.ascontiguousarray(columns.transpose(0, 2, 1)).reshape(n_rows * n_scores, n_rules)
    share = (w / w.sum())[:, None]

    def value(point):
        eta = point[:n_scores] + (by_score @ point[n_scores:]).reshape(n_rows, n_scores)
        rows, slope = loss_and_slope(loss, y, eta)
        slope = slope * share
        gradient = np.concatenate([slope.sum(axis=0), slope.ravel() @ by_score])
        gradient[n_scores:] += penalty * point[n_scores:]
        return w @ rows / w.sum() + penalty / 2 * point[n_scores:] @ point[n_scores:], gradient

    return value


def start_of(loss, y, w, n_scores):
    mean = w @ y / w.sum()
    if loss == "softmax":
        logs = np.log([w @ (y == c) / w.sum() for c in range(n_scores)])
        return logs - logs.mean()
    link = {"logistic": lambda m: np.log(m / (1 - m)), "squared": float}.get(loss, np.log)
    return np.array([link(mean)])


def fit(loss, columns, y, w, penalty, gtol=1e-13):
    """Intercepts and weights by SciPy."""
    n_rules, n_scores = columns.shape[1:]
    value = objective(loss, columns, y, w, penalty)
    start = np.concatenate([start_of(loss, y, w, n_scores), np.zeros(n_rules)])
    bounds = [(None, None)] * n_scores + [(0, None)] * n_rules
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 0, "gtol": gtol, "maxcor": 60}
    return minimize(value, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x


def largest_curvature(loss, columns, y, w):
    """The largest diagonal of the Hessian at the constant in the weights, where the intercepts follow."""
    n_scores = columns.shape[2]
    mean = w @ y / w.sum()
    share = w / w.sum()
    if n_scores > 1:
        p = np.array([w @ (y == c) / w.sum() for c in range(n_scores)])
        bend = np.diag(p) - np.outer(p, p)
    else:
        known = {"logistic": mean * (1 - mean), "poisson": mean, "tweedie": abs(mean) ** (2 - POWER)}
        bend = np.array([[known.get(loss, 1.0)]])
    if loss == "gamma":  # the curvature of a row is its response by the mean
        share = w * y / (w @ y)
    if loss == "tweedie":
        share = w * ((2 - POWER) * mean + (POWER - 1) * y) / (w.sum() * mean)
    centred = columns - np.einsum("r,rks->ks", share, columns)
    return np.einsum("r,rks,st,rkt->k", share, centred, bend, centred).max()


def cross_validated_loss(loss, columns, y, w, folds, penalty):
    total = 0.0
    n_scores = columns.shape[2]
    for fold in np.unique(folds):
        rest = folds != fold
        point = fit(loss, columns[rest], y[rest], w[rest], penalty, gtol=1e-10)
        eta = point[:n_scores] + np.einsum("rks,k->rs", columns[~rest], point[n_scores:])
        total += w[~rest] @ loss_and_slope(loss, y[~rest], eta)[0]
    return total / w.sum()

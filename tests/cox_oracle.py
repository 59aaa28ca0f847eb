"""Cox's partial likelihood, said plainly: loops over rows and risk sets, dense columns, SciPy's minimiser."""

import math

import numpy as np
from scipy.optimize import minimize

from pysirus import _core
from pysirus._weights.survival import cox_rows_of_bits, risk_sets

SEED = 5


def bits_of(holds):
    """Rules as bits [row, word], from the rows where they hold [row, rule]."""
    wide = np.zeros((len(holds), 64 * max(1, -(-holds.shape[1] // 64))), dtype=bool)
    wide[:, : holds.shape[1]] = holds
    return np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64).reshape(len(holds), -1)


def rows_of(holds, times, events, weights=None, folds=None, seed=SEED):
    """What ``fit_cox`` takes."""
    return cox_rows_of_bits(holds.shape[1], bits_of(holds), risk_sets(times, events), seed, weights, folds)


def partial_log_likelihood(risk, scores, weights=None):
    """The core's partial log-likelihood of scores, one a row; 0 where nobody has an event."""
    scores = np.ascontiguousarray(scores, dtype=np.float64).reshape(risk.n_rows)
    weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    return -_core.cox_rows(risk.span, risk.events, weights, len(risk.event_times), scores)[0]


def log_likelihood(times, events, eta, weights=None):
    """Efron's formula with weights as in R's survival; one number at a time, numbers of any type."""
    n = len(times)
    w = [1.0] * n if weights is None else list(weights)
    total = 0.0
    for t in sorted({times[i] for i in range(n) if events[i]}):
        tied = [i for i in range(n) if events[i] and times[i] == t]
        at_risk = [i for i in range(n) if times[i] >= t]
        total += sum(w[i] * eta[i] for i in tied)
        share = sum(w[i] for i in tied) / len(tied)
        top = max(eta[i] for i in at_risk)
        whole = math.fsum(w[i] * math.exp(eta[i] - top) for i in at_risk)
        leaving = math.fsum(w[i] * math.exp(eta[i] - top) for i in tied)
        for r in range(len(tied)):
            total -= share * (math.log(whole - r / len(tied) * leaving) + top)
    return total


def residuals_and_hazard(times, events, eta, weights=None):
    """Martingale residuals by Efron, and the rises of Breslow's cumulative hazard, by the definition of each."""
    n = len(times)
    w = np.ones(n) if weights is None else np.asarray(weights)
    risk = np.exp(eta)
    expected, rises = np.zeros(n), []
    for t in np.unique(times[events]):
        tied, at_risk = events & (times == t), times >= t
        count, share = tied.sum(), w[tied].sum() / tied.sum()
        for r in range(count):
            step = share / ((w * risk)[at_risk].sum() - r / count * (w * risk)[tied].sum())
            expected += at_risk * risk * step * np.where(tied, 1 - r / count, 1.0)
        rises.append(w[tied].sum() / (w * risk)[at_risk].sum())
    return events - expected, np.array(rises)


def at_risk_of_events(times, events, weights):
    """Which part of a row is at risk [event, row], by Efron, and the weight of each event; equals the loops above."""
    parts, shares = [], []
    for t in np.unique(times[events]):
        tied, at_risk = events & (times == t), times >= t
        count = tied.sum()
        parts += [at_risk - r / count * tied for r in range(count)]
        shares += [weights[tied].sum() / count] * count
    return np.array(parts), np.array(shares)


def objective(columns, times, events, weights, penalty):
    """Loss by weight of events plus penalty, with its gradient from the residuals."""
    w = np.ones(len(times)) if weights is None else np.asarray(weights)
    size = w[events].sum()
    part, share = at_risk_of_events(times, events, w)

    def value(point):
        eta = columns @ point
        risk = np.exp(eta - eta.max())
        sums = part @ (w * risk)
        residuals = events - risk * (share / sums @ part)
        loss = (share @ (np.log(sums) + eta.max()) - (w * eta)[events].sum()) / size
        return loss + penalty / 2 * point @ point, -(w * residuals) @ columns / size + penalty * point

    return value


def fit(columns, times, events, weights, penalty, gtol=1e-12):
    """Weights by SciPy."""
    value = objective(columns, times, events, weights, penalty)
    bounds = [(0, None)] * columns.shape[1]
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 0, "gtol": gtol, "maxcor": 60}
    return minimize(value, np.zeros(columns.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B", options=options).x


def curvatures(columns, times, events, weights, eta):
    """The Hessian of minus the log-likelihood by weight of events: variances of the columns over who is at risk."""
    w = np.ones(len(times)) if weights is None else np.asarray(weights)
    total = np.zeros((columns.shape[1],) * 2)
    for part, share in zip(*at_risk_of_events(times, events, w)):
        risk = w * part * np.exp(eta)
        mean = risk @ columns / risk.sum()
        total += share * ((columns * risk[:, None]).T @ columns / risk.sum() - np.outer(mean, mean))
    return total / w[events].sum()


def largest_curvature(columns, times, events, weights):
    """The largest diagonal of the Hessian where all weights are zero, by differences of the gradient."""
    slope = objective(columns, times, events, weights, 0.0)
    step = 1e-5
    found = []
    for i in range(columns.shape[1]):
        shift = step * (np.arange(columns.shape[1]) == i)
        found.append((slope(shift)[1][i] - slope(-shift)[1][i]) / (2 * step))
    return max(found)


def cross_validated_loss(columns, times, events, weights, folds, penalty):
    """Minus l(all) - l(training), where weights are shares of those at risk at the first event."""
    w = np.ones(len(times)) if weights is None else np.asarray(weights)
    w = w / w[times >= times[events].min()].sum()
    total = 0.0
    for fold in np.unique(folds):
        rest = folds != fold
        point = fit(columns[rest], times[rest], events[rest], w[rest], penalty, gtol=1e-10)
        eta = columns @ point
        total += log_likelihood(times[rest], events[rest], eta[rest], w[rest]) - log_likelihood(times, events, eta, w)
    return total / w[events].sum()


def concordance(times, events, scores, weights=None):
    """Pair by pair: right, tied, all."""
    n = len(times)
    w = np.ones(n) if weights is None else weights
    sums = np.zeros(3)
    for i in range(n):
        for k in range(n):
            later = times[k] > times[i] or (times[k] == times[i] and not events[k])
            if events[i] and later and i != k:
                sums += w[i] * w[k] * np.array([scores[i] > scores[k], scores[i] == scores[k], True])
    return sums

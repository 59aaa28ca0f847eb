"""The nearest change by trying every combination of cells, with the model's own scores; slow, for the tests."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.optimize import linprog


def share_below(values, x):
    """What a model that keeps the deciles of these values says of the share below x."""
    known = values[~np.isnan(values)]
    places = grid_of(known)
    if x < places[0]:
        return 0.0
    if x > places[-1]:
        return 1.0
    shares = [0.0, *(np.mean(known < place) for place in places[1:-1]), 1.0]
    return float(np.interp(x, places, shares))


def grid_of(values):
    """The ends of the values, and between them distinct ones or, of many, quantiles."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    inner = distinct if len(distinct) <= 10 else np.unique(np.quantile(known, np.arange(1, 8) / 8))
    low, high = known.min(), known.max()
    return [low, *inner[(inner > low) & (inner < high)], high]


def remembering(model, X):
    """The model with what a fit keeps of its rows, of which nearest changes take the numbers alone."""
    columns = []
    for feature in model.features:
        own = {"missing": True}
        if feature.kind == "numeric":
            values = X[feature.name].to_numpy(float)
            low, *inner, high = map(float, grid_of(values))
            place = np.searchsorted(inner, values[~np.isnan(values)], side="right")
            weights = [*np.bincount(place, minlength=len(inner) + 1), np.isnan(values).sum()]
            own |= {"edges": " ".join(map(repr, inner)), "low": low, "high": high}
        else:
            weights = [*((X[feature.name] == level).sum() for level in feature.levels), 0, X[feature.name].isna().sum()]
            own |= {"levels": list(feature.levels)}
        columns.append({**own, "sums": " ".join(f"{float(weight)!r}" for weight in weights)})
    sums = {"n_rows": len(X), "weight": len(X), "squares": len(X), "n_outputs": 0, "out_of_fold": False, "list": ""}
    sums |= {"truth": "", "residuals": "", "error": "", "terms": [], "columns": columns}
    return replace(model, facts=replace(model.facts, reference=sums))


def edges_of(model, feature):
    found = set()
    for term in model.rules:
        found |= {step for i in term.columns if model.features[i].name == feature for step in term.steps_on(i)}
    return sorted(found)


def sloped(model):
    return {term.features[0] for term in model.rules if not term.conditions}


def options_of(model, row, X, feature, way, step):
    """(near, far, distance there, and there, whether it is a change) of every cell; far is None: no slope."""
    old = row[feature]
    stay = (old, None, 0.0, 0.0, False)
    if feature.startswith("c"):
        levels = next(own.levels for own in model.features if own.name == feature)
        return [stay, *((level, None, step, step, True) for level in levels if level != old)]
    ends = [-np.inf, *edges_of(model, feature), np.inf]
    values, has_slope = X[feature].to_numpy(float), feature in sloped(model)
    found = [stay]
    for low, high in itertools.pairwise(ends):
        last = np.nextafter(high, -np.inf) if np.isfinite(high) else high
        if np.isnan(old):
            pair = (low, last) if np.isfinite(low) else (last, low)
            pairs, own = [pair] if np.isfinite(pair[0]) else [], lambda x: step
        elif low <= old < high:
            pairs = [(old, last), (old, low)] if has_slope else []
            pairs = [pair for pair in pairs if np.isfinite(pair[1]) and pair[0] != pair[1]]
        else:
            pairs = [(low, last) if low > old else (last, low)]
        if not np.isnan(old):
            own = lambda x: abs(share_below(values, x) - share_below(values, old))  # noqa: E731
        for near, far in pairs:
            if not np.isnan(old) and ((way == "up" and far < near) or (way == "down" and far > near)):
                continue
            ends_here = (near, far) if has_slope and np.isfinite(far) else (near, None)
            found.append((*ends_here, own(near), own(far) if ends_here[1] is not None else own(near), True))
    return found


def margins_of(model, to, rows):
    """By how much each row is decided as wanted, [row, margin], from the model's scores and probabilities alone."""
    scores = model.scores(rows)
    if model.classes is not None:
        k = list(model.classes).index(to)
        weights = np.array(model.family.decision_weights)
        own = scores * weights if model.link == "identity" else scores + np.log(weights)
        return np.delete(own[:, [k]] - own, k, axis=1)
    low, high = to
    low, high = (None if end is None else np.log(end) if model.link == "log" else end for end in (low, high))
    return np.column_stack(
        [m for m in (None if low is None else scores - low, None if high is None else high - scores) if m is not None]
    )


def frame_of(model, rows):
    numeric = {own.name: own.kind == "numeric" for own in model.features}
    return pd.DataFrame({name: [r[name] for r in rows] for name in numeric}).astype(
        {name: float if is_number else object for name, is_number in numeric.items()}
    )


def nearest(model, row, to, X, *, fixed=(), directions=(), step=0.25, margin=1e-7):
    """(number of columns, distance) of the nearest change, or None."""
    names = [own.name for own in model.features]
    every = []
    for name in names:
        options = options_of(model, row, X, name, dict(directions).get(name), step)
        every.append(options[:1] if name in fixed else options)
    combos = list(itertools.product(*every))
    order = sorted(combos, key=lambda combo: (sum(o[4] for o in combo), sum(min(o[2], o[3]) for o in combo)))
    near = margins_of(model, to, frame_of(model, [dict(zip(names, (o[0] for o in combo))) for combo in order]))
    size = max(1.0, np.abs(margins_of(model, to, frame_of(model, [row]))).max())
    best = None
    for combo, own in zip(order, near):
        key = (sum(o[4] for o in combo), sum(o[2] for o in combo))
        if best is not None and key >= best:
            continue
        moving = [j for j, o in enumerate(combo) if o[1] is not None]
        if (own >= margin * size).all():
            best = key
        elif moving:
            places = [dict(zip(names, (o[1] if j == m else o[0] for j, o in enumerate(combo)))) for m in moving]
            gains = margins_of(model, to, frame_of(model, places)) - own
            costs = np.array([max(0.0, combo[m][3] - combo[m][2]) for m in moving])
            found = linprog(costs, A_ub=-gains.T, b_ub=own - margin * size, bounds=[(0, 1)] * len(moving))
            if found.status == 0:
                total = (key[0], key[1] + found.fun)
                best = total if best is None or total < best else best
    return best

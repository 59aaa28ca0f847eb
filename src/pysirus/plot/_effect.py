"""A model in, the effect of one or two features out as steps or a heat map; or the waterfall of one row.

A waterfall has the steps from the average to the prediction of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pysirus._families.links import fold_middle
from pysirus._text.format import decimals_for, format_date, format_threshold, true_minus
from pysirus._use.effect import MOST_LEVELS, Axis, Effect, Spread, level_groups, spread
from pysirus._use.effect import effect as effect_of
from pysirus._use.explain import Explanation, explain
from pysirus.plot._rules import DOWN, GREY, INSIDE, UP, bare, class_number, plain, pyplot, two_lines

LONGEST = 36  # characters of a level in a figure
MOST_DOTTED = 40  # thresholds that are marked one by one


def effect(
    model: Any, feature: str | int | Sequence[str | int], X: Any = None, ax: Any = None, class_: Any = None
) -> Any:
    """Plot the average prediction against a feature (exact steps and lines), or against two as a heat map.

    Ordered categories keep their order. If there are more than twelve categories, those that no rule distinguishes
    share a row.

    Parameters
    ----------
    model : Model or fitted estimator
        The model.
    feature : str, int, or a pair of these
        One or two columns, by name or position.
    X : data frame or array, optional
        Rows to average over; by default, the training proportions stored in the model. The axis spans the values of
        these rows, and its marks are their deciles. See docs/export.md for the definition.
    ax : matplotlib Axes, optional
        The axes to draw on; by default a new figure.
    class_ : label, optional
        For classifiers, the class whose probability is shown; by default the positive class, or the last of several. If
        the rules add up to a score, probabilities need X; without it the plot shows log-odds or, with several classes,
        scores.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pysirus import SirusRegressor, plot
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=10, n_trees=1000, random_state=0).fit(X, y)
    >>> fig, ax = plt.subplots(figsize=(6, 3.4))
    >>> ax = plot.effect(model, "temp", X, ax=ax)
    """
    model = model._as_model()
    found = effect_of(model, feature, X)
    k = class_number(model, class_)
    values, what = _values(found, model, k)
    ends = None if found.ends is None else _told(found.ends, model, k, found.predictions is not None)
    if ax is None:
        _, ax = pyplot().subplots(figsize=(6, 3.6 if len(found.axes) == 1 else 4.4), layout="constrained")
    if len(found.axes) == 2:
        return _heat_map(ax, found, values, what)
    (axis,) = found.axes
    if axis.is_numeric and (axis.edges or not axis.has_missing or X is not None):
        own = spread(model, axis, None if X is None else model.align(X))
        _steps(ax, axis, values, _limits(axis, own, 0.35 if ends is None else 0.08), ends)
        if own is not None:  # where the rows lie
            below = ax.get_xaxis_transform()
            ax.plot(
                own.deciles, [0.0] * len(own.deciles), "|", color=GREY, markersize=9, transform=below, clip_on=False
            )
    elif not axis.is_numeric and len(axis.labels) - axis.has_missing > MOST_LEVELS:
        return _level_rows(ax, axis, values, what)
    else:
        _dots(ax, _step_names(axis), values)
    ax.set_xlabel(plain(axis.feature))
    ax.set_ylabel(plain(what))
    ax.margins(y=0.12)
    bare(ax, "left", "bottom")
    return ax


def _values(found: Effect, model: Any, k: int) -> tuple[Any, str]:
    """What is drawn, and its name: average predictions where they are known, else average scores."""
    family = model.family
    if found.predictions is not None:
        return _told(found.predictions, model, k, True), f"average {family.prediction_of(k)}"
    what = family.scale_of(k) if family.is_scored or family.shape else f"predicted {model.target}"
    return _told(found.values, model, k, False), f"average {what}"


def _told(values: Any, model: Any, k: int, predicted: bool) -> Any:
    """The part of class k: of predictions, or of scores."""
    if predicted:
        return values[..., k] if model.family.shape else values
    return model.family.of_class(values, k)


def _limits(axis: Axis, own: Spread | None, share: float) -> tuple[float, float]:
    """The ends of the axis: those of the rows, else a margin around thresholds, less around the range of a slope."""
    if own is not None:
        return own.low, own.high
    if not axis.edges:
        return 0.0, 1.0
    low, high = axis.edges[0], axis.edges[-1]
    margin = share * (high - low) or (365.0 if axis.column.is_date else 0.5 * abs(low)) or 1.0
    return low - margin, high + margin


def _steps(ax: Any, axis: Axis, values: Any, limits: tuple[float, float], ends: Any = None) -> None:
    n_known = len(axis.edges) + 1
    low, high = min([limits[0], *axis.edges]), max([limits[1], *axis.edges])
    edges = [low, *axis.edges, high]
    for edge in axis.edges if len(axis.edges) < MOST_DOTTED else ():
        ax.axvline(edge, color=GREY, linewidth=0.5, linestyle=":", zorder=0)
    if axis.column.is_date:
        ax.xaxis_date()  # whose days begin in 1970, too
        ax.tick_params(axis="x", labelrotation=25)
    if ends is None:
        ax.stairs(values[:n_known], edges, color=INSIDE, linewidth=2, baseline=None)
    else:  # the value at which each step begins and ends
        ax.plot(np.repeat(edges, 2)[1:-1], np.ravel(ends), color=INSIDE, linewidth=2)
    if axis.has_missing:
        place = high + 0.1 * (high - low)
        ax.plot(place, values[n_known], marker="o", color=INSIDE)
        ax.annotate(
            "missing", (place, values[n_known]), xytext=(0, 8), textcoords="offset points", ha="center", fontsize=8
        )
        ax.set_xlim(low, high + 0.2 * (high - low))


def _dots(ax: Any, names: list[str], values: Any) -> None:
    places = range(len(names))
    ax.vlines(places, min(values), values, color=GREY, linewidth=0.8, linestyle=":")
    ax.plot(places, values, "o", color=INSIDE)
    turned = len(names) > 6 or max(map(len, names), default=0) > 10
    ax.set_xticks(places, names, rotation=40 if turned else 0, ha="right" if turned else "center")


def _level_rows(ax: Any, axis: Axis, values: Any, what: str) -> Any:
    """Many levels, a row for those that no rule tells apart, with their names beside it."""
    groups = level_groups(axis, np.asarray(values, dtype=np.float64))[::-1]
    heights = [float(group.value[0]) for group in groups]
    ax.hlines(range(len(groups)), min(heights), heights, color=GREY, linewidth=0.8, linestyle=":")
    ax.plot(heights, range(len(groups)), "o", color=INSIDE)
    ax.set_yticks(range(len(groups)), [plain(fold_middle(group.label, LONGEST)) for group in groups])
    ax.set_ylabel(plain(axis.feature))
    ax.set_xlabel(plain(what))
    ax.margins(0.08)
    bare(ax, "left", "bottom")
    return ax


def _step_names(axis: Axis) -> list[str]:
    """What each step says: of a number without thresholds, rules ask at most whether it is known."""
    if not axis.is_numeric:
        return [plain(label) for label in axis.labels]
    ends = [(format_date if axis.column.is_date else format_threshold)(edge) for edge in axis.edges]
    if not ends:
        return ["known" if axis.has_missing else "any", *axis.labels]
    between = [f"{a} to {b}" for a, b in pairwise(ends)]
    return [*map(true_minus, (f"< {ends[0]}", *between, f"≥ {ends[-1]}")), *axis.labels]


def _cells(axis: Axis) -> tuple[list[int], list[float], list[tuple[float, str]]]:
    """The steps that are cells of a heat map, their borders, and the names below with their places.

    Along a slope a cell is as wide as its step; elsewhere all are of one width.
    """
    names, edges = _step_names(axis), axis.edges
    if not axis.has_slope:
        return list(range(len(names))), [k - 0.5 for k in range(len(names) + 1)], list(enumerate(names))
    ticks = pyplot().MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(edges[0], edges[-1])
    places = [(tick, true_minus(format_threshold(tick))) for tick in ticks if edges[0] <= tick <= edges[-1]]
    inside = list(range(1, len(edges)))  # beyond its range a slope stays as it is
    if not axis.has_missing:
        return inside, [*edges], places
    end = edges[-1] + 0.12 * (edges[-1] - edges[0])
    return [*inside, len(edges) + 1], [*edges, end], [*places, ((edges[-1] + end) / 2, names[-1])]


def _heat_map(ax: Any, found: Effect, values: Any, what: str) -> Any:
    """Draw what is predicted over two features; where cells are few, each has its number."""
    (x_steps, x_borders, x_names), (y_steps, y_borders, y_names) = map(_cells, found.axes)
    values = values[np.ix_(x_steps, y_steps)]
    image = ax.pcolormesh(x_borders, y_borders, values.T, cmap="viridis")
    for axis, names, set_ticks in zip(found.axes, (x_names, y_names), (ax.set_xticks, ax.set_yticks)):
        turned = axis is found.axes[0] and not axis.has_slope and len(names) > 3
        set_ticks(*zip(*names), **({"rotation": 35, "ha": "right"} if turned else {}))
    middle = float(values.min() + values.max()) / 2
    if values.size <= 64 and not any(axis.has_slope for axis in found.axes):
        for (i, j), value in np.ndenumerate(values):
            colour = "white" if value < middle else "black"
            ax.text(i, j, true_minus(f"{value:.3g}"), ha="center", va="center", color=colour, fontsize=8)
    first, second = found.axes
    ax.set_xlabel(plain(first.feature))
    ax.set_ylabel(plain(second.feature))
    ax.tick_params(length=0)
    bare(ax)
    ax.figure.colorbar(image, ax=ax, label=plain(what))
    return ax


START = {"average": "average training row", "mean": "mean of the training rows", "intercept": "intercept"}


def waterfall(model: Any, row: Any, ax: Any = None, class_: Any = None) -> Any:
    """Plot how the rules lead from the average training row to the prediction for one row, largest step first.

    Parameters
    ----------
    model : Model or fitted estimator
        The model.
    row : data frame, array or Explanation of one row
        The row, for example ``X[12:13]``. For an explanation with raw contributions the plot starts at the intercept.
    ax : matplotlib Axes, optional
        The axes to draw on; by default a new figure.
    class_ : label, optional
        For classifiers, the class whose probability, log-odds or score is shown; the axis names it. By default the
        positive class or, with several classes, the predicted one.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pysirus import SirusRegressor, plot
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=6, n_trees=1000, random_state=0).fit(X, y)
    >>> fig, ax = plt.subplots(figsize=(7, 3.4))
    >>> ax = plot.waterfall(model, X[12:13], ax=ax)
    """
    model = model._as_model()
    explanation = row if isinstance(row, Explanation) else explain(model, row)
    if len(explanation) != 1:
        raise ValueError(f"A waterfall shows one row, got {len(explanation)}: pass X[i:i+1] or explanation[i].")
    if class_ is None and len(model.classes or ()) > 2:
        class_ = model.classes[int(explanation.prediction[0].argmax())]
    k = class_number(model, class_)
    steps = model.family.of_class(explanation.contributions[0], k)
    start = float(model.family.of_class(np.asarray(explanation.baseline), k))
    order = np.argsort(-np.abs(steps), kind="stable")
    if ax is None:
        _, ax = pyplot().subplots(figsize=(8, 1.2 + 0.36 * (len(steps) + 2)), layout="constrained")
    _draw(ax, explanation, start, steps[order], order)
    ax.set_xlabel(plain(model.family.scale_of(k)))
    if model.family.is_scored:
        ends = [np.ravel(explanation.running[0, i])[k] for i in (0, -1)]
        _name_predictions(ax, [model.family.prediction_text(float(value)) for value in ends])
    return ax


def _name_predictions(ax: Any, texts: list[str]) -> None:
    """What the scores at both ends stand for, in the names of their lines."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    ax.set_yticks(ax.get_yticks(), [f"{names[0]}: {texts[0]}", *names[1:-1], f"{names[-1]}: {texts[1]}"])


def _draw(ax: Any, explanation: Explanation, start: float, steps: Any, order: Any) -> None:
    ends = start + np.cumsum(steps)
    begins = np.concatenate([[start], ends[:-1]]) if len(steps) else np.zeros(0)
    places = np.arange(1, len(steps) + 1)
    ax.barh(places, steps, left=begins, height=0.62, color=[UP if s >= 0 else DOWN for s in steps])
    prediction = ends[-1] if len(steps) else start
    everything = np.concatenate([[start], ends])
    span = float(np.ptp(everything)) or 1.0
    decimals = max(decimals_for([float(prediction)], 0.0), decimals_for([span], 0.0), 1)
    for place, begin, end, step in zip(places, begins, ends, steps):
        ax.text(max(begin, end) + 0.015 * span, place, true_minus(f"{step:+.{decimals}f}"), va="center", fontsize=8)
    levels = [start, *ends]
    for n, level in enumerate(levels):
        ax.plot([level, level], [n - 0.31, n + 1.31], color=GREY, linewidth=0.7)
    for n, value in ((0, start), (len(steps) + 1, prediction)):
        ax.plot(value, n, marker="D", color="black", markersize=5)
        ax.text(
            value + 0.02 * span,
            n,
            f"{value:.{decimals}f}".replace("-", "−"),
            va="center",
            fontweight="bold",
            fontsize=9,
        )
    names = [START[explanation.measured_from]]
    for r in order:
        text = explanation.names[int(r)]
        names.append(two_lines(text if explanation.fired[0, r] else f"not ({text})"))
    ax.set_yticks(range(len(steps) + 2), [*names, "prediction"], fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(steps) + 1.6, -0.6)
    ax.set_xlim(everything.min() - 0.06 * span, everything.max() + 0.16 * span)
    bare(ax, "bottom")

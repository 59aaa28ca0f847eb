"""A model and a row in, the steps from the average to its prediction out."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysirus._format import decimals_for
from pysirus._use.explain import Explanation, explain
from pysirus.plot._axes import DOWN, GREY, UP, bare, class_number, plain, pyplot, two_lines

START = {"average": "average training row", "mean": "mean of the training rows", "intercept": "intercept"}


def waterfall(model: Any, row: Any, ax: Any = None, class_: Any = None) -> Any:
    """Draw how the rules lead from the average training row to the prediction of one row, largest step first.

    Parameters
    ----------
    model : Model or fitted estimator
        The model.
    row : data frame, array or Explanation of one row
        The row, for example ``X[12:13]``. An explanation with raw contributions is drawn from the intercept on.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    class_ : label, optional
        For classifiers: the class whose probability, or with scores whose log-odds or score, is drawn. By default the
        positive one of two, whatever is predicted, and of several the predicted one; the axis names it.

    Returns
    -------
    ax : matplotlib Axes
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
        ax.text(max(begin, end) + 0.015 * span, place, f"{step:+.{decimals}f}", va="center", fontsize=8)
    levels = [start, *ends]
    for n, level in enumerate(levels):
        ax.plot([level, level], [n - 0.31, n + 1.31], color=GREY, linewidth=0.7)
    for n, value in ((0, start), (len(steps) + 1, prediction)):
        ax.plot(value, n, marker="D", color="black", markersize=5)
        ax.text(value + 0.02 * span, n, f"{value:.{decimals}f}", va="center", fontweight="bold", fontsize=9)
    names = [START[explanation.measured_from]]
    for r in order:
        text = explanation.names[int(r)]
        names.append(two_lines(text if explanation.fired[0, r] else f"not ({text})"))
    ax.set_yticks(range(len(steps) + 2), [*names, "prediction"], fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(steps) + 1.6, -0.6)
    ax.set_xlim(everything.min() - 0.06 * span, everything.max() + 0.16 * span)
    bare(ax, "bottom")

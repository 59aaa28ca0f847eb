"""A survival model, rows and what became of them in, curves out: what was observed, and what is predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.read import read_weights
from pysirus._families.survival import Times, read_survival
from pysirus._parameters import ParameterError, check_integer
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.survival import Curve, kaplan_meier
from pysirus.plot._rules import DOWN, GREY, INSIDE, bare, plain, pyplot, two_lines

Flags = NDArray[np.bool_]
SHADES = ("#1f5fa8", "#63a5dc", "#e69f00", "#c25e00", "#7d5ba6", "#6b7280")


def kaplan_meier_curves(
    model: Any, rule: FittedTerm | int, X: Any, y: Any, sample_weight: Any = None, ax: Any = None
) -> Any:
    """Draw the share without an event inside and outside a rule, as Kaplan and Meier estimate it.

    Parameters
    ----------
    model : Model or fitted estimator
        A survival model.
    rule : Rule or int
        One of its rules, or its position in ``rules_``.
    X : data frame or array of shape (n_rows, n_columns)
        The rows.
    y : structured array, or a table of two columns
        Their events and times.
    sample_weight : array of shape (n_rows,), optional
        Their weights.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
    """
    model, table, times, weights = _read(model, X, y, sample_weight)
    own = model.rules[rule] if isinstance(rule, (int, np.integer)) else rule
    holds = own.holds(table)
    if ax is None:
        _, ax = pyplot().subplots(figsize=(6, 3.8), layout="constrained")
    for rows, colour, what in ((holds, INSIDE, "if so"), (~holds, DOWN, "if not")):
        if rows.any():
            curve = _curve(times, rows, weights)
            n_events = int(times.events[rows].sum())
            _draw(ax, curve, colour, f"{what}: {n_events} events in {int(rows.sum())} rows")
    ax.set_title(two_lines(f"if {own.condition_text}"), fontsize=10)
    return _finish(ax, model)


def predicted_survival(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, n_groups: int = 4, ax: Any = None
) -> Any:
    """Plot predicted against observed survival curves for groups of increasing risk.

    Lines are the observed shares without an event (Kaplan and Meier), dashed lines the mean predicted survival
    functions of the same rows. Use rows that the model was not fitted on.

    Parameters
    ----------
    model : Model or fitted estimator
        A survival model.
    X, y, sample_weight
        As in ``kaplan_meier``.
    n_groups : int, default=4
        Groups of about equal size, by risk score.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_integer("n_groups", n_groups, 1, len(SHADES))
    model, table, times, weights = _read(model, X, y, sample_weight)
    scores = np.round(model.decision(table), 12)
    cuts = np.unique(np.quantile(scores, np.arange(1, n_groups) / n_groups))
    group = np.searchsorted(cuts, scores, side="right")
    hazard = model.required_survival.hazard
    if ax is None:
        _, ax = pyplot().subplots(figsize=(6, 3.8), layout="constrained")
    present = np.unique(group).tolist()
    for k in present:
        rows, colour = group == k, SHADES[present.index(k)]
        name = "all rows" if len(present) == 1 else f"risk group {present.index(k) + 1} of {len(present)}"
        _draw(ax, _curve(times, rows, weights), colour, name)
        mass = np.ones(int(rows.sum())) if weights is None else weights[rows]
        mean = np.average(hazard.survival(scores[rows], hazard.times), axis=0, weights=mass)
        ax.step([0.0, *hazard.times], [1.0, *mean], where="post", color=colour, linestyle="--", linewidth=1.2)
    ax.set_title("observed (lines) and predicted (dashed)", fontsize=10)
    return _finish(ax, model)


def _read(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Times, Any]:
    model = model._as_model()
    if not model.family.has_hazard:
        raise ParameterError("This plot is for times to an event (SirusSurvival), which this model does not predict.")
    table = model.align(X)
    return (
        model,
        table,
        read_survival(y, table.n_rows, model.required_survival.event_value),
        read_weights(sample_weight, table.n_rows),
    )


def _curve(times: Times, rows: Flags, weights: Any) -> Curve:
    return kaplan_meier(times.times[rows], times.events[rows], None if weights is None else weights[rows])


def _draw(ax: Any, curve: Curve, colour: str, name: str) -> None:
    x, y = [0.0, *curve.times, curve.last], [1.0, *curve.share]
    ax.step(x, [*y, y[-1]], where="post", color=colour, linewidth=1.8, label=plain(name))


def _finish(ax: Any, model: Any) -> Any:
    ax.axhline(0.5, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
    ax.set_ylim(0, 1.03)
    ax.set_xlim(left=0)
    ax.set_xlabel(plain(model.target))
    ax.set_ylabel(plain(f"share without {model.required_survival.event_text}"))
    ax.legend(frameon=False, fontsize=8)
    bare(ax, "left", "bottom")
    return ax

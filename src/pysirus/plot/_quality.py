"""Predictions and what became of the rows in, curves out: how good probabilities are, and how long rows survived.

Of a classifier all three curves draw the same groups of rows, given or held out: by rising probability of a class, the
weight of those that are of it and not. Of a survival model they show what was observed, and what is predicted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._families.read import read_weights
from pysirus._families.survival import Times, read_survival
from pysirus._model.held_out import Bins, bins_of
from pysirus._model.model import Model
from pysirus._parameters import ParameterError, check_integer
from pysirus._terms.fitted import FittedTerm
from pysirus._weights.survival import Curve, kaplan_meier
from pysirus.plot._rules import DOWN, GREY, INSIDE, bare, class_number, plain, pyplot, two_lines

Floats = NDArray[np.float64]
FINE = 100_000  # groups of rows in curves: in effect one for each probability
RULED = 0.93  # the grey of thin lines


def calibration(
    model: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    n_groups: int = 10,
    class_: Any = None,
    ax: Any = None,
) -> Any:
    """Plot observed shares against predicted probabilities, in groups of rows of equal size.

    If the probabilities are calibrated, the dots lie on the diagonal. Bars show two standard errors, assuming
    independent rows. The marks on the lower axis are deciles of the predicted probabilities.

    Parameters
    ----------
    model : Model or fitted estimator
        A classifier.
    X : data frame or array of shape (n_rows, n_columns), optional
        Rows that the model was not fitted on. By default, the held-out rows stored in a tuned model.
    y : array of shape (n_rows,), optional
        Their classes.
    sample_weight : array of shape (n_rows,), optional
        Their weights.
    n_groups : int, default=10
        Number of groups, at most 50.
    class_ : label, optional
        The class whose probability is shown; by default the positive class, or the last of several.
    ax : matplotlib Axes, optional
        The axes to draw on; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pysirus import SirusClassifier, plot
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SirusClassifier(n_rules=5, n_trees=500, random_state=0).fit(X[::2], y[::2])
    >>> ax = plot.calibration(model, X[1::2], y[1::2])
    >>> ax.get_ylabel()
    'share of rows that are 1'
    """
    check_integer("n_groups", n_groups, 2, 50)
    model, found, name, rows = _groups(model, X, y, sample_weight, class_, "calibration")
    total = found.members + found.others
    own = bins_of(
        0,
        np.repeat(found.probability, 2),
        np.tile([True, False], len(total)),
        np.stack([found.members, found.others], axis=1).ravel(),
        n_groups,
    )
    mass = own.members + own.others
    share = own.members / mass
    count = mass * (rows / mass.sum())  # weights as numbers of rows
    error = 2 * np.sqrt(share * (1 - share) / np.maximum(count, 1))
    ax = _square(ax)
    below, above = share - np.maximum(share - error, 0), np.minimum(share + error, 1) - share
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle="--", zorder=1)
    ax.errorbar(own.probability, share, yerr=[below, above], fmt="o", color=INSIDE, ecolor=INSIDE, elinewidth=1)
    deciles = np.interp(np.arange(0.1, 1, 0.1), np.cumsum(total) / total.sum(), found.probability)
    ax.plot(deciles, np.zeros(len(deciles)), "|", color=GREY, markersize=9, clip_on=False)
    ax.set_xlabel(plain(f"predicted probability of {name}"))
    ax.set_ylabel(plain(f"share of rows that are {name}"))
    return ax


def roc(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, class_: Any = None, ax: Any = None
) -> Any:
    """Plot the ROC curve: the true positive rate against the false positive rate of a class.

    Parameters
    ----------
    model, X, y, sample_weight, class_, ax
        As in ``calibration``.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pysirus import SirusClassifier, plot
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SirusClassifier(n_rules=5, n_trees=500, random_state=0).fit(X[::2], y[::2])
    >>> plot.roc(model, X[1::2], y[1::2]).get_legend().get_texts()[0].get_text()
    'AUC 0.96'
    """
    model, found, name, _ = _groups(model, X, y, sample_weight, class_, "roc")
    hits, false = _from_above(found.members), _from_above(found.others)
    ax = _square(ax)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle="--", zorder=1)
    ax.plot(false, hits, color=INSIDE, linewidth=1.8, label=f"AUC {_area(false, hits):.2f}")
    ax.set_xlabel(plain(f"share of others taken for {name}"))
    ax.set_ylabel(plain(f"share of {name} found"))
    ax.legend(frameon=False, loc="lower right")
    return ax


def gain(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, class_: Any = None, ax: Any = None
) -> Any:
    """Plot the gain curve: the share of a class found among the rows with the highest probabilities.

    The dashed line shows rows in random order, the grey line the best possible order.

    Parameters
    ----------
    model, X, y, sample_weight, class_, ax
        As in ``calibration``.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pysirus import SirusClassifier, plot
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SirusClassifier(n_rules=5, n_trees=500, random_state=0).fit(X[::2], y[::2])
    >>> plot.gain(model, X[1::2], y[1::2]).get_xlabel()
    'share of rows, highest probability first'
    """
    model, found, name, _ = _groups(model, X, y, sample_weight, class_, "gain")
    ax = _square(ax)
    share = float(found.members.sum() / (found.members + found.others).sum())
    ax.plot([0, share, 1], [0, 1, 1], color="0.75", linewidth=1, zorder=1, label="perfect order")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle="--", zorder=1, label="random order")
    rows = _from_above(found.members + found.others)
    ax.plot(rows, _from_above(found.members), color=INSIDE, linewidth=1.8, label="by the rules")
    ax.set_xlabel("share of rows, highest probability first")
    ax.set_ylabel(plain(f"share of {name} found"))
    ax.legend(frameon=False, loc="lower right")
    return ax


def _groups(model: Any, X: Any, y: Any, sample_weight: Any, class_: Any, figure: str) -> tuple[Model, Bins, str, float]:
    """The model, its rows by probability, the name of the class, and the number of rows."""
    model = model._as_model()
    if model.classes is None:
        raise ParameterError(f"plot.{figure} is for classifiers; this model predicts numbers.")
    if (X is None) != (y is None):
        raise ParameterError(
            f"plot.{figure} takes X and y together, or neither for the held-out rows of a tuned model."
        )
    k = class_number(model, class_)
    name = str(model.classes[k])
    if X is not None:
        probability = model.predict_proba(X)[:, k]
        truth = model.family.read_truth(y, len(probability), model.labels) == k
        weights = read_weights(sample_weight, len(probability))
        mass = np.ones(len(probability)) if weights is None else weights
        found = bins_of(k, probability, truth, mass, FINE)
        return model, _both_sides(found, name, figure), name, float(len(probability))
    if model.out_of_fold is None or not model.out_of_fold.bins:
        raise ParameterError(f"The model keeps no held-out rows: tune it, or give plot.{figure} rows, X and y.")
    found = _of_class(model.out_of_fold.bins, k, len(model.classes))
    return model, _both_sides(found, name, figure), name, float((found.members + found.others).sum())


def _of_class(kept: tuple[Bins, ...], k: int, n_classes: int) -> Bins:
    """The groups of a class; of two classes those of the other one, turned round."""
    for own in kept:
        if own.code == k:
            return own
    own = kept[0]
    if n_classes != 2:
        raise ParameterError("The model keeps the held-out rows of other classes only: give X and y.")
    return Bins(k, 1 - own.probability[::-1], own.others[::-1], own.members[::-1])


def _both_sides(found: Bins, name: str, figure: str) -> Bins:
    if not found.members.sum() or not found.others.sum():
        raise ParameterError(f"plot.{figure} needs rows that are {name} and rows that are not.")
    return found


def _from_above(weights: Floats) -> Floats:
    """The share of a weight in the rows from the highest probability down, from 0 to 1."""
    return np.concatenate([[0.0], np.cumsum(weights[::-1]) / weights.sum()])


def _area(x: Floats, y: Floats) -> float:
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))


def _square(ax: Any) -> Any:
    if ax is None:
        _, ax = pyplot().subplots(figsize=(4.4, 4.4), layout="constrained")
    ax.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
    ax.grid(color=str(RULED))
    ax.set_axisbelow(True)
    bare(ax, "left", "bottom")
    return ax


Flags = NDArray[np.bool_]
SHADES = ("#1f5fa8", "#63a5dc", "#e69f00", "#c25e00", "#7d5ba6", "#6b7280")


def kaplan_meier_curves(
    model: Any, rule: FittedTerm | int, X: Any, y: Any, sample_weight: Any = None, ax: Any = None
) -> Any:
    """Plot Kaplan-Meier curves of the rows inside and outside a rule.

    Parameters
    ----------
    model : Model or fitted estimator
        A survival model.
    rule : Rule or int
        A rule of the model, or its position in ``rules_``.
    X : data frame or array of shape (n_rows, n_columns)
        The rows.
    y : structured array, or a table of two columns
        Their events and times.
    sample_weight : array of shape (n_rows,), optional
        Their weights.
    ax : matplotlib Axes, optional
        The axes to draw on; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from pysirus import SirusSurvival, plot
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> time = rng.exponential(np.exp(-X[:, 0]))
    >>> y = np.array(list(zip(time < 2, np.minimum(time, 2))), dtype=[("event", bool), ("time", float)])
    >>> model = SirusSurvival(n_rules=3, n_trees=500, random_state=0).fit(X, y)
    >>> fig, ax = plt.subplots(figsize=(6, 3.8))
    >>> ax = plot.kaplan_meier(model, 0, X, y, ax=ax)
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

    Solid lines are Kaplan-Meier curves; dashed lines are the mean predicted survival functions of the same rows. Use
    rows that the model was not fitted on.

    Parameters
    ----------
    model : Model or fitted estimator
        A survival model.
    X, y, sample_weight
        As in ``kaplan_meier``.
    n_groups : int, default=4
        Number of groups, of about equal size, by risk score.
    ax : matplotlib Axes, optional
        The axes to draw on; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from pysirus import SirusSurvival, plot
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> time = rng.exponential(np.exp(-X[:, 0]))
    >>> y = np.array(list(zip(time < 2, np.minimum(time, 2))), dtype=[("event", bool), ("time", float)])
    >>> model = SirusSurvival(n_rules=3, n_trees=500, random_state=0).fit(X[::2], y[::2])
    >>> fig, ax = plt.subplots(figsize=(6, 3.8))
    >>> ax = plot.predicted_survival(model, X[1::2], y[1::2], ax=ax)
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

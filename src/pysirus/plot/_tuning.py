"""A tuned model in, its tuning path as a figure out: the paper's figures for Diabetes, Machine and Ozone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pysirus._model.tuning import Tuning
from pysirus._parameters import ParameterError
from pysirus.plot._rules import DOWN_TEXT as CHOSEN
from pysirus.plot._rules import GREY, INSIDE, bare, pyplot

BETWEEN_FOLDS = "stability between folds"


class _Tuned(NamedTuple):
    """What is drawn of a tuned model: the entries of the path that its sizes have, and its own size."""

    tuning: Tuning
    error_name: str
    n_rules: int  # selected ones, of the model itself

    @property
    def step(self) -> int:
        """The entry of the path that the model has."""
        return self.tuning.step_of(self.n_rules)

    @property
    def choice(self) -> str:
        """How many rules the chosen list has, in words."""
        n = self.tuning.numbers(self.n_rules).weighted
        return f"chosen: {n} rule{'' if n == 1 else 's'}"


def _tuned(model: Any) -> _Tuned:
    model = model._as_model()
    if model.tuning is None or not model.tuning.sizes:
        raise ParameterError("The model was not tuned: fit SirusRegressorCV or SirusClassifierCV.")
    return _Tuned(model.tuning, model.family.error_name, len(model.selected))


def tuning_path(model: Any, axes: Any = None) -> Any:
    """Plot error and stability between folds against the number of rules, with error bars; the chosen size is marked.

    Numbers of rules are means over the lists of the folds, on which error and stability were measured.

    Parameters
    ----------
    model : Model or fitted estimator
        A tuned model.
    axes : pair of matplotlib Axes, optional
        The axes for the error and the stability; by default a new figure with one above the other.

    Returns
    -------
    axes : ndarray of two matplotlib Axes

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pysirus import SirusRegressorCV, plot
    >>> from pysirus.datasets import load_machine
    >>> X, y = load_machine(return_X_y=True, as_frame=True)
    >>> model = SirusRegressorCV(n_repeats=2, n_trees=500, n_stages=1, random_state=0).fit(X, y)
    >>> fig, axes = plt.subplots(2, figsize=(6.5, 5), sharex=True)
    >>> axes = plot.tuning_path(model, axes=axes)
    """
    tuned = _tuned(model)
    tuning, path = tuned.tuning, tuned.tuning.path
    if axes is None:
        _, axes = pyplot().subplots(2, 1, figsize=(5.2, 5.6), sharex=True, layout="constrained")
    points, chosen = np.array(tuning.steps), tuned.step
    curves = ((path.error, path.error_se, tuned.error_name), (path.stability, path.stability_se, BETWEEN_FOLDS))
    for ax, (values, errors, name) in zip(axes, curves):
        ax.errorbar(
            path.n_rules[points],
            values[points],
            yerr=2 * errors[points],
            color=INSIDE,
            ecolor=GREY,
            elinewidth=0.8,
            capsize=2,
            marker="o",
            markersize=3.5,
            linewidth=1.1,
        )
        ax.axvline(path.n_rules[chosen], color=CHOSEN, linewidth=1, linestyle="--", zorder=0)
        ax.plot(path.n_rules[chosen], values[chosen], marker="D", markersize=8, color=CHOSEN, zorder=3)
        ax.set_ylabel(name)
        ax.grid(axis="y", color="0.92")
        ax.set_axisbelow(True)
        bare(ax, "left", "bottom")
    top = axes[0]
    top.annotate(
        f"chosen: {path.n_rules[chosen]:.1f} per fold\np0 = {tuning.sizes[tuned.n_rules - 1].p0:.3f}",
        (path.n_rules[chosen], 1),
        xycoords=("data", "axes fraction"),
        xytext=(6 if path.n_rules[chosen] < 0.5 * path.n_rules.max() else -6, -2),
        textcoords="offset points",
        ha="left" if path.n_rules[chosen] < 0.5 * path.n_rules.max() else "right",
        va="top",
        color=CHOSEN,
        fontsize=9,
    )
    _mark_smallest(top, tuned)
    bars = " (bars: two standard errors)" if np.nanmax(path.error_se[points]) > 0 else ""
    axes[-1].set_xlabel(f"rules per fold, on average{bars}")
    axes[-1].set_xlim(left=0)
    return np.asarray(axes)


def _mark_smallest(ax: Any, tuned: _Tuned) -> None:
    """Say which list has the smallest error, where another one was chosen."""
    best, path = tuned.tuning.smallest_error, tuned.tuning.path
    if best.n_rules == tuned.n_rules:
        return
    numbers = tuned.tuning.numbers(best.n_rules)
    ax.plot(numbers.per_fold, best.error, marker="o", markersize=8, markerfacecolor="none", color=GREY, zorder=3)
    on_the_right = numbers.per_fold > 0.5 * path.n_rules.max()
    ax.annotate(
        f"smallest: {best.error:.3f}, {numbers.per_fold:.1f} per fold",
        (numbers.per_fold, best.error),
        xytext=(8 if on_the_right else -8, 40),
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6},
        textcoords="offset points",
        ha="right" if on_the_right else "left",
        va="bottom",
        color=GREY,
        fontsize=8,
    )


def pareto(model: Any, ax: Any = None) -> Any:
    """Plot error against stability between folds: a point for each list, the ideal point, the chosen list in orange.

    Better lists are lower and further right. The numbers beside the points count rules with positive weight.

    Parameters
    ----------
    model : Model or fitted estimator
        A tuned model.
    ax : matplotlib Axes, optional
        The axes to draw on; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pysirus import SirusRegressorCV, plot
    >>> from pysirus.datasets import load_machine
    >>> X, y = load_machine(return_X_y=True, as_frame=True)
    >>> model = SirusRegressorCV(n_repeats=2, n_trees=500, n_stages=1, random_state=0).fit(X, y)
    >>> fig, ax = plt.subplots(figsize=(6.5, 4))
    >>> ax = plot.pareto(model, ax=ax)
    """
    tuned = _tuned(model)
    tuning, path = tuned.tuning, tuned.tuning.path
    if ax is None:
        _, ax = pyplot().subplots(figsize=(5.2, 4.6), layout="constrained")
    points, chosen = np.array(tuning.steps), tuned.step
    error, stability = path.error[points], path.stability[points]
    ax.plot(stability, error, color="0.8", linewidth=0.8, zorder=1)
    ax.scatter(stability, error, s=26, color=INSIDE, zorder=2, label="lists of other lengths")
    ax.plot(
        [path.ideal.stability, path.stability[chosen]],
        [0, path.error[chosen]],
        color=CHOSEN,
        linewidth=0.9,
        linestyle="--",
        zorder=1,
    )
    ax.scatter(path.stability[chosen], path.error[chosen], s=90, marker="D", color=CHOSEN, zorder=3, label=tuned.choice)
    ideal = f"ideal: {path.ideal.words('error')}"
    ax.scatter(path.ideal.stability, 0, s=120, marker="*", color="black", zorder=3, clip_on=False, label=ideal)
    _number_points(ax, tuning)
    ax.set_xlabel(BETWEEN_FOLDS)
    ax.set_ylabel(tuned.error_name)
    ax.set_ylim(bottom=0)
    ax.set_xlim(right=min(1.02, max(path.ideal.stability + 0.02, stability.max() + 0.03)))
    ax.grid(color="0.94")
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=9, loc="best")
    bare(ax, "left", "bottom")
    return ax


def _number_points(ax: Any, tuning: Tuning) -> None:
    """Write the number of rules with a weight beside a few points that are far enough from each other."""
    last, said = (np.inf, np.inf), ""
    for size in tuning.sizes:
        place, text = (size.stability, size.error), str(tuning.numbers(size.n_rules).weighted)
        if text == said or (abs(place[1] - last[1]) < 0.03 and abs(place[0] - last[0]) < 0.06):
            continue
        last, said = place, text
        ax.annotate(text, place, xytext=(6, 4), textcoords="offset points", fontsize=8, color=GREY)


# ---------------------------------------------------------------------------------------------------------------- front

# Alternatives to a rule list in, their loss against their stability as a figure out; the front is a line.


COVERED, BESIDE = 4.0, 34.0  # points of the figure: one lies on another, or leaves no room for its number
FRAME = 4.0  # points by which the mark of one that is covered is larger


def _places(alternatives: Any) -> Any:
    """Where alternatives lie, about, in points of the figure, [alternative, 2]."""
    places = np.array([[own.stability, own.loss] for own in alternatives])
    low = np.nanmin(places, axis=0)
    extent = np.nanmax(places, axis=0) - low
    return (places - low) / np.where(extent > 0, extent, 1.0) * (430, 280)


def _number(ax: Any, alternatives: Any, places: Any, i: int, near: Any) -> None:
    """How many rules those on a place have, to its right, or to its left where another lies there."""
    counts = dict.fromkeys(str(own.n_rules) for own, here in zip(alternatives, near) if here)
    right, up = (places - places[i])[~near].T
    beside = ((right > 0) & (right < BESIDE) & (np.abs(up) < BESIDE)).any()
    offset, side, own = 5 + FRAME / 2 * (near.sum() - 1), "right" if beside else "left", alternatives[i]
    at = (-offset if beside else offset, 4)
    ax.annotate(
        ", ".join(counts), (own.stability, own.loss), xytext=at, textcoords="offset points", fontsize=8, ha=side
    )


def front(alternatives: Any, ax: Any = None) -> Any:
    """Plot what restrictions and lengths cost: held-out loss against stability between folds, with standard errors.

    The line joins the alternatives that no other beats in both. Bars show paired standard errors of the difference from
    the first alternative, which has no bar. If alternatives coincide, each has a frame in its colour around the
    previous ones.

    Parameters
    ----------
    alternatives : Alternatives
        The result of ``pysirus.alternatives``.
    ax : matplotlib Axes, optional
        The axes to draw on; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from pysirus import SirusRegressorCV, alternatives, plot
    >>> from pysirus.datasets import load_machine
    >>> X, y = load_machine(return_X_y=True, as_frame=True)
    >>> estimator = SirusRegressorCV(cv=5, n_repeats=1, n_trees=200, n_stages=1, random_state=0)
    >>> found = alternatives(estimator, X, y, without=["mmax"], n_rules=[3, 6])
    >>> fig, ax = plt.subplots(figsize=(7, 4))
    >>> ax = plot.front(found, ax=ax)
    """
    if ax is None:
        _, ax = pyplot().subplots(figsize=(7.2, 4.8), layout="constrained")
    best = alternatives.front
    ax.plot([own.stability for own in best], [own.loss for own in best], color=GREY, lw=1, zorder=1)
    names = list(dict.fromkeys(own.restriction for own in alternatives))
    plain = sum(name.startswith("none") for name in names)  # the list itself, and from another seed
    colours = [*(INSIDE for _ in range(plain)), *(f"C{k}" for k in range(1, 10))]
    places = _places(alternatives)
    for i, own in enumerate(alternatives):
        k, near = names.index(own.restriction), np.abs(places - places[i]).max(axis=1) < COVERED
        first = own.tuned and own.restriction == "none"
        ax.errorbar(
            own.stability,
            own.loss,
            yerr=None if first else own.price_se,
            fmt="s" if own.tuned else "o",
            ms=(7 if own.tuned else 5) + FRAME * int(near[:i].sum()),
            color=colours[k % len(colours)],
            mfc="white" if own.restriction.endswith("another seed") else None,  # chance alone, beside the list
            lw=1,
            zorder=20 - k,  # the first restrictions lie on top
        )
        if not near[:i].any():
            _number(ax, alternatives, places, i, near)
    for k, name in enumerate(names):
        filled = {} if not name.endswith("another seed") else {"mfc": "white"}
        ax.plot([], [], "s", ms=7, color=colours[k % len(colours)], label=name, **filled)
    ax.set_xlabel(BETWEEN_FOLDS)
    ax.set_ylabel(f"held-out {alternatives.loss_name}")
    ax.set_title("What restrictions cost: numbers are rules, squares are tuned lengths", fontsize=9, loc="left")
    ax.legend(frameon=False, fontsize=8)
    bare(ax, "left", "bottom")
    return ax

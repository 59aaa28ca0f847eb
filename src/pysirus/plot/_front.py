"""Alternatives to a rule list in, their loss against their stability as a figure out; the front is a line."""

from __future__ import annotations

from typing import Any

from pysirus.plot._rules import GREY, INSIDE, UP, bare, pyplot


def front(alternatives: Any, ax: Any = None) -> Any:
    """Draw what restrictions and lengths cost: held-out loss against stability, with paired standard errors.

    The line joins the alternatives that no other beats in both. Bars are of the difference to the first one, which has
    none.

    Parameters
    ----------
    alternatives : Alternatives
        What ``pysirus.alternatives`` found.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
    """
    if ax is None:
        _, ax = pyplot().subplots(figsize=(7.2, 4.8), layout="constrained")
    best = alternatives.front
    ax.plot([own.stability for own in best], [own.loss for own in best], color=GREY, lw=1, zorder=1)
    names = list(dict.fromkeys(own.restriction for own in alternatives))
    colours = [INSIDE, UP, *(f"C{k}" for k in range(2, 10))]
    for own in alternatives:
        k = names.index(own.restriction)
        first = own.tuned and own.restriction == "none"
        ax.errorbar(
            own.stability,
            own.loss,
            yerr=None if first else own.price_se,
            fmt="s" if own.tuned else "o",
            ms=7 if own.tuned else 5,
            color=colours[k % len(colours)],
            lw=1,
            zorder=20 - k,  # the first restrictions lie on top
            label=own.restriction if own.tuned else None,
        )
        ax.annotate(str(own.n_rules), (own.stability, own.loss), xytext=(5, 4), textcoords="offset points", fontsize=8)
    ax.set_xlabel("stability between folds")
    ax.set_ylabel(f"held-out {alternatives.loss_name}")
    ax.set_title("What restrictions cost: numbers are rules, squares are tuned lengths", fontsize=9, loc="left")
    ax.legend(frameon=False, fontsize=8)
    bare(ax, "left", "bottom")
    return ax

"""A model and rows in, which of its rules fire together out."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysirus.plot._axes import DOWN, bare, plain, pyplot, two_lines


def overlap(model: Any, X: Any, ax: Any = None) -> Any:
    """Draw the proportion of rows in which each pair of rules holds; contradictions are framed.

    Parameters
    ----------
    model : Model or fitted estimator
        The model.
    X : data frame or array of shape (n_rows, n_columns)
        The rows.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
    """
    found = model._as_model().coverage(X)
    n = len(found.rules)
    if ax is None:
        _, ax = pyplot().subplots(figsize=(5.5 + 0.5 * n, 1.6 + 0.45 * n), layout="constrained")
    shown = np.where(np.tri(n, dtype=bool), found.together, np.nan)
    ax.imshow(shown, cmap="Blues", vmin=0, vmax=1)
    for i in range(n):
        for j in range(i + 1):
            share = found.together[i, j]
            opposed = bool(found.opposed[i, j]) and share > 0
            colour = "white" if share > 0.6 else "black"
            ax.text(j, i, f"{100 * share:.0f}", ha="center", va="center", fontsize=8, color=colour)
            if opposed:
                ax.add_patch(
                    pyplot().Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, edgecolor=DOWN, linewidth=1.6)
                )
    labels = [two_lines(f"{i + 1}  {rule.condition_text}") for i, rule in enumerate(found.rules)]
    ax.set_yticks(range(n), labels, fontsize=8)
    ax.set_xticks(range(n), [str(i + 1) for i in range(n)], fontsize=8)
    ax.tick_params(length=0)
    bare(ax)
    ax.set_title(
        plain(f"% of rows where both hold (framed: opposite directions); {100 * found.uncovered:.0f}% in no rule"),
        fontsize=9,
        loc="left",
    )
    return ax

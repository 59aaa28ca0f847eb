"""A model in, its rules as a figure out: one line per rule; with rows, which rules apply together.

The other figures take their colours and axes from here.
"""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np

from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._terms.fitted import FittedTerm
from pysirus._text.format import format_number, true_minus

# blue and orange, which people who take red for green tell apart
INSIDE, OUTSIDE, UP, DOWN, DOWN_TEXT, GREY = "#1f5fa8", "#b9c6d8", "#1f5fa8", "#d47500", "#a85400", "#6b7280"


def pyplot() -> Any:
    """matplotlib, or a message that names the extra."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install pysirus[plot].") from error
    return plt


def plain(text: str) -> str:
    """Text without mathematics: a dollar sign in a column name is a dollar sign."""
    return text.replace("$", r"\$")


def two_lines(text: str) -> str:
    """A rule as a label: at most two lines, and without mathematics."""
    return plain("\n".join(textwrap.wrap(true_minus(text), 48, max_lines=2, placeholder=" …", break_on_hyphens=False)))


def bare(ax: Any, *sides: str) -> None:
    """Hide the frame but for some sides."""
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(side in sides)


def class_number(model: Model, wanted: Any) -> int:
    """The number of the class to draw: the one wanted, else the positive one, of several the last."""
    classes = model.family.classes or ()
    if not classes:
        if wanted is not None:
            raise ParameterError(f"class_ is for classifiers; this model predicts numbers, got {wanted!r}.")
        return 0
    if wanted is None:
        return model.positive
    if wanted not in classes:
        raise ParameterError(f"class_ must be one of {', '.join(map(repr, classes))}, got {wanted!r}.")
    return classes.index(wanted)


COLUMNS = ("frequency", "support", "weight")


def rules(model: Any, ax: Any = None, class_: Any = None) -> Any:
    """Plot the rules, one per line, with both outputs on one axis and the frequency, support and weight as numbers.

    Corrections (rules of later stages) are shown relative to the mean target, so that the dotted line means no change.
    Thin lines separate the stages. If the rules add up to a score, the dots show shares in the data, for corrections
    too, and the table shows what each rule adds instead of its weight.

    Parameters
    ----------
    model : Model or fitted estimator
        The model.
    ax : matplotlib Axes, optional
        The axes to draw on; by default a new figure whose height fits the list.
    class_ : label, optional
        For classifiers, the class whose probability is shown; by default the last.

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
    >>> fig, ax = plt.subplots(figsize=(9, 3.2))
    >>> ax = plot.rules(model, ax=ax)
    """
    model = model._as_model()
    k = class_number(model, class_)
    shown = list(model.rules)
    if ax is None:
        _, ax = pyplot().subplots(figsize=(10, 1.1 + 0.36 * max(1, len(shown))), layout="constrained")
    ax.set_yticks(range(len(shown)), [two_lines(rule.condition_text) for rule in shown], fontsize=9)
    ax.set_ylim(len(shown) - 0.4, -1.1)
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    bare(ax)
    # the axes hold the names of the rules; the columns are parts of it, so that the figure's layout knows them
    draw = _draw_medians if model.family.has_hazard else _draw_means
    scored = model.family.is_scored
    draw(ax, ax.inset_axes([0, 0, 0.46 if scored else 0.63, 1], sharey=ax), model, shown, k)
    for c, name in enumerate(COLUMNS[:2] if scored else COLUMNS):
        _write_column(ax.inset_axes([(0.47 if scored else 0.64) + 0.12 * c, 0, 0.1, 1], sharey=ax), shown, name)
    if scored:
        _draw_points(ax.inset_axes([0.74, 0, 0.26, 1], sharey=ax), model, shown, k)
    return ax


def _draw_points(strip: Any, model: Model, shown: list[FittedTerm], k: int) -> None:
    """What each rule adds, as outputs are drawn: a dot where it holds, a ring elsewhere, the line is no change."""
    pairs = []
    for rule in shown:
        sides = rule.added_ends or rule.added_from(model.average_output(rule))
        pairs.append([float(model.family.of_class(side, k)) for side in sides])
    inside, outside = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    places, colours = np.arange(len(shown)), [UP if gap >= 0 else DOWN for gap in inside - outside]
    strip.axvline(0, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    strip.hlines(places, inside, outside, color=colours, alpha=0.45, linewidth=2.5, zorder=1)
    strip.scatter(outside, places, s=22, facecolor="white", edgecolor=colours, zorder=2)
    strip.scatter(inside, places, s=22, color=colours, zorder=3)
    strip.margins(x=0.1)
    title = plain(f"adds to {model.family.scale_of(k)}")
    strip.text(1, -0.75, title, ha="right", fontsize=8.5, color=GREY, transform=strip.get_yaxis_transform())
    strip.tick_params(axis="y", left=False, labelleft=False)
    strip.tick_params(axis="x", labelsize=8)
    bare(strip, "bottom")


def _output(value: Any, k: int) -> float:
    return float(value[k]) if isinstance(value, tuple) else float(value)


def _sides(rule: FittedTerm, model: Model, k: int, start: float) -> list[float]:
    """What the data say inside and outside, from a start; of a slope what is predicted at its upper and lower end."""
    if not rule.line_values:
        return [start + _output(side, k) for side in rule.means]
    if model.family.is_scored:  # what it adds is drawn beside
        return [math.nan, math.nan]
    return [_output(model.mean, k) + float(side) for side in rule.added_ends or ()]


def _draw_means(outer: Any, ax: Any, model: Model, shown: list[FittedTerm], k: int) -> None:
    """A dot inside, a ring outside, a line between them; the mean as a vertical line, from which corrections start."""
    mean = _output(model.mean, k)
    scored = model.family.is_scored
    residual = [rule.stage > 1 and rule.observed is None and not (scored and rule.line_values) for rule in shown]
    starts = [mean if own else 0.0 for own in residual]
    sides = [_sides(rule, model, k, start) for rule, start in zip(shown, starts)]
    inside, outside = ([pair[i] for pair in sides] for i in (0, 1))
    places = range(len(shown))
    single = len({rule.stage for rule in shown}) == len(shown)  # one rule in each: lines would separate every rule
    for place in places[1:]:
        if not single and shown[place].stage != shown[place - 1].stage:
            ax.axhline(place - 0.5, color=GREY, linewidth=0.6)
    ax.axvline(mean, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    ax.hlines(places, inside, outside, color=OUTSIDE, linewidth=2.5, zorder=1)
    ax.scatter(outside, places, s=42, facecolor="white", edgecolor=INSIDE, zorder=2, label="outside")
    ax.scatter(inside, places, s=42, color=INSIDE, zorder=3, label="inside")
    what = model.family.output_of(k)
    dotted = "dotted: mean, and no correction" if any(residual) else "dotted: mean"
    legend = f"{what}  (● where the rule applies, ○ where not, {dotted})"
    if any(rule.line_values for rule in shown):
        ends = "● where the rule applies, or the upper end of a slope; ○ where not, or the lower end"
        legend = f"{what}  ({dotted})\n{ends}"
    outer.set_xlabel(plain(legend), labelpad=22, loc="left")
    ax.margins(x=0.08)
    ax.tick_params(axis="y", left=False, labelleft=False)
    bare(ax, "bottom")


def _draw_medians(outer: Any, ax: Any, model: Model, shown: list[FittedTerm], k: int) -> None:
    """Median times, a dot inside and a ring outside; an arrow at the last time where the median is not reached."""
    times = model.required_survival.hazard.times
    last = float(times[-1]) if len(times) else 1.0
    for place, rule in enumerate(shown):
        if rule.line_values:
            continue  # it has no sides: what it multiplies by is drawn beside
        sides = [None if side is None else side.median for side in (rule.survival or (None, None))]
        ends = [last if median is None else median for median in sides]
        ax.hlines(place, *ends, color=OUTSIDE, linewidth=2.5, zorder=1)
        for median, end, colour in zip(sides, ends, (INSIDE, "white")):
            ax.scatter(
                end, place, s=42, marker=">" if median is None else "o", color=colour, edgecolor=INSIDE, zorder=3
            )
    if model.required_survival.median is not None:
        ax.axvline(model.required_survival.median, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    text = f"median {model.target}  (● where the rule applies, ○ where not, ▷ not reached, dotted: all rows)"
    outer.set_xlabel(plain(text), labelpad=22, loc="left")
    ax.margins(x=0.08)
    ax.tick_params(axis="y", left=False, labelleft=False)
    bare(ax, "bottom")


def _write_column(strip: Any, shown: list[FittedTerm], name: str) -> None:
    """A column of numbers, right of the outputs; negative weights in another colour."""
    for place, rule in enumerate(shown):
        value = _value(rule, name)
        text = "" if value != value else f"{100 * value:.0f}%" if name == "support" else format_number(value, 2)
        colour = DOWN_TEXT if value < 0 else "black"
        strip.text(1, place, true_minus(text), va="center", ha="right", fontsize=8.5, color=colour)
    strip.text(1, -0.75, name, fontsize=9, color=GREY, ha="right")
    strip.set_xlim(0, 1)
    strip.set_xticks([])
    strip.tick_params(axis="y", left=False, labelleft=False)
    bare(strip)


def _value(rule: FittedTerm, name: str) -> float:
    if name == "support":
        if rule.n_inside is None or rule.n_outside is None:
            return float("nan")
        return rule.n_inside / (rule.n_inside + rule.n_outside)
    value = getattr(rule, name)
    return float("nan") if value is None else float(value)


def overlap(model: Any, X: Any, ax: Any = None) -> Any:
    """Plot the share of rows to which each pair of rules applies; frames mark rules that pull in opposite directions.

    Parameters
    ----------
    model : Model or fitted estimator
        The model.
    X : data frame or array of shape (n_rows, n_columns)
        The rows.
    ax : matplotlib Axes, optional
        The axes to draw on; by default a new figure.

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
    >>> fig, ax = plt.subplots(figsize=(7, 4.5))
    >>> ax = plot.overlap(model, X, ax=ax)
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
    labels = [two_lines(f"{found.number(i)}  {rule.condition_text}") for i, rule in enumerate(found.rules)]
    ax.set_yticks(range(n), labels, fontsize=8)
    ax.set_xticks(range(n), [str(found.number(i)) for i in range(n)], fontsize=8)
    ax.tick_params(length=0)
    bare(ax)
    ax.set_title(
        plain(f"% of rows where both apply (framed: opposite directions); {100 * found.uncovered:.0f}% in no rule"),
        fontsize=9,
        loc="left",
    )
    return ax

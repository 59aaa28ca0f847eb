"""A model in, its rules as a figure out: one line per rule."""

from __future__ import annotations

from typing import Any

from pysirus._format import format_number
from pysirus._model.model import Model
from pysirus._rules.rule import Rule
from pysirus.plot._axes import BAR, DOWN, GREY, INSIDE, OUTSIDE, bare, class_number, plain, pyplot, two_lines

COLUMNS = ("frequency", "support", "weight")


def rules(model: Any, ax: Any = None, class_: Any = None) -> Any:
    """Draw the rules, one line each: outputs inside and outside, frequency, support and weight.

    Corrections (stages after the first) are drawn relative to the mean target, so the dotted line means no change. Thin
    lines separate the stages.

    Parameters
    ----------
    model : Model or fitted estimator
        The model.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure whose height fits the list.
    class_ : label, optional
        For classifiers: the class whose probability is drawn; the last by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    model = model._as_model()
    k = class_number(model.classes, class_)
    shown = list(model.rules)
    if ax is None:
        _, ax = pyplot().subplots(figsize=(10, 1.1 + 0.36 * max(1, len(shown))), layout="constrained")
    labels = [two_lines(rule.condition_text) for rule in shown]
    ax.set_yticks(range(len(shown)), labels, fontsize=9)
    ax.set_ylim(len(shown) - 0.4, -1.1)
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    bare(ax)
    # the axes hold the names of the rules; the columns are parts of it, so that the figure's layout knows them
    _draw_outputs(ax, ax.inset_axes([0, 0, 0.49, 1], sharey=ax), model, shown, k)
    for c, name in enumerate(COLUMNS):
        _draw_bars(ax.inset_axes([0.53 + 0.16 * c, 0, 0.15, 1], sharey=ax), shown, name)
    return ax


def _output(value: Any, k: int) -> float:
    return float(value[k]) if isinstance(value, tuple) else float(value)


def _draw_outputs(whole: Any, ax: Any, model: Model, shown: list[Rule], k: int) -> None:
    """A dot inside, a ring outside, a line between them; the mean as a vertical line, from which corrections start."""
    mean = _output(model.mean, k)
    starts = [mean if rule.stage > 1 else 0.0 for rule in shown]
    inside, outside = (
        [start + _output(getattr(r, side), k) for r, start in zip(shown, starts)] for side in ("inside", "outside")
    )
    places = range(len(shown))
    staged = any(rule.stage > 1 for rule in shown)
    for place in places[1:]:
        if shown[place].stage != shown[place - 1].stage:
            ax.axhline(place - 0.5, color=GREY, linewidth=0.6)
    ax.axvline(mean, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    ax.hlines(places, inside, outside, color=OUTSIDE, linewidth=2.5, zorder=1)
    ax.scatter(outside, places, s=42, facecolor="white", edgecolor=INSIDE, zorder=2, label="outside")
    ax.scatter(inside, places, s=42, color=INSIDE, zorder=3, label="inside")
    what = model.target if model.classes is None else f"proportion of {model.classes[k]}"
    dotted = "dotted: mean, and no correction" if staged else "dotted: mean"
    whole.set_xlabel(plain(f"{what}  (● where the rule holds, ○ where not, {dotted})"), labelpad=22, loc="left")
    ax.margins(x=0.08)
    ax.tick_params(axis="y", left=False, labelleft=False)
    bare(ax, "bottom")


def _draw_bars(strip: Any, shown: list[Rule], name: str) -> None:
    """A column of small bars with their numbers, right of the outputs; negative weights by size, in another colour."""
    values = [_value(rule, name) for rule in shown]
    sizes = [0.0 if v != v else abs(v) for v in values]
    top = max(sizes, default=1.0) or 1.0
    strip.barh(range(len(shown)), sizes, color=[DOWN if v < 0 else BAR for v in values], height=0.5)
    for place, value in enumerate(values):
        text = "" if value != value else f"{100 * value:.0f}%" if name == "support" else format_number(value, 2)
        strip.text(sizes[place] + 0.04 * top, place, text, va="center", fontsize=8)
    strip.set_xlim(0, 1.55 * top)
    strip.text(0, -0.75, name, fontsize=9, color=GREY)
    strip.set_xticks([])
    strip.tick_params(axis="y", left=False, labelleft=False)
    bare(strip)


def _value(rule: Rule, name: str) -> float:
    if name == "support":
        if rule.n_inside is None or rule.n_outside is None:
            return float("nan")
        return rule.n_inside / (rule.n_inside + rule.n_outside)
    value = getattr(rule, name)
    return float("nan") if value is None else float(value)

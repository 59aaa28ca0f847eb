"""Cells of the study in, tables of the page out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from studies.evidence.ideal import POINTS
from studies.results import markdown

Cells = list[dict[str, Any]]


def _mean(values: Any) -> str:
    values = np.asarray(values, dtype=float)
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def returns(cells: Cells) -> str:
    """What is expected beside what fresh samples give, and rates of single terms."""
    rows = []
    for cell in cells:
        lists = cell["lists"]
        own, fresh = (np.concatenate([each[name] for each in lists]) for name in ("returned", "fresh_by_term"))
        expected, given = (np.array([each[name] for each in lists]) for name in ("expected", "fresh"))
        rows.append(
            [
                f"{cell['law']}, {cell['n']:,} rows",
                _mean(given),
                _mean(expected),
                f"{expected.mean() - given.mean():+.3f}",
                f"{np.std(expected - given, ddof=1):.2f}",
                f"{own.mean() - fresh.mean():+.2f}",
                f"{np.corrcoef(own, fresh)[0, 1]:.2f}",
            ]
        )
    head = [
        "distribution",
        "fresh samples",
        "`expected_return`",
        "bias",
        "spread of a list",
        "bias of `returned`",
        "correlation",
    ]
    return markdown(head, rows)


def draw_returns(cells: Cells, path: Path) -> None:
    """How often terms returned in half-samples of their own rows, beside fresh samples; a panel a law."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    laws = list(dict.fromkeys(cell["law"] for cell in cells))
    figure, axes = plt.subplots(1, len(laws), figsize=(2.9 * len(laws), 3.2), sharey=True, layout="constrained")
    draw = np.random.default_rng(0)
    for ax, law in zip(axes, laws):
        for cell, colour in zip((own for own in cells if own["law"] == law), ("#c55a11", "#7f7f7f", "#1f5fa8")):
            names = ("returned", "fresh_by_term")
            own, fresh = (np.concatenate([each[name] for each in cell["lists"]]) for name in names)
            spread = draw.uniform(-0.015, 0.015, (2, len(own)))  # rates have few values: points would hide each other
            ax.scatter(own + spread[0], fresh + spread[1], s=7, alpha=0.45, color=colour, label=f"{cell['n']:,} rows")
        ax.plot([0, 1], [0, 1], color="0.5", linewidth=0.8, linestyle="--")
        ax.set(title=law, xlabel="returned, own half-samples")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("returned, fresh samples")
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(path, dpi=110)


def stability(cells: Cells) -> str:
    """Folds, bootstrap samples and halves of the eight datasets."""
    rows = []
    for cell in cells:
        found = [f"{cell[name][0]:.2f} ± {cell[name][1]:.2f}" for name in ("folds", "bootstraps", "halves", "nearby")]
        rate = cell["expected_return"]
        rows.append([cell["dataset"], cell["form"], f"{cell['n_rules']}", *found, f"{rate[0]:.2f} ± {rate[1]:.2f}"])
    head = ["dataset", "list", "rules", "folds (89% shared)", "bootstrap samples", "disjoint halves"]
    table = markdown([*head, "halves, with neighbours", "expected return"], rows)
    plain, stages = (_ratios([cell for cell in cells if cell["form"] == form]) for form in ("plain", "stages"))
    return (
        f"{table}\n\nPlain lists of more than one rule are {plain} times as stable between folds as between halves, "
        f"lists with stages {stages} times."
    )


def _ratios(cells: Cells) -> str:
    """The range of how many times as stable lists are between folds as between halves; one rule tells little of it."""
    found = [cell["folds"][0] / cell["halves"][0] for cell in cells if cell["n_rules"] > 1]
    return f"{min(found):.1f} to {max(found):.1f}"


def coverage(cells: Cells) -> str:
    """How often intervals and sets hold the truth, and the rule whose rows fare worst."""
    rows = []
    for cell in cells:
        worst = cell["worst"]
        rows.append(
            [
                cell["table"],
                cell["what"],
                f"{cell['n_test']:,}",
                f"{100 * cell['coverage']:.1f}%",
                cell["size"],
                "" if worst is None else f"`{worst[0]}`: {100 * worst[1]:.0f}% of {worst[2]}",
            ]
        )
    average = np.mean([cell["coverage"] for cell in cells])
    rows.append(["average", "", "", f"{100 * average:.1f}%", "", ""])
    head = ["table", "target", "rows", "covered", "mean width, or size", "worst rule"]
    return markdown(head, rows)


def support(cells: Cells) -> str:
    """Rows of rules, error and stability of lists with stages, by the least number of rows."""
    rows = []
    for cell in cells:
        pairs = [f"{cell[name][0]:.3f} ± {cell[name][1]:.3f}" for name in ("error", "stability")]
        least = cell["least"] if isinstance(cell["least"], str) else f"{cell['least']:g}"
        sizes = [f"{cell[name]:,}" for name in ("n_rules", "fewest", "fewest_of_all")]
        rows.append([f"{cell['table']} ({cell['n_rows']:,} rows)", least, cell["chosen"], *sizes, *pairs])
    head = ["table", "`min_samples_leaf`", "chosen", "rules", "fewest rows", "fewest in the longest list"]
    return markdown([*head, "error", "stability between folds"], rows)


def ideal(cells: Cells) -> str:
    """Rules, error and stability of what each ideal point chooses."""
    words = ["default" if own == (0.9, 1.0) else f"target {own[0]:g}, weight {own[1]:g}" for own in POINTS]
    order = sorted(range(len(POINTS)), key=lambda k: POINTS[k] != (0.9, 1.0))
    rows = [
        [cell["dataset"], cell["form"], *("{}, {:.3f}, {:.2f}".format(*cell["points"][k]) for k in order)]
        for cell in cells
    ]
    for form in dict.fromkeys(cell["form"] for cell in cells):
        every = np.mean([cell["points"] for cell in cells if cell["form"] == form], axis=0)
        rows.append(["mean", form, *("{:.1f}, {:.3f}, {:.2f}".format(*every[k]) for k in order)])
    table = markdown(["dataset", "list", *(words[k] for k in order)], rows)
    by_target = [k for k, (target, weight) in enumerate(POINTS) if weight == 1.0]
    by_weight = [k for k, (target, weight) in enumerate(POINTS) if target == 0.9]
    return (
        f"{table}\n\nOn average over the datasets, another target changes {_most(cells, by_target)}; another weight "
        f"changes {_most(cells, by_weight)}."
    )


def _most(cells: Cells, points: list[int]) -> str:
    """The largest change of mean error and stability from the default to other points."""
    default, changes = POINTS.index((0.9, 1.0)), []
    for form in dict.fromkeys(cell["form"] for cell in cells):
        every = np.mean([cell["points"] for cell in cells if cell["form"] == form], axis=0)
        changes.append(np.abs(every[points] - every[default]).max(axis=0))
    _, error, stable = np.max(changes, axis=0)
    return f"the error by at most {error:.2f} and the stability between folds by at most {stable:.2f}"


def repetitions(cells: Cells) -> str:
    """How often folds are repeated by default, and the distance to the ideal point then and after ten repetitions."""
    by_table: dict[str, list[str]] = {}
    for cell in cells:
        (n_repeats, away), (_, after_ten) = cell["default"], cell["ten"]
        row = by_table.setdefault(cell["dataset"], [cell["dataset"], f"{cell['n_rows']:,}"])
        row += [f"{n_repeats}", f"{away:.3f}", f"{after_ten:.3f}"]
    parts = [f"{form}: {name}" for form in ("one stage", "stages") for name in ("repetitions", "distance", "after ten")]
    change = max(abs(cell["default"][1] - cell["ten"][1]) for cell in cells)
    return (
        f"{markdown(['table', 'rows', *parts], list(by_table.values()))}\n\nTen repetitions change the distance by at "
        f"most {change:.3f}."
    )

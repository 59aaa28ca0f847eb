"""How the cost of a fit grows with rows, columns and trees, beside other libraries: processor seconds of one thread.

    python -m benchmarks.cost --measure      benchmarks/results/cost.json: some minutes, each fit in its own process
    python -m benchmarks.cost                docs/images/cost.png and the section of docs/benchmarks.md, from that file

A fit that takes longer than the limit is ended and named, and so are larger ones of the same library.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from benchmarks.clock import ROOT
from benchmarks.problems import Problem, made_up
from benchmarks.rivals import ours
from pysirus._runtime.output import writing

RESULTS = ROOT / "benchmarks" / "results" / "cost.json"
CHART = "images/cost.png"
PART = re.compile(r"(<!-- figures: cost -->\n).*?(<!-- end -->)", re.DOTALL)
LIMIT = 120  # seconds of a fit
DRAWN = 10_000  # rows that a tree draws
USUAL = {"rows": 10_000, "columns": 20, "trees": 1_000}
SIZES = {
    "rows": (10_000, 100_000, 1_000_000, 10_000_000),
    "columns": (10, 100, 1_000, 10_000),
    "trees": (100, 1_000, 10_000, 100_000),
}


class Line(NamedTuple):
    """A library in the picture."""

    title: str
    colour: str
    of: tuple[str, ...]  # the sizes that it has


LINES = {
    "sirus": Line("pysirus", "#b5523b", ("rows", "columns", "trees")),
    "drawn": Line(f"pysirus, trees that draw {DRAWN:,} rows", "#e0a080", ("rows", "columns", "trees")),
    "lightgbm": Line("LightGBM, trees of depth 2", "#4f6d8f", ("rows", "columns", "trees")),
    "ebm": Line("EBM without interactions", "#8a97a6", ("rows", "columns")),
}


# ----------------------------------------------------------------------------------------------------------- measuring


def fit(name: str, problem: Problem, n_trees: int) -> None:
    """One fit of a library, one thread."""
    if name == "sirus":
        ours.fit(problem, n_trees)
    elif name == "drawn":
        ours.forest_that_draws(problem, n_trees, DRAWN)
    elif name == "lightgbm":
        from lightgbm import LGBMRegressor

        LGBMRegressor(n_estimators=n_trees, max_depth=2, num_leaves=4, n_jobs=1, verbose=-1).fit(problem.X, problem.y)
    else:
        from interpret.glassbox import ExplainableBoostingRegressor

        ExplainableBoostingRegressor(interactions=0, n_jobs=1, random_state=0).fit(problem.X, problem.y)


def measure_here(name: str, n_rows: int, n_columns: int, n_trees: int) -> float:
    """Processor seconds, after a small fit that loads the libraries."""
    fit(name, made_up(500, 5), 10)
    problem = made_up(n_rows, n_columns)
    start = time.process_time()
    fit(name, problem, n_trees)
    return time.process_time() - start


def measure_size(name: str, what: str, size: int) -> dict[str, Any]:
    """One point, in a process of its own."""
    shape = {**USUAL, what: size}
    command = [sys.executable, "-m", "benchmarks.cost", "--only", name, *(str(n) for n in shape.values())]
    point = {"library": name, "what": what, **shape}
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=2 * LIMIT)
        return {**point, "seconds": round(float(done.stdout), 3)}
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        return {**point, "seconds": None, "why": type(error).__name__}


def measure() -> None:
    """All points; what is there already stays."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["points"] if RESULTS.exists() else []
    done = {(point["library"], point["what"], point[point["what"]]): point for point in known}
    for what, sizes in SIZES.items():
        for name, line in LINES.items():
            too_long = False
            for size in sizes if what in line.of else ():
                if (name, what, size) not in done:
                    why = {"library": name, "what": what, **USUAL, what: size, "seconds": None, "why": "not run"}
                    done[name, what, size] = why if too_long else measure_size(name, what, size)
                    write_results(list(done.values()))
                    print(done[name, what, size], flush=True)
                seconds = done[name, what, size]["seconds"]
                too_long = seconds is None or seconds > LIMIT / 3


def write_results(points: list[dict[str, Any]]) -> None:
    """The file of figures."""
    from benchmarks.report import processor_name  # which shows these figures

    text = json.dumps({"machine": processor_name(), "limit": LIMIT, "points": points}, indent=1)
    RESULTS.write_text(re.sub(r"\n   *", " ", text).replace(" {", "\n  {") + "\n", encoding="utf-8")


# ------------------------------------------------------------------------------------------------------------- showing

Points = dict[tuple[str, str], dict[int, float | None]]


def read() -> tuple[str, Points]:
    """The machine; seconds by library, what grows, and its size."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    points: Points = {}
    for point in found["points"]:
        points.setdefault((point["library"], point["what"]), {})[point[point["what"]]] = point["seconds"]
    return found["machine"], points


def exponent(points: dict[int, float | None]) -> float:
    """The slope of the last step of a line through the logarithms."""
    (x0, y0), (x1, y1) = [(x, y) for x, y in sorted(points.items()) if y is not None][-2:]
    return float(np.log(y1 / y0) / np.log(x1 / x0))


def draw(points: Points, path: Path) -> None:
    """A panel for each size, both axes logarithmic."""
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    panels = figure.subplots(1, len(SIZES), sharey=True)
    for axes, what in zip(panels, SIZES):
        for name, line in LINES.items():
            here = [(x, y) for x, y in sorted(points.get((name, what), {}).items()) if y is not None]
            axes.plot(*zip(*here), marker="o", color=line.colour, label=line.title) if here else None
        others = " x ".join(f"{USUAL[other]:,} {other}" for other in SIZES if other != what)
        axes.set(xscale="log", yscale="log", xlabel=f"{what} ({others})")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    panels[0].set(ylabel="processor seconds")
    panels[0].legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=120)


def section(machine: str, points: Points) -> str:
    """The picture, the figures behind it, and what was not run."""
    lines = ["", f"![Cost by rows, columns and trees]({CHART})", ""]
    for what, sizes in SIZES.items():
        head = [what, *(f"{size:,}" for size in sizes), "last step"]
        rows = []
        for name, line in LINES.items():
            found = points.get((name, what), {})
            if not found:
                continue
            cells = ["not run" if found.get(size) is None else f"{found[size]:.3g}" for size in sizes]
            rows.append([line.title, *cells, f"size^{exponent(found):.2f}"])
        lines += ["| " + " | ".join(cells) + " |" for cells in [head, ["---", *["--:"] * (len(head) - 1)], *rows]]
        lines.append("")
    return "\n".join([*lines, f"Processor seconds of one thread, one run each; {machine}.", "", ""])


def main() -> None:
    """Measure, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--only", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, default=ROOT / "docs", help="folder of benchmarks.md")
    arguments = parser.parse_args()
    if arguments.only:
        print(measure_here(arguments.only[0], *map(int, arguments.only[1:])))
        return
    if arguments.measure:
        measure()
    machine, points = read()
    draw(points, arguments.to / CHART)
    page = arguments.to / "benchmarks.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(PART.sub(lambda found: found[1] + section(machine, points) + found[2], text), "utf-8")


if __name__ == "__main__":
    main()

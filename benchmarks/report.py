"""Everything that can be measured here in, docs/benchmarks.md and its chart out: ``make bench-all``.

Rivals that are not installed are named and skipped: ``pip install lightgbm imodels six interpret-core sirus``.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from functools import partial
from importlib import metadata
from pathlib import Path
from types import ModuleType

from matplotlib.figure import Figure

from benchmarks import cost
from benchmarks.clock import ROOT, best_of
from benchmarks.everyday import Ratio, measure_fit, measure_predict, measure_start
from benchmarks.growth import Growth, measure_growth, measure_threads
from benchmarks.problems import Problem, made_up, shipped
from benchmarks.rivals import find_rivals, ours, scikit_learn, version_of
from benchmarks.roofline import Roofline, measure_machine, measure_roofline
from pysirus import _core
from pysirus._runtime.output import write_text, writing

SLOW = {"interpret_ebm", "sirus_pypi", "r_sirus"}  # measured once
PROBLEMS = ("housing", "diabetes")
CHART = "images/benchmarks.png"


def say(text: str) -> None:
    """Tell who waits what is going on."""
    print(text, file=sys.stderr, flush=True)


def processor_name() -> str:
    """The processor, as Linux calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def once(adapter: ModuleType, problem: Problem) -> float:
    """Processor seconds of one fit; a program of its own counts for itself."""
    counted: list[object] = []
    own = best_of({"fit": lambda: counted.append(adapter.fit(problem))}, 1)["fit"]
    return counted[0] if isinstance(counted[0], float) else own


def measure_rivals(skip: Iterable[str]) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Seconds of each library on each problem, and the lines of those that are not here."""
    found, absent = find_rivals()
    lines = list(absent.values())
    for name in set(skip) & set(found):
        lines.append(f"{found.pop(name).TITLE}: skipped on request")
    seconds: dict[str, dict[str, float]] = {}
    for problem in map(shipped, PROBLEMS):
        say(f"{problem.name} ...")
        jobs = {
            "pysirus, 10,000 trees grown": partial(ours.forest, problem, 10_000),
            "pysirus, 10,000 trees, whole fit": partial(ours.fit, problem, 10_000),
            "scikit-learn, forest of 500 trees": partial(scikit_learn.fit, problem, 500),
            **{a.TITLE: partial(a.fit, problem) for name, a in found.items() if name not in SLOW},
        }
        best = best_of(jobs, 3)
        for name in sorted(SLOW & set(found)):
            say(f"{problem.name}: {found[name].TITLE} ...")
            best[found[name].TITLE] = once(found[name], problem)
        for title, value in best.items():
            seconds.setdefault(title, {})[problem.name] = value
    return seconds, lines


def measure_wide() -> str:
    """A tree on 100,000 x 50, and one of scikit-learn's beside it."""
    problem = made_up(100_000, 50)
    forest = ours.make_forest(problem)
    own = best_of({"grow": lambda: forest.grow(128)}, 3)["grow"] / 128
    theirs = best_of({"tree": lambda: scikit_learn.fit(problem, 1)}, 1)["tree"]
    return (
        f"On {problem.name}, a tree takes {1e3 * own:.2f} ms. A fully grown tree of scikit-learn takes "
        f"{theirs:.1f} s ({theirs / own:,.0f} times as long)."
    )


def draw_chart(seconds: dict[str, dict[str, float]], growth: Sequence[Growth], path: Path) -> None:
    """Libraries as dots, growth as lines, both on logarithmic axes, on which a bar has no foot."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    titles = sorted(seconds, key=lambda title: seconds[title][PROBLEMS[0]], reverse=True)
    colours = ["#1f5fa8" if title.startswith("pysirus") else "#8a97a6" for title in titles]
    left.scatter([seconds[title][PROBLEMS[0]] for title in titles], titles, color=colours, s=45, zorder=2)
    left.grid(axis="y", color="0.9")
    left.set(xscale="log", xlabel=f"processor seconds, {PROBLEMS[0]} (506 x 13)")
    for line in growth:
        label = f"{line.what} (exponent {line.exponent:.2f})"
        sizes = [size / line.sizes[0] for size in line.sizes]
        right.plot(sizes, [s / line.seconds[0] for s in line.seconds], marker="o", label=label)
    right.set(xscale="log", yscale="log", xlabel="size, relative to the smallest", ylabel="time, relative")
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=120)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, numbers to the right."""
    ruler = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ruler, *rows])


def rivals_table(seconds: dict[str, dict[str, float]]) -> str:
    """Milliseconds, and what they are of scikit-learn's forest."""
    forest = seconds["scikit-learn, forest of 500 trees"]
    rows = [
        [title, *(f"{1e3 * best[p]:,.1f} ms ({best[p] / forest[p]:.3f})" for p in PROBLEMS)]
        for title, best in sorted(seconds.items(), key=lambda item: item[1][PROBLEMS[0]])
    ]
    return table(["job", *PROBLEMS], rows)


def ratio_table(ratios: Sequence[Ratio]) -> str:
    """The limits, what was measured, and which are exceeded."""
    rows = [
        [r.what, f"{r.value:.3f}" if r.value <= r.limit else f"**{r.value:.3f}**, exceeds the limit", f"{r.limit:g}"]
        for r in ratios
    ]
    return table(["ratio", "measured", "limit"], rows)


def growth_table(growth: Sequence[Growth]) -> str:
    """Sizes, milliseconds and exponents."""
    rows = [
        [
            g.what,
            ", ".join(f"{s:,}" for s in g.sizes),
            ", ".join(f"{1e3 * s:.1f}" for s in g.seconds),
            f"{g.exponent:.2f}",
        ]
        for g in growth
    ]
    return table(["size", "values", "milliseconds", "exponent"], rows)


def roofline_table(lines: Sequence[Roofline]) -> str:
    """What a tree needs, and at what rate it gets it."""
    rows = [
        [
            line.name,
            f"{line.products:,.0f}",
            f"{line.bytes_read:,.0f}",
            f"{1e6 * line.seconds:,.2f}",
            f"{line.products / line.seconds / 1e9:.1f} ({line.peak_products / 1e9:.1f})",
            f"{line.bytes_read / line.seconds / 1e9:.2f} ({line.numpy_bytes / 1e9:.0f})",
        ]
        for line in lines
    ]
    header = ["problem", "products a tree", "bytes a tree", "microseconds", "products, 10⁹/s (peak)", "GB/s (NumPy)"]
    return table(header, rows)


def versions() -> str:
    """The libraries that took part."""
    found, _ = find_rivals()
    names = {"pysirus", "numpy", "scipy", "scikit-learn", *(a.VERSION_OF for a in found.values())} - {"R"}
    by_adapter = {a.VERSION_OF: version_of(a) for a in found.values()}
    return ", ".join(f"{n} {by_adapter.get(n) or metadata.version(n)}" for n in sorted(names))


def main() -> None:
    """Measure, then write the page and its chart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip", nargs="*", default=[], help="rivals to leave out, by the name of their file")
    parser.add_argument("--to", type=Path, default=ROOT / "docs", help="folder of benchmarks.md")
    arguments = parser.parse_args()
    seconds, absent = measure_rivals(arguments.skip)
    say("growth ...")
    growth, threads = measure_growth(), measure_threads()
    say("roofline, predicting, start ...")
    machine = measure_machine()
    roofline = [
        measure_roofline(shipped("housing"), 10_000, machine),
        measure_roofline(made_up(100_000, 50), 512, machine),
    ]
    ratios = [measure_fit(5), *measure_predict(5), *measure_start(3)]
    say("100,000 x 50 ...")
    wide = measure_wide()
    draw_chart(seconds, growth, arguments.to / CHART)
    page = PAGE.format(
        machine=f"{processor_name()}, {os.cpu_count()} cores, {platform.system()}; {_core.instruction_sets()[0]}",
        python=platform.python_version(),
        versions=versions(),
        date=date.today().isoformat(),
        rivals=rivals_table(seconds),
        absent="\n".join(f"- {line}" for line in absent),
        wide=wide,
        ratios=ratio_table(ratios),
        growth=growth_table(growth),
        threads=f"{threads:.2f}",
        roofline=roofline_table(roofline),
        chart=CHART,
        cost=cost.section(*cost.read()),
    )
    write_text(arguments.to / "benchmarks.md", page)
    say(f"wrote {arguments.to / 'benchmarks.md'}")


PAGE = """# Benchmarks

`make bench-all` writes this page. All times are **processor time of one thread**: the best of a few interleaved rounds,
measured on one machine on one day. Compare the ratios, because the times depend on the machine.

- machine: {machine}
- Python {python}; {versions}
- {date}

## Against other libraries

The number in brackets is the time relative to scikit-learn's forest of 500 trees on the same data.
Housing is the Boston table, of which [one column should not be used](paper.md#housing).

{rivals}

{absent}

{wide}

![Libraries, and how cost grows]({chart})

## Outside the forest

{ratios}

## How cost grows

The benchmark grows 64 trees on 20,000 x 24 with 10 bins and 8 candidate columns at each node, and varies one size at a
time. The exponent is the slope on a log-log scale: an exponent of 1 means that the time doubles with the size.

{growth}

On two idle cores, two threads grow a forest on 100,000 x 50 {threads} times as fast as one. This is twice the processor
time of one thread, divided by the total processor time of two.

On a virtual machine with 16 cores, sixteen threads grow 128 trees on 2,000,000 x 50 11.7 times as fast as one thread,
and 2,048 trees on 100,000 x 50 12.1 times as fast ([output](../benchmarks/results/threads.txt) of
`benchmarks/threads.sh`). The splits are identical. The threads spend 2 to 6% of that time waiting for each other. The
machine accounts for the rest of the loss: sixteen independent forests, each with its own thread and table, take 1.7 to
1.8 times as long as a single one, so their speed-up is only 9.0 and 9.2. A second thread already raises the processor
time of the same sums from 1.98 to 2.43 s, perhaps because a single busy core runs at a higher clock rate. Neither huge
pages for the memory of each thread nor prefetching the next column made a difference.

### Compared with other libraries

The tables show the time of whole fits for different numbers of rows, columns and trees (`python -m benchmarks.cost`).
LightGBM grows the same number of trees, of depth 2; an EBM chooses its own number of rounds. The row *trees that draw
10,000 rows* includes only bins and trees, not rules and weights. We did not run a size if the previous one took more
than 40 s, and stopped fits after four minutes of wall time (*not run*).

<!-- figures: cost -->
{cost}
<!-- end -->

## Compared with the peak of the processor

For every row and column, a tree of depth 2 multiplies the row's count by four bytes: by one for the size of the bin,
and by the three digits (base 128) of the target for its sum. It does this at the root and again for the left children;
the sums of the right children are differences. With n rows and p columns, that makes 8 n p byte products per tree. The
kernel adds each product to a sum in a register and stores the sum after the last row of a bin, because it sorts the
rows by bin once per table. For each row and column, it reads two bytes of row number and three bytes of digits, twice,
for 64 trees at once.

The number in brackets after the rate of products is the peak rate, measured within the same minutes: a loop of the same
instruction on registers, without memory access (`cpp/check/peak.cpp`). The number in brackets after the rate of bytes
is the rate at which NumPy sums an array larger than the cache. The rest of the time goes into drawing counts,
interleaving the counts of four rows, assigning rows to nodes and searching for splits.

{roofline}
"""


if __name__ == "__main__":
    main()

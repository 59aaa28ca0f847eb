"""Tables, figures and facts in, docs/paper.md out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from studies.results import RESULTS, markdown, say

from paper import published, theorem
from paper.compare import OWN, Sampled, means_of, section
from paper.methods import N_REPETITIONS
from paper.tables import Results, Table, conclusion, make_tables, rivals
from pysirus._model.tuning import IDEAL
from pysirus._runtime.output import write_text

RESULT_PAGES = ("README.md", "docs/index.md", "paper/paper.md")
STAGES = "docs/stages.md"
README_START, README_END = "<!-- results of make paper -->", "<!-- end of results -->"
TEN_TIMES = ("sirus", "sirus-stages")
NOTES = Path(__file__).with_name("notes.md")


@dataclass(frozen=True)
class Run:
    """What a page says of how it came about."""

    command: str
    seconds: float
    absent: Mapping[str, str]
    n_missing: int  # results that were not computed


@dataclass(frozen=True)
class Lists:
    """Two rule lists that the page shows."""

    ozone: str
    machine: str


def _head(run: Run) -> str:
    others = {published.NAMES[m]: n for m, n in N_REPETITIONS.items() if m not in TEN_TIMES}
    times = (
        f"{min(others.values())} repetitions each"
        if len({*others.values()}) == 1
        else f"fewer repetitions: {', '.join(f'{n} of {name}' for name, n in others.items())}"
    )
    text = (
        "# The paper, reproduced\n\n"
        "We repeated every experiment of Bénard, Biau, Da Veiga and Scornet, *Interpretable Random Forests via "
        'Rule Extraction* (AISTATS 2021; "the paper" below). One command runs the experiments and writes this page:\n\n'
        f"    {run.command}\n\n{say(RESULTS)}\n\n"
        f"The results were computed with pysirus {version('pysirus')} in {run.seconds / 60:.0f} minutes of processor "
        "time, by ten-fold cross-validation. We tuned SIRUS and stages over ten repetitions of the folds; the other "
        f"methods have {times}. The tables show means over repetitions."
    )
    if run.n_missing:
        text += f" {run.n_missing} results of this command were not computed; their cells are empty."
    for name, reason in run.absent.items():
        text += f"\n\n**{name.capitalize()} is missing from this run**: {reason}"
    return text


def _theorem(points: Sequence[Mapping[str, float]]) -> str:
    head = ["rows", "pairs", *(f"stability between the samples, p0 = {p0:g} | rules" for p0 in theorem.P0)]
    lines = [f"| {' | '.join(head)} |", "|" + "---:|" * (2 + 2 * len(theorem.P0))]
    for point in points:
        cells = [f"{point['n']:,}", f"{point['pairs']:.0f}"]
        cells += [f"{point[f'stability_{p0}']:.3f} | {point[f'size_{p0}']:.1f}" for p0 in theorem.P0]
        lines.append(f"| {' | '.join(cells)} |")
    return (
        "## Theorem 1, simulated\n\nAccording to Theorem 1 of the paper, the stability between independent samples "
        "tends to one as they grow. "
        "We fitted SIRUS on two independent samples of a simulated distribution (`paper/theorem.py`). The table and "
        "the plot show that the Dice-Sorensen index of the two lists approaches one. This distribution is "
        "favourable: the theorem requires p0 to differ from every theoretical frequency, so we redrew the step "
        "heights until both values of p0 were at least 0.01 away from every frequency and no two rules tied in "
        "post-treatment. The index grows more slowly for other distributions: it was still 0.4 to 0.7 for a smooth "
        "one with 30,000 rows and 0.6 to 0.9 for step functions with arbitrary interactions with 200,000.\n\n"
        "![Stability of two independent samples against their size](paper/theorem-1.png)\n\n" + "\n".join(lines)
    )


def make_page(run: Run, cells: Results, sampled: Sampled, points: Sequence[Mapping[str, float]], lists: Lists) -> str:
    """The whole page."""
    tables = make_tables(cells, sampled.datasets)
    parts = [_head(run), "## Tables", *(table.to_markdown() for table in tables), conclusion(tables)]
    parts.append(
        "± gives standard errors over folds, corrected for the training rows that folds share (Nadeau and Bengio "
        "2003). As in the paper, the p0 of SIRUS, of the sparse setting and of stages is chosen on the folds that also "
        "give the error; [nested errors](#stability-three-ways-and-nested-errors) are below. The tables are also "
        "available as [CSV](paper/tables.csv) and LaTeX (`docs/paper/*.tex`)."
    )
    parts.append(
        "## RuleFit and Node harvest, ours and the published ones\n\nThe table shows our results with cuts at "
        "deciles (size, stability between folds, error), our results with free cuts (size, error), and the published "
        "values. According to the paper, columns were binned only to measure stability, so its errors are those of "
        f"free cuts. It does not state which models its sizes refer to.\n\n{rivals(cells, sampled.datasets)}"
    )
    parts.append(section(sampled))
    parts.append(NOTES.read_text(encoding="utf-8").strip())
    parts.append(
        "## Figures\n\n![Pareto front, Ozone](paper/pareto-ozone.png)\n\n"
        "![Error and stability between folds against the number of rules, Diabetes](paper/tuning-diabetes.png)\n\n"
        "![Error and stability between folds against the number of rules, Machine](paper/tuning-machine.png)"
    )
    parts.append(f"## The rules of Ozone (Table 1)\n\n```\n{lists.ozone}\n```")
    parts.append(
        "## Post-treatment of Machine (supplementary material)\n\nThe paper shows how post-treatment filters the rules "
        f"of Machine. This is our version:\n\n{lists.machine}"
    )
    if points:
        parts.append(_theorem(points))
    return "\n\n".join(filter(None, parts)) + "\n"


def readme(tables: Sequence[Table], sampled: Sampled) -> str:
    """The few results that README.md, the home page and the article have, from the same results as the page."""
    size, stability, _ = tables
    ours = {
        method: [float(np.mean([cell.ours for cell in table.column(method)])) for table in (size, stability)]
        for method in ("sirus", "rulefit", "node-harvest")
    }
    error, halves = (means_of(sampled, of, OWN) for of in (sampled.error, sampled.between("halves")))
    return (
        f"On average over [the paper's eight datasets](docs/paper.md), SIRUS keeps {ours['sirus'][0]:.0f} rules, "
        f"RuleFit {ours['rulefit'][0]:.0f} and Node harvest {ours['node-harvest'][0]:.0f}. Between cross-validation "
        f"folds, which share 89% of their training rows, the stability of SIRUS is {ours['sirus'][1]:.2f} (RuleFit "
        f"{ours['rulefit'][1]:.2f}, Node harvest {ours['node-harvest'][1]:.2f}). Between disjoint halves of a table, "
        f"which share no row, it is {halves[0]:.2f} (RuleFit {halves[3]:.2f}, Node harvest {halves[4]:.2f}). The "
        f"price is accuracy: with everything chosen inside the training rows, SIRUS leaves {error[0]:.2f} of the "
        f"variance unexplained, RuleFit {error[3]:.2f} and Node harvest {error[4]:.2f}. Our extension, "
        f"[stages](docs/stages.md), leaves {error[1]:.2f} unexplained with lists of about 20 rules, at a stability of "
        f"{halves[1]:.2f} between halves. Stages with [slopes](docs/slopes.md) leave {error[2]:.2f} unexplained, at a "
        f"stability of {halves[2]:.2f} between halves. <!-- {say(RESULTS)} -->"
    )


def stages(cells: Results, seconds: Mapping[tuple[str, str], float], datasets: Sequence[str]) -> str:
    """The table of the page on stages: rules per fold, error, stability and distance to the ideal point."""
    head = ["", "one stage", "distance", "stages", "distance", "time, relative to one stage", "RuleFit in the paper"]
    rows, sizes, ratios = [], [], []
    for name in datasets:
        both = [cells[name, method][0] for method in TEN_TIMES]
        texts = [f"{own['size']:.1f}, {own['error']:.3f}, {own['stability']:.3f}" for own in both]
        away = [float(np.hypot(own["error"], own["stability"] - IDEAL.stability)) for own in both]
        shown = [f"**{d:.3f}**" if d < max(away) else f"{d:.3f}" for d in away]
        place = published.DATASETS.index(name)
        every = (published.SIZE, published.ERROR, published.STABILITY)
        theirs = "{}, {:.2f}, {:.2f}".format(*(own["rulefit"][place] for own in every))
        ratios.append(seconds[name, TEN_TIMES[1]] / seconds[name, TEN_TIMES[0]])
        rows.append([name.capitalize(), texts[0], shown[0], texts[1], shown[1], f"{ratios[-1]:.1f}", theirs])
        sizes += [both[1]["size"]] if away[1] < away[0] else []
    lengths = f" There, lists with stages have {min(sizes):.0f} to {max(sizes):.0f} rules per fold." if sizes else ""
    summary = (
        f"Stages are closer to the ideal point on {len(sizes)} of {len(rows)} datasets.{lengths} Tuning takes "
        f"{min(ratios):.1f} to {max(ratios):.1f} times as long as with one stage."
    )
    return f"{markdown(head, rows)}\n\n{summary}\n\n{say(RESULTS)}"


def results_on(page: str, text: str) -> str:
    """The results as they stand on a page of the repository: links from its folder, and none in the article."""
    if page.startswith("paper/"):
        return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text).replace("the paper's", "the SIRUS paper's")
    return text.replace("](docs/", "](") if page.startswith("docs/") else text


def write_results(path: Path, text: str, *, wrap: bool = True) -> None:
    """Put the results between their marks."""
    page = path.read_text(encoding="utf-8")
    head, _, rest = page.partition(README_START)
    _, end, tail = rest.partition(README_END)
    if not end:
        raise SystemExit(f"{path} has no place for results: {README_START} ... {README_END}")
    wrapped = textwrap.fill(text, 128, break_on_hyphens=False, break_long_words=False) if wrap else text
    write_text(path, f"{head}{README_START}\n{wrapped}\n{README_END}{tail}")

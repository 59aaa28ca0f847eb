"""Tables, figures and facts in, docs/paper.md out."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from paper import theorem
from paper.tables import Table, conclusion

PACKAGES = ("pysirus", "numpy", "scipy", "scikit-learn", "piqp")
NOTES = Path(__file__).with_name("notes.md")


@dataclass(frozen=True)
class Run:
    """What a page says of how it came about."""

    command: str
    n_repetitions: int
    seconds: float
    absent: Mapping[str, str]


def _head(run: Run) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    times = "once" if run.n_repetitions == 1 else f"{run.n_repetitions} times"
    text = (
        "# The paper, rerun\n\n"
        "Every experiment of Bénard, Biau, Da Veiga and Scornet, *Interpretable Random Forests via Rule Extraction* "
        f"(AISTATS 2021). One command runs them and writes this page:\n\n    {run.command}\n\n"
        f"{datetime.datetime.now(datetime.timezone.utc):%d %B %Y}, Python {platform.python_version()}, {versions}; "
        f"{run.seconds / 60:.0f} minutes of processor time. Ten-fold cross-validation, repeated {times}; SIRUS tunes "
        "p0 over ten repetitions in any case."
    )
    for name, reason in run.absent.items():
        text += f"\n\n**{name.capitalize()} is missing from this run**: {reason}"
    return text


def _theorem(points: Sequence[Mapping[str, float]]) -> str:
    head = ["rows", "pairs", *(f"stability, p0 = {p0:g} | rules" for p0 in theorem.P0)]
    lines = [f"| {' | '.join(head)} |", "|" + "---:|" * (2 + 2 * len(theorem.P0))]
    for point in points:
        cells = [f"{point['n']:,}", f"{point['pairs']:.0f}"]
        cells += [f"{point[f'stability_{p0}']:.3f} | {point[f'size_{p0}']:.1f}" for p0 in theorem.P0]
        lines.append(f"| {' | '.join(cells)} |")
    return (
        "## Theorem 1, simulated\n\nSIRUS is fitted on two independent samples of a simulated distribution "
        "(`paper/theorem.py`). The Dice-Sorensen index of the two lists tends to one as the samples grow. The "
        "distribution is a favourable one: its step heights were redrawn until both values of p0 were at least 0.01 "
        "away from every theoretical frequency, as the theorem requires them to differ, and no two rules tied in "
        "post-treatment. Others converge more slowly: a smooth one was still at 0.4 to 0.7 with 30,000 rows, "
        "step functions with arbitrary interactions at 0.6 to 0.9 with 200,000.\n\n"
        "![Stability of two independent samples against their size](paper/theorem-1.png)\n\n" + "\n".join(lines)
    )


def make_page(
    run: Run, tables: Sequence[Table], points: Sequence[Mapping[str, float]], ozone: str, machine: str
) -> str:
    """The whole page."""
    parts = [_head(run), "## Tables", *(table.to_markdown() for table in tables), conclusion(tables)]
    parts.append("The same as [CSV](paper/tables.csv) and LaTeX (`docs/paper/*.tex`).")
    parts.append(NOTES.read_text(encoding="utf-8").strip())
    parts.append(
        "## Figures\n\n![Pareto front, Ozone](paper/pareto-ozone.png)\n\n"
        "![Error and stability against the number of rules, Diabetes](paper/tuning-diabetes.png)\n\n"
        "![Error and stability against the number of rules, Machine](paper/tuning-machine.png)"
    )
    parts.append(f"## The rules of Ozone (Table 1)\n\n```\n{ozone}\n```")
    parts.append(f"## Post-treatment of Machine (supplementary material)\n\n{machine}")
    if points:
        parts.append(_theorem(points))
    return "\n\n".join(parts) + "\n"

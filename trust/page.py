"""Files under ``trust/results`` in, the figures of docs/trust.md out: python -m trust.page.

The text around the figures is written in the page itself.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from trust.record import RESULTS, ROOT

PAGE = ROOT / "docs" / "trust.md"
PART = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def read(name: str) -> dict[str, Any]:
    """The figures of the last run."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def table(head: str, rows: list[str]) -> str:
    """A table in Markdown."""
    columns = head.count("|") + 1
    return "\n".join([f"| {head} |", "|" + "---|" * columns, *(f"| {row} |" for row in rows)])


def fuzz() -> str:
    """Cases of each target."""
    found = read("fuzz")
    rows = [
        f"`{one['target']}` | {one['cases']:,} | {one['seconds']:.0f} s | {one['branches']:,} | {one['crashes']}"
        for one in found["targets"]
    ]
    total = sum(one["cases"] for one in found["targets"])
    crashes = sum(one["crashes"] for one in found["targets"])
    rows.append(f"all | {total:,} | | | {crashes}")
    body = table("target | cases | time | branches reached | crashes", rows)
    return f"{body}\n\nSeed {found['seed']}, commit {found['commit']}."


def planted() -> str:
    """Bugs put in on purpose."""
    found = read("fuzz-planted")
    rows = []
    for bug in found["planted"]:
        after = "not found" if bug["seconds"] is None else f"{bug['cases']:,} cases, {bug['seconds']:.0f} s"
        rows.append(f"`{bug['target']}` | {bug['kind']} | {after}")
    return f"{table('target | bug | found after', rows)}\n\nSeed {found['seed']}, commit {found['commit']}."


def faults() -> str:
    """Points of each work and kind."""
    found = read("faults")
    rows = []
    for one in found["works"]:
        if one["points"]:
            outcomes = ", ".join(f"{n:,} {name}" for name, n in sorted(one["outcomes"].items()))
            rows.append(f"{one['work']} | {one['kind']} | {one['points']:,} | {outcomes} | {len(one['wrong'])}")
    kinds: Counter[str] = Counter()
    for one in found["works"]:
        kinds[one["kind"]] += one["points"]
    points = ", ".join(f"{n:,} of {kind}" for kind, n in kinds.items())
    head = "work | kind | points | outcome | wrong"
    return f"{table(head, rows)}\n\n{found['tried']:,} points tried ({points}), commit {found['commit']}."


def cross() -> str:
    """Hashes and checks on other processors."""
    found = read("cross")
    rows = []
    for one in found["variants"]:
        same = len(found["expected"]) - len(one["differ"])
        checks = ", ".join(one["checks"]) if one["checks"] else "not run"
        rows.append(f"{one['variant']} | {same} of {len(found['expected'])} | {checks} | {len(one['failed'])}")
    hashes = ", ".join(f"{part} `{value}`" for part, value in found["expected"].items())
    body = table("processor and compiler | hashes equal | checks passed | failed", rows)
    return f"{body}\n\nThe hashes: {hashes}; commit {found['commit']}."


def coverage() -> str:
    """Lines and branches."""
    found = read("coverage")
    rows = [f"`{name}` | {found[name]['lines']}% | {found[name]['branches']}%" for name in ("src", "cpp")]
    said = found.get("note", "All tests.")
    return f"{table('of | lines | branches', rows)}\n\n{said} Commit {found['commit']}."


def equal() -> str:
    """Models of many tables, by two versions."""
    found = read("equal")
    rows: list[str] = []
    names: set[str] = set()
    for one in found["comparisons"]:
        counts = " | ".join(f"{one[name]:,}" for name in ("tables", "equal", "refused", "new"))
        rows.append(f"{one['before']} | {one['after']} | {counts} | {len(one['differ'])}")
        names |= {*one["differ"]}
    body = table("before | after | tables | equal | refused by both | new loss | different", rows)
    causes = "\n".join(f"- {name}: {found['causes'].get(name, 'no cause is known')}." for name in sorted(names))
    return f"{body}\n\nDifferent:\n\n{causes}"


FIGURES = {
    "equal": equal,
    "fuzz": fuzz,
    "planted": planted,
    "faults": faults,
    "cross": cross,
    "coverage": coverage,
}


def filled(text: str) -> str:
    """The page with its figures."""
    return PART.sub(lambda match: f"{match[1]}{_figures(match[2])}\n{match[3]}", text)


def _figures(name: str) -> str:
    try:
        return FIGURES[name]()
    except FileNotFoundError:
        return "No run is recorded yet."


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

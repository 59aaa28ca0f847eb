"""Result files and pages in, pages whose results are not those of the code out.

``python -m trust.stale`` lists every page with measured results and the *results version* (``studies/results.py``) of
the files that it is written from. A page passes if it says that version in one fixed form, ``*Results version 3.*``.
Results of an older version pass only where the page says so, ``*Results version 1; the code is at 3.*``; they are
listed. Anything else is refused. What the version stands for is pinned: a fingerprint of a few tuned lists. Where it
differs, the code gives other results: raise ``RESULTS``, say what changed in ``CHANGES``, and run with ``--record``.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from studies.results import CHANGES, FINGERPRINT, LARGE, RESULTS, say

ROOT = Path(__file__).parents[1]
SAID = re.compile(r"\*Results version (\d+)(?:; the code is at (\d+))?\.\*")
FIRST = 1  # of files that say none
# a page -> what it is written from
PAGES = {
    "README.md": "paper/results.jsonl",
    "docs/paper.md": "paper/results.jsonl",
    "docs/classes-study.md": "studies/classes/results",
    "docs/responses-study.md": "studies/responses/results",
    "docs/benchmark-study.md": "studies/benchmark/results",
    "docs/slopes-study.md": "studies/slopes/results",
    "docs/rows.md": "studies/rows/results",
    "docs/evidence.md": "studies/evidence/results",
    "docs/constraints.md": "studies/constraints/results.json",
    "docs/decisions.md": "studies/constraints/prices.json",
    "docs/tuning.md": "studies/noise/results.csv",
    "docs/stages-study.md": "paper/stages.json",
    "docs/post-treatment.md": "paper/post_treatment.json",
    "docs/stages.md": "paper/results.jsonl",
}
OF_LARGE_TABLES = {"docs/rows.md"}  # pages whose tables have the version of large ones


class Found(NamedTuple):
    """A page, the version of its results, and what is wrong with it."""

    page: str
    version: int
    problem: str | None


def versions_in(path: Path) -> Iterator[int]:
    """The results versions of a file or folder, of results that pysirus had a part in."""
    if path.is_dir():
        for own in sorted(path.glob("*.json*")):
            yield from versions_in(own)
    elif path.suffix == ".jsonl":
        yield from (json.loads(line)["results"] for line in path.read_text(encoding="utf-8").splitlines() if line)
    elif path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            yield from (int(row.get("results") or FIRST) for row in csv.DictReader(file))
    else:
        document = json.loads(path.read_text(encoding="utf-8"))
        about = document.get("about", document)
        if "about" not in document or "pysirus" in about:  # other methods do not depend on this code
            yield int(about.get("results", FIRST))


def look_at(page: str, root: Path = ROOT) -> Found:
    """Compare what a page says with what it is written from."""
    text = (root / page).read_text(encoding="utf-8")
    said = SAID.findall(text)
    source = PAGES[page]
    if len(said) != 1:
        return Found(page, FIRST, f"says its results version {len(said)} times; the form is {say(RESULTS)}")
    version, code = int(said[0][0]), said[0][1]
    newest = LARGE if page in OF_LARGE_TABLES else RESULTS
    kept = set(versions_in(root / source))
    if kept != {version}:
        return Found(
            page, version, f"says {version}, and {source} has {', '.join(map(str, sorted(kept))) or 'nothing'}"
        )
    if version != newest and code != str(newest):
        return Found(page, version, f"is of version {version} and does not say that the code is at {newest}")
    if version == newest and code:
        return Found(page, version, "says that it is older than the code, and is not")
    return Found(page, version, None)


def fingerprint() -> str:
    """Of tuned lists of three kinds, small enough to take a second."""
    import numpy as np

    from pysirus import SirusClassifierCV, SirusRegressorCV
    from pysirus.datasets import load_machine, load_ozone

    given = {"n_trees": 200, "n_repeats": 1, "random_state": 0}
    X, y = load_ozone(return_X_y=True, as_frame=True)
    machine, performance = load_machine(return_X_y=True, as_frame=True)
    models = [
        SirusRegressorCV(**given, post_treatment="paper").fit(X, y),
        SirusRegressorCV(**given, n_stages="auto", max_rules=8).fit(machine, performance),
        SirusClassifierCV(**given).fit(X, np.asarray(y) > 12),
    ]
    lists = [[rule.condition_text for rule in model.rules_] for model in models]
    return hashlib.sha256(json.dumps(lists).encode()).hexdigest()[:16]


def main(arguments: list[str]) -> int:
    """List pages; 1 where one is refused."""
    own = fingerprint()
    if "--record" in arguments:
        path = ROOT / "studies" / "results.py"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f'FINGERPRINT = "{FINGERPRINT}"', f'FINGERPRINT = "{own}"'), encoding="utf-8")
        print(f"fingerprint {own}")
        return 0
    refused = [] if own == FINGERPRINT else [f"The code gives other lists than version {RESULTS} ({own})."]
    for page in PAGES:
        found = look_at(page)
        newest = LARGE if page in OF_LARGE_TABLES else RESULTS
        older = "" if found.version == newest else f" (older than the code's {newest}, and says so)"
        print(f"{page}: " + (f"refused: it {found.problem}" if found.problem else f"version {found.version}{older}"))
        refused += [page] if found.problem else []
    assert all(version in CHANGES for version in range(2, RESULTS + 1))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Computes the study, or writes its page: ``python -m studies.slopes [--write]``. Stop it at any time."""

from __future__ import annotations

import sys
from pathlib import Path

from studies.command import Study
from studies.slopes.cells import RESULTS, compute, jobs, store_at
from studies.slopes.methods import METHODS
from studies.slopes.page import make_page
from studies.slopes.problems import TABLES

N_REPETITIONS = 10
PAGE = Path(__file__).parents[2] / "docs" / "slopes-study.md"
STUDY = Study("slopes", TABLES, METHODS, N_REPETITIONS, RESULTS, PAGE, store_at, jobs, compute, make_page)


def main(arguments: list[str] | None = None) -> int:
    """Compute what is not there, or write the page."""
    return STUDY.main(arguments)


if __name__ == "__main__":
    sys.exit(main())

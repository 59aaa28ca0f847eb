"""Computes the study, or writes its page: ``python -m studies.responses [--write]``. Stop it at any time."""

from __future__ import annotations

import sys
from pathlib import Path

from studies.command import Study
from studies.responses.cells import N_REPETITIONS, RESULTS, compute, jobs, store_at
from studies.responses.methods import METHODS
from studies.responses.page import make_page
from studies.responses.problems import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "responses-study.md"
STUDY = Study("responses", TABLES, METHODS, N_REPETITIONS, RESULTS, PAGE, store_at, jobs, compute, make_page)


def main(arguments: list[str] | None = None) -> int:
    """Compute what is not there, or write the page."""
    return STUDY.main(arguments)


if __name__ == "__main__":
    sys.exit(main())

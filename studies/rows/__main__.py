"""Computes the study, or writes its page: ``python -m studies.rows [--write]``. Stop it at any time."""

from __future__ import annotations

import sys
from pathlib import Path

from studies.command import Study
from studies.rows.cells import METHODS, N_SAMPLES, RESULTS, compute, jobs, store_at
from studies.rows.page import make_page
from studies.rows.problems import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "rows.md"
STUDY = Study("rows", TABLES, METHODS, N_SAMPLES, RESULTS, PAGE, store_at, jobs, compute, make_page)


def main(arguments: list[str] | None = None) -> int:
    """Compute what is not there, or write the page."""
    return STUDY.main(arguments)


if __name__ == "__main__":
    sys.exit(main())

"""Computes the study, or writes its page: ``python -m studies.classes [--write]``. Stop it at any time."""

from __future__ import annotations

import sys
from pathlib import Path

from studies.classes.cells import N_REPETITIONS, RESULTS, compute, jobs, store_at
from studies.classes.methods import METHODS
from studies.classes.page import make_page
from studies.classes.problems import TABLES
from studies.command import Study

PAGE = Path(__file__).parents[2] / "docs" / "classes-study.md"
STUDY = Study("classes", TABLES, METHODS, N_REPETITIONS, RESULTS, PAGE, store_at, jobs, compute, make_page)


def main(arguments: list[str] | None = None) -> int:
    """Compute what is not there, or write the page."""
    return STUDY.main(arguments)


if __name__ == "__main__":
    sys.exit(main())

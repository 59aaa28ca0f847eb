"""What stands beside the code and must agree with it: versions, links, recorded answers."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

import pysirus

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [("CITATION.cff", r"^version: (\S+)$"), ("CHANGELOG.md", r"^## \[(\S+)\] - "), ("CHANGELOG.md", r"^\[(\S+)\]: ")],
)
def test_version_of_a_paper_is_that_of_the_package(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{file} names no version"
    assert found[1] == pysirus.__version__


def test_version_of_the_installed_package_is_that_of_the_source() -> None:
    assert version("pysirus") == pysirus.__version__, "the package was installed from another version: make test"


def test_version_is_printed_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    from pysirus.cli import main

    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip() == f"pysirus {pysirus.__version__}"


def test_changelog_keeps_the_usual_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert all(re.fullmatch(r"\[?\d+\.\d+\.\d+\]? - (\d{4}-\d\d-\d\d|Unreleased)", line) for line in versions), versions
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    numbers = [tuple(map(int, re.findall(r"\d+", line)[:3])) for line in versions]
    assert numbers == sorted(numbers, reverse=True)

"""What stands beside the code and must agree with it: versions, links, recorded answers."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

import pysirus
import warm

ROOT = Path(__file__).parents[2]


def read_floors() -> tuple[dict[str, str], dict[str, str]]:
    """The floors of pyproject.toml: of what pysirus always needs, and of what its extras need."""
    project = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [line for name in extras if name not in ("test", "lint", "docs", "dev") for line in extras[name]]

    def floors(lines: list[str]) -> dict[str, str]:
        found = [re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", line) for line in lines if "pysirus[" not in line]
        assert all(found), lines
        return {match[1]: match[2] for match in found if match}

    return floors(project["dependencies"]), floors(wanted)


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("CHANGELOG.md", r"^## \[(\S+)\] - "),
        ("CHANGELOG.md", r"^\[(\S+)\]: "),
        ("conda/recipe.yaml", r'^  version: "(\S+)"$'),
    ],
)
def test_version_of_a_paper_is_that_of_the_package(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{file} names no version"
    assert found[1] == pysirus.__version__


def test_version_of_the_installed_package_is_that_of_the_source() -> None:
    assert version("pysirus") == pysirus.__version__, "the package was installed from another version: make test"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_installs_again_what_has_another_version() -> None:
    done = subprocess.run(["make", "-pn", "help"], cwd=ROOT, capture_output=True, text=True)
    rule = re.search(r"^\.venv/run\.stamp: (.+)$", done.stdout, re.MULTILINE)
    assert rule and "src/pysirus/__init__.py" in rule[1].split()


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


def test_oldest_versions_are_the_floors() -> None:
    pins = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "constraints/oldest.txt").read_text(), re.MULTILINE))
    assert pins.pop("distributed") == pins["dask"]
    always, extras = read_floors()
    floors = {**always, **extras}
    assert {name: f"{floor}.0.0"[: len(pins.get(name, ""))] for name, floor in floors.items()} == pins


def test_conda_needs_what_the_package_needs() -> None:
    recipe = (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8").partition("  run:")[2].partition("\ntests:")[0]
    assert dict(re.findall(r"- ([\w-]+) >=([\d.]+)", recipe)) == read_floors()[0]


def test_every_extra_is_explained_on_the_page_on_installing() -> None:
    project = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(r"^\| (`[^|]+`) \|", (ROOT / "docs/start/install.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set(project["optional-dependencies"])


def test_wheels_are_compared_with_the_trees_that_grow_here() -> None:
    run = f"import runpy; runpy.run_path({str(ROOT / 'release/smoke.py')!r}, run_name='__main__')"
    done = subprocess.run(warm.python(run), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

"""The documentation runs: the README's Python and every docstring example."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import pysirus

ROOT = Path(__file__).parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SOURCE = Path(pysirus.__file__).parent
MODULES = sorted(
    ".".join(("pysirus", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if name.startswith("pysirus._forest.gpu"):
        pytest.importorskip("jax", reason="no JAX for this system")
    if name == "pysirus.mlflow":
        pytest.importorskip("mlflow", reason="pip install pysirus[mlflow]")
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.attempted > 0 and result.failed == 0


PAGES = [page for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))] if ">>>" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_run(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 3 and result.failed == 0


def test_readme_and_home_show_the_table_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from pysirus.cli import main

    with pytest.raises(SystemExit):
        main(["fit", "ozone", "--rules", "13"])
    printed = capsys.readouterr().out.strip()
    assert all(printed in (ROOT / page).read_text() for page in ("README.md", "docs/index.md"))


def test_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 120 and text.count(">>> ") <= 10 and text.count("<picture>") == 1


def test_page_on_tuning_shows_what_tuning_says(capsys: pytest.CaptureFixture[str]) -> None:
    from pysirus.cli import main

    shown = (ROOT / "docs/tuning.md").read_text().split("$ pysirus tune machine\n...\n")[1].split("```")[0]
    with pytest.raises(SystemExit, match="0"):
        main(["tune", "machine"])
    assert shown.startswith("held-out") and shown in capsys.readouterr().out


def test_local_links_lead_somewhere() -> None:
    import re

    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_problem_of_housing_is_named_wherever_it_is_shown() -> None:
    import re

    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.py")]
    data = re.compile(r'load_housing|^\| *(\| )?[Hh]ousing\b|on Housing\b|"housing"', re.MULTILINE)
    shown = [page for page in pages if data.search(page.read_text())]
    assert len(shown) > 10
    for page in shown:
        text = page.read_text()
        assert "Boston table" in text or page.name in ("CHANGELOG.md", "api.md"), page.name

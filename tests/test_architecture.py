"""The house rules that a machine can check: data flows one way, imports are light, files are short."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import pysirus

SOURCE = Path(pysirus.__file__).parent
ROOT = Path(__file__).parents[1]
MODULES = sorted(p for p in SOURCE.rglob("*.py"))
CORE = sorted((ROOT / "cpp").rglob("*.?pp"))


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("pysirus", *parts)).removesuffix(".__init__")


def imports_of(path):
    """The pysirus modules that a module imports at its top, type checking aside."""
    found = set()
    known = {name_of(p) for p in MODULES} | {"pysirus._core"}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pysirus":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in known else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "pysirus"}
    return found - {"pysirus", name_of(path)}


# table -> bins -> rule -> forest -> select -> weights -> model -> file -> estimators: each may import from those before
# it. A module that is not named here is an estimator, or comes after them.
FLOW = [
    "_core",
    "_format",
    "_parameters",
    "_data.column",
    "_data.frame",
    "_data.zero_weights",
    "_data.table",
    "_response.response",
    "_response.sums",
    "_bins.levels",
]
FLOW += [
    "_bins.cuts",
    "_rules.rule",
    "_rules.term",
    "_model.evaluate",
    "_forest.forest",
    "_select.select",
    "_weights.weights",
    "_weights.likelihood",
    "_weights.deviance",
]
FLOW += ["_peers.trees", "_peers.lasso", "_peers.harvest", "stability", "_tuning.path"]
FLOW += ["estimators.actions", "_model.model", "_model.file"]
FLOW += ["estimators.base", "_progress", "estimators.sirus", "estimators.tree_based"]
FLOW += ["engine.tally", "engine.summary", "engine.columns"]


def test_data_flows_one_way():
    place = {f"pysirus.{name}": i for i, name in enumerate(FLOW)}
    assert set(place) - {"pysirus._core"} <= {name_of(p) for p in MODULES}
    wrong = [
        f"{name_of(path)} imports {imported}"
        for path in MODULES
        for imported in imports_of(path)
        if name_of(path) in place and place.get(imported, len(FLOW)) > place[name_of(path)]
    ]
    assert not wrong, f"{'; '.join(wrong)}: a new module stands in FLOW before those that import it"


def test_imports_have_no_circle():
    graph = {name_of(path): imports_of(path) for path in MODULES}
    done, open_ = set(), []

    def visit(name):
        assert name not in open_, f"a circle: {' -> '.join([*open_, name])}"
        if name in done or name not in graph:
            return
        open_.append(name)
        for imported in sorted(graph[name]):
            visit(imported)
        open_.pop()
        done.add(name)

    for name in graph:
        visit(name)


def test_only_the_bindings_know_python():
    for path in CORE:
        text = path.read_text(encoding="utf-8")
        knows = "nanobind" in text or "Python.h" in text or "bindings/" in text
        assert not knows or path.parent.name == "bindings", path.name


def loaded_by(statement):
    script = f"import sys; {statement}; print(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return set(out.split())


def test_importing_pysirus_imports_nothing_heavy():
    assert not loaded_by("import pysirus") & {"numpy", "scipy", "sklearn", "pandas", "polars", "matplotlib", "typer"}


@pytest.mark.parametrize("name", ["SirusRegressor", "load"])
def test_the_public_names_import_no_frame_or_plot_library(name):
    heavy = {"pandas", "polars", "matplotlib", "typer", "rich", "IPython", "dask", "torch", "pyspark"}
    heavy -= loaded_by("import sklearn.model_selection, sklearn.metrics")  # which import some of them themselves
    assert "polars" in heavy
    assert not loaded_by(f"from pysirus import {name}") & heavy


def test_every_public_name_is_there_and_documented():
    for name in pysirus.__all__:
        assert getattr(pysirus, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = pysirus.Nothing


SHORT = [*MODULES, *CORE, *Path(__file__).parent.glob("*.py")]


@pytest.mark.parametrize("path", SHORT, ids=lambda path: path.name)
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.parametrize("path", [p for p in MODULES if p.stem != "__main__"], ids=lambda path: path.name)
def test_modules_and_public_functions_are_documented(path):
    module = import_module(name_of(path))
    assert module.__doc__, path.name
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            assert getattr(module, node.name).__doc__, f"{path.name}: {node.name}"

"""The house rules that a machine can check: data flows one way, imports are light, files are short."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from trust.house import LEFT_OUT, walks

import pysirus

SOURCE = Path(pysirus.__file__).parent
ROOT = Path(__file__).parents[2]
MODULES = sorted(p for p in SOURCE.rglob("*.py"))
CORE = sorted((ROOT / "cpp").rglob("*.?pp"))

# The rooms in the order in which data flows: a module imports only from its own room and from those before it.
ROOMS = [
    "_core",
    "_text",
    "_runtime",
    "_parameters",
    "_data",
    "_families",
    "_bins",
    "_forest",
    "_terms",
    "_weights",
    "_model",
    "_learn",
    "engine",
    "_use",
    "export",
    "plot",
    "report",
    "estimators",
    "_peers",
    "dask",
    "spark",
    "mlflow",
    "datasets",
    "_public",
    "workbench",
    "cli",
    "__main__",
]


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("pysirus", *parts)).removesuffix(".__init__")


NAMES = {name_of(path) for path in MODULES}


def room_of(module):
    return module.split(".")[1] if "." in module else ""


def imports_in(tree):
    """The import statements of a module, those inside functions too; only ``if TYPE_CHECKING`` is left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from (found for other in node.orelse for found in imports_in(other))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        else:
            yield from imports_in(node)


def imports_of(path):
    """The pysirus modules that a module imports, at its top or later."""
    found, known = set(), {*NAMES, "pysirus._core"}
    for node in imports_in(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "pysirus"}
        elif (node.module or "").split(".")[0] == "pysirus" and not node.level:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                public = node.module == "pysirus" and full not in known and alias.name in pysirus.__all__
                found.add(full if full in known else "pysirus._public" if public else node.module)
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path.name}: a relative import"
    return found - {"pysirus", name_of(path)}


@pytest.fixture(scope="module")
def graph():
    """The imports of each module."""
    return {name_of(path): imports_of(path) for path in MODULES}


def test_every_module_has_a_room():
    assert {room_of(name) for name in NAMES} - {""} == set(ROOMS) - {"_core"}


def test_rooms_import_only_earlier_rooms(graph):
    place = {room: i for i, room in enumerate(ROOMS)}
    wrong = [
        f"{name} imports {imported}"
        for name, found in graph.items()
        if name != "pysirus"
        for imported in found
        if place[room_of(imported)] > place[room_of(name)]
    ]
    assert not wrong, "; ".join(wrong)


def test_imports_have_no_circle(graph):
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


def test_contributing_shows_the_rooms():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = [line.split()[0] for line in text.split("```rooms\n")[1].split("```")[0].splitlines()]
    assert shown == [room for room in ROOMS if room not in ("_core", "dask", "spark", "_public", "__main__")]


def test_contributing_walks_as_the_code_does():
    """Every file that a call enters stands there, in the order in which it is first entered."""
    pytest.importorskip("dask.dataframe")
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name, lines in walks().items():
        assert text.split(f"```{name}\n")[1].split("```")[0].splitlines() == lines, (
            f"{name}: run python -m trust.house walks"
        )


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+/[a-z_/]+(?:\.\w+)?)`", text)
    assert len(named) > 10 and [n for n in named if not (SOURCE / n).exists() and not (ROOT / n).exists()] == []


def test_contributing_names_the_rooms_that_walks_leave_out():
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    assert f"left out: {', '.join(f'`{room}`' for room in LEFT_OUT)}." in text


def test_only_the_bindings_know_python():
    for path in CORE:
        text = path.read_text(encoding="utf-8")
        knows = "nanobind" in text or "Python.h" in text or "bindings/" in text
        assert not knows or path.parent.name == "bindings", path.name


def loaded_by(*statements):
    """The modules that are there after each statement, in a process of its own."""
    script = "import sys\n" + "".join(f"{statement}\nprint(*sys.modules)\n" for statement in statements)
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return [set(line.split()) for line in out.splitlines()]


def test_importing_pysirus_imports_nothing_heavy():
    (found,) = loaded_by("import pysirus")
    assert not found & {"numpy", "scipy", "sklearn", "pandas", "polars", "matplotlib", "typer"}


def test_the_public_names_import_no_frame_or_plot_library():
    heavy = {"pandas", "polars", "matplotlib", "typer", "rich", "IPython", "dask", "torch", "pyspark", "jax"}
    # scikit-learn imports some of them itself
    theirs, *ours = loaded_by(
        "import sklearn.model_selection, sklearn.metrics",
        "from pysirus import load",
        "from pysirus import SirusRegressor",
    )
    heavy -= theirs
    assert "polars" in heavy and len(ours) == 2
    for found in ours:
        assert "pysirus" in found and not found & heavy
        assert {name for name in found if name.startswith("pysirus.engine")} <= {
            "pysirus.engine",
            "pysirus.engine.door",
            "pysirus.engine.given",
        }


def test_every_public_name_is_there_and_documented():
    for name in pysirus.__all__:
        assert getattr(pysirus, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = pysirus.Nothing


TESTS = sorted((ROOT / "tests").glob("*/test_*.py"))


def test_tests_stand_in_the_rooms_of_what_they_test():
    assert not list((ROOT / "tests").glob("test_*.py"))
    assert {path.parent.name for path in TESTS} <= {room.lstrip("_") for room in ROOMS} | {"project"}
    assert len({path.name for path in TESTS}) == len(TESTS)  # pytest imports them by these names


def test_files_and_functions_are_as_short_as_contributing_says():
    said = re.search(r"at most (\d+) lines, a function at most (\d+)", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    longest_file, longest_function = map(int, said.groups())
    paths = [*MODULES, *CORE, *(ROOT / "tests").rglob("*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    long = [path.name for path, text in texts.items() if len(text.splitlines()) > longest_file]
    for path in (path for path in paths if path.suffix == ".py"):
        for node in ast.walk(ast.parse(texts[path])):
            if isinstance(node, ast.FunctionDef):
                first = node.body[ast.get_docstring(node) is not None :] or node.body
                long += [f"{path.name}: {node.name}"] * (node.end_lineno - first[0].lineno >= longest_function)
    assert len(paths) > 300 and long == []


def test_modules_and_public_functions_are_documented():
    bare = []
    for path in MODULES:
        if path.stem == "__main__" or (path.stem == "mlflow" and find_spec("mlflow") is None):
            continue
        module = import_module(name_of(path))
        bare += [] if module.__doc__ else [path.name]
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                bare += [] if getattr(module, node.name).__doc__ else [f"{path.name}: {node.name}"]
    assert bare == []

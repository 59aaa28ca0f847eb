"""Every test can fail: it asserts something, or calls what does."""

import ast
from pathlib import Path

TESTS = sorted(Path(__file__).parents[1].rglob("*.py"))
CONTEXTS = {"raises", "warns"}  # of pytest
CHECKS = ("assert_", "check_")  # of NumPy, and of scikit-learn and jsonschema


def called_in(tree):
    """The names of the functions that are called, without what they are attributes of."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}


def asserts(tree):
    found = called_in(tree)
    return (
        any(isinstance(node, ast.Assert) for node in ast.walk(tree))
        or bool(found & CONTEXTS)
        or any(name.startswith(CHECKS) for name in found)
    )


def functions_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def test_every_test_asserts_something():
    functions = [(path, function) for path in TESTS for function in functions_of(path)]
    helpers = {f.name for _, f in functions if not f.name.startswith("test_") and asserts(f)}
    tests = [(path, f) for path, f in functions if f.name.startswith("test_")]
    bare = [f"{path.name}: {f.name}" for path, f in tests if not asserts(f) and not called_in(f) & helpers]
    assert len(tests) > 1000 and bare == []

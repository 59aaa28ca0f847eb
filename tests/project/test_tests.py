"""Every test can fail: it asserts something, or calls what does."""

import ast
from pathlib import Path

TESTS = sorted(Path(__file__).parents[1].rglob("*.py"))
CONTEXTS = {"raises", "warns"}  # of pytest
CHECKS = ("assert_", "check_")  # of NumPy, and of scikit-learn and jsonschema


def functions_of(path):
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)]


def called_in(function):
    """The names of what is called, without what they are attributes of; "assert" for the statement."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            yield "assert"
        elif isinstance(node, ast.Call):
            yield node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def asserts(called):
    return bool(called & {"assert", *CONTEXTS}) or any(name.startswith(CHECKS) for name in called)


def test_every_test_asserts_something():
    found = [(path, f.name, set(called_in(f))) for path in TESTS for f in functions_of(path)]
    helpers = {name for _, name, called in found if not name.startswith("test_") and asserts(called)}
    tests = [own for own in found if own[1].startswith("test_")]
    bare = [f"{path.name}: {name}" for path, name, called in tests if not asserts(called) and not called & helpers]
    assert len(tests) > 1000 and bare == []

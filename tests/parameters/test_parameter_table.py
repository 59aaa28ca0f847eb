"""The table of parameters: every estimator's signature, checks and documentation come from it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields

import pytest
from sklearn.base import clone

import pysirus
from pysirus._parameters import ParameterError, document, documented
from pysirus._parameters.table import check_parameters, parameter, whole

ESTIMATORS = [
    getattr(pysirus, name) for name in pysirus.__all__ if name.endswith(("Regressor", "Classifier", "Survival", "CV"))
]


@dataclass
class Kettle:
    """Boils.

    {parameters}
    """

    litres: int = parameter(2, "int", "How much.", whole(1))
    lid: str | None = parameter(None, "str", "What covers it.")
    mark: str = parameter("cold", '{"cold", "hot"}', "What it says.")


def test_document_says_type_default_and_help() -> None:
    lines = document(Kettle).splitlines()
    assert lines[2:4] == ["litres : int, default=2", "    How much."]
    assert lines[4] == "lid : str, optional" and lines[6] == 'mark : {"cold", "hot"}, default="cold"'
    assert "\n----------\nlitres : int, default=2\n    How much.\n" in documented(Kettle).__doc__


def test_check_names_the_parameter() -> None:
    check_parameters(Kettle())
    with pytest.raises(ParameterError, match=r"^litres must be a whole number of at least 1, got 0"):
        check_parameters(Kettle(litres=0))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_signature_is_the_table(estimator: type) -> None:
    signature = inspect.signature(estimator).parameters
    assert [own.name for own in fields(estimator)] == list(signature)
    assert {own.name: own.default for own in fields(estimator)} == {n: p.default for n, p in signature.items()}
    assert estimator().get_params() == {n: p.default for n, p in signature.items()}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_given_by_name(estimator: type) -> None:
    assert {p.kind for p in inspect.signature(estimator).parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError, match=rf"{estimator.__name__}.__init__\(\) takes 1 positional argument but 2 were"):
        estimator(10)
    assert clone(estimator(random_state=3)).get_params() == estimator(random_state=3).get_params()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_docstring_names_every_parameter_once(estimator: type) -> None:
    doc = inspect.getdoc(estimator)
    for own in fields(estimator):
        line = [line for line in doc.splitlines() if line.startswith(f"{own.name} : ")]
        assert len(line) == 1
        assert line[0].count("default=") + line[0].count(", optional") == 1

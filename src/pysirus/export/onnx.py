"""A model in, an ONNX graph out, of plain operators, in double precision.

One input per column, of shape [rows, 1] and named as the column: doubles, NaN for missing; for columns of text strings,
the empty string for missing. Numbers and true/false as levels are doubles too. The output is ``prediction`` of shape
[rows]; for classes ``label`` [rows] and ``probabilities`` [rows, classes].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pysirus._families.links import Form
from pysirus._model.model import Model
from pysirus.export._addends import Branch, Line, listing_of, of_second
from pysirus.export._conditions import ExportError, Test, check_doubles, level_type, used_features

OPSET, ML_OPSET, IR = 17, 3, 8


class _Graph:
    """Nodes and constants as they are added; methods return the name of their result."""

    def __init__(self, model: Model) -> None:
        import onnx
        from onnx import helper, numpy_helper

        self.onnx, self.helper, self.numpy_helper = onnx, helper, numpy_helper
        self.model = model
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.known: dict[int, str] = {}
        self.values: dict[int, str] = {}

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"_{op}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(op, list(inputs), [name], name=name, domain=domain, **attributes))
        return name

    def constant(self, value: Any) -> str:
        array = np.asarray(value)
        if array.dtype.kind == "i":
            array = array.astype(np.int64)
        name = f"_constant_{len(self.constants)}"
        self.constants[name] = self.numpy_helper.from_array(array, name)
        return name

    def input_of(self, index: int) -> Any:
        """The input of a column; text becomes the number of its level, -1 missing, -2 never seen."""
        proto, feature = self.onnx.TensorProto, self.model.features[index]
        _check_name(feature.name)
        is_text = feature.kind != "numeric" and level_type(self.model, index, "ONNX") is str
        if is_text:
            if "" in feature.levels:
                raise ExportError(
                    f"Column '{feature.name}' has the empty text as a category; in ONNX it means missing."
                )
            codes = [*range(len(feature.levels)), -1]
            self.values[index] = self.add(
                "LabelEncoder",
                feature.name,
                domain="ai.onnx.ml",
                keys_strings=[*feature.levels, ""],
                values_int64s=codes,
                default_int64=-2,
            )
            self.known[index] = self.add("Not", self.add("Equal", self.values[index], self.constant([[-1]])))
        else:
            check_doubles(self.model, index, "ONNX")
            self.values[index] = feature.name
            self.known[index] = self.add("Not", self.add("IsNaN", feature.name))
        kind = proto.STRING if is_text else proto.DOUBLE
        return self.helper.make_tensor_value_info(feature.name, kind, [None, 1])

    def _level(self, test: Test, level: Any) -> str:
        """Whether the value is a level."""
        levels = self.model.features[test.index].levels
        if isinstance(level, str):
            return self.add("Equal", self.values[test.index], self.constant([[levels.index(level)]]))
        return self.add("Equal", self.values[test.index], self.constant([[float(level)]]))

    def test(self, test: Test) -> str:
        """Whether a condition holds: [rows, 1]."""
        value, known = self.values[test.index], self.known[test.index]
        if test.kind == "known":
            inside = known
        elif test.kind == "never":
            inside = self.add("And", known, self.constant(np.array([[False]])))
        elif test.kind == "interval":
            ends = []
            if test.lower is not None:
                ends.append(self.add("GreaterOrEqual", value, self.constant([[test.lower]])))
            if test.upper is not None:
                ends.append(self.add("Less", value, self.constant([[test.upper]])))
            inside = self.all([*ends, known])
        else:
            inside = self._level(test, test.levels[0])
            for level in test.levels[1:]:
                inside = self.add("Or", inside, self._level(test, level))
            inside = self.all([inside if test.kind == "in" else self.add("Not", inside), known])
        return self.add("Or", inside, self.add("Not", known)) if test.missing else inside

    def all(self, names: list[str]) -> str:
        result = names[0]
        for name in names[1:]:
            result = self.add("And", result, name)
        return result

    def total(self, anchor: str) -> str:
        """The sums, [rows, 1] or [rows, classes], added in the order of the model."""
        listing = listing_of(of_second(self.model))
        # a constant for every row: zero times the anchor has the right number of rows
        zeros = self.add("Mul", self.add("Cast", anchor, to=self.onnx.TensorProto.DOUBLE), self.constant(0.0))
        base = self.add("Add", zeros, self.constant([listing.start]))
        weights = listing.weights
        result, weight = (base if weights is None else zeros), self.add("Add", zeros, self.constant(listing.root))
        for r, addend in enumerate(listing.addends):
            parts, fires = ADDENDS[type(addend)](self, addend)
            result = self.add("Add", result, parts)
            if weights is not None:
                own = self.constant([[weights[r]]])
                weight = self.add("Add", weight, self.add("Where", fires, own, self.constant([[0.0]])))
        if weights is None:
            return result
        some = self.add("Greater", weight, self.constant([[0.0]]))
        divided = self.add("Div", result, self.add("Where", some, weight, self.constant([[1.0]])))
        return self.add("Add", base, self.add("Where", some, divided, self.constant([[0.0]])))

    def branch(self, branch: Branch) -> tuple[str, str]:
        """What a rule adds, and where it holds."""
        fires = self.all([self.test(test) for test in branch.tests])
        inside, outside = self.constant([branch.inside]), self.constant([branch.outside])
        return self.add("Where", fires, inside, outside), fires

    def line(self, line: Line) -> tuple[str, str]:
        """A linear term: the column within its limits, times its slope; and where the column is known."""
        value = self.add("Clip", self.values[line.index], self.constant(line.lower), self.constant(line.upper))
        filled = self.add("Where", self.known[line.index], value, self.constant([[line.missing]]))
        from_centre = self.add("Sub", filled, self.constant([[line.centre]])) if line.centre else filled
        return self.add("Mul", from_centre, self.constant([line.slopes])), self.known[line.index]


ADDENDS: dict[type, Callable[[_Graph, Any], tuple[str, str]]] = {Branch: _Graph.branch, Line: _Graph.line}


def _check_name(name: str) -> None:
    if not name or name.startswith("_"):
        # names of inner results start with an underscore here
        raise ExportError(f"Column {name!r} cannot be the name of an ONNX input: rename it not to start with '_'.")


def _number(graph: _Graph, total: str) -> list[Any]:
    helper, shape = graph.helper, graph.constant([-1])
    graph.nodes.append(helper.make_node("Reshape", [total, shape], ["prediction"]))
    return [helper.make_tensor_value_info("prediction", graph.onnx.TensorProto.DOUBLE, [None])]


def _exponential(graph: _Graph, total: str) -> list[Any]:
    return _number(graph, graph.add("Exp", total))


def _classes(graph: _Graph, total: str, node: Any) -> list[Any]:
    """The label of the largest sum; a node makes the probabilities."""
    helper, proto, classes = graph.helper, graph.onnx.TensorProto, graph.model.family.classes or ()
    graph.nodes.append(node)
    best = graph.add("ArgMax", total, axis=1, keepdims=0)
    labels = _label_array(classes)
    graph.nodes.append(helper.make_node("Gather", [graph.constant(labels), best], ["label"]))
    kind = helper.np_dtype_to_tensor_dtype(labels.dtype) if labels.dtype != object else proto.STRING
    return [
        helper.make_tensor_value_info("label", kind, [None]),
        helper.make_tensor_value_info("probabilities", proto.DOUBLE, [None, len(classes)]),
    ]


def _shares(graph: _Graph, total: str) -> list[Any]:
    return _classes(graph, total, graph.helper.make_node("Identity", [total], ["probabilities"]))


def _softmax(graph: _Graph, total: str) -> list[Any]:
    return _classes(graph, total, graph.helper.make_node("Softmax", [total], ["probabilities"], axis=1))


def _odds(graph: _Graph, total: str) -> list[Any]:
    """The sum is the log-odds of the second class: the first has score 0."""
    return _softmax(graph, graph.add("Concat", graph.add("Mul", total, graph.constant(0.0)), total, axis=1))


# what writes the outputs of each form, and their names
OUTPUTS: dict[Form, tuple[Callable[[_Graph, str], list[Any]], set[str]]] = {
    "sum": (_number, {"prediction"}),
    "exp": (_exponential, {"prediction"}),
    "shares": (_shares, {"label", "probabilities"}),
    "softmax": (_softmax, {"label", "probabilities"}),
    "odds": (_odds, {"label", "probabilities"}),
}


def _label_array(classes: tuple[Any, ...]) -> Any:
    if all(isinstance(label, str) for label in classes):
        return np.array(classes, dtype=object)
    array = np.array(classes)
    if array.dtype.kind not in "bif":
        raise ExportError(f"The classes {classes[:3]!r} are neither text nor numbers, which ONNX cannot return.")
    return array.astype(np.int64) if array.dtype.kind == "i" else array


def to_onnx(model: Model) -> bytes:
    """An ONNX model (operator sets 17 and ai.onnx.ml 3), as the bytes of its file."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX models need onnx: pip install pysirus[onnx].") from error
    features = used_features(model)
    if not features:
        raise ExportError(
            "The model has neither rules nor terms: an ONNX graph without inputs cannot say how many rows there are."
        )
    write, names = OUTPUTS[model.family.form]
    taken = names & {model.features[i].name for i in features}
    if taken:
        raise ExportError(f"Column '{taken.pop()}' has the name of an ONNX output: rename it.")
    graph = _Graph(model)
    inputs = [graph.input_of(index) for index in features]
    outputs = write(graph, graph.total(graph.known[features[0]]))
    body = onnx.helper.make_graph(graph.nodes, "pysirus", inputs, outputs, list(graph.constants.values()))
    opsets = [onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    document = onnx.helper.make_model(body, opset_imports=opsets, ir_version=IR, producer_name="pysirus")
    onnx.checker.check_model(document)
    content: bytes = document.SerializeToString()
    return content

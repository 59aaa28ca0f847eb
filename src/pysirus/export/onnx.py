"""A model in, an ONNX graph out, of plain operators, in double precision.

One input per column, of shape [rows, 1] and named as the column: doubles, NaN for missing; for columns of text strings,
the empty string for missing. Numbers and true/false as levels are doubles too. The output is ``prediction`` of shape
[rows]; for classes ``label`` [rows] and ``probabilities`` [rows, classes].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pysirus._model.model import Model
from pysirus._terms.linear import LinearTerm
from pysirus.export._conditions import (
    ExportError,
    Test,
    all_sums,
    check_doubles,
    is_odds,
    level_type,
    of_second,
    tests_of,
    used_features,
)

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
                raise ExportError(f"Column '{feature.name}' has the empty text as a level; in ONNX it means missing.")
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
        each = all_sums(of_second(self.model))
        # a constant for every row: zero times the anchor has the right number of rows
        zeros = self.add("Mul", self.add("Cast", anchor, to=self.onnx.TensorProto.DOUBLE), self.constant(0.0))
        base = self.add("Add", zeros, self.constant([[sums.base for sums in each]]))
        mean = each[0].weights is not None
        result, weight = (zeros if mean else base), self.add("Add", zeros, self.constant(each[0].root))
        for r, rule in enumerate(self.model.rules):
            fires = self.all([self.test(test) for test in tests_of(rule, self.model)])
            inside = self.constant([[sums.parts[r][0] for sums in each]])
            outside = self.constant([[sums.parts[r][1] for sums in each]])
            result = self.add("Add", result, self.add("Where", fires, inside, outside))
            if each[0].weights is not None:
                own = self.constant([[each[0].weights[r]]])
                weight = self.add("Add", weight, self.add("Where", fires, own, self.constant([[0.0]])))
        for term in self.model.terms:
            result = self.add("Add", result, self.linear(term))
        if not mean:
            return result
        some = self.add("Greater", weight, self.constant([[0.0]]))
        divided = self.add("Div", result, self.add("Where", some, weight, self.constant([[1.0]])))
        return self.add("Add", base, self.add("Where", some, divided, self.constant([[0.0]])))

    def linear(self, term: LinearTerm) -> str:
        """A linear term: the column within its limits, times its weight."""
        value = self.add("Clip", self.values[term.index], self.constant(term.lower), self.constant(term.upper))
        filled = self.add("Where", self.known[term.index], value, self.constant([[term.missing]]))
        return self.add("Mul", filled, self.constant([[term.weight]]))


def _check_name(name: str) -> None:
    if not name or name.startswith("_"):
        # names of inner results start with an underscore here
        raise ExportError(f"Column {name!r} cannot be the name of an ONNX input: rename it not to start with '_'.")


def _outputs(graph: _Graph, total: str) -> list[Any]:
    """What the sums stand for; of two classes with one score, the log-odds, the first has score 0."""
    helper, proto, classes = graph.helper, graph.onnx.TensorProto, graph.model.classes
    if classes is None:
        total = graph.add("Exp", total) if graph.model.link == "log" else total
        shape = graph.constant([-1])
        graph.nodes.append(helper.make_node("Reshape", [total, shape], ["prediction"]))
        return [helper.make_tensor_value_info("prediction", proto.DOUBLE, [None])]
    if is_odds(graph.model):
        total = graph.add("Concat", graph.add("Mul", total, graph.constant(0.0)), total, axis=1)
    if graph.model.link == "softmax":
        graph.nodes.append(helper.make_node("Softmax", [total], ["probabilities"], axis=1))
    else:
        graph.nodes.append(helper.make_node("Identity", [total], ["probabilities"]))
    best = graph.add("ArgMax", total, axis=1, keepdims=0)
    labels = _label_array(classes)
    graph.nodes.append(helper.make_node("Gather", [graph.constant(labels), best], ["label"]))
    kind = helper.np_dtype_to_tensor_dtype(labels.dtype) if labels.dtype != object else proto.STRING
    return [
        helper.make_tensor_value_info("label", kind, [None]),
        helper.make_tensor_value_info("probabilities", proto.DOUBLE, [None, len(classes)]),
    ]


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
    names = {"prediction"} if model.classes is None else {"label", "probabilities"}
    taken = names & {model.features[i].name for i in features}
    if taken:
        raise ExportError(f"Column '{taken.pop()}' has the name of an ONNX output: rename it.")
    graph = _Graph(model)
    inputs = [graph.input_of(index) for index in features]
    outputs = _outputs(graph, graph.total(graph.known[features[0]]))
    body = onnx.helper.make_graph(graph.nodes, "pysirus", inputs, outputs, list(graph.constants.values()))
    opsets = [onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    document = onnx.helper.make_model(body, opset_imports=opsets, ir_version=IR, producer_name="pysirus")
    onnx.checker.check_model(document)
    content: bytes = document.SerializeToString()
    return content

"""A model in, a PMML 4.4 document out: each rule a derived field, the model a regression on them.

A derived field holds weight times output, so the regression adds them up with coefficients of one. Missing values are
missing values; an unseen category is passed on as it is.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus.export._conditions import (
    ExportError,
    Sums,
    Test,
    all_sums,
    check_doubles,
    is_odds,
    level_type,
    number,
    of_second,
    sums_of,
    tests_of,
    used_features,
)

NAMESPACE = "http://www.dmg.org/PMML-4_4"
TYPES = {str: "string", int: "integer", float: "double", bool: "boolean"}


def _text(value: Any) -> str:
    """A name or level as XML text; what XML 1.0 cannot hold is refused."""
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    for c in text:
        if (ord(c) < 32 and c not in "\t\n\r") or 0xD800 <= ord(c) <= 0xDFFF or ord(c) in (0xFFFE, 0xFFFF):
            raise ExportError(f"{text!r} holds the character {c!r}, which XML cannot hold. Rename it.")
    return text


def _type_of(kind: type, values: tuple[Any, ...]) -> str:
    """The PMML type of levels or labels; its integers have 32 bits in JPMML, so longer ones are doubles."""
    return "double" if kind is int and any(abs(value) >= 2**31 for value in values) else TYPES[kind]


def _level_type(model: Model, index: int) -> str:
    """The PMML type of the levels of a column."""
    check_doubles(model, index, "PMML")
    return _type_of(level_type(model, index, "PMML"), model.features[index].levels)


def _apply(function: str, *arguments: ET.Element) -> ET.Element:
    element = ET.Element("Apply", function=function)
    element.extend(arguments)
    return element


def _field(name: str) -> ET.Element:
    return ET.Element("FieldRef", field=_text(name))


def _constant(value: Any, kind: str = "double") -> ET.Element:
    element = ET.Element("Constant", dataType=kind)
    element.text = number(value) if kind == "double" else _text(value)
    return element


def _known(test: Test, model: Model) -> ET.Element:
    """What is asked of known values."""
    if test.kind == "interval":
        ends = []
        if test.lower is not None:
            ends.append(_apply("greaterOrEqual", _field(test.feature), _constant(test.lower)))
        if test.upper is not None:
            ends.append(_apply("lessThan", _field(test.feature), _constant(test.upper)))
        return ends[0] if len(ends) == 1 else _apply("and", *ends)
    kind = _level_type(model, test.index)
    levels = [_constant(level, kind) for level in test.levels]
    return _apply("isIn" if test.kind == "in" else "isNotIn", _field(test.feature), *levels)


def _test(test: Test, model: Model) -> ET.Element:
    missing = _apply("isMissing", _field(test.feature))
    known = _apply("isNotMissing", _field(test.feature))
    if test.kind == "known":
        return _apply("or", missing, known) if test.missing else known
    if test.kind == "never":
        return missing if test.missing else _apply("and", missing, known)
    # nested "if" because evaluators differ in how "and" and "or" treat missing arguments
    outcome = _constant("true" if test.missing else "false", "boolean")
    return _apply("if", known, _known(test, model), outcome)


def _derived(model: Model, k: int, sums: Sums) -> list[ET.Element]:
    """For each rule and linear term a field that holds what it adds (to class ``k``)."""
    fields = []
    for r, (rule, (inside, outside)) in enumerate(zip(model.rules, sums.parts), start=1):
        field = _double_field(_rule_name(model, r, k), _if(rule, model, inside, outside))
        field.set("displayName", _text(rule.condition_text))
        fields.append(field)
    for r, term in enumerate(model.terms, start=len(model.rules) + 1):
        clipped = _apply("min", _apply("max", _field(term.feature), _constant(term.lower)), _constant(term.upper))
        known = _apply("isNotMissing", _field(term.feature))
        value = _apply("if", known, clipped, _constant(term.missing))
        fields.append(_double_field(_rule_name(model, r, k), _apply("*", _constant(term.weight), value)))
    return fields


def _if(rule: FittedTerm, model: Model, inside: float, outside: float) -> ET.Element:
    tests = [_test(test, model) for test in tests_of(rule, model)]
    condition = tests[0] if len(tests) == 1 else _apply("and", *tests)
    return _apply("if", condition, _constant(inside), _constant(outside))


def _double_field(name: str, content: ET.Element) -> ET.Element:
    field = ET.Element("DerivedField", name=name, optype="continuous", dataType="double")
    field.append(content)
    return field


def _mean_fields(model: Model) -> list[ET.Element]:
    """For Node harvest: the weights of the rules that hold, and the weighted mean that the model adds to its base."""
    sums, n = sums_of(model), len(model.rules)
    assert sums.weights is not None
    names = [_rule_name(model, n + r, 0) for r in range(1, n + 1)]
    fields = [
        _double_field(name, _if(rule, model, weight, 0.0))
        for name, rule, weight in zip(names, model.rules, sums.weights)
    ]
    weight = _apply("sum", _constant(sums.root), *map(_field, names))
    total = _apply("sum", _constant(0.0), *(_field(_rule_name(model, r, 0)) for r in range(1, n + 1)))
    fields.append(_double_field(_rule_name(model, 2 * n + 1, 0), weight))
    some = _apply("greaterThan", _field(_rule_name(model, 2 * n + 1, 0)), _constant(0.0))
    mean = _apply("/", total, _field(_rule_name(model, 2 * n + 1, 0)))
    return [*fields, _double_field(_rule_name(model, 2 * n + 2, 0), _apply("if", some, mean, _constant(0.0)))]


def _rule_name(model: Model, r: int, k: int) -> str:
    names = {_target(model), *(feature.name for feature in model.features)}
    name = f"part {r}" if model.classes is None else f"part {r} class {k + 1}"
    while name in names:
        name += "'"
    return name


def _data_dictionary(model: Model, features: list[int]) -> ET.Element:
    dictionary = ET.Element("DataDictionary")
    for index in features:
        feature = model.features[index]
        if feature.kind == "numeric":
            ET.SubElement(dictionary, "DataField", name=_text(feature.name), optype="continuous", dataType="double")
            continue
        kind = _level_type(model, index)
        field = ET.SubElement(dictionary, "DataField", name=_text(feature.name), optype="categorical", dataType=kind)
        for level in feature.levels:
            ET.SubElement(field, "Value", value=_text(level))
    target = {"name": _target(model), "optype": "continuous", "dataType": "double"}
    if model.classes is not None:
        target.update(optype="categorical", dataType=_label_type(model.classes))
    field = ET.SubElement(dictionary, "DataField", target)
    for label in model.classes or ():
        ET.SubElement(field, "Value", value=_text(label))
    dictionary.set("numberOfFields", str(len(dictionary)))
    return dictionary


def _label_type(classes: tuple[Any, ...]) -> str:
    """The PMML type of the labels; text where they are of several types, or have more digits than a double."""
    kinds = {type(label) for label in classes}
    exact = not any(isinstance(label, int) and float(label) != label for label in classes)
    return _type_of(kinds.pop(), classes) if len(kinds) == 1 and kinds <= set(TYPES) and exact else "string"


def _target(model: Model) -> str:
    name = _text(model.target)
    return name if name not in {feature.name for feature in model.features} else f"{name} (target)"


def _schema(model: Model, features: list[int]) -> ET.Element:
    schema = ET.Element("MiningSchema")
    for index in features:
        ET.SubElement(schema, "MiningField", name=_text(model.features[index].name), invalidValueTreatment="asIs")
    ET.SubElement(schema, "MiningField", name=_target(model), usageType="target")
    return schema


def _class_sums(model: Model) -> list[tuple[int, Sums]]:
    """The sums, each with the number of its class; log-odds are those of the second."""
    return list(enumerate(all_sums(of_second(model)), start=int(is_odds(model))))


def _tables(model: Model) -> list[ET.Element]:
    tables = []
    if is_odds(model):  # softmax of 0 and the log-odds
        assert model.classes is not None
        tables.append(ET.Element("RegressionTable", intercept="0.0", targetCategory=_text(model.classes[0])))
    for k, sums in _class_sums(model):
        table = ET.Element("RegressionTable", intercept=number(sums.base))
        if model.classes is not None:
            table.set("targetCategory", _text(model.classes[k]))
        fields = range(1, len(model.rules) + len(model.terms) + 1)
        if model.aggregation == "mean":
            fields = range(2 * len(model.rules) + 2, 2 * len(model.rules) + 3)
        for r in fields:
            ET.SubElement(table, "NumericPredictor", name=_rule_name(model, r, k), coefficient="1.0")
        tables.append(table)
    return tables


def _share_name(label: Any) -> str:
    """The output field that holds the probability of a class."""
    return f"probability({_text(label)})"


def _output(model: Model) -> ET.Element:
    output = ET.Element("Output")
    predicted = ET.SubElement(output, "OutputField", name="prediction", feature="predictedValue")
    predicted.set("optype", "continuous" if model.classes is None else "categorical")
    predicted.set("dataType", "double" if model.classes is None else _label_type(model.classes))
    for label in model.classes or ():
        field = ET.SubElement(output, "OutputField", name=_share_name(label), feature="probability")
        field.set("value", _text(label))
        field.set("optype", "continuous")
        field.set("dataType", "double")
    return output


def to_pmml(model: Model) -> str:
    """A PMML document; the prediction is the output field ``prediction``."""
    features = used_features(model)
    outputs = {"prediction", *(_share_name(label) for label in model.classes or ())}
    taken = outputs & {model.features[i].name for i in features}
    if taken:
        raise ExportError(f"Column '{taken.pop()}' has the name of a PMML output: rename it.")
    root = ET.Element("PMML", xmlns=NAMESPACE, version="4.4")
    header = ET.SubElement(root, "Header", description="Rules by pysirus")
    ET.SubElement(header, "Application", name="pysirus")
    root.append(_data_dictionary(model, features))
    regression = ET.SubElement(root, "RegressionModel", modelName="pysirus")
    regression.set("functionName", "regression" if model.classes is None else "classification")
    if model.classes is not None or model.link == "log":
        methods = {"identity": "simplemax", "softmax": "softmax", "log": "exp"}
        regression.set("normalizationMethod", methods[model.link])
    regression.append(_schema(model, features))
    regression.append(_output(model))
    local = ET.SubElement(regression, "LocalTransformations")
    for k, sums in _class_sums(model):
        local.extend(_derived(model, k, sums))
    if model.aggregation == "mean":
        local.extend(_mean_fields(model))
    regression.extend(_tables(model))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode").replace("\r", "&#13;")  # or a reader would take it for a line feed
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

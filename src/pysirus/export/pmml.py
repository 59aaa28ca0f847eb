"""A model in, a PMML 4.4 document out: each rule a derived field, the model a regression on them.

A derived field holds weight times output, so the regression adds them up with coefficients of one. Missing values are
missing values; an unseen category is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

from pysirus._families.links import Form
from pysirus._model.model import Model
from pysirus.export._addends import Branch, Line, Listing, Numbers, listing_of, of_second
from pysirus.export._conditions import ExportError, Test, check_doubles, level_type, number, used_features

NAMESPACE = "http://www.dmg.org/PMML-4_4"
# how each form is written
METHODS: dict[Form, dict[str, str]] = {
    "sum": {"functionName": "regression"},
    "exp": {"functionName": "regression", "normalizationMethod": "exp"},
    "shares": {"functionName": "classification", "normalizationMethod": "simplemax"},
    "softmax": {"functionName": "classification", "normalizationMethod": "softmax"},
    "odds": {"functionName": "classification", "normalizationMethod": "softmax"},
}
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


def _branch(branch: Branch, k: int, name: str, model: Model) -> ET.Element:
    field = _double_field(name, _if(branch, model, branch.inside[k], branch.outside[k]))
    field.set("displayName", _text(branch.rule.condition_text))
    return field


def _line(line: Line, k: int, name: str, model: Model) -> ET.Element:
    clipped = _apply("min", _apply("max", _field(line.feature), _constant(line.lower)), _constant(line.upper))
    value = _apply("if", _apply("isNotMissing", _field(line.feature)), clipped, _constant(line.missing))
    from_centre = _apply("-", value, _constant(line.centre)) if line.centre else value
    field = _double_field(name, _apply("*", _constant(line.slopes[k]), from_centre))
    field.set("displayName", _text(line.term.condition_text))
    return field


ADDENDS: dict[type, Callable[[Any, int, str, Model], ET.Element]] = {Branch: _branch, Line: _line}


def _derived(model: Model, listing: Listing) -> list[ET.Element]:
    """For each sum and addend a field that holds what is added."""
    return [
        ADDENDS[type(addend)](addend, k, _part_name(model, r, k), model)
        for k in range(len(listing.start))
        for r, addend in enumerate(listing.addends, start=1)
    ]


def _if(branch: Branch, model: Model, inside: float, outside: float) -> ET.Element:
    tests = [_test(test, model) for test in branch.tests]
    condition = tests[0] if len(tests) == 1 else _apply("and", *tests)
    return _apply("if", condition, _constant(inside), _constant(outside))


def _double_field(name: str, content: ET.Element) -> ET.Element:
    field = ET.Element("DerivedField", name=name, optype="continuous", dataType="double")
    field.append(content)
    return field


def _mean_fields(model: Model, listing: Listing, weights: Numbers) -> list[ET.Element]:
    """For Node harvest: the weights of the rules that hold, and the weighted mean that the model adds to its base."""
    n = len(weights)
    name = [_part_name(model, r) for r in range(2 * n + 3)]
    fields = [
        _double_field(name[n + r], _if(branch, model, weight, 0.0))
        for r, (branch, weight) in enumerate(zip(listing.branches, weights), start=1)
    ]
    weight = _apply("sum", _constant(listing.root), *map(_field, name[n + 1 : 2 * n + 1]))
    total = _apply("sum", _constant(0.0), *map(_field, name[1 : n + 1]))
    fields.append(_double_field(name[-2], weight))
    some = _apply("greaterThan", _field(name[-2]), _constant(0.0))
    mean = _apply("/", total, _field(name[-2]))
    return [*fields, _double_field(name[-1], _apply("if", some, mean, _constant(0.0)))]


def _part_name(model: Model, r: int, k: int = 0) -> str:
    """The field that holds what addend ``r`` adds to sum ``k``."""
    names = {_target(model), *(feature.name for feature in model.features)}
    labels = model.family.classes or ()
    name = f"part {r} class {labels.index(model.family.spoken_labels[k]) + 1}" if labels else f"part {r}"
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
    labels = model.family.classes or ()
    field = ET.SubElement(dictionary, "DataField", {"name": _target(model), **_kind(labels)})
    for label in labels:
        ET.SubElement(field, "Value", value=_text(label))
    dictionary.set("numberOfFields", str(len(dictionary)))
    return dictionary


def _kind(labels: tuple[Any, ...]) -> dict[str, str]:
    """The attributes of a field that holds the prediction."""
    if not labels:
        return {"optype": "continuous", "dataType": "double"}
    return {"optype": "categorical", "dataType": _label_type(labels)}


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


def _tables(model: Model, listing: Listing) -> list[ET.Element]:
    """How each number or class is added up; where log-odds decide, the other class has score 0."""
    tables, n = [], len(listing.addends)
    parts = range(1, n + 1) if listing.weights is None else range(2 * n + 2, 2 * n + 3)
    for label in model.family.classes or (None,):
        table = ET.Element("RegressionTable", intercept="0.0")
        if label is not None:
            table.set("targetCategory", _text(label))
        if label in model.family.spoken_labels:
            k = model.family.spoken_labels.index(label)
            table.set("intercept", number(listing.start[k]))
            for r in parts:
                ET.SubElement(table, "NumericPredictor", name=_part_name(model, r, k), coefficient="1.0")
        tables.append(table)
    return tables


def _share_name(label: Any) -> str:
    """The output field that holds the probability of a class."""
    return f"probability({_text(label)})"


def _output(model: Model) -> ET.Element:
    output, labels = ET.Element("Output"), model.family.classes or ()
    ET.SubElement(output, "OutputField", {"name": "prediction", "feature": "predictedValue", **_kind(labels)})
    for label in labels:
        field = ET.SubElement(output, "OutputField", name=_share_name(label), feature="probability")
        field.set("value", _text(label))
        field.set("optype", "continuous")
        field.set("dataType", "double")
    return output


def to_pmml(model: Model) -> str:
    """A PMML document; the prediction is the output field ``prediction``."""
    model, features = of_second(model), used_features(model)
    outputs = {"prediction", *(_share_name(label) for label in model.family.classes or ())}
    taken = outputs & {model.features[i].name for i in features}
    if taken:
        raise ExportError(f"Column '{taken.pop()}' has the name of a PMML output: rename it.")
    root, listing = ET.Element("PMML", xmlns=NAMESPACE, version="4.4"), listing_of(model)
    header = ET.SubElement(root, "Header", description="Rules by pysirus")
    ET.SubElement(header, "Application", name="pysirus")
    root.append(_data_dictionary(model, features))
    regression = ET.SubElement(root, "RegressionModel", {"modelName": "pysirus", **METHODS[model.family.form]})
    regression.append(_schema(model, features))
    regression.append(_output(model))
    local = ET.SubElement(regression, "LocalTransformations")
    local.extend(_derived(model, listing))
    if listing.weights is not None:
        local.extend(_mean_fields(model, listing, listing.weights))
    regression.extend(_tables(model, listing))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode").replace("\r", "&#13;")  # or a reader would take it for a line feed
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

"""Spark data frames: estimators of pysirus learn where the rows lie.

The rows stay on the executors; what travels are questions and sums. Predictions are SQL expressions, so no Python runs
for them on the executors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pysirus._data.column import DataError
from pysirus._data.table import Feature
from pysirus._model.facts import ColumnRoles
from pysirus._model.model import Model
from pysirus._terms.listing import RuleSet
from pysirus.engine.backends.spark import SparkRows
from pysirus.engine.parts import EngineOptions, tally_of_bytes
from pysirus.export._conditions import check_derived, level_type, used_features
from pysirus.export._dialects import SPARK
from pysirus.export._writer import Writer

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


CLEAN = replace(SPARK, as_number=str, as_text=str, guesses=None, has_nan=False)  # columns that `_input` has made ready
ANSWER_BYTES = 1 << 25  # of one answer: some of them meet on an executor, and on the driver


def check_frame(frame: Any, what: str) -> None:
    """Refuse what is no Spark data frame."""
    try:
        from pyspark.sql import DataFrame
    except ImportError as error:
        raise ImportError("pysirus.spark needs pyspark: pip install pysirus[spark].") from error
    if not isinstance(frame, DataFrame):
        raise DataError(
            f"{what} takes a Spark data frame, found {type(frame).__module__}.{type(frame).__name__}. Tables in memory "
            "go to the estimators of pysirus itself."
        )


# ------------------------------------------------------------------------------------------------------- prediction


def _input(frame: DataFrame, feature: Feature, model: Model, index: int) -> Column:
    """A column as the expressions want it: NULL for missing, doubles for numbers."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    found = {field.name: field.dataType for field in frame.schema.fields}
    if feature.name not in found:
        raise DataError(f"The frame has no column '{feature.name}', which occurs in the rules.")
    column, kind = F.col("`" + feature.name.replace("`", "``") + "`"), found[feature.name]
    wanted = float if feature.kind == "numeric" else level_type(model, index, "Spark")
    held, accepted, cast = {
        str: ("text", T.StringType, "string"),
        bool: ("true and false", T.BooleanType, "boolean"),
    }.get(wanted, ("numbers", T.NumericType, "double"))
    if not isinstance(kind, (accepted, T.NullType)):
        raise DataError(
            f"Column '{feature.name}' held {held} in training, now it is {kind.simpleString()}. Cast it to {cast}."
        )
    if isinstance(kind, T.IntegralType) and feature.kind != "numeric":
        return column  # a label may have more digits than a double
    column = column.cast(cast)
    return F.nanvl(column, F.lit(None)) if accepted is T.NumericType else column


def _with_inputs(model: Model, names: Mapping[int, str]) -> Model:
    """The model with other names for the columns that its rules look at."""
    rules = [rule.with_names(names) for rule in model.rules]
    terms = tuple(term.with_names(names) for term in model.terms)
    return replace(model, selected=RuleSet(rules), terms=terms)


def transform(model: Any, frame: DataFrame, prediction: str = "prediction") -> DataFrame:
    """A Spark data frame with the predictions of a model, as expressions that Spark evaluates itself.

    Parameters
    ----------
    model : estimator or Model
        Any fitted model of pysirus, such as one from ``pysirus.load``.
    frame : pyspark.sql.DataFrame
        The rows. It needs the columns that occur in rules, and may have others.
    prediction : str, default="prediction"
        Name of the column that is added. For classes it is the label, and there is a column ``probability_<label>`` for
        each class.

    Returns
    -------
    frame : pyspark.sql.DataFrame

    Examples
    --------
    >>> from pysirus.spark import transform
    >>> transform(pysirus.load("houses.json"), frame)  # doctest: +SKIP
    DataFrame[area: bigint, district: string, prediction: double]
    """
    check_frame(frame, "transform")
    from pyspark.sql import functions as F

    rules: Model = model._as_model()
    check_derived(rules, "Spark")
    names = {i: f"_pysirus_{i}" for i in used_features(rules)}
    inputs = {name: _input(frame, rules.features[i], rules, i) for i, name in names.items()}
    renamed = _with_inputs(rules, names)
    writer = Writer(renamed, CLEAN)
    sums = writer.sums(prediction)
    hidden = {name: f"_pysirus_score_{k}" if rules.family.needs_exp else name for k, name in enumerate(sums)}
    sums = {hidden[name]: text for name, text in sums.items()}
    steps = [sums, writer.answers([writer.column(name) for name in sums], prediction)]
    taken = {name.casefold(): name for name in frame.columns}  # as Spark compares them
    for name in (name for step in steps for name in step):
        if (old := taken.setdefault(name.casefold(), name)) is not name:
            raise DataError(f"Column '{name}' would be added, and there is '{old}' already. Rename or drop that one.")
    if inputs:
        frame = frame.withColumns(inputs)
    for step in steps:
        frame = frame.withColumns({name: F.expr(text) for name, text in step.items()}) if step else frame
    return frame.drop(*inputs, *(new for old, new in hidden.items() if new != old))


# ------------------------------------------------------------------------------------------------------- estimators


def fit_spark(estimator: Any, frame: DataFrame, target: str, *, drop: Sequence[str], **columns: str | None) -> Any:
    """Learn the rules from a Spark data frame."""
    check_frame(frame, "fit")
    rows = SparkRows(frame, target, drop=[drop] if isinstance(drop, str) else list(drop), **columns)
    try:
        options = EngineOptions(tally=tally_of_bytes(ANSWER_BYTES, rows.n_features), sum_bytes=ANSWER_BYTES)
        estimator._fit_parts(rows, target, options)
    finally:
        rows.close()
    estimator._remember(ColumnRoles(target, columns.get("weights"), groups=columns.get("groups")))
    return estimator

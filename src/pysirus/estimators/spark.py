"""SIRUS on Spark data frames: the estimators of pysirus, learning where the rows lie.

The rows stay on the executors; what travels are questions and sums. Predictions are SQL expressions, so no Python runs
for them on the executors.

Tuned estimators (CV) follow the same path and make the same choice as in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pysirus._data.column import DataError
from pysirus._data.table import Feature
from pysirus._model.facts import ColumnRoles
from pysirus._model.model import Model
from pysirus._terms.listing import RuleSet
from pysirus.engine.holders.spark import SparkRows
from pysirus.engine.parts import EngineOptions, tally_of_bytes
from pysirus.estimators import classifier, regressor
from pysirus.export._conditions import check_derived, level_type, used_features
from pysirus.export._dialects import SPARK
from pysirus.export._writer import Writer

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


__all__ = ["SirusClassifier", "SirusClassifierCV", "SirusRegressor", "SirusRegressorCV"]

CLEAN = replace(SPARK, as_number=str, as_text=str, guesses=None, has_nan=False)  # columns that `_input` has made ready
ANSWER_BYTES = 1 << 25  # of one answer: some of them meet on an executor, and on the driver


def _check_frame(frame: Any, what: str) -> None:
    try:
        from pyspark.sql import DataFrame
    except ImportError as error:
        raise ImportError("pysirus.spark needs pyspark: pip install pysirus[spark].") from error
    if not isinstance(frame, DataFrame):
        raise DataError(
            f"{what} takes a Spark data frame, found {type(frame).__module__}.{type(frame).__name__}. Tables in memory "
            "go to the estimators of pysirus itself."
        )


def _is_spark(X: Any) -> bool:
    sql = sys.modules.get("pyspark.sql")
    return sql is not None and isinstance(X, sql.DataFrame)


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
    _check_frame(frame, "transform")
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
    _check_frame(frame, "fit")
    rows = SparkRows(frame, target, drop=[drop] if isinstance(drop, str) else list(drop), **columns)
    try:
        options = EngineOptions(tally=tally_of_bytes(ANSWER_BYTES, rows.n_features), sum_bytes=ANSWER_BYTES)
        estimator._fit_parts(rows, target, options)
    finally:
        rows.close()
    estimator._remember(ColumnRoles(target, columns.get("weights"), groups=columns.get("groups")))
    return estimator


class OnSpark:
    """An estimator that takes Spark data frames."""

    def fit(
        self,
        frame: DataFrame,
        target: str,
        *,
        sample_weight: str | None = None,
        row_id: str | None = None,
        drop: Sequence[str] = (),
    ) -> Any:
        """Learn the rules: the same as in memory, from the same rows in the same order.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
            The table: numbers, text and booleans.
        target : str
            The column to predict.
        sample_weight : str, optional
            The column of sample weights.
        row_id : str, optional
            A column of unique integers: rows are numbered in its order, and the rules do not depend on how the frame is
            partitioned. It is not a feature. By default rows are numbered in the order of the partitions;
            repartitioning then acts like another seed.
        drop : list of str, optional
            Columns to leave out.

        Returns
        -------
        self : estimator
        """
        return fit_spark(self, frame, target, weights=sample_weight, row_id=row_id, drop=drop)

    def transform(self, frame: DataFrame, prediction: str = "prediction") -> DataFrame:
        """The frame with predictions, computed by Spark without Python; see ``pysirus.spark.transform``.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
            The rows.
        prediction : str, default="prediction"
            Name of the column that is added.

        Returns
        -------
        frame : pyspark.sql.DataFrame
        """
        return transform(self, frame, prediction)

    def predict(self, X: Any) -> Any:
        """Predict: for a Spark data frame ``transform(X)``, for a table in memory an array.

        Parameters
        ----------
        X : pyspark.sql.DataFrame, data frame or array
            The rows.

        Returns
        -------
        y : pyspark.sql.DataFrame or ndarray
        """
        return self.transform(X) if _is_spark(X) else super().predict(X)  # type: ignore[misc]


class ClassesOnSpark(OnSpark):
    """The same for classes."""

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities; for a Spark data frame ``transform(X)``, which has one column per class.

        Parameters
        ----------
        X : pyspark.sql.DataFrame, data frame or array
            The rows.

        Returns
        -------
        probabilities : pyspark.sql.DataFrame or ndarray of shape (n_rows, n_classes)
        """
        return self.transform(X) if _is_spark(X) else super().predict_proba(X)  # type: ignore[misc]


class SirusRegressor(OnSpark, regressor.SirusRegressor):  # type: ignore[misc]
    """``pysirus.SirusRegressor`` for Spark data frames: the same parameters, attributes, rules and model files.

    Examples
    --------
    >>> from pysirus.spark import SirusRegressor
    >>> model = SirusRegressor(random_state=0).fit(frame, "price", row_id="id")  # doctest: +SKIP
    >>> model.transform(frame).select("id", "prediction")  # doctest: +SKIP
    DataFrame[id: bigint, prediction: double]
    """


class SirusClassifier(ClassesOnSpark, classifier.SirusClassifier):  # type: ignore[misc]
    """``pysirus.SirusClassifier`` for Spark data frames: the same parameters, attributes, rules and model files.

    Examples
    --------
    >>> from pysirus.spark import SirusClassifier
    >>> model = SirusClassifier(random_state=0).fit(frame, "fraud", row_id="id")  # doctest: +SKIP
    >>> model.transform(frame).select("prediction", "probability_yes")  # doctest: +SKIP
    DataFrame[prediction: string, probability_yes: double]
    """


class TunedOnSpark(OnSpark):
    """A tuned estimator that takes Spark data frames."""

    def fit(
        self,
        frame: DataFrame,
        target: str,
        *,
        sample_weight: str | None = None,
        groups: str | None = None,
        row_id: str | None = None,
        drop: Sequence[str] = (),
    ) -> Any:
        """Choose the number of rules and learn them: the same as in memory, from the same rows in the same order.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
            The table: numbers, text and booleans.
        target : str
            The column to predict.
        sample_weight : str, optional
            The column of sample weights.
        groups : str, optional
            A column, which is no feature: rows of the same group stay in the same fold. The groups of all rows are held
            by the driver.
        row_id : str, optional
            A column of unique integers: rows are numbered in its order, and the rules do not depend on how the frame is
            partitioned. It is not a feature. By default rows are numbered in the order of the partitions;
            repartitioning then acts like another seed.
        drop : list of str, optional
            Columns to leave out.

        Returns
        -------
        self : estimator
        """
        return fit_spark(self, frame, target, weights=sample_weight, groups=groups, row_id=row_id, drop=drop)


class SirusRegressorCV(TunedOnSpark, regressor.SirusRegressorCV):  # type: ignore[misc]
    """``pysirus.SirusRegressorCV`` for Spark data frames: the same parameters, path, choice, rules and model files.

    ``cv`` must be a number of folds. The held-out rows are judged on the driver: about 40 bytes a row.

    Examples
    --------
    >>> from pysirus.spark import SirusRegressorCV
    >>> model = SirusRegressorCV(n_repeats=1, random_state=0).fit(frame, "price", row_id="id")  # doctest: +SKIP
    >>> model.path_  # doctest: +SKIP
    """


class SirusClassifierCV(ClassesOnSpark, TunedOnSpark, classifier.SirusClassifierCV):  # type: ignore[misc]
    """``pysirus.SirusClassifierCV`` for Spark data frames: the same parameters, path, choice, rules and model files.

    The rest is as in ``SirusRegressorCV``.

    Examples
    --------
    >>> from pysirus.spark import SirusClassifierCV
    >>> model = SirusClassifierCV(n_repeats=1, random_state=0).fit(frame, "fraud", row_id="id")  # doctest: +SKIP
    >>> model.cv_error_  # doctest: +SKIP
    """

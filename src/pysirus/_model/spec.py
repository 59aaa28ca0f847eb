"""The model file, key by key: what is checked, read, written, and told to ``model.schema.json`` and docs/model-file.md.

``python -m trust.model_file`` writes both from here. A key that is added gets a line here, and an attribute of the same
name in the class that its record builds. What keys say together is in ``agreement``. Keys that there are keep their
names and meaning for ever: old files have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from pysirus._families.class_metrics import Decision
from pysirus._families.links import Link
from pysirus._families.read import MAX_CLASSES
from pysirus._families.survival import LARGEST_TIME
from pysirus._model.facts import STABILITY, ColumnRoles, Count, EstimatorKeys, Facts, Frequency, Share, Stability
from pysirus._model.keys import key, option, record
from pysirus._model.kinds import (
    Json,
    Kind,
    ensure,
    inner,
    items,
    line,
    number,
    number_line,
    read_line,
)
from pysirus._model.term_spec import (
    ConstraintsKeys,
    FeatureKeys,
    Label,
    Line,
    MarksKeys,
    Output,
    RecipeKeys,
    Rules,
    TermKeys,
)
from pysirus._model.tuning import IDEAL, Ideal, Size, Tuning, TuningPath
from pysirus._weights.moments import N_FOLDS
from pysirus._weights.survival import MOST_TIMES, BaselineHazard, Survival

FORMAT = "pysirus-model"
VERSIONS = (1, 2, 3)  # 2 has a link, and may have a recipe, constraints and given rules; 3 has slopes


def _column(kind: Kind) -> Kind:
    """A list of numbers, in the model an array."""
    read = lambda value, *_: np.asarray(value, dtype=np.float64)  # noqa: E731
    return replace(items(kind), read=read, write=lambda value: value.tolist())


def _triangle(matrix: Any) -> str:
    """The lower triangle of a symmetric matrix, by rows."""
    return number_line(matrix[np.tril_indices(len(matrix))])


# ------------------------------------------------------------------------------------------------- tuning and sums


@dataclass(kw_only=True)
class PathKeys:
    """Error, stability and size against p0, averaged over repetitions: columns of equal length."""

    p0: Annotated[Any, _column(number(0, 1))] = key("The frequency from which on rules are taken; it falls.")
    n_rules: Annotated[Any, _column(number(0, 1e6))] = key("Mean number of rules in a fold.")
    error: Annotated[Any, _column(number())] = key("Held-out error, pooled over the folds.")
    stability: Annotated[Any, _column(STABILITY)] = key("Stability between the folds.")
    n_rules_se: Annotated[Any, _column(number(0))] = key("Standard error of the number of rules over repetitions.")
    error_se: Annotated[Any, _column(number(0))] = key("Standard error of error.")
    stability_se: Annotated[Any, _column(number(0))] = key("Standard error of stability.")


def _read_hazard(value: str, place: str, known: Any) -> tuple[float, ...]:
    return tuple(hazard_from_line(value, known.n_times, place).tolist())


@dataclass(kw_only=True)
class SizeKeys:
    """The model of the first rules of a tuned list."""

    BUILDS: ClassVar = Size
    n_rules: int = key("How many of them.", low=1)
    p0: Frequency = key("The frequency from which on rules are taken.")
    error: float = key("The held-out error of such lists.")
    stability: Stability = key("The stability of such lists.")
    weights: tuple[float, ...] = key("The weight of each rule.")
    intercept: Output = key("The number added to the weighted outputs.")
    penalty: float = key("The penalty of the weights.", low=0)
    n_pruned: int = key("Negligible rules among them, whose weight is 0, where there are some.", absent=0, low=1)
    returned: tuple[Count, ...] | None = option("In how many folds each rule was selected too, by lists of this size.")
    hazard: Annotated[Any, replace(line(), read=_read_hazard)] = option(
        "Of survival: the baseline of this list, at the times of the model.", name="cumulative_hazard"
    )


@dataclass(kw_only=True)
class TuningKeys:
    """What cross-validation found for each p0, and the list of every size."""

    p0: Frequency = key("The p0 that was chosen.")
    error: float = key("Held-out error there.")
    stability: Stability = key("Stability there.")
    criterion: Literal["stability", "error"] = key("What was chosen by.")
    step: Count = key("The entry of the path that was chosen.")
    changed: Share = key("Share of the rows that a fold leaves out.")
    n_repeats: int = key("Repetitions of cross-validation.", low=1)
    path: PathKeys = key("Error, stability and size against p0.")
    rules: Rules = key("The longest list, with outputs.")
    sizes: tuple[SizeKeys, ...] = key("The model of the first 1, 2, 3, ... rules.")
    n_folds: int | None = option("Folds of all repetitions.", low=2)
    shared: Share | None = option(
        "Of folds that look forward in time: the share of the rows of a fold that an earlier one has."
    )
    target_stability: Frequency = key("The stability of the ideal point.", absent=IDEAL.stability)
    stability_weight: float = key("How much stability counts beside the error.", absent=IDEAL.weight, low=0)

    @staticmethod
    def build(own: Json, place: str, known: Any) -> Tuning:
        """The path has the number of repetitions, and the ideal point."""
        ideal = Ideal(own.pop("target_stability"), own.pop("stability_weight"))
        path = TuningPath(**vars(own.pop("path")), n_repeats=own.pop("n_repeats"), ideal=ideal)
        return Tuning(**own, path=path)

    @staticmethod
    def parts(tuning: Tuning) -> Any:
        """And back."""
        path = tuning.path
        point = {"target_stability": path.ideal.stability, "stability_weight": path.ideal.weight}
        return SimpleNamespace(**vars(tuning), n_repeats=path.n_repeats, **point)


@dataclass(kw_only=True)
class MomentsKeys:
    """Sums over ten folds from which the weights of any part of the list can be fitted again, in units of the sample
    weights. They are of the rules in order; for a tuned model, of the longest list."""

    rows: Line = key("Rows inside each rule.")
    n_rows: Count = key("The number of training rows.")
    fold_weight: Line = key("Weight of each fold.", name="size")
    pair_weight: Annotated[Any, items(line(_triangle), N_FOLDS, N_FOLDS)] = key(
        "For each fold the weight of where two rules apply, the lower triangle by rows.", name="pair"
    )
    y_sum: Line = key("Sum of the target in each fold.", name="sum")
    rule_y_sum: tuple[Line, ...] = key(
        "For each fold the sum of the target inside each rule.", name="rule_sum", least=N_FOLDS, most=N_FOLDS
    )
    y_square: Line = key("Sum of squares of the target in each fold.", name="square")
    centre: float = key("What the target is measured from.")
    value_sum: tuple[Line, ...] | None = option(
        "Version 3: for each fold the sum of the values of each rule and slope. A rule has the value 1 where it "
        "applies and 0 elsewhere, a slope what its feature is above its mean; sums over a rule are then of products "
        "with these values.",
        name="value",
        least=N_FOLDS,
        most=N_FOLDS,
    )


@dataclass(kw_only=True)
class LikelihoodKeys:
    """A quadratic approximation of the mean loss about the fitted weights: a function of one intercept for each score
    (of two classes one, the log-odds of the second) and of one weight for each rule, of a tuned model of the longest
    list. From it new weights are found without the data, approximately."""

    linear: Line = key("The linear part.")
    curvature: Annotated[Any, line(_triangle)] = key("The matrix of second derivatives, the lower triangle by rows.")


def hazard_from_line(text: str, count: int, place: str) -> Any:
    """A cumulative hazard of a file; a ``Damage`` unless it is one."""
    values = read_line(text, count, place)
    rises = bool((values >= 0).all() and (np.diff(values) >= 0).all() and (values <= LARGEST_TIME).all())
    ensure(rises, place, "must be a cumulative hazard: from 0 on, never falling")
    return values


@dataclass(kw_only=True)
class SurvivalKeys:
    """What a model of times to an event keeps besides its rules. The survival function of a row is exp(-hazard
    exp(score))."""

    event: str = key("The name of the column of events.")
    event_value: Label = option("The value that marks an event, if it is not 1 or true.")
    n_events: Count = key("Training rows with an event.")
    median: float | None = key("Median time of the training rows; null if it is not reached.", low=0)
    times: Line = key("The times at which the baseline hazard increases.")
    cumulative_hazard: Line = key("The cumulative hazard for a score of 0, from each of these times on.")

    @staticmethod
    def build(own: Json, place: str, known: Any) -> Survival:
        """A ``Damage`` unless times and hazard are ones."""
        line, here = own.pop("times"), inner(place, "times")
        count = line.count(" ") + bool(line)
        ensure(count <= MOST_TIMES, here, f"must have at most {MOST_TIMES} times, found {count}")
        times = read_line(line, count, here)
        rises = bool((np.diff(times, prepend=0.0) > 0).all() and (times <= LARGEST_TIME).all())
        ensure(rises, here, "must be times above 0 that rise")
        hazard = hazard_from_line(own.pop("cumulative_hazard"), count, inner(place, "cumulative_hazard"))
        return Survival(**own, hazard=BaselineHazard(times, hazard))

    @staticmethod
    def parts(own: Survival) -> Any:
        """And back."""
        return SimpleNamespace(**vars(own), times=own.hazard.times, cumulative_hazard=own.hazard.cumulative)


# ------------------------------------------------------------------------------------------------------- document


@dataclass(kw_only=True)
class DecisionKeys:
    """How a class is decided for: the one whose probability times its weight is largest."""

    BUILDS: ClassVar = Decision
    weights: tuple[float, ...] = key("The weight of each class.", least=2)
    basis: Literal["held-out rows", "given rows", "costs"] = key("How they were chosen.")
    costs: tuple[float, ...] | None = option("The cost of misclassifying a row of each class.", least=2)
    rate: Share | None = option("The requested share of positive decisions.")
    selected: Share | None = option("The share of positive decisions on the rows used to choose the cut-off.")
    cost: float | None = option("The mean cost per row on these rows.", low=0)
    cost_before: float | None = option("The mean cost per row if the most likely class is predicted.", low=0)


@dataclass(kw_only=True)
class ModelKeys:
    """A rule list with weights. The prediction is intercept + sum of weight * (inside if all conditions of a rule
    hold else outside)."""

    format: Literal["pysirus-model"] = key("The type of the file.")
    version: Literal[1, 2, 3] = key(
        "The lowest version that can express the model: 2 for models with a link and other additions, 3 for lists "
        "with slopes."
    )
    task: Literal["regression", "classification", "survival"] = key("The kind of target.")
    target: str = key("The name of the target.")
    classes: tuple[Label, ...] | None = key("The labels in order, or null.", least=1, most=MAX_CLASSES, unique=True)
    positive_class: Label = option(
        "Version 2: with two classes, the class that texts, metrics, scores and directions refer to. Default: the "
        "second."
    )
    decision: DecisionKeys | None = option(
        "Version 2: the rule that decides between classes, if it is not the most likely class."
    )
    named: bool = key("Whether columns are matched by name (if the training table had names) or by position.")
    features: tuple[FeatureKeys, ...] = key("The training columns, in order.", least=1)
    recipe: RecipeKeys | None = option("Version 2: how features are derived from the columns of a table.")
    roles: ColumnRoles | None = option(
        "Version 2: training columns that are not features. `score`, `explain`, `report` and `edit` use them to find "
        "the target; predictions do not need them."
    )
    marks: Mapping[str, MarksKeys] | None = option(
        "Version 2: the format of numbers in the training files, by column, including the target. Columns not listed "
        "have decimal points and no thousands separators. pysirus reads new text files in the same format."
    )
    mean: Output = key("The mean target of the training rows, or the proportion of each class.")
    intercept: Output = key("The number added to the weighted outputs.")
    aggregation: Literal["sum", "mean"] = key(
        "sum: as above, plus the terms. mean (Node harvest): the weighted mean of inside over the rules that apply, "
        "and of mean with root_weight."
    )
    root_weight: float = key("The weight of `mean` if `aggregation` is mean.", low=0)
    link: Link | None = option(
        "Version 2: what the sum stands for. identity: the prediction. softmax: a score per class; probabilities are "
        "proportional to their exponentials. log: the logarithm of the prediction. hazard: the logarithm of a hazard "
        "relative to that of an average row, which is the prediction. Without it the sum is the prediction."
    )
    survival: SurvivalKeys | None = option("For survival: events and the baseline hazard.")
    rules: Rules = key("The selected rules and slopes, most frequent first, including those with weight 0.")
    terms: tuple[TermKeys, ...] = key("The linear terms, usually none.")
    facts: Facts = key("How the model was fitted. Predictions do not need it.")
    tuning: TuningKeys | None = option("The results of tuning; null without tuning.", null=True, always=True)
    moments: MomentsKeys | None = option(
        "Sums from which `without` and `with_rules` refit weights; null for classes.", null=True, always=True
    )
    likelihood: LikelihoodKeys | None = option(
        "Version 2: the same information for models with a link.", null=True, always=True
    )
    constraints: ConstraintsKeys | None = option(
        "The constraints that every rule satisfies, if any. A file in which a rule violates them is damaged.", null=True
    )
    estimator: EstimatorKeys | None = option("The Python class that was saved and its parameters.")


DOCUMENT = record(ModelKeys)

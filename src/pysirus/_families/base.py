"""What the rooms that follow ask of a family; nobody asks which one it is.

A list of rules adds up a *score*. Its family says what the score stands for (the link and its inverse), what a rule
adds to it, how that is read, and what the prediction is judged by. A rule is read by two pairs of numbers, inside and
outside: what the data say there (the mean target), and the points that it adds, from what it adds on average, since the
outputs of a correction are residuals.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np

from pysirus._families.class_metrics import Decision
from pysirus._families.links import INVERSE, ON_NUMBERS, EffectScale, Floats, Form, Link, Part, RulePart
from pysirus._families.target import Target
from pysirus._text.format import decimals_for, format_number, format_outputs, one_line, signed

if TYPE_CHECKING:
    from pysirus._weights.survival import Survival

Self = TypeVar("Self", bound="Family")
Task = Literal["regression", "classification", "survival"]
Base = Literal["average", "mean", "intercept"]  # of contributions

START_DIGITS = 9  # of an intercept


@dataclass(frozen=True)
class Family(Target):
    """How the target of a fitted model is predicted, read and judged."""

    name: ClassVar[str]
    aggregation: ClassVar[str] = "sum"  # how rules combine, in the words of model files
    task: ClassVar[Task] = "regression"
    link: ClassVar[Link] = "identity"
    error_name: ClassVar[str]  # what tuning measures
    row_loss_name: ClassVar[str] = "deviance"  # what a held-out row loses
    score_metric: ClassVar[str]  # what ``score`` answers with
    edit_metric: ClassVar[str]  # what the trail of edits tells
    prediction_name: ClassVar[str] = "prediction"  # what is predicted, in a sentence
    measured_from: ClassVar[Base] = "average"  # what contributions are measured from
    tells_totals: ClassVar[bool] = True  # whether the sum of points is told beside the prediction
    form: ClassVar[Form] = "sum"  # how predictions follow from the sums
    sum_word: ClassVar[str] = "prediction"  # what a sum is called as a column
    start_name: ClassVar[str] = "score at the start"
    value_name: ClassVar[str] = "predicted value"
    number_names: ClassVar[tuple[str, ...]] = ("points if so", "points if not")  # right of rules in a printed table
    has_hazard: ClassVar[bool] = False  # whether a baseline hazard and outcomes of rules are kept
    takes_corrections: ClassVar[bool] = True  # whether later rules may correct earlier ones
    is_least_squares: ClassVar[bool] = False  # whether rules are weighed by squared error
    weighs_equally: ClassVar[bool] = False  # whether all rules have the same weight
    effect_scale: ClassVar[EffectScale | None] = ON_NUMBERS  # of what rules are given; None where they take nothing
    largest_score: ClassVar[float] = math.inf  # that predicts a number
    predicts: ClassVar[str] = "numbers"  # what models of which the rules compare predict

    target: str = "y"
    mean: float | tuple[float, ...] = 1.0  # of the target, or class proportions; any before the fit

    # -------------------------------------------------------------------------------------------------------- numbers

    @property
    def facts(self) -> dict[str, Any]:
        """What a model remembers of its family, besides what its file says anyway."""
        return {}

    def check(self, values: Floats) -> None:
        """Reject numbers that the target cannot be."""

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels; None where numbers are predicted."""
        return None

    @property
    def positive_class(self) -> Any:
        """Of two classes the one that was said to be spoken of; else None."""
        return None

    @property
    def positive(self) -> int:
        """The number of the class that is spoken of; 0 where there is none."""
        return 0

    def speaking_of(self: Self, label: Any) -> Self:
        """The family whose texts and metrics speak of a class; of the one that it has where none is said."""
        return self

    @property
    def decides_by(self) -> Decision | None:
        """How a class is decided for, where it is not the most likely one."""
        return None

    @property
    def decision_text(self) -> str:
        """How a class is decided for, in words; empty where it is the most likely one."""
        return ""

    def deciding_by(self: Self, decision: Decision | None) -> Self:
        """The family with another way to decide for a class; where there are no classes nothing is decided."""
        return self

    def deciding(self, k: int) -> tuple[float, float]:
        """By what the sum of class k is multiplied, and what is added to it, before the largest decides."""
        return 1.0, 0.0

    def of_last(self: Self) -> Self:
        """The family that speaks of the last class."""
        return self

    @property
    def survival(self) -> Survival | None:
        """Of times to an event: the baseline hazard, the number of events and the median time."""
        return None

    @property
    def required_survival(self) -> Survival:
        """The same, where it is needed."""
        raise AttributeError("This is for times to an event (SirusSurvival), which this model does not predict.")

    def with_hazard(self: Self, cumulative: Sequence[float] | None) -> Self:
        """The family with the baseline hazard of another list, of times to an event."""
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one prediction: a number, or one for each class."""
        return ()

    @property
    def is_scored(self) -> bool:
        """Whether the score is something else than the prediction in the unit of the target."""
        return self.link != "identity"

    @property
    def needs_exp(self) -> bool:
        """Whether predictions follow from the sums by exponentials."""
        return self.form in ("exp", "softmax", "odds")

    @property
    def labels_of_sums(self) -> tuple[Any, ...]:
        """The labels that tell several sums apart; none where there is one sum."""
        return ()

    @property
    def names_of_sums(self) -> list[str]:
        """What the sums are, as headers."""
        return [f"{self.sum_word} of {label}" for label in self.labels_of_sums] or [self.sum_word]

    def of_class(self, values: Floats, k: int) -> Floats:
        """The part of class k in scores [..., output], of two classes its log-odds; numbers as they are."""
        return values

    def points_of(self, values: Floats, k: int) -> Floats:
        """Parts of a score [..., output] as they count for class k; of several classes less the mean of all."""
        return self.of_class(values, k)

    def score_at(self, prediction: float) -> float:
        """The score that stands for a prediction."""
        return prediction

    def winning_margins(self, k: int) -> tuple[Floats, Floats]:
        """By how much class k wins over each other one, ``start + mix @ scores``: the matrix and the start."""
        raise AttributeError("Only classes win over each other.")

    def choose(self, probabilities: Floats) -> Any:
        """The number of the class that is decided for in each row."""
        raise AttributeError("Only classes are decided for.")

    @property
    def adds_up(self) -> bool:
        """Whether a prediction follows from what rules add, one by one; in a weighted mean they share it."""
        return self.aggregation == "sum"

    @property
    def root_weight(self) -> float:
        """The weight of the mean of all rows beside rules, in a weighted mean; else 0."""
        return 0.0

    def start(self, intercept: Any) -> list[float]:
        """Where the sums of a list start."""
        return [float(value) for value in np.atleast_1d(intercept)]

    def sides(self, term: Part) -> tuple[list[float], list[float]]:
        """What a term adds to the sums where its value is 1 and where it is 0."""
        return term.added

    def combine(self, sums: Floats) -> Floats:
        """The scores of rows, as they are told, from their sums [row, sum]."""
        return self.take(sums)

    def take(self, sums: Floats) -> Floats:
        """Sums [..., output] as they are told: one number, or one for each class."""
        return sums if self.shape else sums[..., 0]

    def respond(self, scores: Floats) -> Floats:
        """The predictions [row, output] of scores [row, output]."""
        return INVERSE[self.link](scores)

    def decision(self, scores: Floats) -> Floats:
        """scikit-learn's decision function: of two classes the log-odds of the second, of more a score for each."""
        raise AttributeError("decision_function is for classes with likelihood weights (weighting='likelihood').")

    def ranking(self, scores: Floats) -> Floats:
        """The decision function of a classifier, also of one that has no scores."""
        return self.decision(scores)

    @staticmethod
    def as_output(scores: Floats) -> float | tuple[float, ...]:
        """What the likelihood is a function of [score] as an intercept."""
        return float(scores[0])

    @property
    def score_of_mean(self) -> float | tuple[float, ...]:
        """The score that predicts the mean."""
        return self.mean

    def odds(self, scores: Floats) -> Floats:
        """Of two classes with scores the log-odds of the positive one, [...]; else the scores."""
        return scores

    # ------------------------------------------------------------------------------------------------------ intervals

    least_value: ClassVar[float] = -math.inf  # that the target may have

    def spread(self, values: Floats) -> Floats:
        """What errors of predictions are measured in: intervals are as wide as this is large."""
        return np.ones_like(values)

    def misfit(self, values: Floats, truth: Any) -> Floats:
        """How far predictions [row, output] miss the truth, a number for each row."""
        predicted = values[:, 0]
        return np.asarray(np.abs(truth - predicted) / self.spread(predicted))

    # ------------------------------------------------------------------------------------------------------- variance

    def variance(self, of_numbers: float | None) -> Floats | None:
        """That of the target, one for each output; of numbers it is known from elsewhere, or not at all."""
        return None if of_numbers is None else np.array([of_numbers])

    # ------------------------------------------------------------------------------------- what a file must agree on

    @property
    def output_words(self) -> str:
        """What an output of a rule is, in a file."""
        return "one number"

    def mean_fault(self, mean: Any) -> str:
        """What is wrong with a mean of the target; nothing where it is one."""
        return self.output_fault(mean)

    def output_fault(self, output: Any) -> str:
        """What is wrong with the mean of some rows; nothing where it is one."""
        return ""

    def residual_fault(self, output: Any) -> str:
        """What is wrong with a mean residual; nothing where it is one."""
        return ""

    # ----------------------------------------------------------------------------------------------- what a rule adds

    def average_output(self, rule: RulePart) -> Floats:
        """The mean output of a rule over the training data, by weight."""
        return rule.average_output(self.mean)

    def added(self, rule: RulePart) -> tuple[Floats, Floats]:
        """What a rule adds to the score where it holds and elsewhere; of several classes a vector with one each."""
        inside, outside = map(self.odds, rule.added_from(self.average_output(rule)))
        return inside, outside

    # -------------------------------------------------------------------------------------------------- contributions

    def explained_from(self, intercept: Any) -> Any:
        """Where contributions start."""
        return np.asarray(intercept, dtype=np.float64) if self.shape else intercept

    def explained(self, terms: Sequence[Part], values: Floats) -> tuple[Floats, Floats]:
        """What terms add to the score of each row [row, term, ...], by their values, and on average [term, ...]."""
        outputs, averages = np.empty((*values.shape, *self.shape)), np.empty((len(terms), *self.shape))
        for t, term in enumerate(terms):
            outputs[:, t] = term.contributions(values[:, t])
            averages[t] = (term.weight or 0.0) * term.average_output(self.mean)
        return outputs, averages

    @property
    def spoken_labels(self) -> tuple[Any, ...]:
        """What contributions are of: the labels of classes, or one None for a number."""
        return (None,)

    def contributions(self, values: Floats) -> Floats:
        """Parts of a score [..., output] as they are told, [..., spoken label]."""
        return values

    # ---------------------------------------------------------------------------------------------------------- words

    @property
    def kind_text(self) -> str:
        """What kind of thing is predicted."""
        return "numbers"

    @property
    def effect_name(self) -> str:
        """What effects and steps are measured in, in words; the name of the target is no part of it."""
        return "prediction"

    @property
    def sum_name(self) -> str:
        """What contributions add up to, in a sentence."""
        return f"the {self.scale}"

    def scale_of(self, k: int) -> str:
        """What scores are measured in, for class k."""
        return self.scale

    def prediction_of(self, k: int) -> str:
        """What is predicted, for class k."""
        return self.prediction_name

    def output_of(self, k: int) -> str:
        """What the outputs of rules are, for class k."""
        return self.target

    @property
    def parts_name(self) -> str:
        """What contributions are, in a head line."""
        return f"Contributions to {one_line(self.sum_name)}"

    @property
    def points_names(self) -> list[str]:
        """The headers of what each part adds, one for each spoken label."""
        return [str(label) for label in self.spoken_labels]

    def point_text(self, value: float, decimals: int = 2) -> str:
        """What a part adds, as text."""
        return signed(value, decimals)

    def prediction_texts(self, values: Floats) -> list[str]:
        """Predictions that are compared with each other, as text; the last decides the digits."""
        decimals = max(decimals_for([float(values[-1])], 0.0), 2)
        return [f"{value:.{decimals}f}" for value in values]

    def prediction_text(self, value: float) -> str:
        """One prediction as text."""
        return f"{value:.3g}"

    def prediction_header(self, k: int) -> str:
        """The header of the prediction so far, of class k."""
        return self.target

    @property
    @abstractmethod
    def scale(self) -> str:
        """What points are measured in."""

    @property
    def adds_name(self) -> str:
        """What the column with what rules add is called; empty where that is what stands after `then` and `else`."""
        return "adds"

    @property
    def outcome_text(self) -> str | None:
        """What became of all training rows, of times to an event; else None."""
        return None

    def event_shares(self, rule: RulePart) -> list[float]:
        """The shares of rows with an event inside and outside a rule, of times to an event."""
        return []

    def truths(self, y: Any, n_rows: int) -> Any:
        """What came true, one entry for each row."""
        return y

    def truth_text(self, truth: Any, number: Callable[[float], str]) -> str:
        """An entry of ``truths`` as text, with the words for numbers."""
        return number(truth) if isinstance(truth, float) else str(truth)

    def shown_class(self, rule: RulePart) -> int:
        """The class that stands for a rule; 0 where there is none."""
        return self.positive

    def outputs(self, rule: RulePart, *, named: bool = True, longest: int | None = None) -> tuple[str, str]:
        """What the data say inside and outside, as text; of two classes the name may be left out.

        Names of classes take at most ``longest`` characters.
        """
        inside, outside = rule.means
        return format_outputs(inside, outside, None)

    def adds(self, rule: RulePart) -> str:
        """What a rule adds where it holds and elsewhere, as text: ``+1.20 / -2.78``."""
        return " / ".join(self.added_texts(rule))

    def added_texts(self, rule: RulePart) -> tuple[str, str]:
        """The same, one text each; of several classes for the one that stands for the rule."""
        k = self.shown_class(rule)
        return self.points_texts([float(np.atleast_1d(side)[0 if side.ndim == 0 else k]) for side in self.added(rule)])

    @abstractmethod
    def points_texts(self, points: Sequence[float]) -> tuple[str, str]:
        """Two numbers of points as text."""

    def plain_head(self, intercept: Any) -> str:
        """The head of a list that is told with its intercept, not from what rules add on average."""
        return self.head(self.odds(np.asarray(intercept, dtype=np.float64)))

    @abstractmethod
    def head(self, start: Floats) -> str:
        """A line that says what the list is about, and from which score on the points add up."""

    def start_line(self, intercept: Any) -> str:
        """From where predictions start, where the head says it with few digits or not at all; else nothing."""
        return ""

    # -------------------------------------------------------------------------------------------------- printed tables

    @property
    def predicted_text(self) -> str:
        """What is predicted, for the head of a program."""
        return self.target

    @abstractmethod
    def head_pairs(self, start: Floats) -> list[tuple[str, str]]:
        """Names and values above a table of rules that are read by what they add to a start."""

    def plain_pairs(self, intercept: Any) -> list[tuple[str, str]]:
        """The same of a list that is told with its intercept."""
        return self.head_pairs(self.odds(np.asarray(intercept, dtype=np.float64)))

    def mean_texts(self, rule: RulePart) -> tuple[str, str]:
        """What the data say inside and outside, below a head that may have named the class."""
        return self.outputs(rule, named=False)

    def sum_text(self, values: Floats) -> str:
        """Addends of the sums, with a sign."""
        return f"{np.atleast_1d(values)[0]:+.2f}"

    def numbers(self, rule: RulePart) -> tuple[str, ...]:
        """What stands right of a rule, under ``number_names``."""
        return tuple(map(self.sum_text, self.added(rule)))


def start_texts(intercept: Any) -> list[str]:
    """An intercept, or one for each class, with enough digits to tell two models apart."""
    return [format_number(float(value), START_DIGITS) for value in np.atleast_1d(intercept)]

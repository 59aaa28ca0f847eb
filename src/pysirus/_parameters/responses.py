"""The part of the table that is about the response: classes, losses of numbers, events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pysirus._parameters.check import Option, check_choice, check_real, check_scalar, parameter


@dataclass(eq=False, repr=False)
class ClassWeight:
    """How much classes count."""

    class_weight: Any = parameter(
        None,
        'dict or "balanced", optional',
        "Class weights, multiplied with ``sample_weight``: one weight per label (1 if not given), "
        'or "balanced" to give every class the same total weight.',
        option=Option(
            "--class-weight",
            "LABEL=X,...",
            "How much the rows of each class count: yes=5,no=1. balanced: every class the same.",
            "Columns",
            type=str,
            refusal="classes have weights, and this target is a number. Leave the option out, or say --task "
            "classification if the numbers are class labels.",
        ),
    )


@dataclass(eq=False, repr=False)
class PositiveClass:
    """Which of two classes is spoken of."""

    positive_class: Any = parameter(
        None,
        "label, optional",
        "With two classes: the one that texts, metrics, explanations, reports and exported scores speak of, such as "
        "'bad'. By default the second in ``classes_``. Directions (``monotonic_cst``) and fixed effects are about it "
        "too. Rules, predictions, ``classes_`` and the columns of ``predict_proba`` do not depend on it.",
        check_scalar,
        Option(
            "--positive",
            "CLASS",
            "The class that rules, metrics and scores speak of, of two. Default: the second in sorted order.",
            "Columns",
            type=str,
            refusal="one of two classes is positive, and this target is a number. Leave the option out, or say --task "
            "classification if the numbers are class labels.",
        ),
    )


@dataclass(eq=False, repr=False)
class Weighting:
    """How the rules of classes are weighed."""

    weighting: str = parameter(
        "likelihood",
        '{"likelihood", "equal"}, default="likelihood"',
        '"likelihood": weights by ridge-penalised likelihood; the rules add up to a score per class (with two classes, '
        'the log-odds) and give probabilities to decide by. "equal": the mean of the class proportions of rules, as '
        "in the paper on classification and its R package; with unequal classes it ranks rows, and rarely passes one "
        "half.",
        lambda name, value: check_choice(name, value, ("likelihood", "equal")),
        Option(
            "--weighting",
            "NAME",
            "Classification only. likelihood: weights fitted by penalised likelihood, which give probabilities. equal: "
            "the unweighted mean of class proportions, as in the R package.",
            refusal="this is for classification, and this target is a number. Leave the option out, or say --task "
            "classification if the numbers are class labels.",
        ),
    )


@dataclass(eq=False, repr=False)
class Loss:
    """What a number is."""

    loss: str = parameter(
        "squared_error",
        '{"squared_error", "poisson", "gamma", "tweedie"}, default="squared_error"',
        '"squared_error" predicts the mean as a sum of rules, as in the paper. "poisson" (counts and rates), "gamma" '
        '(positive, skewed amounts) and "tweedie" (amounts that may be zero, such as the claims of a policy) predict '
        "a positive mean as a product: rules multiply it. Counts and amounts with an exposure are y = count / exposure "
        "with ``sample_weight`` = exposure, as in scikit-learn.",
        lambda name, value: check_choice(name, value, ("squared_error", "poisson", "gamma", "tweedie")),
        Option(
            "--loss",
            "NAME",
            "squared_error; poisson for counts and rates; gamma for positive, skewed amounts; tweedie for amounts "
            "with zeros.",
            refusal="a loss is for regression, and this target has classes. Leave the option out.",
        ),
    )
    power: float = parameter(
        1.5,
        "float, default=1.5",
        'With loss="tweedie": the variance of an amount is its mean to this power, between 1 (as of counts) and 2 (as '
        "of positive amounts); scikit-learn's ``power``, LightGBM's ``tweedie_variance_power``. For no other loss.",
        lambda name, value: check_real(name, value, 1, 2),
        Option(
            "--power",
            "NUMBER",
            "With --loss tweedie: the variance is the mean to this power, between 1 and 2.",
            refusal="a power is for regression, and this target has classes. Leave the option out.",
        ),
    )


@dataclass(eq=False, repr=False)
class Event:
    """Which value is an event."""

    event: Any = parameter(
        None,
        "number, str or bool, optional",
        "The value of the event column that is an event, where it is not 1, true or yes: 2 where 1 is censored and 2 "
        "is dead. All other values are censored. The model keeps it for ``score``, metrics and reports.",
        check_scalar,
    )

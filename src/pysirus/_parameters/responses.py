"""The part of the table that is about the response: classes, losses of numbers, events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pysirus._parameters import Option, check_choice, check_real, check_scalar, parameter


@dataclass(eq=False, repr=False)
class ClassWeight:
    """How much classes count."""

    class_weight: Any = parameter(
        None,
        'dict or "balanced", optional',
        "Class weights, which multiply ``sample_weight``: a dict with a weight for each label (1 if not given), or "
        '"balanced" to give every class the same total weight.',
        option=Option(
            "--class-weight",
            "LABEL=X,...",
            "Weight of each class, such as yes=5,no=1. balanced: the same total weight for every class.",
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
        "With two classes: the class that texts, metrics, explanations, reports and exported scores refer to, such as "
        "'bad'. Directions (``monotonic_cst``) and fixed effects refer to it too. The default is the second class in "
        "``classes_``. The choice does not change the rules, the predictions, ``classes_`` or the columns of "
        "``predict_proba``.",
        check_scalar,
        Option(
            "--positive",
            "CLASS",
            "With two classes, the class that rules, metrics and scores refer to. Default: the second in sorted order.",
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
        'How rules are weighted. "likelihood" fits weights by ridge-penalised likelihood; the rules then add up to a '
        'score for each class (with two classes, the log-odds), from which the class probabilities follow. "equal" '
        "takes the mean of the class proportions of the rules, as in the paper on classification and its R package. "
        "With unequal classes this mean ranks rows, but rarely exceeds one half.",
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
        '(positive, skewed amounts) and "tweedie" (amounts that may be zero, such as claims per policy) predict a '
        "positive mean as a product of rules. If counts or amounts have an exposure, pass ``y = count / exposure`` "
        "and ``sample_weight = exposure``, as in scikit-learn.",
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
        'The Tweedie power if ``loss`` is "tweedie": the variance is proportional to the mean raised to this power. '
        "It lies between 1 (as for counts) and 2 (as for positive amounts). Scikit-learn calls it ``power``, LightGBM "
        "``tweedie_variance_power``.",
        lambda name, value: check_real(name, value, 1, 2),
        Option(
            "--power",
            "NUMBER",
            "With --loss tweedie: the variance is proportional to the mean raised to this power, between 1 and 2.",
            refusal="a power is for regression, and this target has classes. Leave the option out.",
        ),
    )


@dataclass(eq=False, repr=False)
class Event:
    """Which value is an event."""

    event: Any = parameter(
        None,
        "number, str or bool, optional",
        "The value of the event column that marks an event, if it is not 1, true or yes. For example, 2 if the column "
        "contains 1 for censored and 2 for dead. All other values are censored. The model stores the value and uses "
        "it in ``score``, metrics and reports.",
        check_scalar,
    )

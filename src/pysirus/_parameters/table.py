"""The table of parameters: a field is a parameter, with its type, default, check, documentation and option.

Estimators inherit the groups they take, so that scikit-learn finds real signatures; the command line makes its options
from the same fields, and docstrings their sections (`documented`). A new parameter is a field here and the
code that uses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from pysirus._parameters import (
    Check,
    Option,
    check_choice,
    check_features,
    check_integer,
    check_jobs,
    check_real,
    check_support,
    columns_tried,
    count_or_auto,
    folds_or_forward,
    groups_or_name,
    parameter,
    share_of_rows,
    share_or_count,
    share_or_one,
    support,
    yes_or_auto,
    yes_or_no,
)
from pysirus._parameters.responses import ClassWeight, Event, Loss, PositiveClass, Weighting

__all__ = ["ClassWeight", "Event", "Loss", "Option", "PositiveClass", "Weighting", "parameter"]  # of the table too


def whole(low: int, high: int | None = None, none: bool = False) -> Check:
    """Whole numbers from low to high."""
    return lambda name, value: check_integer(name, value, low, high, none)


def whole_or_auto(low: int) -> Check:
    """Whole numbers from low on, or "auto"."""

    def check(name: str, value: Any) -> None:
        if not (isinstance(value, str) and value == "auto"):
            check_integer(name, value, low, also=" (a number or 'auto')")

    return check


def between(low: float, high: float, none: bool = False) -> Check:
    """Numbers strictly between low and high."""
    return lambda name, value: check_real(name, value, low, high, none)


@dataclass(eq=False, repr=False)
class ListSize:
    """How many rules are kept."""

    p0: float | None = parameter(
        None,
        "float, optional",
        "Keep the rules with a frequency above p0 (at most ``max_rules``). By default, keep the ``n_rules`` most "
        "frequent rules.",
        between(0, 1, none=True),
        Option("--p0", "X", "Keep the rules more frequent than X, instead of --rules.", None),
    )
    n_rules: int = parameter(
        10,
        "int, default=10",
        "Number of rules to keep if ``p0`` is None.",
        whole(1),
        Option("--rules", "N", "Keep the N most frequent rules. Default: 10.", None, "-n", default=None),
    )


@dataclass(eq=False, repr=False)
class Folds:
    """How the number of rules is chosen."""

    cv: Any = parameter(
        10,
        'int, splitter, iterable or "forward", default=10',
        "The folds of the cross-validation. With ``groups`` in ``fit``, rows of the same group stay in the same fold. "
        'With "forward" and ``time`` in ``fit``, each period in the later half of the rows is predicted from the rows '
        "before it.",
        option=Option(
            "--folds",
            "N|forward",
            "Folds of the cross-validation. forward: predict each period from the rows before it (--periods).",
            None,
            "--cv",
            type=str,
            parse=folds_or_forward,
        ),
    )
    n_repeats: int | str = parameter(
        "auto",
        'int or "auto", default="auto"',
        'Number of repetitions, each with different folds and forests. "auto" continues until the standard errors '
        "over folds of the error and stability of the chosen list are at most 0.02, with a maximum of 10 repetitions.",
        whole_or_auto(1),
        Option(
            "--repeats",
            "N|auto",
            "Repetitions with different folds. auto: until error and stability are known to within 0.02, at most 10.",
            None,
            type=str,
            parse=count_or_auto,
        ),
    )
    criterion: str = parameter(
        "stability",
        '{"stability", "error", "auto"}, default="stability"',
        '"stability" chooses the list closest to error 0 and stability 0.9 between folds (the median over '
        'repetitions). "error" chooses the shortest list whose error is within two standard errors of the minimum. '
        '"auto" is "error" for classifiers with equal weights and "stability" otherwise.',
        lambda name, value: check_choice(name, value, ("stability", "error", "auto")),
        Option(
            "--criterion",
            "NAME",
            "stability or error. Default: stability, but error with --weighting equal.",
            None,
            default=None,
        ),
    )
    target_stability: float = parameter(
        0.9,
        "float, default=0.9",
        'The stability between folds of the ideal point if ``criterion`` is "stability". The chosen list is the one '
        "closest to that point.",
        share_or_one,
        Option("--target-stability", "X", "The stability between folds of the ideal point, up to 1.", None),
    )
    stability_weight: float = parameter(
        1.0,
        "float, default=1.0",
        'The weight of stability relative to error in the distance to the ideal point if ``criterion`` is "stability".',
        between(0, 1000),
        Option("--stability-weight", "X", "The weight of stability between folds relative to error.", None),
    )
    keep_folds: bool = parameter(
        False,
        "bool, default=False",
        "Whether to keep the models of ten folds, at the chosen size, for prediction intervals and sets. See also "
        "``save_folds``.",
        yes_or_no,
    )
    nested: bool = parameter(
        False, "bool, default=False", "Whether to tune each fold separately if ``keep_folds`` is True.", yes_or_no
    )


@dataclass(eq=False, repr=False)
class Growing:
    """How the forest is grown, and how long a list may become."""

    max_rules: int = parameter(
        25,
        "int, default=25",
        "Maximum number of rules when ``p0`` is set, with stages, or when tuning.",
        whole(1),
        Option("--max-rules", "N", "Keep at most N rules with --p0, with --stages or when tuning.", None),
    )
    n_bins: int = parameter(
        10,
        "int, default=10",
        "Split columns at their quantiles i / n_bins.",
        whole(2, 255),
        Option("--bins", "N", "Split columns at their N-quantiles."),
    )
    max_depth: int = parameter(
        2,
        "int, default=2",
        "Depth of the trees, from 1 to 4. This is the maximum number of splits in a rule.",
        whole(1, 4),
        Option("--depth", "N", "Maximum number of conditions in a rule (1 to 4)."),
    )
    max_features: int | float | str | None = parameter(
        None,
        'int, float, "sqrt" or "log2", optional',
        "Number or fraction of columns considered at each node. By default a third of the columns, and at least 2; "
        "forests on residuals consider all columns.",
        check_features,
        Option(
            "--max-features",
            "N|SHARE|sqrt",
            "Columns considered at each node: 3, 0.5, sqrt or log2. Default: a third.",
            type=str,
            parse=columns_tried,
        ),
    )
    n_trees: int | str = parameter(
        "auto",
        'int or "auto", default="auto"',
        'Number of trees in the forest. "auto" grows trees until two such forests are expected to share ``1 - alpha`` '
        "of their rules.",
        whole_or_auto(1),
        Option(
            "--trees",
            "N|auto",
            "Number of trees. auto: grow until the rules are stable.",
            type=str,
            parse=count_or_auto,
        ),
    )
    alpha: float = parameter(0.05, "float, default=0.05", 'Used if ``n_trees`` is "auto"; see there.', between(0, 1))
    discrete_limit: int = parameter(
        10, "int, default=10", "Columns with at most this many distinct values are split at each value.", whole(1, 255)
    )
    min_node_size: int = parameter(
        5,
        "int, default=5",
        "Nodes with at most this many drawn rows are not split.",
        whole(1, 2**31 - 1),
        Option("--min-node-size", "N", "Nodes of at most N rows are not split."),
    )
    min_samples_leaf: int | float | None = parameter(
        None,
        "int or float, optional",
        "Minimum number or fraction of training rows on each side of a rule. Rules with fewer are not selected; the "
        "trees do not change. The default is 1, as in the paper, or 5 for lists with stages. If only one row is "
        "inside a rule, the rule's output reveals that row's target; a minimum of 10 prevents this. Required rules "
        "below the minimum are kept, with a warning.",
        check_support,
        Option(
            "--min-samples-leaf",
            "N|SHARE",
            "Minimum rows on each side of a rule: a number, or a share such as 0.01. Default: 1, with stages 5. With "
            "one row inside, a rule's output reveals that row's target; 10 prevents this.",
            type=float,
            parse=support,
        ),
    )
    max_samples: float | None = parameter(
        None,
        "float or int, optional",
        "Average number of rows drawn for each tree, or a fraction of the rows. Trees in later stages draw 30% as "
        "many. The default is the number of rows, but at most 5,000 when the number of rules is tuned and at most "
        "3,000 in later stages. On millions of rows, 10,000 is usually enough and makes the time per tree independent "
        "of the size of the table. The paper's theory requires a fraction that tends to zero.",
        share_of_rows,
        Option(
            "--max-samples",
            "X",
            "Rows drawn for each tree: a share up to 1, or a number. Default: the number of rows; at most 5,000 with "
            "tune, 3,000 in later stages.",
            parse=share_or_count,
        ),
    )
    post_treatment: str = parameter(
        "sample",
        '{"sample", "paper"}, default="sample"',
        'How to decide which rules are linear combinations of more frequent rules and therefore dropped. "paper" '
        'considers the whole input space. "sample" considers the training rows as well, so that no two rules apply to '
        "the same rows.",
        lambda name, value: check_choice(name, value, ("sample", "paper")),
        Option("--post-treatment", "NAME", "sample: no two rules apply to the same rows. paper: as published."),
    )
    categorical_features: Any = parameter(
        None,
        "str, int, list of them or list of bool, optional",
        "Columns to treat as categorical, given by name, by position, or as one flag per column. Text, boolean and "
        "category columns of a data frame are always categorical.",
    )
    prepare: bool = parameter(
        False,
        "bool, default=False",
        "Whether to convert columns that cannot be used directly. Dates and times become year, month, weekday, hour "
        "and the date itself; numbers stored as text (`$1,234.50`, `12 km`, `0.4%`) are parsed; rare categories are "
        "grouped. Columns that cannot be converted and rows without a target are ignored, with a warning. If False, "
        "such tables raise an error.",
        yes_or_no,
        Option(
            "--strict",
            "",
            "Reject columns that cannot be used directly and rows without a target. By default they are converted "
            "where possible (in batches, only dates are).",
            "Columns",
            type=bool,
            default=False,
            parse=lambda strict: not strict,
        ),
    )
    max_levels: int = parameter(
        255,
        "int, default=255",
        "Maximum number of categories in a column if ``prepare`` is True. The most frequent categories are kept and "
        "the others are grouped as `other`, as are categories that did not occur in training.",
        whole(2, 255),
        Option(
            "--max-levels",
            "N",
            "Maximum number of categories in a column; the rarest are grouped as `other`. Not in batches.",
            "Columns",
        ),
    )


@dataclass(eq=False, repr=False)
class Constraining:
    """What is known before the data."""

    monotonic_cst: Any = parameter(
        None,
        "dict or list of int, optional",
        "Direction of the effect of each column: 1 increasing, -1 decreasing, 0 unconstrained. Give a dict of column "
        "names, or a list with one entry per column. The constraint applies to the prediction (with two classes, to "
        "the probability of the positive class) and holds for each rule separately. Among categorical columns only "
        "ordered categories and booleans can have a direction. Not available with more than two classes.",
    )
    interaction_cst: Any = parameter(
        None,
        '{"no_interactions", "pairwise"} or list of lists, optional',
        "Which columns may occur together in a rule, as a list of groups of column names or positions. Columns not "
        'listed form one further group. "no_interactions" allows one column per rule, "pairwise" at most two.',
        option=Option(
            "--interactions",
            "GROUPS",
            "Columns that may occur together in a rule: 'age,income;debt,rate'. none: one column per rule. pairwise: "
            "two.",
            "Columns",
            type=str,
            parse=groups_or_name,
        ),
    )
    forbidden: Any = parameter(
        None,
        "list of str or pairs, optional",
        "Columns, pairs of columns and conditions that must not appear in any rule. Conditions are text: 'age < 25' "
        "also excludes 'age >= 25'; 'age < 25 & sport' excludes the two conditions in the same rule.",
        option=Option(
            "--forbid",
            "COL|A,B|TEXT",
            "A column, pair of columns or condition that must not appear in any rule. May be repeated.",
            "Columns",
            type=list[str],
        ),
    )
    required_rules: Any = parameter(
        None,
        "list of str or Rule, optional",
        "Rules to place at the top of the list, as text such as 'age < 25 & sport'. Thresholds may be any number. "
        "Outputs and weights are estimated from the data, and the rules stay listed even if their weight is 0. To fix "
        "the effect of a rule, write '+2 if age < 25', or '×1.5 if age < 25' for counts, amounts and survival.",
        option=Option(
            "--require",
            "TEXT",
            "A rule to place at the top of the list, such as 'age < 25 & sport' or, with a fixed effect, '+2 if age < "
            "25'. May be repeated.",
            "Columns",
            type=list[str],
        ),
    )


@dataclass(eq=False, repr=False)
class Stages:
    """Corrections of the list."""

    n_stages: int | str = parameter(
        1,
        'int or "auto", default=1',
        "Maximum number of stages. 1 is the method of the paper. Each further stage grows a forest on the residuals "
        "and adds rules that correct the list. Each stage keeps its rules above ``p0``, or its ``n_rules`` most "
        'frequent rules (one when tuned). "auto" adds stages until no path has a frequency above ``p0`` or '
        "``max_rules`` is reached; tuned estimators choose the number by cross-validation. Trees on residuals draw "
        "30% as many rows as the trees of the first forest.",
        whole_or_auto(1),
        Option(
            "--stages",
            "N|auto",
            "Maximum number of stages, each of which corrects what the list leaves unexplained. 1: no corrections.",
            type=str,
            parse=count_or_auto,
        ),
    )
    slopes: bool | str = parameter(
        False,
        'bool or "auto", default=False',
        "Whether a list with stages may contain slopes (terms that are linear in one numeric column) as well as "
        'rules. Slopes compete with splits in the forests on residuals, and frequent ones are selected. With "auto", '
        "tuned estimators use slopes if cross-validation prefers them. A list with one stage has no slopes.",
        lambda name, value: check_choice(name, value, (True, False, "auto")),
        Option(
            "--slopes",
            "yes|no|auto",
            "Whether a list with --stages may contain slopes, which are linear in one column. Default: no; with tune, "
            "auto (chosen by cross-validation).",
            type=str,
            default=None,
            parse=yes_or_auto,
        ),
    )


@dataclass(eq=False, repr=False)
class Running:
    """How the work is done: nothing of it but the seed changes the rules."""

    n_jobs: int | None = parameter(
        None,
        "int, optional",
        "Number of threads. None means 1 and -1 means all cores. The rules do not depend on it.",
        lambda name, value: check_jobs(value),
        Option("--jobs", "N", "Threads; -1 is all cores. The rules stay the same.", None, default=-1),
    )
    device: str = parameter(
        "cpu",
        '{"cpu", "gpu", "auto"}, default="cpu"',
        'Where to grow trees; the rules do not depend on it. "gpu" needs a GPU and ``pip install pysirus[gpu]``, and '
        'works with rows in memory or in files. "auto" uses a GPU if one is available and likely to be faster. '
        "``device_`` records the choice.",
        lambda name, value: check_choice(name, value, ("cpu", "gpu", "auto")),
        Option(
            "--device",
            "NAME",
            "cpu, gpu, or auto (use a GPU when it is likely to be faster). The rules are the same.",
            "Forest",
        ),
    )
    random_state: Any = parameter(
        None,
        "int, Generator or RandomState, optional",
        "The random seed. The same seed gives the same rules on any machine.",
        option=Option("--seed", "N", "Random seed. The same seed gives the same rules.", None, type=int, default=0),
    )
    verbose: int = parameter(0, "int, default=0", "Show progress on standard error.")


GROUPS = (ListSize, Folds, Growing, Constraining, ClassWeight, PositiveClass, Weighting, Loss, Event, Stages, Running)
PARAMETERS = {own.name: own for group in GROUPS for own in fields(group)}


def replaced(name: str, default: Any) -> Any:
    """A parameter of the table with another default."""
    return field(default=default, metadata=PARAMETERS[name].metadata, kw_only=True)


def check_parameters(estimator: Any) -> None:
    """Check the parameters of an estimator, in the order of its signature."""
    for own in fields(estimator):
        if own.metadata["check"] is not None:
            own.metadata["check"](own.name, getattr(estimator, own.name))

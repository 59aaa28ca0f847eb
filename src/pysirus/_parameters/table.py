"""The table of parameters: a field is a parameter, with its type, default, check, documentation and option.

Estimators inherit the groups they take, so that scikit-learn finds real signatures; the command line makes its options
from the same fields, and docstrings their sections (`documented`). A new parameter is a field here and the
code that uses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from pysirus._parameters.check import (
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
        "Keep the rules with a frequency above p0 (at most ``max_rules``). By default the ``n_rules`` most frequent.",
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
        "Folds of the cross-validation. With ``groups`` in ``fit``, rows of the same group stay together. "
        '"forward", with ``time`` in ``fit``: each period of the later half of the rows is predicted from those before '
        "it.",
        option=Option(
            "--folds",
            "N|forward",
            "Folds of the cross-validation. forward: periods, each predicted from the rows before it (--periods).",
            None,
            "--cv",
            type=str,
            parse=folds_or_forward,
        ),
    )
    n_repeats: int | str = parameter(
        "auto",
        'int or "auto", default="auto"',
        'Repetitions, each with other folds and forests. "auto" goes on until error and stability of the chosen list '
        "have standard errors over folds of at most 0.02, and makes at most 10.",
        whole_or_auto(1),
        Option(
            "--repeats",
            "N|auto",
            "Repetitions with other folds; auto: until error and stability are known to 0.02, at most 10.",
            None,
            type=str,
            parse=count_or_auto,
        ),
    )
    criterion: str = parameter(
        "stability",
        '{"stability", "error", "auto"}, default="stability"',
        '"stability" takes the list closest to error 0 and stability 0.9, the median over repetitions; "error" '
        'the shortest list whose error is within two standard errors of the minimum. "auto" is "stability", and '
        '"error" for classes with equal weights.',
        lambda name, value: check_choice(name, value, ("stability", "error", "auto")),
        Option(
            "--criterion",
            "NAME",
            "stability or error. Default: stability, for equal weights error.",
            None,
            default=None,
        ),
    )
    target_stability: float = parameter(
        0.9,
        "float, default=0.9",
        'With the criterion "stability": the stability of the ideal point, which the chosen list is closest to.',
        share_or_one,
        Option("--target-stability", "X", "The stability that a list should come close to, up to 1.", None),
    )
    stability_weight: float = parameter(
        1.0,
        "float, default=1.0",
        'With the criterion "stability": how much a difference in stability counts beside the same one in the error.',
        between(0, 1000),
        Option("--stability-weight", "X", "How much stability counts beside the error.", None),
    )
    keep_folds: bool = parameter(
        False,
        "bool, default=False",
        "Whether to keep the models of ten folds, of the chosen size, for intervals and sets; see ``save_folds`` too.",
        yes_or_no,
    )
    nested: bool = parameter(
        False, "bool, default=False", "With ``keep_folds``: whether each fold is tuned by itself.", yes_or_no
    )


@dataclass(eq=False, repr=False)
class Growing:
    """How the forest is grown, and how long a list may become."""

    max_rules: int = parameter(
        25,
        "int, default=25",
        "Maximum number of rules if ``p0`` is set, with stages, or when tuning.",
        whole(1),
        Option("--max-rules", "N", "At most N rules with --p0, --stages or tuning.", None),
    )
    n_bins: int = parameter(
        10,
        "int, default=10",
        "Cut columns at the quantiles i / n_bins.",
        whole(2, 255),
        Option("--bins", "N", "Cut columns at their N-quantiles."),
    )
    max_depth: int = parameter(
        2,
        "int, default=2",
        "Depth of the trees, 1 to 4: the maximum number of splits in a rule.",
        whole(1, 4),
        Option("--depth", "N", "Conditions in a rule, at most (1 to 4)."),
    )
    max_features: int | float | str | None = parameter(
        None,
        'int, float, "sqrt" or "log2", optional',
        "Candidate columns at each node, as a number or as a share of them: by default a third, at least 2, and all of "
        "them in forests on residuals.",
        check_features,
        Option(
            "--max-features",
            "N|SHARE|sqrt",
            "Columns tried at a node: 3, 0.5, sqrt or log2. Default: a third.",
            type=str,
            parse=columns_tried,
        ),
    )
    n_trees: int | str = parameter(
        "auto",
        'int or "auto", default="auto"',
        'Trees in the forest; "auto" grows until two such forests would share ``1 - alpha`` of their rules.',
        whole_or_auto(1),
        Option("--trees", "N|auto", "Trees; auto grows until the rules are stable.", type=str, parse=count_or_auto),
    )
    alpha: float = parameter(0.05, "float, default=0.05", "See ``n_trees``.", between(0, 1))
    discrete_limit: int = parameter(
        10, "int, default=10", "A column with at most this many distinct values is cut at each of them.", whole(1, 255)
    )
    min_node_size: int = parameter(
        5,
        "int, default=5",
        "A node with at most this many drawn rows is not split.",
        whole(1, 2**31 - 1),
        Option("--min-node-size", "N", "Nodes of at most N rows are not split."),
    )
    min_samples_leaf: int | float | None = parameter(
        None,
        "int or float, optional",
        "The fewest training rows that a rule has inside, and outside: a number of rows, or a share of them. Rules "
        "with fewer are not selected; the trees stay the same. By default 1, as in the paper, and 5 where the "
        "list has stages. The output of a rule with one row inside is that row's target: with 10, no output is of "
        "fewer than ten rows. A required rule with fewer stays, with a warning.",
        check_support,
        Option(
            "--min-samples-leaf",
            "N|SHARE",
            "The fewest rows inside and outside of a rule: a number, or a share such as 0.01. Default: 1, with stages "
            "5. The output of a rule with one row inside is that row's target; 10 keeps such rules out.",
            type=float,
            parse=support,
        ),
    )
    max_samples: float | None = parameter(
        None,
        "float or int, optional",
        "Rows drawn for each tree, on average: a fraction of the rows, or a number; trees of later stages draw three "
        "tenths of that. By default as many as there are, but at most 3,000 in later stages, and 5,000 wherever the "
        "number of rules is tuned. With millions of rows a number such as 10,000 is enough for others too, and a tree "
        "then costs what it draws; the paper's theory requires a fraction that tends to zero.",
        share_of_rows,
        Option(
            "--max-samples",
            "X",
            "Rows that a tree draws: a share up to 1, or a number of rows. Default: as many as there are; with tune "
            "at most 5,000, in stages 3,000.",
            parse=share_or_count,
        ),
    )
    post_treatment: str = parameter(
        "sample",
        '{"sample", "paper"}, default="sample"',
        'Which rules are dropped as combinations of more frequent ones. "paper": over the whole input space. "sample": '
        "also where that is so on the training rows, so that no two rules hold in the same rows.",
        lambda name, value: check_choice(name, value, ("sample", "paper")),
        Option("--post-treatment", "NAME", "sample: no two rules hold in the same rows. paper: as published."),
    )
    categorical_features: Any = parameter(
        None,
        "str, int, list of them or list of bool, optional",
        "Columns to treat as categorical, by name, by position or by one flag per column. Text, boolean and category "
        "columns of a data frame are always categorical.",
    )
    prepare: bool = parameter(
        False,
        "bool, default=False",
        "Whether to convert columns that cannot be used directly: dates and times become year, month, weekday, hour "
        "and the date itself, numbers stored as text (`$1,234.50`, `12 km`, `0.4%`) are read, and rare categories are "
        "grouped. Columns that cannot be converted and rows without a target are ignored, with a warning. False "
        "rejects such tables.",
        yes_or_no,
        Option(
            "--strict",
            "",
            "Reject columns that cannot be used directly and rows without a target. Default: convert what can be "
            "converted; in batches only dates are.",
            "Columns",
            type=bool,
            default=False,
            parse=lambda strict: not strict,
        ),
    )
    max_levels: int = parameter(
        255,
        "int, default=255",
        "With ``prepare``: a categorical column with more categories keeps the most frequent ones, and all others "
        "become one, `other`. So does a category that was never seen in training.",
        whole(2, 255),
        Option(
            "--max-levels",
            "N",
            "Categories of a column; the rarest beyond N are one, `other`. Not in batches.",
            "Columns",
        ),
    )


def groups_or_name(text: str) -> Any:
    """Typed groups of columns such as age,income;debt, or none or pairwise."""
    named = {"none": "no_interactions", "pairwise": "pairwise"}
    return named.get(text) or [[name.strip() for name in group.split(",")] for group in text.split(";")]


@dataclass(eq=False, repr=False)
class Constraining:
    """What is known before the data."""

    monotonic_cst: Any = parameter(
        None,
        "dict or list of int, optional",
        "The direction of columns: 1 increasing, -1 decreasing, 0 either. A dict by name, or an entry per column. It "
        "is about the prediction, with two classes about the probability of the positive one (by default the second). "
        "Every rule obeys by itself. "
        "Ordered categories and booleans have directions, other categories do not, nor do several classes.",
    )
    interaction_cst: Any = parameter(
        None,
        '{"no_interactions", "pairwise"} or list of lists, optional',
        "Which columns may stand in one rule: the columns of a group, by name or position. Columns that are in no "
        'group are one group. "no_interactions": one column a rule. "pairwise": two at most.',
        option=Option(
            "--interactions",
            "GROUPS",
            "Columns that may stand in one rule: 'age,income;debt,rate'. none: one column a rule. pairwise: two.",
            "Columns",
            type=str,
            parse=groups_or_name,
        ),
    )
    forbidden: Any = parameter(
        None,
        "list of str or pairs, optional",
        "Columns, pairs of columns and conditions that must not appear in any rule. Conditions are text, such as "
        "'age < 25' (nor its other side 'age >= 25') or 'age < 25 & sport' (not both in one rule).",
        option=Option(
            "--forbid",
            "COL|A,B|TEXT",
            "A column, a pair of columns or conditions that no rule may have. May be repeated.",
            "Columns",
            type=list[str],
        ),
    )
    required_rules: Any = parameter(
        None,
        "list of str or Rule, optional",
        "Rules that the list begins with, as text such as 'age < 25 & sport'. Their outputs and weights come from the "
        "data; they stay listed at weight 0. Thresholds may be any numbers. '+2 if age < 25' (for counts, amounts and "
        "survival '×1.5 if age < 25') fixes what a rule adds.",
        option=Option(
            "--require",
            "TEXT",
            "A rule that the list begins with, such as 'age < 25 & sport' or, with a fixed effect, '+2 if age < 25'. "
            "May be repeated.",
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
        "1 is the method of the paper. More stages grow forests on the residuals and add rules that correct the list: "
        'at most this many, or with "auto" until no path is above ``p0`` or ``max_rules`` are reached; when tuned, as '
        "many as cross-validation chooses. Each stage keeps its rules above ``p0``, or its ``n_rules`` most frequent "
        "ones (one when tuned). Trees on residuals draw 30% as many rows as those of the first forest.",
        whole_or_auto(1),
        Option(
            "--stages",
            "N|auto",
            "Correct the list on what it leaves unexplained, in at most N stages. 1: no corrections.",
            type=str,
            parse=count_or_auto,
        ),
    )
    slopes: bool | str = parameter(
        False,
        'bool or "auto", default=False',
        "Whether a list with stages may hold slopes beside rules: terms that are linear in one numeric column. A slope "
        'is selected where it explains more often than a cut. "auto", when tuned: where cross-validation prefers it; '
        "with one stage there are none.",
        lambda name, value: check_choice(name, value, (True, False, "auto")),
        Option(
            "--slopes",
            "yes|no|auto",
            "With --stages: whether the list may hold slopes, linear in one column. Default: no; with tune auto, as "
            "cross-validation prefers.",
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
        "Number of threads; the rules do not depend on it. None is 1, -1 is all cores.",
        lambda name, value: check_jobs(value),
        Option("--jobs", "N", "Threads; -1 is all cores. The rules stay the same.", None, default=-1),
    )
    device: str = parameter(
        "cpu",
        '{"cpu", "gpu", "auto"}, default="cpu"',
        'Where trees are grown; the rules do not depend on it. "gpu" needs a GPU and ``pip install pysirus[gpu]``, '
        'and takes rows in memory or in files. "auto" takes a GPU where there is one and enough to do. ``device_`` '
        "says what was used.",
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
        "The seed; the same seed gives the same rules on any machine.",
        option=Option("--seed", "N", "Seed: the same seed gives the same rules.", None, type=int, default=0),
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

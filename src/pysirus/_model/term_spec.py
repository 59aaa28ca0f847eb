"""The columns and terms of the model file, key by key; ``spec`` has the rest, and says what it is for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from pysirus._bins.cuts import CutIdentity
from pysirus._data.derived import TAKES, ColumnRecipe, Derived
from pysirus._data.table import MAX_LEVELS, Feature
from pysirus._data.written import DECIMALS, ORDERS, THOUSANDS, ZONE, NumberForm
from pysirus._families.links import Outcome
from pysirus._forest.forest import MOST_GROUPS
from pysirus._model.facts import Count, Share
from pysirus._model.keys import ABSENT, key, option, tagged
from pysirus._model.kinds import (
    LABEL,
    NOTHING,
    Json,
    Kind,
    either,
    fixed,
    flag,
    items,
    line,
    nullable,
    number,
    one_of,
    refer,
    refuse,
    text,
    whole,
)
from pysirus._terms.fitted import Effect
from pysirus._terms.listing import RuleSet
from pysirus._terms.parse import MOST_CONDITIONS
from pysirus._terms.rule import Condition, FittedRule, Split
from pysirus._terms.slope import FittedSlope
from pysirus._terms.term import LinearTerm

LONGEST_ZONE = 64  # characters

# ------------------------------------------------------------------------------------------------- kinds of its own

Label = Annotated[Any, LABEL]
Line = Annotated[Any, line()]
Output = Annotated[Any, either(items(number(), least=1), number(), "output")]
SplitValue = Annotated[Any, either(items(LABEL, least=1), nullable(number()))]
Decimal = Annotated[Any, one_of(*DECIMALS)]
Thousands = Annotated[Any, one_of(*THOUSANDS)]

IDENTITIES = {
    "quantile": whole(1, 254),
    "value": number(),
    "levels": items(LABEL, least=1, unique=True),
    "missing": NOTHING,
}


def _check_cut(value: Any, place: str) -> None:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str) or value[0] not in IDENTITIES:
        refuse(place, f"a pair of {', '.join(IDENTITIES)} and what is cut at", value)
    IDENTITIES[value[0]].check(value[1], f"{place}[1]")


def _read_cut(value: Any, place: str, known: Any) -> CutIdentity:
    kind, identity = value
    return (kind, frozenset(identity) if kind == "levels" else float(identity) if kind == "value" else identity)


def _write_cut(cut: CutIdentity) -> list[Any]:
    kind, identity = cut
    return [kind, sorted(identity, key=str) if isinstance(identity, frozenset) else identity]


def _cut_schema(definitions: Json) -> Json:
    pairs = [refer(fixed(one_of(name), kind), definitions) for name, kind in IDENTITIES.items()]
    told = (
        "The identity of a cut, comparable between fits: the number of a quantile, a value, the categories on one side"
    )
    return {"description": f"{told}, or that of missing values.", "anyOf": pairs}


Cut = Annotated[Any, Kind("a cut", _check_cut, _cut_schema, _read_cut, _write_cut, "cut", "cut")]

NAN_IS_NULL = replace(
    nullable(number(0, 1)),
    read=lambda value, *_: math.nan if value is None else float(value),
    write=lambda value: None if math.isnan(value) else value,
)


def _is_day(value: str) -> bool:
    try:
        return re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value) is not None and str(np.datetime64(value, "D")) == value
    except ValueError:
        return False


Day = Annotated[Any, text(_is_day, "a day such as '2024-05-09'", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
ZONE_WORDS = "a time zone such as 'Asia/Tokyo' or '+05:00', or an empty text"
IsZone = text(lambda value: not value or bool(ZONE.fullmatch(value)), ZONE_WORDS, f"^({ZONE.pattern})?$", LONGEST_ZONE)
Zone = Annotated[Any, IsZone]

# ---------------------------------------------------------------------------------------------------- columns


@dataclass(kw_only=True)
class FeatureKeys:
    """A feature: a column of the training table, or what was made of one."""

    name: str = key("Its name.")
    kind: Literal["numeric", "categorical", "ordered"] = key("The kind of its values.")
    levels: tuple[Label, ...] = key(
        "Its categories, all of one type; none if it is numeric.", most=MAX_LEVELS, unique=True
    )

    @staticmethod
    def build(own: Json, place: str, known: Any) -> Feature:
        """With what the recipe says of it."""
        derived = None if known.recipe is None else known.recipe.of(own["name"])
        is_date = derived is not None and derived.take == "date"
        return Feature(**own, other="" if derived is None else derived.other, is_date=is_date)


@dataclass(kw_only=True)
class DerivedKeys:
    """How a feature is made of a column of the table."""

    feature: str = key("The feature.")
    column: str = key("The column that it is derived from.")
    take: Annotated[str, one_of(*TAKES)] = key(
        "How it is derived: part of a date; the date itself, in days since 1970-01-01; days since another date (in "
        "older files); the hour of a time; a duration; a number stored as text; numbers with infinite values as "
        "missing; the listed categories, with all others grouped."
    )
    unit: str = key("The unit of numbers stored as text, and of durations.", absent="")
    decimal: Decimal = key("The decimal mark of numbers stored as text. Default: a point.", absent=".", always=True)
    thousands: Thousands = key("The thousands separator. Default: none.", absent="")
    order: Annotated[Any, one_of(*ORDERS)] = key(
        "For dates stored as text, the order of year, month and day.", absent=""
    )
    since: Day = key("The date from which days are counted.", absent="")
    other: str = key("The category for rare and unseen categories.", absent="")
    zone: Zone | None = option(
        "For dates, the time zone or offset of their local time; empty for times without a zone. If absent, each "
        "table uses its own local time."
    )

    @staticmethod
    def build(own: Json, place: str, known: Any) -> Derived:
        """The marks and the unit are one."""
        form = NumberForm(own.pop("unit"), own.pop("decimal"), own.pop("thousands"))
        return Derived(**own, form=form)

    @staticmethod
    def parts(own: Derived) -> Any:
        """What goes with what is taken."""
        said = {**vars(own), **vars(own.form)}
        aside = dict.fromkeys({*OF_TAKE["number"], *OF_TAKE["days"], *OF_TAKE["group"]} - taken_with(own.take), ABSENT)
        return SimpleNamespace(**{**said, **aside, "zone": own.zone})


# what a derived feature says besides its name, its column and what is taken; parts of dates have an order and a zone
OF_TAKE: dict[str, set[str]] = {
    "number": {"unit", "decimal", "thousands"},
    "duration": {"unit"},
    "group": {"other"},
    "days": {"order", "since", "zone"},
    "time": set(),
    "finite": set(),
}


def taken_with(take: str) -> set[str]:
    """The keys that go with what is taken of a column."""
    return OF_TAKE.get(take, {"order", "zone"})


@dataclass(kw_only=True)
class RecipeKeys:
    """How features are made of the columns of a table. A feature that is not derived is the column of its name."""

    BUILDS: ClassVar = ColumnRecipe
    columns: tuple[str, ...] = key("The columns of the table, in order.", least=1, unique=True)
    derived: tuple[DerivedKeys, ...] = key("Features derived from a column.")
    aside: Mapping[str, str] = key("Unused columns, and why.")


@dataclass(kw_only=True)
class MarksKeys:
    """How the numbers of a column were written in the text files of training."""

    decimal: Decimal = key("The decimal mark.")
    thousands: Thousands = key("The thousands separator, which differs from the decimal mark, or nothing.")

    @staticmethod
    def build(own: Json, place: str, known: Any) -> NumberForm:
        """Without a unit."""
        return NumberForm("", **own)


@dataclass(kw_only=True)
class ConstraintsKeys:
    """What every rule obeys."""

    monotonic: Mapping[str, Annotated[int, one_of(-1, 1)]] = key(
        "Columns in which the prediction never falls (1) or never rises (-1); of two classes the probability of the "
        "positive one."
    )
    most_together: int | None = key("Columns in one rule, at most.", low=1)
    groups: tuple[tuple[str, ...], ...] = key("The columns of a rule lie in one of these; none: any.", most=MOST_GROUPS)
    apart: tuple[Annotated[tuple[str, ...], items(text(), 1, 2)], ...] = key(
        "Pairs that stand in no rule together, and single columns that stand in none."
    )
    forbidden: tuple[str, ...] = key("Conditions, as text, that no rule holds together.", absent=())


# ------------------------------------------------------------------------------------------------------ terms


@dataclass(kw_only=True)
class ConditionKeys:
    """What a rule asks of one feature."""

    feature: str = key("The name of the feature.")
    index: Count = key("Its position among the features.")
    lower: float | None = key("The value is at least this.")
    upper: float | None = key("The value is below this.")
    levels: tuple[Label, ...] | None = key("The value is one of these categories.", least=1, unique=True)
    missing: bool | None = key("Whether missing values satisfy it; null if the training column had none.")
    only_missing: Annotated[bool, flag(negated=True)] = key("False if only missing values satisfy it.", name="known")
    unseen: bool = key(
        "Whether values that did not occur in training satisfy it: unseen categories, and missing values if the "
        "training column had none. They go to the larger side.",
        name="otherwise",
    )
    lower_cut: Cut | None = key("The cut at its lower end.")
    upper_cut: Cut | None = key("The cut at its upper end.")
    share: Share = key("The share of training rows, by weight, that satisfy it.")

    @staticmethod
    def build(own: Json, place: str, known: Any) -> Condition:
        """With what is known of its column."""
        feature = known.features[own["index"]]
        return Condition(**own, column_levels=feature.levels, is_date=feature.is_date)


@dataclass(kw_only=True)
class SplitKeys:
    """A split of the tree that a rule came from."""

    BUILDS: ClassVar = Split
    feature: str = key("The feature.")
    op: Literal["<", ">=", "in", "not in", "known", "missing"] = key("The comparison.")
    value: SplitValue = key("The threshold before rounding, or the categories on one side.")
    cut: Cut = key("The cut.")
    missing: bool | None = key("Whether missing values go to this side; null if there were none.")


@dataclass(kw_only=True)
class OutcomeKeys:
    """What became of some training rows of a survival model."""

    BUILDS: ClassVar = Outcome
    n_events: Count = key("Rows with an event.")
    median: float | None = key("The Kaplan-Meier median time to the event; null if it is not reached.", low=0)


@dataclass(kw_only=True)
class EffectKeys:
    """What somebody fixed that a rule does where it applies: one of adds and times. Its weight is 1."""

    adds: float | None = option("What it adds to the score.")
    times: float | None = option("What it multiplies the prediction by.", low=0)
    label: Label = option("The class whose score it adds to.", name="for")

    @staticmethod
    def build(own: Json, place: str, known: Any) -> Effect:
        """A sum or a factor."""
        is_factor = own["times"] is not None
        return Effect(own["times"] if is_factor else own["adds"] or 0.0, is_factor, own["label"])

    @staticmethod
    def parts(effect: Effect) -> EffectKeys:
        """One of the two."""
        sizes = (None, effect.size) if effect.is_factor else (effect.size, None)
        return EffectKeys(adds=sizes[0], times=sizes[1], label=effect.label)


def _reason() -> Any:
    told = "Its text as a reason: one text, or one for rows to which it applies and one for the others."
    return key(told, absent=(), least=1, most=2)


@dataclass(kw_only=True)
class RuleKeys:
    """A rule: if all its conditions hold then one output, else another."""

    BUILDS: ClassVar = FittedRule
    file_text: str = key("The rule as text for readers; ignored when the file is read.", name="text", reads=False)
    conditions: tuple[ConditionKeys, ...] = key("The conditions, one for each feature.", least=1, most=MOST_CONDITIONS)
    path: tuple[SplitKeys, ...] = key("The splits that it comes from.")
    frequency: Annotated[float, NAN_IS_NULL] = key("The proportion of trees that contain it.")
    inside: Output = key("The output where it applies: the mean target or class proportions of these training rows.")
    outside: Output = key("The output where it does not apply.")
    n_inside: Count | None = key("The number of training rows to which it applies.")
    n_outside: Count | None = key("The number of other training rows.")
    weight: float | None = key("Its weight in the model.")
    stage: int = key(
        "1 for a rule about the target, 2 or more for a correction, whose outputs are mean residuals.",
        absent=1,
        always=True,
        low=1,
        high=2**31,
    )
    given: bool = key("Whether the rule was required instead of found by the forest.", absent=False)
    effect: EffectKeys | None = option("Its effect, if fixed; the outputs are then this value and 0.")
    observed: tuple[Output, Output] | None = option(
        "For corrections of a score and for fixed effects, the mean target or class proportions inside and outside.",
        null=True,
    )
    survival: tuple[OutcomeKeys, OutcomeKeys] | None = option(
        "For survival, the outcomes of the training rows inside and outside."
    )
    returned: tuple[Count, Count] | None = option(
        "For tuned lists, the number of folds (over all repetitions) that selected it again, and the number of folds."
    )
    reason: tuple[str, ...] = _reason()

    @staticmethod
    def build(own: Json, place: str, known: Any) -> FittedRule:
        """With the classes that its outputs are of."""
        return FittedRule(**own, classes=known.classes)


@dataclass(kw_only=True)
class SlopeKeys:
    """Version 3: a slope. It adds `slope` times the value of a numeric feature less its mean, the value being held
    within two ends; it adds nothing where the value is missing."""

    BUILDS: ClassVar = FittedSlope
    kind: Literal["slope"] = key("Distinguishes it from a rule.")
    file_text: str = key("The slope as text for readers; ignored when the file is read.", name="text", reads=False)
    feature: str = key("The name of the feature.")
    index: Count = key("Its position among the features.")
    lower: float = key("Smaller values are replaced by this value.")
    upper: float = key("Larger values are replaced by this value.")
    mean: float = key("The value at which it adds nothing: the mean of the known training values.")
    slope: Output = key(
        "What a unit of the feature adds to the score (with several classes, to the score of each): `weight` times "
        "`inside`, rounded as printed. Predictions use this value.",
        reads=False,
    )
    inside: Output = key("The least-squares slope of the target or, for corrections, of the residuals.")
    weight: float | None = key("Its weight in the model.")
    step: float = key("The number of units for which the printed effect is given.", above=0)
    decimals: int | None = key("The number of decimals to which it is rounded; null if it is not.", low=-400, high=400)
    multiplies: bool = key("Whether it is printed, and rounded, as a factor.", absent=False)
    frequency: Annotated[float, NAN_IS_NULL] = key("The proportion of trees that select this line.")
    n_inside: Count | None = key("The number of training rows with a known value.")
    n_outside: Count | None = key("The number of other training rows.")
    stage: int = key("Its stage.", absent=1, always=True, low=1, high=2**31)
    given: bool = key("Whether the slope was required instead of found by the forest.", absent=False)
    effect: EffectKeys | None = option("What a unit adds, if fixed.")
    returned: tuple[Count, Count] | None = option(
        "The number of folds that selected it again, and the number of folds."
    )
    reason: tuple[str, ...] = _reason()

    @staticmethod
    def build(own: Json, place: str, known: Any) -> FittedSlope:
        """With the classes that it adds to, and without what says its kind; it adds nothing at its mean."""
        del own["kind"]
        outside = tuple(0.0 for _ in own["inside"]) if isinstance(own["inside"], tuple) else 0.0
        return FittedSlope(**own, outside=outside, classes=known.classes)

    @staticmethod
    def parts(term: FittedSlope) -> Any:
        """With its kind, and what is used of it."""
        return SimpleNamespace(**{**vars(term), "kind": "slope", "slope": term.slope, "file_text": term.file_text})


@dataclass(kw_only=True)
class TermKeys:
    """A linear term: weight times the value of a numeric feature, held within two limits."""

    feature: str = key("The name of the feature.")
    weight: float = key("Its weight in the model.")
    lower: float = key("Smaller values are replaced by this value.")
    upper: float = key("Larger values are replaced by this value.")
    missing: float = key("The value used for missing values.")
    index: Count = key("Its position among the features.")

    @staticmethod
    def build(own: Json, place: str, known: Any) -> LinearTerm:
        """With what is known of its column."""
        return LinearTerm(**own, is_date=known.features[own["index"]].is_date)


TERM = tagged("kind", RuleKeys, slope=SlopeKeys)
LIST = items(TERM)
Rules = Annotated[Any, replace(LIST, read=lambda value, place, known: RuleSet(LIST.read(value, place, known)))]

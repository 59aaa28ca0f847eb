"""A condition in, its text out: whole, as the parser reads it back, or folded to the width of a line.

Whole, a single level is ``job = cook``, and a set that leaves out few of the levels of its column is ``job in {all but
cook, miner}``. Levels that have an order of their own are listed in it (`reading_order`). Folded, a long set
is ``job in {9 of 93 levels}`` and a long name or level loses its middle; this is to look at, and the parser refuses it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pysirus._families.links import FOLD, LABELS, fold_labels, fold_middle, format_factors
from pysirus._text.format import (
    apart,
    format_date,
    format_label,
    format_level,
    format_levels,
    format_number,
    format_pair,
    format_threshold,
    in_quotes,
    one_line,
    short_exponent,
)

if TYPE_CHECKING:
    from pysirus._terms.rule import Condition

LINE = 120  # characters of a line in the default view
ANSWER = 64  # characters of what a rule answers
ALL_BUT = "all but "
# a level that a reader, and the parser, can tell from the rest of a rule where nothing stands around it
PLAIN_LEVEL = re.compile(r"[\w$€£+-](?:[\w $€£%.,:;/+'#*-]*[\w$€£%.+'*-])?")
FOLDED = re.compile(rf"(?<!\d)\d+ of \d+ categories|{FOLD}|(?<!\d)\d+ more conditions")
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Detail:
    """The most characters that a name, a level and a set of levels may take; None for no limit."""

    name: int | None = None
    level: int | None = None
    levels: int | None = None
    rounded: bool = False  # thresholds, to six digits


WHOLE = Detail()
# from much detail to little
LIMITS = [(72, 60, 60), (48, 40, 48), (36, 28, 40), (26, 20, 30), (18, 14, 20), (12, 10, 16)]
DETAILS = [Detail(*most) for most in LIMITS]


def is_plain(level: Any) -> bool:
    """Whether a level can stand after ``=``, where no brace ends it."""
    text = format_level(level)
    spoken = text.startswith(ALL_BUT) or FOLDED.search(text) or " or missing" in text or " then " in text
    return PLAIN_LEVEL.fullmatch(text) is not None and not spoken


def _left_out(condition: Condition) -> list[Any] | None:
    """The levels that a condition leaves out, where naming them is the shorter way to say it."""
    levels = condition.levels or ()
    n_out = len(condition.column_levels) - len(levels)
    if not condition.column_levels or not 0 < 2 * n_out < len(levels):
        return None
    own = set(levels)
    out = [level for level in reading_order(condition.column_levels) if level not in own]
    return out if len(out) == n_out else None


def _as_read(levels: Sequence[Any], condition: Condition) -> Sequence[Any]:
    """Some levels in the order in which those of the column are read."""
    if len(levels) < 2:
        return levels
    own = set(levels)
    found = [level for level in reading_order(condition.column_levels or levels) if level in own]
    return found if len(found) == len(levels) else levels


def text_in_set(level: Any, every: Sequence[Any]) -> str:
    """A level in braces: in quotes where it would read as another level of the column and what comes after it."""
    text = format_level(level)
    if "," not in text and "}" not in text:
        return text
    rests = (text.removeprefix(other) for other in map(format_level, every) if other != text)
    return in_quotes(str(level)) if any(rest != text and rest.lstrip()[:1] in (",", "}") for rest in rests) else text


def _listed(levels: Sequence[Any], detail: Detail, every: Sequence[Any]) -> str:
    return ", ".join(fold_middle(text_in_set(level, every), detail.level) for level in levels)


def levels_text(condition: Condition, detail: Detail = WHOLE) -> str:
    """What a condition asks of levels: ``= cook``, ``in {clerk, cook}``, ``in {all but cook}``."""
    levels = _as_read(condition.levels or (), condition)
    if len(levels) == 1 and is_plain(levels[0]):
        return f"= {_listed(levels, detail, ())}"
    out = _left_out(condition)
    named = _listed(levels if out is None else out, detail, condition.column_levels)
    text = named if out is None else ALL_BUT + named
    if detail.levels is not None and len(text) > detail.levels and len(levels) > 1:
        n_levels = len(condition.column_levels)
        text = f"{len(levels)} of {n_levels} categories" if n_levels else f"{len(levels)} categories"
    return f"in {{{text}}}"


def _end_text(end: float | None, condition: Condition, detail: Detail) -> str:
    """A limit as text, empty where there is none."""
    if condition.is_date and end is not None:
        return format_date(end)
    return format_threshold(end, rounded=detail.rounded)


def condition_parts(condition: Condition, detail: Detail = WHOLE) -> tuple[str, str, str]:
    """A condition before its column, the name of the column, and what stands after it."""
    name = fold_middle(apart(condition.feature), detail.name)
    if condition.only_missing:
        return "", name, " is missing"
    tail = " or missing" if condition.missing else ""
    cut = condition.lower_cut is not None or condition.upper_cut is not None
    if condition.levels is not None and cut:
        return "", name, f" {levels_text(condition, detail)}{tail}"
    if condition.levels is not None or (condition.lower is None and condition.upper is None):
        return "", name, " is known"
    lower, upper = (_end_text(end, condition, detail) for end in (condition.lower, condition.upper))
    return (f"{lower} <= " if lower and upper else ""), name, (f" < {upper}" if upper else f" >= {lower}") + tail


def condition_words(condition: Condition, detail: Detail = WHOLE) -> str:
    """A condition as text."""
    return one_line("".join(condition_parts(condition, detail)))


def set_text(condition: Condition, *, rounded: bool = False) -> str:
    """A condition as model files say it: levels always as the set that they are."""
    if condition.levels is None or (condition.lower_cut is None and condition.upper_cut is None):
        return condition_words(condition, Detail(rounded=rounded))
    tail = " or missing" if condition.missing else ""
    return f"{apart(condition.feature)} in {format_levels(condition.levels)}{tail}"


def _exact(value: Any) -> str:
    """A name or a level that can be taken for nothing else: one word, or in quotes."""
    return (
        in_quotes(value)
        if isinstance(value, str) and not (WORD.fullmatch(value) and value == apart(value))
        else format_level(value)
    )


def exact_text(condition: Condition) -> str:
    """A condition that is read in one way only, whatever other columns are called, and with all digits."""
    name, tail = _exact(condition.feature), " or missing" if condition.missing else ""
    if condition.only_missing:
        return f"{name} is missing"
    if condition.lower_cut is None and condition.upper_cut is None:
        return f"{name} is known"
    if condition.levels is not None:
        return f"{name} in {{{', '.join(map(_exact, condition.levels))}}}{tail}"
    as_text = format_date if condition.is_date else repr
    lower, upper = (None if end is None else as_text(float(end)) for end in (condition.lower, condition.upper))
    if lower is not None and upper is not None:
        return f"{lower} <= {name} < {upper}{tail}"
    return f"{name} >= {lower}{tail}" if upper is None else f"{name} < {upper}{tail}"


def join_conditions(conditions: Sequence[Condition], texts: Sequence[str]) -> str:
    """Conditions as one text; ``or missing`` binds to its own condition."""
    if len(texts) < 2:
        return texts[0] if texts else "always"
    several = zip(conditions, texts)
    return " & ".join(f"({text})" if c.missing and not c.only_missing else text for c, text in several)


def fold_conditions(conditions: Sequence[Condition], width: int) -> str:
    """Conditions within ``width`` characters, in as much detail as fits."""
    text = ""
    for detail in [WHOLE, *DETAILS]:
        text = join_conditions(conditions, [condition_words(c, detail) for c in conditions])
        if len(text) <= width:
            return text
    for n in range(len(conditions) - 1, 0, -1):  # a deep rule with long names
        more = f" & {len(conditions) - n} more condition{'s' if len(conditions) - n > 1 else ''}"
        shown = [condition_words(c, DETAILS[-1]) for c in conditions[:n]]
        text = join_conditions(conditions[:n], shown) + more
        if len(text) <= width:
            return text
    return fold_middle(text, max(width, 8))


Sides = Callable[[int | None], tuple[str, str] | None]  # the longest label in, what a rule answers on both sides out


def _answer(sides: tuple[str, str] | None, after: str) -> str:
    return "" if sides is None else one_line(f" then {sides[0]} else {sides[1]}{after}")


def _fold_answer(sides: Sides, after: str, room: int) -> str:
    """The outputs of a rule in at most ``room`` characters: shorter labels, then the first class of each side alone."""
    found = [sides(longest) for longest in LABELS]
    if (last := found[-1]) is not None:
        first, second = (f"{side.split(', ')[0]}, {FOLD}" if ", " in side else side for side in last)
        found.append((first, second))
    answers = [_answer(own, after) for own in found]
    return next((text for text in answers if len(text) <= room), fold_middle(answers[-1], room))


def fold_line(conditions: Sequence[Condition], sides: Sides, width: int | None, after: str = "") -> str:
    """A rule with what it answers, whole where there is room, else folded."""
    text = join_conditions(conditions, [condition_words(c) for c in conditions])
    whole = f"if {text}{_answer(sides(None), after)}"
    if width is None or len(whole) <= width:
        return whole
    answer = _fold_answer(sides, after, max(min(ANSWER, width // 2), width - 3 - min(len(text), width)))
    return f"if {fold_conditions(conditions, width - 3 - len(answer))}{answer}"


# ---------------------------------------------------------------------------------------------------------- slope words

# A slope and what a unit of it adds in, its words out: ``+0.21 per unit``, and ``-6.9 to +7.4`` at its two ends.
#
# What a step adds is printed with all its digits, for it is rounded already; the ends are rounded to where the rounding
# of the slope leaves off, so that a prediction that is computed from a printed line is right to that.


MOST_NAMED = 4  # classes in a folded line
DIGITS = 10  # of a number that is rounded to fewer, and has the errors of a product
RANGE_NOTE = "Beyond its range a slope stays at the end of the range; a missing value changes nothing."


class ToldSlope(Protocol):
    """What is told of a slope."""

    @property
    def feature(self) -> str: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def reach(self) -> float: ...
    @property
    def step(self) -> float: ...
    @property
    def decimals(self) -> int | None: ...
    @property
    def multiplies(self) -> bool: ...
    @property
    def classes(self) -> tuple[Any, ...] | None: ...
    @property
    def effect(self) -> Any: ...


def rate_text(term: ToldSlope, points: NDArray[np.float64], longest: int | None = None) -> str:
    """What a unit adds, or a step where that is told; points are those of the positive of two classes, or of each."""
    unit = "per unit" if term.step == 1.0 else f"per {format_threshold(term.step)}"
    if points.size == 1:
        added = float(points.reshape(-1)[0]) * term.step
        odds = f" (odds {_times(math.exp(min(added, 700.0)), exact=False)})" if len(term.classes or ()) == 2 else ""
        return f"{_added_text(term, added)} {unit}{odds}"
    labels = fold_labels(term.classes, longest) or ()
    order = np.argsort(-np.abs(points), kind="stable") if longest is not None else np.arange(points.size)
    shown = order if longest is None else order[:MOST_NAMED]
    texts = [f"{one_line(format_label(labels[k]))} {_added_text(term, points[k] * term.step)}" for k in shown]
    return f"{', '.join(texts)}{', ...' if len(shown) < points.size else ''} {unit}"


def _added_text(term: ToldSlope, added: float) -> str:
    """What a step adds, or multiplies by."""
    exact = term.decimals is not None or term.effect is not None
    if term.multiplies:
        return _times(math.exp(min(added, 700.0)), exact)
    text = short_exponent(f"{added:.{DIGITS}g}") if exact else format_number(added, 3)
    return text if text.startswith("-") else f"+{text}"


def _times(factor: float, exact: bool) -> str:
    return f"×{short_exponent(f'{factor:.{DIGITS}g}') if exact else format_number(factor, 3)}"


def ends_text(term: ToldSlope, points: NDArray[np.float64], k: int = 0) -> str:
    """What it adds at the lower and at the upper end of its range, to the score of class ``k``."""
    own = float(np.atleast_1d(points)[k if points.size > 1 else 0])
    ends = (term.lower - term.mean) * own, (term.upper - term.mean) * own
    if term.multiplies:
        return " to ".join(format_factors(ends))
    largest = max(map(abs, ends))
    if term.decimals is None or not 1e-5 <= largest < 1e12:
        return " to ".join(format_pair(*ends, signed=True))
    decimals = term.decimals - math.floor(math.log10(term.reach / term.step))
    decimals = min(max(decimals, 1 - math.floor(math.log10(largest)), 0), 10)
    return " to ".join(f"{round(end, decimals) + 0.0:+,.{decimals}f}" for end in ends)


def fold_slope(term: ToldSlope, sides: Sequence[str], width: int | None) -> str:
    """The line of a slope, with what a unit adds and what its ends do; a long name loses its middle."""
    limits = f"from {format_threshold(term.lower)} to {format_threshold(term.upper)}"
    ends = f" ({sides[1]})" if sides[1] else ""
    rest, name = one_line(f": {sides[0]}, {limits}{ends}"), apart(term.feature)
    room = None if width is None else max(width - len(rest), 8)
    return one_line(fold_middle(name, room)) + rest


# from lowest to highest; synonyms are separated by |
_SCALES = (
    "january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sep|sept october|oct "
    "november|nov december|dec",
    "monday|mon tuesday|tue|tues wednesday|wed thursday|thu|thur|thurs friday|fri saturday|sat sunday|sun",
    "spring summer autumn|fall winter",
    "none very_low low medium|mid|middle|moderate|normal high very_high",
    "none|no mild|slight moderate|some severe|marked",
    "xxs xs|extra_small s|small m|medium l|large xl|extra_large xxl",
    "terrible very_bad|very_poor bad|poor medium|fair|average|ok good very_good excellent|premium ideal",
    "never rarely|seldom sometimes|occasionally often|frequently usually always",
    "strongly_disagree disagree neutral|neither agree strongly_agree",
    "first|1st second|2nd third|3rd fourth|4th fifth|5th",
)
_RANKS = [
    {word.replace("_", " "): rank for rank, words in enumerate(scale.split()) for word in words.split("|")}
    for scale in _SCALES
]
_OTHERS = ("other", "others", "unknown")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_BELOW = re.compile(r"\s*(?:<|<=|≤|under|below|less than|up to|fewer than)\s*", re.IGNORECASE)
# what stands around the numbers of ranges: 5-9, 10 to 14, 65+, <18, 80 and over, (0, 10]
_RANGE = re.compile(
    r"(?:[\s\-–—+<>=≤≥()\[\],/$€£%]|to|and|or|over|under|above|below|more|less|fewer|older|younger|up|than|years?|yrs?|"
    r"months?|days?|hours?|km|kg|cm|mm|k)*",
    re.IGNORECASE,
)


def reading_order(levels: Sequence[Any]) -> tuple[Any, ...]:
    """The levels in the order in which people read them.

    Parameters
    ----------
    levels : sequence
        The levels of a column: of an ordered one in its order, of others sorted.

    Returns
    -------
    levels : tuple
        The same levels. Text in alphabetical order is put into the order of a scale that it names (months, weekdays,
        sizes, low to high) or of the numbers that it holds (``5-9`` before ``10-14``); anything else stays.
    """
    # text alone, since to a cache (0, 1) is (False, True)
    return _reading_order(tuple(levels)) if all(isinstance(level, str) for level in levels) else tuple(levels)


@lru_cache(maxsize=512)
def _reading_order(levels: tuple[str, ...]) -> tuple[str, ...]:
    own, others = _parted(levels)
    if not is_alphabetical(own):  # an order that somebody gave
        return levels
    keys = _scale_keys(own) or _number_keys(own)
    return levels if keys is None else (*(level for _, level in sorted(zip(keys, own))), *others)


def _parted(levels: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The levels, and apart those that stand for all others, which come last."""
    others = [level for level in levels if isinstance(level, str) and level.casefold() in _OTHERS]
    return [level for level in levels if level not in others], others


def is_alphabetical(levels: Sequence[Any]) -> bool:
    """Whether levels are two or more texts, sorted, as those of a column without an order are."""
    return len(levels) > 1 and all(isinstance(level, str) for level in levels) and list(levels) == sorted(levels)


def has_own_order(levels: Sequence[Any]) -> bool:
    """Whether text names a scale or holds numbers, so that it has an order of its own."""
    own, _ = _parted(levels)
    return is_alphabetical(own) and (_scale_keys(own) or _number_keys(own)) is not None


def _scale_keys(levels: Sequence[str]) -> list[Any] | None:
    """The place of each level in a scale that names them all, each another place."""
    words = [re.sub(r"[\s_-]+", " ", level).strip(" .").casefold() for level in levels]
    for ranks in _RANKS:
        if all(word in ranks for word in words):
            found = [ranks[word] for word in words]
            if len(set(found)) == len(found):
                return found
    return None


def _number_keys(levels: Sequence[str]) -> list[Any] | None:
    """The numbers in each level, where nothing but numbers tells the levels apart, or they are ranges."""
    parts = [_NUMBER.split(level) for level in levels]
    if any(len(own) < 2 for own in parts):
        return None
    alike = len({tuple(own) for own in parts}) == 1
    if not alike and not all(_RANGE.fullmatch(text) for own in parts for text in own):
        return None
    return [_number_key(level, own) for level, own in zip(levels, parts)]


def _number_key(level: str, parts: Sequence[str]) -> tuple[float, ...]:
    """The numbers of a level; ``<18`` is before ``18-25``."""
    numbers = [float(text.replace(",", "")) for text in _NUMBER.findall(level)]
    sign = -1.0 if re.fullmatch(r"\s*-", parts[0]) and len(numbers) == 1 else 1.0
    return (sign * numbers[0], -1.0 if _BELOW.fullmatch(parts[0]) else 0.0, *numbers[1:])

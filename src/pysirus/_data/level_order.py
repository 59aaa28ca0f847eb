"""Levels of a column in, out the order in which people read them, where they have one: months, sizes, numbers in text.

This is for the eye alone: where levels are listed or drawn. Cuts are made in an order of their own (``_bins``), unless
the column itself is ordered, which is then the order here too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

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

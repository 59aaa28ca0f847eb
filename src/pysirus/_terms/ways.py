"""The steps that can be taken at each place of a text in, the ways through it out, two at most to each place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

Step = tuple[Any, bool, int, bool]  # what stands at a place, whether it prints so, where it ends, whether more follows
Kept = dict[int, bool]  # ways to a place, by number, and whether each prints as the text stands


class Ways:
    """Ways through a text; of those that lead to one place two that differ are enough to know that it is ambiguous."""

    def __init__(self, spend: Callable[[], None]) -> None:
        self._spend = spend  # called for each step
        self._numbers: dict[tuple[int, Any], int] = {}
        self._items: list[tuple[int, Any]] = [(0, None)]

    def longer(self, way: int, item: Any) -> int:
        """The number of a way that goes one step further."""
        number = self._numbers.setdefault((way, item), len(self._items))
        if number == len(self._items):
            self._items.append((way, item))
        return number

    def items(self, way: int) -> tuple[Any, ...]:
        """What a way passes."""
        found = []
        while way:
            way, item = self._items[way]
            found.append(item)
        return tuple(reversed(found))

    @staticmethod
    def keep(kept: Kept, way: int, printed: bool) -> None:
        """Keep a way, unless there are two like it."""
        if way in kept:
            kept[way] |= printed
        elif list(kept.values()).count(printed) < 2:
            kept[way] = printed

    def through(self, start: int, steps: Callable[[int], Iterable[Step]]) -> dict[int, Kept]:
        """The ways from a place, by where they end; each place on them is looked at once, the earliest first."""
        ways: dict[int, Kept] = {start: {0: True}}
        ends: dict[int, Kept] = {}
        open_ = [start]
        while open_:
            place = heappop(open_)
            for item, printed, end, goes_on in steps(place):
                if goes_on and end not in ways:
                    heappush(open_, end)
                self._spend()
                kept = (ways if goes_on else ends).setdefault(end, {})
                for way, own in ways[place].items():
                    self.keep(kept, self.longer(way, item), own and printed)
        return ends

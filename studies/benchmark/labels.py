"""Points, lines and the sizes of their names in, places of the names out: each beside its own, and none on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import cos, dist, pi, sin
from typing import NamedTuple

Pair = tuple[float, float]
BESIDE = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7), (-0.7, -0.7))
AROUND = tuple((cos(pi * k / 12), sin(pi * k / 12)) for k in range(24))
RINGS = (3, 4.5, 6, 8, 10, 13, 16, 20)  # further away: multiples of the distance of a name beside its point

FAR, CROSSED, MISREAD = 10, 3, 50  # what a line, a ruler and another point cost, in places


class Box(NamedTuple):
    """A rectangle, in pixels."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: Box) -> bool:
        """Whether the two overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.bottom < other.top and other.bottom < self.top

    def holds(self, other: Box) -> bool:
        """Whether the other is inside."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.bottom <= other.bottom and other.top <= self.top

    def nearest(self, point: Pair) -> Pair:
        """Of its points the one that is closest to another."""
        return min(max(point[0], self.left), self.right), min(max(point[1], self.bottom), self.top)


class Label(NamedTuple):
    """Where a name stands, and the line to it where it is not beside its point."""

    box: Box
    line: tuple[Box, ...] = ()  # as small squares
    cost: float = 0

    def meets(self, others: Sequence[Box]) -> bool:
        """Whether the name or its line overlap something."""
        return any(own.meets(other) for own in (self.box, *self.line) for other in others)


def around(point: Pair, half: float) -> Box:
    """A square with a point in the middle."""
    return Box(point[0] - half, point[1] - half, point[0] + half, point[1] + half)


def _away(point: Pair, size: Pair, way: Pair, distance: float) -> Box:
    """A name in a direction from its point: an edge or a corner of it is so far away."""
    left, bottom = (
        place + side * distance - length * (0 if side > 0.6 else 1 if side < -0.6 else 0.5)
        for place, side, length in zip(point, way, size)
    )
    return Box(left, bottom, left + size[0], bottom + size[1])


def _line(point: Pair, box: Box, radius: float) -> tuple[Box, ...]:
    """The line from a point's edge to its name."""
    end = box.nearest(point)
    length, across, up = dist(point, end), end[0] - point[0], end[1] - point[1]
    shares = [1 - 2 * (k + 1) / length for k in range(int((length - radius) / 2))]
    return tuple(around((point[0] + share * across, point[1] + share * up), 1) for share in shares)


def _places(point: Pair, size: Pair, radius: float) -> Iterator[Label]:
    """Every place of a name, the nearest first; those with a line cost more."""
    for n, way in enumerate(BESIDE):
        yield Label(_away(point, size, way, radius), cost=n)
    further = [_away(point, size, way, ring * radius) for ring in RINGS for way in AROUND]
    for n, box in enumerate(further, len(BESIDE) + FAR):
        yield Label(box, _line(point, box, radius), n)


def _cost(label: Label, point: Pair, radius: float, points: Sequence[Pair], rulers: Sequence[Box]) -> float:
    """Of a place: more on rulers, and where a name or its line might seem to belong to another point."""
    end = label.line[-1] if label.line else label.box
    own = dist(end.nearest(point), point)
    apart = [around(other, 0.7 * radius) for other in points if dist(other, point) > 2 * radius]
    misread = label.meets(apart) or any(dist(end.nearest(other), other) < own for other in points)
    return label.cost + CROSSED * sum(map(label.box.meets, rulers)) + MISREAD * misread


def place(
    points: Sequence[Pair], sizes: Sequence[Pair], radius: float, inside: Box, rulers: Sequence[Box] = ()
) -> list[Label]:
    """A place for each name: inside a panel, not on points, names and their lines, and rarely on a ruler.

    ``radius`` is the distance of a name beside its point. Names are placed one after the other. Several orders are
    tried, and the one whose places cost least counts.
    """
    marks = [around(point, 0.7 * radius) for point in points]
    possible: list[list[Label]] = []  # for each name, the cheapest first
    for point, size in zip(points, sizes):
        priced = [
            label._replace(cost=_cost(label, point, radius, points, rulers))
            for label in _places(point, size, radius)
            if inside.holds(label.box) and not Label(label.box).meets(marks)
        ]
        nowhere = Label(_away(point, size, BESIDE[0], radius), cost=1000)
        possible.append([*sorted(priced, key=lambda own: own.cost), nowhere])
    keys = [(len(own), point, size) for own, point, size in zip(possible, points, sizes)]
    orders = [sorted(range(len(points)), key=keys.__getitem__)]  # the fewest places first
    orders += [sorted(range(len(points)), key=lambda k: (dist(own, points[k]), keys[k])) for own in sorted(points)]
    return min((_in_order(own, possible) for own in orders), key=lambda own: sum(label.cost for label in own))


def _in_order(order: Sequence[int], possible: Sequence[Sequence[Label]]) -> list[Label]:
    """For each name the cheapest place that those before it leave."""
    found: dict[int, Label] = {}
    taken: list[Box] = []
    for k in order:
        found[k] = next((own for own in possible[k] if not own.meets(taken)), possible[k][-1])
        taken += [found[k].box, *found[k].line]
    return [found[k] for k in range(len(order))]


def along(height: float, size: Pair, inside: Box, taken: Sequence[Box]) -> Box:
    """A place for the name of a horizontal line: above or below it, as far to the right as is free."""
    right = inside.right
    while right - size[0] >= inside.left:
        for bottom in (height + 1, height - 1 - size[1]):
            box = Box(right - size[0], bottom, right, bottom + size[1])
            if not any(box.meets(own) for own in taken):
                return box
        right -= 4
    return Box(inside.left, height + 1, inside.left + size[0], height + 1 + size[1])

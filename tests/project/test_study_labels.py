"""Names in the benchmark's pictures: places by hand, and of random points."""

from __future__ import annotations

from itertools import combinations
from math import dist
from pathlib import Path

import numpy as np
import pytest
from studies.benchmark.labels import Box, Label, along, around, place

PANEL = Box(0, 0, 600, 600)
RADIUS = 10.0


def test_a_name_stands_to_the_right_of_its_point_else_to_the_left_above_or_below() -> None:
    size = (80.0, 20.0)
    (alone,) = place([(300, 300)], [size], RADIUS, PANEL)
    assert alone == Label(Box(310, 290, 390, 310))
    (at_the_edge,) = place([(590, 300)], [size], RADIUS, PANEL)
    assert at_the_edge.box == Box(500, 290, 580, 310)
    (narrow,) = place([(50, 300)], [size], RADIUS, Box(0, 0, 100, 600))
    assert narrow.box == Box(10, 310, 90, 330)
    (low,) = place([(50, 590)], [size], RADIUS, Box(0, 0, 100, 600))
    assert low.box == Box(10, 560, 90, 580)


def test_a_name_avoids_a_neighbour_and_a_ruler() -> None:
    size = (80.0, 20.0)
    left, right = place([(300, 300), (320, 300)], [size, size], RADIUS, PANEL)
    assert left.box.right <= 300 and right.box.left >= 320 and left.line == right.line == ()
    (beside,) = place([(300, 300)], [size], RADIUS, PANEL, [Box(0, 299, 600, 301)])
    assert not beside.box.meets(Box(0, 299, 600, 301)) and beside.line == ()


def test_a_name_without_room_beside_its_point_has_a_line() -> None:
    grid = [(300 + 30.0 * x, 300 + 30.0 * y) for x in (-1, 0, 1) for y in (-1, 0, 1)]
    middle = place(grid, [(60.0, 20.0)] * 9, RADIUS, PANEL)[4]
    assert middle.line and dist(middle.box.nearest((300, 300)), (300, 300)) > 2 * RADIUS
    assert not middle.meets([around(point, 0.7 * RADIUS) for point in grid])


@pytest.mark.parametrize("spread", [60, 140])
def test_names_of_random_points_overlap_nothing_and_are_inside(spread: float) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        points = [(float(x), float(y)) for x, y in np.clip(rng.normal(300, spread, (13, 2)), 10, 590)]
        sizes = [(float(width), 20.0) for width in rng.uniform(40, 180, 13)]
        labels = place(points, sizes, RADIUS, PANEL, [Box(0, 199, 600, 201)])
        marks = [around(point, 0.7 * RADIUS) for point in points]
        assert all(PANEL.holds(own.box) for own in labels)
        assert not any(own.box.meets(mark) for own in labels for mark in marks)
        for one, other in combinations(labels, 2):
            assert not any(a.meets(b) for a in (one.box, *one.line) for b in (other.box, *other.line))
        assert sum(not own.line for own in labels) >= 7  # most are beside their points


def test_places_do_not_depend_on_the_order_of_points() -> None:
    rng = np.random.default_rng(0)
    points = [(float(x), float(y)) for x, y in rng.normal(300, 80, (12, 2))]
    sizes = [(float(width), 20.0) for width in rng.uniform(40, 180, 12)]
    found = place(points, sizes, RADIUS, PANEL)
    assert found == place(points, sizes, RADIUS, PANEL)
    other = [int(k) for k in rng.permutation(12)]
    assert place([points[k] for k in other], [sizes[k] for k in other], RADIUS, PANEL) == [found[k] for k in other]


def test_the_name_of_a_line_is_above_it_below_it_or_further_to_the_left() -> None:
    above, below = Box(520, 301, 600, 321), Box(520, 279, 600, 299)
    assert along(300, (80, 20), PANEL, []) == above
    assert along(300, (80, 20), PANEL, [around((550, 310), 5)]) == below
    assert along(300, (80, 20), PANEL, [above, below]) == Box(440, 301, 520, 321)


def test_names_are_written_beside_their_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure
    from studies.benchmark.pictures import DPI, RADIUS, Place, _picture

    kept: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: kept.append(figure))
    places = [
        Place(10.0, 0.6, "sirus"),
        Place(10.5, 0.602, "stages"),
        Place(30.0, 0.7, "tree"),
        Place(9.0, 1.3, "figs"),
    ]
    _picture(tmp_path / "a.png", [(places, {"forest": 0.65}, "Regression, 5 of 5 tables")], 1, ("x", "y"), True)
    (figure,) = kept
    (axes,) = figure.axes
    boxes = {own.get_text(): Box(*own.get_window_extent().extents) for own in axes.texts}
    assert boxes.keys() == {"SIRUS", "SIRUS with stages", "pruned tree", "FIGS: 1.30", "random forest"}
    assert not any(a.meets(b) for a, b in combinations(boxes.values(), 2))
    for own in places[:3]:
        point = axes.transData.transform((own.x, own.y))
        gap = np.hypot(*(boxes[own.text].nearest(point) - point))
        assert 0.7 * RADIUS < gap * 72 / DPI < 1.6 * RADIUS
    assert all(Box(*axes.get_window_extent().extents).holds(box) for box in boxes.values())

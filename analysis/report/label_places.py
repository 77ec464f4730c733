"""Greedy placement of point labels that overlap neither each other nor points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""

_NEAR = 5.0
"""Distance of a name from its point where there is room."""
_RINGS = (0.0, 5.0, 11.0, 18.0, 27.0, 38.0, 52.0)
"""How much further away it is tried."""
_DIRECTIONS = 16
_CLEAR = 1.5
"""Distance of a name from a line."""
_MARKER = 3.5
"""Half the side of a point's marker."""
_OVER_LABEL, _OVER_POINT, _OUTSIDE, _AWAY, _ON_LINE = 12.0, 6.0, 40.0, 3.0, 9.0
"""Cost of a unit of area over a name, a point, outside; of a unit of distance; of a line."""


def label_places(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    frame: Box,
    lines: Sequence[tuple[float, float]] = (),
) -> list[Box]:
    """Box for each point's label, all in one unit (points of a page).

    Parameters
    ----------
    points : where the markers are, names or not; the first `len(sizes)` have names.
    sizes : width and height of each name.
    frame : what names should stay inside.
    lines : places along lines, which names had better not cross.
    """
    markers = [(x - _MARKER, y - _MARKER, x + _MARKER, y + _MARKER) for x, y in points]
    taken: dict[int, Box] = {}
    # The most crowded first: who has room can still move away.
    order = sorted(
        range(len(sizes)),
        key=lambda place: sum(math.dist(points[place], other) for other in points),
    )
    for place in order:
        options = _boxes(points[place], sizes[place])
        taken[place] = min(
            options,
            key=lambda option: option[0] + _cost(option[1], markers, taken.values(), frame, lines),
        )[1]
    return [taken[place] for place in range(len(sizes))]


def _boxes(point: tuple[float, float], size: tuple[float, float]) -> list[tuple[float, Box]]:
    """(cost of the distance, box) of every candidate position, above right first."""
    (x, y), (width, height) = point, size
    found = []
    for ring in _RINGS:
        for step in range(_DIRECTIONS):
            angle = math.pi / 8 + (step + 1) // 2 * (-1) ** step * 2 * math.pi / _DIRECTIONS
            across, up = math.cos(angle), math.sin(angle)
            center = x + across * (_NEAR + ring + width / 2), y + up * (_NEAR + ring + height / 2)
            box = (
                center[0] - width / 2,
                center[1] - height / 2,
                center[0] + width / 2,
                center[1] + height / 2,
            )
            found.append((_AWAY * ring + 0.01 * step, box))
    return found


def _cost(
    box: Box,
    markers: Sequence[Box],
    labels: Iterable[Box],
    frame: Box,
    lines: Sequence[tuple[float, float]],
) -> float:
    inside = _overlap(box, frame)
    outside = (box[2] - box[0]) * (box[3] - box[1]) - inside
    over = sum(_overlap(box, other) for other in labels)
    left, low, right, high = box[0] - _CLEAR, box[1] - _CLEAR, box[2] + _CLEAR, box[3] + _CLEAR
    crossed = sum(left <= x <= right and low <= y <= high for x, y in lines)
    points = sum(_overlap(box, other) for other in markers)
    return _OUTSIDE * outside + _OVER_LABEL * over + _OVER_POINT * points + _ON_LINE * crossed


def _overlap(one: Box, other: Box) -> float:
    """Area that two boxes share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width * height if width > 0 and height > 0 else 0.0

"""A zero of a map of a few variables that may jump, by a path of simplices.

Merrill's algorithm (Todd, "The Computation of Fixed Points and Applications", 1976, chapter V): the
space between two copies of R^D is cut into simplices by Freudenthal's triangulation. On the lower
copy the map is x - c, whose only zero is c; on the upper one it is the map itself. Interpolated
linearly between the corners of each simplex, the zeros form a path from c, which is followed from
simplex to simplex by pivots until it meets the upper copy. There it ends in a simplex of one mesh
across, some average of whose corners' values is 0: that is what a zero is of a map that jumps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_SMALL = 1e-11
"""Entries of a pivot's column that are this fraction of the largest are rounding."""


class NoPath(Exception):
    """The path was left by rounding, or is longer than it may be."""


@dataclass(frozen=True, eq=False)
class Simplex:
    """Points whose values average 0.

    Attributes
    ----------
    points : (D + 1, D) within one mesh of each other.
    weights : (D + 1,) 0 or more, of sum 1.
    """

    points: Floats
    weights: Floats

    @property
    def center(self) -> Floats:
        """(D,) the average of the points."""
        return np.asarray(self.weights @ self.points)


def follow_path(
    function: Callable[[Floats], Floats], center: Floats, mesh: float, most: int
) -> Simplex:
    """The simplex in which the path from `center` ends.

    Parameters
    ----------
    function : of a point (D,), its value (D,); far from 0 in any direction, the value points the
        same way.
    center : (D,) where the path begins.
    mesh : how far apart the corners of a simplex are along an axis.
    most : pivots.

    Raises
    ------
    NoPath
        No end was met within so many pivots, or rounding decided a pivot wrongly.
    """
    size = len(center)
    path = _Path(function, center, mesh)
    entering = size + 1
    for _ in range(most):
        leaving = path.pivot(entering)
        face = np.delete(path.corners, leaving, axis=0)
        if (face[:, size] == 1).all():
            values = np.delete(path.values, leaving, axis=0)
            weights = np.maximum(_solved(_columns(values))[:, 0], 0.0)
            return Simplex(path.origin + mesh * face[:, :size], weights / weights.sum())
        if (face[:, size] == 0).all():
            raise NoPath("back at the lower copy")
        entering = path.replace(leaving)
    raise NoPath(f"longer than {most} pivots")


class _Path:
    """The simplex that the path is in.

    Attributes
    ----------
    corners : (D + 2, D + 1) whole numbers: place on the grid, and copy, 0 or 1.
    values : (D + 2, D) of the map there.
    order : the axes along which each corner goes on to the next.
    """

    def __init__(self, function: Callable[[Floats], Floats], center: Floats, mesh: float) -> None:
        size = len(center)
        self.function, self.center, self.mesh = function, center, mesh
        self.order = list(range(size + 1))
        self.corners: Integers = np.tril(np.ones((size + 2, size + 1), dtype=np.int64), -1)
        # the center is the middle of the lower face
        self.origin = center - mesh * self.corners[: size + 1, :size].mean(axis=0)
        self.values = np.array([self._value(corner) for corner in self.corners])

    def _value(self, corner: Integers) -> Floats:
        point = self.origin + self.mesh * corner[:-1]
        return self.function(point) if corner[-1] else point - self.center

    def pivot(self, entering: int) -> int:
        """The corner that leaves when one enters: the least ratio, ties by the rows of the inverse
        (lexicographically), so that no path goes in a circle.
        """
        others = [place for place in range(len(self.corners)) if place != entering]
        inverse = _solved(_columns(self.values[others]))
        column = inverse @ np.append(1.0, self.values[entering])
        able = np.flatnonzero(column > _SMALL * np.abs(column).max())
        rows = inverse[able] / column[able, None]
        least = min(range(len(able)), key=lambda row: tuple(rows[row]))
        return others[int(able[least])]

    def replace(self, leaving: int) -> int:
        """Go to the simplex on the other side of the face without this corner; returns the place of
        its new corner.
        """
        last, order = len(self.corners) - 1, self.order
        if leaving == 0:
            new, place = self.corners[last].copy(), last
            new[order[0]] += 1
            self.order = order[1:] + order[:1]
            self._roll(-1)
        elif leaving == last:
            new, place = self.corners[0].copy(), 0
            new[order[-1]] -= 1
            self.order = order[-1:] + order[:-1]
            self._roll(1)
        else:
            order[leaving - 1], order[leaving] = order[leaving], order[leaving - 1]
            new, place = self.corners[leaving - 1].copy(), leaving
            new[order[leaving - 1]] += 1
        self.corners[place], self.values[place] = new, self._value(new)
        return place

    def _roll(self, by: int) -> None:
        self.corners, self.values = np.roll(self.corners, by, 0), np.roll(self.values, by, 0)


def _columns(values: Floats) -> Floats:
    """The system of an average 0: a row of ones, and one for each coordinate."""
    return np.vstack([np.ones(len(values)), values.T])


def _solved(system: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.inv(system))
    except np.linalg.LinAlgError:
        raise NoPath("corners of one value") from None

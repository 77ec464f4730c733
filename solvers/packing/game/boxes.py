"""Exact play of the game on boxes of total VM counts: one float for each point of a box that
contains all reachable counts, for two levels at a time.

Combinations that fill a server lie near a plane, so that boxes are taken in coordinates whose
matrix of whole numbers, of determinant 1, makes them small. Floats of v are made as exact as v at
the last level (`kernels.make_exact`), and are only compared and handed on after that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ....instances.packing.instance import Floats, Integers
from ...outcome import Clock
from .states import GameProgress, OutOfTime, note, too_many
from .strategies import Game

PART = 2**22
"""Values that are sorted between two looks at the clock, about."""

KEPT = 20_000_000
"""Points of all levels of a part of the game up to which all of them are kept."""

SMALL = 100_000
"""Points of all levels up to which boxes are small."""

MOST_SHEARED = 6
"""VM types up to which better coordinates are looked for."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of reachable total counts, level by level.

    Attributes
    ----------
    game : whose counts they are.
    map, axes : (s, s) the coordinates y = map @ n of counts n, and its inverse, transposed.
    moves : by class, (e, s) moves in these coordinates, less `low`.
    low : (P, s) what each player adds to every coordinate at least.
    width : (P, s) and how much more at most.
    stays : whether caps may leave a player nothing; the coordinates are then the counts.
    ends : v of the points of the last level; empty before `solve`.
    keys : a key by v, of those asked for.
    """

    game: Game
    map: Integers
    axes: Integers
    moves: tuple[Integers, ...]
    low: Integers
    width: Integers
    stays: bool
    ends: list[Floats] = field(default_factory=list)
    keys: dict[float, int] = field(default_factory=dict)

    @classmethod
    def of(cls, game: Game, small: float = SMALL) -> Boxes:
        """Boxes of a game's total counts, in sheared coordinates if these make them smaller."""
        kind, tables = game.kind, [moves.combination for moves in game.by_class]
        most = np.array([table.max(axis=0) for table in tables])[kind].sum(axis=0)
        stays = bool((most >= game.worths.radix).any())
        types = len(most)
        unit = np.eye(types, dtype=np.int64)
        forward, back = (unit, unit) if stays else _sheared(tables, kind, small)
        moves = [table @ forward.T for table in tables]
        low = np.array([np.zeros(types, int) if stays else table.min(axis=0) for table in moves])
        width = np.array([table.max(axis=0) for table in moves]) - low
        # long lines are fast
        axis = np.argsort(width[kind].sum(axis=0), kind="stable")
        moves = [np.ascontiguousarray(m[:, axis] - own[axis]) for m, own in zip(moves, low)]  # noqa: B905
        return cls(
            game, forward[axis], np.ascontiguousarray(back[:, axis].T), tuple(moves),
            low[kind][:, axis], width[kind][:, axis], stays,
        )  # fmt: skip

    def sizes(
        self, start: int = 0, stop: int | None = None, at: Integers | None = None
    ) -> Integers:
        """Sizes (stop - start + 1, s) of the boxes of counts reachable from a point."""
        none = np.zeros((1, len(self.map)), dtype=np.int64)
        size: Integers = np.concatenate([none, self.width[start:stop].cumsum(axis=0)]) + 1
        if self.stays:
            room = (self.map @ self.game.worths.radix) - (0 if at is None else at)
            size = np.minimum(size, room)
        return size

    @cached_property
    def points(self) -> int:
        """Number of total counts of VMs in the boxes, summed over all levels."""
        return sum(map(math.prod, self.sizes().tolist()))

    def fits(self, most_states: int) -> bool:
        """Return whether the game can be played on boxes: variances are exact in integers, few
        points are unreachable, and enough states may be kept.

        Raises
        ------
        InvalidOption
            They would serve, but more points than allowed are kept at a time, and lists may be too
            long as well.
        """
        worths, kind = self.game.worths, self.game.kind
        if not len(worths.digits) or worths.floor:
            return False
        # no more counts than there are ways to say how often each move was made
        number, reached = [0] * len(self.moves), 1
        boxes = self.sizes().tolist()
        for c, box in zip(kind.tolist(), boxes[1:], strict=True):
            number[c] += 1
            ways = math.prod(
                math.comb(made + len(moves) - 1, made)
                for made, moves in zip(number, self.moves, strict=True)
            )
            reached += min(ways, math.prod(box))
        if self.points > max(8 * reached, SMALL):
            return False
        kept: int = 9 * math.prod(boxes[-1]) // 4
        if kept > most_states < reached:
            raise too_many(f"up to {self.points:.2g}", kept, 8, most_states)
        return kept <= most_states

    def solve(self, clock: Clock, kept: int = KEPT) -> Integers | None:
        """Choices of all players (P, s) by backward induction on boxes; None if floats cannot
        represent the variances exactly.

        Raises
        ------
        OutOfTime
            The clock ran out.
        """
        from .kernels import make_exact

        worths, size = self.game.worths, self.sizes()[-1]
        origin = self.low.sum(axis=0) @ self.axes
        note(clock, f"v of {math.prod(size.tolist()):.2g} total counts")
        value = self._variances(origin, size)
        points = ascending(value, clock)
        note(clock, "v made exact")
        if not make_exact(
            value, points, size, self.axes @ worths.stride, int(origin @ worths.stride),
            worths.digits, worths.first, worths.stride, worths.radix, worths.slack,
        ):  # fmt: skip
            return None
        del points
        self.ends[:] = [value]
        start = np.zeros(len(self.map), dtype=np.int64)
        players = self.game.players
        progress = GameProgress(clock, self.points_to_play(0, players, kept))
        chosen, _ = self._play(0, start, players, value, progress, kept)
        table = [moves.combination for moves in self.game.by_class]
        result = np.zeros((len(chosen), len(self.map)), dtype=np.int64)
        for index, (c, a) in enumerate(zip(self.game.kind.tolist(), chosen, strict=True)):
            result[index] = table[c][a] if a >= 0 else 0
        return result

    def _variances(self, origin: Integers, size: Integers) -> Floats:
        """Fairness variance at each point (points,) of a box of total counts; infinite where a
        count is negative or above its maximum.
        """
        worths, total = self.game.worths, np.zeros(size)
        places = np.ogrid[tuple(map(slice, size))]
        for i, (first, radix) in enumerate(zip(worths.first, worths.radix, strict=True)):
            number = origin[i] + sum(
                place * a for place, a in zip(places, self.axes[:, i], strict=True)
            )
            total[(number < 0) | (number >= radix)] = np.inf
            total += worths.deviation[first + np.clip(number, 0, radix - 1)]
        result: Floats = total.ravel() ** (1.0 / float(worths.alpha))
        return result

    def points_to_play(self, start: int, stop: int, kept: int) -> int:
        """Upper bound on the number of points that `_play` visits between two levels if at most
        `kept` are stored at a time.
        """
        levels: list[int] = [math.prod(size) for size in self.sizes(start, stop).tolist()]
        if sum(levels) <= kept or stop - start == 1:
            return sum(levels[:-1])
        middle = (start + stop) // 2
        parts = (start, middle), (middle, stop)
        rest = sum(self.points_to_play(*part, kept) for part in parts)
        return sum(levels[middle - start : -1]) + rest

    def _play(
        self, start: int, at: Integers, stop: int, value: Floats, progress: GameProgress, kept: int
    ) -> tuple[list[int], Integers]:
        """Choices of players `start` to `stop` from coordinates `at` of total counts, and the
        coordinates that they reach. `value` has the final variances at all points they can reach.
        """
        sizes = self.sizes(start, stop, at)
        if sum(map(math.prod, sizes.tolist())) > kept and stop - start > 1:
            # the levels up to the middle, from the one in the middle, then those after it
            middle = (start + stop) // 2
            (half,) = self._back(sizes[middle - start :], middle, stop, value, progress, False)
            first, reached = self._play(start, at, middle, half, progress, kept)
            shift = reached - at - self.low[start:middle].sum(axis=0)
            part = self.sizes(middle, stop, reached)[-1]
            window = tuple(
                slice(a, a + n) for a, n in zip(shift.tolist(), part.tolist(), strict=True)
            )
            inside = np.ascontiguousarray(value.reshape(sizes[-1])[window]).ravel()
            second, end = self._play(middle, reached, stop, inside, progress, kept)
            return first + second, end
        levels = self._back(sizes, start, stop, value, progress, True)
        chosen, point = [], np.zeros_like(at)
        for row, level in enumerate(reversed(levels[:-1])):
            a, _ = self._choice(start + row, level.reshape(sizes[row + 1]), point)
            chosen.append(a)
            if a >= 0:
                point = point + self.moves[int(self.game.kind[start + row])][a]
        return chosen, at + point + self.low[start:stop].sum(axis=0)

    def _back(
        self,
        sizes: Integers,
        start: int,
        stop: int,
        value: Floats,
        progress: GameProgress,
        all_levels: bool,
    ) -> list[Floats]:
        """Backward induction on the tables of reachable total counts, from the game's last move to
        `start`. Returns the table of final variances at the move `start`, or with `all_levels`
        those of every move, the last first.
        """
        from .kernels import best_values

        levels, work = [value], value.copy()
        room = sizes[-1] - 1
        stride = np.append(np.cumprod(sizes[-1][:0:-1])[::-1], 1)
        box = np.lib.stride_tricks.as_strided(work, sizes[-1], 8 * stride)
        for row in range(stop - start - 1, -1, -1):
            c, size = int(self.game.kind[start + row]), sizes[row]
            progress.begin(start + row, math.prod(size.tolist()))
            own, slack = self.game.by_class[c], self.game.worths.slack
            by_rank = np.argsort(own.rank, kind="stable")
            is_last = np.diff(own.rank[by_rank], append=-1) != 0
            moves, uneven = self.moves[c][by_rank], own.uneven[by_rank]
            lines, line = math.prod(size[:-1].tolist()), 0
            while line < lines:
                line, chosen, doubtful = best_values(
                    work, stride, size, room, moves, is_last, uneven, self.stays, slack, line
                )
                if len(doubtful):
                    if progress.clock.expired:
                        raise OutOfTime
                    lead = np.unravel_index(line, size[:-1]) if len(size) > 1 else ()
                    for z in doubtful.tolist():
                        point = np.array([*lead, z], dtype=np.int64)
                        chosen[z] = self._choice(start + row, box, point)[1]
                    box[(*lead, slice(size[-1]))] = chosen
                    line += 1
            part = box[tuple(map(slice, size))]
            if all_levels:
                levels.append(part.copy().ravel())
        return levels if all_levels else [part.copy().ravel()]

    def _choice(self, turn: int, after: Floats, point: Integers) -> tuple[int, float]:
        """Choice of the player at one position for a point of its box, and the resulting variance;
        -1 if caps allow nothing.
        """
        c, worths = int(self.game.kind[turn]), self.game.worths
        moves, targets = self.game.by_class[c], point + self.moves[c]
        possible = np.flatnonzero((targets < after.shape).all(axis=1))
        if not len(possible):
            return -1, float(after[tuple(point)])
        value = after[tuple(targets[possible].T)]
        worth = value + moves.uneven[possible]
        near = np.flatnonzero(worth <= worth.min() * (1 + worths.slack))
        best, ended = int(possible[near[0]]), float(value[near[0]])
        for a, end in zip(possible[near[1:]].tolist(), value[near[1:]].tolist(), strict=True):
            in_variance, in_skewness = end - ended, int(moves.rank[a] - moves.rank[best])
            sign = in_variance or in_skewness
            if in_variance * in_skewness < 0:
                one, two = moves.squared[a], moves.squared[best]
                sign = worths.order(self._key(end), one, self._key(ended), two)
            if sign < 0:
                best, ended = a, end
        return best, ended

    def _key(self, value: float) -> int:
        """Key of some total counts after the last move that have the given variance."""
        if value not in self.keys:
            size, stride = self.sizes()[-1], self.game.worths.stride
            point = np.unravel_index(np.argmax(self.ends[0] == value), size)
            self.keys[value] = int((self.low.sum(axis=0) + point) @ self.axes @ stride)
        return self.keys[value]


def _sheared(tables: list[Integers], kind: Integers, small: float) -> tuple[Integers, Integers]:
    """Coordinates in which boxes of total counts are small: an integer matrix of determinant 1, and
    its inverse. Multiples of one coordinate are added to another while that helps.
    """
    types = tables[0].shape[1]
    forward = back = np.eye(types, dtype=np.int64)

    def volume(matrix: Integers) -> float:
        width = np.array([np.ptp(table @ matrix.T, axis=0) for table in tables])
        return float((width[kind].cumsum(axis=0) + 1.0).prod(axis=1).sum())

    least = volume(forward)
    while least > small and types <= MOST_SHEARED:
        best = None
        for i in range(types):
            for j in range(types):
                for times in (-4, -3, -2, -1, 1, 2, 3, 4) if i != j else ():
                    step = np.eye(types, dtype=np.int64)
                    step[i, j] = times
                    if (found := volume(step @ forward)) < least:
                        least, best = found, (i, j, times)
        if best is None:
            break
        step, undo = np.eye(types, dtype=np.int64), np.eye(types, dtype=np.int64)
        step[best[:2]], undo[best[:2]] = best[2], -best[2]
        forward, back = step @ forward, back @ undo
    return forward, back


def ascending(value: Floats, clock: Clock) -> Integers:
    """Indices of the finite values in increasing order.

    About `PART` are sorted at a time, for numpy looks at neither clock nor interrupts.

    Raises
    ------
    OutOfTime
        The clock ran out.
    """
    points = np.empty(np.count_nonzero(value < np.inf), dtype=np.int64)
    sample = np.sort(value[:: max(1, PART // 64)])
    done, low = 0, -np.inf
    for high in np.unique(np.append(sample[64::64], np.inf)):
        note(clock, f"{done / max(len(points), 1):.0%} of the total counts sorted by v")
        inside = np.flatnonzero((value >= low) & (value < high))
        points[done : done + len(inside)] = inside[np.argsort(value[inside])]
        done, low = done + len(inside), high
    return points

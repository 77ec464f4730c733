"""Total VM counts as sorted keys, level by level: what the exact play and the joint optimum are computed on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....instances.packing.game import skewness
from ....instances.packing.instance import Floats, Integers
from ....instances.problem.errors import InvalidOption
from ...outcome import Clock
from .strategies import Game

MOST_STATES = 60_000_000
"""Keys of all levels together that are kept, about 10 bytes each."""


class OutOfTime(Exception):
    """The clock ran out between two levels."""


@dataclass(frozen=True, eq=False)
class Space:
    """How total counts are written as keys.

    Attributes
    ----------
    stride, radix : (s,) key = sum n_i stride_i, n_i < radix_i.
    deviation, first : the users' parts of eq. 5 by number of VMs, one user after the other, and where each begins.
    """

    game: Game
    stride: Integers
    radix: Integers
    deviation: Floats
    first: Integers

    @classmethod
    def of(cls, game: Game) -> Space:
        """The space of a game; raises InvalidOption when its counts do not fit 62 bits or its tables memory."""
        top = [int(number) for number in game.largest()]
        if sum(top) > 20_000_000:
            raise InvalidOption(f"up to {sum(top)} VMs could be chosen, too many to tabulate; use DRF or fewer servers")
        radix = [number + 1 for number in top]
        stride = [1] * len(radix)
        for i in range(len(radix) - 2, -1, -1):
            stride[i] = stride[i + 1] * radix[i + 1]
        if stride[0] * radix[0] >= 2**62:
            raise InvalidOption("the total counts of this game do not fit 62 bits; use fewer VM types, servers, or DRF")
        parts = game.deviations()
        first = np.cumsum([0, *(len(part) for part in parts[:-1])])
        return cls(game, np.array(stride), np.array(radix), np.concatenate(parts), first.astype(np.int64))

    def keys(self, counts: Integers) -> Integers:
        """(n,) keys of counts (n, s)."""
        result: Integers = counts @ self.stride
        return result

    def variance(self, keys: Integers) -> Floats:
        """(n,) fairness variance of each key; the tree and the dynamic programmes take it from here, equal to the last bit."""
        from .kernels import variances

        result: Floats = variances(self.deviation, self.first, self.stride, self.radix, keys, 1.0 / self.game.alpha)
        return result

    def moves(self, place: int) -> tuple[Integers, Integers, Floats, Integers]:
        """What the player at this place may choose, in lexicographic order: moves (e, s), their keys, skewness, their places."""
        strategies = self.game.moves(place)
        order = np.lexsort(strategies.combination.T[::-1])
        moves = np.ascontiguousarray(strategies.combination[order])
        return moves, self.keys(moves), np.ascontiguousarray(strategies.uneven[order]), order

    def idle(self, place: int) -> float:
        """Skewness of the server of the player at this place when it stays empty."""
        c = int(self.game.kind[place])
        instance = self.game.instance
        nothing = np.zeros(len(instance.resources), dtype=np.int64)
        return float(skewness(instance.capacity[c], instance.start[c], nothing))

    def levels(self, clock: Clock, most: int = MOST_STATES) -> list[Integers]:
        """The keys that can be reached after 0, 1, ... moves.

        Raises
        ------
        InvalidOption
            There are more than `most` in all.
        OutOfTime
            The clock ran out.
        """
        from .kernels import following_keys

        reached = [np.zeros(1, dtype=np.int64)]
        total = 1
        for place in range(self.game.players):
            moves, steps, _, _ = self.moves(place)
            reached.append(following_keys(reached[-1], moves, steps, self.stride, self.radix, self.game.capped))
            total += len(reached[-1])
            if total > most:
                raise InvalidOption(
                    f"the game has more than {most} states (total counts after each move; {place + 1} of {self.game.players}"
                    " moves listed); use a smaller eta, fewer VM types or servers, more memory (most_states), or FUGA-algorithm-1"
                )
            if clock.over:
                raise OutOfTime
        return reached

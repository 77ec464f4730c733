"""States of the game: total VM counts as sorted integer keys, level by level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ....instances.packing.instance import Integers
from ....instances.problem.errors import InvalidOption
from ....instances.problem.option_types import AtLeast
from ...outcome import Clock
from .strategies import Game

States = Annotated[int, AtLeast(1, "a number of states")]
"""Keys of all levels together that are kept, up to 12 bytes each."""


class OutOfTime(Exception):
    """Raised when the time limit is reached between two levels."""


def too_many(states: str, kept: int, size: int, most_states: int) -> InvalidOption:
    """Error for a game that needs more states, of `size` bytes each, than allowed."""
    return InvalidOption(
        f"the game has {states} states (total counts after each move), and its play keeps {kept} "
        f"values at a time ({kept * size / 1e9:.2g} GB), more than most_states, {most_states}; use "
        "a smaller eta, fewer VM types or servers, more memory (most_states), FUGA-algorithm-1, or "
        "joint-optimum"
    )


def note(clock: Clock, text: str) -> None:
    """Report a message about the play; raise OutOfTime at the time limit."""
    clock.note(*(clock.trace[-1][1:] if clock.trace else (None, None)), text)
    if clock.expired:
        raise OutOfTime


@dataclass
class GameProgress:
    """Number of states visited so far and expected in all, for progress messages."""

    clock: Clock
    total: int
    done: int = 0

    def begin(self, turn: int, states: int) -> None:
        """Report progress, and count a player's states; raise OutOfTime at the time limit."""
        share = self.done / max(self.total, 1)
        note(self.clock, f"{share:.0%} of the game, player {turn + 1}")
        self.done += states


def least_states(game: Game) -> int:
    """Lower bound on the number of states of a packing game, if requests limit no player.

    A player's moves differ from its first one by vectors. Of some that are linearly
    independent, n players who choose among r and the first reach C(n + r, r) different sums,
    and with those of other classes as many as the product.
    """
    basis: list[Integers] = []
    dimensions, tables = [0] * len(game.by_class), [moves.combination for moves in game.by_class]
    # one vector of each class in turn: the product is then large
    for _ in tables[0].T:
        for c, table in enumerate(tables):
            for vector in table[1:] - table[0] if len(basis) < table.shape[1] else ():
                if np.linalg.matrix_rank([*basis, vector]) > len(basis):
                    basis.append(vector)
                    dimensions[c] += 1
                    break
    made, total = [0] * len(dimensions), 1
    for c in game.kind.tolist():
        made[c] += 1
        total += math.prod(math.comb(n + r, r) for n, r in zip(made, dimensions, strict=True))
    return total


def levels(game: Game, clock: Clock, most: int = 10**9) -> list[Integers]:
    """Sorted keys of the total counts that are reachable after each number of moves, from 0 on.

    Raises
    ------
    InvalidOption
        There are more than `most` in all: where that can be told at once, before any is
        listed, else when so many have been.
    OutOfTime
        The clock ran out.
    """
    from .kernels import following_keys

    worths, players = game.worths, game.players
    least = 0 if game.capped else least_states(game)
    if least > most:
        raise too_many(f"at least {least:.2g}", least, 12, most)
    reached = [np.zeros(1, dtype=np.int64)]
    total = 1
    for place in range(players):
        note(clock, f"{place} of {players} moves, {total:.2g} states")
        moves = game.moves(place)
        reached.append(
            following_keys(
                reached[-1],
                moves.combination,
                moves.steps,
                worths.stride,
                worths.radix,
                game.capped,
                min(most - total, 2**62),
            )
        )
        total += len(reached[-1])
        if total > most:
            raise too_many(f"more than {most}", total, 12, most)
    return reached

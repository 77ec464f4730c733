"""States of the game: total VM counts as sorted integer keys, level by level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from ....instances.packing.instance import Floats, Integers
from ....instances.problem.errors import InvalidOption
from ....instances.problem.option_types import AtLeast
from ...outcome import Clock
from .strategies import Game, Strategies
from .worth import Worths

States = Annotated[int, AtLeast(1, "a number of states")]
"""Keys of all levels together that are kept, up to 12 bytes each."""


class OutOfTime(Exception):
    """Raised when the time limit is reached between two levels."""


def too_many(states: str, kept: int, size: int, most_states: int) -> InvalidOption:
    """Error for a game that needs more states, of so many bytes, than allowed."""
    return InvalidOption(
        f"the game has {states} states (total counts after each move), and its play keeps {kept} "
        f"values at a time ({kept * size / 1e9:.2g} GB), more than most_states, {most_states}; use "
        "a smaller eta, fewer VM types or servers, more memory (most_states), FUGA-algorithm-1, or "
        "joint-optimum"
    )


def note(clock: Clock, text: str) -> None:
    """Report progress of the play; raises OutOfTime at the time limit."""
    clock.note(*(clock.trace[-1][1:] if clock.trace else (None, None)), text)
    if clock.expired:
        raise OutOfTime


@dataclass
class GameProgress:
    """Number of states visited and expected."""

    clock: Clock
    total: int
    done: int = 0

    def begin(self, place: int, states: int) -> None:
        """Report and count a player's states; raises OutOfTime."""
        share = self.done / max(self.total, 1)
        note(self.clock, f"{share:.0%} of the game, player {place + 1}")
        self.done += states


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves of the players of one class, in lexicographic order.

    Attributes
    ----------
    combination, steps : (e, s) VMs, and (e,) their keys.
    squared, uneven : (e,) squared skewness of the server with each, and skewness.
    rank : (e,) the place of each skewness in their order; equal for equal ones.
    """

    combination: Integers
    steps: Integers
    squared: tuple[Fraction, ...]
    uneven: Floats
    rank: Integers

    @classmethod
    def of(cls, strategies: Strategies, worths: Worths) -> Moves:
        """Moves that follow from a set of strategies."""
        order = np.lexsort(strategies.combination.T[::-1])
        combination = np.ascontiguousarray(strategies.combination[order])
        squared = tuple(strategies.squared[place] for place in order.tolist())
        rank = {square: place for place, square in enumerate(sorted(set(squared)))}
        return cls(
            combination,
            worths.keys(combination),
            squared,
            strategies.uneven[order],
            np.array([rank[entry] for entry in squared]),
        )


@dataclass(frozen=True, eq=False)
class Space:
    """State space of a game: keys and their transitions.

    Attributes
    ----------
    game : of these positions.
    by_class : the moves of each class of servers.
    """

    game: Game
    by_class: tuple[Moves, ...]

    @classmethod
    def of(cls, game: Game) -> Space:
        """State space of a game; raises InvalidOption if its counts exceed 62 bits or its tables
        exceed memory.
        """
        return cls(game, tuple(Moves.of(entry, game.worths) for entry in game.strategies))

    def moves(self, place: int) -> Moves:
        """Moves of the player at a position."""
        return self.by_class[int(self.game.kind[place])]

    def possible(self, place: int, total: Integers) -> Integers:
        """Indices of the moves that caps allow, given the total counts before."""
        return np.flatnonzero(
            (total + self.moves(place).combination < self.game.worths.radix).all(axis=1)
        )

    @property
    def least_states(self) -> int:
        """Lower bound on the number of states, if no request is finite.

        A player's moves differ from its first one by vectors. Of some that are linearly
        independent, n players who choose among r and the first reach C(n + r, r) different sums,
        and with those of other classes as many as the product.
        """
        basis: list[Integers] = []
        own, tables = [0] * len(self.by_class), [moves.combination for moves in self.by_class]
        # one vector of each class in turn: the product is then large
        for _ in tables[0].T:
            for c, table in enumerate(tables):
                for vector in table[1:] - table[0] if len(basis) < table.shape[1] else ():
                    if np.linalg.matrix_rank([*basis, vector]) > len(basis):
                        basis.append(vector)
                        own[c] += 1
                        break
        made, total = [0] * len(own), 1
        for c in self.game.kind.tolist():
            made[c] += 1
            total += math.prod(math.comb(n + r, r) for n, r in zip(made, own, strict=True))
        return total

    def levels(self, clock: Clock, most: int = 10**9) -> list[Integers]:
        """Keys that are reachable after each number of moves, from 0 on.

        Raises
        ------
        InvalidOption
            There are more than `most` in all: where that can be told at once, before any is
            listed, else when so many have been.
        OutOfTime
            The clock ran out.
        """
        from .kernels import following_keys

        worths, players = self.game.worths, self.game.players
        least = 0 if self.game.capped else self.least_states
        if least > most:
            raise too_many(f"at least {least:.2g}", least, 12, most)
        reached = [np.zeros(1, dtype=np.int64)]
        total = 1
        for place in range(players):
            note(clock, f"{place} of {players} moves, {total:.2g} states")
            moves = self.moves(place)
            reached.append(
                following_keys(
                    reached[-1],
                    moves.combination,
                    moves.steps,
                    worths.stride,
                    worths.radix,
                    self.game.capped,
                    min(most - total, 2**62),
                )
            )
            total += len(reached[-1])
            if total > most:
                raise too_many(f"more than {most}", total, 12, most)
        return reached

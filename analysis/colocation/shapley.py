"""Shapley's fair share of a penalty: exact, or sampled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ...instances.colocation.instance import Floats
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options

Game = Callable[[tuple[int, ...]], float]
"""A coalition's penalty: its members, ascending, to a number; the empty one's is taken as is."""

MOST_PLAYERS = 20
"""Exact shares look at 2^players coalitions."""


@dataclass(frozen=True, eq=False)
class Shares:
    """A fair division of a penalty.

    Attributes
    ----------
    share : (n,) of each player; together the penalty of all players less that of none.
    standard_error : (n,) of each sampled share; None when exact.
    orderings : how many orderings were sampled; None when exact.
    names : of the players.
    """

    share: Floats
    standard_error: Floats | None = None
    orderings: int | None = None
    names: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, object]]:
        """One plain row per player."""
        names = self.names or tuple(str(index) for index in range(len(self.share)))
        errors = (
            [None] * len(self.share)
            if self.standard_error is None
            else self.standard_error.tolist()
        )
        return [
            {"player": name, "share": share, "standard_error": error}
            for name, share, error in zip(names, self.share.tolist(), errors, strict=True)
        ]


def shapley(
    game: Game | npt.ArrayLike, players: int | None = None, *, names: Sequence[str] = ()
) -> Shares:
    """Exact Shapley shares: marginal penalties averaged over all coalitions a player can join.

    Parameters
    ----------
    game : penalty of a coalition, given as a function of the tuple of its members (ascending, from
        0), or as an array of 2^n penalties indexed by the sum of 2^member.
    players : n, at most 20; read off the array when not given.
    names : of the players, for tables.

    Raises
    ------
    InvalidOption
        Too many players, or an array whose length is no power of two.

    Notes
    -----
    O(n 2^n). Source: Cooper eq. 1 and fig. 14, thesis eq. 2.1, the sum taken over the coalitions
    that contain the player (as printed it runs over all).

    Examples
    --------
    >>> shapley(interference_game([1, 2, 3]), 3).share.tolist()  # fig. 14
    [1.5, 2.0, 2.5]
    """
    penalty, number = _table(game, players)
    coalition = np.arange(len(penalty))
    size = np.bitwise_count(coalition).astype(np.int64)
    ways = np.array([math.comb(number - 1, s) for s in range(number)])  # coalitions of s others
    share = np.empty(number)
    for player in range(number):
        without = coalition[coalition >> player & 1 == 0]
        marginal = penalty[without | 1 << player] - penalty[without]
        # (s-1)!(n-s)!/n! is the mean over sizes of the mean over the coalitions of a size
        share[player] = np.mean(
            np.bincount(size[without], weights=marginal, minlength=number) / ways
        )
    return Shares(share, names=tuple(names))


@validate_options
def shapley_sampled(
    game: Game,
    players: Annotated[int, AtLeast(1)],
    *,
    orderings: Annotated[int, AtLeast(2)] = 1000,
    rng: np.random.Generator | None = None,
    names: Sequence[str] = (),
) -> Shares:
    """Shapley shares estimated from random orderings, with standard errors.

    Parameters
    ----------
    game : penalty of a coalition, a function of the tuple of its members (ascending, from 0).
    players : n.
    orderings : how many are drawn, 2 or more; the game is evaluated n + 1 times for each.
    rng : source of the draws; `default_rng(0)` when not given.
    names : of the players, for tables.

    Raises
    ------
    InvalidOption
        No players, or fewer than two orderings.

    Notes
    -----
    Every ordering divides the whole penalty, so the shares add up exactly. The standard error is
    the deviation of a player's marginal penalties (n - 1 in the denominator) over the root of
    `orderings`. Source: Cooper fig. 14 (expected marginal penalty over permutations).
    """
    generator = rng or np.random.default_rng(0)
    nobody = float(game(()))
    marginal = np.empty((orderings, players))
    for row in range(orderings):
        present: list[int] = []
        before = nobody
        for player in generator.permutation(players).tolist():
            present.append(player)
            now = float(game(tuple(sorted(present))))
            marginal[row, player] = now - before
            before = now
    error = marginal.std(axis=0, ddof=1) / math.sqrt(orderings)
    return Shares(marginal.mean(axis=0), error, orderings, tuple(names))


def interference_game(interference: Sequence[float]) -> Game:
    """The penalty game of Cooper's appendix: 0 for one player, else the sum of interferences."""

    def penalty(coalition: tuple[int, ...]) -> float:
        return (
            float(sum(interference[player] for player in coalition)) if len(coalition) > 1 else 0.0
        )

    return penalty


def _table(game: Game | npt.ArrayLike, players: int | None) -> tuple[Floats, int]:
    if callable(game):
        if players is None or not 1 <= players <= MOST_PLAYERS:
            raise InvalidOption(
                f"players is {players}; expected 1 to {MOST_PLAYERS}, or use shapley_sampled"
            )
        everyone = range(players)
        values = [game(tuple(p for p in everyone if mask >> p & 1)) for mask in range(1 << players)]
        return np.array(values, dtype=float), players
    penalty = np.asarray(game, dtype=float)
    number = penalty.size.bit_length() - 1
    if (
        penalty.ndim != 1
        or penalty.size != 1 << number
        or not 1 <= number <= MOST_PLAYERS
        or players not in (None, number)
    ):
        raise InvalidOption(
            f"game has {penalty.size} penalties for {players} players; expected 2^players, "
            "players 1 to 20"
        )
    return penalty, number

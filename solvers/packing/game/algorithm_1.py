"""FUGA-algorithm-1: the paper's Algorithm 1, which is not backward induction from three servers on."""

from __future__ import annotations

import numpy as np

from ....instances.packing.instance import Integers, Packing
from ...outcome import Outcome, Stop, validate_time_limit
from .states import Space
from .strategies import Eta, Game, game_of


def fuga_algorithm_1(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    alpha: float = 2.0,
    eta: Eta = 5,
    overload: float | None = None,
) -> Outcome:
    """Algorithm 1 as printed, its two slips corrected: line 23 assigns selection[i_p], and line 25 starts at i_{p-2}.

    The last two servers in the order of moves play their two-player game as if the others held nothing; then, from the third
    last to the first, each server takes the combination that is best given those already chosen. Its answer is the
    subgame-perfect equilibrium for one or two servers, and in general not for more (`FUGA` is).

    Options, ties and errors as for `FUGA`. O(servers x eta) after the strategies are listed.
    Source: Xu and Yu (2014), Algorithm 1.
    """
    from .play import played

    validate_time_limit(time_limit)
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    told = {"equilibrium": "Algorithm 1 claims it; proved only for one or two servers"}
    return played(game, algorithm_1_choice(game), Stop.FINISHED, told)


def algorithm_1_choice(game: Game) -> Integers:
    """(P, s) the combinations Algorithm 1 selects, in the order of moves."""
    space = Space.of(game)
    chosen = np.zeros((game.players, game.instance.types), dtype=np.int64)
    total = np.zeros(game.instance.types, dtype=np.int64)
    last = game.players - 1
    if last == 0:
        chosen[0] = _reply(space, 0, total)[0]
        return chosen
    moves = _possible(space, last - 1, total)
    replies = [_reply(space, last, total + move) for move in moves[0]]  # lines 18-21
    ends = np.array([total + move + reply for move, (reply, _) in zip(moves[0], replies, strict=True)])
    worth = -space.variance(space.keys(ends)) - moves[1]
    best = int(np.argmax(worth))  # line 22; the first of equals is the lexicographically smallest
    chosen[last - 1], chosen[last] = moves[0][best], replies[best][0]  # line 23
    total = total + chosen[last - 1] + chosen[last]
    for place in range(last - 2, -1, -1):  # line 25
        chosen[place] = _reply(space, place, total)[0]
        total = total + chosen[place]
    return chosen


def _possible(space: Space, place: int, total: Integers) -> tuple[Integers, np.ndarray]:
    """Moves (lexicographic) and their skewness that caps allow given the total; the empty one when none is."""
    moves, _, uneven, _ = space.moves(place)
    fits = (total + moves < space.radix).all(axis=1)
    if not fits.any():
        return np.zeros((1, moves.shape[1]), dtype=np.int64), np.array([space.idle(place)])
    return moves[fits], uneven[fits]


def _reply(space: Space, place: int, total: Integers) -> tuple[Integers, float]:
    """The player's best move given the total of the others, and its utility."""
    moves, uneven = _possible(space, place, total)
    worth = -space.variance(space.keys(total + moves)) - uneven
    best = int(np.argmax(worth))
    return moves[best], float(worth[best])

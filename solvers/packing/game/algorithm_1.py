"""FUGA-algorithm-1: the paper's Algorithm 1, which is not backward induction from three servers
on.
"""

from __future__ import annotations

import numpy as np

from ....instances.packing.game import Alpha
from ....instances.packing.instance import Integers, Packing
from ....instances.problem.option_types import validate_options
from ...outcome import Outcome, Stop
from .strategies import Eta, Game, Overload, game_of, played


@validate_options
def fuga_algorithm_1(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    alpha: Alpha = 2.0,
    eta: Eta = 5,
    overload: Overload | None = None,
) -> Outcome:
    """Place VMs by Algorithm 1 of Xu and Yu (2014), with its two slips corrected. Line 23 assigns
    selection[i_p], and line 25 starts at i_{p-2}.

    The last two servers in the order of moves play their two-player game as if the others held
    nothing; then, from the third last to the first, each server takes the combination that is best
    given those already chosen. Its answer is the subgame-perfect equilibrium for one or two
    servers, and in general not for more (`FUGA` is).

    Ties and errors as for `FUGA`. O(servers x eta) after the strategies are listed.
    Source: Xu and Yu (2014), Algorithm 1.

    Parameters
    ----------
    alpha : weight of fairness (eq. 14), above 1; the paper uses 2 to 5.
    eta : combinations each server may choose among, or "shrinking" with the number of servers.
    overload : combinations that use more than this share of some resource are rejected.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/paper-example"), "FUGA-algorithm-1")
    >>> print(result.status, round(result.objective, 3))
    feasible 1.516
    """
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    facts = {"equilibrium": "Algorithm 1 claims it; proved only for one or two servers"}
    return played(game, algorithm_1_choice(game), Stop.FINISHED, facts)


def algorithm_1_choice(game: Game) -> Integers:
    """Combinations (P, s) that Algorithm 1 selects, in the order of moves."""
    chosen = np.zeros((game.players, game.instance.types), dtype=np.int64)
    total = np.zeros(game.instance.types, dtype=np.int64)
    last = game.players - 1
    if last == 0:
        chosen[0] = reply(game, 0, total)
        return chosen
    moves = game.moves(last - 1)
    possible = game.possible(last - 1, total)
    if len(possible):
        first = moves.combination[possible]
        replies = np.array([reply(game, last, total + move) for move in first])  # lines 18-21
        best = _best(game, last - 1, possible, total + first + replies)  # line 22
        chosen[last - 1], chosen[last] = first[best], replies[best]  # line 23
    else:
        chosen[last] = reply(game, last, total)
    total = total + chosen[last - 1] + chosen[last]
    for index in range(last - 2, -1, -1):  # line 25
        chosen[index] = reply(game, index, total)
        total = total + chosen[index]
    return chosen


def reply(game: Game, turn: int, total: Integers) -> Integers:
    """Best move (s,) of a player given the total of the others; zeros if caps allow none."""
    possible = game.possible(turn, total)
    moves = game.moves(turn).combination
    if not len(possible):
        return np.zeros(moves.shape[1], dtype=np.int64)
    own: Integers = moves[possible][_best(game, turn, possible, total + moves[possible])]
    return own


def _best(game: Game, turn: int, possible: Integers, ends: Integers) -> int:
    """Index of the player's best possible move, given the resulting totals (n, s); ties
    lexicographically.
    """
    worths, moves = game.worths, game.moves(turn)
    keys = worths.keys(ends)
    return worths.best(
        worths.variance(keys),
        keys,
        moves.uneven[possible],
        [moves.squared[a] for a in possible.tolist()],
    )

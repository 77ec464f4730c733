"""FUGA: the subgame-perfect play of the game, by dynamic programming over total VM counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....instances.packing.game import Alpha
from ....instances.packing.instance import Integers, Packing
from ....instances.problem.option_types import validate_options
from ...outcome import Clock, Outcome, Report, Stop
from ...routes import Routed
from .algorithm_1 import algorithm_1_choice
from .boxes import Boxes
from .states import GameProgress, OutOfTime, States, levels
from .strategies import Eta, Game, Overload, game_of, played

MOST_STATES = 400_000_000
"""States kept at a time: 8 bytes each in boxes, about 12 in lists."""

PERFECT = "subgame perfect"
NOT_REACHED = "not reached: these are the choices of Algorithm 1"


@dataclass(frozen=True)
class PlayLimits(Routed):
    """Routes that the method `fuga` tries before it lists all total VM counts of the game."""

    routes: frozenset[str] = frozenset({"boxes"})


LIMITS = PlayLimits()


@validate_options
def fuga(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    alpha: Alpha = 2.0,
    eta: Eta = 5,
    overload: Overload | None = None,
    most_states: States = MOST_STATES,
    limits: PlayLimits = LIMITS,
) -> Outcome:
    """Subgame-perfect equilibrium of the allocation game, equal to that of the paper's game tree,
    by dynamic programming.

    A server's utility depends on the others only through the total counts, so what play leads to
    after some moves depends on the counts so far alone: states are (move, counts), polynomially
    many in the number of servers. Where alpha is whole and VM types are few, they are the points of
    boxes, of which two levels are kept (700 servers and three types at eta 10: 5e9 states, 2.5 GB);
    else lists of what can be reached, all of them kept.

    Parameters
    ----------
    alpha : weight of fairness (eq. 14), above 1; the paper uses 2 to 5.
    eta : combinations each server may choose among, or "shrinking" with the number of servers.
    overload : combinations that use more than this share of some resource are rejected.
    most_states : states that may be kept at a time, 8 bytes each in boxes and about 12 in lists.
    limits : which routes are tried.

    Returns
    -------
    Outcome
        No bound: an equilibrium optimizes nothing. `certificate`: the order of moves, each server's
        combination and utility. When time runs out, the choices of Algorithm 1 instead, and the
        certificate says so.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        An option out of range, or more states to keep than allowed.

    Notes
    -----
    Ties go to the lexicographically smallest combination, at step 2 and in backward induction.
    Theorems 8 to 10 of the paper (sharing incentive, no envy, Pareto efficiency) do not hold in
    general; `analysis.packing.metrics.audit` measures them. Source: Xu and Yu (2014), section 4.3;
    the equilibrium their Algorithm 1 claims.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/paper-example"), "FUGA", alpha=3.0)
    >>> print(result.status, round(result.objective, 3))
    feasible 0.793
    """
    clock = Clock(time_limit, report)
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    try:
        choice, states = equilibrium(game, clock, most_states, limits)
    except (OutOfTime, KeyboardInterrupt) as reason:
        stop = Stop.TIME_LIMIT if isinstance(reason, OutOfTime) else Stop.INTERRUPTED
        facts = {"equilibrium": NOT_REACHED}
        return played(game, algorithm_1_choice(game), stop, facts)
    return played(game, choice, Stop.FINISHED, {"equilibrium": PERFECT, "states": states})


@validate_options
def equilibrium(
    game: Game, clock: Clock | None = None, most_states: int = MOST_STATES,
    limits: PlayLimits = LIMITS,
) -> tuple[Integers, int]:  # fmt: skip
    """Choices of the players (P, s) in the order of moves, and the number of states visited.

    Raises
    ------
    InvalidOption
        There are more states to keep than allowed.
    OutOfTime
        The clock ran out.
    """
    watch, boxes = clock or Clock(), Boxes.of(game)
    if "boxes" in limits.routes and boxes.fits(most_states):
        play = boxes.solve(watch)
        if play is not None:
            return play, boxes.points
    listed = levels(game, watch, most_states)
    return by_lists(game, listed, watch), sum(map(len, listed))


def by_lists(game: Game, levels: list[Integers], watch: Clock) -> Integers:
    """Choices of all players (P, s) by backward induction over lists of total counts."""
    from .kernels import best_replies

    worths = game.worths
    value, end = worths.variance(levels[-1]), levels[-1]
    chosen: list[Integers] = []  # by level, the last first: choice at each key
    progress = GameProgress(watch, sum(map(len, levels[:-1])))
    for index in range(game.players - 1, -1, -1):
        progress.begin(index, len(levels[index]))
        moves, next_value, next_end = game.moves(index), value, end
        value, end, choice, doubtful = best_replies(
            levels[index],
            levels[index + 1],
            next_value,
            next_end,
            moves.combination,
            moves.steps,
            moves.uneven,
            moves.rank,
            worths.stride,
            worths.radix,
            game.capped,
            worths.digits,
            worths.first,
            worths.slack,
            worths.floor,
        )
        for row in doubtful.tolist():
            total = np.array(worths.counts(levels[index][row]), dtype=np.int64)
            possible = game.possible(index, total)
            after = np.searchsorted(levels[index + 1], levels[index][row] + moves.steps[possible])
            squared = [moves.squared[a] for a in possible.tolist()]
            uneven = moves.uneven[possible]
            best = worths.best(next_value[after], next_end[after], uneven, squared)
            value[row], end[row] = next_value[after[best]], next_end[after[best]]
            choice[row] = possible[best]
            if watch.expired:
                raise OutOfTime
        chosen.append(choice)
    chosen.reverse()
    return followed(game, levels, chosen)


def followed(game: Game, levels: list[Integers], choice: list[Integers]) -> Integers:
    """Combinations (P, s) on the path of play, given keys and choices at each level."""
    result, key = np.zeros((game.players, game.instance.types), dtype=np.int64), 0
    for index, (keys, chosen) in enumerate(zip(levels[:-1], choice, strict=True)):
        moves = game.moves(index)
        taken = int(chosen[np.searchsorted(keys, key)])
        if taken >= 0:
            result[index] = moves.combination[taken]
            key += int(moves.steps[taken])
    return result

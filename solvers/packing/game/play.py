"""FUGA: the subgame-perfect play, by dynamic programming over total counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....instances.packing.instance import Integers, Packing, Placement
from ...outcome import Clock, Outcome, Report, Status, Stop
from ..cluster import validate_whole
from .algorithm_1 import algorithm_1_choice
from .states import MOST_STATES, OutOfTime, Space
from .strategies import Eta, Game, game_of


def fuga(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    alpha: float = 2.0,
    eta: Eta = 5,
    overload: float | None = None,
    most_states: int = MOST_STATES,
) -> Outcome:
    """The subgame-perfect equilibrium of the allocation game, exactly: what the paper's tree would give, without the tree.

    A server's utility depends on the others only through the total counts, so what play leads to after some moves depends
    on the counts so far alone: states are (move, counts), polynomially many in the number of servers.

    Parameters
    ----------
    alpha : above 1, weighs fairness (eq. 14); the paper uses 2 to 5.
    eta : combinations each server may choose among, or "shrinking" with the number of servers.
    overload : combinations that use more than this share of some resource are rejected.
    most_states : states that may be listed in all.

    Returns
    -------
    Outcome
        No bound: an equilibrium optimises nothing. `certificate`: the order of moves, each server's combination and utility.
        When time runs out, the choices of Algorithm 1 instead, and the certificate says so.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        An option out of range, or more states than allowed.

    Notes
    -----
    Ties go to the lexicographically smallest combination, at step 2 and in backward induction. Theorems 8 to 10 of the paper
    (sharing incentive, no envy, Pareto efficiency) do not hold in general; `analysis.packing.audits` measures them.
    Source: Xu and Yu (2014), section 4.3; the equilibrium their Algorithm 1 claims.
    """
    validate_whole("most_states", most_states, 1, "a number of states")
    clock = Clock(time_limit, report)
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    try:
        choice, states = equilibrium(game, clock, most_states)
    except (OutOfTime, KeyboardInterrupt) as reason:
        stop = Stop.TIME_LIMIT if isinstance(reason, OutOfTime) else Stop.INTERRUPTED
        told = {"equilibrium": "not reached: these are the choices of Algorithm 1"}
        return played(game, algorithm_1_choice(game), stop, told)
    return played(game, choice, Stop.FINISHED, {"equilibrium": "subgame perfect", "states": states})


def equilibrium(game: Game, clock: Clock | None = None, most_states: int = MOST_STATES) -> tuple[Integers, int]:
    """(P, s) what each player chooses, in the order of moves, and how many states were looked at.

    Raises
    ------
    InvalidOption
        There are more states than allowed.
    OutOfTime
        The clock ran out.
    """
    from .kernels import best_replies

    watch = clock or Clock()
    space = Space.of(game)
    levels = space.levels(watch, most_states)
    value = space.variance(levels[-1])
    chosen: list[np.ndarray] = []
    for place in range(game.players - 1, -1, -1):
        moves, steps, uneven, _ = space.moves(place)
        value, choice = best_replies(
            levels[place],
            levels[place + 1],
            value,
            moves,
            steps,
            uneven,
            space.idle(place),
            space.stride,
            space.radix,
            game.capped,
        )
        chosen.append(choice)
        if watch.over and place:
            raise OutOfTime
    chosen.reverse()
    result = np.zeros((game.players, game.instance.types), dtype=np.int64)
    key = 0
    for place, choice in enumerate(chosen):
        moves, steps, _, _ = space.moves(place)
        taken = int(choice[np.searchsorted(levels[place], key)])
        if taken >= 0:
            result[place] = moves[taken]
            key += int(steps[taken])
    return result, sum(len(level) for level in levels)


def utilities(game: Game, choice: Integers) -> tuple[float, list[float]]:
    """v of a play (P, s), and each player's utility (eq. 14) in the order of moves."""
    from ....instances.packing.game import skewness

    instance = game.instance
    space = Space.of(game)
    variance = float(space.variance(space.keys(choice.sum(axis=0)[None, :]))[0])
    uneven = skewness(instance.capacity[game.kind], instance.start[game.kind], choice @ instance.demand)
    return variance, [float(-variance - part) for part in uneven]


def played(game: Game, choice: Integers, stop: Stop, told: dict[str, Any]) -> Outcome:
    """An outcome from the players' choices, in the order of moves."""
    variance, worth = utilities(game, choice)
    leaves = game.leaves
    certificate = {
        **told,
        "order": game.player.tolist(),
        "choices": choice.tolist(),
        "utilities": worth,
        "fairness_variance": variance,
        "strategies": [len(entry.combination) for entry in game.strategies],
        "leaves": leaves if leaves < 2**53 else f"about 10^{len(str(leaves)) - 1}",
        "alpha": game.alpha,
    }
    return Outcome(Placement(choice, game.kind), None, Status.FEASIBLE, stop, certificate)

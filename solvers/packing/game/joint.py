"""Joint optimum of the game: least total disutility over the same strategy sets, by CP-SAT."""

from __future__ import annotations

import math

import numpy as np

from ....instances.packing.game import Alpha, scale
from ....instances.packing.instance import Floats, Integers, Packing, Placement
from ....instances.problem.option_types import validate_options
from ....models.packing.joint import JointModel, joint_model
from ...engines import solve_cp_sat
from ...outcome import Clock, Outcome, Report, Status, Stop, agree
from .algorithm_1 import algorithm_1_choice, reply
from .strategies import Eta, Game, Overload, game_of

DEVIATION_SCALE = 2**40
"""Parts of eq. 5 are rounded down to multiples of its inverse where they are not small integers."""


@validate_options
def joint_optimum(
    instance: Packing,
    *,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    alpha: Alpha = 2.0,
    eta: Eta = 5,
    overload: Overload | None = None,
) -> Outcome:
    """Minimize the total disutility of all servers over the plays of the game, with a lower bound.

    Total disutility is servers x v + the sum of skewness, the negative of the utilities of eq. 14
    added up: what the servers would choose if they acted as one. CP-SAT finds it with v tabulated,
    rounded down and refined until value and bound agree to 1e-7. The ratio of `FUGA`'s disutility
    to it is the price of anarchy of that play: both choose among the same plays, in which a server
    stays empty only where caps allow it nothing after the moves before it.

    Parameters
    ----------
    alpha : weight of fairness (eq. 14), above 1.
    eta : combinations each server may choose among, or "shrinking" with the number of servers.
    overload : combinations that use more than this share of some resource are rejected.
    start : not used: an answer outside the strategy sets would not count.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        An option out of range.

    Examples
    --------
    >>> import cotenant
    >>> instance = cotenant.read("packing/paper-example")
    >>> result = cotenant.solve(instance, "joint-optimum")
    >>> print(result.status, round(result.objective, 3))
    optimal 1.446
    """
    # 1. a first play, and breakpoints of v near it
    clock = Clock(time_limit, report)
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    best = _by_class(game, _first_play(game))
    value = _disutility(game, best)
    lower, rounds, stop = 0.0, 0, Stop.FINISHED
    steps = (np.linspace(0.0, 1.0, 48) * 1.001 * value / game.players) ** game.alpha
    steps *= _deviations(game)[1]
    points = np.unique(np.minimum(np.floor(steps), 2**54).astype(np.int64))
    seen: set[int] = set()
    unit = scale(game.instance, "disutility", alpha=game.alpha)
    # 2. solve with finer tables of v where the answers lie, until the bound meets the value
    while value > lower and not agree(value, lower, unit):
        built, before = _built(game, points, best), len(points)
        answer = solve_cp_sat(built.model, time_limit=clock.left)
        rounds += 1
        if answer.bound is not None:
            lower = max(lower, answer.bound / built.scale * (1 - 1e-12))
        if answer.values is not None:
            found = [row.copy() for row in built.servers_by_strategy(answer.values)]
            deviation = _deviation(game, found)
            points = _finer(points, deviation, deviation in seen)
            seen.add(deviation)
            worth = _disutility(game, found)
            if worth < value:
                best, value = found, worth
        try:
            clock.note(value, min(lower, value), f"CP-SAT, {len(points)} points of v")
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
            break
        if answer.status is Status.OPTIMAL and len(points) == before:
            # no finer table of v is left, and rounding (most of it: players / 2^30) is all that
            # keeps the bound below
            break
        if answer.stop is not Stop.FINISHED or clock.expired:
            stop = answer.stop if answer.stop is not Stop.FINISHED else Stop.TIME_LIMIT
            break
    # 3. what is proved up to rounding
    proved = value <= lower or agree(value, lower, unit)
    bound = value if proved and value - lower <= 0 else min(lower, value)
    certificate = {
        "engine": "cp-sat", "rounds": rounds, "points": len(points),
        "servers_by_strategy": [row.tolist() for row in best],
        "rounded_down_by": value - bound,
    }  # fmt: skip
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    stop = Stop.FINISHED if proved and stop is not Stop.INTERRUPTED else stop
    return Outcome(_placement(game, best), bound, status, stop, certificate, tuple(clock.trace))


def _first_play(game: Game) -> Integers:
    """Initial play (P, s): that of Algorithm 1 or, if caps may forbid it, each player's best reply
    in turn.
    """
    if not game.capped:
        return algorithm_1_choice(game)
    chosen = np.zeros((game.players, game.instance.types), dtype=np.int64)
    for index in range(game.players):
        chosen[index] = reply(game, index, chosen[:index].sum(axis=0))
    return chosen


def _tables(game: Game) -> tuple[list[Integers], list[Floats]]:
    """For each class its strategies, with the empty one last if caps may leave a server nothing,
    and their skewness.
    """
    tables, skews = [], []
    for entry, idle in zip(game.strategies, game.idle, strict=True):
        table, skew = entry.combination, entry.uneven
        if game.capped and table.any(axis=1).all():
            table = np.concatenate([table, np.zeros((1, table.shape[1]), dtype=np.int64)])
            skew = np.append(skew, math.sqrt(idle))
        tables.append(table)
        skews.append(skew)
    return tables, skews


def _built(game: Game, points: Integers, hint: list[Integers]) -> JointModel:
    tables, skews = _tables(game)
    servers = game.instance.server_count.astype(np.int64)
    stuck = [
        len(table) > len(entry.combination)
        for table, entry in zip(tables, game.strategies, strict=True)
    ]
    order = list(dict.fromkeys(game.kind.tolist()))
    return joint_model(
        tables, skews, servers, *_deviations(game), game.alpha, points, hint, order, stuck
    )


def _deviations(game: Game) -> tuple[list[Integers], int]:
    """Deviation of each user from fair shares by its number of VMs (equation 5 of Xu and Yu), as
    integers, and their scale; rounded down unless alpha is an integer and the numbers are small.
    """
    worths, parts = game.worths, np.split(game.worths.deviation, game.worths.first[1:])
    power = worths.alpha - 1
    largest = sum(float(part.max()) for part in parts)
    if power.denominator == 1 and largest * worths.scale**power.numerator < 2**45:
        unit = int(worths.scale**power.numerator)
        return [np.rint(part * unit).astype(np.int64) for part in parts], unit
    unit = DEVIATION_SCALE
    return [np.floor(part * unit * (1.0 - 1e-12)).astype(np.int64) for part in parts], unit


def _by_class(game: Game, choice: Integers) -> list[Integers]:
    """Number of servers of each class by strategy in a play."""
    tables, _ = _tables(game)
    result = [np.zeros(len(table), dtype=np.int64) for table in tables]
    for c, row in zip(game.kind.tolist(), choice, strict=True):
        result[c][int(np.argmax((tables[c] == row).all(axis=1)))] += 1
    for c in np.flatnonzero(game.instance.server_count == 0):
        result[c][:] = 0
    return result


def _totals(game: Game, number: list[Integers]) -> Integers:
    tables, _ = _tables(game)
    total: Integers = np.sum(
        [row @ table for row, table in zip(number, tables, strict=True)], axis=0
    )
    return total


def _disutility(game: Game, number: list[Integers]) -> float:
    _, skews = _tables(game)
    uneven = math.fsum(
        count * skew
        for row, own in zip(number, skews, strict=True)
        for count, skew in zip(row, own, strict=True)
    )
    return game.players * game.fair.variance(_totals(game, number), game.alpha) + uneven


def _deviation(game: Game, number: list[Integers]) -> int:
    """Sum of the users' deviations from fair shares, rounded as in the CP-SAT model."""
    total = _totals(game, number)
    return sum(int(part[n]) for part, n in zip(_deviations(game)[0], total.tolist(), strict=True))


def _finer(points: Integers, deviation: int, again: bool) -> Integers:
    """Refine the table of the variance around an answer's total deviation from fair shares."""
    place = int(np.searchsorted(points, deviation, side="right")) - 1
    low = int(points[place])
    high = int(points[place + 1]) if place + 1 < len(points) else 2 * max(deviation, 1)
    parts = 32 if again else 8
    extra = [low + (deviation - low) * step // parts for step in range(1, parts + 1)]
    extra += [deviation + (high - deviation) * step // 4 for step in range(1, 4)]
    return np.unique(np.concatenate([points, np.array(extra, dtype=np.int64)]))


def _placement(game: Game, number: list[Integers]) -> Placement:
    tables, _ = _tables(game)
    rows = np.concatenate(
        [np.repeat(table, row, axis=0) for table, row in zip(tables, number, strict=True)]
    )
    kind = np.repeat(np.arange(len(tables)), [int(row.sum()) for row in number])
    return Placement(rows, kind)

"""joint-optimum: most total utility over the same strategy sets; by CP-SAT, or by dynamic programming over total counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from ....instances.packing.game import skewness
from ....instances.packing.instance import Floats, Integers, Packing, Placement
from ....instances.problem.errors import InvalidOption
from ....models.packing.joint import DEVIATION_SCALE, JointModel, joint_model
from ...engines import solve_cp_sat
from ...outcome import Clock, Outcome, Report, Status, Stop
from ..cluster import fixed_cluster, validate_whole
from .algorithm_1 import algorithm_1_choice
from .states import MOST_STATES, OutOfTime, Space
from .strategies import Eta, Game, Strategies, game_of, pre_combination, rejected

Over = Literal["top", "all"]
Engine = Literal["cp-sat", "counts"]

MOST_LISTED = 20_000
"""Strategies of one class, when all combinations are allowed."""

PROVED = 1e-7
"""A bound this close to the value, relative to 1 + |value|, proves it: what rounding the tabulated v costs."""


def joint_optimum(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    alpha: float = 2.0,
    eta: Eta = 5,
    overload: float | None = None,
    over: Over = "top",
    engine: Engine = "cp-sat",
    most_states: int = MOST_STATES,
) -> Outcome:
    """The least total disutility of all servers together over the strategy sets of the game, with a bound.

    Total disutility is servers x v + the sum of skewness, the negative of the utilities of eq. 14 added up: what the servers
    would choose if they acted as one. The ratio of `FUGA`'s disutility to it is the price of anarchy of that play.

    Parameters
    ----------
    alpha, eta, overload : of the game, as for `FUGA`.
    over : "top", the strategy sets of the game; "all", every combination that fits (and the empty one).
    engine : "cp-sat", with v tabulated, rounded down and refined until value and bound agree to 1e-7; "counts", dynamic
        programming over total counts, exact, for few VM types.
    start : not used: an answer outside the strategy sets would not count.
    most_states : of engine "counts".

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        An option out of range, or too many strategies or states.
    """
    for name, value, choices in (("over", over, get_args(Over)), ("engine", engine, get_args(Engine))):
        if value not in choices:
            raise InvalidOption(f"{name} is {value!r}; expected one of {', '.join(choices)}")
    validate_whole("most_states", most_states, 1, "a number of states")
    clock = Clock(time_limit, report)
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    if over == "all":
        game = _unrestricted(game, overload)
    if engine == "counts":
        return _by_counts(game, clock, most_states)
    return _by_cp_sat(game, clock)


def least_disutility(game: Game, clock: Clock | None = None, most_states: int = MOST_STATES) -> tuple[float, Integers]:
    """The least servers x v + skewness over all plays, and a play (P, s) that has it, by dynamic programming over counts.

    Raises
    ------
    InvalidOption
        There are more states than allowed.
    OutOfTime
        The clock ran out.
    """
    from .kernels import least_sums

    watch = clock or Clock()
    space = Space.of(game)
    levels = _levels_with_idle(space, watch, most_states) if game.capped else space.levels(watch, most_states)
    cost = np.zeros(1)
    chosen = []
    for place in range(game.players):
        moves, steps, uneven, _ = space.moves(place)
        cost, choice = least_sums(
            levels[place],
            cost,
            levels[place + 1],
            moves,
            steps,
            uneven,
            space.idle(place),
            space.stride,
            space.radix,
            game.capped,
        )
        chosen.append(choice)
        if watch.over and place + 1 < game.players:
            raise OutOfTime
    total = game.players * space.variance(levels[-1]) + cost
    end = int(np.argmin(total))
    result = np.zeros((game.players, game.instance.types), dtype=np.int64)
    key = int(levels[-1][end])
    for place in range(game.players - 1, -1, -1):
        moves, steps, _, _ = space.moves(place)
        taken = int(chosen[place][np.searchsorted(levels[place + 1], key)])
        if taken >= 0:
            result[place] = moves[taken]
            key -= int(steps[taken])
    return float(total[end]), result


def _levels_with_idle(space: Space, clock: Clock, most: int) -> list[Integers]:
    """As `Space.levels`, where every player may also stay empty."""
    from .kernels import following_keys

    reached = [np.zeros(1, dtype=np.int64)]
    total = 1
    for place in range(space.game.players):
        moves, steps, _, _ = space.moves(place)
        moved = following_keys(reached[-1], moves, steps, space.stride, space.radix, True)
        reached.append(np.union1d(moved, reached[-1]))
        total += len(reached[-1])
        if total > most:
            raise InvalidOption(f"there are more than {most} states; use engine='cp-sat', or raise most_states")
        if clock.over:
            raise OutOfTime
    return reached


def _by_counts(game: Game, clock: Clock, most_states: int) -> Outcome:
    try:
        value, choice = least_disutility(game, clock, most_states)
    except (OutOfTime, KeyboardInterrupt) as reason:
        stop = Stop.TIME_LIMIT if isinstance(reason, OutOfTime) else Stop.INTERRUPTED
        return Outcome(Placement(algorithm_1_choice(game), game.kind), None, Status.FEASIBLE, stop, {"engine": "counts"})
    certificate = {"engine": "counts", "choices": choice.tolist(), "order": game.player.tolist()}
    return Outcome(Placement(choice, game.kind), value, Status.OPTIMAL, Stop.FINISHED, certificate)


def _by_cp_sat(game: Game, clock: Clock) -> Outcome:
    """Solve with v tabulated coarsely, then finer where the answers lie, until the bound meets the value."""
    best = _by_class(game, algorithm_1_choice(game))
    value = _disutility(game, best)
    lower, rounds, stop = 0.0, 0, Stop.FINISHED
    points = _first_points(game, value)
    seen: set[int] = set()
    while value - lower > PROVED * (1 + abs(value)):
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
            break  # no finer table of v is left, and rounding (most of it: players / 2^30) is all that keeps the bound below
        if answer.stop is not Stop.FINISHED or clock.over:
            stop = answer.stop if answer.stop is not Stop.FINISHED else Stop.TIME_LIMIT
            break
    proved = value - lower <= PROVED * (1 + abs(value))
    bound = value if proved and value - lower <= 0 else min(lower, value)
    certificate = {
        "engine": "cp-sat",
        "rounds": rounds,
        "points": len(points),
        "servers_by_strategy": [row.tolist() for row in best],
        "rounded_down_by": value - bound,
    }
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    stop = Stop.FINISHED if proved and stop is not Stop.INTERRUPTED else stop
    return Outcome(_placement(game, best), bound, status, stop, certificate, tuple(clock.trace))


def _tables(game: Game) -> tuple[list[Integers], list[Floats]]:
    """Per class the strategies, with the empty one last where requests are capped, and their skewness."""
    tables, skews = [], []
    for c, entry in enumerate(game.strategies):
        table, skew = entry.combination, entry.uneven
        if game.capped and table.any(axis=1).all():
            empty = np.zeros((1, table.shape[1]), dtype=np.int64)
            idle = skewness(game.instance.capacity[c], game.instance.start[c], empty @ game.instance.demand)
            table, skew = np.concatenate([table, empty]), np.concatenate([skew, idle])
        tables.append(table)
        skews.append(skew)
    return tables, skews


def _built(game: Game, points: Integers, hint: list[Integers]) -> JointModel:
    tables, skews = _tables(game)
    servers = game.instance.available.astype(np.int64)
    return joint_model(tables, skews, servers, game.deviations(), game.alpha, points, hint)


def _by_class(game: Game, choice: Integers) -> list[Integers]:
    """How many servers of each class choose each strategy in a play."""
    tables, _ = _tables(game)
    result = [np.zeros(len(table), dtype=np.int64) for table in tables]
    for c, row in zip(game.kind.tolist(), choice, strict=True):
        result[c][int(np.argmax((tables[c] == row).all(axis=1)))] += 1
    for c in np.flatnonzero(game.instance.available == 0):
        result[c][:] = 0
    return result


def _totals(game: Game, number: list[Integers]) -> Integers:
    tables, _ = _tables(game)
    total: Integers = np.sum([row @ table for row, table in zip(number, tables, strict=True)], axis=0)
    return total


def _disutility(game: Game, number: list[Integers]) -> float:
    space = Space.of(game)
    _, skews = _tables(game)
    uneven = float(sum(row @ skew for row, skew in zip(number, skews, strict=True)))
    return game.players * float(space.variance(space.keys(_totals(game, number)[None, :]))[0]) + uneven


def _deviation(game: Game, number: list[Integers]) -> int:
    """The sum of deviations of an answer as the model rounds it."""
    total = _totals(game, number)
    return sum(
        int(np.floor(part[n] * DEVIATION_SCALE * (1.0 - 1e-12)))
        for part, n in zip(game.deviations(), total.tolist(), strict=True)
    )


def _first_points(game: Game, value: float) -> Integers:
    """48 sums of deviations at equal steps of v, up to where v alone costs more than the answer in hand."""
    highest = 1.001 * value / game.players
    steps = (np.linspace(0.0, 1.0, 48) * highest) ** game.alpha * DEVIATION_SCALE
    return np.unique(np.minimum(np.floor(steps), 2**54).astype(np.int64))


def _finer(points: Integers, deviation: int, again: bool) -> Integers:
    """More points between the neighbours of an answer's sum of deviations, and that sum itself."""
    place = int(np.searchsorted(points, deviation, side="right")) - 1
    low = int(points[place])
    high = int(points[place + 1]) if place + 1 < len(points) else 2 * max(deviation, 1)
    parts = 32 if again else 8
    extra = [low + (deviation - low) * step // parts for step in range(1, parts + 1)]
    extra += [deviation + (high - deviation) * step // 4 for step in range(1, 4)]
    return np.unique(np.concatenate([points, np.array(extra, dtype=np.int64)]))


def _placement(game: Game, number: list[Integers]) -> Placement:
    tables, _ = _tables(game)
    rows = np.concatenate([np.repeat(table, row, axis=0) for table, row in zip(tables, number, strict=True)])
    kind = np.repeat(np.arange(len(tables)), [int(row.sum()) for row in number])
    return Placement(rows, kind)


def _unrestricted(game: Game, overload: float | None) -> Game:
    """The same game where every server may choose any combination, or stay empty."""
    from ....instances.packing.game import min_utilization

    instance = game.instance
    cap = fixed_cluster(instance).cap
    result = []
    for c in range(instance.classes):
        free, start = instance.capacity[c], instance.start[c]
        table = pre_combination(instance.demand, free, cap)
        if len(table) > MOST_LISTED:
            raise InvalidOption(f"a server of class {c} has {len(table)} combinations, more than {MOST_LISTED}; use over='top'")
        load = table @ instance.demand
        table = np.concatenate([table[~rejected(free, start, load, overload)], np.zeros((1, instance.types), dtype=np.int64)])
        load = table @ instance.demand
        result.append(Strategies(table, min_utilization(free, start, load), skewness(free, start, load)))
    return replace(game, strategies=tuple(result))

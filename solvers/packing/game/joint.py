"""joint-optimum: most total utility over the same strategy sets; by CP-SAT, or by dynamic
programming over total counts.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Literal

import numpy as np
import numpy.typing as npt

from ....instances.packing.game import Alpha, scale
from ....instances.packing.instance import Floats, Integers, Packing, Placement
from ....instances.problem.errors import InvalidOption
from ....instances.problem.option_types import validate_options
from ....models.packing.joint import DEVIATION_SCALE, JointModel, joint_model
from ...engines import solve_cp_sat
from ...outcome import Clock, Outcome, Report, Status, Stop, agree
from ...routes import Routed
from ..fixed_servers import fixed_cluster
from .algorithm_1 import algorithm_1_choice, reply
from .play import followed
from .radicals import root
from .states import MOST_STATES, GameProgress, OutOfTime, Space, States
from .strategies import Eta, Game, Overload, Strategies, game_of, pre_combination, rejected
from .worth import Multiset

Over = Literal["top", "all"]
Engine = Literal["cp-sat", "counts"]

MOST_LISTED = 20_000
"""Strategies of one class, when all combinations are allowed."""


@dataclass(frozen=True)
class JointLimits(Routed):
    """The number that steers `joint_optimum`: total counts up to which a game that rounding leaves
    open is worked out by counts.
    """

    few_states: int = 200_000
    routes: frozenset[str] = frozenset({"counts"})


LIMITS = JointLimits()


@validate_options
def joint_optimum(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    alpha: Alpha = 2.0,
    eta: Eta = 5,
    overload: Overload | None = None,
    over: Over = "top",
    engine: Engine = "cp-sat",
    most_states: States = MOST_STATES,
    limits: JointLimits = LIMITS,
) -> Outcome:
    """The least total disutility of all servers together over the plays of the game, with a bound.

    Total disutility is servers x v + the sum of skewness, the negative of the utilities of eq. 14
    added up: what the servers would choose if they acted as one. The ratio of `FUGA`'s disutility
    to it is the price of anarchy of that play: both choose among the same plays, in which a server
    stays empty only where caps allow it nothing after the moves before it.

    Parameters
    ----------
    alpha : weight of fairness (eq. 14), above 1.
    eta : combinations each server may choose among, or "shrinking" with the number of servers.
    overload : combinations that use more than this share of some resource are rejected.
    over : "top", the strategy sets of the game; "all", every combination that fits and the empty
        one: another game, against which no price of anarchy is measured.
    engine : "cp-sat", with v tabulated, rounded down and refined until value and bound agree to
        1e-7, any of the optima; "counts", dynamic programming over total counts, exact, the
        lexicographically smallest of the optima (in the order of moves), for few VM types.
    start : not used: an answer outside the strategy sets would not count.
    most_states : states that engine "counts" may list in all.
    limits : the number that steers it.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        An option out of range, or too many strategies or states.

    Examples
    --------
    >>> import cotenant
    >>> instance = cotenant.read("packing/paper-example")
    >>> result = cotenant.solve(instance, "joint-optimum", engine="counts")
    >>> print(result.status, round(result.objective, 3))
    optimal 1.446
    """
    clock = Clock(time_limit, report)
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    if over == "all":
        game = _unrestricted(game, overload)
    if engine == "counts":
        return _by_counts(game, clock, most_states)
    return _by_cp_sat(game, clock, limits)


def least_disutility(
    game: Game, clock: Clock | None = None, most_states: int = MOST_STATES
) -> tuple[float, Integers]:
    """The least servers x v + skewness over all plays, and the lexicographically smallest play (P,
    s) that has it.

    By backward dynamic programming over total counts; sums that floats do not tell apart are
    compared exactly.

    Raises
    ------
    InvalidOption
        There are more states than allowed.
    OutOfTime
        The clock ran out.
    """
    from .kernels import least_totals

    # the levels of total counts, player by player; at the last one all is known
    watch = clock or Clock()
    space, worths, players = Space.of(game), game.worths, game.players
    levels = space.levels(watch, most_states)
    marks, idle_marks = _marks(space)
    value, end = players * worths.variance(levels[-1]), levels[-1]
    mark = np.zeros(len(end), dtype=np.uint64)
    chosen: list[Integers] = []
    # backwards: each player's best move from every total count before it
    progress = GameProgress(watch, sum(map(len, levels[:-1])))
    for place in range(players - 1, -1, -1):
        progress.begin(place, len(levels[place]))
        c, moves, after = (
            int(game.kind[place]),
            space.moves(place),
            (levels[place + 1], value, end, mark),
        )
        value, end, mark, choice, doubtful = least_totals(
            levels[place],
            *after,
            moves.combination,
            moves.steps,
            moves.uneven,
            marks[c],
            math.sqrt(game.idle[c]),
            idle_marks[c],
            worths.stride,
            worths.radix,
            game.capped,
            worths.digits,
            worths.first,
            worths.slack,
            worths.floor,
        )
        # what floats and marks cannot decide is compared exactly
        for at in doubtful.tolist():
            key = int(levels[place][at])
            a = _first_least(space, levels, chosen, place, key, after)
            there = int(np.searchsorted(after[0], key + moves.steps[a]))
            value[at], end[at], choice[at] = after[1][there] + moves.uneven[a], after[2][there], a
            mark[at] = (int(after[3][there]) + int(marks[c][a])) % 2**64
            if watch.expired:
                raise OutOfTime
        chosen.insert(0, choice)
    # forwards along the moves chosen
    result = followed(space, levels, chosen)
    return _disutility(game, _by_class(game, result)), result


def _first_least(
    space: Space,
    levels: list[Integers],
    chosen: list[Integers],
    place: int,
    key: int,
    after: tuple[npt.NDArray[np.generic], ...],
) -> int:
    """The first of the moves at a key that lead to the least total, by exact comparison of those
    that floats leave open.
    """
    game, moves = space.game, space.moves(place)
    worths = game.worths
    keys, value, end = after[0], after[1], after[2]
    possible = space.possible(place, np.array(worths.counts(key), dtype=np.int64))
    there = np.searchsorted(keys, key + moves.steps[possible])
    worth = value[there].astype(float) + moves.uneven[possible]
    near = np.flatnonzero(worth <= worth.min() + worths.slack * worth.min() + worths.floor)
    best, best_end, best_roots = -1, 0, Counter[Fraction]()
    for a, stop in zip(possible[near].tolist(), there[near].tolist(), strict=True):
        rest = followed(space, levels, chosen, place + 1, key + int(moves.steps[a]))
        roots = _roots(game, rest, place + 1) + Counter([moves.squared[a]])
        last = int(end[stop])
        if best < 0 or worths.order(last, roots, best_end, best_roots, game.players) < 0:
            best, best_end, best_roots = a, last, roots
    return best


def _roots(game: Game, choice: Integers, place: int = 0) -> Multiset:
    """The squared skewnesses of the servers that move from a place on."""
    squares = [
        dict(zip(map(tuple, entry.combination.tolist()), entry.squared, strict=True))
        for entry in game.strategies
    ]
    return Counter(
        squares[c].get(tuple(row), game.idle[c])
        for c, row in zip(game.kind[place:].tolist(), choice.tolist(), strict=True)
    )


def _marks(space: Space) -> tuple[list[npt.NDArray[np.uint64]], list[np.uint64]]:
    """A 64-bit number for every move's skewness, and for that of idle servers: equal sums of
    skewness have equal sums of them.

    Skewnesses with rational ratios are multiples of one root and get the same multiples of one
    random number; with more than 200 different ones each gets its own, and equal sums that are made
    of others are left to the exact comparison. That unequal sums which floats do not tell apart
    have equal marks is left to a chance of 2**-64.
    """
    squares = sorted(
        {square for moves in space.by_class for square in moves.squared} | set(space.game.idle)
    )
    random, number = Random(0), {Fraction(0): 0}
    classes: list[
        list[tuple[Fraction, Fraction]]
    ] = []  # (square, its root over the root of the first of its class)
    for square in squares:
        if not square:
            continue
        for members in classes if len(squares) <= 200 else []:
            times = root(square / members[0][0], 2)
            if times is not None:
                members.append((square, times))
                break
        else:
            classes.append([(square, Fraction(1))])
    for members in classes:
        own, common = (
            random.getrandbits(64) | 1,
            math.lcm(*(times.denominator for _, times in members)),
        )
        number |= {square: int(times * common) * own % 2**64 for square, times in members}
    marks = [
        np.array([number[square] for square in moves.squared], dtype=np.uint64)
        for moves in space.by_class
    ]
    return marks, [np.uint64(number[square]) for square in space.game.idle]


def _first_play(game: Game) -> Integers:
    """(P, s) a play to begin with: Algorithm 1's, or, where caps may not allow that, each player's
    best reply in turn.
    """
    if not game.capped:
        return algorithm_1_choice(game)
    space = Space.of(game)
    chosen = np.zeros((game.players, game.instance.types), dtype=np.int64)
    for place in range(game.players):
        chosen[place] = reply(space, place, chosen[:place].sum(axis=0))
    return chosen


def _by_counts(game: Game, clock: Clock, most_states: int) -> Outcome:
    try:
        value, choice = least_disutility(game, clock, most_states)
    except (OutOfTime, KeyboardInterrupt) as reason:
        stop = Stop.TIME_LIMIT if isinstance(reason, OutOfTime) else Stop.INTERRUPTED
        return Outcome(
            Placement(_first_play(game), game.kind),
            None,
            Status.FEASIBLE,
            stop,
            {"engine": "counts"},
        )
    certificate = {"engine": "counts", "choices": choice.tolist(), "order": game.player.tolist()}
    return Outcome(Placement(choice, game.kind), value, Status.OPTIMAL, Stop.FINISHED, certificate)


def _by_cp_sat(game: Game, clock: Clock, limits: JointLimits) -> Outcome:
    """Solve with v tabulated coarsely, then finer where the answers lie, until the bound meets the
    value.
    """
    best = _by_class(game, _first_play(game))
    value = _disutility(game, best)
    lower, rounds, stop = 0.0, 0, Stop.FINISHED
    points = _first_points(game, value)
    seen: set[int] = set()
    unit = scale(game.instance, "disutility", alpha=game.alpha)
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
    left_open = stop is Stop.FINISHED and not (value <= lower or agree(value, lower, unit))
    if left_open and "counts" in limits.routes:
        # the roots of small sums are rounded too far: a small game is worked out by counts
        try:
            lower = max(lower, least_disutility(game, clock, limits.few_states)[0])
        except (InvalidOption, OutOfTime):
            pass
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
    proved = value <= lower or agree(value, lower, unit)
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
    """Per class the strategies, with the empty one last where caps may leave a server nothing, and
    their skewness.
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
        tables, skews, servers, _deviations(game), game.alpha, points, hint, order, stuck
    )


def _deviations(game: Game) -> list[Floats]:
    """For each user, its part of eq. 5 by its number of VMs, from 0 to the most."""
    return np.split(game.worths.deviation, game.worths.first[1:])


def _by_class(game: Game, choice: Integers) -> list[Integers]:
    """How many servers of each class choose each strategy in a play."""
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
    """The sum of deviations of an answer as the model rounds it."""
    total = _totals(game, number)
    return sum(
        int(np.floor(part[n] * DEVIATION_SCALE * (1.0 - 1e-12)))
        for part, n in zip(_deviations(game), total.tolist(), strict=True)
    )


def _first_points(game: Game, value: float) -> Integers:
    """48 sums of deviations at equal steps of v, up to where v alone costs more than the answer in
    hand.
    """
    highest = 1.001 * value / game.players
    steps = (np.linspace(0.0, 1.0, 48) * highest) ** game.alpha * DEVIATION_SCALE
    return np.unique(np.minimum(np.floor(steps), 2**54).astype(np.int64))


def _finer(points: Integers, deviation: int, again: bool) -> Integers:
    """More points between the neighbors of an answer's sum of deviations, and that sum itself."""
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


def _unrestricted(game: Game, overload: float | None) -> Game:
    """The same game where every server may choose any combination, or stay empty."""
    instance = game.instance
    cap = fixed_cluster(instance).cap
    result = []
    for c in range(instance.classes):
        free, start = instance.capacity[c], instance.initial_capacity[c]
        table = pre_combination(instance.demand, free, cap)
        if len(table) > MOST_LISTED:
            raise InvalidOption(
                f"a server of class {c} has {len(table)} combinations, more than "
                f"{MOST_LISTED}; use over='top'"
            )
        kept = table[~rejected(free, start, table @ instance.demand, overload)]
        result.append(
            Strategies.of(
                instance, c, np.concatenate([kept, np.zeros((1, instance.types), dtype=np.int64)])
            )
        )
    return replace(game, strategies=tuple(result))

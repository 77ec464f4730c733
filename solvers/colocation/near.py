"""Fair attribution near its relaxation: pairs of types that cost little beyond the multipliers, a
few more or fewer of each, by small programs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Pairing, check
from ...instances.colocation.objective import mean_penalty, within_slack
from ...instances.problem.errors import InfeasibleSolution
from ...models.colocation import fair_program
from ...models.program import LinearProgram
from ..engines import solve_program
from ..outcome import LEAST_SECONDS, Clock, Stop
from .relaxation import Relaxation

REACHES = (2, 4, 8)
"""How far from the relaxation's point a first pairing is looked for, in pairs of two types."""

FIRST_SECONDS = 0.8
"""Time for each of them."""

PER_TYPE = 5
"""Pairs of types for each type that may grow: those of least price. More make a program slower than
they make its answer better.
"""

SPREAD = 1.5
"""That number is drawn anew for every part, up to so many times less or more."""

FEWEST, STEP = 8, 0.15
"""Types in the first parts; and by how much they grow with each that is solved in time."""

PART_SECONDS = 0.2
"""Time for one part; where it is not enough, the next are smaller."""

PATIENCE = 3.0
"""Seconds without a better pairing after which it ends; longer where the last one took longer."""


def search_near(
    instance: Colocation,
    begin: Pairing,
    relaxation: Relaxation,
    clock: Clock,
    seconds: float,
    rng: np.random.Generator,
    *,
    slack: float,
    bound: float | None = None,
) -> tuple[Pairing, bool]:
    """Less mean penalty with no more than the slack given.

    Begins with the program in a box around the relaxation's point. Then, again and again, some
    types are drawn, and their pairs with each other may become one more or fewer, those of small
    price at least; all others stay. Unlike parts of agents (`improve`), such a part moves agents
    between many types at once, which exact fairness asks for.

    Parameters
    ----------
    instance : with bandwidth.
    begin : a feasible pairing with no more than `slack`.
    relaxation : of `fair_program` at this slack.
    seconds : time for it, besides the clock's.
    bound : what is proved of the mean penalty; the search ends there.

    Returns
    -------
    The pairing, and whether the search was interrupted.
    """
    made = fair_program(instance, slack)
    program, size = made.program, len(made.first) + len(made.alone)
    ends = (np.append(made.first, made.alone), np.append(made.second, made.alone))
    order = np.argsort(np.argsort(relaxation.price[:size], kind="stable"), kind="stable")
    present = np.flatnonzero(instance.count > 0)
    best, value = begin, mean_penalty(instance, begin)

    def solved(low: Floats, high: Floats, now: Pairing | None, most: float) -> Stop:
        """The program with these ends of its first columns; keeps what is better."""
        nonlocal best, value
        inside = _within(program, low, high)
        answer = solve_program(
            inside, time_limit=min(most, max(LEAST_SECONDS, until - clock.seconds)),
            start=None if now is None else made.point(now), heuristics=False
        )  # fmt: skip
        if answer.point is not None:
            found = made.pairing(answer.point)
            if _holds(instance, found, slack) and (cost := mean_penalty(instance, found)) < value:
                best, value = found, cost
                clock.note(value, bound, "near the relaxation")
        if answer.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        return answer.stop

    until = clock.seconds + seconds
    try:
        # a first pairing in a box around the relaxation's point
        point, cheap = relaxation.point[:size], order < PER_TYPE * len(present)
        for reach in REACHES:
            before = value
            low = np.ceil(np.maximum(point - reach, 0.0))
            high = np.where(cheap, np.floor(point + reach), low)
            solved(low, high, None, FIRST_SECONDS)
            if value < before or clock.over or clock.seconds >= until:
                break
        # a part of the types after the other
        types, last = float(FEWEST), clock.seconds
        while not clock.over and clock.seconds < min(until, last + max(PATIENCE, last)):
            if bound is not None and value <= bound:
                break
            before = value
            drawn = rng.choice(present, min(int(types), len(present)), replace=False)
            many = PER_TYPE * len(present) * SPREAD ** rng.uniform(-1, 1)
            low, high = _part(made.point(best)[:size], ends, drawn, order < many)
            stop = solved(low, high, best, PART_SECONDS)
            grown = types + (STEP if stop is Stop.FINISHED else -3 * STEP)
            types = min(max(float(FEWEST), grown), float(len(present)))
            last = clock.seconds if value < before else last
    except KeyboardInterrupt:
        return best, True
    return best, False


def _part(
    now: Floats, ends: tuple[np.ndarray, np.ndarray], drawn: np.ndarray, cheap: Booleans
) -> tuple[Floats, Floats]:
    """Pairs among the types drawn may become one fewer, and the cheap ones one more."""
    free = np.isin(ends[0], drawn) & np.isin(ends[1], drawn)
    return np.where(free, now - 1, now), np.where(free & cheap, now + 1, now)


def _within(program: LinearProgram, low: Floats, high: Floats) -> LinearProgram:
    """The program with closer ends of its first columns."""
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[: len(low)] = np.clip(low, lower[: len(low)], upper[: len(low)])
    upper[: len(low)] = np.clip(high, lower[: len(low)], upper[: len(low)])
    return replace(program, lower=lower, upper=upper)


def _holds(instance: Colocation, pairing: Pairing, slack: float) -> bool:
    """No solver is believed on its word."""
    try:
        check(instance, pairing)
    except InfeasibleSolution:
        return False
    return within_slack(instance, pairing, slack)

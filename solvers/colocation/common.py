"""What the exact methods of colocation share: the start, the bound in the unit of the mean, the
checked outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing, blocks, check
from ...instances.colocation.objective import mean_penalty, scale
from ...instances.problem.errors import InfeasibleSolution, InvalidOption
from ...models.colocation import PairingProgram
from ...models.program import unit_of
from ..engines import EngineAnswer, EngineName, call_in_subprocess, solve_program
from ..outcome import Clock, Outcome, Status, Stop, agree

KEEPS_TIME = 600
"""Pairs of types up to which an engine keeps its time limit on a whole program (5,000 pairs:
seconds over it).
"""

MOST_PAIRS = 100_000
"""Pairs of types up to which a whole program is made under a time limit."""

CHILD_TIME_FRACTION = 0.7
"""The part of its time that a process of its own is told: engines on large programs look at no
clock for long.
"""

AN_AGENT_CUBED, A_LISTED_PAIR, A_FORGIVEN_PAIR, A_PRICED_PAIR = 5e-10, 2e-7, 1e-6, 1.5e-7
"""Seconds, at most, that steps take which look at no clock, so that they are left out where there
is less: a fractional matching for each of the different agents to the third power; their lists for
each ordered pair of them, and which pairs the second level may use; a round of pricing, with what
is made before the first, for each type beside another.
"""

NOT_GIVEN = "none: the engine neither found a pairing nor ruled one out"


def require_bandwidth(instance: Colocation) -> None:
    """Refuse an instance without bandwidths where fair attribution is asked for."""
    if instance.bandwidth is None:
        raise InvalidOption(
            "bandwidth is missing; fair attribution compares types by it. Give bandwidth, one "
            "number of GB/s per type, "
            "for example instance.replace(bandwidth=...)"
        )


def in_own_unit(instance: Colocation) -> tuple[Colocation, float]:
    """The instance with its penalties in a unit in which the largest is near 1, and that unit.

    The tolerances of engines are absolute, in rows as in objectives. The unit is a power of two:
    every sum and comparison comes out as before. Pairs that nobody can use are forbidden.
    """
    unit = min(1.0, 2 * unit_of(instance.largest_penalty))
    if unit == 1.0:
        return instance, unit
    present = instance.count > 0
    usable = instance.allowed & present & present[:, None]
    scaled = instance.without_intervals(
        penalty=np.where(usable, instance.penalty / unit, np.inf),
        unpaired=None if instance.unpaired is None else instance.unpaired / unit,
    )
    return scaled, unit


def out_of_unit(found: Outcome, unit: float) -> Outcome:
    """The outcome of an instance in that unit, its bounds and levels of penalties in points
    again.
    """

    def points(value: float | None) -> float | None:
        return None if value is None else value * unit

    facts = dict(found.certificate)
    if "levels" in facts:
        facts["levels"] = [
            {**level, "value": points(level["value"]), "bound": points(level["bound"])}
            for level in facts["levels"]
        ]
    return replace(found, bound=points(found.bound), certificate=facts)


def pairs_of(instance: Colocation) -> int:
    """How many pairs of types a whole program has."""
    present = instance.count > 0
    each = [
        np.triu(instance.allowed[rows] & present & present[rows, None], rows.start)
        for rows in blocks(instance.types)
    ]
    return sum(int(np.count_nonzero(block)) for block in each)


def run(
    program: PairingProgram,
    clock: Clock,
    *,
    engine: EngineName,
    scale: float = 1.0,
    start: Pairing | None = None,
    text: str = "",
    parts: int = 1,
    most: float | None = None,
    apart: bool = False,
    by_cores: bool = False,
) -> EngineAnswer:
    """Solve a pairing program within the clock's time, or one of `parts` equal parts of it, or
    `most` seconds, its progress told divided by `scale`.

    A time that is up gives the start back at once, so that every caller has one path. `apart`:
    under a time limit in a process of its own, which is ended when the time is up; what it had
    found by then is lost, and its progress is not told. `by_cores`: see `solve_program`.
    """
    if clock.expired:
        return EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT, message="no time left")

    def tell(seconds: float, objective: float | None, bound: float | None, words: str) -> None:
        clock.note(_divided(objective, scale), _divided(bound, scale), text or words)

    begin = None if start is None else program.point(start)
    left = clock.time_slice(parts, most)  # the point took time too
    if apart and left is not None:
        try:
            found = call_in_subprocess(
                solve_program, program.program, engine=engine,
                time_limit=CHILD_TIME_FRACTION * left,
                start=begin, hard_limit=left
            )  # fmt: skip
        except KeyboardInterrupt:
            return EngineAnswer(
                Status.UNKNOWN, Stop.INTERRUPTED, message="interrupted in a process of its own"
            )
        return found or EngineAnswer(
            Status.UNKNOWN, Stop.TIME_LIMIT, message="ended when the time was up"
        )
    return solve_program(
        program.program, engine=engine, time_limit=left, start=begin, report=tell, by_cores=by_cores
    )


def best_of(
    instance: Colocation,
    program: PairingProgram,
    answer: EngineAnswer,
    start: Pairing | None,
    value: Callable[[Pairing], float],
) -> Pairing | None:
    """The better of the engine's pairing, when it passes `check`, and the start."""
    if answer.point is None:
        return start
    found = program.pairing(answer.point)
    try:
        check(instance, found)
    except InfeasibleSolution:  # no solver is believed on its word
        return start
    return found if start is None or value(found) <= value(start) else start


def outcome(
    instance: Colocation,
    pairing: Pairing | None,
    value: float | None,
    bound: float | None,
    stop: Stop,
    certificate: Mapping[str, Any],
    clock: Clock,
    objective: str = "penalty",
) -> Outcome:
    """The checked outcome: optimal only where the bound meets the recomputed value; a bound above
    it is a contradiction.
    """
    facts = dict(certificate)
    if pairing is None or value is None:
        return Outcome(None, bound, Status.UNKNOWN, stop, facts, tuple(clock.trace))
    check(instance, pairing)
    status = Status.FEASIBLE
    if bound is not None:
        met = agree(value, bound, scale(instance, objective))
        if bound > value and not met:
            facts["contradiction"] = (
                f"the bound {bound:.12g} is above the value {value:.12g}; neither is trusted"
            )
            clock.note(value, None, "contradiction")
            return Outcome(pairing, None, Status.UNKNOWN, stop, facts, tuple(clock.trace))
        bound = min(bound, value)
        status = Status.OPTIMAL if met else Status.FEASIBLE
    if status is Status.OPTIMAL and stop is not Stop.INTERRUPTED:
        stop = Stop.FINISHED
    clock.note(value, bound, "done")
    return Outcome(pairing, bound, status, stop, facts, tuple(clock.trace))


def infeasible(clock: Clock, proof: str, **facts: Any) -> Outcome:
    """The outcome that says there is no answer, and what proves it."""
    return Outcome(
        None, None, Status.INFEASIBLE, Stop.FINISHED, {"proof": proof, **facts}, tuple(clock.trace)
    )


def size(program: PairingProgram, engine: str) -> dict[str, Any]:
    """Facts of a solved program for a certificate."""
    return {"engine": engine, "columns": program.program.columns, "rows": program.program.rows}


def mean_of(instance: Colocation) -> Callable[[Pairing], float]:
    """Mean penalty as a function of the pairing."""
    return lambda pairing: mean_penalty(instance, pairing)


def _divided(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale

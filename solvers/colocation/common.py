"""Shared parts of the exact methods of colocation: definition of blocking pairs, limits of programs
over types, solving within a time limit, and checked outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Pairing, blocks, check
from ...instances.colocation.objective import scale
from ...instances.colocation.stability import (
    AlphaMode,
    BlockingPairs,
    Uncertainty,
    blocking_pairs,
    undecided_pairs,
    validate_alpha,
)
from ...instances.problem.errors import InvalidOption
from ...instances.problem.registry import feasible
from ...models.colocation import PairingProgram, gain_sets
from ...models.program import unit_of
from ..engines import EngineAnswer, EngineName, call_in_subprocess, solve_program
from ..incumbent import conclude
from ..outcome import Clock, Outcome, Status, Stop
from .first_phase import FEW_TYPES, MOST_TYPES, usable_pairs

CHILD_TIME_FRACTION = 0.7
"""The part of its time that a process of its own is given: engines on large programs look at no
clock for long.
"""


@dataclass(frozen=True)
class ProgramLimits:
    """Sizes of programs over pairs of types that fit a time limit.

    Attributes
    ----------
    keeps_time : pairs up to which an engine keeps its time limit (5,000 pairs: seconds over it).
    most_pairs : pairs up to which a program is made under a time limit.
    priced_pair : seconds, at most, that a round of pricing, with what is made before the first,
        takes for each type beside another; it looks at no clock.
    agent_cubed : the same for a fractional matching and each different agent to the third power.
    """

    keeps_time: int = 600
    most_pairs: int = 100_000
    priced_pair: float = 1.5e-7
    agent_cubed: float = 5e-10


PROGRAM_LIMITS = ProgramLimits()


@dataclass(frozen=True)
class Blocking:
    """Definition of a blocking pair: alpha, its mode, and the treatment of intervals.

    Attributes
    ----------
    alpha, mode : least gain for which an agent moves, as in `gains`.
    uncertainty : which gains count, as in `blocking_pairs`.
    """

    alpha: float = 0.0
    mode: AlphaMode = "penalty-points"
    uncertainty: Uncertainty = "none"

    def __post_init__(self) -> None:
        validate_alpha(self.alpha, self.mode)

    def pairs(self, instance: Colocation, pairing: Pairing) -> BlockingPairs:
        """Blocking pairs of a pairing at this alpha and uncertainty: number, and list by type."""
        return blocking_pairs(instance, pairing, self.alpha, self.mode, self.uncertainty)

    def count(self, instance: Colocation, pairing: Pairing) -> int:
        """Number of blocking pairs of a pairing."""
        return self.pairs(instance, pairing).count

    def usable_pairs(self, instance: Colocation, most: int) -> Booleans | None:
        """Pairs of types (T, T) not ruled out for pairings with at most `most` (0 or 1) blocking
        pairs; None if there is no such pairing.
        """
        if self.uncertainty == "possible" or not FEW_TYPES < instance.types <= MOST_TYPES:
            return instance.allowed
        sets = gain_sets(instance, self.alpha, self.mode, self.uncertainty)
        return usable_pairs(instance, sets, most)

    def listed(self, instance: Colocation, pairing: Pairing) -> list[dict[str, Any]]:
        """Blocking pairs of types with the number of willing agents, for a certificate."""
        sides, names = self.pairs(instance, pairing).listed, instance.names
        return [
            {"types": [names[a], names[c]], "willing": [left, right]}
            for a, c, left, right in zip(*(side.tolist() for side in sides), strict=True)
        ]

    def facts_of(self, instance: Colocation, pairing: Pairing) -> dict[str, Any]:
        """Facts of a pairing for a certificate: its blocking pairs and, with intervals, the
        confidence and what to measure again.
        """
        blocking = self.listed(instance, pairing)
        facts = {**self.facts, "blocking_pairs": blocking}
        if self.uncertainty == "none":
            return facts
        facts |= {"uncertainty": self.uncertainty, "intervals": instance.certainty}
        if self.uncertainty == "possible" and blocking:
            facts["measure_again"] = undecided_pairs(instance, pairing, self.alpha, self.mode)
        return facts

    @property
    def options(self) -> dict[str, Any]:
        """Alpha, its mode, and the treatment of intervals, as options of a method."""
        return {**self.facts, "uncertainty": self.uncertainty}

    @property
    def facts(self) -> dict[str, Any]:
        """Entries of a certificate that state alpha and how it is measured."""
        return {"alpha": self.alpha, "alpha_mode": self.mode}


NOT_GIVEN = "none: the engine neither found a pairing nor ruled one out"


def require_bandwidth(instance: Colocation) -> None:
    """Raise InvalidOption for an instance without bandwidths."""
    if instance.bandwidth is None:
        raise InvalidOption(
            "bandwidth is missing; fair attribution compares types by it. Give bandwidth, one "
            "number of GB/s per type, "
            "for example instance.replace(bandwidth=...)"
        )


def require_few_types(instance: Colocation, most: int) -> None:
    """Raise InvalidOption if there are too many types for memory."""
    if instance.types > most:
        raise InvalidOption(
            f"stable takes at most {most} types of agents; "
            f"{instance.name or 'the instance'} has {instance.types}, and lists of each over all "
            "would take many GB. Group agents into fewer types, or use SMR or SMP, which give no "
            "proof"
        )


def in_own_unit(instance: Colocation) -> tuple[Colocation, float]:
    """Instance with penalties rescaled such that the largest is near 1, and the unit.

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
    """Outcome converted back from the unit of `in_own_unit`."""
    facts = dict(found.certificate)
    if "levels" in facts:
        facts["levels"] = [
            {**level, **{name: _divided(level[name], 1 / unit) for name in ("value", "bound")}}
            for level in facts["levels"]
        ]
    return replace(found, bound=_divided(found.bound, 1 / unit), certificate=facts)


def pairs_of(instance: Colocation) -> int:
    """Number of pairs of types in a complete program."""
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
    parts: int = 1,
    most: float | None = None,
    apart: bool = False,
    by_cores: bool = False,
) -> EngineAnswer:
    """Solve a pairing program in 1 / `parts` of the time left, and at most `most` seconds. Progress
    is reported divided by `scale`.

    A time that is up gives the start back at once, so that every caller has one path. `apart`:
    under a time limit in a process of its own, which is ended when the time is up; what it had
    found by then is lost, and its progress is not reported. `by_cores`: see `solve_program`.
    """
    if clock.expired:
        return EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT, message="no time left")

    def tell(seconds: float, objective: float | None, bound: float | None, words: str) -> None:
        clock.note(_divided(objective, scale), _divided(bound, scale), words)

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
    """The engine's pairing if it is feasible and no worse than the start, else the start."""
    if answer.point is None:
        return start
    found = program.pairing(answer.point)
    if not feasible(instance, found):  # no solver's word is final
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
    """Outcome of a method, after a check that its pairing is feasible."""
    if pairing is not None:
        check(instance, pairing)
    return conclude(
        pairing, value, bound, stop, certificate, clock, scale=scale(instance, objective)
    )


def infeasible(clock: Clock, proof: str, **facts: Any) -> Outcome:
    """Outcome of an infeasible instance, with its proof."""
    return Outcome(
        None, None, Status.INFEASIBLE, Stop.FINISHED, {"proof": proof, **facts}, tuple(clock.trace)
    )


def size(program: PairingProgram, engine: str) -> dict[str, Any]:
    """Size of a solved program, for a certificate."""
    return {"engine": engine, "columns": program.program.columns, "rows": program.program.rows}


def _divided(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale

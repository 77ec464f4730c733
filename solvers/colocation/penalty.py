"""Least mean penalty of a colocation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ...instances.colocation.instance import Colocation
from ...instances.colocation.objective import mean_penalty, worst_case
from ...instances.problem.base import Solution
from ...instances.problem.option_types import validate_options
from ...models.colocation import penalty_program
from ..engines import EngineName
from ..outcome import Clock, Outcome, Report, Status, Stop
from .blossom import least_penalty_bound
from .common import (
    PROGRAM_LIMITS,
    ProgramLimits,
    best_of,
    in_own_unit,
    out_of_unit,
    outcome,
    pairs_of,
    run,
    size,
)
from .feasible import starting_pairing
from .matching import MATCHING_LIMITS, MatchingLimits, least_penalty_matching

TOO_LARGE = (
    "every agent beside the partner it likes best; making the tables of all pairs takes longer "
    "than there is time"
)


@dataclass(frozen=True)
class OptimalLimits:
    """Parameters of `optimal`: limits of programs over pairs of types, and of pricing."""

    programs: ProgramLimits = PROGRAM_LIMITS
    matching: MatchingLimits = MATCHING_LIMITS


@validate_options
def optimal(
    instance: Colocation,
    *,
    time_limit: float | None = None,
    engine: EngineName = "highs",
    worst: bool = False,
    start: Solution | None = None,
    report: Report | None = None,
    limits: OptimalLimits | None = None,
) -> Outcome:
    """Minimize the mean penalty over agents, with a proof (the "optimal" colocation of Cooper
    section V).

    An integer program over types: its size does not depend on the number of agents. HiGHS gets it
    by pricing pairs in and odd-set cuts (`solvers.colocation.matching`); CP-SAT gets it whole, as
    an independent second route. Hundreds of agents that all differ are mostly matched by blossoms
    instead (`solvers.blossom`), a thousand in a tenth of a second.

    Parameters
    ----------
    instance : what is given.
    time_limit : seconds, more than 0.
    engine : the solver of the program: "highs", or "cp-sat" (slow from about thirty different
        agents on: its bounds do not use odd sets).
    worst : least mean penalty in the worst case within the intervals: every penalty at its upper
        end, the worst matrix for every pairing at once (needs low and high).
    start : a pairing to begin with; one that is not feasible is completed first.
    report : progress.
    limits : what steers the search.

    Returns
    -------
    Outcome
        Solution, bound on the mean penalty, certificate. Status infeasible without a solution when
        no pairing exists.

    Raises
    ------
    InvalidOption
        An option is out of range, or worst where there are no intervals.

    Examples
    --------
    >>> from cotenant.instances.colocation import Colocation
    >>> found = optimal(Colocation([[0.1, 0.3], [0.2, 0.9]], [2, 2]))
    >>> found.status, round(found.bound, 3)
    (<Status.OPTIMAL: 'optimal'>, 0.25)
    """
    instance, limits = worst_case(instance) if worst else instance, limits or OptimalLimits()
    clock = Clock(time_limit, report)
    begin = starting_pairing(instance, start, clock)
    if isinstance(begin, Outcome):
        return begin
    value = mean_penalty(instance, begin)
    clock.note(value, None, "start")
    if _too_large(instance, engine, clock.left, limits.programs):
        bound: float | None = least_penalty_bound(instance, clock.left, limits.programs)
        why = {"proof": TOO_LARGE}
        return outcome(instance, begin, value, bound, Stop.TIME_LIMIT, why, clock)
    instance, unit = in_own_unit(instance)
    clock.unit = unit
    if engine == "highs":
        found = least_penalty_matching(instance, begin, clock, limits.matching)
        return out_of_unit(found.finish(), unit)
    program = penalty_program(instance)
    answer = run(program, clock, engine=engine, scale=instance.agents, start=begin)
    best = best_of(instance, program, answer, begin, partial(mean_penalty, instance))
    certificate = {
        "proof": "integer program over types, solved to optimality",
        **size(program, engine),
    }
    if answer.status is Status.INFEASIBLE:  # against the start in hand
        certificate["contradiction"] = (
            "the engine calls a program infeasible that the start satisfies"
        )
    if answer.status is not Status.OPTIMAL:
        certificate["proof"] = "bound of the integer program over types when it stopped"
        certificate["engine_message"] = answer.message
    bound = None if answer.bound is None else answer.bound / instance.agents
    reached = None if best is None else mean_penalty(instance, best)
    return out_of_unit(
        outcome(instance, best, reached, bound, answer.stop, certificate, clock), unit
    )


def _too_large(
    instance: Colocation, engine: EngineName, left: float | None, limits: ProgramLimits
) -> bool:
    """Return whether time or memory would run out before the first bound."""
    if left is None:
        return False
    if engine == "highs":
        return limits.priced_pair * instance.types**2 > left
    return pairs_of(instance) > limits.most_pairs

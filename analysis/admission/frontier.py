"""Frontier of speed and stability: the most total speed for every number of blocking pairs.
Starting solutions are found on walks from fast assignments to stable ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...catalog import functions
from ...instances.admission import Admission, Assignment, blocking_pairs, check, total_speed
from ...instances.admission.instance import Integers
from ...instances.admission.rules import SCHEMES, core_order, job_ranking, taken
from ...instances.problem.option_types import validate_options
from ...models.admission.blocking import blocking_program
from ...solvers.admission.local_search import local_search
from ...solvers.admission.optimal import optimal
from ...solvers.engines import EngineName, solve_program
from ...solvers.outcome import Clock, Outcome, Status, Stop
from ..frontier import Points, PriceFrontier, PricePoint, Sweep, settled
from ..report.picture_data import evenly

LARGEST = 3_000
"""Entries of J x V x C up to which the exact frontier is attempted."""

LOOKED_AT = 12
"""Blocking pairs of one assignment that are tried, drawn at random."""

PATIENCE = 40
"""Steps without fewer blocking pairs than ever after which a walk ends."""

CLOSE = 1e-8
"""Total speed and bound that differ relatively by no more than this are equal."""


@validate_options
def price_frontiers(
    instance: Admission,
    *,
    time_limit: float | None = None,
    points: Points = 24,
    engine: EngineName = "highs",
) -> tuple[PriceFrontier, ...]:
    """Maximum total speed within each limit on blocking pairs.

    From the optimum down: allow one pair fewer than the last answer has, and solve again
    (epsilon-constraints), until an answer without blocking pairs. Where every point is "optimal"
    and none is left out it is the whole frontier. Zero pairs are always possible (`proposed` has
    none), but the best such assignment can be faster than `proposed`: a VM may hand a job cores
    that are not the job's fastest, as long as no other VM offers it more.

    Of larger instances, or when it is cut short, what can be proved: the optimum's bound, which
    holds at every limit, and below it the policies' assignments, each at the number of pairs it
    has.

    Parameters
    ----------
    time_limit : seconds in all, half of what is left for each point in turn.
    points : most points that are kept, evenly spaced, at least 2.
    engine : "highs" or "cp-sat".

    Raises
    ------
    InvalidOption
        An option is out of range.
    """
    clock, drawn = Clock(time_limit), np.random.default_rng(0)

    def measured(assignment: Assignment) -> tuple[float, float]:
        pairs = blocking_pairs(instance, assignment).count
        return total_speed(instance, assignment), float(pairs)

    def most(limit: float, start: Assignment, *, time_limit: float | None) -> Outcome:
        program = blocking_program(instance, int(limit))
        answer = solve_program(
            program.base.program, engine=engine, time_limit=time_limit,
            start=program.point(instance, start),
        )  # fmt: skip
        best, bound = start, None
        if answer.bound is not None and answer.status is not Status.UNKNOWN:
            bound = -answer.bound * program.base.scale
        if answer.point is not None:
            check(instance, found := program.base.assignment(answer.point))
            best = found if measured(found)[1] <= limit else start
        return Outcome(best, bound, Status.FEASIBLE, answer.stop)

    # 1. The policies' assignments, then the optimum.
    policies = [policy(instance) for policy in functions("admission", *SCHEMES).values()]
    sweep = Sweep(clock, measured, "max", "min", policies)
    try:
        free = sweep.solve(2, optimal, instance, engine=engine)
    except KeyboardInterrupt:
        free = Outcome(None, None, Status.UNKNOWN, Stop.INTERRUPTED)
        sweep.stops.append(free.stop)
    found = [PricePoint.of(None, free, measured)] * (free.solution is not None)
    reached = found[0].reached if found else None
    # 2. From it down, with starts on the ways from it to stability.
    small = instance.jobs * instance.cores.size <= LARGEST
    if small and reached and Stop.INTERRUPTED not in sweep.stops:
        share = clock.time_slice(10)
        near = local_search(instance, rng=drawn, time_limit=share)
        for start in (near, found[0].answer):
            for answer in (start, *towards_stability(instance, start, drawn, Clock(share))):
                sweep.add(answer)
        while reached and sweep.stopped is not Stop.INTERRUPTED:
            found.insert(0, sweep.within(reached - 1, 2, most))
            reached = found[0].reached
    # 3. Where that is not all proved, the policies.
    marks = settled(found, "max", CLOSE, unit=0.0)
    if not small or not all(point.status is Status.OPTIMAL for point in marks) or not marks:
        free_pairs = found[-1].reached if found else None
        enough = np.inf if free_pairs is None else free_pairs
        found += [
            PricePoint(pairs, speed, None, pairs)
            for speed, pairs, _ in sweep.answers[: len(policies)]
            if pairs < enough
        ]
        marks = settled(_one_each(found), "max", CLOSE, unit=0.0)
    note = "Each limit: at most so many pairs of a job and a VM block."
    if not small:
        note += (
            f" More than {LARGEST} jobs x VMs x core types: only the optimum is solved for; its "
            "bound holds at every limit, and the points below it are the policies' own."
        )
    kept = _distinct(marks)
    if kept and kept[0].reached not in (None, kept[0].limit):  # a point at the most stable answer
        kept.insert(0, replace(kept[0], limit=kept[0].reached))
    thinned = tuple(kept[place] for place in evenly(len(kept), points))
    return (PriceFrontier("total_speed", "blocking_pairs", thinned, note, sweep.stopped),)


def _one_each(points: Sequence[PricePoint]) -> list[PricePoint]:
    """Points of the frontier, one for each limit on blocking pairs, the tightest first, with the
    best answer and bound.
    """
    groups: dict[float, list[PricePoint]] = {}
    for point in points:
        groups.setdefault(np.inf if point.limit is None else point.limit, []).append(point)
    found = []
    for limit in sorted(groups):
        bounds = [point.bound for point in groups[limit] if point.bound is not None]
        best = max(groups[limit], key=lambda point: -np.inf if point.value is None else point.value)
        found.append(replace(best, bound=min(bounds, default=None)))
    return found


def _distinct(points: Sequence[PricePoint]) -> list[PricePoint]:
    """Points of the frontier, one for each pair of value and bound, with its loosest limit and the
    answer of its tightest limit.
    """
    kept: list[PricePoint] = []
    for point in points:
        if kept and (kept[-1].value, kept[-1].bound) == (point.value, point.bound):
            tight = kept.pop()
            point = replace(point, answer=tight.answer, reached=tight.reached)
        kept.append(point)
    return kept


def towards_stability(
    instance: Admission, start: Assignment, rng: np.random.Generator, clock: Clock | None = None
) -> Iterator[Assignment]:
    """Assignments on a walk from `start` to one without blocking pairs, until it stalls or the time
    is up.

    At each step one blocking pair (j, v) has its way, as in `settle_pair`: of those tried the one
    that leaves most total speed among those after which fewer pairs block, or the one that leaves
    fewest. No proof is in it: feasible assignments, to be counted by whoever uses them.
    """
    now, pairs = start, blocking_pairs(instance, start)
    fewest, idle = pairs.count, 0
    while pairs.count > 0 and idle < PATIENCE and not (clock is not None and clock.expired):
        drawn = rng.permutation(pairs.count)[:LOOKED_AT].tolist()
        tried = [
            settle_pair(instance, now, int(pairs.job[place]), int(pairs.machine[place]))
            for place in drawn
        ]
        counted = [(blocking_pairs(instance, one), one) for one in tried]
        fewer = [entry for entry in counted if entry[0].count < pairs.count]
        if fewer:
            pairs, now = max(fewer, key=lambda entry: total_speed(instance, entry[1]))
        else:
            pairs, now = min(counted, key=lambda entry: entry[0].count)
        idle = idle + 1 if pairs.count >= fewest else 0
        fewest = min(fewest, pairs.count)
        yield now


def settle_pair(instance: Admission, assignment: Assignment, job: int, machine: int) -> Assignment:
    """Move a job to a VM, where it takes the cores that are free or held by lower-ranked jobs.

    Those jobs keep what they can of their own cores, and take free ones instead, in the order of
    their rank; one that is left without any is not assigned. The jobs on the VM that was left share
    what became free in the same way.
    """
    place, cores = np.array(assignment.machine), np.array(assignment.cores)
    left = int(place[job])
    place[job], cores[job] = -1, 0
    ranking = job_ranking(instance.threads)
    rank = np.argsort(ranking)
    below = [other for other in ranking[rank[job] :].tolist() if place[other] == machine]
    cores_before = {other: cores[other].copy() for other in below}
    cores[below] = 0
    place[job] = machine
    order = core_order(instance.speed)
    _take(instance, place, cores, order, [job], {})
    _take(instance, place, cores, order, below, cores_before)
    if left >= 0 and left != machine:
        _take(
            instance,
            place,
            cores,
            order,
            [other for other in ranking.tolist() if place[other] == left],
            {},
        )
    return Assignment(place, cores)


def _take(
    instance: Admission,
    place: Integers,
    cores: Integers,
    order: Integers,
    jobs: list[int],
    cores_before: dict[int, Integers],
) -> None:
    """Let each job in turn take again its own cores that are free, then the fastest free cores."""
    for job in jobs:
        at = place[job]
        free = instance.cores[at] - cores[place == at].sum(axis=0)
        if job in cores_before:
            again = np.minimum(cores_before[job], free)
            cores[job] += again
            free = free - again
        cores[job] += taken(free, order[job], int(instance.threads[job] - cores[job].sum()))
        if cores[job].sum() == 0:
            place[job] = -1

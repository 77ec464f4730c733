"""What stability costs: the most total speed for every number of blocking pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...catalog import functions
from ...instances.admission import Admission, Assignment, blocking_pairs, check, total_speed
from ...instances.admission.rules import SCHEMES
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...models.admission.blocking import blocking_program
from ...solvers.admission.local_search import local_search
from ...solvers.admission.optimal import optimal
from ...solvers.engines import EngineName, solve_program
from ...solvers.outcome import Clock, Report, Status, Stop, raise_if_interrupted
from ..frontier import Points, PriceFrontier, PricePoint, settled
from .repair import towards_stability

LARGEST = 3_000
"""Entries of J x V x C up to which the exact frontier is attempted."""

CLOSE = 1e-8
"""Total speed and bound that differ relatively by no more than this are equal."""

Counted = tuple[int, float, Assignment]
"""Blocking pairs and total speed of an assignment."""


@validate_options
def frontier(
    instance: Admission,
    *,
    time_limit: float | None = None,
    rng: np.random.Generator | None = None,
    engine: EngineName = "highs",
    report: Report | None = None,
) -> list[PricePoint]:
    """The frontier of total speed against blocking pairs, fewest pairs first.

    From the optimum down: allow one pair fewer than the last answer has, and solve again
    (epsilon-constraints), until an answer without blocking pairs. Where every point is "optimal"
    the list is the whole frontier. Zero pairs are always possible (`proposed` has none), but the
    best such assignment can be faster than `proposed`: a VM may hand a job cores that are not the
    job's fastest, as long as no other VM offers it more.

    Parameters
    ----------
    instance : J x V x C at most `LARGEST`: about that many 0/1 columns are added.
    time_limit : seconds in all, half of what is left for each point in turn; points are then
        perhaps only "feasible".
    rng : of the optimum's local search.
    engine : "highs" or "cp-sat".
    report : progress.

    Returns
    -------
    list of PricePoint
        `reached` are the blocking pairs of the `answer`, `value` is its total speed; the limit of
        the optimum is None.

    Raises
    ------
    InvalidOption
        The instance is too large, or an option is out of range.
    KeyboardInterrupt
        It was interrupted: a part of a frontier could pass for the whole.
    """
    clock = Clock(time_limit, report)
    if not within_reach(instance):
        raise InvalidOption(
            f"{instance.jobs} jobs x {instance.machines} VMs x {instance.types} core types are too "
            f"many for the exact frontier; expected a product of at most {LARGEST}"
        )
    kept: list[PricePoint] = []
    for point in reversed(list(downwards(instance, clock, rng=rng, engine=engine))):
        # more pairs must bring speed
        if not kept or (point.value or 0.0) > (kept[-1].value or 0.0) * (1 + 1e-9):
            kept.append(point)
    return kept


@validate_options
def price_frontiers(
    instance: Admission,
    *,
    time_limit: float | None = None,
    points: Points = 24,
    engine: EngineName = "highs",
) -> tuple[PriceFrontier, ...]:
    """The most total speed within each limit on blocking pairs.

    Of small instances the whole `frontier`. Of larger ones, or when it is cut short, what can be
    proved: the optimum's bound, which holds at every limit, and below it the policies' assignments,
    each at the number of pairs it has; `proposed` has none.

    Parameters
    ----------
    time_limit : seconds in all.
    points : most points that are kept, evenly spaced, at least 2.
    engine : "highs" or "cp-sat".

    Raises
    ------
    InvalidOption
        An option is out of range.
    """
    clock = Clock(time_limit)
    found: list[PricePoint] = []
    stop = Stop.FINISHED
    try:
        for point in downwards(instance, clock, engine=engine):
            found.append(point)
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    proved = bool(found) and all(point.status is Status.OPTIMAL for point in found)
    if stop is Stop.FINISHED and not proved:  # nothing but time ends a search without a proof
        stop = Stop.TIME_LIMIT
    if not proved or not within_reach(instance):
        # the optimum's pairs
        enough = np.inf if not found or found[0].reached is None else found[0].reached
        for policy in functions("admission", *SCHEMES).values():
            pairs, speed, _ = _counted(instance, policy(instance))
            if pairs < enough:
                found.append(PricePoint(float(pairs), speed, None, float(pairs)))
    marks = _thinned(
        _with_tight_end(_distinct(settled(_one_each(found), "max", CLOSE, unit=0.0))), points
    )
    note = "Each limit: at most so many pairs of a job and a VM block."
    if not within_reach(instance):
        note += (
            f" More than {LARGEST} jobs x VMs x core types: only the optimum is solved for; its "
            "bound holds at every limit, and the points below it are the policies' own."
        )
    return (PriceFrontier("total_speed", "blocking_pairs", marks, note, stop),)


def within_reach(instance: Admission) -> bool:
    """Whether the exact frontier is attempted."""
    return instance.jobs * instance.cores.size <= LARGEST


def downwards(
    instance: Admission,
    clock: Clock,
    *,
    rng: np.random.Generator | None = None,
    engine: EngineName = "highs",
) -> Iterator[PricePoint]:
    """The frontier's points as they are found, from the optimum down; of an instance out of reach
    the optimum only.

    Programs start from the policies' assignments and from those on a walk towards stability.

    Raises KeyboardInterrupt when a solve is interrupted.
    """
    best = optimal(instance, rng=rng, time_limit=clock.time_slice(2), engine=engine)
    assert isinstance(best.solution, Assignment)
    assert best.bound is not None
    pairs, speed, answer = _counted(instance, best.solution)
    bound = best.bound
    yield _point(None, pairs, speed, bound, answer)
    raise_if_interrupted(best.stop)
    if pairs == 0 or not within_reach(instance):
        return
    known = [_counted(instance, one) for one in _starts(instance, answer, clock, rng)]
    while pairs > 0:
        allowed = pairs - 1
        start = max((one for one in known if one[0] <= allowed), key=lambda one: one[1])
        clock.note(start[1], bound, f"at most {allowed} blocking pairs")
        found, bound = _solved(instance, allowed, start, bound, clock, engine)
        known.append(found)
        pairs, speed, answer = found
        yield _point(allowed, pairs, speed, bound, answer)


def _starts(
    instance: Admission, best: Assignment, clock: Clock, rng: np.random.Generator | None
) -> Iterator[Assignment]:
    """The policies' assignments, local search's, and those on the ways from both to stability."""
    for policy in functions("admission", *SCHEMES).values():
        yield policy(instance)
    drawn = np.random.default_rng(0) if rng is None else rng
    share = clock.time_slice(10)
    near = local_search(instance, rng=drawn, time_limit=share)
    yield near
    for start in (near, best):
        yield from towards_stability(instance, start, drawn, Clock(share))


def _counted(instance: Admission, assignment: Assignment) -> Counted:
    """Its blocking pairs, its total speed, and itself."""
    return blocking_pairs(instance, assignment).count, total_speed(instance, assignment), assignment


def _solved(
    instance: Admission, allowed: int, best: Counted, bound: float, clock: Clock,
    engine: EngineName,
) -> tuple[Counted, float]:  # fmt: skip
    """The best assignment with at most so many blocking pairs, and a bound on all of them."""
    if clock.expired:
        return best, bound
    program = blocking_program(instance, allowed)
    answer = solve_program(
        program.base.program, engine=engine, time_limit=clock.time_slice(2),
        start=program.point(instance, best[2])
    )  # fmt: skip
    raise_if_interrupted(answer.stop)
    if answer.bound is not None and answer.status is not Status.UNKNOWN:
        bound = min(bound, -answer.bound * program.base.scale)
    if answer.point is not None:
        check(instance, found := program.base.assignment(answer.point))
        counted = _counted(instance, found)
        if counted[0] <= allowed and counted[1] > best[1]:
            best = counted
    return best, max(bound, best[1])


def _point(
    limit: float | None, pairs: int, value: float, bound: float, answer: Assignment
) -> PricePoint:
    status = Status.OPTIMAL if bound - value <= CLOSE * value else Status.FEASIBLE
    at = None if limit is None else float(limit)
    return PricePoint(at, value, bound, float(pairs), status, answer)


def _one_each(points: Sequence[PricePoint]) -> list[PricePoint]:
    """One point a limit, the tightest first, with the best answer and bound of those on it."""
    groups: dict[float, list[PricePoint]] = {}
    for point in points:
        groups.setdefault(np.inf if point.limit is None else point.limit, []).append(point)
    found = []
    for limit in sorted(groups):
        bound = min(
            (point.bound for point in groups[limit] if point.bound is not None), default=None
        )
        best = max(groups[limit], key=lambda point: -np.inf if point.value is None else point.value)
        found.append(replace(best, bound=bound))
    return found


def _distinct(points: Sequence[PricePoint]) -> list[PricePoint]:
    """Of points with one value and one bound only that of the loosest limit: it says as much."""
    pairs = zip(points, [*points[1:], None], strict=True)
    return [
        one
        for one, looser in pairs
        if looser is None or (one.value, one.bound) != (looser.value, looser.bound)
    ]


def _with_tight_end(points: list[PricePoint]) -> list[PricePoint]:
    """The points, and before them the limit that the stablest answer keeps just so."""
    if not points or (first := points[0]).reached is None or first.limit == first.reached:
        return points
    return [replace(first, limit=first.reached), *points]


def _thinned(points: Sequence[PricePoint], most: int) -> tuple[PricePoint, ...]:
    """At most so many, the first and the last among them."""
    return tuple(
        points[place]
        for place in np.unique(np.linspace(0, len(points) - 1, most).round().astype(int))
    )

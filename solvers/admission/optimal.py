"""Exact methods of admission: most total speed, most jobs served, and both lexicographically."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ...instances.admission.instance import Admission
from ...instances.admission.rules import total_speed
from ...instances.problem.base import Solution
from ...instances.problem.option_types import validate_options
from ..engines import EngineName
from ..outcome import Clock, Outcome, Report, level
from .local_search import start_assignment
from .partial_assignment import most_possible, serve_most
from .search import LIMITS, MOST_SPEED, AdmissionLimits, Search

ROUTES = {"most total speed": MOST_SPEED}
"""The routes of `optimal` and `most_jobs`, in the order in which they run."""

Then = Literal["jobs", "nothing"]
ThenSpeed = Literal["speed", "nothing"]


@validate_options
def optimal(
    instance: Admission,
    *,
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    then: Then = "nothing",
    engine: EngineName = "highs",
    limits: AdmissionLimits = LIMITS,
) -> Outcome:
    """Maximize total speed, with cores chosen by type inside each VM.

    Jobs need not take the fastest free cores first, as they do in the paper's schemes: the optimum
    hands out each VM's cores as is best for all.

    Parameters
    ----------
    time_limit : seconds; the best assignment so far and a proved bound are returned when they are
        up.
    start : an assignment to begin from.
    report : progress.
    then : "jobs": among the assignments of most total speed (to 1e-9, relative), one that serves
        most jobs.
    engine : the solver of the assignment program: "highs" or "cp-sat".
    limits : the numbers that steer the search.

    Returns
    -------
    Outcome
        Its certificate says where the final bound comes from (`bound_from`). By way of the columns
        it holds `prices` (V, C) of cores that prove `price_bound` (`instances.admission.rules`:
        anyone can work it out again), the `job_prices` at which sets of jobs prove theirs, and
        `sets_listed` when all that matter were listed; by way of the program, its size and how many
        pairs of job and VM the prices had ruled out.

    Raises
    ------
    InvalidOption
        An option out of range, before any work starts.

    Notes
    -----
    Strongly NP-hard (one core type and equal speeds: jobs of indivisible demand).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("admission/tiny"), "optimal", then="jobs")
    >>> print(result.status, round(result.objective, 3))
    optimal 24.0
    """
    run = Search(instance, Clock(time_limit, report), start_assignment(instance, start), limits)
    with run.keeping_best():
        run.search(engine)
        if then == "jobs":
            run.then_jobs(engine)
    return run.outcome("total_speed", run.value, run.bound)


@validate_options
def most_jobs(
    instance: Admission,
    *,
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    then: ThenSpeed = "speed",
    engine: EngineName = "highs",
    limits: AdmissionLimits = LIMITS,
) -> Outcome:
    """Maximize the jobs served, and among those assignments total speed.

    Serving a job takes one core of any VM, so the most is the smaller of the jobs and the cores
    there are: no search. What is hard is the second level, most total speed while so many jobs run.

    Parameters
    ----------
    time_limit : seconds; the bounds are valid and the answer feasible when they are up.
    start : an assignment to begin from.
    report : progress of the second level, in total speed.
    then : "speed", or "nothing" for any assignment that serves most.
    engine : the solver of the program: "highs" or "cp-sat".
    limits : the numbers that steer the search.

    Raises
    ------
    InvalidOption
        An option out of range, before any work starts.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("admission/tiny"), "most-jobs")
    >>> print(result.status, round(result.objective, 3))
    optimal 1.0
    """
    clock = Clock(time_limit, report)
    most = most_possible(instance)
    first = serve_most(instance, start_assignment(instance, start))
    run = Search(instance, clock, first, limits)
    share = most / instance.jobs
    known = ((clock.seconds, float(first.assigned.sum()) / instance.jobs, share),)
    if then == "speed":
        with run.keeping_best():
            run.search_serving(most, engine)
        if run.best.assigned.sum() < most:  # interrupted before it was seen to
            run.best = serve_most(instance, run.best)
            run.value = total_speed(instance, run.best)
        run.certificate["levels"] = [
            level("assigned", share, share, True),
            level("total_speed", run.value, run.bound, run.closed),
        ]
    served = float(run.best.assigned.sum()) / instance.jobs
    found = run.outcome("assigned", served, share)
    return replace(found, trace=known)  # what the search notes is of the second level

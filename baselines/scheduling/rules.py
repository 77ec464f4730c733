"""Rules of section 7.1: round robin, fair share in three versions, DIRECTCONTR, and RAND, whose
Shapley value is estimated from random orders in which organizations join; and first in first out
and random choice for comparison.

With fair share an organization's share is its part of the machines. A share of 0 is served only
when no other organization waits. Ratios are compared exactly, as products of whole numbers; ties go
to the lowest organization.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, Range, validate_options
from ...instances.scheduling import Schedule, Scheduling
from ...solvers.outcome import Outcome, Report, Status, Stop
from ...solvers.scheduling.event_loop import Sampling, memory_needed, simulate
from ...solvers.scheduling.ref_reference import Reading

MOST_JOINS = 2_000_000
"""Orders times organizations: some seconds of drawing, before the first look at the clock."""

MOST_MEMORY = 4.0
"""Gigabytes the sampled coalitions' state may take."""

Orderings = Annotated[int, AtLeast(1, "how many random orders are drawn")]


@validate_options
def round_robin(instance: Scheduling) -> Schedule:
    """Organizations in turn: each free machine goes to the next one, in a circle, that has a job
    waiting.

    Source: Skowron and Rzadca, section 7.1, ROUNDROBIN. The circle begins at organization 0 and
    goes on after the last one served. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "ROUNDROBIN")
    >>> print(result.status, round(result.objective, 3))
    feasible 1.782
    """
    return simulate(instance, "ROUNDROBIN").schedule


@validate_options
def fifo(instance: Scheduling) -> Schedule:
    """First in, first out over all organizations: the job released first, ties to the lowest
    organization. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "FIFO")
    >>> print(result.status, round(result.objective, 3))
    feasible 6.634
    """
    return simulate(instance, "FIFO").schedule


@validate_options
def random_organization(
    instance: Scheduling, *, rng: np.random.Generator | None = None
) -> Schedule:
    """Each free machine goes to an organization drawn uniformly among those with a job waiting, as
    a baseline. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "random")
    >>> print(result.status, round(result.objective, 3))
    feasible 2.812
    """
    source = np.random.default_rng(0) if rng is None else rng
    return simulate(instance, "random", draws=source.random(2 * instance.jobs)).schedule


@validate_options
def fair_share(instance: Scheduling) -> Schedule:
    """FAIRSHARE: the waiting organization of least machine time used so far, relative to its share,
    is served.

    Source: Skowron and Rzadca, section 7.1. "The total time already assigned" is the time jobs have
    run until now: how long a started job will run is not known. Of parallel jobs it is processor
    time, and on machines of different speeds the units of work done. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "FAIRSHARE")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.792
    """
    return simulate(instance, "FAIRSHARE").schedule


@validate_options
def ut_fair_share(instance: Scheduling) -> Schedule:
    """UTFAIRSHARE: the waiting organization of least utility psi_sp, relative to its share, is
    served.

    Source: Skowron and Rzadca, section 7.1. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "UTFAIRSHARE")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.792
    """
    return simulate(instance, "UTFAIRSHARE").schedule


@validate_options
def curr_fair_share(instance: Scheduling) -> Schedule:
    """CURRFAIRSHARE: the waiting organization with the fewest jobs running now, relative to its
    share, is served.

    Source: Skowron and Rzadca, section 7.1. Of parallel jobs it counts processors in use, and on
    machines of different speeds the units of work that running jobs do in the unit of time that
    begins: each the speed of its machine, or what is left of it where that is less. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "CURRFAIRSHARE")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.0
    """
    return simulate(instance, "CURRFAIRSHARE").schedule


@validate_options
def direct_contribution(
    instance: Scheduling, *, rng: np.random.Generator | None = None
) -> Schedule:
    """DIRECTCONTR: serve the waiting organization of largest debt phi - psi, phi being the utility
    earned on its machines.

    Source: Skowron and Rzadca, section 7.1 and figure 9, corrected: a job's utility goes to the
    job's owner and its contribution to the machine's owner (the figure's half dt (dt + 1) lines
    have them the wrong way round), the "+ 1" at a start is dropped (it counts the first unit
    twice), a machine counts when it was busy since the last event, and the two loops over machines
    follow each other. psi then equals equation 3 at every event. The figure's random permutation of
    the processors means that each job goes to a machine drawn uniformly among the free ones. Ties
    go to the lowest organization. O(j (k + machines)).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "DIRECTCONTR")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.792
    """
    source = np.random.default_rng(0) if rng is None else rng
    return simulate(instance, "DIRECTCONTR", draws=source.random(2 * instance.jobs)).schedule


@validate_options
def rand(
    instance: Scheduling,
    *,
    orderings: Orderings = 15,
    confidence: Annotated[
        float, Range(above=0, below=1, what="a probability", cure="such as 0.9")
    ] = 0.9,
    reading: Reading = "figure",
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """RAND(N): REF's comparison with phi estimated from the coalitions met in N random orders of
    joining.

    Source: Skowron and Rzadca, figure 6: Subs is a multiset, each coalition counting 1/N as often
    as it was drawn for an organization. The coalitions' own schedules are first in, first out by
    release, then organization, then job; for unit jobs any greedy schedule has the same value
    (proposition 5.4), so that RAND with every order is REF of the same reading; for others RAND is
    a heuristic. Ties go to the lowest organization.

    Parameters
    ----------
    orderings : random orders of joining (N); the paper uses 15 and 75.
    reading : "figure": psi and phi at t, where figure 3 compares them, so that one organization
        takes the free machines until its queue is empty; the default as of REF, so that RAND
        estimates the schedule it is judged by. "definition": at t + 1, as figure 6 does, read as it
        must be: a start adds one to psi, which is kept (the figure adds it to phi, which it
        resets).
    confidence : probability (lambda) for which the certificate states the guarantee.

    Notes
    -----
    The certificate's bound is on phi, for unit jobs of one processor: with probability `confidence`
    the estimates are within epsilon times the value of all, summed over organizations. It does not
    carry over to psi, as the proof of theorem 5.6 says it does: a small error in phi can decide
    whose queue gets every free machine. O(N k) coalitions.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "RAND", orderings=75)
    >>> print(result.status, round(result.objective, 3))
    feasible 0.297
    """
    validate_orderings(orderings, instance.organizations)
    if orderings * instance.most_utility >= 2**61:
        raise InvalidOption(
            f"orderings is {orderings}; at most {2**61 // instance.most_utility} fit into 64 "
            "bits here"
        )
    source = np.random.default_rng(0) if rng is None else rng
    sampling = sample_orderings(
        [source.permutation(instance.organizations) for _ in range(orderings)]
    )
    rule = "RAND" if reading == "figure" else "RAND-next"
    needed = memory_needed(instance, np.array(sampling.masks)) / 1e9
    if needed > MOST_MEMORY:
        raise InvalidOption(
            f"orderings is {orderings}; its {len(sampling.masks)} coalitions need {needed:.1f} GB, "
            f"at most {MOST_MEMORY:g} are taken. Draw fewer orders"
        )
    played = simulate(
        instance, rule, sampling=sampling, time_limit=time_limit, report=report, partial=True
    )
    certificate: dict[str, Any] = {
        "orderings": orderings,
        "reading": reading,
        "coalitions": len(sampling.masks),
        "psi": played.own[:, -1].tolist(),
        "guarantee": guarantee(instance.organizations, orderings, confidence),
    }
    if played.stop is Stop.FINISHED:
        estimate = sampling.coefficients.astype(object) @ played.values[:-1, -1].astype(object)
        certificate["phi_estimate"] = [int(value) / orderings for value in estimate]
    else:
        certificate["decided_until"] = played.decided_until
        certificate["after_that"] = "first in, first out; phi is not estimated"
    return Outcome(played.schedule, None, Status.FEASIBLE, played.stop, certificate)


@validate_options
def validate_orderings(orderings: Orderings, organizations: int) -> None:
    """Raise InvalidOption for numbers of random orders or organizations too large for RAND."""
    if organizations > 62:
        raise InvalidOption(
            f"RAND takes at most 62 organizations; there are {organizations}. Merge some"
        )
    if orderings * organizations > MOST_JOINS:
        raise InvalidOption(
            f"orderings is {orderings!r}; expected how many random orders are drawn, from 1 to "
            f"{MOST_JOINS // organizations} for {organizations} organizations"
        )


def sample_orderings(orders: list[npt.NDArray[np.int64]]) -> Sampling:
    """Coalitions met when organizations join in these orders, and their coefficients in N x phi."""
    k = len(orders[0])
    count: dict[int, list[int]] = {}
    for order in orders:
        mask = 0
        for u in order.tolist():
            joined = mask | 1 << u
            for coalition, sign in ((joined, 1), (mask, -1)):
                if coalition:
                    count.setdefault(coalition, [0] * k)[u] += sign
            mask = joined
    masks = sorted(count, key=lambda mask: (mask.bit_count(), mask))
    return Sampling(
        tuple(masks),
        np.array([count[mask] for mask in masks], dtype=np.int64).T.copy(),
        len(orders),
    )


@validate_options
def guarantee(
    organizations: Annotated[int, AtLeast(1)],
    orderings: Annotated[int, AtLeast(1)],
    confidence: Annotated[float, Range(above=0, below=1)],
) -> dict[str, float | str | bool]:
    """Accuracy epsilon that theorem 5.6 guarantees RAND with N orders, by the printed and a
    two-sided Hoeffding formula.

    Printed: N = k^2 / epsilon^2 ln(k / (1 - lambda)). Two-sided Hoeffding with a union over
    organizations: N = k^2 / (2 epsilon^2) ln(2 k / (1 - lambda)). An epsilon of 1 or more promises
    nothing.
    """
    k = organizations
    printed = k * sqrt(log(k / (1 - confidence)) / orderings)
    two_sided = k * sqrt(log(2 * k / (1 - confidence)) / (2 * orderings))
    return {
        "bounds": "the sum of errors of phi over the value of all, for unit jobs of one processor "
        "only; not psi",
        "confidence": confidence,
        "epsilon_printed": printed,
        "epsilon_hoeffding": two_sided,
        "vacuous": min(printed, two_sided) >= 1,
    }

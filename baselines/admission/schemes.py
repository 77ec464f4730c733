"""Schemes of Hines and Romano: SM, DA1, DA2 and the proposed algorithm."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Floats, Integers
from ...instances.admission.rules import job_ranking, speeds_on
from ...instances.problem.option_types import validate_options
from ...solvers.admission.partial_assignment import Draft, serial_dictatorship
from ...solvers.deferred_acceptance import deferred_acceptance, preference_order

Serving = Literal["index", "ranking"]
Route = Literal["serial", "rounds"]


@validate_options
def simple_matching(instance: Admission) -> Assignment:
    """SM: each job applies to its favorite empty VM, and each VM serves its applicants in index
    order.

    "Each user applies for a VM without knowing how many others are also applying"; who comes when
    the cores are gone is not assigned, and applies nowhere else.

    Notes
    -----
    O(J V C). Source: section IV, simple matching; the order of serving is ours, the paper names
    none.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("admission/tiny"), "SM")
    >>> print(result.status, round(result.objective, 3))
    feasible 19.0
    """
    empty = speeds_on(instance, instance.cores)
    favorite = np.where(empty.max(axis=1) > 0, empty.argmax(axis=1), -1)
    draft = Draft(instance)
    draft.serve(range(instance.jobs), favorite)
    return draft.assignment()


@validate_options
def deferred_quotas(instance: Admission, *, serving: Serving = "index") -> Assignment:
    """DA1: one deferred acceptance on preferences for empty VMs, each VM admitting ceil(J / V)
    jobs.

    Each VM then serves the jobs it admitted; as in SM, cores may run out before all are served.

    Parameters
    ----------
    serving : in which order a VM serves whom it admitted, which the paper does not say: "index", as
        SM does (with it DA1 is slower than SM and assigns most jobs, as in the paper's tables), or
        "ranking", the VM's own preference, most threads first.

    Notes
    -----
    O(J V (C + J / V)). Source: section IV, the second scheme.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("admission/tiny"), "DA1")
    >>> print(result.status, round(result.objective, 3))
    feasible 22.0
    """
    quota = np.full(instance.machines, -(-instance.jobs // instance.machines))
    admitted = _accepted(instance, speeds_on(instance, instance.cores), quota)
    draft = Draft(instance)
    draft.serve(
        job_ranking(instance.threads).tolist() if serving == "ranking" else range(instance.jobs),
        admitted,
    )
    return draft.assignment()


@validate_options
def deferred_rounds(instance: Admission) -> Assignment:
    """DA2: rounds of one-to-one deferred acceptance on the cores free now; all pairs of a round are
    fixed.

    Until every job is matched or every VM is full.

    Notes
    -----
    O(R J V C) for R rounds, R at most the number of jobs. Source: section IV, the third scheme.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("admission/tiny"), "DA2")
    >>> print(result.status, round(result.objective, 3))
    feasible 22.0
    """
    return _rounds(instance)


@validate_options
def proposed(instance: Admission, *, route: Route = "serial") -> Assignment:
    """The proposed algorithm: match one to one, fix only the pair of the most preferred job,
    update, repeat.

    Every VM ranks the jobs alike, so the most preferred job always gets its first choice: the
    algorithm *is* serial dictatorship, jobs in decreasing order of threads, each taking its fastest
    VM on the cores left. Both routes give the same assignment. For the same reason it has no
    blocking pair, and up to ties it is the only such assignment in which every job takes its
    fastest free cores. (When a VM may hand out its cores otherwise there are others, some of more
    total speed: `analysis.admission.frontier`.)

    Parameters
    ----------
    route : "serial" (serial dictatorship, O(J V C)) or "rounds" (Algorithm 1 to the letter, O(J^2 V
        C)).

    Notes
    -----
    Source: section III.B, Algorithm 1.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("admission/tiny"), "proposed")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.0
    """
    return serial_dictatorship(instance) if route == "serial" else _rounds(instance, one=True)


def _rounds(instance: Admission, *, one: bool = False) -> Assignment:
    """Assign jobs by rounds of one-to-one deferred acceptance on the free cores; each round fixes
    all its pairs, or only that of the job which VMs prefer most (`one`).
    """
    draft, waiting = Draft(instance), np.arange(instance.jobs)
    while len(waiting):
        matched = _accepted(instance, speeds_on(instance, draft.free, waiting), None, waiting)
        pairs = np.flatnonzero(matched >= 0)
        if not len(pairs):
            break
        if one:
            pairs = pairs[job_ranking(instance.threads[waiting[pairs]])[:1]]
        for index in pairs.tolist():
            draft.place(int(waiting[index]), int(matched[index]))
        waiting = np.delete(waiting, pairs)
    return draft.assignment()


def _accepted(
    instance: Admission, speeds: Floats, quota: Integers | None, jobs: Integers | None = None
) -> Integers:
    """VM (K,) to which deferred acceptance assigns each job (or each of `jobs`), -1 for none."""
    threads = instance.threads if jobs is None else instance.threads[jobs]
    order = preference_order(np.where(speeds > 0, -speeds, np.inf))
    score = np.broadcast_to(-threads, (instance.machines, len(threads)))
    return deferred_acceptance(order, score, quota).partner()

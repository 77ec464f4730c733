"""Tiny instances of colocation, packing, admission, scheduling and NUMA by chance, and their optima by
enumeration.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from cotenant.instances.admission.instance import Admission
from cotenant.instances.colocation.instance import Colocation
from cotenant.instances.numa.instance import Numa
from cotenant.instances.packing.generators import caprara_toth
from cotenant.instances.packing.instance import Packing
from cotenant.instances.problem.errors import InvalidInstance
from cotenant.instances.scheduling import Scheduling
from cotenant.models.program import LinearProgram, ProgramBuilder
from support.oracles.colocation import random_fields
from support.oracles.packing import fewest, leximin, totals_possible
from support.scheduling_cases import best_of_all


def packing(seed: int, *, limited: bool = False) -> Packing:
    """A few VMs of few types on one to three classes of servers."""
    rng = np.random.default_rng(seed)
    classes, types = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    capacity = rng.integers(8, 20, (classes, 2))
    return Packing(
        capacity=capacity,
        demand=np.minimum(rng.integers(1, 9, (types, 2)), capacity.min(axis=0)),
        request=rng.integers(1, 4, types).astype(float),
        servers=rng.integers(1, 3, classes).astype(float) if limited else None,
        cost=rng.integers(1, 9, classes),
        name=f"packing-{seed}",
    )


def program_of(
    columns: int, *rows: tuple[Any, float, float], offset: float = 0.0, **fields: Any
) -> LinearProgram:
    """Linear program with rows over all of its columns: coefficients, lower and upper bound."""
    builder = ProgramBuilder()
    place = builder.columns(columns, **fields)
    for coefficients, lower, upper in rows:
        builder.row(place, coefficients, lower=lower, upper=upper)
    return builder.build(offset=offset)


def colocations(seeds: range, most_agents: int = 8) -> list[Colocation]:
    """Random valid instances of few agents, more than half of the seeds."""
    drawn = []
    for seed in seeds:
        fields = random_fields(np.random.default_rng(seed), most_agents)
        with suppress(InvalidInstance):
            drawn.append(Colocation(**fields, name=str(seed)))
    assert len(drawn) > len(seeds) // 2
    return drawn


def crowd(types: int, each: int, seed: int = 0) -> Colocation:
    """Types that suffer by their sensitivity times their co-runner's pressure, as many agents of
    each.
    """
    rng = np.random.default_rng(seed)
    penalty = rng.uniform(0.2, 1, types)[:, None] * rng.uniform(0, 0.5, types)
    penalty = (penalty + rng.normal(0, 0.02, (types, types))).clip(-0.02, 0.9).round(4)
    return Colocation(penalty, np.full(types, each), rng.uniform(0, 25, types))


def spread(instance: Colocation, types: int) -> tuple[Colocation, np.ndarray]:
    """Instance with many types without agents added, and the indices of its own types in it."""
    places = np.linspace(0, types - 1, instance.types).astype(int)
    penalty, count = np.random.default_rng(0).random((types, types)), np.zeros(types)
    penalty[np.ix_(places, places)], count[places] = instance.penalty, instance.count
    bandwidth = None
    if instance.bandwidth is not None:
        bandwidth = np.interp(np.arange(types), places, instance.bandwidth)
    rest = {"machines": instance.machines, "unpaired": instance.unpaired}
    return Colocation(penalty, count, bandwidth=bandwidth, **rest), places


def gap() -> Packing:
    """Bin packing instance of thirty items with an integer optimum of 9 and a relaxation bound of
    8.
    """
    return caprara_toth(number=1, items=30, rng=np.random.default_rng(135))


def shared(seed: int) -> Packing:
    """Random packing instance of two or three servers with unlimited or limited requests."""
    rng = np.random.default_rng(seed)
    instance = packing(seed)
    caps = np.where(rng.random(instance.types) < 0.6, np.inf, rng.integers(0, 4, instance.types))
    caps[0] = np.inf
    return Packing(
        capacity=instance.capacity,
        demand=instance.demand,
        request=caps,
        servers=np.full(instance.classes, 3 - instance.classes // 2).astype(float),
        partial=True,
        name=f"shared-{seed}",
    )


def largest_least_share(instance: Packing) -> Fraction:
    """Best value over all placements."""
    return leximin(instance)[0]


def most_utilization(instance: Packing) -> Fraction:
    """Maximum utilization over all placements."""
    number = instance.server_count.astype(int)[:, None]
    space = [int(n) for n in (instance.initial_capacity * number).sum(axis=0)]
    busy = [int(n) for n in ((instance.initial_capacity - instance.capacity) * number).sum(axis=0)]
    loads = {
        tuple(int(n) for n in np.array(vms) @ instance.demand) for vms in totals_possible(instance)
    }
    parts = (
        [Fraction(b + n, s) for b, n, s in zip(busy, load, space, strict=True)] for load in loads
    )
    return max(sum(part, Fraction(0)) / len(space) for part in parts)


def admission(seed: int) -> Admission:
    """Random admission instance of at most five jobs and three VMs with speeds of one decimal."""
    rng = np.random.default_rng(seed)
    machines, types, jobs = (int(n) for n in rng.integers([1, 1, 2], [4, 4, 6]))
    return Admission(
        cores=rng.integers(0, 3, (machines, types)) + (rng.random((machines, types)) < 0.5),
        threads=rng.integers(1, 4, jobs),
        speed=rng.integers(1, 90, (jobs, types)) / 10,
        name=f"admission-{seed}",
    )


def most_speed(instance: Admission, jobs: tuple[int, ...], cores: np.ndarray) -> float:
    """Maximum total speed of given jobs on one VM by a matching of threads and cores."""
    places = np.repeat(np.arange(instance.types), cores)
    threads = np.repeat(jobs, instance.threads[list(jobs)]).astype(int)
    if not len(places) or not len(threads):
        return 0.0
    worth = instance.speed[threads][:, places]
    return float(worth[linear_sum_assignment(worth, maximize=True)].sum())


def most_total_speed(instance: Admission) -> float:
    """Maximum total speed over all assignments of jobs to VMs."""
    best = 0.0
    for where in itertools.product(range(instance.machines), repeat=instance.jobs):
        sets = [tuple(j for j, v in enumerate(where) if v == vm) for vm in range(instance.machines)]
        speeds = [
            most_speed(instance, jobs, cores)
            for jobs, cores in zip(sets, instance.cores, strict=True)
        ]
        best = max(best, sum(speeds))
    return best


def scheduling(seed: int) -> Scheduling:
    """Up to four organizations, some without machines or jobs; jobs beyond the horizon too."""
    rng = np.random.default_rng(seed)
    players, jobs, horizon = (int(n) for n in rng.integers([1, 1, 5], [5, 25, 40]))
    machines = rng.integers(0, 3, players)
    machines[0] = max(1, machines[0])
    return Scheduling(
        machines=machines,
        organization=rng.integers(0, players, jobs),
        release=rng.integers(0, horizon + 3, jobs) // int(rng.integers(1, 4)),
        processing=rng.integers(1, 9, jobs),
        horizon=horizon,
        name=f"scheduling-{seed}",
    )


def few_jobs(seed: int) -> Scheduling:
    """Up to four jobs on one or two machines before a horizon of six."""
    rng = np.random.default_rng(seed)
    jobs = int(rng.integers(1, 5))
    return Scheduling(
        machines=rng.integers(0, 2, 2) + np.array([0, 1]),
        organization=rng.integers(0, 2, jobs),
        release=rng.integers(0, 4, jobs),
        processing=rng.integers(1, 5, jobs),
        horizon=6,
        name=f"few_jobs-{seed}",
    )


def numa(seed: int) -> Numa:
    """Random NUMA instance of one or two blades with unevenly distributed data."""
    rng = np.random.default_rng(seed)
    blades, rows, columns, kinds = (int(n) for n in rng.integers(1, 3, 4))
    places = blades * rows * columns
    tenths = 1 + rng.multinomial(20 - places, np.full(places, 1 / places))
    return Numa(
        blades=blades,
        rows=rows,
        columns=columns,
        cores=2,
        location_share=tenths / 20,
        class_share=[1.0] if kinds == 1 else [0.25, 0.75],
        service_mean=rng.integers(1, 9, kinds) / 100,
        ht1=1 + rng.integers(0, 9, kinds) / 10,
        pcie=2 + rng.integers(0, 9, kinds) / 10,
        bandwidth=rng.integers(0, 300, kinds).astype(float),
        rate=10.0,
        name=f"numa-{seed}",
    )


def tiny(problem: str, seed: int) -> list[tuple[object, dict[str, Fraction | None]]]:
    """Random instances of a problem with their optima by method, if they can be enumerated (None:
    infeasible).
    """
    if problem == "packing":
        free, few, users = packing(seed), packing(seed, limited=True), shared(seed)
        pairs = []
        for instance in (free, few):
            least, cheapest = (fewest(instance, costs) for costs in (False, True))
            counts = [None if n is None else Fraction(n) for n in (least, cheapest)]
            optima = dict.fromkeys(("min-servers", "cp-sat"), counts[0])
            pairs.append((instance, {**optima, "min-cost": counts[1]}))
        optima = {"max-utilization": most_utilization(users)}
        return [*pairs, (users, {**optima, "max-min-share": largest_least_share(users)})]
    if problem == "admission":
        instance = admission(seed)
        return [(instance, {"optimal": Fraction(round(10 * most_total_speed(instance)), 10)})]
    if problem == "scheduling":
        jobs = few_jobs(seed)
        units, utility = (best_of_all(jobs, name) for name in ("utilization", "utility"))
        share = Fraction(units, jobs.total_machines * jobs.horizon)
        return [
            (jobs, {"max-utilization": share, "max-utility": Fraction(utility), "REF": Fraction(0)})
        ]
    return [(numa(seed), {})]

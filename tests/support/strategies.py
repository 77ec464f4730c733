"""One hypothesis strategy of small instances for each problem, and the same instance with its jobs,
types and machines called otherwise.

What is drawn follows a generator of random numbers, so that the fuzzers of `benchmarks/` draw the
same kinds of instances from their seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from hypothesis import strategies

from cotenant.instances.accelerators import Accelerators
from cotenant.instances.admission import Admission
from cotenant.instances.colocation import Colocation
from cotenant.instances.elastic import Elastic
from cotenant.instances.groups import Groups
from cotenant.instances.lifetimes import Lifetimes
from cotenant.instances.market import Market
from cotenant.instances.market.generators import population
from cotenant.instances.numa import Numa
from cotenant.instances.packing import Packing
from cotenant.instances.problem import Instance
from cotenant.instances.problem.errors import InvalidInstance
from cotenant.instances.quanta import Quanta
from cotenant.instances.scheduling import Scheduling
from support import small_accelerators, small_cases, small_groups
from support.group_cases import small as small_grouping
from support.oracles.colocation import random_fields
from support.oracles.packing import random_cluster, random_requests
from support.scheduling_cases import KINDS, small_instance

Random = np.random.Generator


def colocation(rng: Random) -> Colocation:
    """Up to seven agents: ties, forbidden pairs, singles."""
    while True:
        with suppress(InvalidInstance):  # somebody fits beside nobody
            return Colocation(**random_fields(rng, most_agents=7), name="colocation")


def packing(rng: Random) -> Packing:
    """Random packing instance with required requests, or with elastic ones on fixed servers."""
    draw = int(rng.integers(4))
    if draw < 2:
        return random_requests(rng, classes=draw + 1, vms=6)
    return small_cases.shared(int(rng.integers(10**6))) if draw == 2 else random_cluster(rng, True)


def market(rng: Random) -> Market:
    """Three users with jobs on two servers of three cores."""
    return population(users=3, servers=2, jobs=2, work="lognormal", low=0.1, cores=3.0, rng=rng)


def scheduling(rng: Random) -> Scheduling:
    """Random scheduling instance of a random kind with at most five jobs and three organizations."""
    return small_instance(rng, KINDS[int(rng.integers(len(KINDS)))], tiny=True)


def groups(rng: Random) -> Groups:
    """Up to seven jobs by each model, some groups forbidden."""
    if rng.random() < 0.5:
        return small_groups.drawn(int(rng.integers(10**6)))
    while True:
        with suppress(InvalidInstance):  # too few seats
            if (drawn := small_grouping(rng)).jobs < 8:
                return drawn


def admission(rng: Random) -> Admission:
    """Up to five jobs on up to three machines."""
    return small_cases.admission(int(rng.integers(10**6)))


def numa(rng: Random) -> Numa:
    """Up to eight processors with uneven data."""
    return small_cases.numa(int(rng.integers(10**6)))


def accelerators(rng: Random) -> Accelerators:
    """Up to five jobs on up to three kinds of devices."""
    return small_accelerators.drawn(int(rng.integers(10**6)))


def quanta(rng: Random) -> Quanta:
    """Up to five users, some who never want a slice, and up to five quanta."""
    users, many = rng.integers(1, 6, 2).tolist()
    demand = rng.integers(0, 7, (users, many)) * (rng.random((users, many)) < 0.6)
    demand[0, 0] += 1
    return Quanta(demand, int(rng.integers(1, 4)))


def lifetimes(rng: Random) -> Lifetimes:
    """Up to six VMs of up to three types, some that come or end together."""
    vms, types, resources = (int(rng.integers(1, most)) for most in (7, 4, 3))
    start = rng.integers(0, 6, vms)
    return Lifetimes(
        rng.integers(1, 7, (types, resources)), rng.integers(6, 11, resources),
        rng.integers(types, size=vms), start, start + rng.integers(1, 5, vms),
    )  # fmt: skip


def elastic(rng: Random) -> Elastic:
    """Up to four jobs of up to four types, two kinds of device, configurations of up to three."""
    devices = rng.integers(1, 5, rng.integers(1, 3))
    pairs = [(d, k) for d, most in enumerate(devices) for k in range(1, min(3, most) + 1)]
    kind, workers = np.array([pair for pair in pairs if rng.random() < 0.8] or pairs).T
    count = rng.integers(0, 3, rng.integers(1, 5))
    count = np.minimum(count, np.maximum(0, 4 - np.cumsum(count) + count))
    count[0] += not count.any()
    utility = rng.integers(0, 40, (len(count), len(kind))) / rng.choice([1, 4, 10])
    return Elastic(utility, devices, kind, workers, count)


DRAWN: dict[str, Callable[[Random], Instance]] = {
    made.__name__: made
    for made in (
        colocation,
        market,
        packing,
        admission,
        scheduling,
        numa,
        groups,
        accelerators,
        quanta,
        lifetimes,
        elastic,
    )
}
"""What draws a small instance of each problem."""


def instances(problem: str) -> strategies.SearchStrategy[Instance]:
    """Hypothesis strategy of small instances of a problem."""
    draw = DRAWN[problem]
    return strategies.integers(0, 10**6).map(lambda seed: draw(np.random.default_rng(seed)))


def renamed(instance: Any, rng: Random) -> Any:
    """Instance with its elements renumbered; unchanged for scheduling, where numbers break ties."""
    return RENAMED[instance.problem](instance, rng.permutation)


def _colocation(given: Colocation, shuffled: Callable[[int], Any]) -> Colocation:
    order = shuffled(given.types)
    return given.replace(
        penalty=given.penalty[order][:, order], count=given.count[order],
        bandwidth=None if given.bandwidth is None else given.bandwidth[order],
        names=[given.names[i] for i in order],
    )  # fmt: skip


def _market(given: Market, shuffled: Callable[[int], Any]) -> Market:
    users, servers, jobs = map(shuffled, (given.users, given.servers, given.jobs))
    return given.replace(
        capacity=given.capacity[np.argsort(servers)], budget=given.budget[np.argsort(users)],
        user=users[given.user][jobs], server=servers[given.server][jobs],
        parallel_fraction=given.parallel_fraction[jobs], work=given.work[jobs],
    )  # fmt: skip


def _packing(given: Packing, shuffled: Callable[[int], Any]) -> Packing:
    types, classes = shuffled(given.types), shuffled(given.classes)
    return given.replace(
        demand=given.demand[types], request=given.requested[types],
        names=[given.names[i] for i in types], capacity=given.capacity[classes],
        initial=given.initial_capacity[classes], servers=given.server_count[classes],
        cost=given.server_cost[classes],
    )  # fmt: skip


def _admission(given: Admission, shuffled: Callable[[int], Any]) -> Admission:
    jobs, kinds = shuffled(given.jobs), shuffled(given.types)
    machines = shuffled(given.machines)
    return Admission(
        given.cores[machines][:, kinds], given.threads[jobs], given.speed[jobs][:, kinds]
    )


def _groups(given: Groups, shuffled: Callable[[int], Any]) -> Groups:
    order = shuffled(given.types)
    changes: dict[str, Any] = {
        "count": given.count[order],
        "names": [given.names[i] for i in order],
    }
    if given.penalty is not None:
        changes["penalty"] = given.penalty[..., order, :][..., order]
    if given.pressure is not None:
        changes["pressure"] = given.pressure[order]
    if given.sensitivity is not None:
        changes["sensitivity"] = np.take(given.sensitivity, order, axis=-2)
    if given.members is not None:
        changes["members"] = np.append(np.argsort(order), -1)[given.members]
    return given.replace(**changes)


def _numa(given: Numa, shuffled: Callable[[int], Any]) -> Numa:
    """NUMA instance with its blades renumbered."""
    share = given.location_share.reshape(given.blades, -1)[shuffled(given.blades)]
    return given.replace(location_share=share.reshape(-1))


def _accelerators(given: Accelerators, shuffled: Callable[[int], Any]) -> Accelerators:
    types, kinds = shuffled(given.types), shuffled(len(given.devices))
    by_type = ("count", "workers", "weight", "steps", "elapsed", "deadline", "entity")
    changes: dict[str, Any] = {
        name: getattr(given, name)[types] for name in by_type if getattr(given, name) is not None
    }
    if given.together is not None:
        changes["together"] = given.together[types][:, types][:, :, kinds]
    return given.replace(
        throughput=given.throughput[types][:, kinds], devices=given.devices[kinds],
        device_cost=given.device_cost[kinds], names=[given.names[i] for i in types],
        device_names=[given.device_names[i] for i in kinds], **changes,
    )  # fmt: skip


def _quanta(given: Quanta, shuffled: Callable[[int], Any]) -> Quanta:
    order = shuffled(len(given.demand))
    demand = given.demand[order][:, shuffled(given.demand.shape[1])]
    return given.replace(demand=demand, names=[given.names[i] for i in order])


def _lifetimes(given: Lifetimes, shuffled: Callable[[int], Any]) -> Lifetimes:
    types, order = shuffled(len(given.demand)), shuffled(len(given.kind))
    return given.replace(
        demand=given.demand[types], kind=np.argsort(types)[given.kind[order]],
        start=given.start[order], end=given.end[order],
    )  # fmt: skip


def _elastic(given: Elastic, shuffled: Callable[[int], Any]) -> Elastic:
    types, columns = shuffled(len(given.count)), shuffled(len(given.workers))
    return given.replace(
        utility=given.utility[types][:, columns], count=given.count[types],
        kind=given.kind[columns], workers=given.workers[columns],
        names=[given.names[i] for i in types],
    )  # fmt: skip


RENAMED: dict[str, Callable[[Any, Callable[[int], Any]], Any]] = {
    "colocation": _colocation,
    "market": _market,
    "packing": _packing,
    "admission": _admission,
    "groups": _groups,
    "scheduling": lambda given, _: given,
    "numa": _numa,
    "accelerators": _accelerators,
    "quanta": _quanta,
    "lifetimes": _lifetimes,
    "elastic": _elastic,
}

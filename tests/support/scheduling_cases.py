"""Small instances of every kind of scheduling, what the oracle says of a rule on them, and every
schedule of tiny ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from cotenant.baselines.scheduling import sample_orderings
from cotenant.instances.scheduling import Scheduling, check, utilities
from cotenant.solvers.scheduling.event_loop import RULES, simulate
from support.oracles.scheduling import Clockwork

KINDS = ("sequential", "parallel", "backfilling", "related")


def small_instance(
    rng: np.random.Generator,
    kind: str = "sequential",
    tiny: bool = False,
    most: int = 3,
    jobs: int = 12,
) -> Scheduling:
    """Random scheduling instance of at most `most` organizations, some without machines or jobs."""
    k, number = int(rng.integers(1, most + 1)), int(rng.integers(1, 6 if tiny else jobs))
    horizon = int(rng.integers(1, 8 if tiny else 16))
    machines = rng.integers(0, 2 if tiny else 4, k)
    machines[rng.integers(k)] += 1
    total = int(machines.sum())
    fields: dict[str, Any] = {
        "machines": machines,
        "organization": rng.integers(0, k, number),
        "release": rng.integers(0, rng.integers(1, horizon + 2), number),
        "processing": rng.integers(1, rng.integers(2, 10), number),
        "horizon": horizon,
    }
    if kind in ("parallel", "backfilling"):
        fields |= {
            "processors": rng.integers(1, total + 1, number),
            "backfilling": kind == "backfilling",
        }
    if kind == "related":
        fields["speed"] = rng.integers(1, rng.integers(2, 5), total)
    return Scheduling(**fields)


def wrongs(seed: int, rules: Sequence[str] = RULES) -> Iterator[str]:
    """Differences between the event loop and a simulation by clock ticks on one instance."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    instance = small_instance(rng, kind)
    players = range(instance.organizations)
    for rule in rules:
        draws, orders = rng.random(2 * instance.jobs), []
        if rule.startswith("RAND"):
            orders = [rng.permutation(instance.organizations) for _ in range(3)]
        sampling = sample_orderings(orders) if orders else None
        played = simulate(instance, rule, draws=draws, sampling=sampling)
        schedule = played.schedule
        check(instance, schedule)
        clock = Clockwork(instance, rule, draws, orders)
        runs = [clock.whole.starts.get(job, (-1, [-1])) for job in range(instance.jobs)]
        psi = [clock.whole.psi(instance.horizon, u) for u in players]
        pairs: dict[str, tuple[Any, Any]] = {
            "starts": (played.start.tolist(), [start for start, _ in runs]),
            "psi": (played.own[:, -1].tolist(), psi),
            "psi of the schedule": (utilities(instance, schedule).tolist(), psi),
            "values": (
                played.values[:-1, -1].tolist(),
                [pool.psi(instance.horizon) for pool in clock.pools.values()][
                    : len(played.masks) - 1
                ],
            ),
        }
        if rule == "DIRECTCONTR":
            lent = [clock.whole.psi(instance.horizon, u, lent=True) for u in players]
            others = [machine for _, machines in runs for machine in machines[1:]]
            pairs |= {
                "lent": (played.lent[:, -1].tolist(), lent),
                "machines": (schedule.machine.tolist(), [machines[0] for _, machines in runs]),
                "other machines": (schedule.others.tolist(), others),
            }
        for what, (ours, theirs) in pairs.items():
            if ours != theirs:
                yield f"{kind}, {rule}: {what} {ours}, by the clock {theirs}"


@cache
def every_outcome(instance: Scheduling) -> frozenset[tuple[int, tuple[int, ...]]]:
    """Units of work and utility of each organization, for every schedule that keeps each
    organization's order; machines may idle.
    """
    k, horizon, pace = instance.organizations, instance.horizon, instance.pace.tolist()
    queues = [
        [job for job in instance.order.tolist() if instance.organization[job] == u]
        for u in range(k)
    ]

    def worth(start: int, job: int, speed: int) -> tuple[int, int]:
        """Units of work of a job before the horizon, and their utility."""
        width, left = int(instance.width[job]), int(instance.processing[job])
        done = [min(speed, max(0, left - speed * age)) * width for age in range(horizon - start)]
        return sum(done), sum(units * (horizon - start - age) for age, units in enumerate(done))

    @cache
    def outcomes(
        t: int, heads: tuple[int, ...], free_at: tuple[tuple[int, int], ...]
    ) -> frozenset[tuple[int, tuple[int, ...]]]:
        if t >= horizon:
            return frozenset([(0, (0,) * k)])
        later = tuple(sorted((max(at, t + 1), speed) for at, speed in free_at))
        found = set(outcomes(t + 1, heads, later))
        for u, queue in enumerate(queues):
            if heads[u] == len(queue) or instance.release[queue[heads[u]]] > t:
                continue
            job, after = queue[heads[u]], tuple(head + (v == u) for v, head in enumerate(heads))
            width = int(instance.width[job])
            for speed in {speed for at, speed in free_at if at <= t}:
                idle = [entry for entry in free_at if entry[0] <= t and entry[1] == speed]
                if len(idle) < width:
                    continue
                rest = list(free_at)
                for entry in idle[:width]:
                    rest.remove(entry)
                end = t - (-int(instance.processing[job]) // speed)
                done, utility = worth(t, job, speed)
                for work, psi in outcomes(
                    t, after, tuple(sorted([*rest, *[(end, speed)] * width]))
                ):
                    more = tuple(value + utility * (v == u) for v, value in enumerate(psi))
                    found.add((work + done, more))
        return frozenset(found)

    return outcomes(0, (0,) * k, tuple(sorted((0, speed) for speed in pace)))


def best_of_all(instance: Scheduling, objective: str) -> int:
    """Maximum units of work, or maximum utility, over all schedules."""
    found = every_outcome(instance)
    return max(work if objective == "utilization" else sum(psi) for work, psi in found)

"""The best value of each objective of a small instance, by enumeration: one enumerator a problem."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from cotenant.catalog import find
from cotenant.instances.accelerators import Accelerators
from cotenant.instances.admission import Admission
from cotenant.instances.elastic import Elastic
from cotenant.instances.groups import Groups
from cotenant.instances.lifetimes import Lifetimes
from cotenant.instances.market import Market
from cotenant.instances.packing import Packing
from cotenant.instances.quanta import Quanta
from cotenant.instances.scheduling import Scheduling
from support.group_cases import Counted
from support.oracles import colocation as pairs
from support.oracles import lifetimes as lives
from support.oracles.elastic import best_of_all as best_configurations
from support.oracles.packing import fewest, most_cards
from support.oracles.quanta import fairest_totals
from support.scheduling_cases import best_of_all
from support.small_accelerators import optima as accelerators_optima
from support.small_cases import largest_least_share, most_total_speed, most_utilization

Values = dict[str, float | None]
"""By objective; None where there is no answer."""


def colocation(instance: Any) -> Values:
    """Best colocation values over all pairings."""
    best = pairs.best(instance)
    return {
        "penalty": best.least_penalty,
        "blocking_pairs": best.fewest_blocking,
        "slack": best.least_slack,
    }


def groups(instance: Groups) -> Values:
    """Optimal group values over all groupings; no number of blocking groups if the core is empty."""
    counted = Counted(instance)
    made = counted.groupings()
    if not made:
        return dict.fromkeys(("penalty", "blocking_groups", "least_alpha"))
    least = min(map(counted.least_alpha, made))
    found: Values = {
        "penalty": float(min(map(counted.total, made)) / instance.jobs),
        "least_alpha": float(least),
    }
    return found | ({} if least else {"blocking_groups": 0.0})


def packing(instance: Packing) -> Values:
    """Optimal packing values over all placements that serve every required request."""
    if instance.cards is not None and instance.partial:
        return {"cards_allocated": float(most_cards(instance))}
    if instance.partial or instance.unbounded.any():
        return {
            "dominant_share_min": float(largest_least_share(instance)),
            "utilization": float(most_utilization(instance)),
        }
    return {"servers": fewest(instance), "cost": fewest(instance, costs=True)}


def market(instance: Market) -> Values:
    """Maximum total utility over all divisions of integer cores."""
    total = 0.0
    for server, capacity in enumerate(instance.capacity.astype(int).tolist()):
        jobs = [k for k, at in enumerate(instance.server.tolist()) if at == server]
        total += max(
            sum(_speed(instance, k, n) for k, n in zip(jobs, split, strict=True))
            for split in itertools.product(range(capacity + 1), repeat=len(jobs))
            if sum(split) <= capacity
        )
    return {"total_utility": total}


def _speed(instance: Market, job: int, cores: int) -> float:
    f, work = float(instance.parallel_fraction[job]), float(instance.work[job])
    return work * cores / (f + (1 - f) * cores) if cores else 0.0


def admission(instance: Admission) -> Values:
    """Best admission values over all assignments of jobs to VMs."""
    served = min(instance.jobs, int(instance.cores.sum()))
    return {
        "total_speed": most_total_speed(instance),
        "assigned": float(Fraction(served, instance.jobs)),
    }


def scheduling(instance: Scheduling) -> Values:
    """Best scheduling values over all schedules."""
    room = instance.capacity * instance.horizon
    return {
        "utilization": best_of_all(instance, "utilization") / room,
        "utility": float(best_of_all(instance, "utility")),
        "unfairness": 0.0,
    }


def numa(instance: Any) -> Values:
    """Programs over fractions have no list of answers: see `test_numa_fluid`."""
    return {}


def accelerators(instance: Accelerators) -> Values:
    """Optimal accelerator values by programs over every job in fractions."""
    return {
        find("accelerators", name).objective: None if best is None else float(best)
        for name, best in accelerators_optima(instance).items()
    }


def quanta(instance: Quanta) -> Values:
    """Least total and Nash welfare of the leximin division, by enumeration of sets of users."""
    totals = fairest_totals(instance).values()
    welfare = math.prod(map(float, totals)) ** (1 / len(totals))
    return {"least_total": float(min(totals)), "nash_welfare": welfare}


def lifetimes(instance: Lifetimes) -> Values:
    """Best lifetimes values over all assignments of VMs to servers."""
    return lives.least(instance)


def elastic(instance: Elastic) -> Values:
    """Best elastic values over all choices of configurations, in fractions."""
    total, least = best_configurations(instance)
    return {"total_utility": float(total), "least_utility": float(least)}


OPTIMA: dict[str, Callable[[Any], Values]] = {
    found.__name__: found
    for found in (
        colocation,
        groups,
        packing,
        market,
        admission,
        scheduling,
        numa,
        accelerators,
        quanta,
        lifetimes,
        elastic,
    )
}
"""The enumerator of each problem."""

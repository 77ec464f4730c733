"""Throughputs, entitlements, objectives of methods, and envy of time shares."""

from __future__ import annotations

import numpy as np

from ..problem.errors import InvalidInstance
from ..problem.option_types import validate_options
from .feasible import rates, sums_by
from .instance import Accelerators, Booleans, Floats, Integers, TimeShares


def throughputs(instance: Accelerators, solution: TimeShares) -> Floats:
    """(T,) mean throughput of each type's jobs in steps per second; 0 for a type without jobs."""
    one, two = rates(instance, solution)
    pair = solution.second >= 0
    kinds = np.concatenate([solution.first, solution.second[pair]])
    steps = np.concatenate([one * solution.share, (two * solution.share)[pair]])
    total = sums_by(kinds, steps, instance.types)
    return np.divide(total, instance.count, out=np.zeros(instance.types), where=instance.count > 0)


def isolated_throughputs(instance: Accelerators) -> Floats:
    """Throughput (T,) in steps per second of a job that has 1/n of the cluster (n jobs) to itself,
    with at most the devices it needs.
    """
    part = instance.all_devices / (instance.jobs * instance.workers)
    return np.asarray(np.minimum(part, 1.0) * instance.proportional)


@validate_options
def entitlements(instance: Accelerators) -> Floats:
    """Throughput (T,) in steps per second at which a job's normalized throughput is 1: that of its
    proportional share of time, times its weight, divided by its number of workers.
    """
    return instance.proportional * instance.weight / instance.workers


def hierarchical_weights(instance: Accelerators, frozen: Booleans | None = None) -> Floats:
    """Weights (T,) of jobs by entity: an entity's weight is divided among its jobs in proportion to
    their own weights (Gavel, section 4.3); types that are `frozen` (T,) get 0.

    Raises
    ------
    InvalidInstance
        The instance has no entities.
    """
    if instance.entity is None or instance.entity_weight is None:
        raise InvalidInstance(
            "entity", "missing", "who owns the jobs of each type", "Or ask max-min"
        )
    own = instance.weight if frozen is None else np.where(frozen, 0.0, instance.weight)
    total = sums_by(instance.entity, instance.count * own, len(instance.entity_weight))
    part = own / np.where(total > 0, total, 1.0)[instance.entity]
    return np.asarray(instance.entity_weight[instance.entity] * part)


def required_steps(instance: Accelerators) -> Floats:
    """Steps (T,) that jobs have left; raises InvalidInstance if they are not given."""
    if instance.steps is None:
        raise InvalidInstance(
            "steps", "missing", "the steps that a job of each type has left", "Or ask max-min"
        )
    return instance.steps


def owed_throughputs(instance: Accelerators, least: float) -> Floats:
    """Minimum throughput (T,) in steps per second of each job: `least` times that in 1/n of the
    cluster, and enough to meet the deadline.
    """
    owed = least * isolated_throughputs(instance)
    if instance.deadline is None or instance.steps is None:
        return owed
    return np.maximum(owed, instance.steps / instance.deadline)


def mean_throughput(instance: Accelerators, solution: TimeShares) -> float:
    """Mean of the jobs' normalized throughputs, without weights."""
    there = instance.count > 0
    ratio = throughputs(instance, solution) * instance.workers / instance.proportional
    return float(ratio[there] @ instance.count[there]) / instance.jobs


def finish_time_ratios(instance: Accelerators, throughput: Floats) -> Floats:
    """(T,) time of a job from submission to its end over its time in 1/n of the cluster (Themis,
    NSDI 2020; Gavel, section 4.2); inf for a job that does not progress.
    """
    left, elapsed = required_steps(instance), instance.elapsed
    with np.errstate(divide="ignore"):
        ends = elapsed + left / throughput
        alone = elapsed + left / isolated_throughputs(instance)
    return np.asarray(ends / alone)


def cost(instance: Accelerators, solution: TimeShares) -> float:
    """Compute the cost per hour of the devices in use."""
    each = instance.workers[solution.first] * instance.device_cost[solution.device]
    return float(each @ solution.share)


def fastest_throughputs(instance: Accelerators) -> Floats:
    """Throughput (T,) in steps per second of a job that always runs on its fastest placement."""
    first, second, _, one, two, _ = instance.placements
    fastest, pair = np.zeros(instance.types), second >= 0
    np.maximum.at(fastest, first, one)
    np.maximum.at(fastest, second[pair], two[pair])
    return fastest


def scale(instance: Accelerators, objective: str, **options: object) -> float:
    """Approximate maximum of an objective of time shares: see `instances.problem.scale`."""
    if objective == "cost":
        return float(instance.device_cost @ instance.devices)
    there = instance.count > 0
    if objective == "makespan":
        alone = required_steps(instance)[there] / isolated_throughputs(instance)[there]
        return float(alone.max())
    if objective not in ("worst_throughput", "worst_entity_throughput", "mean_throughput"):
        return 1.0
    unit = entitlements(instance)
    if objective == "worst_entity_throughput":
        unit = unit / instance.weight * hierarchical_weights(instance)
    ratio = (fastest_throughputs(instance)[there]) / unit[there]
    return float(ratio.max() if objective == "mean_throughput" else ratio.min())


def envy(instance: Accelerators, solution: TimeShares) -> float:
    """Largest relative loss of a job's throughput compared with another job's shares, 0 to 1.

    A job in another's place runs where that one does, alone or beside the same jobs, for the same
    parts of its time, times its own weight over the other's. Only jobs that need equally many
    workers are compared; where a job cannot run it has no throughput. O(T k) for k shares.
    """
    from scipy.sparse import csr_array

    taken = np.zeros((instance.types, instance.types))  # of a job of the row in the column's place
    first, second, device, share = (
        solution.first, solution.second, solution.device, solution.share
    )  # fmt: skip
    for own, beside in ((first, second), (second, first)):
        rows = np.flatnonzero(own >= 0)
        if not len(rows):
            continue
        rate = _rates(instance, beside[rows], device[rows])
        part = share[rows] / (instance.count * instance.weight)[own[rows]]
        places = own[rows], np.arange(len(rows))
        taken += (csr_array((part, places), (instance.types, len(rows))) @ rate.T).T
    most = np.zeros(instance.types)
    for workers in np.unique(instance.workers).tolist():
        alike = np.flatnonzero((instance.workers == workers) & (instance.count > 0))
        most[alike] = taken[np.ix_(alike, alike)].max(axis=1, initial=0.0)
    most *= instance.weight
    behind = most - throughputs(instance, solution)
    return float(np.divide(behind, most, out=np.zeros(len(most)), where=most > 0).max(initial=0.0))


def _rates(instance: Accelerators, beside: Integers, device: Integers) -> Floats:
    """Throughput (T, k) in steps per second of a job of each type beside a job of the given type
    (-1: alone) on the given devices.
    """
    rate: Floats = instance.alone[:, device]
    pair = np.flatnonzero(beside >= 0)
    if len(pair) and instance.together is not None:
        shared = instance.together[:, beside[pair], device[pair]]
        rate[:, pair] = np.where(np.isfinite(shared), shared, 0.0)
    return rate

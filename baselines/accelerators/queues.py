"""Policies that give each job one device, or none, until the next decision."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np

from ...instances.accelerators.feasible import within_limits
from ...instances.accelerators.instance import Accelerators, Floats, Integers, TimeShares
from ...instances.accelerators.measures import required_steps
from ...instances.problem.option_types import Above, validate_options
from ...models.program import LinearProgram, ProgramBuilder
from ...solvers.engines import solve_program
from ...solvers.outcome import Clock

_LARGEST = 20_000
"""Columns of a matching of jobs and places at most."""


@validate_options
def fifo(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    device: Literal["random", "fastest"] = "random",
) -> TimeShares:
    """Jobs in the order of their submission, each alone on a free device until it ends; the first
    that finds none stops the queue.

    Parameters
    ----------
    rng : draws the order of jobs submitted at the same time, and the devices.
    device : a kind drawn from those that have room, or the one of the most throughput.

    Notes
    -----
    O(n log n). Gavel (OSDI 2020), section 4.2, and its policies for comparison: the first is
    agnostic of throughputs, the second aware of them.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "FIFO", seed=0)
    >>> print(result.status, result.metrics["starved"])
    feasible 2.0
    """
    draw = rng or np.random.default_rng(0)
    room = instance.devices.copy()
    running = np.zeros(instance.throughput.shape)
    kinds = np.arange(len(room))
    for job in _queue(instance, draw).tolist():
        free = kinds[(room >= instance.workers[job]) & (instance.alone[job] > 0)]
        if not len(free):
            break
        fast = free[np.argmax(instance.alone[job, free])]
        kind = fast if device == "fastest" else free[draw.integers(len(free))]
        running[job, kind] += 1
        room[kind] -= instance.workers[job]
    return _alone(instance, running)


@validate_options
def allox(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    alpha: Annotated[float, Above(0, "a share of the jobs", most=1)] = 0.3,
) -> TimeShares:
    """The first jobs of the queues that make the mean completion time least (AlloX).

    Jobs and the places of each device's queue are matched: the k-th job from a queue's end delays
    k jobs by its own time. Whoever is first in a queue runs; jobs of several workers take so many
    places.

    Parameters
    ----------
    rng : draws the order of jobs submitted at the same time.
    time_limit : seconds for the matching; when they are up the answer is that of FIFO.
    alpha : the share of jobs that are looked at, those submitted first, but at least as many as
        there are devices; fewer where queues of so many would make too large a program.

    Raises
    ------
    InvalidInstance
        The instance has no steps.

    Notes
    -----
    Le et al., AlloX (EuroSys 2020), section 4, a transportation program over types. It plans
    queues; running until the next decision only their first jobs is Gavel's comparison.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "AlloX", seed=0)
    >>> print(result.status, result.metrics["starved"])
    feasible 2.0
    """
    clock, draw = Clock(time_limit), rng or np.random.default_rng(0)
    required_steps(instance)
    # the program has a column for each type, kind of device that runs it, and place in a queue
    ways = int(((instance.alone > 0) & (instance.count > 0)[:, None]).sum())
    deepest = max(1, _LARGEST // ways)
    most = min(instance.jobs, max(instance.all_devices, int(alpha * instance.jobs)))
    most = min(most, max(1, deepest // 2) * instance.all_devices)
    count = np.bincount(_queue(instance, draw)[:most], minlength=instance.types)
    depth = min(2 * -(-most // instance.all_devices) + 1, deepest)
    while True:
        places = _places(instance, count, depth)
        found = None if clock.expired else solve_program(places.program, time_limit=clock.left)
        if found is None or found.point is None:
            return fifo(instance, rng=draw)
        number = np.floor(found.point[: len(places.type)] + 1e-6).astype(np.int64)
        # kinds of device whose deepest place is taken throughout need longer queues
        last = number * instance.workers[places.type] * (places.place == depth)
        full = np.bincount(places.device, last, len(instance.devices)) >= instance.devices
        if depth >= min(most, deepest) or not (full & (instance.devices > 0)).any():
            return _alone(instance, _first(instance, places, number))
        depth = min(2 * depth, most, deepest)


class _Places(NamedTuple):
    """Linear program that assigns jobs to positions in the devices' queues, and its columns.

    Attributes
    ----------
    type, device, place : (k,) of each column; the place from the end of the queue, from 1.
    time : (k,) seconds that the job takes.
    """

    type: Integers
    device: Integers
    place: Integers
    time: Floats
    program: LinearProgram


def _places(instance: Accelerators, count: Integers, depth: int) -> _Places:
    """Minimize the sum of completion times with a queue of `depth` positions on each device; a job
    without a position costs more than any.
    """
    kind, device = np.nonzero((instance.alone > 0) & (count > 0)[:, None])
    time = required_steps(instance)[kind] / instance.alone[kind, device]
    place = np.tile(np.arange(1, depth + 1), len(kind))
    kind, device, time = np.repeat(kind, depth), np.repeat(device, depth), np.repeat(time, depth)
    builder, unit = ProgramBuilder(), time.max() * depth
    columns = builder.columns(len(kind), cost=place * time / unit)
    without = builder.columns(instance.types, cost=2.0)
    workers = instance.workers[kind].astype(float)
    slots = device * depth + place - 1
    supply = np.repeat(instance.devices, depth)
    builder.sums(len(supply), (slots, columns, workers), upper=supply)
    types = np.arange(instance.types)
    builder.sums(
        instance.types, (kind, columns, 1.0), (types, without, 1.0), lower=count, upper=count
    )
    return _Places(kind, device, place, time, builder.build())


def _first(instance: Accelerators, places: _Places, number: Integers) -> Floats:
    """Number (T, D) of jobs of each type that run first on each kind of device.

    Shorter jobs go before longer ones.
    """
    running, room = np.zeros(instance.throughput.shape), instance.devices.copy()
    for column in np.lexsort((places.time, -places.place)).tolist():
        kind, device = int(places.type[column]), int(places.device[column])
        workers = int(instance.workers[kind])
        begun = min(int(number[column]), int(room[device]) // workers)
        running[kind, device] += begun
        room[device] -= begun * workers
    return running


def _queue(instance: Accelerators, rng: np.random.Generator) -> Integers:
    """Types of the jobs in the order of submission, random among jobs submitted together."""
    order = rng.permutation(np.repeat(np.arange(instance.types), instance.count))
    return np.asarray(order[np.argsort(-instance.elapsed[order], kind="stable")])


def _alone(instance: Accelerators, running: Floats) -> TimeShares:
    """Time shares of the `running` jobs of each type, each alone on its kind of device."""
    kind, device = np.nonzero(running)
    nobody = np.full(len(kind), -1)
    return within_limits(instance, kind, nobody, device, running[kind, device])

"""What an answer is: a simulated run of a policy (Simulation), or long-run flows (Flow); and the
checker of both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..problem.base import Solution, set_field
from ..problem.errors import InfeasibleSolution, InvalidInstance
from ..problem.fields import as_number, set_array
from .instance import Floats, Integers, Numa

LEVELS = (0.50, 0.95, 0.99)
"""The quantiles of the response time that a simulation reports."""

CURVE = (
    0.0,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    0.95,
    0.98,
    0.99,
    0.995,
    0.999,
)
"""The quantiles of the response time that a simulation's curve is made of."""

POLICIES: tuple[str, ...] = ("Local", "IP-1", "IP-2", "IB")
"""The four refusal policies of thesis section 4.3.2, least tolerant first."""

ROUNDING = 1e-6
"""A rate or a busy time may pass its limit by this fraction."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Solution):
    """What a policy did in a window of simulated time, and how sure its response times are.

    Parameters
    ----------
    policy : "Local", "IP-1", "IP-2", "IB", or "mix" (a policy drawn for each task).
    window : length of the window [s].
    arrived : (K,) tasks of each class that arrived in it.
    served : (K, D) tasks that finished in it, by class and distance of their data (0 hops, 1 hop,
        ..., another blade).
    waiting, running : (2,) tasks in the queue, and on cores, when the window begins and when it
        ends.
    refused : offers declined, in all, by the tasks that finished in the window.
    busy : (cores,) seconds each core was busy in the window.
    stable : whether the queue did not grow through the window; if it did, there is no long-run
        response time.
    growth : trend of the number of waiting tasks [1/s].
    response, response_error : (3,) median, 95th and 99th percentile of the response time [s] of the
        tasks that arrived in the window, and half the width of their 95 % confidence intervals; inf
        (JSON null) where the window is too short to say anything.
    mean_response, mean_response_error, mean_wait, mean_wait_error : the same for the means [s].
    curve : quantiles of the response time [s] at the levels of `CURVE`; empty when they were not
        kept.
    """

    problem: ClassVar[str] = "numa"

    policy: str
    window: float
    arrived: Integers
    served: Integers
    waiting: Integers
    running: Integers
    refused: int
    busy: Floats
    stable: bool
    growth: float
    response: Floats
    response_error: Floats
    mean_response: float
    mean_response_error: float
    mean_wait: float
    mean_wait_error: float
    curve: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        for name in ("arrived", "waiting", "running"):
            set_array(self, name, np.int64)
        set_array(self, "served", np.int64, 2)
        for name in ("busy", "response", "response_error", "curve"):
            set_array(self, name, float)
        for name in (
            "window",
            "growth",
            "mean_response",
            "mean_response_error",
            "mean_wait",
            "mean_wait_error",
        ):
            given, error = getattr(self, name), name.endswith("_error")
            value = as_number(name, np.inf if given is None and error else given)
            if not (np.isfinite(value) or (value == np.inf and error)):
                raise InvalidInstance(name, repr(given), "a number")
            set_field(self, name, value)
        set_field(self, "refused", int(self.refused))
        set_field(self, "stable", bool(self.stable))


@dataclass(frozen=True, eq=False, repr=False)
class Flow(Solution):
    """Long-run rates: how many tasks a second of each class go from the memory of their data to
    each processor.

    Parameters
    ----------
    throughput : tasks a second in all.
    flow : (K, L, P) tasks a second.
    """

    problem: ClassVar[str] = "numa"

    throughput: float
    flow: Floats

    def __post_init__(self) -> None:
        set_array(self, "flow", float, 3)
        set_field(self, "throughput", float(self.throughput))


def check(instance: Numa, solution: Simulation | Flow) -> None:
    """Decide whether an answer can be one to this instance: tasks are conserved and no core does
    more than it can.

    Raises
    ------
    InfeasibleSolution
        Naming the first rule that is broken, where, and by how much.
    """
    if isinstance(solution, Flow):
        _check_flow(instance, solution)
    else:
        _check_simulation(instance, solution)


def _check_flow(instance: Numa, solution: Flow) -> None:
    shape = (instance.classes, instance.processors, instance.processors)
    if solution.flow.shape != shape:
        raise InfeasibleSolution(
            f"flow has shape {solution.flow.shape}; this instance needs {shape}"
        )
    if not (
        np.isfinite(solution.flow).all()
        and solution.flow.min() >= 0
        and 0 <= solution.throughput < np.inf
    ):
        raise InfeasibleSolution("flow and throughput must be finite and not negative")
    owed = solution.throughput * instance.class_share[:, None] * instance.location_share
    missed = np.abs(solution.flow.sum(axis=2) - owed)
    if (missed > ROUNDING * solution.throughput).any():
        k, place = (int(i) for i in np.unravel_index(np.argmax(missed), missed.shape))
        raise InfeasibleSolution(
            f"{solution.flow[k, place].sum():g} tasks/s of class {instance.names[k]!r} leave "
            f"memory {place}; its share is "
            f"{owed[k, place]:g}"
        )
    work = processor_work(instance, solution)
    if (work > instance.cores * (1 + ROUNDING)).any():
        p = int(np.argmax(work))
        raise InfeasibleSolution(
            f"processor {p} is given {work[p]:g} seconds of work a second; it has "
            f"{instance.cores} cores"
        )


def _check_simulation(instance: Numa, run: Simulation) -> None:
    kinds = instance.classes
    wanted = {
        "arrived": (kinds,), "served": (kinds, instance.blade_distance + 1), "waiting": (2,),
        "running": (2,),
        "busy": (instance.all_cores,), "response": (len(LEVELS),), "response_error": (len(LEVELS),),
    }  # fmt: skip
    if len(run.curve):
        wanted["curve"] = (len(CURVE),)
    for name, shape in wanted.items():
        values = getattr(run, name)
        if values.shape != shape:
            raise InfeasibleSolution(
                f"{name} has shape {values.shape}; this instance needs {shape}"
            )
        unbounded = name == "response_error" and not np.isnan(values).any()
        if not ((unbounded or np.isfinite(values).all()) and (values >= 0).all()):
            raise InfeasibleSolution(f"{name} must be finite and not negative")
    if run.policy not in (*POLICIES, "mix"):
        raise InfeasibleSolution(
            f"policy is {run.policy!r}; the policies are {', '.join(POLICIES)} and mix"
        )
    if run.window <= 0 or run.refused < 0 or run.mean_response_error < 0 or run.mean_wait_error < 0:
        raise InfeasibleSolution(
            "the window must be longer than 0, and refusals and errors not negative"
        )
    inside = run.waiting + run.running
    if inside[0] + run.arrived.sum() != inside[1] + run.served.sum():
        raise InfeasibleSolution(
            f"{inside[0]} tasks were there and {run.arrived.sum()} arrived, but "
            f"{run.served.sum()} finished "
            f"and {inside[1]} are left"
        )
    if (run.running > instance.all_cores).any():
        raise InfeasibleSolution(
            f"{run.running.max()} tasks run at once; there are {instance.all_cores} cores"
        )
    if (run.busy > run.window * (1 + ROUNDING)).any():
        core = int(np.argmax(run.busy))
        raise InfeasibleSolution(
            f"core {core} is busy for {run.busy[core]:g} s of {run.window:g} s"
        )
    if (
        (np.diff(run.response) < 0).any()
        or (np.diff(run.curve) < 0).any()
        or not 0 <= run.mean_wait <= run.mean_response
    ):
        raise InfeasibleSolution(
            "response times must grow with their quantile, and waiting is part of them"
        )
    if run.served.sum() and not run.busy.sum() > 0:
        raise InfeasibleSolution(f"{run.served.sum()} tasks finished but no core was busy")
    _check_refusals(instance, run)


def _check_refusals(instance: Numa, run: Simulation) -> None:
    """Nobody declines more than the limit, and without a limit nobody runs farther away than the
    policy accepts.
    """
    if run.refused > instance.refusal_limit * max(run.served.sum(), 1):
        raise InfeasibleSolution(
            f"{run.refused} refusals by {run.served.sum()} tasks; the limit is "
            f"{instance.refusal_limit:g} each"
        )
    if run.policy in POLICIES and instance.refusal_limit == np.inf:
        beyond = run.served[:, reach(instance, run.policy) + 1 :].sum()
        if beyond:
            raise InfeasibleSolution(
                f"{beyond} tasks ran farther from their data than {run.policy} accepts"
            )


def reach(instance: Numa, policy: str) -> int:
    """The farthest distance at which a task that still refuses accepts a core: Local 0, IP-1 1,
    IP-2 the blade, IB any.

    On a mesh of more than two hops across, IP-2 keeps its rule in words: it refuses only another
    blade.
    """
    return {
        "Local": 0,
        "IP-1": min(1, instance.blade_distance - 1),
        "IP-2": instance.blade_distance - 1,
        "IB": instance.blade_distance,
    }[policy]


def processor_work(instance: Numa, solution: Flow) -> Floats:
    """(P,) seconds of work a second that the flows give each processor's cores."""
    each = instance.service_mean[:, None, None] * instance.slowdown[:, instance.distance]
    work: Floats = (solution.flow * each).sum(axis=(0, 1))
    return work


def flow_by_distance(instance: Numa, solution: Flow) -> Floats:
    """(K, D) tasks a second of each class at each distance from their data."""
    ranges = range(instance.blade_distance + 1)
    return np.stack(
        [(solution.flow * (instance.distance == d)).sum(axis=(1, 2)) for d in ranges], axis=1
    )

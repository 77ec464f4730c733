"""Feasibility of answers, flows by distance, and the answer as a table."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import AnswerTable, labels
from ..problem.errors import InfeasibleSolution, UnknownName
from ..problem.option_types import validate_options
from .instance import CURVE, LEVELS, POLICIES, Floats, Flow, Numa, Simulation

ROUNDING = 1e-6
"""A rate or a busy time may pass its limit by this fraction."""


@validate_options
def check(instance: Numa, solution: Simulation | Flow) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless tasks are conserved and no
    core is overloaded.
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
        k, memory = (int(i) for i in np.unravel_index(np.argmax(missed), missed.shape))
        raise InfeasibleSolution(
            f"{solution.flow[k, memory].sum():g} tasks/s of class {instance.names[k]!r} leave "
            f"memory {memory}; its share is {owed[k, memory]:g}"
        )
    work = processor_work(instance, solution)
    if (work > instance.cores * (1 + ROUNDING)).any():
        p = int(np.argmax(work))
        raise InfeasibleSolution(
            f"processor {p} is given {work[p]:g} seconds of work a second; it has "
            f"{instance.cores} cores"
        )


def _check_simulation(instance: Numa, run: Simulation) -> None:
    kinds = instance.classes  # 1. Shapes and ranges.
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
    inside = run.waiting + run.running  # 2. Conservation of tasks, and load of cores.
    if inside[0] + run.arrived.sum() != inside[1] + run.served.sum():
        raise InfeasibleSolution(
            f"{inside[0]} tasks were there and {run.arrived.sum()} arrived, but {run.served.sum()} "
            f"finished and {inside[1]} are left"
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
    if run.served.sum() and not run.busy.sum() > 0:  # 3. Work and refusals.
        raise InfeasibleSolution(f"{run.served.sum()} tasks finished but no core was busy")
    _check_refusals(instance, run)


def _check_refusals(instance: Numa, run: Simulation) -> None:
    """Raise InfeasibleSolution for a task that refuses more often than the limit or runs farther
    than it accepts.
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
    """Largest distance from its data at which a task that still refuses accepts a core: Local 0,
    IP-1 1, IP-2 the blade, IB any.

    On a mesh of more than two hops across, IP-2 refuses only another blade.

    Raises
    ------
    UnknownName
        There is no such policy.
    """
    if policy not in POLICIES:
        raise UnknownName("policy", policy, POLICIES)
    return {
        "Local": 0,
        "IP-1": min(1, instance.blade_distance - 1),
        "IP-2": instance.blade_distance - 1,
        "IB": instance.blade_distance,
    }[policy]


def processor_work(instance: Numa, solution: Flow) -> Floats:
    """Work (P,) of each processor's cores under the flows of tasks, in core seconds per second."""
    each = instance.service_mean[:, None, None] * instance.slowdown[:, instance.distance]
    work: Floats = (solution.flow * each).sum(axis=(0, 1))
    return work


def flow_by_distance(instance: Numa, solution: Flow) -> Floats:
    """(K, D) tasks per second of each class at each distance from their data."""
    ranges = range(instance.blade_distance + 1)
    return np.stack(
        [(solution.flow * (instance.distance == d)).sum(axis=(1, 2)) for d in ranges], axis=1
    )


def answer_table(
    instance: Numa, solution: Simulation | Flow, most: int | None = None
) -> AnswerTable:
    """Table of the share of each class's tasks that run at each distance from their data."""
    if isinstance(solution, Simulation):
        counts, window, who = solution.served.astype(float), solution.window, solution.policy
    else:
        counts, window, who = flow_by_distance(instance, solution), 1.0, "the flow"
    names = labels("class", instance.names, instance.classes)
    far = ["local", *(f"{hops} hop{'s' * (hops > 1)}" for hops in range(1, counts.shape[1] - 1))]
    far = [*far[: counts.shape[1] - 1], "another blade"]
    rates = counts.sum(axis=1) / window
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    shown = instance.classes if most is None else min(most, instance.classes)
    rows = tuple((names[kind], float(rates[kind]), *shares[kind].tolist()) for kind in range(shown))
    total = counts.sum(axis=0) / max(float(counts.sum()), np.finfo(float).tiny)
    parts = [f"{100 * share:.0f} % {name}" for name, share in zip(far, total, strict=True) if share]
    sentence = f"{who} runs {rates.sum():.4g} tasks/s: {', '.join(parts) or 'none'}"
    return AnswerTable(sentence, ("class", "tasks/s", *far), rows, instance.classes)

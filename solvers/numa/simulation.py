"""A policy, simulated: draws, run, statistics, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from ...instances.numa.answer import Simulation
from ...instances.numa.bounds import saturated_throughput
from ...instances.numa.instance import Floats, Numa
from ...instances.problem.errors import InvalidOption
from ..outcome import Clock, Outcome, Report, Status, Stop, validate_time_limit
from .draws import Draws, draw
from .statistics import BATCHES, measure
from .trajectory import Trajectory

Placement = Literal["nearest", "random"]
Engine = Literal["compiled", "python"]

MOST_TASKS = 50_000_000
"""About 5 GB of draws and results."""


def simulate_policy(
    instance: Numa,
    policy: str,
    reaches: int | Floats,
    *,
    rng: np.random.Generator | None,
    time_limit: float | None,
    report: Report | None,
    tasks: int,
    warmup: int | None,
    placement: Placement,
    engine: Engine,
    certificate: Mapping[str, Any] | None = None,
) -> Outcome:
    """Simulate `warmup` + `tasks` tasks and as many more as the warm-up, and measure those in the middle.

    The tasks after the window keep the load up while the last of the window wait. Seconds are those of the simulated
    server. See `baselines.numa.local` for the parameters.
    """
    validate_time_limit(time_limit)
    warm = validate_run(tasks, warmup, placement, engine)
    generator = rng or np.random.default_rng(0)
    clock = Clock(time_limit, report)
    draws = draw(instance, tasks + 2 * warm, reaches, generator)
    run, stop = _run(instance, draws, placement == "nearest", engine, clock)
    measured = min(tasks, run.arrived - 2 * warm)
    said: dict[str, Any] = dict(certificate or {})
    if measured < BATCHES:
        said["run"] = f"{run.arrived} tasks had arrived when it stopped; warming up takes {warm}"
        return Outcome(None, None, Status.UNKNOWN, stop, said)
    simulation, quality = measure(instance, draws, run, policy, warm, warm + measured)
    said |= _statement(instance, simulation, warm, measured) | quality
    return Outcome(simulation, None, Status.FEASIBLE, stop, said)


def validate_run(tasks: int, warmup: int | None, placement: str, engine: str) -> int:
    """Refuse options out of range; the number of tasks to warm up with, a tenth of the measured ones unless given."""
    if isinstance(tasks, bool) or not BATCHES <= tasks <= MOST_TASKS:
        raise InvalidOption(f"tasks is {tasks}; expected a number of tasks to measure, from {BATCHES} to {MOST_TASKS}")
    warm = max(1, tasks // 10) if warmup is None else warmup
    if isinstance(warm, bool) or not 1 <= warm <= MOST_TASKS:
        raise InvalidOption(f"warmup is {warm}; expected a number of tasks before those measured, from 1 to {MOST_TASKS}")
    for name, value, choices in (("placement", placement, Placement), ("engine", engine, Engine)):
        if value not in get_args(choices):
            raise InvalidOption(f"{name} is {value!r}; expected {' or '.join(get_args(choices))}")
    return warm


def _run(instance: Numa, draws: Draws, nearest: bool, engine: str, clock: Clock) -> tuple[Trajectory, Stop]:
    if engine == "python":
        from .twin import simulate_plainly

        return simulate_plainly(instance, draws, nearest=nearest), Stop.FINISHED
    from .engine import simulate

    late = False

    def go_on(arrived: int) -> bool:
        nonlocal late
        clock.note(None, None, f"{arrived} of {len(draws)} tasks have arrived")
        late = clock.over and arrived < len(draws)
        return not late

    run = simulate(instance, draws, nearest=nearest, go_on=go_on)
    return run, Stop.INTERRUPTED if run.interrupted else Stop.TIME_LIMIT if late else Stop.FINISHED


def _statement(instance: Numa, run: Simulation, warm: int, measured: int) -> dict[str, Any]:
    """What a reader needs to judge the run: its load, its length, its intervals."""
    said: dict[str, Any] = {"load": _load(instance, run), "window": f"{measured} tasks after {warm}, {run.window:.1f} s"}
    if run.policy == "IB" and run.stable and (clears := saturated_throughput(instance, "IB")) < instance.rate:
        said["metastable"] = (
            f"a long queue is cleared at {clears:.0f} tasks/s, less than arrive: after a burst, or by chance, it never "
            "drains (analysis.numa.sustained)"
        )
    if run.stable:
        named = zip(("p50", "p95", "p99"), run.response, run.response_error, strict=True)
        said["intervals"] = f"95 %, {BATCHES} batch means"
        said |= {f"{name} [s]": f"{value:.5f} +- {error:.5f}" for name, value, error in named}
        said["mean response [s]"] = f"{run.mean_response:.5f} +- {run.mean_response_error:.5f}"
    return said


def _load(instance: Numa, run: Simulation) -> str:
    if instance.overloaded:
        why = f"{instance.rate:g} tasks/s are {100 * instance.load:.0f} % of what all cores can do with local data"
        return f"unstable for every policy: {why}; response times have no long-run value and are left out"
    if not run.stable:
        return (
            f"unstable here: the queue grew by {run.growth:.1f} tasks/s to {run.waiting[1]}; response times have no long-run "
            "value and are left out (analysis.numa.sustained tells what this policy sustains)"
        )
    return f"stable in this window: {run.waiting[0]} tasks waited at its beginning, {run.waiting[1]} at its end"


__all__ = ["Engine", "Placement", "simulate_policy", "validate_run"]

"""Simulation of a policy: draws, run, statistics, and remarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from ...instances.numa.bounds import saturated_throughput
from ...instances.numa.instance import Floats, Numa, Simulation
from ...instances.problem.option_types import Between, validate_options
from ..outcome import Clock, Outcome, Report, Status, Stop
from .confidence import BATCHES
from .engine import Trajectory, simulate
from .random_inputs import Draws, draw
from .statistics import measure

Placement = Literal["nearest", "random"]

LONGEST = 1e100
"""Seconds of simulated time beyond which squares of times overflow."""

FINEST = 1e-13
"""A mean service time shorter than this fraction of the simulated time is lost in rounding."""

FASTEST, FEWEST = 2_500_000, 100_000
"""Tasks a second of a time limit (more are not drawn than could be simulated in it), and at least
so many.
"""

MOST_TASKS = 50_000_000
"""About 5 GB of draws and results."""

Tasks = Annotated[int, Between(BATCHES, MOST_TASKS, "a number of tasks to measure")]
Warmup = Annotated[int, Between(1, MOST_TASKS // 10, "a number of tasks before those measured")]


@validate_options
def simulate_policy(
    instance: Numa,
    policy: str,
    reaches: int | Floats,
    *,
    rng: np.random.Generator | None,
    time_limit: float | None,
    report: Report | None,
    tasks: Tasks,
    warmup: Warmup | None,
    placement: Placement,
    certificate: Mapping[str, Any] | None = None,
) -> Outcome:
    """Simulate `warmup` + `tasks` tasks and as many more as the warm-up, and measure those in the
    middle.

    The tasks after the window keep the load up while the last of the window wait. Seconds are those
    of the simulated server. See `baselines.numa.local` for the parameters.
    """
    warm = tenth(tasks) if warmup is None else warmup
    generator = rng or np.random.default_rng(0)
    clock = Clock(time_limit, report)
    wanted = tasks + 2 * warm
    most = wanted if time_limit is None else min(wanted, FASTEST * time_limit)  # it may be inf
    number = min(wanted, max(FEWEST, int(most)))
    draws = draw(instance, number, reaches, generator)
    if why := _unfit(instance, draws, min(warm, number // 12), min(warm + tasks, number - 1)):
        return Outcome(
            None, None, Status.UNKNOWN, Stop.FINISHED, {**(certificate or {}), "run": why}
        )
    run, stop = _run(instance, draws, placement == "nearest", clock)
    if number < wanted and stop is Stop.FINISHED:
        stop = Stop.TIME_LIMIT
    measured = min(tasks, run.arrived - 2 * warm)
    facts: dict[str, Any] = dict(certificate or {})
    if warmup is None and stop is not Stop.FINISHED and measured < tasks:
        warm = min(warm, run.arrived // 12)  # the warm-up keeps its proportion to what is measured
        measured = min(tasks, run.arrived - 2 * warm)
    if measured < BATCHES or warm < 1 or not draws.arrival[warm] < draws.arrival[warm + measured]:
        facts["run"] = f"{run.arrived} tasks had arrived when it stopped, too few to measure"
        return Outcome(None, None, Status.UNKNOWN, stop, facts)
    simulation, quality = measure(instance, draws, run, policy, warm, warm + measured)
    facts |= _statement(instance, simulation, warm, measured) | quality
    return Outcome(simulation, None, Status.FEASIBLE, stop, facts)


def _unfit(instance: Numa, draws: Draws, first: int, last: int) -> str:
    """Reason why drawn arrivals and service times are unfit for simulation in floats, or ""."""
    longest = float(instance.slowdown.max())
    with np.errstate(over="ignore", invalid="ignore"):
        whole = float(draws.arrival[-1] + draws.service.sum() * longest)
    if not whole < LONGEST:
        return f"arrivals and service times add up to {whole:g} s; expected less than {LONGEST:g} s"
    if not draws.arrival[first] < draws.arrival[last]:
        return (
            f"all tasks of the window arrive at one moment ({last - first} of them); "
            "simulate more, or a law of less variance"
        )
    if draws.service.mean() < FINEST * draws.arrival[-1]:
        return (
            f"service times of {draws.service.mean():g} s on average are lost in rounding "
            f"beside {draws.arrival[-1]:g} s of "
            "arrivals; the load is too light to simulate, or too few of the service times are "
            "above 0"
        )
    return ""


@validate_options
def tenth(tasks: Tasks) -> int:
    """Default number of warm-up tasks."""
    return max(1, tasks // 10)


def _run(instance: Numa, draws: Draws, nearest: bool, clock: Clock) -> tuple[Trajectory, Stop]:
    late = False

    def go_on(arrived: int) -> bool:
        nonlocal late
        clock.note(None, None, f"{arrived} of {draws.tasks} tasks have arrived")
        late = clock.expired and arrived < draws.tasks
        return not late

    run = simulate(instance, draws, nearest=nearest, go_on=go_on)
    return run, Stop.INTERRUPTED if run.interrupted else Stop.TIME_LIMIT if late else Stop.FINISHED


def _statement(instance: Numa, run: Simulation, warm: int, measured: int) -> dict[str, Any]:
    """Sentences on the load, length and intervals of the run."""
    facts: dict[str, Any] = {
        "load": _load(instance, run),
        "window": f"{measured} tasks after {warm}, {run.window:.1f} s",
    }
    if (
        run.policy == "IB"
        and run.stable
        and (clears := saturated_throughput(instance, "IB")) < instance.rate
    ):
        facts["metastable"] = (
            f"a long queue is cleared at {clears:.0f} tasks/s, less than arrive: after a "
            "burst, or by chance, it never "
            "drains (analysis.numa.sustained)"
        )
    if run.stable:
        named = zip(("p50", "p95", "p99"), run.response, run.response_error, strict=True)
        facts["intervals"] = f"95 %, {BATCHES} correlated batches"
        facts |= {f"{name} [s]": _with_error(value, error) for name, value, error in named}
        facts["mean response [s]"] = _with_error(run.mean_response, run.mean_response_error)
    return facts


def _with_error(value: float, error: float) -> str:
    return (
        f"{value:.5f} +- {error:.5f}"
        if error < np.inf
        else f"{value:.5f}, too few tasks for an interval"
    )


def _load(instance: Numa, run: Simulation) -> str:
    if instance.overloaded:
        why = (
            f"{instance.rate:g} tasks/s are {100 * instance.load:.6g} % of what all cores "
            "can do with local data"
        )
        return (
            f"unstable for every policy: {why}; response times have no long-run value and "
            "are left out"
        )
    if not run.stable:
        return (
            f"unstable here: the queue grew by {run.growth:.1f} tasks/s to {run.waiting[1]}; "
            "response times have no long-run "
            "value and are left out (analysis.numa.sustained tells what this policy sustains)"
        )
    return (
        f"stable in this window: {run.waiting[0]} tasks waited at its beginning, "
        f"{run.waiting[1]} at its end"
    )

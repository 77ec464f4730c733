"""Statistics of a simulation: counts in a window, response times with confidence intervals,
stability.
"""

from __future__ import annotations

import numpy as np

from ...instances.numa.instance import CURVE, Floats, Numa, Simulation
from .confidence import mean_error, quantiles, wait_error
from .engine import Trajectory
from .random_inputs import Draws

SAMPLES = 200
"""Points in time at which the number of waiting tasks is looked at."""

GROWING = 0.005
"""A queue that keeps this share of the arrivals, and more tasks than there are cores, is
growing.
"""


def measure(
    instance: Numa, draws: Draws, run: Trajectory, policy: str, first: int, last: int
) -> tuple[Simulation, dict[str, float]]:
    """Measure a simulation from the arrival of task `first` to that of `last` (exclusive), and the
    correlation between neighboring batches of response times.

    Response times are those of the tasks that arrived in the window, wherever they end; everything
    else is counted at the moment it happens. Confidence intervals: see `confidence`.

    Parameters
    ----------
    first, last : arrivals; task `last` must have arrived too.
    """
    # 1. the tasks seen, and the window
    begin, end = float(draws.arrival[first]), float(draws.arrival[last])
    seen = slice(0, run.arrived)
    arrival, start, finish = draws.arrival[seen], run.start[seen], run.finish(instance, draws)[seen]
    away, kind = run.distance(instance, draws)[seen], draws.kind[seen]
    # 2. tasks of each class done in the window, by distance
    served = np.zeros((instance.classes, instance.blade_distance + 1), dtype=np.int64)
    done = (finish >= begin) & (finish < end)
    np.add.at(served, (kind[done], away[done]), 1)
    # 3. tasks waiting and running at both ends of the window
    index = np.arange(run.arrived)
    inside = [
        ((index < task) & (start >= when)).sum() for task, when in ((first, begin), (last, end))
    ]
    running = [
        ((index < task) & (start < when) & (finish >= when)).sum()
        for task, when in ((first, begin), (last, end))
    ]
    # 4. how long each core was busy within it
    overlap = np.clip(np.minimum(finish, end) - np.maximum(start, begin), 0.0, None)
    busy: Floats = np.bincount(
        run.core[seen], weights=overlap, minlength=instance.all_cores
    ).astype(float)
    # 5. response times and waits of the tasks that arrived in it
    response = (finish - arrival)[first:last]
    wait = (start - arrival)[first:last]
    # 6. whether the queue grew faster than chance lets a stable one grow
    growth = _growth(arrival, np.sort(start), begin, end)
    kept = growth * (end - begin)
    stable = not instance.overloaded and not (
        kept > GROWING * (last - first) and kept > instance.all_cores
    )
    levels, level_error, correlation = quantiles(response)
    simulation = Simulation(
        policy=policy,
        window=end - begin,
        arrived=np.bincount(kind[first:last], minlength=instance.classes),
        served=served,
        waiting=np.array(inside),
        running=np.array(running),
        refused=int(run.refusals[seen][done].sum()),
        busy=busy,
        stable=stable,
        growth=growth,
        response=levels,
        response_error=level_error,
        mean_response=float(response.mean()),
        mean_response_error=mean_error(response),
        mean_wait=float(wait.mean()),
        mean_wait_error=wait_error(wait, response),
        curve=np.maximum.accumulate(
            np.quantile(response, CURVE)
        ),  # interpolation may fall short of the one before by rounding
    )
    return simulation, {"batch_correlation": correlation}


def _growth(arrival: Floats, start: Floats, begin: float, end: float) -> float:
    """Least-squares slope [1/s] of the number of waiting tasks at SAMPLES points of the window;
    `start` is sorted.
    """
    when = np.linspace(begin, end, SAMPLES)
    waiting = np.searchsorted(arrival, when, side="right") - np.searchsorted(
        start, when, side="right"
    )
    centered = when - when.mean()
    spread = float(centered @ centered)
    return float(centered @ waiting / spread) if spread > 0 else 0.0

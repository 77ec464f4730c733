"""Studies of what the thesis leaves out or only claims: hot data, and a queue per processor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.numa.feasible import reach
from ...instances.numa.generators import blade_server
from ...instances.numa.instance import Numa
from ...solvers.numa.engine import simulate
from ...solvers.numa.random_inputs import draw
from ...solvers.numa.simulation import tenth
from ..charts import chart
from ..experiment import Parts, Variations, compare, draws, each
from . import PAPER

QUEUES: Variations = {
    **draws(), "the benchmark": each("benchmark", "S6", "P12"),
    "the refusal limit": each("refusal_limit", 10.0, 1000.0, None),
}  # fmt: skip

IDLE = 1e-5
"""A mean wait [s] below which there is hardly a wait to vary: a task takes 40 ms."""


@PAPER.experiment("queues", "section 4.3.2", seconds=60, variations=QUEUES)
def queues(
    *,
    seed: int = 0,
    tasks: int = 300_000,
    benchmark: str = "M10",
    refusal_limit: float | None = 100.0,
) -> Parts:
    """One queue against one per processor: mean and variance of the wait.

    Parameters
    ----------
    tasks : tasks that are measured, after a tenth as many.
    benchmark : keys of Table 4.2 joined by commas, "MI", "CI" or "all".
    refusal_limit : offers a task declines at most; None for no limit.
    """
    bars: dict[str, dict[str, float]] = {}
    limit = "none" if refusal_limit is None else f"{refusal_limit:g}"
    for rate in (4000.0, 5000.0, 5500.0):
        server: Any = {"benchmark": benchmark, "rate": rate, "refusal_limit": refusal_limit}
        for policy in ("Local", "IP-1", "IP-2"):
            one, several = (
                _waits(blade_server(queues=kind, **server), policy, tasks, seed)
                for kind in ("one", "per-processor")
            )
            for label, wait in (("one queue", one), ("one queue per processor", several)):
                bars.setdefault(label, {})[f"{policy}, {rate:g}/s"] = round(1e3 * wait[1], 4)
            mean, spread = (
                new / old - 1 if old > 0 else 0.0 for new, old in zip(several, one, strict=True)
            )
            yield compare(f"{policy}, {rate:g}/s: wait of one queue, one per processor",
                "same mean, larger variance",
                f"mean {1e3 * one[0]:.3f}, {1e3 * several[0]:.3f} ms ({100 * mean:+.1f} %); "
                f"deviation {1e3 * one[1]:.3f}, {1e3 * several[1]:.3f} ms ({100 * spread:+.1f} %)",
                abs(mean) <= 0.05 and spread > 0, f"{benchmark}, refusal limit {limit}",
                f"the load: almost no task waits, {1e3 * one[0]:.1g} ms on average"
                if one[0] < IDLE else "")  # fmt: skip
    title = "Deviation of the wait, one queue against one per processor"
    label = "standard deviation of the wait [ms]"
    yield chart("numa-queues", title, "policy and arrivals", label, bars)


def _waits(instance: Numa, policy: str, tasks: int, seed: int) -> tuple[float, float]:
    """Mean and standard deviation of tasks' waiting time in the queue [s]."""
    warm = tenth(tasks)
    draws = draw(instance, tasks + 2 * warm, reach(instance, policy), np.random.default_rng(seed))
    run = simulate(instance, draws)
    wait = (run.start - draws.arrival)[warm : warm + tasks]
    return float(wait.mean()), float(wait.std())

"""What the thesis leaves out or only claims: hot data, and a queue per processor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...analysis.numa.metrics import link_power
from ...analysis.numa.sustained import MIXES, sustained_pair
from ...instances.numa.answer import POLICIES
from ...instances.numa.feasible import reach
from ...instances.numa.generators import Data, blade_server
from ...instances.numa.instance import Numa
from ...instances.problem import EngineError
from ...solvers.numa.engine import simulate
from ...solvers.numa.fluid import fluid, fluid_power
from ...solvers.numa.random_inputs import draw
from ...solvers.numa.simulation import tenth
from ..charts import chart
from ..experiment import Finding, Parts, Variations, addition, compare, draws, each
from . import BEYOND, PAPER
from .throughput import simulated

QUEUES: Variations = {
    **draws(), "the benchmark": each("benchmark", "S6", "P12"),
    "the refusal limit": each("refusal_limit", 10.0, 1000.0, None),
}  # fmt: skip

DATA: tuple[tuple[Data, float], ...] = (("uniform", 0.0), ("hot-memory", 0.25), ("hot-blade", 0.5))
"""Where the data is, and the share of the tasks with data there."""


IDLE = 1e-5
"""A mean wait [s] below which there is hardly a wait to vary: a task takes 40 ms."""


@BEYOND.experiment("hot-data", seconds=30)
def hot_data(
    *,
    seed: int = 0,
    tasks: int = 500_000,
    runs: int = 1,
    tolerance: float = 0.005,
    benchmark: str = "S6",
    refusal_limit: float | None = 100.0,
) -> Parts:
    """What policies sustain with a hot memory or blade, beside the most any placement could.

    Parameters
    ----------
    tasks, runs, tolerance : as of `analysis.numa.sustained.sustained`.
    benchmark : keys of Table 4.2 joined by commas, "MI", "CI" or "all".
    refusal_limit : offers a task declines at most; None for no limit.
    """
    for data, hot in DATA:
        instance = blade_server(
            benchmark=benchmark, data=data, hot=hot, refusal_limit=refusal_limit
        )
        where = data if data == "uniform" else f"{data}, {100 * hot:.0f} %"
        yield from _beside_the_bound(instance, where, tasks, runs, tolerance, seed)
        yield from _least_power(instance, where, tasks, seed)


def _beside_the_bound(
    instance: Numa, where: str, tasks: int, runs: int, tolerance: float, seed: int
) -> Iterator[Finding]:
    """The fluid program's bound, and what each policy and mix sustains."""
    outcome = fluid(instance)
    if outcome.bound is None:
        raise EngineError("the fluid program was not solved")
    uniform = np.allclose(instance.location_share, 1 / instance.processors)
    local = "all local, which says nothing of placement"
    yield addition(f"{where}: most of any placement [tasks/s]", f"{outcome.bound:.0f}",
        local if uniform else f"status {outcome.status.value}")  # fmt: skip
    for policy in (*POLICIES, *MIXES):
        empty, saturated = sustained_pair(
            instance, policy, tasks=tasks, runs=runs, tolerance=tolerance, seed=seed
        )
        below = 100 * (1 - empty.rate / outcome.bound)
        yield addition(f"{where}, {policy}: sustained [tasks/s]",
            f"{empty.rate:.0f} from empty ({below:.1f} % below), {saturated.rate:.0f} from "
            "saturated", f"brackets of {empty.failed - empty.rate:.3g}")  # fmt: skip


def _least_power(instance: Numa, where: str, tasks: int, seed: int) -> Iterator[Finding]:
    """Link power of each policy at the instance's rate beside the least of any placement."""
    outcome = fluid_power(instance)
    if outcome.bound is not None:
        runs = {policy: simulated(instance, policy, tasks, seed) for policy in POLICIES}
        words = ", ".join(
            f"{policy} {link_power(instance, run):.2f} W{'' if run.stable else ' (unstable)'}"
            for policy, run in runs.items()
        )
        yield addition(f"{where}: link power at {instance.rate:g} tasks/s",
            f"at least {outcome.bound:.2f} W in the long run; {words}",
            outcome.status.value)  # fmt: skip


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
                f"the load: next to nobody waits, {1e3 * one[0]:.1g} ms on average"
                if one[0] < IDLE else "")  # fmt: skip
    title = "Deviation of the wait, one queue against one per processor"
    label = "standard deviation of the wait [ms]"
    yield chart("numa-queues", title, "policy and arrivals", label, bars)


def _waits(instance: Numa, policy: str, tasks: int, seed: int) -> tuple[float, float]:
    """Mean and standard deviation of the time in the queue [s]."""
    warm = tenth(tasks)
    draws = draw(instance, tasks + 2 * warm, reach(instance, policy), np.random.default_rng(seed))
    run = simulate(instance, draws)
    wait = (run.start - draws.arrival)[warm : warm + tasks]
    return float(wait.mean()), float(wait.std())

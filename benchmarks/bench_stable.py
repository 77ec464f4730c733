"""How long `stable` takes to prove the fewest blocking pairs, beside the policies it is compared
with.

    python benchmarks/bench_stable.py [--seeds N] [--limit S] [--family F]...

Every row is a family, with how many runs were proved, the fewest blocking pairs seen, and seconds
(median and worst, after one warm-up), and the most seconds of the processor, its solvers' processes
included.
Strict instances, and ties without the second level, have a bench of their own,
`bench_roommates.py`.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from form import Rows, parser, timed

import cotenant
from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.generators import (
    population,
    random_preferences,
    score_preferences,
)


def types_with_counts(types: int, agents: int, rng: np.random.Generator) -> Colocation:
    """Many types: sensitivity times pressure with noise, counts at random."""
    penalty = rng.uniform(0.2, 1, types)[:, None] * rng.uniform(0, 0.5, types) + rng.normal(
        0, 0.02, (types, types)
    )
    return Colocation(
        penalty.clip(-0.02, 0.9).round(4),
        rng.multinomial(agents, np.ones(types) / types),
        name=f"{types} types",
    )


def rounded(agents: int, digits: int, rng: np.random.Generator) -> Colocation:
    """Agents all different, with many ties."""
    made = score_preferences(agents=agents, rng=rng)
    return made.replace(penalty=np.round(made.penalty, digits))


def uniform(agents: int, digits: int, rng: np.random.Generator) -> Colocation:
    """Agents all different, penalties uniform with few or many ties."""
    return Colocation(np.round(rng.random((agents, agents)), digits), np.ones(agents))


FAMILIES: dict[str, tuple[Callable[[np.random.Generator], Colocation], float]] = {
    "20 types, 1,000 agents": (lambda rng: population(agents=1000, rng=rng), 0.0),
    "20 types, 1,000,000 agents": (lambda rng: population(agents=1_000_000, rng=rng), 0.0),
    "20 types, 1,000 agents, alpha .02": (lambda rng: population(agents=1000, rng=rng), 0.02),
    "100 types, 1,000 agents": (lambda rng: types_with_counts(100, 1000, rng), 0.0),
    "100 types, 200 agents": (lambda rng: types_with_counts(100, 200, rng), 0.0),
    "50 types, 100 agents": (lambda rng: types_with_counts(50, 100, rng), 0.0),
    "100 different, scores, alpha .01": (lambda rng: score_preferences(agents=100, rng=rng), 0.01),
    "100 different, low noise, alpha .002": (
        lambda rng: score_preferences(agents=100, noise=0.03, rng=rng),
        0.002,
    ),
    "100 different, uniform, alpha .01": (
        lambda rng: random_preferences(agents=100, rng=rng),
        0.01,
    ),
    "100 different, ties": (lambda rng: rounded(100, 2, rng), 0.0),
    "1000 different, no ties": (lambda rng: score_preferences(agents=1000, rng=rng), 0.0),
    "200 different, uniform, 6 decimals": (lambda rng: uniform(200, 6, rng), 0.0),
    "500 different, uniform, 6 decimals": (lambda rng: uniform(500, 6, rng), 0.0),
    "500 different, uniform, 4 decimals": (lambda rng: uniform(500, 4, rng), 0.0),
    "500 different, uniform, 2 decimals": (lambda rng: uniform(500, 2, rng), 0.0),
}


def processor_seconds() -> float:
    """Of this process and those it has ended."""
    return sum(
        resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def main() -> None:
    """Run the families and the policies."""
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=3)
    command.add_argument("--limit", type=float, default=20.0)
    command.add_argument("--family", action="append", choices=list(FAMILIES))
    chosen = command.parse_args()
    rows = Rows(chosen.json)
    cotenant.solve(cotenant.read("colocation/no-stable-4"), "stable", alpha=0.01)
    cotenant.solve(cotenant.read("colocation/cooper-1000"), "stable")
    for name in chosen.family or FAMILIES:
        make, alpha = FAMILIES[name]
        seconds, spent, values, proved, both = [], [], [], 0, 0
        for seed in range(chosen.seeds):
            instance = make(np.random.default_rng(seed))
            if instance.agents % 2:
                continue
            begin, worked = time.perf_counter(), processor_seconds()
            result = cotenant.solve(instance, "stable", alpha=alpha, time_limit=chosen.limit)
            seconds.append(time.perf_counter() - begin)
            spent.append(processor_seconds() - worked)
            values.append(int(result.objective or 0))
            proved += result.status.value == "optimal"
            both += all(level["status"] == "optimal" for level in result.certificate["levels"])
        rows.add(
            "stable", family=name, runs=len(seconds), proved=proved, both_levels=both,
            fewest=f"{min(values)}-{max(values)}", wall=median(seconds), most_wall=max(seconds),
            most_cpu=max(spent),
        )  # fmt: skip
    large = population(agents=10_000, rng=np.random.default_rng(0))
    for name in ("SMR", "GR", "SMP", "CO"):
        _, wall, cpu = timed(lambda name=name: cotenant.solve(large, name), 3)  # type: ignore[misc]
        rows.add("policies, 20 types, 10,000 agents", policy=name, wall=wall, cpu=cpu, target=5.0)


if __name__ == "__main__":
    main()

"""Methods of preference lists: seconds of the processor, and what is proved within a limit.

    python benchmarks/bench_lists.py            # minutes; --quick for a glance

uniform: complete lists drawn uniformly. two sides: half of the agents rank the other half, both
uniformly. types: 20 types of 1 to 7 agents with uniform penalties, and populations of a thousand
jobs of 20 types. Every kernel is compiled before a clock starts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from form import Rows, parser, timed

from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.generators import from_scores, population, random_preferences
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.colocation.stable_choices import egalitarian, least_regret
from cotenant.solvers.colocation.to_roommates import lists_of_agents
from cotenant.solvers.roommates.stable_matchings import stable_matchings

LIMIT = 60.0
"""Seconds for each run, of which other work on the machine may take a part."""

Ask = Callable[[Colocation], bool]
"""Whether the answer is proved."""


def every_stable(instance: Colocation) -> bool:
    """List all stable matchings."""
    lists = lists_of_agents(instance)
    assert lists is not None
    return sum(1 for _ in stable_matchings(lists.place)) >= 0


def proved(method: Callable[..., Any], **options: Any) -> Ask:
    """Whether all levels of a method's answer are proved, or that there is none."""

    def ask(instance: Colocation) -> bool:
        found = method(instance, **options)
        levels = found.certificate.get("levels", ())[1:] if method is not stable else ()
        return found.status in ("optimal", "infeasible") and all(
            level["status"] == "optimal" for level in levels
        )

    return ask


def instances(family: str, agents: int, seed: int) -> Colocation:
    """One instance of a family."""
    rng = np.random.default_rng([seed, agents])
    if family == "uniform":
        return random_preferences(agents=agents, rng=rng)
    if family == "two sides":
        scores, half = rng.random((agents, agents)), agents // 2
        scores[:half, :half] = scores[half:, half:] = np.inf
        return from_scores(scores, name="two-sides", source="drawn", incomplete=True)
    if family == "population":
        return population(agents=agents, rng=rng)
    count = rng.integers(1, 8, agents)
    count[0] += count.sum() % 2
    return Colocation(np.round(rng.random((agents, agents)), 3), count)


# what, family, agents or types, how, seconds asked for
CASES: list[tuple[str, str, int, Ask, float | None]] = [
    ("all stable", "uniform", 100, every_stable, 1),
    ("all stable", "two sides", 200, every_stable, None),
    ("egalitarian", "uniform", 200, proved(egalitarian, time_limit=LIMIT), 5),
    ("egalitarian", "two sides", 200, proved(egalitarian, time_limit=LIMIT), 5),
    ("minimum-regret", "uniform", 200, proved(least_regret), 5),
    ("minimum-regret", "two sides", 200, proved(least_regret), 5),
    ("agents", "uniform", 100, proved(stable, objective="agents", time_limit=LIMIT), 10),
    ("minimax", "uniform", 200, proved(stable, objective="minimax", time_limit=LIMIT), 10),
    ("minimax", "types", 20, proved(stable, objective="minimax", time_limit=LIMIT), 10),
    ("minimax", "population", 1000, proved(stable, objective="minimax", time_limit=LIMIT), 10),
    ("agents", "population", 1000, proved(stable, objective="agents", time_limit=LIMIT), None),
]


def main() -> None:
    """Print the table."""
    made = parser(__doc__)
    made.add_argument("--quick", action="store_true", help="three instances each, not twenty")
    options = made.parse_args()
    rows, seeds = Rows(options.json), 3 if options.quick else 20
    for what, family, size, ask, asked in CASES:
        ask(instances(family, size, seeds))  # what is compiled and loaded
        runs = [timed(partial(ask, instances(family, size, seed))) for seed in range(seeds)]
        seconds, done = [run.cpu for run in runs], sum(run.value for run in runs)
        rows.add(
            f"{seeds} instances each, processor seconds", what=f"{what}, {family}", size=size,
            median=statistics.median(seconds), most=max(seconds), proved=done, asked=asked,
            met=None if asked is None else max(seconds) <= asked and done == seeds,
        )  # fmt: skip


if __name__ == "__main__":
    main()

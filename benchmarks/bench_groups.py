"""How long the methods of groups take, and how near the optimum the policies come.

    python benchmarks/bench_groups.py [--only TABLE] [--draws 3]

Targets stand in the last column. Processor seconds are this process's.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from bench_colocation import different
from form import Rows, parser, timed

from cotenant.baselines import groups as policies
from cotenant.instances.groups import Groups, groups_from
from cotenant.instances.groups.generators import additive, pressure
from cotenant.instances.groups.stability import mean_penalty
from cotenant.solvers.colocation import optimal as optimal_pairs
from cotenant.solvers.groups.core import core, least_alpha
from cotenant.solvers.groups.optimal import GroupLimits, optimal
from cotenant.solvers.outcome import Outcome

MODELS = {"additive": additive, "pressure": pressure}


def drawn(model: str, types: int, seats: int, jobs: int, seed: int) -> Groups:
    """Jobs of so many types."""
    made: Groups = MODELS[model](
        types=types, seats=seats, jobs=jobs, rng=np.random.default_rng(seed)
    )
    return made


def within(outcome: Outcome, gap: float) -> float | None:
    """Seconds until value and bound were so near, as a fraction of the value."""
    for seconds, value, bound in outcome.trace:
        if value is not None and bound is not None and value - bound <= gap * abs(value):
            return round(seconds, 2)
    return None


def optima(rows: Rows, draws: int) -> None:
    """Least mean penalty, ten seconds at most."""
    for types, seats, jobs, gap, target in (
        (20, 4, 1000, 0.0005, "proved in 3 s, .05 % in .2 s"),
        (20, 6, 996, 0.005, ".5 % in 3 s"),
        (50, 4, 1000, 0.005, ".5 % in 3 s"),
        (100, 3, 999, 0.005, ".5 % in 2 s"),
        (20, 3, 999, 0.0005, ""),
    ):
        for model in MODELS:
            for seed in range(1, draws + 1):
                instance = drawn(model, types, seats, jobs, seed)
                run = timed(partial(optimal, instance, time_limit=10))
                _, value, bound = run.value.trace[-1]
                rows.add(
                    "optimal",
                    case=f"{types} types, {seats} seats, {model} {seed}",
                    status=str(run.value.status),
                    gap=f"{100 * (value - bound) / value:.4f} %",
                    near=within(run.value, gap),
                    wall=run.wall,
                    cpu=run.cpu,
                    target=target,
                )


def pairs(rows: Rows, draws: int) -> None:
    """Different jobs on machines of two seats, by blossoms and by programs over listed groups; the
    same as a colocation; and the policy that is one matching.
    """
    for jobs in (200, 500, 1_000):
        for family in ("uniform", "plane", "scores"):
            pairs = different(jobs, family)
            pairs = pairs.replace(penalty=pairs.penalty.round(6))
            instance = groups_from(pairs, seats=2)
            listed = GroupLimits(routes=frozenset())
            optimal(instance)
            run = timed(partial(optimal, instance), draws)
            other = timed(partial(optimal, instance, time_limit=120, limits=listed))
            policy = timed(partial(policies.hierarchical, instance))
            beside = timed(partial(optimal_pairs, pairs), draws)
            # penalties are whole numbers of 1e-6, and so are all totals
            reached = mean_penalty(instance, run.value.solution)
            means = [reached, run.value.bound, beside.value.bound]
            assert len({round(mean * jobs * 10**6) for mean in means}) == 1
            rows.add(
                "pairs", case=f"{jobs} different, {family}", status=str(run.value.status),
                cpu=run.cpu, listed=other.cpu, status_listed=str(other.value.status),
                colocation=beside.cpu, policy=policy.cpu,
                above=f"{100 * (mean_penalty(instance, policy.value) / reached - 1):.1f} %",
            )  # fmt: skip


def stability(rows: Rows, draws: int) -> None:
    """The core at one point, and the least alpha: 20 types, 999 jobs on 3 seats, 1,000 on 4."""
    for seats, name, method, target in (
        (3, "core", partial(core, alpha=0.01, time_limit=30), "15 s"),
        (3, "least alpha", partial(least_alpha, time_limit=60), ""),
        (4, "core", partial(core, alpha=0.01, time_limit=30), ""),
        (4, "least alpha", partial(least_alpha, time_limit=30), ""),
    ):
        for model in MODELS:
            for seed in range(1, draws + 1):
                instance = drawn(model, 20, seats, 1000 - 1000 % seats, seed)
                run = timed(partial(method, instance))
                first, second = run.value.certificate["levels"]
                rows.add(
                    name,
                    case=f"{seats} seats, {model} {seed}",
                    first=first["status"],
                    value=first["value"],
                    penalty=second["value"],
                    second=second["status"],
                    wall=run.wall,
                    cpu=run.cpu,
                    target=target,
                )


def rules(rows: Rows, draws: int) -> None:
    """The policies: 20 types, 4 seats; how far above the least penalty, and at 100,000 jobs."""
    for model in MODELS:
        few = [drawn(model, 20, 4, 1000, seed) for seed in range(1, draws + 1)]
        least = [optimal(instance, time_limit=5).bound or 0.0 for instance in few]
        many = drawn(model, 20, 4, 100_000, 1)
        for name in policies.__all__:
            policy = getattr(policies, name)
            above = [
                100 * (mean_penalty(instance, policy(instance)) / bound - 1)
                for instance, bound in zip(few, least, strict=True)
            ]
            run = timed(partial(policy, many))
            rows.add(
                "policies",
                policy=f"{model}: {name}",
                above=f"{min(above):.1f} to {max(above):.1f} %",
                wall=run.wall,
                cpu=run.cpu,
                target="1 s at 100,000 jobs",
            )


TABLES = {"optimal": optima, "pairs": pairs, "core": stability, "policies": rules}


def main() -> None:
    """Print the tables."""
    made = parser(__doc__)
    made.add_argument("--only", choices=TABLES, help="one table")
    made.add_argument("--draws", type=int, default=3)
    options = made.parse_args()
    rows = Rows(options.json)
    optimal(drawn("additive", 3, 3, 30, 0))  # imports
    for name, table in TABLES.items():
        if options.only in (None, name):
            table(rows, options.draws)


if __name__ == "__main__":
    main()

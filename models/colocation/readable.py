"""Colocation programs in Pyomo, written to be read; solvers build them as arrays, a hundred times
faster.

Indices are numbers, in the order of the instance: the type "web" is `instance.names.index("web")`.

Pass a model through `cotenant.models.program.from_pyomo` and
`cotenant.solvers.engines.solve_program`.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from ...instances.colocation.instance import Colocation
from ...instances.colocation.stability import AlphaMode, gains, validate_alpha
from ...instances.problem.option_types import validate_options


@validate_options
def predictor(instance: Colocation) -> Any:
    """Pyomo model that minimizes the mean penalty of the agents.

    Sets `types` (those with agents), `pairs` (allowed, a <= b); variables `x[a, b]` processors with
    such a pair, `single[a]` jobs without a co-runner; expressions `beside[a, b]` a-agents beside b,
    `total_penalty`.
    """
    # 1. sets and variables
    count, penalty = instance.count.tolist(), instance.penalty
    model = pyo.ConcreteModel(name="colocation")
    model.types = pyo.Set(initialize=instance.present.tolist())
    model.pairs = pyo.Set(
        dimen=2,
        initialize=[
            (a, b) for a in model.types for b in model.types if a <= b and instance.allowed[a, b]
        ],
    )
    model.x = pyo.Var(
        model.pairs,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, a, b: (0, min(count[a], count[b])),
    )
    model.single = pyo.Var(
        model.types, domain=pyo.NonNegativeIntegers, bounds=lambda m, a: (0, count[a])
    )

    @model.Expression(model.types, model.types)
    def beside(m: Any, a: int, b: int) -> Any:
        pair = (min(a, b), max(a, b))
        return m.x[pair] * (2 if a == b else 1) if pair in m.pairs else 0

    # 2. rows and the objective
    @model.Constraint(model.types)
    def everyone_is_placed_once(m: Any, a: int) -> Any:
        return sum(m.beside[a, b] for b in m.types) + m.single[a] == count[a]

    @model.Constraint()
    def machines_suffice(m: Any) -> Any:
        return sum(m.single[a] for a in m.types) <= instance.singles_allowed

    @model.Expression(model.types)
    def type_penalty(m: Any, a: int) -> Any:
        paired = sum(penalty[a, b] * m.beside[a, b] for b in m.types if instance.allowed[a, b])
        return paired + instance.single_penalty * m.single[a]

    model.total_penalty = pyo.Expression(expr=sum(model.type_penalty[a] for a in model.types))
    model.mean_penalty = pyo.Objective(
        expr=model.total_penalty / instance.agents, sense=pyo.minimize
    )
    return model


@validate_options
def stable_model(
    instance: Colocation, alpha: float = 0.0, alpha_mode: AlphaMode = "penalty-points"
) -> Any:
    """Pyomo model that minimizes the mean penalty of pairings without a blocking pair.

    Adds `willing[a, c]`, the a-agents who would leave for c, and the 0/1 variables `anyone[a, c]`
    that are 1 where there are any; sets of partners whom a would leave for c and for d, one inside
    the other, chain them.
    """
    model = predictor(instance)
    penalty, count = instance.penalty, instance.count.tolist()
    _add_willing(model, instance, alpha, alpha_mode)
    model.anyone = pyo.Var(model.meetings, domain=pyo.Binary)

    @model.Constraint(model.meetings)
    def anyone_willing(m: Any, a: int, c: int) -> Any:
        return m.willing[a, c] <= count[a] * m.anyone[a, c]

    @model.Constraint(model.meetings)
    def chain(m: Any, a: int, c: int) -> Any:
        worse = [d for d in m.types if (a, d) in m.meetings and penalty[a, d] > penalty[a, c]]
        # who leaves for a worse partner leaves for c
        nearest = min(worse, key=lambda d: penalty[a, d], default=None)
        return pyo.Constraint.Skip if nearest is None else m.anyone[a, nearest] <= m.anyone[a, c]

    @model.Constraint(model.meetings)
    def no_blocking_pair(m: Any, a: int, c: int) -> Any:
        if a == c:
            return m.willing[a, a] <= 1
        return m.anyone[a, c] + m.anyone[c, a] <= 1 if a < c else pyo.Constraint.Skip

    return model


@validate_options
def fewest_model(
    instance: Colocation, alpha: float = 0.0, alpha_mode: AlphaMode = "penalty-points"
) -> Any:
    """Pyomo model that minimizes the number of blocking pairs, by the order encoding.

    Adds `willing[a, c]`, the a-agents who would leave for c; the 0/1 variables `reached[a, c, t]`,
    1 where there are t of them or more; and `both[a, c, t, u]`, 1 where t a-agents would leave for
    c and u c-agents for a. Every such pair of a t and a u is a blocking pair.
    """
    model = predictor(instance)
    count = instance.count.tolist()
    _add_willing(model, instance, alpha, alpha_mode)
    model.steps = pyo.Set(
        dimen=3, initialize=[(a, c, t) for a, c in model.meetings for t in range(1, count[a] + 1)]
    )
    model.grids = pyo.Set(
        dimen=4,
        initialize=[
            (a, c, t, u) for a, c, t in model.steps if a < c for u in range(1, count[c] + 1)
        ],
    )
    model.reached = pyo.Var(model.steps, domain=pyo.Binary)
    model.both = pyo.Var(model.grids, domain=pyo.Binary)

    @model.Constraint(model.steps)
    def reached_from_there(m: Any, a: int, c: int, t: int) -> Any:
        return t * m.reached[a, c, t] <= m.willing[a, c]

    @model.Constraint(model.steps)
    def not_reached_below(m: Any, a: int, c: int, t: int) -> Any:
        return m.willing[a, c] <= t - 1 + (count[a] - t + 1) * m.reached[a, c, t]

    @model.Constraint(model.grids)
    def both_are_reached(m: Any, a: int, c: int, t: int, u: int) -> Any:
        return m.both[a, c, t, u] >= m.reached[a, c, t] + m.reached[c, a, u] - 1

    model.mean_penalty.deactivate()
    model.blocking_pairs = pyo.Objective(
        expr=sum(model.both[grid] for grid in model.grids)
        + sum((t - 1) * model.reached[a, c, t] for a, c, t in model.steps if a == c),
        sense=pyo.minimize,
    )
    return model


def _add_willing(model: Any, instance: Colocation, alpha: float, alpha_mode: AlphaMode) -> None:
    """Add to a Pyomo model the pairs of types that may block, and the counts of willing agents."""
    validate_alpha(alpha, alpha_mode)
    penalty = instance.penalty
    model.meetings = pyo.Set(
        dimen=2,
        initialize=[(a, c) for a in model.types for c in model.types if instance.allowed[a, c]],
    )

    @model.Expression(model.meetings)
    def willing(m: Any, a: int, c: int) -> Any:
        leaving = sum(
            m.beside[a, b]
            for b in m.types
            if instance.allowed[a, b] and gains(penalty[a, b], penalty[a, c], alpha, alpha_mode)
        )
        left_out = instance.unpaired is not None and gains(
            instance.unpaired, penalty[a, c], alpha, alpha_mode
        )
        return leaving + (m.single[a] if left_out else 0)


@validate_options
def fair_model(instance: Colocation) -> Any:
    """Pyomo model that minimizes the slack of fair attribution: mean penalty[a] <= mean penalty[b]
    + slack wherever bandwidth[a] < bandwidth[b].
    """
    assert instance.bandwidth is not None
    bandwidth, count = instance.bandwidth, instance.count.tolist()
    model = predictor(instance)
    model.slack = pyo.Var(domain=pyo.NonNegativeReals, bounds=(0, 3))
    below = [(a, b) for a in model.types for b in model.types if bandwidth[a] < bandwidth[b]]
    model.below = pyo.Set(dimen=2, initialize=below)

    @model.Constraint(model.below)
    def attribution(m: Any, a: int, b: int) -> Any:
        return m.type_penalty[a] / count[a] <= m.type_penalty[b] / count[b] + m.slack

    model.mean_penalty.deactivate()
    model.least_slack = pyo.Objective(expr=model.slack, sense=pyo.minimize)
    return model

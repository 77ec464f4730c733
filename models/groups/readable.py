"""Programs of groups in Pyomo, written to be read; solvers build them as arrays, a hundred times
faster.

Pass a model through `cotenant.models.program.from_pyomo` and
`cotenant.solvers.engines.solve_program`.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from ...instances.groups.instance import UNIT, Groups, group_name
from ...instances.groups.stability import Alpha, whole_alpha
from ...instances.problem.option_types import validate_options
from .columns import columns_of


@validate_options
def predictor(instance: Groups) -> Any:
    """Pyomo model that minimizes the mean penalty of the jobs.

    Sets `types` (those with jobs), `classes`, `groups` (class and name, such as "2 web + batch":
    those that may be formed); variables `x[c, S]` machines of class c that hold the group S;
    expressions `together[a, b]` machines that hold jobs of both types (a < b), `total_penalty`.
    Classes that are alike count as the first of them.

    Raises
    ------
    InvalidOption
        There are more kinds of groups than are listed.
    """
    # 1. every group by class and name: its members, and the loss of each
    columns = columns_of(instance)
    model = pyo.ConcreteModel(name="groups")
    names = [group_name(instance.names, row) for row in columns.members]
    keys = list(zip(columns.where.tolist(), names, strict=True))
    members = {
        key: dict(zip(*(part.tolist() for part in np.unique(row[row >= 0], return_counts=True)),
                      strict=True))
        for key, row in zip(keys, columns.members, strict=True)
    }  # fmt: skip
    lost = {
        key: dict(zip(row.tolist(), losses.tolist(), strict=True))
        for key, row, losses in zip(keys, columns.members, columns.lost, strict=True)
    }
    most = dict(zip(keys, columns.most(instance).tolist(), strict=True))
    # 2. sets and variables
    model.types = pyo.Set(initialize=instance.present.tolist())
    model.classes = pyo.Set(initialize=np.flatnonzero(columns.limits > 0).tolist())
    model.groups = pyo.Set(dimen=2, initialize=keys)
    # how often a type is in a group, and what one of its jobs loses there, in whole units
    model.members, model.lost = members, lost
    model.x = pyo.Var(
        model.groups, domain=pyo.NonNegativeIntegers, bounds=lambda m, c, s: (0, most[c, s])
    )

    # 3. rows and the objective
    @model.Constraint(model.types)
    def everyone_is_placed_once(m: Any, a: int) -> Any:
        return sum(members[g].get(a, 0) * m.x[g] for g in m.groups) == int(instance.count[a])

    @model.Constraint(model.classes)
    def machines_suffice(m: Any, c: int) -> Any:
        used = [m.x[g] for g in m.groups if g[0] == c]
        return sum(used) <= int(columns.limits[c]) if used else pyo.Constraint.Skip

    @model.Expression(model.types, model.types)
    def together(m: Any, a: int, b: int) -> Any:
        return sum(m.x[g] for g in m.groups if a != b and a in members[g] and b in members[g])

    model.total_penalty = pyo.Expression(
        expr=sum(
            sum(times * lost[g][a] for a, times in members[g].items()) / UNIT * model.x[g]
            for g in model.groups
        )
    )
    model.mean_penalty = pyo.Objective(expr=model.total_penalty / instance.jobs, sense=pyo.minimize)
    return model


@validate_options
def core_model(instance: Groups, alpha: Alpha = 0.0) -> Any:
    """Pyomo model that minimizes the mean penalty of groupings that no group blocks at alpha.

    Adds `willing[c, S, a]`, the jobs of type a on class c that would gain more than alpha in the
    full group S there, and the 0/1 variables `enough[c, S, a]` that are 1 where they are as many as
    S holds: never for all types of S.

    Raises
    ------
    InvalidOption
        There are more kinds of groups than are listed, or alpha is below 0.
    """
    model = predictor(instance)
    members, lost, least = model.members, model.lost, whole_alpha(alpha)
    full = [g for g in model.groups if sum(members[g].values()) == instance.seats[g[0]]]
    seats = [(*g, a) for g in full for a in members[g]]
    model.seats = pyo.Set(dimen=3, initialize=seats)
    model.enough = pyo.Var(model.seats, domain=pyo.Binary)

    @model.Expression(model.seats)
    def willing(m: Any, c: int, s: str, a: int) -> Any:
        return sum(
            members[g][a] * m.x[g]
            for g in m.groups
            if g[0] == c and a in members[g] and sum(members[g].values()) > 1
            and lost[g][a] - lost[c, s][a] > least
        )  # fmt: skip

    @model.Constraint(model.seats)
    def enough_willing(m: Any, c: int, s: str, a: int) -> Any:
        times = members[c, s][a]
        many = int(instance.count[a]) - times + 1
        return m.willing[c, s, a] <= times - 1 + many * m.enough[c, s, a]

    @model.Constraint(full)
    def nobody_breaks_away(m: Any, c: int, s: str) -> Any:
        return sum(m.enough[c, s, a] for a in members[c, s]) <= len(members[c, s]) - 1

    return model

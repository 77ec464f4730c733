"""Joint optimum of the game in CP-SAT: most total utility over the strategy sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...instances.problem.option_types import validate_options

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

VALUE_SCALE = 2**30
_DOWN = 1.0 - 1e-12


@dataclass(frozen=True, eq=False)
class JointModel:
    """CP-SAT model whose optimum is at most the least total disutility.

    Attributes
    ----------
    model : minimize.
    number : for each class, the indices of the variables that count its servers by strategy (the
        last: staying empty).
    scale : its objective is in 1 / scale.
    """

    model: cp_model.CpModel
    number: list[list[int]]
    scale: int = VALUE_SCALE

    def servers_by_strategy(self, values: Integers) -> list[Integers]:
        """For each class, the number of servers with each strategy."""
        return [values[np.array(row, dtype=np.int64)] for row in self.number]


@validate_options
def joint_model(
    combination: list[Integers],
    uneven: list[Floats],
    servers: Integers,
    deviation: list[Integers],
    unit: int,
    alpha: float,
    breakpoints: Integers,
    hint: list[Integers],
    order: list[int],
    stuck: list[bool],
) -> JointModel:
    """Minimize the game's disutility: how many servers of each class choose each strategy.

    The objective is servers x v, the unfairness, + the sum of the servers' skewness.

    Parameters
    ----------
    combination, uneven : per class (e, s) strategies and (e,) the server's skewness with each.
    servers : (p,) of each class.
    deviation, unit : per user, its part of eq. 5 by its number of VMs, in 1 / unit; its length caps
        that number.
    alpha : of eq. 14.
    breakpoints : increasing, from 0: v is tabulated at these sums of deviations (in 1 / unit), and
        between two of them takes the value at the lower one. Everything is rounded down, so the
        optimum is a lower bound.
    hint : servers by strategy to begin with.
    order : the classes as they move, one after the other.
    stuck : per class, whether its last strategy is the empty one, which a server may choose only
        where caps allow none of the others after the moves before. A server so stuck stays so,
        hence only the counts after all moves of its class matter.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    # 1. servers of a class by strategy
    number = []
    for c, table in enumerate(combination):
        row = [model.new_int_var(0, int(servers[c]), f"number_{c}_{a}") for a in range(len(table))]
        model.add(sum(row) == int(servers[c]))
        number.append(row)
    _forbid_idling(
        model, combination, number, servers, [len(part) - 1 for part in deviation], order, stuck
    )
    # 2. each user's part of eq. 5 by its number of VMs, from the table
    parts = []
    for user, part_of in enumerate(deviation):
        total = model.new_int_var(0, len(part_of) - 1, f"vms_{user}")
        terms = [
            int(rows[a, user]) * number[c][a]
            for c, rows in enumerate(combination)
            for a in range(len(rows))
            if rows[a, user]
        ]
        model.add(total == sum(terms))
        part = model.new_int_var(0, int(part_of.max()), f"deviation_{user}")
        model.add_element(total, part_of.tolist(), part)
        parts.append(part)
    # 3. the two breakpoints between which the sum of the parts lies
    ends = [*breakpoints[1:].tolist(), 2**55]
    inside = [model.new_bool_var(f"between_{place}") for place in range(len(ends))]
    model.add_exactly_one(inside)
    model.add(
        sum(parts)
        >= sum(int(low) * flag for low, flag in zip(breakpoints.tolist(), inside, strict=True))
    )
    model.add(
        sum(parts) <= sum((int(high) - 1) * flag for high, flag in zip(ends, inside, strict=True))
    )
    # 4. v there, and the skewness, as integers rounded down
    values = np.floor((breakpoints / unit) ** (1.0 / alpha) * VALUE_SCALE * _DOWN).astype(np.int64)
    players = int(servers.sum())
    skews = [np.floor(entry * VALUE_SCALE * _DOWN).astype(np.int64) for entry in uneven]
    columns = [*inside, *(entry for row in number for entry in row)]
    weights = [players * int(value) for value in values] + [
        int(skew) for row in skews for skew in row
    ]
    model.minimize(cp_model.LinearExpr.weighted_sum(columns, weights))
    for row, chosen in zip(number, hint, strict=True):
        for entry, value in zip(row, chosen.tolist(), strict=True):
            model.add_hint(entry, value)
    return JointModel(model, [[entry.index for entry in row] for row in number])


def _forbid_idling(
    model: cp_model.CpModel,
    combination: list[Integers],
    number: list[list[cp_model.IntVar]],
    servers: Integers,
    cap: list[int],
    order: list[int],
    stuck: list[bool],
) -> None:
    """Add rows by which a server is empty only if no other strategy of its class fits the caps.

    What fits is judged after the class, as one of those in `order`, has moved; of classes that are
    not `stuck` (as of `joint_model`) nothing is required.
    """
    before: list[int] = []
    for c in order:
        before.append(c)
        if not stuck[c]:
            continue
        idle = model.new_bool_var(f"idle_{c}")
        model.add(number[c][-1] <= int(servers[c]) * idle)
        total = [
            sum(
                int(rows[a, user]) * number[m][a]
                for m in before
                for rows in [combination[m]]
                for a in range(len(rows))
            )
            for user in range(len(cap))
        ]
        # (user, VMs): fewer than so many more may be chosen
        past: dict[tuple[int, int], cp_model.IntVar] = {}
        for row in combination[c][:-1].tolist():
            for user, vms in enumerate(row):
                if vms and (user, vms) not in past:
                    past[user, vms] = model.new_bool_var(f"past_{c}_{user}_{vms}")
                    model.add(total[user] >= cap[user] - vms + 1).only_enforce_if(past[user, vms])
            model.add_bool_or(
                [idle.negated(), *(past[user, vms] for user, vms in enumerate(row) if vms)]
            )

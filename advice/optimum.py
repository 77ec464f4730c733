"""The two questions put to the packing methods: how few nodes, and how few moves to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..instances.packing.instance import Packing
from ..solvers.engines import CpSatAnswer, solve_cp_sat
from ..solvers.outcome import Status

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """An answer to one of the questions.

    Attributes
    ----------
    value : nodes, or moves; None without an answer.
    bound : no answer is below it; None where nothing is known.
    count : (servers, types) pods of each type on each server.
    infeasible : whether it is proved that there is none.
    """

    value: int | None
    bound: int | None
    count: Integers | None
    infeasible: bool = False

    @property
    def proved(self) -> bool:
        """Whether no answer is better."""
        return self.value is not None and self.value == self.bound


def fewest_nodes(instance: Packing, time_limit: float | None = None) -> Found:
    """As few servers in use as hold everything."""
    model, count, used, _ = _model(instance)
    model.minimize(sum(used))
    return _found(solve_cp_sat(model, time_limit=time_limit), count, lambda c: int(c.any(axis=1).sum()))


def fewest_moves(instance: Packing, servers: int, time_limit: float | None = None) -> Found:
    """As few VMs that leave their server as let at most `servers` be in use."""
    model, count, used, stays = _model(instance)
    placed = placed_of(instance)
    model.add(sum(used) <= servers)
    model.minimize(int(placed.sum()) - sum(stays))
    return _found(
        solve_cp_sat(model, time_limit=time_limit), count,
        lambda c: int(placed.sum() - np.minimum(placed, c).sum()),
    )  # fmt: skip


def placed_of(instance: Packing) -> Integers:
    """(servers, types) what runs now."""
    assert instance.placed is not None
    found = np.zeros((int(instance.available.sum()), instance.types), dtype=np.int64)
    found[instance.placed[:, 0], instance.placed[:, 1]] = instance.placed[:, 2]
    return found


def _found(answer: CpSatAnswer, count, value) -> Found:
    bound = None if answer.bound is None else int(np.ceil(answer.bound - 1e-6))
    if answer.values is None:
        return Found(None, bound, None, answer.status is Status.INFEASIBLE)
    counts = np.array(
        [[0 if e is None else answer.values[e.index] for e in row] for row in count], dtype=np.int64
    )
    return Found(value(counts), bound, counts)


def _model(instance: Packing):
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    kind, rules, placed = instance.server_class, instance.rules, placed_of(instance)
    count = []
    for c in kind.tolist():
        row = []
        for i, wanted in enumerate(instance.wanted.astype(int).tolist()):
            needs = instance.demand[i] > 0
            most = int((instance.capacity[c][needs] // instance.demand[i][needs]).min())
            most = min(most, wanted) if rules.allowed[i, c] else 0
            row.append(model.new_int_var(0, most, "") if most else None)
        count.append(row)
    used = [model.new_bool_var("") for _ in kind]
    for i, wanted in enumerate(instance.wanted.astype(int).tolist()):
        model.add(sum(row[i] for row in count if row[i] is not None) == wanted)
    for m, c in enumerate(kind.tolist()):
        for j, room in enumerate(instance.capacity[c].tolist()):
            load = [
                int(instance.demand[i, j]) * entry
                for i, entry in enumerate(count[m])
                if entry is not None and instance.demand[i, j]
            ]
            if load:
                model.add(sum(load) <= room * used[m])
    for types, most in rules.limits:
        for row in count:
            them = [row[i] for i in types if row[i] is not None]
            if them:
                model.add(sum(them) <= most)
    for types, most in rules.zone_limits:
        for zone in range(len(rules.zones)):
            model.add(
                sum(
                    count[m][i]
                    for m, c in enumerate(kind)
                    if rules.zone[c] == zone
                    for i in types
                    if count[m][i] is not None
                )
                <= most
            )
    for a, b in rules.apart:
        for row in count:
            if row[a] is not None and row[b] is not None:
                flag = model.new_bool_var("")
                model.add(row[a] == 0).only_enforce_if(flag)
                model.add(row[b] == 0).only_enforce_if(flag.negated())
    for types, skew, zones in rules.spreads:
        least = model.new_int_var(0, int(instance.wanted.sum()), "")
        for zone in zones:
            total = sum(
                count[m][i]
                for m, c in enumerate(kind)
                if rules.zone[c] == zone
                for i in types
                if count[m][i] is not None
            )
            model.add(total >= least)
            model.add(total <= least + skew)
    stays = []
    for m, i in np.argwhere(placed > 0).tolist():
        if count[m][i] is not None:
            stay = model.new_int_var(0, int(placed[m, i]), "")
            model.add(stay <= count[m][i])
            stays.append(stay)
    return model, count, used, stays

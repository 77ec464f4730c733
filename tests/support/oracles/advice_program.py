# mypy: disable-error-code="index"
"""A second route to the fewest nodes and the fewest moves: one CP-SAT model with every server by
itself, read from the fields of an instance alone.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from ortools.sat.python import cp_model

from cotenant.instances.packing.instance import Packing


def model_of(instance: Packing):
    """The model, how many VMs of each type each server holds, and whether it is in use."""
    model = cp_model.CpModel()
    kind = np.repeat(np.arange(instance.classes), instance.servers.astype(int))
    count = [
        [
            model.new_int_var(0, int(wanted) if instance.allowed[i, c] else 0, "")
            for i, wanted in enumerate(instance.request)
        ]
        for c in kind
    ]
    used = [model.new_bool_var("") for _ in kind]
    for i, wanted in enumerate(instance.request):
        model.add(sum(row[i] for row in count) == int(wanted))
    for m, c in enumerate(kind):
        for j, room in enumerate(instance.capacity[c].tolist()):
            load = sum(int(instance.demand[i, j]) * entry for i, entry in enumerate(count[m]))
            model.add(load <= room * used[m])
        for i, entry in enumerate(count[m]):
            model.add(entry <= int(instance.request[i]) * used[m])
    here = {(m, i): model.new_bool_var("") for m in range(len(kind)) for i in range(instance.types)}
    for (m, i), there in here.items():
        model.add(count[m][i] <= int(instance.request[i]) * there)
    for a, b in () if instance.apart is None else instance.apart.tolist():
        for m in range(len(kind)):
            model.add(here[m, a] + here[m, b] <= 1)
    zones = [instance.zone[c] if instance.zone else "" for c in kind]
    for rule in instance.limits:
        groups = [[m] for m in range(len(kind))]
        if rule.within == "zone":
            groups = [[m for m, z in enumerate(zones) if z == zone] for zone in set(zones) - {""}]
        for group in groups:
            model.add(sum(count[m][i] for m in group for i in rule.types) <= rule.most)
    for rule in instance.spreads:
        total = {
            zone: sum(count[m][i] for m, z in enumerate(zones) if z == zone for i in rule.types)
            for zone in rule.zones
        }
        for a in total.values():
            for b in total.values():
                model.add(a - b <= rule.skew)
    return model, count, used


def _solved(model, values):
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL
    return np.array([[solver.value(entry) for entry in row] for row in values])


def fewest_servers(instance: Packing) -> int | None:
    """The fewest servers in use; None where there is no placement."""
    model, count, used = model_of(instance)
    model.minimize(sum(used))
    found = _solved(model, count)
    return None if found is None else int((found.sum(axis=1) > 0).sum())


def fewest_moves(instance: Packing, servers: int) -> tuple[int, np.ndarray] | None:
    """The fewest VMs that leave their server so that at most so many are in use, and the counts."""
    model, count, used = model_of(instance)
    model.add(sum(used) <= servers)
    stays = []
    for (m, i), there in placed_of(instance).items():
        stay = model.new_int_var(0, there, "")
        model.add(stay <= count[m][i])
        stays.append(stay)
    model.maximize(sum(stays))
    found = _solved(model, count)
    if found is None:
        return None
    kept = sum(min(found[m, i], there) for (m, i), there in placed_of(instance).items())
    return int(sum(placed_of(instance).values()) - kept), found


def placed_of(instance: Packing) -> Counter[tuple[int, int]]:
    """What runs now: VMs by server and type."""
    return Counter({(m, i): n for m, i, n in instance.placed.tolist()})

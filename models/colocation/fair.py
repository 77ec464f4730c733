"""Fair attribution: who presses harder on memory loses at least as much (Cooper section II)."""

from __future__ import annotations

import numpy as np

from ...instances.colocation.instance import Colocation, Floats, Pairing
from ...instances.colocation.objective import attribution_slack
from .assignment import Assignment, PairingProgram
from .gain_sets import UNPAIRED


def fair_program(instance: Colocation, slack: float | None = None) -> PairingProgram:
    """Least slack such that mean penalty[x] <= mean penalty[y] + slack whenever bandwidth[x] < bandwidth[y] strictly.

    With the running maximum h[k] of the mean penalties of the k lowest bandwidths, one row for each type on either side
    suffices. Types without agents have no mean and are left out.

    Parameters
    ----------
    instance : with bandwidth.
    slack : given, the objective is the least total penalty with no more slack than this.
    """
    assert instance.bandwidth is not None
    shared = Assignment(instance)
    builder = shared.builder
    present = np.flatnonzero(instance.count > 0)
    steps, group = np.unique(instance.bandwidth[present], return_inverse=True)
    usable = instance.penalty[shared.first, shared.second], instance.penalty[shared.second, shared.first]
    low = min(0.0, *(float(part.min(initial=0.0)) for part in usable), instance.single_penalty)
    highest = builder.columns(len(steps), lower=low, upper=1.0)
    room = builder.columns(1, lower=0.0, upper=1.0 - low if slack is None else slack)
    for k in range(1, len(steps)):
        builder.row([highest[k - 1], highest[k]], [1.0, -1.0], upper=0.0)
    for a, k in zip(present.tolist(), group.tolist(), strict=True):
        partner, column, agents = shared.beside(a)
        each = np.where(partner == UNPAIRED, instance.single_penalty, instance.penalty[a, np.maximum(partner, 0)])
        total, number = each * agents, float(instance.count[a])
        builder.row(np.append(column, highest[k]), np.append(total, -number), upper=0.0)  # mean <= h[k]
        if k:
            where = np.concatenate([column, room, highest[k - 1 : k]])
            builder.row(where, np.concatenate([total, [number, -number]]), lower=0.0)  # h[k-1] <= mean + slack
    width = len(shared.first) + len(shared.alone)

    def others(chosen: Floats) -> Floats:
        mean = []
        for a in present.tolist():
            partner, column, agents = shared.beside(a)
            each = np.where(partner == UNPAIRED, instance.single_penalty, instance.penalty[a, np.maximum(partner, 0)])
            mean.append(float((each * agents) @ chosen[column]) / float(instance.count[a]))
        running = np.full(len(steps), -np.inf)
        np.maximum.at(running, group, mean)
        whole = np.round(chosen).astype(np.int64)
        single = np.zeros(instance.types, dtype=np.int64)
        single[shared.alone] = whole[len(shared.first) :]
        reached = attribution_slack(instance, Pairing(shared.first, shared.second, whole[: len(shared.first)], single))
        return np.append(np.maximum.accumulate(running), reached)

    if slack is not None:
        return shared.finish(shared.cost, others)
    cost = np.zeros(width + len(steps) + 1)
    cost[-1] = 1.0
    return shared.finish(cost, others)

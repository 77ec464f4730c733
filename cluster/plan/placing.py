"""From a placement of the instance to the nodes of pods, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...instances.packing.instance import Integers
from ...instances.packing.placement_constraints import present_counts
from ..state.state import ClusterState, Role
from .assembly import Translation


def workers_in_use(state: ClusterState, where: Mapping[int, str]) -> tuple[str, ...]:
    """The workers that hold a pod which is no node's own, in the state's order; `where` has the
    node of each pod, by its place in the state.
    """
    own = (Role.RESIDENT, Role.LEAVING, Role.FINISHED)
    occupied = {node for n, node in where.items() if state.pods[n].role not in own}
    return tuple(node.name for node in state.nodes if node.can_be_drained and node.name in occupied)


def idle_nodes(state: ClusterState) -> tuple[str, ...]:
    """The workers that run and hold nothing but pods of their own: they can go before any pod
    moves.
    """
    used = {*workers_in_use(state, state.where)}
    used |= state.hosts_off
    return tuple(node.name for node in state.nodes if node.can_be_drained and node.name not in used)


def targets_of(state: ClusterState, plan: Translation, count: Integers) -> dict[int, str]:
    """The new node of every pod that moves, and of every pending pod that gets one: of equal pods
    as many stay as can.

    Parameters
    ----------
    count : (servers, types) pods on each server of the instance.
    """
    targets: dict[int, str] = {}
    names = [state.nodes[number].name for number in plan.nodes]
    zones = plan.instance.zone
    zone = dict.fromkeys(["", *(node.name for node in state.nodes)], "")
    if zones:
        classes = plan.instance.server_class[: len(names)]
        zone |= {n: zones[c] for n, c in zip(names, classes, strict=True)}
    for row, pods in enumerate(plan.pods):
        here: dict[str, list[int]] = {}
        for number in pods:
            here.setdefault(state.pods[number].node, []).append(number)
        leaving: list[int] = []
        coming: list[str] = []
        for name, number in zip(names, count[: len(names), row].tolist(), strict=True):
            leaving += here.get(name, [])[number:]
            coming += [name] * (number - len(here.get(name, [])))
        leaving += here.get("", [])
        # within a zone where that can be: two that change zones would be in each other's way
        waiting: dict[str, list[str]] = {}
        for name in coming:
            waiting.setdefault(zone[name], []).append(name)
        abroad = []
        for pod in leaving:
            if near := waiting.get(zone[state.pods[pod].node]):
                targets[pod] = near.pop()
            else:
                abroad.append(pod)
        rest = [name for there in waiting.values() for name in there]
        targets.update(zip(abroad, rest, strict=False))  # pending pods may be left
    return targets


def moves_of(plan: Translation, count: Integers) -> int:
    """Pods that leave their node in a placement (servers, types)."""
    return int(np.maximum(present_counts(plan.instance) - count, 0).sum())


def cost_of(plan: Translation, count: Integers) -> int:
    """The cost of a placement (servers, types): of the workers in use, and of pods that wait."""
    cost = plan.instance.server_cost[plan.instance.server_class]
    return int(cost[count.any(axis=1)].sum()) - plan.kept_cost


def as_it_is(plan: Translation) -> Integers:
    """(servers, types) what runs now, each pending pod on a server where it waits."""
    count: Integers = present_counts(plan.instance).copy()
    pending = plan.instance.requested.astype(np.int64) - count.sum(axis=0)
    for place, row in enumerate(np.repeat(np.arange(len(pending)), pending)):
        count[len(plan.nodes) + place, row] = 1
    return count


def with_waiting(plan: Translation, number: int, scale: int = 1) -> Translation:
    """The same with servers where so many pods can wait, each at a cost of 1; of the others the
    cost is so many times as large.
    """
    instance, nodes = plan.instance, len(plan.nodes)
    if not plan.waiting_servers:
        return plan
    servers, cost = instance.server_count.copy(), instance.server_cost.copy()
    servers[-1], cost = number, np.append(cost[:-1] * scale, 1)
    names = instance.server_names[: nodes + number]
    instance = replace(instance, servers=servers, cost=cost, server_names=names)
    return replace(plan, instance=instance, kept_cost=plan.kept_cost * scale)


def settled(plan: Translation, count: Integers) -> Integers:
    """A placement (servers, types) of an instance, without the servers where nothing waits."""
    nodes = len(plan.nodes)
    waiting = count[nodes:]
    return np.vstack([count[:nodes], waiting[waiting.any(axis=1)]])


def whole_cost(plan: Translation) -> int:
    """The cost of all servers together: a limit that forbids nothing."""
    return int(plan.instance.server_count @ plan.instance.server_cost)

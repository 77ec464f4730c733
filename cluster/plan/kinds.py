"""Kinds of pods: pods that no constraint distinguishes."""

from __future__ import annotations

from collections import Counter

from ..state.constraints import SCHEDULER, TOLERATIONS
from ..state.state import CARD, COMPARED, SHARES, ClusterState, Node, Pod, Role, limitless


class Kinds:
    """Pods of a translation grouped by kind, with the residents and nodes that surround them.

    Parameters
    ----------
    for_bound : whether constraints that are not modelled are left out.
    pending : whether pending pods are placed too.

    Attributes
    ----------
    place : of a node's name in the state's nodes.
    counted : places in the state of the pods that are placed.
    residents : pods that belong to their node, or take its room while they are deleted.
    kinds, kind_of : places of the pods of each kind, and the kind of each pod.
    sample : one pod of each kind.
    there : of each kind, how many of its pods run on each node now.
    hostnames : topologies of which each node is a domain of its own.
    zone_key : the topology that is the zone in an instance; "" for none.
    """

    def __init__(self, state: ClusterState, for_bound: bool, pending: bool) -> None:
        self.state, self.for_bound = state, for_bound
        self.place = {node.name: number for number, node in enumerate(state.nodes)}
        self.counted = [
            number
            for number, pod in enumerate(state.pods)
            if pod.role in (Role.MOVABLE, Role.FIXED) or (pending and pod.schedulable)
        ]
        self.residents = [
            pod
            for pod in state.pods
            if pod.role is Role.RESIDENT or (pod.role is Role.LEAVING and not for_bound)
        ]
        self._group()
        self.hostnames: set[str] = set()
        self.zone_key = ""

    def _group(self) -> None:
        asked: dict[str, set[str]] = {}  # what selectors ask of labels: the rest tells none apart
        selectors = [budget.selector for budget in self.state.budgets]
        for pod in self.state.pods:
            selectors += pod.selectors
        for selector in selectors:
            for each in selector or ():
                asked.setdefault(each.key, set()).update(each.values)
        table: dict[object, list[int]] = {}
        for number in self.counted:
            pod = self.state.pods[number]
            labels = frozenset(
                (key, value if value in asked[key] else None)
                for key, value in pod.labels.items()
                if key in asked
            )
            same = tuple(getattr(pod, name) for name in COMPARED)
            key = (frozenset(pod.requests.items()), labels, *same)
            table.setdefault(key, []).append(number)
        self.kinds = [tuple(members) for members in table.values()]
        self.kind_of = {number: k for k, members in enumerate(self.kinds) for number in members}
        self.sample = [self.state.pods[members[0]] for members in self.kinds]
        self.there = [
            Counter(
                self.place[self.state.pods[number].node]
                for number in members
                if self.state.pods[number].placed
            )
            for members in self.kinds
        ]

    def title(self, kind: int) -> str:
        """Name the pods of a kind by their namespace and owner."""
        pod = self.sample[kind]
        owner = pod.owner[1] or pod.name
        return f"{pod.namespace}/{owner}" if pod.namespace else owner

    def zone(self, node: Node) -> str:
        """Zone of a node in the packing instance; "" for a node without the zone label, which
        differs from an empty label.
        """
        return (node.labels[self.zone_key] or '""') if self.zone_key in node.labels else ""

    def free_scheduler(self, kind: int) -> bool:
        """Return whether only capacity restricts pods of a kind in the bound, as when another
        scheduler places them.
        """
        return self.for_bound and any(
            what in (SCHEDULER, TOLERATIONS)
            for what, _ in self.sample[kind].unsupported_constraints
        )

    def asks(self, pod: Pod, resource: str) -> int:
        """Request of a pod for a resource; in the bound 0 for volumes that are not fully known and
        for shared GPUs.
        """
        unsure = "volumes" if limitless(resource) else SHARES if resource == CARD else ""
        if self.for_bound and any(what == unsure for what, _ in pod.unsupported_constraints):
            return 0
        return pod.requests.get(resource, 0)

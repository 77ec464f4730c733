"""The kinds of pods that no constraint distinguishes, and the nodes where each kind may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from ..state.constraints import SCHEDULER, TOLERATIONS
from ..state.selectors import admits, ports_clash, refers_to
from ..state.state import CARD, COMPARED, SHARES, ClusterState, Node, Pod, Role, limitless


class Kinds:
    """The pods that a translation places, by kind.

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
        self.hostnames = {key for key in self._topologies() if self._one_each(key)}
        self.zone_key = self._most_used_zone()

    def _group(self) -> None:
        asked: dict[str, set[str]] = {}  # what selectors ask of labels: the rest tells none apart
        selectors = [budget.selector for budget in self.state.budgets]
        for pod in self.state.pods:
            selectors += [term.selector for term in (*pod.pod_anti_affinity, *pod.pod_affinity)]
            selectors += [each.selector for each in pod.spread]
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
        """What people call the pods of a kind: their namespace and owner."""
        pod = self.sample[kind]
        owner = pod.owner[1] or pod.name
        return f"{pod.namespace}/{owner}" if pod.namespace else owner

    def _topologies(self) -> Counter[str]:
        found = Counter(term.topology for pod in self.sample for term in pod.pod_anti_affinity)
        found.update(each.topology for pod in self.sample for each in pod.spread)
        known = {key for node in self.state.nodes for key in node.labels}
        return Counter({key: number for key, number in found.items() if key in known})

    def _one_each(self, key: str) -> bool:
        values = [node.labels.get(key) for node in self.state.nodes]
        return None not in values and len(set(values)) == len(values)

    def _most_used_zone(self) -> str:
        rest = self._topologies()
        for key in self.hostnames:
            del rest[key]
        return rest.most_common(1)[0][0] if rest else ""

    def zone(self, node: Node) -> str:
        """The zone of a node in an instance, where "" is none: the empty label is one as others."""
        return (node.labels[self.zone_key] or '""') if self.zone_key in node.labels else ""

    def free_scheduler(self, kind: int) -> bool:
        """Whether only capacity is known of where it would be put, as by another scheduler."""
        return self.for_bound and any(
            what in (SCHEDULER, TOLERATIONS)
            for what, _ in self.sample[kind].unsupported_constraints
        )

    def asks(self, pod: Pod, resource: str) -> int:
        """What a pod takes; in the bound no volumes of which not all is known, and no card that it
        shares.
        """
        unsure = "volumes" if limitless(resource) else SHARES if resource == CARD else ""
        if self.for_bound and any(what == unsure for what, _ in pod.unsupported_constraints):
            return 0
        return pod.requests.get(resource, 0)

    def eligible(self) -> np.ndarray:
        """(kinds, nodes) whether a pod of the kind could be put there, other pods apart that move
        themselves.
        """
        found = np.ones((len(self.kinds), len(self.state.nodes)), dtype=bool)
        alike: dict[object, list[Pod]] = {}  # residents that differ by their node only
        for pod in self.residents:
            signature = (
                pod.namespace,
                frozenset(pod.labels.items()),
                pod.pod_anti_affinity,
                pod.ports,
            )
            alike.setdefault(signature, []).append(pod)
        matched: dict[tuple[object, ...], list[bool]] = {}
        for kind, pod in enumerate(self.sample):
            if self.free_scheduler(kind):
                continue
            key = (pod.affinity, pod.volume_node_affinity, pod.tolerations)
            if key not in matched:
                matched[key] = [
                    admits(node, pod) and (self.for_bound or not node.unknown_reason)
                    for node in self.state.nodes
                ]
            found[kind] = matched[key]
            for spread in pod.spread:
                found[kind] &= [spread.topology in node.labels for node in self.state.nodes]
            for residents in alike.values():
                one = residents[0]
                if ports_clash(pod.ports, one.ports):
                    found[kind, [self.place[each.node] for each in residents]] = False
                for first, second in ((pod, one), (one, pod)):
                    for term in first.pod_anti_affinity:
                        if refers_to(term, second) and not (
                            self.for_bound and term.has_unsupported_selector
                        ):
                            near = self._domains(term.topology, residents)
                            # pods that are near each other now may be so anywhere
                            if not (self.for_bound and near[list(self.there[kind])].any()):
                                found[kind] &= ~near
        return found

    def _domains(self, topology: str, pods: Iterable[Pod]) -> np.ndarray:
        """(nodes,) whether each is in the domain of one of these pods."""
        nodes = self.state.nodes
        values = {nodes[self.place[pod.node]].labels.get(topology) for pod in pods} - {None}
        return np.array([node.labels.get(topology) in values for node in nodes])

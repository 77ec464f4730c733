"""Matching of selectors, node terms, tolerations and host ports with pods and nodes."""

from __future__ import annotations

from collections.abc import Iterable

from .constraints import NodeTerm, PodTerm, Ports, selects
from .state import Node, Pod


def refers_to(term: PodTerm, pod: Pod) -> bool:
    """Return whether an affinity term matches a pod."""
    return (term.namespaces is None or pod.namespace in term.namespaces) and selects(
        term.selector, pod.labels
    )


def meets_terms(node: Node, groups: Iterable[tuple[NodeTerm, ...]]) -> bool:
    """Return whether a node matches at least one term of every group."""
    return all(
        any(
            (term.labels or term.fields)
            and selects(term.labels, node.labels)
            and selects(term.fields, {"metadata.name": node.name})
            for term in group
        )
        for group in groups
    )


def tolerates(node: Node, pod: Pod) -> bool:
    """Return whether a pod tolerates every taint of a node."""
    return all(
        any(
            (not each.effect or each.effect == taint.effect)
            and (each.key == taint.key or (not each.key and each.operator == "Exists"))
            and (each.operator == "Exists" or each.value == taint.value)
            for each in pod.tolerations
        )
        for taint in node.taints
    )


def admits(node: Node, pod: Pod) -> bool:
    """Return whether labels and taints of a node admit a pod."""
    return (
        not node.not_ready_reason
        and tolerates(node, pod)
        and meets_terms(node, pod.affinity)
        and meets_terms(node, pod.volume_node_affinity)
    )


def ports_clash(ports: Ports, others: Ports) -> bool:
    """Return whether two pods use the same host port."""
    return any(
        (protocol, port) == (other_protocol, other_port)
        and (address == other or "0.0.0.0" in (address, other))
        for address, protocol, port in ports
        for other, other_protocol, other_port in others
    )

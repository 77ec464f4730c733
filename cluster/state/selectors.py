"""What labels, taints and ports say of pods and nodes: Kubernetes' selectors, node terms,
tolerations and host ports, read of the API and applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .fields import Fields
from .state import Expression, Node, NodeTerm, Pod, PodTerm, Selector

Ports = frozenset[tuple[str, str, int]]
"""(address, protocol, port) of each host port."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
"""Labels that are numbers."""


def satisfies(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Whether labels meet one condition."""
    value, operator = labels.get(expression.key), expression.operator
    if operator == "In":
        return value is not None and value in expression.values
    if operator == "NotIn":
        return value is None or value not in expression.values
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    return _compares(value, expression.values, 1 if operator == "Gt" else -1)


def _compares(value: str | None, given: tuple[str, ...], sign: int) -> bool:
    """Whether a label is a whole number above (1) or below (-1) the one given."""
    numbers = [_WHOLE.fullmatch(text) for text in (value or "", *given)]
    return len(given) == 1 and all(numbers) and sign * (int(value or "") - int(given[0])) > 0


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether labels meet all conditions of a selector."""
    return selector is not None and all(satisfies(each, labels) for each in selector)


def refers_to(term: PodTerm, pod: Pod) -> bool:
    """Whether a term of affinity speaks of a pod."""
    return (term.namespaces is None or pod.namespace in term.namespaces) and selects(
        term.selector, pod.labels
    )


def meets_terms(node: Node, groups: Iterable[tuple[NodeTerm, ...]]) -> bool:
    """Whether of each group of node terms one holds."""
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
    """Whether a pod tolerates every taint of a node."""
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
    """Whether a node takes a pod, as far as labels and taints say."""
    return (
        not node.not_ready_reason
        and tolerates(node, pod)
        and meets_terms(node, pod.affinity)
        and meets_terms(node, pod.volume_node_affinity)
    )


def ports_clash(ports: Ports, others: Ports) -> bool:
    """Whether two pods want one port of a node."""
    return any(
        (protocol, port) == (other_protocol, other_port)
        and (address == other or "0.0.0.0" in (address, other))
        for address, protocol, port in ports
        for other, other_protocol, other_port in others
    )


def name_of(item: Fields) -> tuple[str, str]:
    """Namespace ("" for none) and name of an object."""
    about = item.of("metadata")
    return about.text("namespace"), about.text("name")


def expressions(fields: Fields, name: str = "matchExpressions") -> tuple[Expression, ...]:
    """A list of conditions."""
    found = []
    for item in fields.many(name):
        operator = item.text("operator")
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"):
            raise item.wrong("operator", operator, "In, NotIn, Exists, DoesNotExist, Gt or Lt")
        found.append(Expression(item.text("key"), operator, item.texts("values")))
    return tuple(found)


def equal(labels: dict[str, str]) -> tuple[Expression, ...]:
    """The condition of each label that it has this value."""
    return tuple(Expression(key, "In", (value,)) for key, value in sorted(labels.items()))


def selector_of(fields: Fields, name: str) -> Selector:
    """A selector of labels; None where there is none, which selects nothing."""
    if name not in fields:
        return None
    item = fields.of(name)
    return equal(item.mapping("matchLabels")) + expressions(item)


def node_terms(fields: Fields) -> tuple[NodeTerm, ...]:
    """The terms of a node selector."""
    return tuple(
        NodeTerm(expressions(term), expressions(term, "matchFields"))
        for term in fields.many("nodeSelectorTerms")
    )

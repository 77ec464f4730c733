"""Constraints of a pod as in the Kubernetes API, and their reader."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .fields import Fields

TOLERATIONS, SCHEDULER = "tolerations", "scheduler"
"""Kinds of what is not modelled for which nothing is known of where a pod may go."""

GATES, NOMINATED = "gates", "nominated"
"""Kinds of what keeps a pending pod out of every plan."""

AFFINITY, SPREAD, OWNER = "affinity", "spread", "owner"
"""Kinds of what holds a pod on its node, and the scheduler's filters decide (or need not know) of
one without a node.
"""

Ports = frozenset[tuple[str, str, int]]
"""(address, protocol, port) of each host port."""


@dataclass(frozen=True, slots=True)
class Expression:
    """Requirement on a label: In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


Selector = tuple[Expression, ...] | None
"""Conditions that all hold: () selects everything, None nothing."""


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Node selector term: requirements on labels and fields (the name) that must all hold; it
    matches no node if both are empty.
    """

    labels: tuple[Expression, ...] = ()
    fields: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Affinity term: pods of some namespaces (None: all) within one domain of a topology.

    `has_unsupported_selector`: the term is narrower than this in a way that is not read.
    """

    selector: Selector
    namespaces: frozenset[str] | None
    topology: str
    has_unsupported_selector: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """Topology spread constraint with DoNotSchedule, over pods of the own namespace."""

    selector: Selector
    topology: str
    most: int
    domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


@dataclass(frozen=True, slots=True)
class Toleration:
    """Toleration of taints; an empty key (with Exists) or effect matches all."""

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """Constraints of a pod on its node and on other pods.

    Attributes
    ----------
    affinity : its node selector and required node affinity: of each group one term holds.
    volume_node_affinity : the same of the volumes that it uses.
    pod_anti_affinity, pod_affinity : required anti-affinity and affinity.
    ports : (address, protocol, port) on the node.
    unsupported_constraints : constraints that are not modelled, as (kind, words): it is pinned.
    """

    affinity: tuple[tuple[NodeTerm, ...], ...] = ()
    volume_node_affinity: tuple[tuple[NodeTerm, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    pod_anti_affinity: tuple[PodTerm, ...] = ()
    pod_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    ports: Ports = frozenset()
    unsupported_constraints: tuple[tuple[str, str], ...] = ()

    @property
    def selectors(self) -> list[Selector]:
        """Label selectors of a pod's constraints on other pods."""
        near = (term.selector for term in (*self.pod_anti_affinity, *self.pod_affinity))
        return [*near, *(each.selector for each in self.spread)]

    @property
    def crowded(self) -> bool:
        """Whether a pod's constraints (anti-affinity, spread, ports) may keep others off nodes."""
        return bool(self.pod_anti_affinity or self.spread or self.ports)


_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
"""Labels that are numbers."""


def satisfies(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Return whether labels satisfy one requirement."""
    value, operator = labels.get(expression.key), expression.operator
    if operator == "In":
        return value is not None and value in expression.values
    if operator == "NotIn":
        return value is None or value not in expression.values
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    texts = (value or "", *expression.values)
    if len(texts) != 2 or not all(map(_WHOLE.fullmatch, texts)):
        return False
    label, bound = map(int, texts)
    return label > bound if operator == "Gt" else label < bound


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Return whether labels satisfy all requirements of a selector."""
    return selector is not None and all(satisfies(each, labels) for each in selector)


def expressions(fields: Fields, name: str = "matchExpressions") -> tuple[Expression, ...]:
    """Read a list of label requirements from its JSON objects."""
    found = []
    for item in fields.many(name):
        operator = item.text("operator")
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"):
            raise item.wrong("operator", operator, "In, NotIn, Exists, DoesNotExist, Gt or Lt")
        found.append(Expression(item.text("key"), operator, item.texts("values")))
    return tuple(found)


def equal(labels: dict[str, str]) -> tuple[Expression, ...]:
    """Requirements that each of the labels has its given value."""
    return tuple(Expression(key, "In", (value,)) for key, value in sorted(labels.items()))


def selector_of(fields: Fields, name: str) -> Selector:
    """Read a label selector; None if absent, which matches nothing."""
    if name not in fields:
        return None
    item = fields.of(name)
    return equal(item.mapping("matchLabels")) + expressions(item)


def node_terms(fields: Fields) -> tuple[NodeTerm, ...]:
    """Read the terms of a node selector from its JSON object."""
    return tuple(
        NodeTerm(expressions(term), expressions(term, "matchFields"))
        for term in fields.many("nodeSelectorTerms")
    )


def read_constraints(
    item: Fields, spaces: Mapping[str, dict[str, str]], kept: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Read the constraints in a pod's object, as fields of `Constraints`, except those of volumes.

    Parameters
    ----------
    spaces : the labels of all namespaces, where they are in the file.
    kept : kinds and words of what else keeps the pod on its node.
    """
    about, spec = item.of("metadata"), item.of("spec")
    namespace, labels = about.text("namespace"), about.mapping("labels")
    # 1. nodes, other pods, spreads
    affinity: list[tuple[NodeTerm, ...]] = []
    if chosen := spec.mapping("nodeSelector"):
        affinity.append((NodeTerm(equal(chosen)),))
    rules = spec.of("affinity")
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    if required in rules.of("nodeAffinity"):
        affinity.append(node_terms(rules.of("nodeAffinity").of(required)))
    apart, near = (
        tuple(_pod_term(term, namespace, labels, spaces) for term in rules.of(kind).many(required))
        for kind in ("podAntiAffinity", "podAffinity")
    )
    spread = tuple(
        _spread(term, labels)
        for term in spec.many("topologySpreadConstraints")
        if term.text("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
    )
    # 2. taints and host ports
    tolerations = spec.many("tolerations")
    ports = {
        (port.text("hostIP") or "0.0.0.0", port.text("protocol") or "TCP", port.whole("hostPort"))
        for container in (
            *spec.many("containers"),
            *(c for c in spec.many("initContainers") if c.text("restartPolicy") == "Always"),
        )
        for port in container.many("ports")
        if port.whole("hostPort")
    }
    # 3. what is not modelled, by name
    scheduler = spec.text("schedulerName") or "default-scheduler"
    nominated = item.of("status").text("nominatedNodeName")
    operators = {each.text("operator") for each in tolerations} - {"", "Equal", "Exists"}
    unread = [
        (any(term.has_unsupported_selector for term in apart), "anti-affinity",
         "anti-affinity by namespaceSelector"),
        (near, AFFINITY, "required pod affinity"),
        (any(term.has_unsupported_selector for term in near), "namespaces",
         "pod affinity by namespaceSelector, of namespaces not in the file (add ns)"),
        *((True, *each) for each in kept),
        (any(each.domains > 1 for each in spread), SPREAD, "a spread with minDomains"),
        (scheduler != "default-scheduler", SCHEDULER, f"its scheduler is {scheduler}"),
        ("workloadRef" in spec or "schedulingGroup" in spec, SCHEDULER,
         "it is scheduled with a group"),
        (spec.many("schedulingGates"), GATES, "it waits for a scheduling gate"),
        (nominated, NOMINATED, f"room on {nominated} is held for it, which is not counted"),
        *((True, TOLERATIONS, f"a toleration by {operator}") for operator in operators),
        ("resourceClaims" in spec, "resource claims", "claims of devices"),
    ]  # fmt: skip
    return {
        "affinity": tuple(affinity), "pod_anti_affinity": apart, "pod_affinity": near,
        "spread": spread, "ports": frozenset(ports),
        "tolerations": tuple(
            Toleration(
                each.text("key"), each.text("operator") or "Equal", each.text("value"),
                each.text("effect"),
            )
            for each in tolerations
        ),
        "unsupported_constraints": tuple((kind, words) for seen, kind, words in unread if seen),
    }  # fmt: skip


def _selected(term: Fields, labels: dict[str, str]) -> Selector:
    """Read the label selector of a term, extended by `matchLabelKeys` and `mismatchLabelKeys` with
    the pod's own labels.
    """
    selector = selector_of(term, "labelSelector")
    for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.texts(name):
            if selector is not None and key in labels:
                selector = (*selector, Expression(key, operator, (labels[key],)))
    return selector


def _pod_term(
    term: Fields, namespace: str, labels: dict[str, str], spaces: Mapping[str, dict[str, str]]
) -> PodTerm:
    """Read a required term of affinity or anti-affinity; without namespaces it refers to the pod's
    own. `spaces` has the labels of all namespaces in the file.
    """
    named = frozenset(term.texts("namespaces"))
    chosen: frozenset[str] | None = named
    selector, loose = selector_of(term, "namespaceSelector"), False
    if selector and spaces:
        chosen = named.union(name for name in spaces if selects(selector, spaces[name]))
    elif selector is not None:
        chosen, loose = None, bool(selector)  # all, or those with labels that are not read
    elif not chosen:
        chosen = frozenset({namespace})
    return PodTerm(_selected(term, labels), chosen, term.text("topologyKey"), loose)


def _spread(term: Fields, labels: dict[str, str]) -> Spread:
    most = term.whole("maxSkew", 1)
    if most < 1:
        raise term.wrong("maxSkew", most, "a whole number, at least 1")
    return Spread(
        _selected(term, labels) or None,  # an empty selector counts nobody, unlike elsewhere
        term.text("topologyKey"), most, term.whole("minDomains", 1),
        term.text("nodeAffinityPolicy", "Honor") == "Honor",
        term.text("nodeTaintsPolicy", "Ignore") == "Honor",
    )  # fmt: skip

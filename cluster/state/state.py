"""State of a cluster as read from files: nodes, pods with their constraints, and what was not read.

Nothing here decides anything: `to_packing` translates a state for the solvers, and
`scheduler_filters` judges moves on the state itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction

from ...instances.problem.errors import InvalidOption
from .constraints import AFFINITY, GATES, NOMINATED, OWNER, SPREAD, Constraints, Selector


class Role(StrEnum):
    """Role of a pod in a plan, such as movable or pinned."""

    MOVABLE = "movable"
    FIXED = "fixed"
    """It stays where it is, by a rule that is modelled, and keeps its node in use."""
    RESIDENT = "resident"
    """It belongs to its node (a DaemonSet's, a static pod): it takes room there, goes with it."""
    LEAVING = "leaving"
    """It is being deleted: it takes room until it is gone."""
    PENDING = "pending"
    FINISHED = "finished"


class Health(StrEnum):
    """Health of a pod in the sense of a disruption budget."""

    READY = "ready"
    UNREADY = "unready"
    STARTING = "starting"
    """Its containers do not run yet: no budget speaks of it."""


VOLUMES = "volumes of "
"""Begins the name of a resource: volumes that a driver attaches to nodes."""


def limitless(resource: str) -> bool:
    """Return whether a resource is unlimited on a node that does not list it."""
    return resource.startswith(VOLUMES)


EMPTY_DIR, HOST_PATH = "emptyDir (its files are lost)", "hostPath (its files stay behind)"
"""What a pod that moves leaves behind, in words."""


SHARES, TOPOLOGY = "shares", "topology"
"""Kinds of what is not modelled: of pods that take a part of a card, and whose gang is to be in one
domain.
"""

CARD = "nvidia.com/gpu"
"""What NVIDIA's device plugin counts."""


@dataclass(frozen=True, slots=True)
class Taint:
    """Taint that keeps pods off a node (NoSchedule, NoExecute)."""

    key: str
    value: str
    effect: str


CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""Of a node that takes no new pods, as before it is drained."""


@dataclass(frozen=True, slots=True)
class Node:
    """Node of a cluster: allocatable resources, labels and taints.

    Attributes
    ----------
    allocatable : amount by resource, whole numbers in the smallest unit.
    can_be_drained : whether it may be freed; control-plane nodes may not.
    not_ready_reason : why it takes no pods now ("not ready"); "" when it does.
    unknown_reason : what is not known of it: no plan puts anything there, and the bound allows
        everything.
    price : of being in use, in the user's money and time; None where it is not given.
    unsure : resources that the node may have more of than `allocatable` says: the bound knows no
        limit on them.
    """

    name: str
    allocatable: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    can_be_drained: bool = True
    not_ready_reason: str = ""
    unknown_reason: str = ""
    price: Fraction | None = None
    unsure: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pod(Constraints):
    """Pod, or virtual machine, with its requests and constraints.

    Attributes
    ----------
    namespace, name, node : where it runs; "" when it is pending.
    requests : amount by resource as the scheduler counts it, 1 of "pods" among them.
    role, reason : what it is to a plan, and why where it stays.
    owner : kind and name of what made it.
    soft : preferences and losses that are reported only.
    health : what disruption budgets make of it.
    priority : pods of a higher one may evict it in order to be placed, which is not modelled.
    gang, gang_topology : what it starts together with, within its namespace; the label of which all
        of that want nodes of one value. "" for none.
    """

    namespace: str
    name: str
    node: str
    requests: Mapping[str, int]
    role: Role = Role.MOVABLE
    reason: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: tuple[str, str] = ("", "")
    soft: tuple[str, ...] = ()
    health: Health = Health.READY
    priority: int = 0
    gang: str = ""
    gang_topology: str = ""

    @property
    def title(self) -> str:
        """Namespace and name of the pod."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def placed(self) -> bool:
        """Whether the pod takes room on a node."""
        return self.role not in (Role.PENDING, Role.FINISHED)

    @property
    def undecided(self) -> tuple[tuple[str, str], ...]:
        """Constraints of the pod, if it is pending, that the scheduler's filters cannot check."""
        decided = AFFINITY, SPREAD, OWNER
        return tuple(each for each in self.unsupported_constraints if each[0] not in decided)

    @property
    def schedulable(self) -> bool:
        """Whether the pod is pending and the scheduler tries to place it."""
        closed = any(kind in (GATES, NOMINATED) for kind, _ in self.unsupported_constraints)
        return self.role is Role.PENDING and not closed


NOT_COMPARED = {
    "requests": "those that are counted are compared",
    "labels": "those that some selector asks for are compared",
    "name": "it tells pods apart, not kinds",
    "node": "where each pod runs is the placement, not the kind",
    "role": "pods that stay are types of their own",
    "reason": "pods that stay are types of their own",
    "owner": "it names a kind, and constrains nothing",
    "soft": "preferences are reported, not modelled",
    "health": "budgets are applied to each pod",
    "priority": "preemption is named, not modelled",
    "gang": "it says who starts together, which holds no pod that runs in place",
    "gang_topology": "where it is demanded of a pod that runs, the pod is pinned",
}
"""Fields in which pods of one kind may differ, and why no constraint is lost."""

COMPARED = tuple(each.name for each in fields(Pod) if each.name not in NOT_COMPARED)
"""Fields in which pods of one kind are equal: a new one is, unless it is named above."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Disruption budget: how many pods of a namespace may be evicted now. `always_allow_unready`:
    pods that are not ready may be evicted without being counted, unless a second budget matches
    them.
    """

    namespace: str
    name: str
    selector: Selector
    allowed: int
    always_allow_unready: bool = False


@dataclass(frozen=True, slots=True)
class StateWarning:
    """Warning or assumption about what a file shows of the cluster: code, text and cure.

    Attributes
    ----------
    code : a name for programs, of `completeness.CODES` where it is a warning.
    text : what was seen, in words.
    cure : what to do about it; "" where nothing can be done.
    """

    code: str
    text: str
    cure: str = ""

    @property
    def sentence(self) -> str:
        """Warning as one sentence: what was seen in the file, and what to do about it."""
        return f"{self.text}; {self.cure}" if self.cure else self.text


@dataclass(frozen=True)
class ClusterState:
    """State of a cluster from which questions are answered.

    Attributes
    ----------
    platform : "kubernetes" or "csv".
    name : of the file.
    ignored : kinds of objects in the file that are not used, with their number.
    warnings : what makes the file something else than the cluster.
    assumptions : what is taken to be so, and what no such file says.
    """

    platform: str
    name: str
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    budgets: tuple[Budget, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[StateWarning, ...] = ()
    assumptions: tuple[StateWarning, ...] = ()

    @property
    def workload_noun(self) -> str:
        """Noun of the platform for the unit that is placed, such as pod."""
        return "pod" if self.platform == "kubernetes" else "VM"

    @property
    def host_noun(self) -> str:
        """Noun of the platform for the host of a unit, such as node."""
        return "node" if self.platform == "kubernetes" else "host"

    @property
    def where(self) -> dict[int, str]:
        """Node name of each placed pod, by pod index."""
        return {n: pod.node for n, pod in enumerate(self.pods) if pod.placed}

    @property
    def priced(self) -> bool:
        """Whether the nodes of a state have prices."""
        return any(node.price is not None for node in self.nodes)


def change_pods(state: ClusterState, change: Callable[[Pod], Pod]) -> ClusterState:
    """Copy a state with a function applied to every pod."""
    return replace(state, pods=tuple(map(change, state.pods)))


def change_nodes(state: ClusterState, change: Callable[[Node], Node]) -> ClusterState:
    """Copy a state with a function applied to every node."""
    return replace(state, nodes=tuple(map(change, state.nodes)))


def cordoned(state: ClusterState, names: Collection[str]) -> ClusterState:
    """Copy a state in which some nodes take no new pods, as after `kubectl cordon`."""

    def closed(node: Node) -> Node:
        return replace(node, taints=(*dict.fromkeys((*node.taints, CORDONED)),))

    return change_nodes(state, lambda node: closed(node) if node.name in names else node)


def require_label(state: ClusterState, option: str, label: str) -> None:
    """Raise InvalidOption if no node has the label that an option names."""
    known = sorted({key for node in state.nodes for key in node.labels})
    if label not in known:
        raise InvalidOption(
            f"{option} is {label!r}, a label that no node has; expected one of "
            f"{', '.join(known) or 'none: no node has labels'}"
        )

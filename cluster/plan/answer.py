"""Question about a cluster (which pods go on which nodes under which rules) and its answer: values
with bounds, a witness, and the reasons for what is impossible.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any, Literal

from ...instances.problem.errors import InvalidOption
from ..judge.order import Ordered
from ..judge.scheduler_filters import Move
from ..state.state import ClusterState, Role
from .costs import unpriced

RELEASED = ("volumes", "budget", "scheduler", "resource claims", "owner")
"""Kinds of reasons that a user may vouch for, so that they pin no pod."""

Reason = tuple[str, str]
"""The kind of a reason why a pod is pinned, and its words."""


_NO_MOVES = Ordered((), {})


def require_kinds(released: Collection[str]) -> None:
    """Raise InvalidOption if the option `released` names an unknown kind of constraint."""
    for kind in released:
        if kind not in RELEASED:
            raise InvalidOption(
                f"release is {kind!r}; expected one of {', '.join(RELEASED)}: reasons that hold "
                "pods in place, and that you have checked"
            )


@dataclass(frozen=True)
class Question:
    """Question how to place the pods of a state on its nodes such that no rule is broken.

    Attributes
    ----------
    state : nodes, pods, and the rules between them; without prices where `least` is no cost.
    least : what an answer has as little of as can be, and then as few moves: the cost of nodes in
        use, pods that wait, or the moves themselves, while no pod waits.
    released : kinds of `RELEASED` that pin no pod.
    pending : whether pending pods are placed too, each on a node or on a server where it waits,
        which costs more than all nodes together.
    emptied : names of nodes that take no pod any more, and keep only those that must stay.
    nodes_stay : whether no node is let go, after which no spread would count it.
    new_nodes : nodes that a spread counts only if they are bought.
    repair : whether the rules that what runs now breaks are kept too; otherwise their pods stay,
        and nothing makes them worse.

    Raises
    ------
    InvalidOption
        A kind to release that is none.
    """

    state: ClusterState
    least: Literal["cost", "waiting", "moves"] = "cost"
    released: Collection[str] = ()
    pending: bool = False
    emptied: Collection[str] = ()
    nodes_stay: bool = False
    new_nodes: Collection[str] = ()
    repair: bool = False

    def __post_init__(self) -> None:
        require_kinds(self.released)
        if self.least != "cost":
            object.__setattr__(self, "state", unpriced(self.state))


@dataclass(frozen=True)
class Proved:
    """Objective value of an answer with its lower or upper bound.

    Attributes
    ----------
    value : what the answer has.
    bound : no answer of any kind is better; 0 where nothing is known.
    pinned : none is while the pinned pods stay.
    """

    value: Any = 0
    bound: Any = 0
    pinned: Any = 0


@dataclass(frozen=True)
class CardUse:
    """GPU cards of one resource: their number, those in use, and the free ones by how many a node
    has.

    Attributes
    ----------
    total, used : on all nodes, and of pods on them.
    pieces : of nodes that take pods, by free cards on one how many there are.
    closed : free cards on nodes that take none.
    """

    resource: str
    total: int
    used: int
    pieces: Mapping[int, int]
    closed: int

    @property
    def free(self) -> int:
        """Number of free GPU cards on nodes that take pods."""
        return sum(cards * nodes for cards, nodes in self.pieces.items())


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer to a question about a cluster; pods are given by their indices in the state.

    Attributes
    ----------
    state : what was asked of, with what the question changed in it.
    kind, name : which question, or case of one ("node", a label, "gang"), and of what.
    status : whether what was asked can be had, by this answer; None where it is not known.
    impossible : "" or how surely it cannot.
    pods, hosts : that the question is about: those to place, or on the nodes that are emptied or
        lost; names of these nodes.
    nodes, in_use : workers that hold everything after the plan; names of those that hold something
        now, besides what belongs to every node.
    cost, cost_now : what nodes in use cost after the plan, or those to buy; what all that run cost
        now. None without prices.
    moves : pods that move.
    waits, waiting : pending pods without a place.
    fits : pods that fit while nothing moves; here no answer has more than `bound`.
    freed, idle, reserved : nodes that the plan empties; that hold nothing but pods of their own;
        on which nothing else may come before the pods that they are for.
    targets, arrivals : new node of every pod that moves; node of each pod without one, in an order
        in which filters pass.
    order : the moves in waves.
    left_pending : by scoring of the default scheduler: pods that stay pending if it places the
        evicted ones itself.
    bought : nodes to buy, by type.
    reason : why no fewer nodes can do, in words.
    why_not : of a pod that stays or has no place, why.
    open_to, refused : of a pod on a node that is emptied, the nodes that would take it now; of a
        pod without a node, how many nodes refuse it for which reason.
    pinned : pods that stay in the plan, and why.
    dropped, broken, repaired, left_broken : rules that the bound does not know; that are broken
        now; of these those that the plan repairs, and those that stay broken.
    topology, domain, domains : the label of which the nodes of a gang have one value, the best
        one, and by value a proved bound on the moves; None where no moves admit the gang there.
    plan : the moves that lead there, where they are no part of the answer itself.
    steps : answers of which this one is made: losses, gangs, new nodes.
    room : cards of each resource.
    unasked : names of gangs that were not asked about.
    cut, interrupted : what was cut short, in words: by the time limit, or by an interrupt.
    """

    state: ClusterState
    kind: str = "nodes"
    name: str = ""
    status: bool | None = True
    impossible: str = ""
    pods: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    nodes: Proved = Proved()
    in_use: tuple[str, ...] = ()
    cost: Proved | None = None
    cost_now: Fraction | None = None
    moves: Proved = Proved()
    waits: Proved = Proved()
    waiting: tuple[int, ...] = ()
    fits: Proved = Proved()
    freed: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    targets: Mapping[int, str] = field(default_factory=dict)
    arrivals: Mapping[int, str] = field(default_factory=dict)
    order: Ordered = _NO_MOVES
    left_pending: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    bought: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    why_not: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    open_to: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    refused: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    pinned: Mapping[int, tuple[Reason, ...]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    left_broken: tuple[str, ...] = ()
    topology: str = ""
    domain: str = ""
    domains: Mapping[str, int | None] = field(default_factory=dict)
    plan: Answer | None = None
    steps: tuple[Answer, ...] = ()
    room: tuple[CardUse, ...] = ()
    unasked: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def proved(self) -> bool:
        """Whether the number of nodes, or their cost, is proved minimal among all plans that leave
        as few pods pending.
        """
        least = self.nodes if self.cost is None else self.cost
        return bool(least.value == least.bound)

    @property
    def waste(self) -> float:
        """Share of the nodes in use that the plan frees."""
        return 1 - self.nodes.value / len(self.in_use) if self.in_use else 0.0

    def document(self) -> dict[str, Any]:
        """Convert an answer to plain JSON values by field name, without empty fields."""
        titles = [pod.title for pod in self.state.pods]
        pairs = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {
            name: _plain(value, titles if name in _OF_PODS else [])
            for name, value in pairs
            if name == "status" or value not in ("", (), {}, None)
        }


_OF_PODS = {
    "pods", "waiting", "targets", "arrivals", "order", "left_pending", "why_not", "open_to",
    "refused", "pinned",
}  # fmt: skip
"""Fields in which a pod is a number, which a document has by its title."""


def _plain(value: Any, titles: list[str]) -> Any:
    """Convert a value of an answer to JSON."""
    if isinstance(value, Answer):
        return value.document()
    if isinstance(value, ClusterState):
        return _state(value)
    if isinstance(value, Move):
        return {"pod": titles[value.pod], "to": value.node, "temporary": value.temporary}
    if is_dataclass(value):
        shown = (each.name for each in fields(value) if each.repr)
        return {name: _plain(getattr(value, name), titles) for name in shown}
    if isinstance(value, Mapping):
        names = {key: titles[key] if titles and isinstance(key, int) else str(key) for key in value}
        return {names[key]: _plain(each, titles) for key, each in value.items()}
    if isinstance(value, tuple | list):
        of_pods = titles and all(type(each) is int for each in value)
        return [titles[each] if of_pods else _plain(each, titles) for each in value]
    return float(value) if isinstance(value, Fraction) else value


def _state(state: ClusterState) -> dict[str, Any]:
    """Convert the name, counts and warnings of a state to JSON."""
    pods = state.pods
    soft = {pod.title: list(pod.soft) for pod in pods if pod.placed and pod.soft}
    return {
        "name": state.name,
        "platform": state.platform,
        "warnings": _plain(state.warnings, []),
        "assumptions": _plain(state.assumptions, []),
        "pods": {role.value: sum(pod.role is role for pod in pods) for role in Role},
        "fixed": {pod.title: pod.reason for pod in pods if pod.role is Role.FIXED},
        "soft": soft,
        "not_read": dict(state.ignored),
    }

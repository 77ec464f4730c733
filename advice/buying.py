"""Which nodes to buy, and how many of each type, for the pods that wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from ..instances.packing.instance import Packing, Placement
from ..instances.packing.placement_constraints import rules_of
from ..instances.problem.errors import InvalidInstance
from ..solvers.outcome import Clock, Report
from .assembly import Translation
from .node_types import NodeType, daemon_pods, with_nodes
from .optimum import cost_needed, run
from .pending import admitted, arrivals_in_order, can_arrive, standing_still
from .plan import SECONDS, require_kinds
from .scheduler_filters import Scheduler, check_arrivals
from .selectors import admits, refers_to, selects
from .solve_budget import Say, SolveBudget
from .state import ClusterState, Pod, Role
from .to_packing import translate


@dataclass(frozen=True)
class Purchase:
    """Nodes to buy, and what is known of cheaper ones.

    Attributes
    ----------
    state : with the new nodes, and what every one of them holds from the start.
    bought : type -> how many of it; one type in two zones is one.
    cost, cost_lower_bound : their price, and what those of no answer that leaves as few pods
        waiting are below, while nothing that runs moves.
    arrivals : place of a pod in the state -> its node, in an order in which every filter passes.
    waiting, waiting_lower_bound : pods without a node, and how few no answer is below.
    """

    state: ClusterState
    bought: Mapping[str, int]
    cost: Fraction
    cost_lower_bound: Fraction
    arrivals: Mapping[int, str]
    waiting: tuple[int, ...]
    waiting_lower_bound: int
    interrupted: bool = False

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        pods = self.state.pods
        return {
            "nodes": dict(self.bought),
            "cost": float(self.cost),
            "cost_bound": float(self.cost_lower_bound),
            "arrivals": {pods[n].title: name for n, name in self.arrivals.items()},
            "waiting": [pods[n].title for n in self.waiting],
            "waiting_bound": self.waiting_lower_bound,
        }


def buy(
    state: ClusterState,
    types: Sequence[NodeType],
    *,
    instead: bool = False,
    released: Collection[str] = (),
    time_limit: float | None = SECONDS,
    say: Say = lambda words: None,
) -> Purchase:
    """The cheapest nodes that hold the pending pods beside those that there are, which are free of
    charge, while nothing moves; Ctrl-C keeps the best so far.

    Parameters
    ----------
    types : what can be bought.
    instead : whether the new nodes hold everything, in the place of those that there are.
    released : kinds of `to_packing.RELEASED` that keep no pod waiting.

    Raises
    ------
    InvalidInstance
        No pod is pending.
    """
    work, every = SolveBudget(time_limit, say), daemon_pods(state)
    state = vouched(_replaced(state) if instead else standing_still(state), released)
    asked = [n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING]
    if not any(state.pods[n].schedulable for n in asked):
        raise InvalidInstance(
            state.name, f"without a pending {state.workload_noun}", "some to buy nodes for",
            "Give new ones, or ask for nodes in the place of those that there are",
        )  # fmt: skip
    free = (
        ()
        if instead
        else tuple(
            replace(node, price=Fraction(0), committed=False, can_be_drained=True)
            for node in state.nodes
        )
    )
    state = replace(state, nodes=free)
    market = _Market(state, types, every)
    plan = market.translated(for_bound=False)
    answer = work.part(
        "the cheapest nodes", lambda report: market.cheapest(plan, work.share(2), report), None
    )
    final, arrivals, of = market.checked(plan, answer)
    relaxed = market.translated(for_bound=True)
    if len(arrivals) < len(asked):  # rules that no instance has may allow what the bound does
        answer = work.part(
            "other nodes", lambda report: market.cheapest(relaxed, work.share(2), report), None
        )
        other = market.checked(relaxed, answer)
        if len(other[1]) > len(arrivals):
            final, arrivals, of = other
    waiting = tuple(n for n in asked if n not in arrivals)
    outside = sum(not state.pods[n].schedulable for n in asked)
    least, bound = work.part(
        "a bound on the cost",
        lambda report: market.bounds(relaxed, len(waiting) - outside, work, report),
        (0, Fraction(0)),
    )
    new = [node for node in final.nodes if node.name in of]
    price = sum((node.price or Fraction(0) for node in new), Fraction(0))
    of_each = Counter(types[of[node.name]].node.name for node in new)
    return Purchase(
        final, dict(sorted(of_each.items())), price, min(bound, price), arrivals, waiting,
        least + outside, work.interrupted,
    )  # fmt: skip


class _Market:
    """Pending pods, the nodes that there are, which cost nothing, and types of new ones.

    Instances have one server class for each, a type with as many servers as any answer needs, and
    one where pods wait.
    """

    def __init__(
        self, state: ClusterState, types: Sequence[NodeType], every: Sequence[Pod]
    ) -> None:
        self.state, self.types, self.every = state, types, every
        prices = [one.node.price or Fraction(0) for one in types]
        scale = lcm(*(price.denominator for price in prices))
        self.unit = Fraction(gcd(*(int(price * scale) for price in prices)) or 1, scale)
        most = _most(state, types, every)
        # what is free of charge costs 1, and a unit of money more than all of that
        unpaid = len(state.nodes) + sum(most[n] for n, price in enumerate(prices) if not price)
        self.step = unpaid + 1
        # two of each type: topologies in which nodes of one type share a domain are seen as such
        copies = {n: min(2, number) for n, number in most.items()}
        self.kind = [n for n, number in copies.items() for _ in range(number)]
        self.copies = copies
        # of each node: the cost in use, and how many there can be
        self.cost = [1] * len(state.nodes) + [
            int(prices[n] / self.unit) * self.step or 1 for n in self.kind
        ]
        self.number = [1] * len(state.nodes) + [
            1 if place and self.kind[place - 1] == n else max(1, most[n] - 1)
            for place, n in enumerate(self.kind)
        ]

    def translated(self, *, for_bound: bool) -> Translation:
        """The translation with a few nodes of each type. In the bound nothing but the size of the
        pods that every node holds counts: those of a node that is not bought forbid nothing.
        """
        state, every = self.state, self.every
        if for_bound:
            every = [replace(pod, pod_anti_affinity=()) for pod in every]
            state = replace(state, pods=tuple(_beside(pod, every) for pod in state.pods))
        grown, _ = with_nodes(state, self.copies, self.types, every)
        return translate(grown, for_bound=for_bound, pending=True)

    def instance(
        self, plan: Translation, waiting: int | None = None, scale: int = 1, flat: bool = False
    ) -> Packing:
        """Its instance with as many as there can be, and so many servers where pods wait at 1 each;
        without, one for each pod, each above all nodes together. A flat one has nodes at 1 each.
        """
        instance = plan.instance
        number = np.zeros(instance.classes)
        cost = np.ones(instance.classes, dtype=np.int64)
        for n, c in zip(plan.nodes, instance.server_class.tolist(), strict=False):
            number[c] += self.number[n]
            cost[c] = 1 if flat else self.cost[n] * scale
        number[-1], cost[-1] = instance.server_count[-1], 1 + int(cost @ number)
        if waiting is not None:
            number[-1], cost[-1] = waiting, 1
        return replace(instance, servers=number, cost=cost, server_names=())

    def cheapest(
        self, plan: Translation, seconds: float | None, report: Report
    ) -> Placement | None:
        """The best placement that is found, by patterns where every rule is a resource."""
        clock, whole = Clock(seconds), self.instance(plan)
        plain = as_resources(self.instance(plan, nowhere(plan)))
        for instance in (plain, whole):
            if instance is not None:
                outcome = run("min-cost", instance, time_limit=clock.time_slice(), report=report)
                if isinstance(outcome.solution, Placement):
                    return outcome.solution
        return None

    def checked(
        self, plan: Translation, answer: Placement | None
    ) -> tuple[ClusterState, dict[int, str], dict[str, int]]:
        """The state with the new nodes that are used, pods that every filter lets go there (with
        their nodes), and the types of new nodes.
        """
        there, of_each = len(self.state.nodes), Counter[int]()
        slots: list[tuple[int, int, list[int]]] = []
        if answer is not None:
            classes = plan.instance.server_class.tolist()
            members: dict[int, list[int]] = {}
            for n, c in zip(plan.nodes, classes, strict=False):
                members.setdefault(c, []).extend([n] * self.number[n])
            supply = {c: iter(places) for c, places in members.items()}
            for row, c in zip(answer.count.tolist(), answer.server_class.tolist(), strict=True):
                if c in supply:
                    n = next(supply[c])
                    n = n if n < there else there + self.kind[n - there]
                    slots.append((n, of_each[n], row))
                    of_each[n] += 1
        wanted = {n - there: number for n, number in of_each.items() if n >= there}
        grown, of_new = with_nodes(self.state, wanted, self.types, self.every)
        names = [[node.name] for node in self.state.nodes]
        names += [[name for name, of in of_new.items() if of == n] for n in range(len(self.types))]
        left = [list(pods) for pods in plan.pods]
        targets = {
            left[kind].pop(): names[n][k]
            for n, k, row in slots
            for kind, number in enumerate(row)
            for _ in range(number)
        }
        scheduler, able = Scheduler(grown), can_arrive(self.state)
        arrivals = arrivals_in_order(scheduler, {n: targets[n] for n in able if n in targets})
        rest = [n for n in able if n not in arrivals]
        arrivals |= admitted(scheduler, rest, [node.name for node in grown.nodes])
        unused = {*of_new}.difference(arrivals.values())
        final = replace(
            grown,
            nodes=tuple(node for node in grown.nodes if node.name not in unused),
            pods=tuple(pod for pod in grown.pods if pod.node not in unused),
        )
        check_arrivals(
            final, {n: pod.node for n, pod in enumerate(final.pods) if pod.placed}, arrivals
        )
        return final, arrivals, of_new

    def bounds(
        self, relaxed: Translation, waiting: int, work: SolveBudget, report: Report
    ) -> tuple[int, Fraction]:
        """How few pods wait at least, and what new nodes cost at least where no more wait than so
        many.
        """
        least = 0
        if waiting:  # by number alone: sums of money beside what waiting costs lose digits
            flat = self.instance(relaxed, flat=True)
            number = cost_needed(flat, work.share(2), report)
            least = number // int(flat.server_cost[-1])
        free = cost_needed(self.instance(relaxed, waiting, waiting + 1), work.share(1), report)
        cost = max(0, -((waiting - free) // (waiting + 1)))
        return least, cost // self.step * self.unit


def nowhere(plan: Translation) -> int:
    """The pods of a plan that no node may take."""
    instance, last = plan.instance, plan.instance.classes - 1
    large = np.any(instance.demand[:, None] > instance.capacity[:last], axis=2)
    taken: list[bool] = np.any(instance.rules.allowed[:, :last] & ~large, axis=1).tolist()
    return sum(len(pods) for pods, some in zip(plan.pods, taken, strict=False) if not some)


def as_resources(instance: Packing) -> Packing | None:
    """The same without rules: a limit on a server's VMs is a resource, and so is being on a server
    that is allowed; None where VMs are kept apart, or zones count.
    """
    limits = instance.limits or ()
    if instance.apart is not None or instance.spreads or any(x.within != "server" for x in limits):
        return None
    demand, capacity = [instance.demand], [instance.capacity]
    allowed = rules_of(instance).allowed.copy()
    allowed[:, -1] = True
    for row in {row.tobytes(): row for row in allowed if not row.all()}.values():
        demand.append((allowed == row).all(axis=1)[:, None].astype(np.int64))
        capacity.append(row[:, None] * int(instance.requested.sum()))
    for limit in limits:
        demand.append(np.isin(np.arange(instance.types), limit.types)[:, None].astype(np.int64))
        capacity.append(np.full((instance.classes, 1), limit.most))
    return Packing(
        capacity=np.hstack(capacity), demand=np.hstack(demand), request=instance.request,
        servers=instance.servers, cost=instance.cost,
    )  # fmt: skip


def _beside(pod: Pod, every: Sequence[Pod]) -> Pod:
    """A pod without the rules that speak of pods which every node holds."""
    return replace(
        pod,
        pod_anti_affinity=tuple(
            term
            for term in pod.pod_anti_affinity
            if not any(refers_to(term, other) for other in every)
        ),
        spread=tuple(
            spread
            for spread in pod.spread
            if not any(
                other.namespace == pod.namespace and selects(spread.selector, other.labels)
                for other in every
            )
        ),
    )


def vouched(state: ClusterState, released: Collection[str]) -> ClusterState:
    """The state whose pending pods have no constraint of these kinds."""
    require_kinds(released)
    return replace(
        state,
        pods=tuple(
            replace(
                pod,
                unsupported_constraints=tuple(
                    each for each in pod.unsupported_constraints if each[0] not in released
                ),
            )
            if pod.role is Role.PENDING
            else pod
            for pod in state.pods
        ),
    )


def _replaced(state: ClusterState) -> ClusterState:
    """The state where all pods wait but those of DaemonSets, which every node has its own of."""
    return replace(
        state,
        pods=tuple(
            replace(pod, node="", role=Role.PENDING) if pod.placed else pod
            for pod in state.pods
            if pod.role not in (Role.RESIDENT, Role.LEAVING, Role.FINISHED)
        ),
    )


def _most(state: ClusterState, types: Sequence[NodeType], every: Sequence[Pod]) -> dict[int, int]:
    """By type, so many nodes that no answer needs more of it."""
    pods = [pod for pod in state.pods if pod.schedulable]
    total = Counter[str]()
    for pod in pods:
        total.update(pod.requests)
    ruled = sum(bool(pod.pod_anti_affinity or pod.spread or pod.ports) for pod in pods)
    most = {}
    for place, one in enumerate(types):
        room = Counter(one.node.allocatable)
        for pod in every:
            room.subtract(pod.requests if admits(one.node, pod) else {})
        # two nodes that one could be in the place of are not both needed
        full = sum(Fraction(total[name], room[name]) for name in total if room[name] > 0)
        number = min(len(pods), int(2 * full) + 1 + ruled)
        most[place] = number if one.most is None else min(number, one.most)
    return most

"""Which nodes to buy, and how many of each type, for the pods that wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...instances.packing.instance import Packing, Placement
from ...instances.packing.placement_constraints import rules_of
from ...instances.problem.errors import InvalidInstance
from ...solvers.outcome import Clock
from ..judge.scheduler_filters import Scheduler, check_arrivals
from ..state.node_types import NodeType, daemon_pods, with_nodes
from ..state.selectors import admits, refers_to
from ..state.state import ClusterState, Pod, Role, change_nodes, change_pods
from .answer import Answer, Proved, Question, require_kinds
from .assembly import Translation
from .costs import node_costs
from .optimum import Say, SolveBudget, cost_needed, nowhere, run, with_waiting
from .pending import admitted, arrivals_in_order, can_arrive, standing_still, vouched, why_refused
from .plan import SECONDS
from .to_packing import translate


def buy(
    state: ClusterState,
    types: Sequence[NodeType],
    *,
    released: Collection[str] = (),
    time_limit: float | None = SECONDS,
    say: Say = lambda words: None,
) -> Answer:
    """The cheapest nodes that hold the pending pods beside those that there are, which are free of
    charge, while nothing moves; Ctrl-C keeps the best so far.

    Parameters
    ----------
    types : what can be bought.
    released : kinds of `answer.RELEASED` that keep no pod waiting.

    Raises
    ------
    InvalidInstance
        No pod is pending.
    """
    # 1. the pods to place, beside nodes that are free of charge
    require_kinds(released)
    work, every = SolveBudget(time_limit, say), daemon_pods(state)
    state = vouched(standing_still(state), released)
    asked = [n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING]
    if not any(state.pods[n].schedulable for n in asked):
        raise InvalidInstance(
            state.name, f"without a pending {state.workload_noun}", "some to buy nodes for",
            "Give new ones",
        )  # fmt: skip
    free = change_nodes(state, lambda node: replace(node, price=Fraction(0), can_be_drained=True))
    # 2. the cheapest nodes for them
    market = _Market(free, types, every)
    relaxed = market.translated(for_bound=True)
    final, arrivals, of = state, dict[int, str](), dict[str, int]()
    # rules that no instance has, or has tighter, may allow what the bound does
    for words, plan in (
        ("the cheapest nodes", market.translated(for_bound=False)),
        ("other nodes", relaxed),
    ):
        bought = market.checked(plan, market.cheapest(plan, words, work))
        if not of or _rank(bought) < _rank((final, arrivals, of)):
            final, arrivals, of = bought
        if len(arrivals) == len(asked) and not plan.tightened:
            break
    # 3. what is proved of cheaper ones, and of the pods that wait
    waiting = tuple(n for n in asked if n not in arrivals)
    outside = sum(not state.pods[n].schedulable for n in asked)
    least, bound = market.bounds(relaxed, len(waiting) - outside, work)
    least += outside
    of_each = Counter(types[of[node.name]].node.name for node in final.nodes if node.name in of)
    _, price = _rank((final, arrivals, of))
    scheduler = Scheduler(final, final.where | arrivals)
    return Answer(
        state=final, kind="buy", pods=tuple(asked), bought=dict(sorted(of_each.items())),
        cost=Proved(price, min(bound, price)), arrivals=arrivals, waiting=waiting,
        waits=Proved(len(waiting), least), refused=why_refused(scheduler, waiting),
        status=None if waiting and not least else not waiting, interrupted=work.interrupted,
    )  # fmt: skip


def _rank(bought: tuple[ClusterState, dict[int, str], dict[str, int]]) -> tuple[int, Fraction]:
    """Fewer than none pods that arrive, and the price of the new nodes."""
    final, arrivals, of = bought
    prices = (node.price or Fraction(0) for node in final.nodes if node.name in of)
    return -len(arrivals), sum(prices, Fraction(0))


class _Market:
    """Pending pods, the nodes that there are, which cost nothing, and types of new ones."""

    def __init__(
        self,
        state: ClusterState,
        types: Sequence[NodeType],
        every: Sequence[Pod],
    ) -> None:
        self.state, self.types, self.every = state, types, every
        most = _most(state, types, every)
        # two of each type: topologies in which nodes of one type share a domain are seen as such
        self.copies = {n: min(2, number) for n, number in most.items()}
        # by node of such a state: its type, -1 for one that is there, and how many there can be
        self.kind, self.number = [-1] * len(state.nodes), [1] * len(state.nodes)
        for n, number in most.items():
            self.kind += [n] * self.copies[n]
            self.number += [max(1, number - 1), 1][: self.copies[n]]

    def translated(self, *, for_bound: bool) -> Translation:
        """The translation with as many nodes of each type as there can be."""
        state, every = self.state, self.every

        def beside(pod: Pod) -> Pod:
            terms = pod.pod_anti_affinity
            left = (one for one in terms if not any(refers_to(one, other) for other in self.every))
            return replace(pod, pod_anti_affinity=tuple(left))

        if for_bound:  # the own pods of a node that is not bought forbid nothing
            state = change_pods(state, beside)
            every = [replace(pod, pod_anti_affinity=()) for pod in every]
        grown, new = with_nodes(state, self.copies, self.types, every)
        # a server class for each node and type, of which there are all that an answer needs
        question = Question(grown, pending=True, nodes_stay=True, new_nodes=new)
        plan = translate(question, for_bound=for_bound)
        instance, costs = plan.instance, node_costs(grown, self.number)
        number = np.zeros(instance.classes)
        cost = np.full(instance.classes, costs.waiting, dtype=np.int64)
        number[-1] = plan.waiting_servers
        for n, c in zip(plan.nodes, instance.server_class.tolist(), strict=False):
            number[c] += self.number[n]
            cost[c] = costs.of_node[n]
        instance = replace(instance, servers=number, cost=cost, server_names=())
        nodes = tuple(n for n in plan.nodes for _ in range(self.number[n]))
        return replace(plan, instance=instance, costs=costs, nodes=nodes)

    def cheapest(self, plan: Translation, words: str, work: SolveBudget) -> Placement | None:
        """The best placement that is found, by patterns where every rule is a resource."""

        def search() -> Placement | None:
            clock, report = Clock(work.share(2)), work.report(words)
            plain = as_resources(with_waiting(plan, nowhere(plan)).instance)
            for instance in (plain, plan.instance):
                if instance is None:
                    continue
                seconds = clock.time_slice()
                outcome = run("min-cost", instance, time_limit=seconds, report=report)
                if isinstance(outcome.solution, Placement):
                    return outcome.solution
            return None

        return work.part(words, search, None)

    def checked(
        self, plan: Translation, answer: Placement | None
    ) -> tuple[ClusterState, dict[int, str], dict[str, int]]:
        """The state with the new nodes in use, the nodes of pods that arrive, and types by node."""
        supply: dict[int, list[int]] = {}
        for n, c in zip(plan.nodes, plan.instance.server_class.tolist(), strict=False):
            supply.setdefault(c, []).append(n)
        servers = (
            zip(answer.server_class.tolist(), answer.count.tolist(), strict=True) if answer else ()
        )
        # nodes that are used, with their pods of each type
        rows = [(supply[c].pop(0), row) for c, row in servers if c in supply]
        wanted = Counter(self.kind[n] for n, _ in rows if self.kind[n] >= 0)
        grown, of_new = with_nodes(self.state, wanted, self.types, self.every)
        new = {kind: [name for name in of_new if of_new[name] == kind] for kind in wanted}
        left = [list(pods) for pods in plan.pods]
        targets: dict[int, str] = {}
        for n, row in rows:
            kind = self.kind[n]
            name = self.state.nodes[n].name if kind < 0 else new[kind].pop(0)
            targets |= {left[t].pop(): name for t, number in enumerate(row) for _ in range(number)}
        scheduler, able = Scheduler(grown), can_arrive(self.state)
        arrivals = arrivals_in_order(scheduler, {n: targets[n] for n in able if n in targets})
        rest = [n for n in able if n not in arrivals]
        arrivals |= admitted(scheduler, rest, [node.name for node in grown.nodes])
        unused = {*of_new}.difference(arrivals.values())
        if any(each.domains > 1 for n in arrivals for each in self.state.pods[n].spread):
            unused.clear()  # an empty node is a domain too
        final = replace(
            grown,
            nodes=tuple(node for node in grown.nodes if node.name not in unused),
            pods=tuple(pod for pod in grown.pods if pod.node not in unused),
        )
        check_arrivals(final, final.where, arrivals)
        return final, arrivals, of_new

    def bounds(self, relaxed: Translation, waiting: int, work: SolveBudget) -> tuple[int, Fraction]:
        """How few pods wait at least, and what nodes cost at least where no more than some wait."""
        least, instance = 0, relaxed.instance
        if waiting:  # by number alone: sums of money beside what waiting costs lose digits
            cost = np.ones(instance.classes, dtype=np.int64)
            cost[-1] += len(relaxed.nodes)
            flat = replace(relaxed, instance=replace(instance, cost=cost))
            number = work.find("a bound on the pods that wait", 2, cost_needed, flat).bound
            least = number // int(cost[-1])
        free = with_waiting(relaxed, waiting, waiting + 1)
        total = work.find("a bound on the cost", 1, cost_needed, free).bound
        return least, relaxed.costs.money(max(0, -((waiting - total) // (waiting + 1))))


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

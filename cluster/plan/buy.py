"""The cheapest nodes to buy, by type, such that pending pods fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...instances.packing.instance import Packing
from ...instances.packing.placement_constraints import rules_of
from ...instances.problem.errors import InvalidInstance
from ..judge.scheduler_filters import Scheduler, check_arrivals
from ..state.node_types import NodeType, daemon_pods, with_nodes
from ..state.selectors import admits
from ..state.state import ClusterState, Pod, Role, change_nodes
from .answer import Answer, Proved, Question, require_kinds
from .assembly import Translation
from .optimum import Found, Say, SolveBudget, cost_needed, least_cost, targets_of, with_waiting
from .pending import admitted, can_arrive, standing_still, vouched, why_refused
from .plan import SECONDS
from .search import cost_beside, nowhere
from .to_packing import translate


def buy(
    state: ClusterState,
    types: Sequence[NodeType],
    *,
    released: Collection[str] = (),
    time_limit: float | None = SECONDS,
    say: Say = lambda words: None,
) -> Answer:
    """Find the cheapest new nodes on which, with the existing nodes free of charge, the pending
    pods fit while nothing moves; Ctrl-C keeps the incumbent.

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
    work, every = SolveBudget(time_limit, say), daemon_pods(state)  # every: of every new node
    state = vouched(standing_still(state), released)
    asked = [n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING]
    if not any(state.pods[n].schedulable for n in asked):
        raise InvalidInstance(
            state.name, f"without a pending {state.workload_noun}", "some to buy nodes for",
            "Give new ones",
        )  # fmt: skip
    free = change_nodes(state, lambda node: replace(node, price=Fraction(0), can_be_drained=True))
    # 2. the cheapest nodes for them, of as many as an answer can need of each type
    most = _most(free, types, every)
    grown, of = with_nodes(free, most, types, every)  # of: the type of each new node by name
    relaxed = translate(_question(grown, of), for_bound=True)
    final, arrivals = state, dict[int, str]()
    # rules that no instance has, or has tighter, may allow what the bound does
    for words, plan in (
        ("the cheapest nodes", translate(_question(grown, of))), ("other nodes", relaxed),
    ):  # fmt: skip
        bought = _checked(grown, of, _cheapest(plan, words, work))
        if not arrivals or _rank(of, *bought) < _rank(of, final, arrivals):
            final, arrivals = bought
        if len(arrivals) == len(asked) and not plan.tightened:
            break
    else:
        final, arrivals = _with_more(grown, of, types, final, arrivals)
    # 3. what is proved of cheaper ones, and of the pods that wait
    waiting = tuple(n for n in asked if n not in arrivals)
    outside = sum(not state.pods[n].schedulable for n in asked)
    least, bound = _bounds(relaxed, len(waiting) - outside, work)
    least += outside
    of_each = Counter(types[of[node.name]].node.name for node in final.nodes if node.name in of)
    _, price = _rank(of, final, arrivals)
    scheduler = Scheduler(final, final.where | arrivals)
    return Answer(
        state=final, kind="buy", pods=tuple(asked), bought=dict(sorted(of_each.items())),
        cost=Proved(price, min(bound, price)), arrivals=arrivals, waiting=waiting,
        waits=Proved(len(waiting), least), refused=why_refused(scheduler, waiting),
        status=None if waiting and not least else not waiting, interrupted=work.interrupted,
    )  # fmt: skip


def _rank(
    of: Mapping[str, int], final: ClusterState, arrivals: Mapping[int, str]
) -> tuple[int, Fraction]:
    """Sort key of an answer: minus the number of pods placed, then the price of the new nodes."""
    prices = (node.price or Fraction(0) for node in final.nodes if node.name in of)
    return -len(arrivals), sum(prices, Fraction(0))


def _question(grown: ClusterState, of: Mapping[str, int]) -> Question:
    return Question(grown, pending=True, nodes_stay=True, new_nodes=of)


def _cheapest(plan: Translation, words: str, work: SolveBudget) -> Found:
    """Find the cheapest placement, by packing patterns if every rule can be written as a
    resource.
    """
    settled = with_waiting(plan, nowhere(plan))
    plain = as_resources(settled.instance)
    for one in ([] if plain is None else [replace(settled, instance=plain)]) + [plan]:
        found = work.find(words, 2, least_cost, one)
        if found.count is not None:
            break
    return found


def _only(grown: ClusterState, of: Mapping[str, int], used: Collection[str]) -> ClusterState:
    """Copy of a state without the new nodes that are not used."""
    gone = {name for name in of if name not in used}
    return replace(
        grown, nodes=tuple(node for node in grown.nodes if node.name not in gone),
        pods=tuple(pod for pod in grown.pods if pod.node not in gone),
    )  # fmt: skip


def _checked(
    grown: ClusterState, of: Mapping[str, int], found: Found
) -> tuple[ClusterState, dict[int, str]]:
    """Place pending pods by the scheduler's filters on the nodes of a placement, or on others;
    return the state with the new nodes in use, and the pods' nodes in an order that passes.
    """
    targets = {} if found.count is None else targets_of(grown, found.plan, found.count)
    final, able = _only(grown, of, {*targets.values()}), can_arrive(grown)
    scheduler = Scheduler(final)
    arrivals = admitted(scheduler, [n for n in able if n in targets], targets)
    rest = [n for n in able if n not in arrivals]
    arrivals |= admitted(scheduler, rest, [node.name for node in final.nodes])
    # under a minDomains an empty node is a domain too
    if not any(each.domains > 1 for n in arrivals for each in grown.pods[n].spread):
        final = _only(final, of, {*arrivals.values()})
    check_arrivals(final, final.where, arrivals)
    return final, arrivals


def _with_more(
    grown: ClusterState, of: Mapping[str, int], types: Sequence[NodeType], final: ClusterState,
    arrivals: dict[int, str],
) -> tuple[ClusterState, dict[int, str]]:  # fmt: skip
    """Add nodes of the cheapest suitable type one by one for pods whose spread has a minDomains. No
    packing instance models that. Returns `final` and `arrivals` if a remaining pod has no
    minDomains, or no type of nodes suits all.
    """
    best, able = (final, arrivals), can_arrive(grown)
    left = [grown.pods[n] for n in able if n not in arrivals]
    fits = [k for k, one in enumerate(types) if left and all(admits(one.node, pod) for pod in left)]
    if not fits or not all(any(s.domains > 1 for s in pod.spread) for pod in left):
        return best
    kind = min(fits, key=lambda k: types[k].node.price or 0)
    used = {node.name for node in final.nodes}
    for name in [name for name, k in of.items() if k == kind and name not in used][: len(left)]:
        used.add(name)
        more = _only(grown, of, used)
        found = admitted(Scheduler(more), able, [node.name for node in more.nodes])
        if len(found) > len(best[1]):
            best = more, found
        if len(found) == len(able):
            break
    return best


def _bounds(relaxed: Translation, waiting: int, work: SolveBudget) -> tuple[int, Fraction]:
    """Lower bounds on the number of pods left pending, and on the cost of nodes if at most
    `waiting` are left pending.
    """
    least, instance = 0, relaxed.instance
    if waiting:  # by number alone: sums of money beside what waiting costs lose digits
        flat_cost = np.ones(instance.classes, dtype=np.int64)
        flat_cost[-1] += len(relaxed.nodes)
        flat = replace(relaxed, instance=replace(instance, cost=flat_cost))
        number = work.find("a bound on the pods that wait", 2, cost_needed, flat).bound
        least = number // int(flat_cost[-1])
    cost = cost_beside(relaxed, waiting, work, 1, "a bound on the cost")
    return least, relaxed.costs.money(cost)


def as_resources(instance: Packing) -> Packing | None:
    """Rewrite an instance without rules, each limit or allowed class as an additional resource;
    None if types are kept apart or spread over zones.
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
    """Upper bound on the number of new nodes of each type that an optimal answer buys."""
    pods = [pod for pod in state.pods if pod.schedulable]
    total = Counter[str]()
    for pod in pods:
        total.update(pod.requests)
    ruled = sum(pod.crowded for pod in pods)
    most = {}
    for index, one in enumerate(types):
        room = Counter(one.node.allocatable)
        for pod in every:
            room.subtract(pod.requests if admits(one.node, pod) else {})
        # two nodes that one could be in the place of are not both needed
        full = sum(Fraction(total[name], room[name]) for name in total if room[name] > 0)
        number = min(len(pods), int(2 * full) + 1 + ruled)
        most[index] = number if one.most is None else min(number, one.most)
    return most

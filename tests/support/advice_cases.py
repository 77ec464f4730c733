"""Claims that every answer of `advise` on a small state must satisfy, checked against
enumeration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from cotenant.cluster.judge.scheduler_filters import Scheduler, check_arrivals
from cotenant.cluster.plan.answer import Answer, Question
from cotenant.cluster.plan.buy import buy
from cotenant.cluster.plan.costs import price_of
from cotenant.cluster.plan.drain import drain
from cotenant.cluster.plan.fit import fit
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.plan.pending import standing_still
from cotenant.cluster.plan.repair import repair
from cotenant.cluster.plan.safe import safe, without
from cotenant.cluster.plan.to_packing import translate
from cotenant.cluster.state.constraints import selects
from cotenant.cluster.state.kubernetes import kubernetes_state
from cotenant.cluster.state.node_types import NodeType, daemon_pods, with_nodes
from cotenant.cluster.state.state import ClusterState, Node, Pod, Role, cordoned
from cotenant.instances.problem.errors import InvalidInstance
from support.advice_states import ZONE, random_list, random_spread
from support.oracles.advice import best_placement, fewest_reached, joint_placements
from support.oracles.advice_filters import Cluster

Claim = tuple[str, bool, Any]
"""(what was checked, whether it held, what was claimed and what is true)."""


def at_most(what: str, less: Any, more: Any) -> Claim:
    """The claim that one value is no larger than another."""
    return what, less <= more, (less, more)


def claims(seed: int, *, all_routes: bool = True) -> Iterator[Claim]:
    """Claims checked on the state drawn from a seed; none if no pod counts. Without `all_routes`
    only those checked by enumeration.
    """
    rng = np.random.default_rng(seed)
    content = random_list(rng)
    state = kubernetes_state({"state.json": content})
    if not any(pod.role in (Role.MOVABLE, Role.FIXED) for pod in state.pods):
        return
    yield from _filters(content, state)
    advice = advise(state, pending=False)  # it judges its own plan by the filters, and raises
    reached = fewest_reached(state)
    yield at_most("no state that moves lead to uses fewer", advice.nodes.bound, reached)
    if not advice.order.stuck:
        yield at_most("the plan is reached by moves", reached, advice.nodes.value)
    yield from _against_placements(state, advice)
    yield from _jointly(rng, state)
    yield from _new_pods(rng, state)
    if not all_routes:
        return
    yield from resilience(seed)
    yield from _draining(state, str(rng.choice([node.name for node in state.nodes])))


def resilience(seed: int) -> Iterator[Claim]:
    """Losses of nodes and repairs of the state drawn from a seed."""
    state = kubernetes_state({"state.json": random_list(np.random.default_rng(seed))})
    if not any(pod.role in (Role.MOVABLE, Role.FIXED) for pod in state.pods):
        return
    yield from _repairing(state)
    yield from _losing(state)
    yield from _draining(state, *(node.name for node in state.nodes[:2]))


def spreads_over_nodes(seed: int) -> Iterator[Claim]:
    """Nodes, repairs and drains of a state whose pods are spread over single nodes."""
    state = kubernetes_state({"state.json": random_spread(np.random.default_rng(seed))})
    yield from _against_placements(state, advise(state, pending=False))
    yield from _repairing(state)
    yield from _draining(state, "n0")
    yield from _draining(state, "n0", "n1")
    rng = np.random.default_rng(seed)
    yield from _new_pods(rng, state)
    pods = tuple(replace(pod, node="", role=Role.PENDING) for pod in state.pods[:3])
    small = tuple(
        replace(node, allocatable={**node.allocatable, "cpu": 1000 * int(rng.integers(3))})
        for node in state.nodes[:2]
    )
    state, types = replace(state, pods=pods, nodes=small), _types(rng)
    bought = buy(state, types)
    yield from _cheapest(bought, state, types, [])
    assert bought.cost is not None
    found = len(bought.waiting), bought.cost.value
    proved = bought.waits.bound, bought.cost.bound
    yield "nodes to buy are proved to be the fewest", found == proved, (found, proved)


def _losing(state: ClusterState) -> Iterator[Claim]:
    """Claims on the loss of a node, against every placement of its pods elsewhere."""
    cases = [(without(state, loss.hosts), loss) for loss in safe(state).steps]
    for lost, loss in cases:
        if len(state.nodes) ** len(loss.pods) > MOST_PLACEMENTS or not loss.pods:
            continue
        check_arrivals(lost, {n: pod.node for n, pod in enumerate(lost.pods) if pod.placed},
                       loss.arrivals)  # fmt: skip
        every = joint_placements(lost, set(range(len(lost.pods))), set())
        most = len(loss.pods) - min(every)[0]
        seen = (loss.name, len(loss.arrivals), most, loss.fits.bound)
        # a pod may come after one whose spread counts it: no rule of the end
        rules = any(pod.spread or pod.pod_affinity for pod in state.pods)
        held = (rules or seen[1] <= most) and most <= seen[3]
        yield "pods that a loss leaves places for", held, seen


def _repairing(state: ClusterState) -> Iterator[Claim]:
    """Claims on the fewest moves to a placement without broken rules."""
    found, anywhere = repair(state), len(state.nodes)
    broken = Scheduler(state).broken()
    yield "what is broken", bool(found.broken) == bool(broken), (found.broken, broken)
    if not broken:
        return
    free = best_placement(state, set(), whole=True, within=anywhere)
    if found.impossible.startswith("whatever"):
        yield "a state that cannot be repaired", free is None, free
    if found.plan is None:
        return
    least, moves = found.plan.moves.bound, len(found.plan.targets)
    yield "no repair moves fewer", free is None or least <= free[1], (least, free)
    stay = set(found.plan.pinned)
    best = best_placement(state, stay, whole=True, within=anywhere)
    # the plan may keep more than is asked for; its bound while the pinned pods stay is none then
    narrow = translate(Question(state, "moves", nodes_stay=True, repair=True)).tightened
    held = best is None or moves <= best[1] or (narrow and found.plan.moves.pinned == least)
    yield "fewest moves to repair", held, (moves, best)
    if not found.left_broken:
        yield "a repair that is one", best is not None and moves >= best[1], (moves, best)


def _filters(content: dict[str, Any], state: ClusterState) -> Iterator[Claim]:
    """Claims on the reader and the scheduler filters, against the file itself."""
    scheduler, cluster = Scheduler(state), Cluster(content)
    known = {(p["metadata"]["namespace"], p["metadata"]["name"]): p for p in cluster.pods}
    other = [
        (pod.title, node.name, scheduler.refusals(number, node.name))
        for number, pod in enumerate(state.pods)
        if (item := known.get((pod.namespace, pod.name))) is not None and cluster.clear(item)
        for node in state.nodes
        if not node.unsure & pod.requests.keys()  # no more than is known there may come
        and scheduler.takes(number, node.name) != cluster.takes(item, node.name)
    ]
    yield "the filters by another reader", not other, other


def _against_placements(state: ClusterState, advice: Answer) -> Iterator[Claim]:
    """Claims on the lower bound, and on the fewest nodes and moves while pinned pods stay.

    A rule that is broken now is left broken, its pods pinned, or all such rules are mended: the
    advice is the best of the two.
    """
    free, _ = best_placement(state, set())
    yield at_most("no placement with nothing worse uses fewer", advice.nodes.bound, free)
    _, moved = best_placement(state, set(), within=advice.nodes.value)
    yield at_most("no placement with nothing worse moves fewer", advice.moves.bound, moved)
    found = (advice.nodes.value, len(advice.targets))
    left = translate(Question(state))
    narrow = left.tightened  # the plan keeps more than is asked for
    best = best_placement(state, set(left.pinned), reached=True)
    if not left.violated_rules:
        held = found == best or (narrow and found > best)
        yield "fewest nodes, fewest moves", held, (found, best)
        return
    yield "no worse than leaving what is broken", found <= best or narrow, (found, best)
    try:
        stay = set(translate(Question(state, repair=True)).pinned)
    except InvalidInstance:
        stay = set(left.pinned)
    mended = best_placement(state, stay, whole=True)
    yield "no worse than mending all", mended is None or found <= mended or narrow, (found, mended)
    some = best_placement(state, stay, reached=True)
    yield "no better than with nothing worse", found >= min(best, some), (found, best, some)


MOST_PLACEMENTS = 20_000
"""So many ways to place movable and pending pods are tried."""


def _jointly(rng: np.random.Generator, state: ClusterState) -> Iterator[Claim]:
    """Pending pods beside what runs, by nodes or by their prices, against every placement."""
    free = [pod for pod in state.pods if pod.role is Role.MOVABLE or pod.schedulable]
    if len(state.nodes) ** len(free) > MOST_PLACEMENTS:
        return
    prices = [Fraction(each) for each in ("0", "0.384", "1", "1", "2.25", "7")]
    priced = replace(
        state, nodes=tuple(replace(node, price=prices[rng.integers(6)]) for node in state.nodes)
    )
    for what, given in (("nodes", state), ("money", priced)):
        advice = advise(given)
        every = joint_placements(given, set(), set())
        fewest = min(every)[0]
        yield at_most(f"no placement leaves fewer waiting ({what})", advice.waits.bound, fewest)
        waiting = len(advice.waiting)
        cost, bound = Fraction(advice.nodes.value), Fraction(advice.nodes.bound)
        paid = Fraction(0)
        if given.priced:
            assert advice.cost is not None
            paid = price_of(given, frozenset()) or paid
            cost, bound = advice.cost.value - paid, advice.cost.bound - paid
        least = min((one[1] for one in every if one[0] <= waiting), default=cost)
        yield at_most(f"no placement needs less ({what})", bound, least)
        alone = any(each.code == "pending-left" for each in advice.state.assumptions)
        if advice.order.stuck or alone:  # more waits then than the moves would have made room for
            continue
        moved = min(
            (one[2] for one in every if one[0] <= waiting and one[1] <= cost),
            default=len(advice.targets),
        )
        yield at_most(f"no placement moves fewer ({what}, pending)", advice.moves.bound, moved)
        left = translate(Question(given, pending=True))
        if left.violated_rules or left.tightened:
            continue
        # what the filters place besides the model may be more than the model's best
        only = [~row[:-1].any() for row in left.instance.allowed] if left.waiting_servers else []
        wait = {n for row, nowhere in enumerate(only) if nowhere for n in left.pods[row]}
        besides = wait - set(advice.waiting)
        wait &= set(advice.waiting)
        plans = joint_placements(given, set(left.pinned), wait, reached=True)
        best, found = min(plans), (waiting, cost, len(advice.targets))
        number = 1 if besides else 3
        yield f"pods that wait, {what}, moves", found[:number] <= best[:number], (found, best)
        if not _counts_others(given) and not any(pod.pod_affinity for pod in given.pods):
            better = found[:2] < min(every)[:2]
            yield f"no better than any placement ({what})", not better, (found, best)
    now = joint_placements(state, set(range(len(state.pods))), set())
    pending = sum(pod.role is Role.PENDING for pod in state.pods)
    most = pending - min(now)[0]
    yield (
        "pods that fit now",
        not pending
        or (most <= advice.fits.bound and (advice.fits.value <= most or _counts_others(state))),
        (advice.fits.value, most, advice.fits.bound),
    )


def _new_pods(rng: np.random.Generator, state: ClusterState) -> Iterator[Claim]:
    """Claims on whether pending pods fit after moves, and on the nodes to buy for them."""
    movable = [n for n, pod in enumerate(state.pods) if pod.role is Role.MOVABLE]
    out = set(rng.permutation(movable)[: rng.integers(1, 3)].tolist())
    large = 500 * int(rng.integers(3, 10))
    state = replace(
        state,
        pods=tuple(
            replace(pod, node="", role=Role.PENDING, requests={**pod.requests, "cpu": large})
            if n in out
            else pod
            for n, pod in enumerate(state.pods)
        ),
    )
    free = [pod for pod in state.pods if pod.role is Role.MOVABLE or pod.schedulable]
    number = sum(pod.role is Role.PENDING for pod in state.pods)
    if not out or number > 3 or len(state.nodes) ** len(free) > MOST_PLACEMENTS:
        return
    found = fit(state)
    after = len(found.pods) - found.waits.bound
    every = joint_placements(state, set(), set())
    most = number - min(every)[0]
    yield at_most("the most that fit after moves", most, after)
    if (advice := found.plan) is not None:
        fewest = min((one[2] for one in every if one[0] <= len(advice.waiting)), default=0)
        moves = len(advice.targets), advice.moves.bound, fewest
        yield "the fewest moves after which they fit", moves[1] <= fewest, moves
        left = translate(Question(state, pending=True))
        # what is not modelled keeps a pod waiting in a plan, and not in the placements below
        vague = any(pod.schedulable and pod.unsupported_constraints for pod in state.pods)
        if not left.violated_rules and not left.tightened and not vague:
            plans = joint_placements(state, set(left.pinned), set(), reached=True)
            best = min((one[2] for one in plans if one[0] <= len(advice.waiting)), default=99)
            held = moves[0] <= best
            yield "no more moves than the best while the pinned stay", held, (moves, best)
    types = _types(rng)
    if not any(pod.schedulable for pod in state.pods):
        return
    still, every = standing_still(state), daemon_pods(state)
    yield from _cheapest(buy(state, types), still, types, every)


def _types(rng: np.random.Generator) -> list[NodeType]:
    """Two types of nodes, each with a price and a number."""
    return [
        NodeType(
            Node(
                f"t{n}",
                {"cpu": 1000 * int(rng.integers(1, 5)), "memory": 2**30 * n + 2**30, "pods": 4},
                {ZONE: f"z{rng.integers(2)}", "disk": "ssd"},
                price=Fraction(int(rng.integers(1, 5)), 4),
            ),
            int(rng.integers(1, 3)),
        )
        for n in range(2)
    ]


def _cheapest(
    bought: Answer, still: ClusterState, types: list[NodeType], every: list[Pod]
) -> Iterator[Claim]:
    """Claims on the nodes bought for pending pods of a state in which no pod moves."""
    free_nodes = tuple(replace(node, price=Fraction(0)) for node in still.nodes)
    still = replace(still, nodes=free_nodes)
    choices = []
    for counts in product(*(range((one.most or 0) + 1) for one in types)):
        grown, _ = with_nodes(still, dict(enumerate(counts)), types, every)
        waiting = min(joint_placements(grown, set(range(len(grown.pods))), set()))[0]
        prices = (n * (one.node.price or 0) for n, one in zip(counts, types, strict=True))
        choices.append((waiting, sum(prices, Fraction(0))))
    least = min(choices)[0]
    assert bought.cost is not None
    paid = bought.cost.value
    claimed = len(bought.waiting), bought.waits.bound, paid, bought.cost.bound
    yield "no nodes leave fewer waiting", bought.waits.bound <= least, (claimed, least)
    cheapest = min(
        (one[1] for one in choices if one[0] <= len(bought.waiting)), default=Fraction(99)
    )
    held = bought.cost.bound <= cheapest
    yield "no cheaper nodes hold as many", held, (claimed, cheapest)
    plan = translate(Question(with_nodes(still, {0: 1, 1: 1}, types, every)[0], pending=True))
    if not plan.dropped and not any(pod.unsupported_constraints for pod in still.pods):
        best = len(bought.waiting) == least and paid == cheapest
        if not any(pod.spread or pod.pod_affinity for pod in still.pods):
            yield "the cheapest nodes", best, (claimed, least, cheapest)


def _counts_others(state: ClusterState) -> bool:
    """Whether a spread counts schedulable pods that do not have this spread themselves."""
    return any(
        spread not in pod.spread and selects(spread.selector, pod.labels)
        for pod in state.pods
        if pod.schedulable
        for spread in {each for other in state.pods for each in other.spread}
    )


def _draining(state: ClusterState, *names: str) -> Iterator[Claim]:
    """Claims on whether nodes can be emptied, and on the fewest moves to empty them."""
    found, anywhere = drain(state, *names), len(state.nodes)
    state = cordoned(state, names)
    if found.impossible.startswith("whatever else moves"):
        free = best_placement(state, set(), within=anywhere, emptied=names)
        yield "a node that cannot be emptied", free is None, free
    try:
        left = translate(Question(state, emptied=names, nodes_stay=True))
    except InvalidInstance:
        return
    if left.violated_rules or left.tightened:
        return
    best = best_placement(state, set(left.pinned), within=anywhere, emptied=names, reached=True)
    moves = None if found.plan is None else len(found.plan.targets)
    yield "fewest moves to empty a node", moves == (best and best[1]), (moves, best)

"""What must hold of the advice on any small state, against enumeration."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from cotenant.advice.draining import drain
from cotenant.advice.kubernetes import kubernetes_state
from cotenant.advice.plan import Advice, advise
from cotenant.advice.scheduler_filters import Scheduler
from cotenant.advice.state import ClusterState, Role
from cotenant.advice.to_packing import translate
from cotenant.instances.problem.errors import InvalidInstance
from support.advice_states import HOST, random_list
from support.oracles.advice import best_placement, fewest_reached
from support.oracles.advice_filters import Cluster
from support.oracles.advice_program import fewest_moves, fewest_servers

Claim = tuple[str, bool, Any]
"""(what was checked, whether it held, what was claimed and what is true)."""


def claims(seed: int, *, all_routes: bool = True) -> Iterator[Claim]:
    """Everything that is checked of the state drawn from a seed; nothing where no pod is counted.
    Without `all_routes` only what is asked of this state, by enumeration.
    """
    rng = np.random.default_rng(seed)
    content = random_list(rng)
    state = kubernetes_state({"state.json": content})
    if not any(pod.role in (Role.MOVABLE, Role.FIXED) for pod in state.pods):
        return
    yield from _filters(content, state)
    advice = advise(state, pending=False)  # it judges its own plan by the filters, and raises
    reached = fewest_reached(state)
    yield (
        "no state that moves lead to uses fewer",
        advice.nodes_lower_bound <= reached,
        (advice.nodes_lower_bound, reached),
    )
    if not advice.order.stuck:
        yield (
            "the plan is reached by moves",
            advice.nodes_found >= reached,
            (advice.nodes_found, reached),
        )
    yield from _against_placements(state, advice)
    if not all_routes:
        return
    yield from _draining(state, str(rng.choice([node.name for node in state.nodes])))
    yield from _second_route(state, advice)
    yield from _less_asked(rng, content, advice)


def _filters(content: dict[str, Any], state: ClusterState) -> Iterator[Claim]:
    """What is read of the file, and the judge's filters, against the file itself."""
    scheduler, cluster = Scheduler(state), Cluster(content)
    known = {(p["metadata"]["namespace"], p["metadata"]["name"]): p for p in cluster.pods}
    other = [
        (pod.title, node.name, scheduler.refusals(number, node.name))
        for number, pod in enumerate(state.pods)
        if (item := known.get((pod.namespace, pod.name))) is not None and cluster.clear(item)
        for node in state.nodes
        if scheduler.takes(number, node.name) != cluster.takes(item, node.name)
    ]
    yield "the filters by another reader", not other, other


def _against_placements(state: ClusterState, advice: Advice) -> Iterator[Claim]:
    """The bound, and the fewest nodes and moves with the pinned pods where they are.

    A rule that is broken now is left broken, its pods pinned, or all such rules are mended: the
    advice is the best of the two.
    """
    free, _ = best_placement(state, set())
    yield (
        "no placement with nothing worse uses fewer",
        advice.nodes_lower_bound <= free,
        (advice.nodes_lower_bound, free),
    )
    _, moved = best_placement(state, set(), within=advice.nodes_found)
    yield (
        "no placement with nothing worse moves fewer",
        advice.moves_lower_bound <= moved,
        (advice.moves_lower_bound, moved),
    )
    found = (advice.nodes_found, len(advice.targets))
    narrow = _spread_by_node(state)
    left = translate(state)
    best = best_placement(state, set(left.pinned), reached=True)
    if not left.violated_rules:
        # of a spread over nodes the plan keeps more than is asked for
        yield (
            "fewest nodes, fewest moves",
            found == best or (narrow and found > best),
            (found, best),
        )
        return
    yield "no worse than leaving what is broken", found <= best or narrow, (found, best)
    try:
        stay = set(translate(state, repair=True).pinned)
    except InvalidInstance:
        stay = set(left.pinned)
    mended = best_placement(state, stay, whole=True)
    yield "no worse than mending all", mended is None or found <= mended or narrow, (found, mended)
    some = best_placement(state, stay, reached=True)
    yield "no better than with nothing worse", found >= min(best, some), (found, best, some)


def _spread_by_node(state: ClusterState) -> bool:
    """Whether a spread is over a label that no two nodes share: the plan keeps more than it asks."""
    return any(
        len({node.labels[key] for node in state.nodes if key in node.labels}) == len(state.nodes)
        for key in {each.topology for pod in state.pods for each in pod.spread}
    )


def _draining(state: ClusterState, name: str) -> Iterator[Claim]:
    """Whether a node can be emptied, and with how few moves, against every placement."""
    found, anywhere = drain(state, name), len(state.nodes)
    if found.impossible.startswith("whatever else moves"):
        free = best_placement(state, set(), within=anywhere, emptied=name)
        yield "a node that cannot be emptied", free is None, free
    try:
        left = translate(state, drained_nodes=[name])
    except InvalidInstance:
        return
    if left.violated_rules or _spread_by_node(state):
        return
    best = best_placement(state, set(left.pinned), within=anywhere, emptied=name, reached=True)
    moves = None if found.advice is None else len(found.advice.targets)
    yield "fewest moves to empty a node", moves == (best and best[1]), (moves, best)


def _second_route(state: ClusterState, advice: Advice) -> Iterator[Claim]:
    """The bound and the moves by another model of the same instances."""
    relaxed = translate(state, for_bound=True)
    servers = fewest_servers(relaxed.instance)
    yield (
        "bound by another model",
        advice.nodes_lower_bound == servers - relaxed.control_plane_in_use,
        servers,
    )
    if advice.moves_lower_bound is not None:
        moves = fewest_moves(relaxed.instance, advice.nodes_found + relaxed.control_plane_in_use)
        yield (
            "fewest moves by another model",
            advice.moves_lower_bound == moves[0],
            (advice.moves_lower_bound, moves[0]),
        )


def _less_asked(
    rng: np.random.Generator, content: dict[str, Any], advice: Advice
) -> Iterator[Claim]:
    """A constraint less never raises the bound; a node more never raises the answer."""
    less = copy.deepcopy(content)
    pods = [item for item in less["items"] if item["kind"] == "Pod"]
    spec = pods[int(rng.integers(len(pods)))]["spec"]
    for field in ("affinity", "topologySpreadConstraints", "nodeSelector"):
        if field in spec:
            del spec[field]
            break
    # a rule that is broken is not in the bound, but what is left of it may be
    if not advice.translation.violated_rules:
        try:
            after = advise(kubernetes_state({"state.json": less}), pending=False)
            yield (
                "a constraint less",
                after.nodes_lower_bound <= advice.nodes_lower_bound,
                (after.nodes_lower_bound, advice.nodes_lower_bound),
            )
        except InvalidInstance as error:
            yield "a constraint less", False, str(error)
    more = copy.deepcopy(content)
    kept = [item for item in more["items"] if item["kind"] == "Node"]
    twin = copy.deepcopy(kept[int(rng.integers(len(kept)))])
    twin["metadata"]["name"] = twin["metadata"]["labels"][HOST] = "twin"
    more["items"].append(twin)
    after = advise(kubernetes_state({"state.json": more}), pending=False)
    yield (
        "a node more",
        after.nodes_found <= advice.nodes_found,
        (after.nodes_found, advice.nodes_found),
    )

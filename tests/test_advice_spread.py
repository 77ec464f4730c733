"""Spreads over single nodes: least moves, nodes and drains against all placements of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from support.advice_cases import spreads_over_nodes
from support.advice_states import HOST, node, pod, spread, state
from support.seeds import ranges

from cotenant.cluster.plan.answer import Proved
from cotenant.cluster.plan.buy import buy
from cotenant.cluster.plan.drain import drain
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.plan.repair import repair
from cotenant.cluster.state.node_types import NodeType
from cotenant.cluster.state.state import ClusterState, Node


def spread_pods(
    counts: Sequence[int], skew: int = 1, pending: int = 0, cpu: str = "200m", **term: Any
) -> list[dict[str, Any]]:
    """So many pods of one spread over nodes on each of n0, n1, ..., and pending ones."""
    rule = {"labels": {"app": "a"}, "topologySpreadConstraints": spread("a", skew, HOST, **term)}
    places = [f"n{n}" for n, number in enumerate(counts) for _ in range(number)] + [""] * pending
    return [pod(f"a-{k}", on, cpu, "1Mi", **rule) for k, on in enumerate(places)]


@pytest.mark.slow
@pytest.mark.parametrize("some", [*ranges(600, 3, 200), range(955_126, 955_127)])
def test_spreads_over_nodes_equal_enumeration_by_filters(some: range) -> None:
    for seed in some:
        for what, held, seen in spreads_over_nodes(seed):
            assert held, (seed, what, seen)


@pytest.mark.parametrize("zones", [False, True])
@pytest.mark.parametrize("counts", [(2, 2, 2, 2), (3, 3, 3, 3), (1, 1, 1)])
def test_even_spread_over_nodes_is_not_reported_broken(
    counts: tuple[int, ...], zones: bool
) -> None:
    """Alone, and beside a spread over zones, which takes the zones of the instance."""

    def given(policy: str) -> ClusterState:
        nodes = [node(f"n{n}", 4, zone=f"z{n % 2}") for n in range(len(counts))]
        pods = spread_pods(counts, nodeTaintsPolicy=policy)
        for one in pods:
            one["spec"]["topologySpreadConstraints"] += spread("a", 9) * zones
        return state(*nodes, *pods)

    assert advise(given("Ignore")).broken == ()
    assert repair(given("Ignore")).broken == ()
    drained = drain(given("Ignore"), "n0")
    assert drained.why_not == {}
    assert "nodeTaintsPolicy: Honor" in str(drained.impossible)
    drained = drain(given("Honor"), "n0")
    assert drained.status
    assert drained.plan is not None
    assert len(drained.plan.targets) == counts[0]


LARGE = NodeType(
    Node("large", {"cpu": 4000, "memory": 2**34, "pods": 110}, {"pool": "new"}, price=Fraction(1))
)


@pytest.mark.parametrize(
    ("old", "selector", "nodes"),
    [
        ("8", {"pool": "new"}, 1),  # by its affinity the old node is no domain
        ("100m", {}, 8),  # without room it counts with 0
        ("400m", {}, 2),  # it has two, each other node three at most
        ("8", {}, 0),
    ],
)
def test_buy_under_node_spread_reaches_its_bound(
    old: str, selector: dict[str, str], nodes: int
) -> None:
    pods = spread_pods((), pending=8)
    for one in pods:
        one["spec"]["nodeSelector"] = selector
    bought = buy(state(node("n0", old), *pods), [LARGE])
    assert (bought.cost, bought.waiting) == (Proved(nodes, nodes), ())


def test_pending_pod_without_spread_may_unbalance_others() -> None:
    """As kube-scheduler puts it: a spread forbids nothing to pods that do not carry it."""
    counting = pod("a-0", "n1", labels={"app": "a"}, topologySpreadConstraints=spread("a"))
    free = pod("a-1", "", labels={"app": "a"})
    found = advise(state(node("n0", zone="z0"), node("n1", zone="z1"), counting, free))
    assert (found.nodes.value, found.arrivals) == (1, {1: "n1"})


def test_repair_of_two_spreads_over_single_nodes_is_proved_to_need_one_move() -> None:
    """Each zone is one node: both spreads are over the same zones of the instance."""
    pods = spread_pods((0, 4), skew=3)
    for one in pods:
        one["spec"]["topologySpreadConstraints"] += spread("a", 2)
    found = repair(state(node("n0", zone="z0"), node("n1", zone="z1"), *pods))
    assert found.plan is not None
    assert found.plan.moves == Proved(1, 1, 1)

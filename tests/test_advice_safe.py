"""Losses of nodes, drains, repairs and spreads over single nodes, against enumeration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.advice_cases import resilience, spreads_over_nodes
from support.advice_states import HOST, apart, node, pod, spread, state
from support.advice_words import after_warnings
from support.messages import approved, refused
from support.seeds import ranges
from support.terminal import run

from cotenant.cluster.plan.answer import Proved
from cotenant.cluster.plan.buy import buy
from cotenant.cluster.plan.drain import drain
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.plan.repair import repair
from cotenant.cluster.plan.safe import safe
from cotenant.cluster.state.node_types import NodeType
from cotenant.cluster.state.reading import read_state
from cotenant.cluster.state.state import ClusterState, Node
from cotenant.instances.problem.errors import InvalidOption


@pytest.mark.parametrize("seed", range(60))
def test_losses_on_small_states_equal_enumeration(seed: int) -> None:
    wrong = [(what, seen) for what, held, seen in resilience(seed) if not held]
    assert not wrong


# losses


def test_safe_finds_losable_node_and_unsafe_zone() -> None:
    items = (
        node("a1", 4, zone="a"),
        node("b1", 4, zone="b"),
        node("b2", 4, zone="b"),
        pod("x-1-a", "a1", 3),
        pod("x-1-b", "b1", 3),
        pod("x-1-c", "b2", 1),
        pod("d-1", "a1", owner="DaemonSet"),
        pod("alone", "b2", owner=""),
    )
    found = safe(state(*items))
    assert [loss.status for loss in found.steps] == [False, False, True, False, False]
    approved(after_warnings(found))
    more = state(*items, node("b3", 4, zone="b"))
    assert all(loss.status for loss in safe(more).steps if loss.kind == "node")
    approved(after_warnings(safe(more, by=[HOST])))


@pytest.mark.slow
def test_advise_safe_prints_safe_and_unsafe_losses() -> None:
    approved(run("advise", "safe", "state/shop").stdout)
    found = run("advise", "safe", "state/shop", "--release", "volumes", "--json")
    losses = json.loads(found.stdout)["steps"]
    assert {loss["name"]: loss["status"] for loss in losses}["n-3"] is True
    with refused(InvalidOption):
        safe(read_state(["state/shop"]), by=["rack"])


# several nodes


def test_advise_drain_empties_pools_and_several_nodes() -> None:
    whole = run("advise", "drain", "state/shop", "n-2", "n-4")
    approved(whole.stdout.splitlines()[:2])
    label = "topology.kubernetes.io/zone"
    document = json.loads(
        run("advise", "drain", "state/shop", "--pool", f"{label}=a", "--json").stdout
    )
    assert (document["hosts"], document["status"]) == (["cp-1", "n-1", "n-2"], False)
    for given in ("zone", f"{label}=z"):
        approved(run("advise", "drain", "state/shop", "--pool", given).stderr)


def test_drain_ignores_prices() -> None:
    read = state(node("n0"), node("n1"), pod("x-1", "n0"))
    priced = replace(read, nodes=(replace(read.nodes[0], price=Fraction(1)), read.nodes[1]))
    found = drain(priced, "n0")
    assert found.status
    assert found.plan.cost is None


# repairs


def apart_pairs() -> tuple[dict[str, Any], ...]:
    """Two groups whose pods are to be apart and run together, as after a host was restarted."""
    return (
        *(node(f"h{n}", "8") for n in range(3)),
        *(
            pod(f"{app}-1-{x}", on, labels={"app": app}, affinity=apart(app))
            for app, on in (("db", "h0"), ("lb", "h1"))
            for x in "ab"
        ),
        pod("web-1-a", "h2", 5),
    )


def test_two_broken_rules_are_repaired_in_two_moves() -> None:
    found = repair(state(*apart_pairs()))
    assert found.plan is not None
    assert (len(found.broken), len(found.plan.targets), found.left_broken) == (2, 2, ())
    assert found.plan.moves.bound == 2
    assert found.plan.freed == ()
    approved(after_warnings(found))


def spread_pods(
    counts: Sequence[int], skew: int = 1, pending: int = 0, cpu: str = "200m", **term: Any
) -> list[dict[str, Any]]:
    """So many pods of one spread over nodes on each of n0, n1, ..., and pending ones."""
    rule = {"labels": {"app": "a"}, "topologySpreadConstraints": spread("a", skew, HOST, **term)}
    places = [f"n{n}" for n, number in enumerate(counts) for _ in range(number)] + [""] * pending
    return [pod(f"a-{k}", on, cpu, "1Mi", **rule) for k, on in enumerate(places)]


@pytest.mark.slow
@pytest.mark.parametrize("some", [*ranges(600, 3, 200), range(955_126, 955_127)])
def test_advice_for_pods_spread_over_nodes_equals_enumeration(some: range) -> None:
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
def test_cost_of_nodes_bought_for_pods_spread_over_nodes_is_proved(
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


def test_repair_of_pods_spread_over_zones_and_nodes_is_proved_to_need_one_move() -> None:
    """Each zone is one node: both spreads are over the same zones of the instance."""
    pods = spread_pods((0, 4), skew=3)
    for one in pods:
        one["spec"]["topologySpreadConstraints"] += spread("a", 2)
    found = repair(state(node("n0", zone="z0"), node("n1", zone="z1"), *pods))
    assert found.plan is not None
    assert found.plan.moves == Proved(1, 1, 1)

"""Spreads over single nodes: least moves, nodes and drains against all placements of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.advice_states import HOST, node, pod, spread, state

from cotenant.advice.buying import buy
from cotenant.advice.draining import drain
from cotenant.advice.node_types import NodeType
from cotenant.advice.plan import advise
from cotenant.advice.repairing import repair
from cotenant.advice.scheduler_filters import Scheduler
from cotenant.advice.state import CORDONED, ClusterState, Node, change_nodes

POLICIES = ["Ignore", "Honor"]


def spread_pods(
    counts: Sequence[int], skew: int = 1, pending: int = 0, cpu: str = "200m", **term: Any
) -> list[dict[str, Any]]:
    """So many pods of one spread over nodes on each of n0, n1, ..., and pending ones."""
    rule = {"labels": {"app": "a"}, "topologySpreadConstraints": spread("a", skew, HOST, **term)}
    places = [f"n{n}" for n, number in enumerate(counts) for _ in range(number)] + [""] * pending
    return [pod(f"a-{k}", on, cpu, "1Mi", **rule) for k, on in enumerate(places)]


def on_nodes(counts: Sequence[int], skew: int = 1, **fields: Any) -> ClusterState:
    """A state of those pods, with 4 CPUs on each node."""
    return state(
        *(node(f"n{n}", 4) for n in range(len(counts))), *spread_pods(counts, skew, **fields)
    )


def cordoned(given: ClusterState, name: str) -> ClusterState:
    return change_nodes(
        given, lambda one: replace(one, taints=(CORDONED,)) if one.name == name else one
    )


def least_moves(given: ClusterState, closed: str = "") -> tuple[int | None, int]:
    """The fewest moves to a placement in which the judge finds nothing broken, with no pod on a
    closed node; and how few nodes are used in any.
    """
    names = [one.name for one in given.nodes if one.name != closed]
    now = [one.node for one in given.pods]
    found = [
        (sum(a != b for a, b in zip(now, there, strict=True)), len({*there}))
        for there in product(names, repeat=len(now))
        if not Scheduler(given, dict(enumerate(there))).broken()
    ]
    return (
        min((m for m, _ in found), default=None),
        min((n for _, n in found), default=len(given.nodes)),
    )


def drawn(seed: int) -> ClusterState:
    """Two to four nodes and up to six pods of one spread, on some nodes not too even."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(rng.integers(1, 7), np.ones(n := int(rng.integers(2, 5))) / n)
    skew, room = int(rng.integers(1, 4)), rng.integers(2, 7, size=n)
    given = spread_pods(counts.tolist(), skew, cpu="1", nodeTaintsPolicy=POLICIES[seed % 2])
    sizes = np.maximum(room, counts).tolist()
    return state(*(node(f"n{n}", size) for n, size in enumerate(sizes)), *given)


@pytest.mark.parametrize("seeds", [range(24), pytest.param(range(24, 300), marks=pytest.mark.slow)])
def test_spreads_over_nodes_equal_all_placements_of_the_judge(seeds: range) -> None:
    for seed in seeds:
        given = drawn(seed)
        # repair
        moves, nodes = least_moves(given)
        repaired = repair(given)
        assert (repaired.broken == ()) == (moves == 0), seed
        if moves is None:
            assert repaired.impossible == "whatever else moves (proved)", seed
        elif moves:
            assert repaired.advice is not None, seed
            assert len(repaired.advice.targets) == moves, seed
            assert repaired.advice.moves_lower_bound == moves, seed
        # nodes
        advice = advise(given)
        assert bool(advice.translation.violated_rules) == (moves != 0), seed
        assert advice.nodes_lower_bound <= nodes, seed
        if moves == 0:
            tightened = advice.translation.tightened
            assert advice.nodes_lower_bound_pinned <= advice.nodes_found == nodes, seed
            assert tightened or advice.nodes_lower_bound_pinned == nodes, seed
        # drain
        drained, closed = drain(given, "n0"), cordoned(given, "n0")
        moves, _ = least_moves(closed, "n0")
        if not Scheduler(closed).broken():
            assert drained.empties == (moves is not None), seed
            assert drained.advice is None or len(drained.advice.targets) == moves, seed
        if drained.impossible.startswith("whatever else moves"):
            assert moves is None, seed


@pytest.mark.parametrize("counts", [(2, 2, 2, 2), (3, 2, 3), (1, 1, 1)])
def test_spread_over_nodes_that_is_even_is_not_called_broken(counts: tuple[int, ...]) -> None:
    given = on_nodes(counts)
    assert advise(given).translation.violated_rules == ()
    assert repair(given).broken == ()
    drained = drain(given, "n0")
    assert drained.blocked == {}
    assert drained.impossible == (
        "whatever else moves (proved): the cordoned node counts with 0 in a spread; "
        "nodeTaintsPolicy: Honor would let it go"
    )
    drained = drain(on_nodes(counts, nodeTaintsPolicy="Honor"), "n0")
    assert drained.empties
    assert drained.advice is not None
    assert len(drained.advice.targets) == counts[0]


def test_repair_of_three_pods_beside_one_is_one_move() -> None:
    found = repair(on_nodes((3, 1)))
    assert found.advice is not None
    assert (len(found.advice.targets), found.advice.moves_lower_bound, found.left) == (1, 1, ())


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
def test_nodes_bought_under_a_spread_over_nodes_are_as_few_as_proved(
    old: str, selector: dict[str, str], nodes: int
) -> None:
    pods = spread_pods((), pending=8)
    for one in pods:
        one["spec"]["nodeSelector"] = selector
    bought = buy(state(node("n0", old), *pods), [LARGE])
    assert (bought.cost, bought.cost_lower_bound, bought.waiting) == (nodes, nodes, ())

"""Losses of nodes, drains and repairs: against enumeration, and what is printed."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.advice_cases import resilience
from support.advice_states import HOST, apart, node, pod, state
from support.advice_words import lines_of
from support.messages import approved, refused
from support.terminal import run

from cotenant.cluster.plan.drain import drain
from cotenant.cluster.plan.repair import repair
from cotenant.cluster.plan.safe import safe
from cotenant.cluster.state.reading import read_state
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
    approved("\n".join(lines_of(found)))
    more = state(*items, node("b3", 4, zone="b"))
    assert all(loss.status for loss in safe(more).steps if loss.kind == "node")
    approved("\n".join(lines_of(safe(more, by=[HOST]))))


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
    approved("\n".join(lines_of(found)))

"""Losses of nodes, repairs and what pins pods: against enumeration, and what is printed."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.advice_cases import resilience
from support.advice_states import HOST, apart, budget, listed, node, pod, spread, state
from support.advice_words import lines_of
from support.messages import approved, refused
from support.terminal import run

from cotenant.cluster.judge.scheduler_filters import check_waves
from cotenant.cluster.plan.drain import drain, roll
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.plan.pins import dearest_pins
from cotenant.cluster.plan.repair import repair
from cotenant.cluster.plan.safe import TOGETHER, growths, safe, surviving, with_reserve
from cotenant.cluster.report.text_report import LINES
from cotenant.cluster.state.kubernetes import AUTOSCALER
from cotenant.cluster.state.reading import read_state
from cotenant.instances.problem.errors import InvalidFile, InvalidOption, NoSolution


@pytest.mark.parametrize("seed", range(60))
def test_small_states_against_enumeration(seed: int) -> None:
    wrong = [(what, seen) for what, held, seen in resilience(seed) if not held]
    assert not wrong


# losses


def test_a_node_can_be_lost_and_a_zone_cannot_for_want_of_one_node() -> None:
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
    assert found.steps[-1].bought == {"a1": 2}
    approved("\n".join(lines_of(found)))
    more = state(*items, node("b3", 4, zone="b"))
    assert all(loss.status for loss in safe(more).steps if loss.kind == "node")
    approved("\n".join(lines_of(safe(more, by=[HOST]))))


def test_the_command_says_what_can_be_lost() -> None:
    approved(run("advise", "safe", "state/shop").stdout)
    assert len(run("advise", "safe", "state/shop").stdout.splitlines()) <= LINES
    whole = run("advise", "safe", "state/shop", "--details").stdout
    assert (
        whole.count("without ")
        == 7
        == sum(not x.status for x in safe(read_state(["state/shop"])).steps)
    )
    document = json.loads(
        run("advise", "safe", "state/shop", "--release", "volumes", "--json").stdout
    )
    assert {loss["name"]: loss["status"] for loss in document["steps"]}["n-3"] is True
    with refused(InvalidOption):
        safe(read_state(["state/shop"]), by=["rack"])


# several nodes


def pool_of_three(cpu: int = 4) -> tuple[dict[str, Any], ...]:
    return (
        *(node(f"n{n}", cpu, labels={"pool": "web"}) for n in range(3)),
        *(pod(f"x-1-{n}{k}", f"n{n}", 2) for n in range(3) for k in range(1 + (n > 0))),
    )


def test_several_nodes_are_emptied_together_or_one_after_the_other() -> None:
    roomy = state(*pool_of_three(10))
    found = drain(roomy, "n0", "n1")
    assert found.status
    assert len(found.plan.targets) == 3
    approved("\n".join(lines_of(found)))
    full = state(*pool_of_three())
    found = drain(full, "n0", "n1")
    assert (found.status, found.impossible) == (False, "whatever else moves (proved)")
    rolling = roll(full, ["n0", "n1", "n2"], 0)
    assert not rolling.status
    approved("\n".join(lines_of(rolling)))


@pytest.mark.parametrize("surge", [1, 3])
def test_a_rolling_upgrade_takes_as_few_spare_nodes_as_it_needs(surge: int) -> None:
    full = state(*pool_of_three())
    rolling = roll(full, ["n0", "n1", "n2"], surge)
    assert (rolling.status, rolling.bought) == (True, {"n0": 1})
    assert rolling.hosts[-1] == "n0-spare-1"
    for step in rolling.steps:
        assert step.plan is not None
        check_waves(step.state, step.plan.order.waves, freed=step.hosts)
    approved("\n".join(lines_of(rolling)))


def test_the_command_empties_pools_and_several_nodes() -> None:
    whole = run("advise", "drain", "state/shop", "n-2", "n-4")
    approved(whole.stdout.splitlines()[:2])
    label = "topology.kubernetes.io/zone"
    document = json.loads(
        run("advise", "drain", "state/shop", "--pool", f"{label}=a", "--json").stdout
    )
    assert [(step["name"], step["status"]) for step in document["steps"]][-1] == ("n-1", False)
    done = run("advise", "drain", "state/shop", "n-2", "--surge", "1", "--emit", "kubectl")
    assert (done.returncode, done.stdout) == (2, "")
    approved(done.stderr)
    for given in ("zone", f"{label}=z"):
        approved(run("advise", "drain", "state/shop", "--pool", given).stderr)


def test_drain_looks_at_no_prices() -> None:
    read = state(node("n0"), node("n1"), pod("x-1", "n0"))
    priced = replace(read, nodes=(replace(read.nodes[0], price=Fraction(1)), read.nodes[1]))
    found = drain(priced, "n0")
    assert found.status
    assert found.plan.cost is None


# what is kept free, and what pins cost


def test_a_share_that_is_kept_free_is_no_room() -> None:
    items = [node("a", 4), node("b", 4), pod("x-1-a", "a", 2), pod("x-1-b", "b", 2)]
    assert advise(state(*items)).nodes.value == 1
    kept = advise(with_reserve(state(*items), 0.15))
    assert (kept.nodes.value, kept.proved) == (2, True)
    approved(lines_of(kept))


def test_a_plan_keeps_a_node_empty_so_that_any_can_be_lost() -> None:
    items = [node(f"n{n}", 4) for n in range(4)]
    pods = [pod(f"x-1-{n}", f"n{n}", 2) for n in range(4)]
    advice = advise(state(*items, *pods))
    assert (advice.nodes.value, advice.proved) == (2, True)
    kept = surviving(advice, 20)
    assert (kept.nodes.value, len(kept.freed), kept.proved) == (3, 1, False)
    assert all(loss.status for loss in safe(state(*items[:3], *pods[:3])).steps)
    approved("\n".join(lines_of(kept)))
    full = advise(state(*items[:2], *(pod(f"x-1-{n}", f"n{n}", 3) for n in range(2))))
    with refused(NoSolution):
        surviving(full, 20)


def test_each_reason_that_holds_pods_in_place_has_what_it_costs() -> None:
    items = [node(f"n{n}", 4) for n in range(3)]
    items += [pod("db-1-a", "n0", 2, labels={"app": "db"}), budget("db", "db", 0)]
    items += [pod("x-1-a", "n1", 2), pod("alone", "n2", 1, owner="")]
    advice = advise(state(*items))
    assert advice.nodes.value == 2
    pins = dearest_pins(advice, time_limit=20)
    assert [(pin["kind"], pin["nodes"], pin["proved"]) for pin in pins] == [
        ("budget", 0, True),
        ("owner", 0, True),
    ]
    wide = [*items[:3], *items[3:5], pod("x-1-a", "n1", 3), pod("alone", "n2", 2, owner="")]
    advice = advise(state(*wide))
    pins = dearest_pins(advice, time_limit=20)
    approved("\n".join(lines_of(replace(advice, pins=pins))))
    assert replace(advice, pins=pins).document()["pins"] == list(pins)


def test_the_command_keeps_room_and_says_what_pins_cost() -> None:
    done = run("advise", "nodes", "state/shop", "--keep", "15%", "--why-not")
    approved(done.stdout.splitlines()[-5:])
    assert len(done.stdout.splitlines()) <= LINES
    for wrong in ("half", "100%"):
        approved(run("advise", "nodes", "state/shop", "--keep", wrong).stderr)


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


def test_pods_that_fit_nowhere_else_cannot_be_repaired() -> None:
    items = [node("a", 2), node("b", 1), pod("x-1-a", "a"), pod("x-1-b", "a"), pod("x-1-c", "a")]
    assert repair(state(*items)).status
    approved("\n".join(lines_of(repair(state(*items, pod("x-1-d", "a"))))))


def test_the_command_repairs_and_says_when_there_is_nothing_to_do(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(listed(*apart_pairs())))
    document = json.loads(run("advise", "repair", str(path), "--json").stdout)
    assert (len(document["broken"]), document["plan"]["moves"]["value"]) == (2, 2)
    assert "kubectl cordon" not in run("advise", "repair", str(path), "--emit", "kubectl").stdout
    approved(run("advise", "repair", "state/shop").stdout)
    approved(run("advise", "repair", "state/shop", "--emit", "kubectl").stderr)


# growth


def autoscaler(name: str, most: Any) -> dict[str, Any]:
    return {
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"maxReplicas": most, "scaleTargetRef": {"kind": "Deployment", "name": name}},
    }


def deployment(name: str, replicas: int, surge: Any = None, kind: str = "") -> dict[str, Any]:
    strategy = {"type": kind, "rollingUpdate": None if surge is None else {"maxSurge": surge}}
    return {
        "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"replicas": replicas, "strategy": strategy},
    }


def copy_of(app: str, letter: str, on: str, cpu: int = 1, **spec: Any) -> dict[str, Any]:
    labels = {"app": app, "pod-template-hash": "7"}
    return pod(f"{app}-7-{letter}", on, cpu, labels=labels, **spec)


def two_nodes() -> tuple[dict[str, Any], ...]:
    """Room for 3 cpu on a node and 1 on the other, where web has two pods of 1 and db one of 2."""
    nodes = node("a", 4), node("b", 4)
    return *nodes, copy_of("web", "x", "a"), copy_of("web", "y", "b"), copy_of("db", "z", "b", 2)


def judged(*items: dict[str, Any]) -> list[tuple[str, int, int, int]]:
    """Of each case its name, the pods it adds, those with a place, and the most that have one."""
    return [
        (case.name, len(case.pods) + case.more, len(case.arrivals), case.fits.bound)
        for case in growths(state(*items))
    ]


def test_an_autoscaler_reaches_its_maximum_or_is_one_pod_short() -> None:
    assert judged(*two_nodes(), autoscaler("web", 6)) == [("shop/web", 4, 4, 4)]
    assert judged(*two_nodes(), autoscaler("web", 7)) == [("shop/web", 5, 4, 4)]
    assert judged(*two_nodes(), autoscaler("web", 2)) == [("shop/web", 0, 0, 0)]
    [case] = growths(state(*two_nodes(), autoscaler("web", 7)))
    assert (case.status, case.bought) == (False, {"a": 1})


def test_a_maximum_beyond_all_nodes_takes_no_memory() -> None:
    assert judged(*two_nodes(), autoscaler("web", 10**9)) == [("shop/web", 10**9 - 2, 4, 4)]


def test_autoscalers_that_reach_their_maximum_alone_may_not_together() -> None:
    both = (*two_nodes(), autoscaler("web", 5), autoscaler("db", 2))
    assert judged(*both) == [(TOGETHER, 4, 3, 3), ("shop/web", 3, 3, 3), ("shop/db", 1, 1, 1)]
    found = safe(state(*both, autoscaler("gone", 3), deployment("web", 2)))
    approved("\n".join(lines_of(found)))


def test_pods_that_are_pending_now_are_among_the_new_ones() -> None:
    waiting = copy_of("web", "w", ""), copy_of("other", "w", "", 3)
    assert judged(*two_nodes(), *waiting, autoscaler("web", 6)) == [("shop/web", 4, 4, 4)]


@pytest.mark.parametrize(
    ("replicas", "surge", "added"),
    [(2, None, 1), (2, "50%", 1), (2, "51%", 2), (2, "150%", 3), (2, 4, 4), (2, 0, 0), (0, 1, 0)],
)
def test_the_surge_of_an_update_is_rounded_up(replicas: int, surge: Any, added: int) -> None:
    found = judged(*two_nodes(), deployment("web", replicas, surge))
    assert found == [("shop/web", added, added, added)]


def test_updates_are_asked_one_at_a_time_the_largest_first() -> None:
    updates = deployment("web", 2, 3), deployment("db", 1, 2)
    assert judged(*two_nodes(), *updates) == [("shop/web", 3, 3, 3), ("shop/db", 2, 1, 1)]
    recreated = deployment("db", 1, 2, kind="Recreate")
    assert judged(*two_nodes(), recreated) == [("shop/db", 0, 0, 0)]


def test_a_spread_of_one_template_does_not_count_the_old_one() -> None:
    """Two pods in zone a keep a third of their template out of it, and zone b is full."""
    of_template = {"topologySpreadConstraints": spread("web", matchLabelKeys=["pod-template-hash"])}
    zones = node("a", 4, zone="a"), node("b", 1, zone="b")
    pods = copy_of("web", "x", "a", **of_template), copy_of("web", "y", "b", **of_template)
    full = (*zones, *pods, copy_of("web", "z", "a", **of_template))
    assert judged(*full, deployment("web", 3, 1)) == [("shop/web", 1, 1, 1)]
    assert judged(*full, autoscaler("web", 4)) == [("shop/web", 1, 0, 0)]


def test_what_is_not_known_of_a_workload_is_not_judged() -> None:
    resized = copy_of("web", "w", "a", 2)
    cases = growths(state(*two_nodes(), resized, autoscaler("web", 6), autoscaler("gone", 2)))
    assert [case.status for case in cases] == [None, None]
    approved(sorted(case.reason for case in cases))
    volume = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    claiming = node("a", 4), copy_of("web", "x", "a", **volume), autoscaler("web", 2)
    assert judged(*claiming) == [("shop/web", 1, 0, 1)]
    assert [case.status for case in growths(state(*claiming), released=["volumes"])] == [True]


def test_the_command_says_whether_workloads_can_grow(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    growing = autoscaler("web", 7), autoscaler("db", 1), deployment("web", 2)
    path.write_text(json.dumps(listed(*two_nodes(), *growing)))
    done = run("advise", "safe", str(path), "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    cases = {(case["kind"], case["name"]): case for case in document["steps"]}
    assert cases["Deployment", "shop/web"]["status"]
    assert cases[AUTOSCALER, "shop/web"]["fits"]["value"] == 4


@pytest.mark.parametrize("wrong", ["25", "-1%", -1, True])
def test_a_surge_that_is_none_is_refused(wrong: Any) -> None:
    with refused(InvalidFile):
        state(*two_nodes(), deployment("web", 2, wrong))


def test_an_autoscaler_without_a_maximum_or_given_twice_is_refused() -> None:
    with refused(InvalidFile):
        state(*two_nodes(), autoscaler("web", 0))
    with refused(InvalidFile):
        state(*two_nodes(), autoscaler("web", 3), autoscaler("web", 4))

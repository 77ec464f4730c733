"""Answers for clusters: what is enough, what moves and in which order, how they are printed and shown
as a page, and every kind of wrong plan refused.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.advice_cases import claims
from support.advice_states import HOST, apart, budget, listed, node, pod, spread, state
from support.advice_words import after_warnings, lines_of
from support.browser import Tags
from support.messages import approved, refused
from support.terminal import run

from cotenant.analysis.report.page import Page, write_page
from cotenant.cluster.judge.default_scheduler import left_pending
from cotenant.cluster.judge.order import Ordered, ordered
from cotenant.cluster.judge.scheduler_filters import Move, Scheduler, check_waves
from cotenant.cluster.plan.answer import Answer, Proved, Question
from cotenant.cluster.plan.drain import drain
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.plan.optimum import moves_needed
from cotenant.cluster.plan.to_packing import translate
from cotenant.cluster.report.answers import shown
from cotenant.cluster.report.emit import emit
from cotenant.cluster.report.page import answer_page
from cotenant.cluster.report.text_report import LEAST_LINES, LINES, WIDTH, amount, still_idle
from cotenant.cluster.state.constraints import Expression, satisfies
from cotenant.cluster.state.reading import read_state
from cotenant.cluster.state.state import ClusterState, StateWarning
from cotenant.instances.problem.errors import InfeasibleSolution, InvalidOption, UnknownName


def number(read: ClusterState, name: str) -> int:
    return next(n for n, each in enumerate(read.pods) if each.name == name)


def moves_of(advice: Answer) -> dict[str, str]:
    return {advice.state.pods[n].name: name for n, name in advice.targets.items()}


# what is enough


@pytest.mark.parametrize(
    ("closed", "opened"),
    [
        ({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}, {"tolerations": [{"key": "k", "value": "v"}]}),
        ({"taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]}, {"tolerations": [{"operator": "Exists"}]}),
        ({"unschedulable": True}, {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}),
        ({"labels": {"disk": "ssd"}}, None), ({"ready": "False"}, None),
    ],
)  # fmt: skip
def test_plan_places_no_pod_on_node_that_excludes_it(
    closed: dict[str, Any], opened: dict[str, Any] | None
) -> None:
    selector = {"nodeSelector": {"disk": "hdd"}} if "labels" in closed else {}
    # the closed node is the larger one, and holds something that must stay
    nodes = [node("big", "16", **closed), node("n1", "4", labels={"disk": "hdd"})]
    stays = pod("s-1", "big", "1", owner="")
    read = state(*nodes, stays, pod("a-1", "n1", "2", **selector))
    assert advise(read).nodes.value == 2
    if opened is not None:
        assert advise(state(*nodes, stays, pod("a-1", "n1", "2", **opened))).nodes.value == 1


def test_host_port_is_used_once_per_node() -> None:
    port = [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]
    read = [pod("a-1", "n1", containers=port), pod("b-1", "n2", containers=port)]
    assert advise(state(node("n1"), node("n2"), *read)).nodes.value == 2
    local = [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80, "hostIP": "127.0.0.1"}]}]
    of_all = state(node("n1"), node("n2"), read[0], pod("b-1", "n2", containers=local))
    assert advise(of_all).nodes.value == 2
    assert Scheduler(of_all).refusals(1, "n1") == ["host port"]
    port2 = [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 81}]}]
    read = [node("n1"), node("n2"), read[0], pod("b-1", "n2", containers=port2)]
    assert advise(state(*read)).nodes.value == 1


# the order


def test_waves_of_pod_moves_respect_disruption_budgets_and_pod_owners() -> None:
    pods = [pod(f"a-{n}", "n1", "100m", labels={"app": "a"}) for n in range(4)]
    read = state(node("n1"), node("n2"), *pods, pod("b-1", "n2", "6", owner=""))
    assert [len(wave) for wave in advise(read).order.waves] == [1, 1, 1, 1]
    read = state(
        node("n1"), node("n2"), *pods, pod("b-1", "n2", "6", owner=""), budget("a", "a", 2)
    )
    assert [len(wave) for wave in advise(read).order.waves] == [2, 2]


@pytest.mark.parametrize(
    ("policy", "healthy", "phase", "ready", "budgets", "moves"),
    [
        ("AlwaysAllow", 0, "Running", "False", 1, True), ("AlwaysAllow", 0, "Running", "True", 1, False),
        ("AlwaysAllow", 0, "Running", "False", 2, False), ("IfHealthyBudget", 1, "Running", "False", 1, False),
        ("IfHealthyBudget", 2, "Running", "False", 1, True), (None, 2, "Running", "False", 1, True),
        (None, 2, "Running", "True", 1, False), (None, 0, "Pending", "False", 2, True),
        (None, 2, "Running", None, 1, False),
    ],
)  # fmt: skip
def test_unready_pods_move_under_budget_with_always_allow_policy(
    policy: str | None, healthy: int, phase: str, ready: str | None, budgets: int, moves: bool
) -> None:
    guards = [budget(f"of-a{n}", "a", 0) for n in range(budgets)]
    for each in guards:
        each["spec"]["unhealthyPodEvictionPolicy"] = policy
        each["status"] |= {"currentHealthy": healthy, "desiredHealthy": 2}
    guarded = pod("a-1", "n1", labels={"app": "a"}, phase=phase)
    if ready is not None:
        guarded["status"]["conditions"] = [{"type": "Ready", "status": ready}]
    read = state(node("n1"), node("n2"), guarded, pod("b-1", "n2", owner=""), *guards)
    assert moves_of(advise(read)) == ({"a-1": "n2"} if moves else {})
    if not moves:  # the judge says the same by itself
        with refused(InfeasibleSolution):
            check_waves(read, [(Move(0, "n2"),)])


def test_largest_of_conflicting_pending_pods_is_placed_first() -> None:
    nodes = [node(name, "4", "4Gi") for name in ("n1", "n2", "n3")]
    coming, leaving = [pod("b-1", "n1", "1"), pod("a-1", "n1", "3", "3Gi")], pod("c-1", "n2", "1")
    read = state(*nodes, *coming, leaving)
    first, second = ordered(read, {0: "n2", 1: "n2", 2: "n3"}).waves
    assert ([move.pod for move in first], [move.pod for move in second]) == ([1, 2], [0])


def test_swap_of_pods_uses_temporary_move() -> None:
    nodes = [node("n1", "4"), node("n2", "4"), node("n3", "4")]
    read = state(*nodes, pod("a-1", "n1", "3"), pod("b-1", "n2", "3"))
    found = ordered(read, {0: "n2", 1: "n1"})
    assert [[(m.pod, m.node, m.temporary) for m in wave] for wave in found.waves] == [
        [(1, "n3", True)], [(0, "n2", False)], [(1, "n1", False)],
    ]  # fmt: skip
    check_waves(read, found.waves)
    # two must make room for one
    small = [pod(f"{name}-1", "n2", "2") for name in "bc"]
    read = state(*nodes, pod("a-1", "n1", "4"), *small)
    found = ordered(read, {0: "n2", 1: "n1", 2: "n1"})
    assert not found.stuck
    assert {m.pod for wave in found.waves for m in wave if m.temporary} == {1, 2}
    check_waves(read, found.waves)
    stuck = ordered(
        state(*nodes[:2], pod("a-1", "n1", "3"), pod("b-1", "n2", "3")), {0: "n2", 1: "n1"}
    )
    approved(str(stuck.stuck))
    assert stuck.waves == ()


# time and interrupts


def half_empty(number: int = 4) -> ClusterState:
    return state(
        *(node(f"n{n}", "4") for n in range(number)), *(pod(f"a{n}-1", f"n{n}") for n in range(number))
    )  # fmt: skip


@pytest.mark.parametrize("part", ["cost_needed", "fewest_moves", "moves_needed", "left_pending"])
def test_interrupt_returns_checked_incumbent_plan(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    checked = []
    module = "plan" if part == "left_pending" else "search"
    monkeypatch.setattr(f"cotenant.cluster.plan.{module}.{part}", interrupted)
    monkeypatch.setattr(
        "cotenant.cluster.plan.plan.check_waves", lambda *given, **_: checked.append(given)
    )
    said: list[str] = []
    advice = advise(half_empty(), say=said.append)
    assert advice.interrupted
    assert len(checked) == 1
    # nothing moves before the fewest nodes are known; then what holds all on one is kept
    assert advice.nodes.value == (4 if part == "cost_needed" else 1)
    approved(after_warnings(advice, details=True))
    assert advice.document()["cut"] == list(advice.cut)
    approved(said[0])


# the judge


def test_plan_check_refuses_every_kind_of_wrong_plan() -> None:
    read = state(
        node("n1", zone="a"), node("n2", zone="b", pods="4"), node("n3", zone="b", taints=[{"key": "k", "effect": "NoSchedule"}]),
        pod("a-1", "n1", labels={"app": "a"}, affinity=apart("a")), pod("a-2", "n2", labels={"app": "a"}, affinity=apart("a")),
        pod("big-1", "n1", "6"), pod("full-1", "n2", "5500m"), pod("fixed", "n1", owner=""),
        pod("v-1", "n1", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]),
        pod("s-1", "n1", "100m", labels={"app": "s"}, topologySpreadConstraints=spread("s")),
        pod("s-2", "n2", "100m", labels={"app": "s"}, topologySpreadConstraints=spread("s")),
        pod("p-1", "n1", "100m", labels={"app": "p"}), pod("p-2", "n1", "100m", labels={"app": "p"}),
        pod("q-1", "n1", "100m", labels={"app": "q"}), budget("p", "p", 1), budget("q", "q", 0),
        pod("d-1", "n1", owner="DaemonSet"),
    )  # fmt: skip

    # in the last wave both nodes have room for one, and for two only after the other has left
    for wave in ("a-1 n2", "p-1 n3", "big-1 n2", "s-1 n2", "fixed n2", "v-1 n2", "d-1 n2", "q-1 n2", "p-1 n9",
                 "p-1 n2, p-2 n2", "p-1 n2, p-1 n1", "p-1 n2, freed", "full-1 n1, big-1 n2"):  # fmt: skip
        moves = [each.split() for each in wave.removesuffix(", freed").split(", ")]
        freed = ["n1"] if wave.endswith("freed") else []
        with refused(InfeasibleSolution):
            check_waves(
                read, [tuple(Move(number(read, name), to) for name, to in moves)], freed=freed
            )
    check_waves(read, [(Move(number(read, "p-1"), "n2"),)])
    check_waves(read, [(Move(number(read, "v-1"), "n2"),)], released=["volumes"])


def test_advice_by_wrong_packing_instance_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    from cotenant.cluster.plan import to_packing

    monkeypatch.setattr(to_packing._Builder, "_apart_rules", lambda self: [])
    pods = [pod(f"a-{n}", f"n{n}", labels={"app": "a"}, affinity=apart("a")) for n in (1, 2)]
    advice = advise(state(node("n1"), node("n2"), *pods))
    # the filters let no move of it be ordered, and nothing is claimed to be carried out
    assert advice.order.stuck
    monkeypatch.setattr("cotenant.cluster.plan.plan.ordered", lambda *_: ordered_blindly(advice))
    with refused(InfeasibleSolution):
        advise(state(node("n1"), node("n2"), *pods))


def ordered_blindly(advice: Answer) -> Any:
    return Ordered((tuple(Move(n, name) for n, name in advice.targets.items()),), {})


# the default scheduler, draining


def test_simulated_default_scheduler_reports_pending_pods() -> None:
    # a lone pod put on the emptier node takes the room that the large one needs
    nodes = [node("n1", "4"), node("n2", "8"), node("n3", "8")]
    read = state(
        *nodes, pod("s-1", "n1", "2"), pod("l-1", "n1", "7"), pod("h-1", "n2", "2", owner="")
    )
    waves = [(Move(0, "n2"),), (Move(1, "n3"),)]
    assert left_pending(read, waves, ["n1"], "LeastAllocated") == [1]
    assert left_pending(read, waves, ["n1"], "MostAllocated") == []


def test_drain_names_blocking_pods_and_moves() -> None:
    read = read_state(["state/shop"])
    text = lines_of(drain(read, "n-6"))
    approved(text[0])
    approved([re.sub(r"to n-\d", "to a node", line) for line in text])  # any of the equally good
    with refused(UnknownName):
        drain(read, "n-9")


def test_advice_text_has_ten_lines_and_details_every_name() -> None:
    names = tuple(f"ip-10-0-{n}-17.eu-central-1.compute.internal" for n in range(40))
    shop = advise(read_state(["state/shop"]), time_limit=20)
    many = replace(shop, freed=names, idle=names, cut=("the search for fewer moves",))
    lines = lines_of(many)
    assert len(lines) == LINES
    assert max(map(len, lines)) <= WIDTH
    text = " ".join(" ".join(lines).split())
    assert re.search(r"40 idle, with nothing but their own pods: --details", text)
    shown = re.search(r"free 40 nodes: (.*) and (\d+) more: --details", text)
    assert shown is not None
    assert len(shown[1].split(", ")) + int(shown[2]) == 40
    whole = " ".join(lines_of(many, details=True))
    assert all(whole.count(name) == 2 for name in names), "once idle, once freed"
    aside = replace(shop.order, waves=((Move(0, names[0], temporary=True),), *shop.order.waves))
    assert names[0] not in still_idle(replace(many, order=aside)), "a step of the plan uses it"


def test_requirements_on_absent_labels_match_kubernetes_semantics() -> None:
    operators = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    held = [each for each in operators if satisfies(Expression("zone", each, ("1",)), {})]
    assert held == ["NotIn", "DoesNotExist"]


def test_money_is_printed_with_needed_digits() -> None:
    third = Fraction(100, 3)
    assert [amount(Fraction(value)) for value in ("0.384", "12", "1930.5", "-0.5")] == [
        "0.384", "12", "1930.5", "-0.5"
    ]  # fmt: skip
    assert (amount(third, math.floor), amount(third, math.ceil)) == ("33.3333", "33.3334")
    assert amount(Fraction(10**30)) == str(10**30)


# the command


def test_advise_output_fits_80_columns(tmp_path: Path) -> None:
    done = run("advise", "nodes", "state/shop")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    approved(lines[0])
    assert max(map(len, lines)) <= WIDTH
    plan, settings = tmp_path / "plan.json", tmp_path / "s.toml"
    done = run("advise", "nodes", "state/shop", "--json", "--plan", str(plan))
    found = json.loads(done.stdout)
    assert found == json.loads(plan.read_text())
    assert found["nodes"]["bound"] == found["nodes"]["value"] == 4
    assert sum(map(len, found["order"]["waves"])) == found["moves"]["value"]
    for share, code in ((0.1, 1), (0.5, 0)):
        settings.write_text(f"fail_above = {share}")
        done = run("advise", "nodes", "state/shop", "--settings", str(settings))
        assert done.returncode == code
    nowhere = run("advise", "nodes", "state/shop", "--plan", str(tmp_path / "no" / "plan.json"))
    assert nowhere.returncode == 2
    done = run("advise", "drain", "state/shop", "n-6", "--json")
    assert (done.returncode, list(json.loads(done.stdout)["why_not"])) == (1, ["ops/shell"])
    assert run("advise", "drain", "state/shop", "n-6", "--emit", "csv").returncode == 1
    assert run("advise", "drain", "state/shop", "n-2", "--emit", "csv").stdout.startswith("wave,")
    approved(run("advise", "nodes", "state/shop", "--emit", "helm").stderr)


def test_names_in_state_files_are_never_emitted_as_commands() -> None:
    advice = advise(read_state(["state/shop"]))
    order = Ordered(advice.order.waves, {12: ("taint a\nrm -rf /",)})
    lines = emit(replace(advice, order=order), "kubectl").splitlines()
    assert all(line.startswith(("#", "kubectl ", "echo ")) for line in lines)


# the whole, at random


@pytest.mark.parametrize(
    ("first", "number"), [(0, 2), pytest.param(1000, 200, marks=pytest.mark.slow)]
)
def test_advice_on_small_states_equals_enumeration(first: int, number: int) -> None:
    for seed in range(first, first + number):
        for what, held, seen in claims(seed, all_routes=number > 25 or seed % 4 == 0):
            assert held, (seed, what, seen)


def test_equal_pods_are_translated_to_one_type() -> None:
    labels = [{"app": "a", "pod": str(n)} for n in range(30)]
    pods = [pod(f"a-{n}", f"n{n % 3}", "100m", labels=each) for n, each in enumerate(labels)]
    built = translate(Question(state(*[node(f"n{n}") for n in range(3)], *pods)))
    assert (built.instance.types, built.instance.classes, built.instance.requested[0]) == (1, 1, 30)


# money


def test_number_of_moves_in_large_cluster_with_node_prices_has_bound() -> None:
    """Of more servers times types than one program decides: three pods fit on a node."""
    pods = (pod(f"a{n}-1", f"n{n}", f"{1000 + n}m") for n in range(145))
    read = state(*(node(f"n{n}", 4) for n in range(145)), *pods)
    priced = tuple(replace(one, price=Fraction(1 + n % 3)) for n, one in enumerate(read.nodes))
    plan = translate(Question(replace(read, nodes=priced)), for_bound=True)
    found = moves_needed(plan, plan.costs.limit(120), time_limit=0.5)
    assert 0 < found.bound < 145
    assert not found.infeasible


@pytest.mark.parametrize(("policy", "tightened"), [("Ignore", False), ("Honor", True)])
def test_advice_under_tightened_spread_rules_proves_no_lower_bound(
    policy: str, tightened: bool
) -> None:
    """A node that is let go counts in a spread over nodes until it is deleted; under Honor only
    until it is cordoned, which no plan makes use of.
    """
    even = spread("a", 2, HOST, nodeTaintsPolicy=policy)
    pods = [
        pod(f"a-{n}", f"n{n % 4}", labels={"app": "a"}, topologySpreadConstraints=even)
        for n in range(5)
    ]
    read = state(*(node(f"n{n}") for n in range(4)), *pods)
    assert translate(Question(read)).tightened is tightened
    advice = advise(read)
    assert advice.nodes.value == 3
    assert (advice.nodes.pinned == 3) is not tightened


def test_released_pending_pods_are_placed() -> None:
    claim = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    read = state(node("n1"), pod("a-1", "n1"), pod("b-1", volumes=claim))
    assert len(advise(read).waiting) == 1
    assert set(advise(read, released=["volumes"]).arrivals.values()) == {"n1"}
    assert advise(read, released=["volumes"]).fits.value == 1
    with refused(InvalidOption):
        advise(read, released=["spread"])


def test_plan_falls_back_to_running_pods_if_order_is_missing() -> None:
    """Two pods would have to change places, and neither node has room for both."""
    swap = [node("n1", "4"), node("n2", "3"), pod("x-1", "n1", "3"), pod("y-1", "n2", "2")]
    read = state(*swap, pod("p-1", cpu="2"))
    advice = advise(read)
    assert (advice.targets, advice.order.stuck, len(advice.waiting)) == ({}, {}, 1)
    assert advice.state.assumptions[-1].code == "pending-left"


def test_rules_left_broken_are_not_reported_as_repaired() -> None:
    read = state(
        node("n1", "4"), node("n2", "1"), pod("x-1", "n1", "3"), pod("y-1", "n1", "2"),
        pod("p-1", cpu="1"),
    )  # fmt: skip
    advice = advise(read)
    assert advice.broken
    assert advice.repaired == ()


pytest.importorskip("matplotlib", reason="the page needs matplotlib")
pytest.importorskip("jinja2", reason="the page needs jinja2")


@pytest.fixture(scope="module")
def shop() -> Answer:
    """The plan of the state that comes with the package."""
    return advise(read_state(["state/shop"]), time_limit=20)


def rows_of(page: Page, title: str) -> list[tuple[Any, ...]]:
    """The rows of the first table of a section."""
    return list(next(part for part in page.parts if part.title == title).tables[0].rows)


def test_page_lists_nodes_by_their_change(shop: Answer) -> None:
    rows = rows_of(answer_page(shown(shop)), "Nodes before and after")
    happens = {name: (what, pods) for name, _, _, what, pods, _ in rows}
    assert list(happens)[:2] == ["n-2", "n-4"]
    assert (happens["n-2"], happens["n-4"]) == (("freed", "3 leave"), ("freed", "4 leave"))
    assert {happens[name][0] for name in ("n-1", "n-3", "n-5", "n-6")} == {"changes"}
    assert "1 from pending" in happens["n-6"][1]
    assert rows[0][1:3] == ("69 % cpu", "")


def test_plan_page_lists_origins_of_moves_and_nodes_empty_after_each_wave(shop: Answer) -> None:
    moved = min(shop.targets)
    home, target = shop.state.pods[moved].node, shop.targets[moved]
    waves = ((Move(moved, "n-5", temporary=True),), (Move(moved, target),))
    page = answer_page(shown(replace(shop, order=Ordered(waves, {}), freed=(home,))))
    (part,) = [part for part in page.parts if part.title == "Moves, in waves"]
    title = shop.state.pods[moved].title
    assert part.tables[0].rows == (
        (title, 1, home, "n-5 (for a time)"), (title, 2, "n-5", target)
    )  # fmt: skip
    assert part.sentences[1:] == (f"Empty after wave 1: {home}.",)
    assert len(rows_of(answer_page(shown(shop)), "Moves, in waves")) == len(shop.targets)


def test_numbers_on_advice_page_show_their_proof_status(shop: Answer) -> None:
    approved([" | ".join(each) for each in answer_page(shown(shop)).numbers])


def test_page_warnings_precede_decision_and_qualify_proofs(tmp_path: Path) -> None:
    shop = read_state(["state/shop"])
    pods = tuple(each for each in shop.pods if each.namespace == "shop")
    warned = replace(shop, pods=pods, warnings=(StateWarning("one-namespace", "only shop", "-A"),))
    page = answer_page(shown(advise(warned, time_limit=20)))
    assert page.warnings == (("Only shop", "-A"),)
    for words in (*page.decision, *(words for _, words in page.numbers)):
        assert re.findall("proved(?! of the pods in this file)", words)[1:] == []
        assert ("proved" in words) == ("proved of the pods in this file" in words)
    (table,) = next(part for part in page.parts if part.title == "What is proved").tables
    assert table.notes[0] == "Of the pods in this file alone: only shop."


NASTY = "<img src=x onerror=alert(1)>\"'\x1b[31m\u202e"


def test_page_escapes_names_from_the_state(tmp_path: Path) -> None:
    read = state(node("n-1"), node("n-2"), pod("a-1", "n-1"), pod("b-1", "n-2", owner=""))
    nodes = (
        replace(read.nodes[0], name=NASTY, labels={"node.kubernetes.io/instance-type": NASTY}),
        read.nodes[1],
    )
    pods = (replace(read.pods[0], name=NASTY, node=NASTY), replace(read.pods[1], reason=NASTY))
    read = replace(read, name=NASTY, nodes=nodes, pods=pods)
    found = advise(read)
    assert found.freed == (NASTY,)
    page = Tags(
        write_page(answer_page(shown(found), ["x", NASTY]), tmp_path / "x.html").read_text()
    )
    assert {"img"}.isdisjoint(tag for tag, _ in page.tags)
    assert len(page.all("script")) == 1
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text
    assert page.text.count(NASTY[:20]) > 8, "it stands in every place that names are in"


def test_page_has_total_and_node_prices(shop: Answer) -> None:
    nodes = tuple(replace(each, price=Fraction("0.384")) for each in shop.state.nodes)
    paid = replace(
        shop, state=replace(shop.state, nodes=nodes),
        cost=Proved(Fraction("1.92"), Fraction(2, 3), Fraction("1.92")), cost_now=Fraction("2.688"),
    )  # fmt: skip
    page = answer_page(shown(paid))
    approved([" | ".join(each) for each in page.numbers][:2])
    assert rows_of(page, "Nodes before and after")[0][-1] == "a, 0.384"
    (table,) = next(part for part in page.parts if part.title == "What is proved").tables
    assert table.rows[0] == ("paid for nodes", "1.92", "0.6666", "1.92"), "a bound is rounded down"


PLANNED = {"nodes-before-and-after", "moves-in-waves"}


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (("nodes",), PLANNED | {"pending-pods", "what-is-proved"}),
        (("fit", "--shape", "cpu=3", "--replicas", "2"), PLANNED | {"where-they-go"}),
        (("buy", "--types", "types.csv"), {"where-they-go", "what-to-buy"}),
        (("safe",), {"what-is-not-safe-or-is-not-known", "every-case"}),
        (("repair",), PLANNED),
        (("drain", "n-1"), PLANNED | {"on-n-1"}),
        (("gpus",), PLANNED | {"where-cards-are-free"}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_advice_command_has_page_and_ten_lines_of_text(
    tmp_path: Path, question: tuple[str, ...], parts: set[str]
) -> None:
    (tmp_path / "types.csv").write_text("type,cpu,memory,price\nsmall,8,32Gi,0.1\n")
    together = {"labels": {"app": "a"}, "affinity": apart("a")}
    cards = {"nvidia.com/gpu": "1"} if question[0] == "gpus" else {}
    items = [node(f"n-{n}", "4", **cards) for n in (1, 2)]
    items += [pod(f"a-{n}", "n-1", **together) for n in (1, 2)] + [pod("b-1", "n-2")]
    if question[0] != "repair":
        main = [{"name": "main", "resources": {"requests": {"cpu": "3"} | cards}}]
        items += [pod("c-1", containers=main), pod("x-1", "n-2", "2", owner="")]
        items[2:4] = [pod(f"a-{n}", "n-1") for n in (1, 2)]
    if question[0] == "drain":
        items.append(node("n-3"))
    read, path = tmp_path / "state.json", tmp_path / "page.html"
    read.write_text(json.dumps(listed(*items)))
    name, *words = question
    others = [str(tmp_path / word) if word == "types.csv" else word for word in words]
    done = run("advise", name, str(read), *others, "--report", str(path))
    lines = done.stdout.splitlines()
    assert lines[0].startswith("warning: "), "before the number"
    answer = next(line for line in lines if not line.startswith(("warning: ", "  ")))
    assert len(lines) - lines.index(answer) <= LEAST_LINES
    assert max(map(len, lines)) <= WIDTH
    page = Tags(path.read_text())
    assert parts <= {attributes.get("id") for attributes in page.all("section")}
    assert any("warnings" in str(attributes.get("class")) for _, attributes in page.tags)
    if parts >= PLANNED:
        plan = run("advise", name, str(read), *others, "--emit", "kubectl").stdout.splitlines()
        head = [line for line in plan if not line.startswith("# warning: ")]
        assert head[0].startswith("# left to the default scheduler")


def test_every_plan_field_is_documented(shop: Answer) -> None:
    page = (Path(__file__).parents[1] / "docs" / "howto" / "plan.md").read_text()
    named = set(re.findall(r"`([\w-]+)`", page.partition("The fields of")[2]))
    assert {field.name for field in fields(shop)} <= named
    assert {field.name for field in fields(shop.nodes)} <= named
    assert set(shop.document()["state"]) <= named

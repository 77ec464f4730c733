"""The page of advice as data and as HTML: bars that add up, waves, and names that stay text."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.advice_states import apart, listed, node, pod, state
from support.messages import approved
from support.terminal import run

from cotenant.analysis.report.picture import Chart
from cotenant.cluster.judge.order import Ordered
from cotenant.cluster.judge.scheduler_filters import Move
from cotenant.cluster.plan.answer import Answer, Proved
from cotenant.cluster.plan.drain import drain
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.report.answers import shown
from cotenant.cluster.report.model import Fill
from cotenant.cluster.report.page import (
    ARRIVES,
    MAX_RESOURCES,
    MOVES,
    TIGHTEST,
    answer_page,
    plan_part,
    write_page,
)
from cotenant.cluster.report.text_report import amount, limit_words
from cotenant.cluster.state.reading import read_state
from cotenant.cluster.state.state import StateWarning

pytest.importorskip("matplotlib", reason="the page needs matplotlib")
pytest.importorskip("jinja2", reason="the page needs jinja2")


@pytest.fixture(scope="module")
def shop() -> Answer:
    """The plan of the state that comes with the package."""
    return advise(read_state(["state/shop"]), time_limit=20, frontier=3)


def percent(advice: Answer, name: str, resource: str, after: bool) -> float:
    """What all pods on a node request, counted here."""
    where = {n: each.node for n, each in enumerate(advice.state.pods) if each.placed}
    where |= dict(advice.targets) | dict(advice.arrivals) if after else {}
    (there,) = [each.allocatable[resource] for each in advice.state.nodes if each.name == name]
    pods = advice.state.pods
    return (
        100
        * sum(pods[n].requests.get(resource, 0) for n, at in where.items() if at == name)
        / there
    )


def test_bars_are_what_is_requested_before_and_after(shop: Answer) -> None:
    part = plan_part(shop)
    assert part.resources == (TIGHTEST, "cpu", "memory", "pods")
    for group in part.groups:
        for each in group.nodes:
            for choice, resource in enumerate(part.resources[1:], start=1):
                now, after = each.now[choice], each.after[choice]
                assert now is not None
                assert now.ends[-1] == pytest.approx(percent(shop, each.name, resource, False))
                assert list(now.ends) == sorted(now.ends)
                if after is not None:
                    assert after.ends[-1] == pytest.approx(percent(shop, each.name, resource, True))
            tightest = each.now[0]
            assert tightest is not None
            assert tightest.ends[-1] == max(fill.ends[-1] for fill in each.now if fill is not None)


def test_nodes_stand_by_what_happens_to_them(shop: Answer) -> None:
    groups = {group.kind: [each.name for each in group.nodes] for group in plan_part(shop).groups}
    assert groups == {
        "freed": ["n-2", "n-4"], "changed": ["n-1", "n-3", "n-5", "n-6"], "same": ["cp-1"]
    }  # fmt: skip
    freed = plan_part(shop).groups[0].nodes
    assert all(fill is None for each in freed for fill in each.after), "nothing is left there"
    assert [each.changes for each in freed] == ["3 leave", "4 leave"]


def test_a_pending_pod_has_a_part_of_the_bar_of_its_node(shop: Answer) -> None:
    part = plan_part(shop)
    (node_6,) = [each for group in part.groups for each in group.nodes if each.name == "n-6"]
    assert "1 from pending" in node_6.changes
    now, after = node_6.now[0], node_6.after[0]
    assert now is not None
    assert after is not None
    assert now.ends[ARRIVES] == now.ends[MOVES]
    assert after.ends[ARRIVES] > after.ends[MOVES]


def test_waves_say_which_nodes_are_empty_then_and_each_is_named_once(shop: Answer) -> None:
    waves = plan_part(shop).waves
    assert [wave.emptied for wave in waves] == [("n-2",), (), ("n-4",), ()]
    assert sum(len(wave.moves.rows) for wave in waves) == len(shop.targets)


def test_a_pod_moved_aside_comes_from_where_it_was_put(shop: Answer) -> None:
    moved = min(shop.targets)
    home, target = shop.state.pods[moved].node, shop.targets[moved]
    waves = ((Move(moved, "n-5", temporary=True),), (Move(moved, target),))
    part = plan_part(replace(shop, order=Ordered(waves, {}), freed=(home,)))
    title = shop.state.pods[moved].title
    assert [wave.moves.rows for wave in part.waves] == [
        ((title, home, "n-5 (for a time)"),), ((title, "n-5", target),)
    ]  # fmt: skip
    assert [wave.emptied for wave in part.waves] == [(home,), ()]


def test_without_an_order_no_node_is_said_to_be_empty(shop: Answer) -> None:
    stuck = replace(shop, order=Ordered(shop.order.waves[:1], {3: ("no room",)}))
    page = answer_page(shown(stuck))
    assert page.plan is not None
    assert [wave.emptied for wave in page.plan.waves] == [()]
    assert list(page.lists) == ["Nodes that would go"]
    assert "no order of moves was found" in page.numbers[0][1]


def test_numbers_say_what_is_proved(shop: Answer) -> None:
    approved([" | ".join(each) for each in answer_page(shown(shop)).numbers])


def test_warnings_stand_before_the_decision_and_no_proof_is_without_them(tmp_path: Path) -> None:
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


class Tags(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


NASTY = "<img src=x onerror=alert(1)>\"'\x1b[31m\u202e"


def test_names_of_others_are_text_and_nothing_else(tmp_path: Path) -> None:
    read = state(node("n-1"), node("n-2"), pod("a-1", "n-1"), pod("b-1", "n-2", owner=""))
    nodes = (
        replace(read.nodes[0], name=NASTY, labels={"node.kubernetes.io/instance-type": NASTY}),
        read.nodes[1],
    )
    pods = (replace(read.pods[0], name=NASTY, node=NASTY), replace(read.pods[1], reason=NASTY))
    read = replace(read, name=NASTY, nodes=nodes, pods=pods)
    found = advise(read)
    assert found.freed == (NASTY,)
    page = Tags(write_page(answer_page(shown(found)), tmp_path / "x.html", ["cotenant", NASTY]))
    assert {"img"}.isdisjoint(tag for tag, _ in page.tags)
    assert len([tag for tag, _ in page.tags if tag == "script"]) == 1
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text
    assert page.text.count(NASTY[:20]) > 8, "it stands in every place that names are in"


def test_money_stands_on_the_page_and_each_node_has_its_price(shop: Answer) -> None:
    nodes = tuple(
        replace(each, price=Fraction("0.384"), committed=each.name == "n-2")
        for each in shop.state.nodes
    )
    paid = replace(
        shop, state=replace(shop.state, nodes=nodes), frontier=(),
        cost=Proved(Fraction("1.92"), Fraction(2, 3), Fraction("1.92")), cost_now=Fraction("2.688"),
    )  # fmt: skip
    page = answer_page(shown(paid))
    approved([" | ".join(each) for each in page.numbers][:2])
    assert page.plan is not None
    details = {each.name: each.details for group in page.plan.groups for each in group.nodes}
    assert details["n-2"] == "a, 0.384, reserved"
    (table,) = next(part for part in page.parts if part.title == "What is proved").tables
    assert table.rows[0] == ("paid for nodes", "1.92", "0.6666", "1.92"), "a bound is rounded down"


@pytest.mark.parametrize(
    ("third", "paid"),
    [
        ({"price": Fraction(5), "committed": True}, ("5.4", "6.4")),
        ({"price": Fraction(0)}, ("0.4", "1.4")),
    ],
)
def test_the_frontier_is_in_the_money_that_the_plan_costs(
    third: dict[str, Any], paid: tuple[str, str]
) -> None:
    read = state(
        *(node(f"n{n}") for n in (1, 2, 3)), *(pod(f"a-{n}", f"n{n}", "2") for n in (1, 2, 3)),
        pod("c-1", "n3", "5", owner=""),
    )  # fmt: skip
    prices: tuple[dict[str, Any], ...] = ({"price": Fraction("0.4")}, {"price": Fraction(1)}, third)
    nodes = tuple(replace(each, **of) for each, of in zip(read.nodes, prices, strict=True))
    advice = advise(replace(read, nodes=nodes), time_limit=20, frontier=2)
    assert tuple(limit_words(advice, point) for point in advice.frontier) == paid
    assert advice.cost is not None
    assert advice.cost_now is not None
    assert (amount(advice.cost.value), amount(advice.cost_now)) == paid
    points = [point["limit"] for point in advice.document()["frontier"]]
    assert points == [*map(float, paid)]
    (chart,) = next(part for part in answer_page(shown(advice)).parts if part.pictures).pictures
    assert isinstance(chart.picture, Chart)
    assert chart.picture.series[0].x == tuple(map(float, paid))


@pytest.mark.parametrize("node_name", ["n-2", "n-6"])
def test_a_node_that_is_drained_has_a_page(node_name: str, tmp_path: Path) -> None:
    read = read_state(["state/shop"])
    found = drain(read, node_name, time_limit=20)
    page = answer_page(shown(found))
    text = Tags(write_page(page, tmp_path / "x.html")).text
    rows = (f"{title}: {what}" for title, what in page.parts[0].tables[0].rows)
    # moves are the fewest; of the nodes that are equally good for them any may be taken
    approved([*page.decision, *(re.sub(r"to n-\d", "to a node", row) for row in rows)])
    assert all(read.pods[n].title in text for n in found.pods)
    assert page.plan is not None
    after = [each.after[0] for group in page.plan.groups for each in group.nodes]
    assert all(fill is None or fill.ends[ARRIVES] == fill.ends[MOVES] for fill in after)


def test_the_fullest_come_first_and_freed_nodes_last() -> None:
    part = plan_part(advise(read_state(["state/shop"]), time_limit=20))
    fills: list[Fill | None] = part.sorted_fills(0, after=True)
    assert fills[-2:] == [None, None]
    shares = [fill.ends[-1] for fill in fills[:-2] if fill is not None]
    assert shares == sorted(shares, reverse=True)
    assert len(part.resources) <= 1 + MAX_RESOURCES


def test_the_command_writes_the_page_beside_its_answer(tmp_path: Path) -> None:
    read = tmp_path / "state.json"
    read.write_text(
        json.dumps(listed(node("n-1"), node("n-2"), pod("a-1", "n-1"), pod("b-1", "n-2")))
    )
    done = run("advise", "nodes", str(read), "--report", str(tmp_path / "page.html"))
    assert "free" in done.stdout
    assert "page.html written" in done.stderr
    assert "advise nodes" in (tmp_path / "page.html").read_text()
    taken = run("advise", "nodes", str(read), "--report", str(read))
    assert taken.returncode == 2
    approved(taken.stderr.replace(str(tmp_path), "FOLDER"))


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (("fit", "--shape", "cpu=3", "--replicas", "2"), {"where-they-go", "nodes", "moves"}),
        (("buy", "--types", "types.csv"), {"where-they-go", "what-to-buy"}),
        (("safe",), {"what-is-not-safe-or-is-not-known", "every-case"}),
        (("repair",), {"nodes", "moves"}),
        (("drain", "n-1"), {"nodes", "moves", "on-n-1"}),
        (("drain", "n-1", "n-2", "--surge", "1"), {"moves"}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_every_question_has_its_page(
    tmp_path: Path, question: tuple[str, ...], parts: set[str]
) -> None:
    (tmp_path / "types.csv").write_text("type,cpu,memory,price\nsmall,8,32Gi,0.1\n")
    together = {"labels": {"app": "a"}, "affinity": apart("a")}
    items = [node(f"n-{n}", "4") for n in (1, 2)]
    items += [pod(f"a-{n}", "n-1", **together) for n in (1, 2)] + [pod("b-1", "n-2")]
    if question[0] != "repair":
        items += [pod("c-1", cpu=3), pod("x-1", "n-2", "2", owner="")]
        items[2:4] = [pod(f"a-{n}", "n-1") for n in (1, 2)]
    if question[0] == "drain":
        items.append(node("n-3"))
    read, path = tmp_path / "state.json", tmp_path / "page.html"
    read.write_text(json.dumps(listed(*items)))
    name, *words = question
    others = [str(tmp_path / word) if word == "types.csv" else word for word in words]
    run("advise", name, str(read), *others, "--report", str(path))
    page = Tags(path)
    assert parts <= {attributes.get("id") for tag, attributes in page.tags if tag == "section"}
    assert any("warnings" in str(attributes.get("class")) for _, attributes in page.tags)


def test_every_field_of_a_plan_is_in_the_table_of_its_page(shop: Answer) -> None:
    page = (Path(__file__).parents[1] / "docs" / "howto" / "plan.md").read_text()
    named = set(re.findall(r"`([\w-]+)`", page.partition("The fields of")[2]))
    assert {field.name for field in fields(shop)} <= named
    assert {field.name for field in fields(shop.nodes)} <= named
    assert set(shop.document()["state"]) <= named

"""The page of advice as data and as HTML: nodes, waves, and names that stay text."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.advice_states import apart, listed, node, pod, state
from support.browser import Tags
from support.messages import approved
from support.terminal import run

from cotenant.analysis.report.page import Page, write_page
from cotenant.cluster.judge.order import Ordered
from cotenant.cluster.judge.scheduler_filters import Move
from cotenant.cluster.plan.answer import Answer, Proved
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.report.answers import shown
from cotenant.cluster.report.page import answer_page
from cotenant.cluster.report.text_report import LEAST_LINES, WIDTH
from cotenant.cluster.state.reading import read_state
from cotenant.cluster.state.state import StateWarning

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


def test_page_numbers_have_their_proof_status(shop: Answer) -> None:
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
def test_every_question_has_page_and_ten_lines_of_text(
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

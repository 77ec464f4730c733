"""What a state lacks and what is added to it: warnings, settings, prices."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.advice_states import budget, listed, node, pod
from support.advice_words import lines_of, written
from support.messages import approved, refused
from support.terminal import run

from cotenant.analysis.scheduling.audit import Judging
from cotenant.cli.advice_options import AdviceSettings
from cotenant.cli.arguments import read_settings
from cotenant.cli.comparing import ComparisonSettings
from cotenant.cli.fairness import ExitSettings
from cotenant.cluster.measure.settings import RareSettings
from cotenant.cluster.plan.drain import drain
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.report.emit import emit
from cotenant.cluster.run.settings import Settings as QueueSettings
from cotenant.cluster.state.completeness import CODES, accepted
from cotenant.cluster.state.reading import bundled_states, read_state
from cotenant.cluster.state.state import ClusterState
from cotenant.instances.problem.errors import InvalidFile, InvalidOption
from cotenant.instances.scheduling.accounts import Source

DATA = Path(__file__).resolve().parents[1] / "cluster" / "state" / "data"
SHOP = json.loads((DATA / "shop.json").read_text())


def codes(read: ClusterState) -> list[str]:
    return [each.code for each in read.warnings]


def words_of(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


@pytest.fixture
def one_namespace(tmp_path: Path) -> str:
    """The shop as somebody sees it who may list the pods of one namespace."""
    items = [
        item
        for item in SHOP["items"]
        if item["kind"] != "Pod" or item["metadata"]["namespace"] == "shop"
    ]
    return written(tmp_path, SHOP | {"items": items})


def whole(*items: dict[str, Any]) -> list[dict[str, Any]]:
    """Objects to which a DaemonSet's pod in kube-system and a budget are added."""
    own = pod("proxy-1", "n1", owner="DaemonSet", namespace="kube-system")
    return [*items, own, budget("b", "b", 1)]


def read_from(folder: Path, *items: dict[str, Any], **about: Any) -> ClusterState:
    return read_state([written(folder, listed(*items) | about)])


# is the file whole


@pytest.mark.parametrize("name", bundled_states())
def test_bundled_state_has_no_warnings(name: str) -> None:
    assert read_state([name]).warnings == ()


def test_warning_of_one_namespace_precedes_the_answer(one_namespace: str) -> None:
    read = read_state([one_namespace])
    assert codes(read) == ["one-namespace", "no-system-pods", "no-daemonsets"]
    advice = advise(read)
    lines = lines_of(advice)
    assert max(map(len, lines)) <= 80
    text = words_of(lines)
    approved(text)
    assert text.index("proved") == text.index("proved of the pods in this file")
    for document in (advice.document(), drain(read, "n-2").document()):
        assert [each["code"] for each in document["state"]["warnings"]] == codes(read)
    assert words_of(lines_of(drain(read, "n-2"))).startswith("warning: all 15 pods")


def test_strict_mode_answers_nothing_with_warnings(one_namespace: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    strict = ("--settings", written(tmp_path, "strict = true\n", "s.toml"))
    done = run("advise", "nodes", one_namespace, *strict, "--emit", "csv", "--plan", str(plan))
    assert (done.returncode, done.stdout, plan.exists()) == (1, "", False)
    approved(done.stderr)
    done = run("advise", "drain", one_namespace, "n-2", *strict)
    assert (done.returncode, done.stdout) == (1, "")
    whole = run("advise", "nodes", "state/shop", *strict, "--emit", "csv")
    assert (whole.returncode, whole.stdout[:5]) == (0, "wave,")


def test_accepted_warning_is_not_printed(one_namespace: str, tmp_path: Path) -> None:
    accept = 'strict = true\naccept = ["one-namespace", "no-system-pods", "no-daemonsets"]\n'
    path = written(tmp_path, accept, "s.toml")
    done = run("advise", "nodes", one_namespace, "--settings", path, "--json")
    assert (done.returncode, json.loads(done.stdout)["state"]["warnings"]) == (0, [])
    with refused(InvalidOption):
        accepted(read_state(["state/shop"]), ["no-namespace"])


def test_emitted_commands_begin_with_warnings(one_namespace: str) -> None:
    advice = advise(read_state([one_namespace]))
    lines = emit(advice, "kubectl").splitlines()
    assert all(line.startswith("# warning: ") for line in lines[:3])
    assert not lines[3].startswith("# warning")
    assert emit(advice, "csv").startswith("wave,")
    done = run("advise", "nodes", one_namespace, "--emit", "csv")
    assert done.stdout.startswith("wave,")
    assert "[one-namespace]" in done.stderr


def noted(item: dict[str, Any], metadata: dict[str, Any], **status: Any) -> dict[str, Any]:
    """An object with further metadata and status."""
    item["metadata"] |= metadata
    item["status"] |= status
    return item


def heard(time: str) -> list[dict[str, Any]]:
    """A state whose node has this last heartbeat."""
    found = node("n1")
    found["status"]["conditions"][0]["lastHeartbeatTime"] = time
    return whole(found, pod("a-1", "n1"))


AUTO = {"eks.amazonaws.com/compute-type": "auto"}
DNS = pod("dns-1", "n1", namespace="kube-system"), pod("a-1", "n2"), budget("b", "b", 1)
BUSY = noted(node("n2"), {}, volumesInUse=[f"kubernetes.io/csi/d^{n}" for n in range(4)])
CLAIMS = [{"persistentVolumeClaim": {"claimName": str(n)}} for n in range(3)]
HERE = whole(node("n1"), pod("a-1", "n1"), noted(budget("a", "a", 1), {}, expectedPods=3))
YESTERDAY = f"{datetime.now(UTC) - timedelta(hours=20):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    ("code", "items"),
    [
        ("", [node("n1", labels=AUTO), node("n2", labels=AUTO), *DNS]),
        ("no-daemonsets", [node("n1"), node("n2"), *DNS]),
        ("", whole(node("n1"), BUSY, pod("a-1", "n2", volumes=CLAIMS))),
        ("pods-per-node-too-few", whole(node("n1"), BUSY, pod("a-1", "n2", volumes=[{"configMap": {"name": "c"}}] * 9))),
        ("", HERE),
        ("namespaces-missing", [*HERE, noted(budget("web", "web", 1), {"namespace": "web"}, expectedPods=12)]),
        ("", heard(YESTERDAY)), ("", heard("yesterday")), ("", heard("2026-01-02T03:04:05")),
        ("stale", heard("2026-01-02T03:04:05Z")),
        ("no-requests", whole(node("n1"), pod("a-1", "n1", "", ""))),
        ("stale", [*HERE, noted(budget("b2", "a", 1), {"generation": 2}, observedGeneration=1)]),
    ],
)  # fmt: skip
def test_incomplete_state_has_its_warning(
    tmp_path: Path, code: str, items: list[dict[str, Any]]
) -> None:
    read = read_from(tmp_path, *items)
    assert codes(read) == [code] * bool(code)
    if code:
        approved(tuple(each.sentence for each in (*read.warnings, *read.assumptions)))


def test_truncated_list_gives_a_warning(tmp_path: Path) -> None:
    about = {"continue": "abc", "remainingItemCount": 337}
    read = read_from(tmp_path, *whole(node("n1"), pod("a-1", "n1")), metadata=about)
    assert [each.code for each in read.warnings] == ["truncated"]
    approved(f"{each.text}: {each.cure}" for each in read.warnings)


def test_every_warning_code_is_documented() -> None:
    page = (DATA.parents[2] / "docs" / "howto" / "whole.md").read_text()
    assert [code for code in CODES if f"| `{code}` |" not in page] == []


# settings


@pytest.mark.parametrize(
    "text", ['usage = "top.txt"\n', "cpu_ratio = 0\n", "accept = [1]\n", "strict\n"]
)
def test_settings_file_with_wrong_names_or_values_is_refused(tmp_path: Path, text: str) -> None:
    path = Path(written(tmp_path, text, "s.toml"))
    with refused(InvalidFile if text == "strict\n" else InvalidOption):
        read_settings(path, AdviceSettings)


def test_settings_of_every_command_are_documented() -> None:
    page = (Path(__file__).parents[1] / "docs/reference/commands.md").read_text()
    kinds = (
        ComparisonSettings,
        AdviceSettings,
        Source,
        Judging,
        ExitSettings,
        RareSettings,
        QueueSettings,
    )
    names = [field.name for kind in kinds for field in fields(kind)]
    assert [name for name in names if f"`{name}`" not in page] == []


# prices


TYPE = "node.kubernetes.io/instance-type"


def priced(folder: Path, table: str, *labels: dict[str, str]) -> list[Any]:
    """Prices of nodes with these labels."""
    nodes = [node(f"n{n}", labels=each) for n, each in enumerate(labels)]
    paths = [written(folder, listed(*nodes, pod("a-1", "n0")))]
    read = read_state(paths, prices=written(folder, table, "prices.csv"))
    return [each.price for each in read.nodes]


def test_prices_are_exact_and_matched_by_type(tmp_path: Path) -> None:
    table = "type,price\nm5,0.1\nc5,0.384\nt3,1e-3\n"
    found = priced(tmp_path, table, {TYPE: "m5"}, {"beta.kubernetes.io/instance-type": "c5"}, {TYPE: "t3"})  # fmt: skip
    assert found == [Fraction(1, 10), Fraction(48, 125), Fraction(1, 1000)]
    assert priced(tmp_path, "Type;Price\nm5;0,384\n", {TYPE: "m5"}) == [Fraction(48, 125)]


def test_prices_by_node_name_and_of_host_tables_are_read(tmp_path: Path) -> None:
    hosts = written(tmp_path, "name,cpu,price\nh1,8,0.25\nh2,8,1\n", "hosts.csv")
    machines = written(tmp_path, "name,host,cpu\na,h1,2\nb,h2,2\n", "vms.csv")
    assert [each.price for each in read_state([hosts, machines]).nodes] == [Fraction(1, 4), 1]
    table = written(tmp_path, "node,price\nh1,3\nh2,2\n", "prices.csv")
    read = read_state([hosts, machines], prices=table)
    assert [each.price for each in read.nodes] == [3, 2]


@pytest.mark.parametrize(
    "table",
    ["type,price\nm5,1\n", "node,price\nn0,1\n", "type,price\nm5,-1\n", "type,price\nm5,$1\n",
     "type,price\nm5,1e-99\n", "type,price\n,1\n", "type,price\nm5,1\nm5,2\n", "name,price\nm5,1\n",
     "type,price,capacity\nm5,1,flat\n", "type,price\n"],
)  # fmt: skip
def test_invalid_prices_are_refused(tmp_path: Path, table: str) -> None:
    with refused(InvalidFile):
        priced(tmp_path, table, {TYPE: "m5"}, {TYPE: "c5"}, {})


def test_prices_of_unused_types_are_noted(tmp_path: Path) -> None:
    table = written(
        tmp_path, "type,price\nm5,1\n" + "".join(f"x{n},1\n" for n in range(5)), "p.csv"
    )
    paths = [written(tmp_path, listed(*whole(node("n1", labels={TYPE: "m5"}), pod("a-1", "n1"))))]
    read = read_state(paths, prices=table)
    assert codes(read) == []
    approved(read.assumptions[0].text)
    control = node("n2", labels={"node-role.kubernetes.io/control-plane": ""})
    paths = [written(tmp_path, listed(node("n1", labels={TYPE: "m5"}), control, pod("a-1", "n1")))]
    assert [each.price for each in read_state(paths, prices=table).nodes] == [1, None]

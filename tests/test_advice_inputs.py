"""States of clusters as they are read (quantities, roles, other platforms, files that are none), what a
state lacks, and what is added to it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.advice_further import claim, uses, volume
from support.advice_states import budget, listed, node, pod, spread, state
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
from cotenant.cluster.state.state import ClusterState, Pod
from cotenant.instances.problem.errors import InvalidFile, InvalidOption, UnknownName
from cotenant.instances.problem.quantities import amount, as_written, quantity
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


def test_node_prices_are_exact_and_found_by_node_type(tmp_path: Path) -> None:
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


def test_prices_of_node_types_absent_from_cluster_are_noted(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("2", 2), ("+2", 2), ("1.5", Fraction(3, 2)), (".5", Fraction(1, 2)), ("3.", 3),
        ("500m", Fraction(1, 2)), ("100n", Fraction(1, 10**7)), ("7u", Fraction(7, 10**6)),
        ("2k", 2000), ("1M", 10**6), ("8G", 8 * 10**9), ("3T", 3 * 10**12), ("1P", 10**15),
        ("1E", 10**18), ("1Ki", 1024), ("1.5Mi", 3 * 2**19), ("2Gi", 2**31), ("1Ti", 2**40),
        ("1Pi", 2**50), ("1Ei", 2**60), ("1e3", 1000), ("1E3", 1000), ("25e-1", Fraction(5, 2)),
    ],
)  # fmt: skip
def test_kubernetes_quantities_are_exact_in_every_notation(text: str, value: Fraction) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize("text", ["", "1x", "m", "1 Gi", "1e", "0x10", "1KiB", "--1", "1ee3", "."])
def test_invalid_quantities_are_refused(text: str) -> None:
    with refused(ValueError, shown=text):
        quantity(text)


def test_float_and_equal_fraction_are_written_as_different_numbers() -> None:
    binary = Fraction(0.1)  # equal to the float 0.1, also as a key, and no tenth
    assert [as_written(binary), as_written(0.1)] == [binary, Fraction(1, 10)]
    as_written.cache_clear()
    assert [as_written(0.1), as_written(binary)] == [Fraction(1, 10), binary]


def test_amounts_are_rounded_up_like_kube_scheduler() -> None:
    assert amount(Fraction("0.0001"), "cpu") == 1
    assert amount(Fraction("0.25"), "cpu") == 250
    assert amount(Fraction("0.25"), "memory") == 1


def test_pods_get_roles_by_owner_and_node() -> None:
    read = state(
        node("n"), pod("a-1", "n"), pod("d-1", "n", owner="DaemonSet"), pod("bare", "n", owner=""),
        pod("m-1", "n", owner="Node"), pod("static", "n", owner="", annotations={"kubernetes.io/config.mirror": "x"}),
        pod("done-1", "n", owner="Job", phase="Succeeded"), pod("bad-1", "n", phase="Failed"), pod("new-1"),
        pod("safe-1", "n", annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}),
        pod("calm-1", "n", annotations={"karpenter.sh/do-not-disrupt": "true"}),
        *(pod(f"{n}-1", "n", annotations={f"cluster-autoscaler.kubernetes.io/{key}": value}) for n, (key, value) in enumerate(
            (("daemonset-pod", "true"), ("safe-to-evict", "on-completion"), ("safe-to-evict", "true")))),
    )  # fmt: skip
    assert [each.role.value for each in read.pods] == [
        "movable", "resident", "fixed", "resident", "resident", "finished", "finished", "pending",
        "fixed", "fixed", "resident", "fixed", "movable",
    ]  # fmt: skip


def read_pod(*others: dict[str, Any], **spec: Any) -> Pod:
    return state(node("n"), pod("p-1", "n", **spec), *others).pods[0]


@pytest.mark.parametrize(
    ("spec", "kind", "words"),
    [
        ({"workloadRef": {"name": "w"}}, "scheduler", "it is scheduled with a group"),
        ({"tolerations": [{"key": "k", "operator": "Gt", "value": "3"}]}, "tolerations", "a toleration by Gt"),
        ({"volumes": [{"name": "d", "ephemeral": {}}]}, "volumes", "an ephemeral volume: made anew where it goes"),
        ({"volumes": [{"name": "d", "cinder": {"volumeID": "x"}}]}, "volumes", "a cinder volume of its own"),
        ({"schedulingGates": [{"name": "g"}]}, "gates", "it waits for a scheduling gate"),
    ],
)  # fmt: skip
def test_unmodelled_constraints_are_named(spec: dict[str, Any], kind: str, words: str) -> None:
    assert read_pod(**spec).unsupported_constraints == ((kind, words),)


def test_partly_known_volumes_pin_their_pods() -> None:
    disk = volume("pv", gcePersistentDisk={"pdName": "x"})
    read = read_pod(disk, claim("c", "pv"), **uses("c"))
    approved(str(read.unsupported_constraints))
    going = claim("c", "pv")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    read = read_pod(volume("pv"), going, **uses("c"))
    approved(str(read.unsupported_constraints))


def test_disruption_budget_with_outdated_status_allows_no_eviction() -> None:
    one = budget("b", "a", 3)
    one["metadata"]["generation"], one["status"]["observedGeneration"] = 2, 1
    assert state(*GOOD, one).budgets[0].allowed == 0
    one["status"]["observedGeneration"] = 2
    assert state(*GOOD, one).budgets[0].allowed == 3


def test_node_annotations_and_gated_pods_are_noted() -> None:
    kept = node("n2")
    kept["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    waiting = pod("w-1")
    waiting["status"]["nominatedNodeName"] = "n2"
    read = state(
        node("n1"), kept, pod("a-1", "n1"), waiting, pod("g-1", schedulingGates=[{"name": "g"}])
    )
    approved(tuple(each.sentence for each in (*read.warnings, *read.assumptions)))


def test_several_files_are_one_state_and_gz_and_stdin_are_read(tmp_path: Path) -> None:
    content = listed(node("n"), pod("a-1", "n"))
    whole, first, second = (
        tmp_path / name for name in ("state.json.gz", "nodes.json", "pods.json")
    )
    whole.write_bytes(gzip.compress(json.dumps(content).encode()))
    bare = {key: value for key, value in node("n").items() if key != "kind"}
    first.write_text(json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [bare]}))
    second.write_text(json.dumps(listed(pod("a-1", "n"))))
    assert read_state([str(whole)]).pods == read_state([str(first), str(second)]).pods
    assert read_state(["state/shop"]).nodes[0].name == "cp-1"
    assert bundled_states() == ["state/shop", "state/training"]
    with refused(UnknownName):
        read_state(["state/shopp"])


GOOD = (node("n"), pod("a-1", "n"))


@pytest.mark.parametrize(
    "content",
    [
        listed(pod("a-1", "n")), listed(node("n")), listed(node("n"), pod("a-1", "m")),
        *(listed(*GOOD, each) for each in (
            pod("b-1", "n", cpu="1x"), pod("b-1", "n", cpu="-1"), pod("b-1", "n", memory="99E"), node("n"), pod("a-1", "n"),
            {"kind": "Pod", "metadata": {}}, pod("b-1", "n", labels={"app": 3}), pod("b-1", "n", affinity=[]),
            pod("b-1", "n", topologySpreadConstraints=spread("a", 0)),
        )),
        listed({**node("n"), "status": {}}, pod("a-1", "n")), {"apiVersion": "v1", "kind": "List"},
        {"apiVersion": "v1", "kind": "List", "items": [3]}, {"cotenant": 1, "problem": "market"}, {"a": 1}, [], 3,
        "apiVersion: v1\nkind: List\nitems: []\n", "---\napiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Node\n",
        "# of today, all\n---\nkind: Pod\n--- \nkind: Pod\n", "kind: Pod  # one, two\n", "NAMESPACE   NAME   READY\nshop   web-1   1/1\n",
        listed({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        listed(node("n1"), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}), listed(),
        {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}, "hello\n",
    ],
)  # fmt: skip
def test_file_without_state_is_refused_in_one_line(tmp_path: Path, content: Any) -> None:
    with refused(InvalidFile) as caught:
        read_state([written(tmp_path, content)])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["--all", "-A", "a b", ".", "..", "a..b", "a-", "a.-b"])
def test_invalid_object_names_are_refused(tmp_path: Path, name: str) -> None:
    spaced = pod("b-1", "n") | {"metadata": {"name": "b-1", "namespace": name}}
    for each in (node(name), pod(name, "n"), spaced):
        with refused(InvalidFile, shown=name):
            read_state([written(tmp_path, listed(*GOOD, each))])


def test_truncated_or_too_large_state_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps(listed(*GOOD))
    for content in (text[:-40], "\n"):
        with refused(InvalidFile):
            read_state([written(tmp_path, content)])
    monkeypatch.setenv("COTENANT_FILE_LIMIT", "100B")
    with refused(InvalidFile):
        read_state([written(tmp_path, text)])


def test_state_given_as_instance_is_named_in_error(tmp_path: Path) -> None:
    done = run("solve", written(tmp_path, listed(*GOOD)), "-m", "FFD")
    assert done.returncode == 2
    approved(done.stderr)


def test_plan_csv_cells_are_not_formulas(tmp_path: Path) -> None:
    hosts, vms = tmp_path / "hosts.csv", tmp_path / "vms.csv"
    hosts.write_text("name,cpu\n=cmd|'/C calc'!A0,8\n@SUM(1),8\n")
    vms.write_text(
        "name,host,cpu\n+1+1,@SUM(1),2\n-3,=cmd|'/C calc'!A0,1\n-4,=cmd|'/C calc'!A0,1\n"
    )
    done = run("advise", "nodes", str(hosts), str(vms), "--emit", "csv")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[1:] == [["1", "", "'+1+1", "'@SUM(1)", "'=cmd|'/C calc'!A0", "0"]]


def test_tables_of_hosts_and_vms_are_read(tmp_path: Path) -> None:
    hosts, vms = tmp_path / "hosts.csv", tmp_path / "vms.csv"
    hosts.write_text("name,zone,cpu,mem\nh1,a,8,32\nh2,a,8,32\nh3,b,8,32\n")
    vms.write_text(
        "name,host,group,zone,stays,cpu,mem\nw1,h1,web,,,1.5,4\nw2,h2,web,,,1.5,4\nd,h3,,b,no,2,8\ne,h1,,,yes,1,1\n"
    )
    read = read_state([str(vms), str(hosts)])
    assert [each.requests["cpu"] for each in read.pods] == [1500_000, 1500_000, 2 * 10**6, 10**6]
    assert read.nodes[0].labels == {"host": "h1", "zone": "a"}
    done = run("advise", "nodes", str(vms), str(hosts), "--emit", "csv")
    # of a group no host holds two: h1 keeps the one that stays, h3 the one of its zone
    assert done.stdout == "wave,namespace,name,from,to,temporary\n1,,w2,h2,h3,0\n"
    refused_form = run("advise", "nodes", str(vms), str(hosts), "--emit", "kubectl")
    assert refused_form.returncode == 2
    approved(refused_form.stderr)
    for old, new in (
        ("d,h3", "d,h9"), ("2,8", "2,x"), ("2,8", "0,0"), (",no,", ",maybe,"), ("w2,", "w1,"),
        ("cpu,mem\n", "cpu,disk\n"), ("2,8", "0.0000001,8"),
    ):  # fmt: skip
        broken = written(tmp_path, vms.read_text().replace(old, new), "broken.csv")
        with refused(InvalidFile):
            read_state([broken, str(hosts)])
    with refused(InvalidFile):
        read_state([str(vms)])
    with refused(InvalidFile):
        read_state([str(vms), "state/shop"])

"""States of clusters as they are read: quantities, what the scheduler counts, roles, other platforms,
and every file that is none.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.advice_further import claim, uses, volume
from support.advice_states import budget, listed, node, pod, spread, state
from support.messages import approved, refused
from support.terminal import run

from cotenant.cluster.state.reading import bundled_states, read_state
from cotenant.cluster.state.state import Pod
from cotenant.instances.problem.errors import InvalidFile, UnknownName
from cotenant.instances.problem.quantities import amount, as_written, quantity


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
def test_quantities_in_every_form_are_exact(text: str, value: Fraction) -> None:
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
    path = tmp_path / "state.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with refused(InvalidFile) as caught:
        read_state([str(path)])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["--all", "-A", "a b", ".", "..", "a..b", "a-", "a.-b"])
def test_invalid_object_names_are_refused(tmp_path: Path, name: str) -> None:
    spaced = pod("b-1", "n") | {"metadata": {"name": "b-1", "namespace": name}}
    for each in (node(name), pod(name, "n"), spaced):
        path = tmp_path / "state.json"
        path.write_text(json.dumps(listed(*GOOD, each)))
        with refused(InvalidFile, shown=name):
            read_state([str(path)])


def test_truncated_or_too_large_state_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.json"
    text = json.dumps(listed(*GOOD))
    path.write_text(text[:-40])
    with refused(InvalidFile):
        read_state([str(path)])
    path.write_text("\n")
    with refused(InvalidFile):
        read_state([str(path)])
    path.write_text(text)
    monkeypatch.setenv("COTENANT_FILE_LIMIT", "100B")
    with refused(InvalidFile):
        read_state([str(path)])


def test_state_given_as_instance_is_named_in_error(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(listed(*GOOD)))
    done = run("solve", str(path), "-m", "FFD")
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
        broken = tmp_path / "broken.csv"
        broken.write_text(vms.read_text().replace(old, new))
        with refused(InvalidFile):
            read_state([str(broken), str(hosts)])
    with refused(InvalidFile):
        read_state([str(vms)])
    with refused(InvalidFile):
        read_state([str(vms), "state/shop"])

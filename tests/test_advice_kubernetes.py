"""Advice on the live cluster by kubectl, and what API server and scheduler make of a state."""

from __future__ import annotations

import gzip
import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.advice_further import claim, csi_node, uses, volume
from support.advice_states import HOST, ZONE, listed, node, pod, spread, state
from support.advice_words import lines_of, written
from support.fake_api import serving
from support.measured import DATA
from support.messages import approved, refused
from support.terminal import run

from cotenant.cli.kubectl import RESOURCES, main
from cotenant.cluster.judge.scheduler_filters import Scheduler
from cotenant.cluster.plan.buy import buy
from cotenant.cluster.plan.drain import drain
from cotenant.cluster.plan.fit import fit
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.report.emit import FREED, emit
from cotenant.cluster.state.fields import Fields
from cotenant.cluster.state.kubernetes import kubernetes_state, requests_of
from cotenant.cluster.state.node_types import daemon_pods, read_types
from cotenant.cluster.state.reading import read_state
from cotenant.cluster.state.state import ClusterState
from cotenant.instances.problem.errors import InvalidFile
from cotenant.solvers.compiled import cache_folder

# requests


def container(name: str = "c", **resources: Any) -> dict[str, Any]:
    return {"name": name, "resources": resources}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container(limits={"cpu": "5"})]}, 5000),
        ({"containers": [container(limits={"cpu": "5"}, requests={"cpu": "1"})]}, 1000),
        ({"containers": [container(limits={"cpu": "5"}, requests={"cpu": "0"})]}, None),
        ({"initContainers": [container(limits={"cpu": "5"})],
          "containers": [container("d", requests={"cpu": "1"})]}, 5000),
        # the pod's own limit is its request, where no container has one
        ({"resources": {"limits": {"cpu": "3"}}, "containers": [container()]}, 3000),
        ({"resources": {"limits": {"cpu": "3"}}, "containers": [container(requests={"cpu": "1"})]},
         1000),
        ({"resources": {"limits": {"cpu": "3"}}, "containers": [container(limits={"cpu": "2"})]},
         2000),
        ({"resources": {"limits": {"cpu": "3"}}, "containers": [container(requests={"cpu": "0"})]},
         None),
        ({"resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "2"}},
          "containers": [container(requests={"cpu": "1"})]}, 2000),
    ],
)  # fmt: skip
def test_missing_request_defaults_to_limit(spec: dict[str, Any], cpu: int | None) -> None:
    assert requests_of(Fields(spec, "x"), Fields({}, "x")).get("cpu") == cpu


# volumes


IN_TREE = [
    ("awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
]


@pytest.mark.slow
@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize(("kind", "plugin", "driver"), IN_TREE)
def test_migrated_volume_counts_toward_csi_driver_limit(
    kind: str, plugin: str, driver: str, inline: bool
) -> None:
    """n1 may have one volume of the driver, and has it; another pod with one does not fit there."""
    old = {"volumes": [{"name": "v", kind: {}}]} if inline else uses("c1")
    items = [
        node("n1", 4), pod("a-1", "n1", **old), pod("b-1", **uses("c2")),
        claim("c1", "v1"), claim("c2", "v2"),
        volume("v1", **{kind: {}}), volume("v2", csi={"driver": driver}),
    ]  # fmt: skip
    read = state(*items, csi_node("n1", driver, 1, plugin))
    assert not fit(read).arrivals
    assert not advise(read).arrivals
    # kube-scheduler itself does not count vSphere's, nor where a node does not say that it migrates
    assert fit(read).fits.bound == (kind == "vsphereVolume")
    assert fit(state(*items, csi_node("n1", driver, 1))).status is None


# what the filters decide


def storage_class(**fields: Any) -> dict[str, Any]:
    return {"kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "d",
            "volumeBindingMode": "WaitForFirstConsumer"} | fields  # fmt: skip


ZONES = [node(f"n{zone}", 4, zone=zone) for zone in "abc"]
IN_A = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]


def test_unbound_volume_claim_fits_where_its_storage_class_allows() -> None:
    asks = pod("x-1", **uses("c")), claim("c", storageClassName="s")
    found = fit(state(*ZONES, pod("w-1", "nb"), *asks, storage_class()))
    assert found.status
    assert any("claim shop/c" in line for line in lines_of(found))
    found = fit(state(*ZONES, pod("w-1", "nb"), *asks, storage_class(allowedTopologies=IN_A)))
    assert [*found.arrivals.values()] == ["na"]
    # its one node has no room for another volume
    full = csi_node("na", "d", 0)
    found = fit(state(*ZONES, pod("w-1", "nb"), *asks, storage_class(allowedTopologies=IN_A), full))
    assert found.status is False


@pytest.mark.parametrize(
    "fields", [{"volumeBindingMode": "Immediate"}, {"provisioner": "kubernetes.io/no-provisioner"}]
)
def test_fit_is_undecided_if_volume_provisioning_is_unknown(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    items = [*ZONES, pod("w-1", "nb"), pod("x-1", **uses("c")), claim("c", storageClassName="s"),
             storage_class(**fields)]  # fmt: skip
    found = fit(state(*items))
    assert found.status is None
    assert any(line.startswith("not known: 0") for line in lines_of(found))
    assert any("on 3 nodes:" in line for line in lines_of(found))
    done = run("advise", "fit", written(tmp_path, listed(*items), "s.json"), "--json")
    assert (done.returncode, json.loads(done.stdout).get("status")) == (3, None)


def test_namespace_selector_matches_namespace_labels() -> None:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}},
            "namespaceSelector": {"matchLabels": {"team": "x"}}}  # fmt: skip
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    items = [node("n1", 4), pod("web-1", "n1", labels={"app": "web"}), pod("a-1", affinity=rule)]
    assert fit(state(*items)).status is None

    def space(team: str) -> dict[str, Any]:
        return {"kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": team}}}

    assert fit(state(*items, space("x"))).status is False
    assert fit(state(*items, space("y"))).status is True


# who moves


def owned(kind: str, version: str, name: str = "x-1", on: str = "n1") -> dict[str, Any]:
    item = pod(name, on, owner=kind)
    item["metadata"]["ownerReferences"][0]["apiVersion"] = version
    return item


@pytest.mark.parametrize(
    ("kind", "version", "moves"),
    [("ReplicaSet", "apps/v1", True), ("Job", "batch/v1", True), ("StatefulSet", "apps/v1", True),
     ("InstanceManager", "longhorn.io/v1beta2", False),
     ("StatefulSet", "apps.kruise.io/v1beta1", False)],
)  # fmt: skip
def test_pods_of_other_controllers_stay_unless_released(
    kind: str, version: str, moves: bool
) -> None:
    pods = [owned(kind, version), pod("y-1", "n2", nodeSelector={HOST: "n2"})]
    read = state(node("n1", 4), node("n2", 4), *pods)
    assert bool(advise(read).targets) == moves
    assert len(advise(read, released=["owner"]).targets) == 1


def test_moved_pods_with_autoscaler_obstacles_are_named() -> None:
    """On the default screen and in what is emitted: files in emptyDir are lost."""
    items = [
        node("n1", 4), node("n2", 4), pod("y-1", "n2", "2", nodeSelector={HOST: "n2"}),
        pod("e-1", "n1", volumes=[{"name": "v", "emptyDir": {}}]),
        pod("s-1", "n1", namespace="kube-system"),
    ]  # fmt: skip
    advice = advise(state(*items))
    words = "would not evict by default: 1 with emptyDir (what is in it is lost), 1 of kube-system"
    assert words in " ".join(" ".join(lines_of(advice)).split())
    assert words in emit(advice, "kubectl")
    assert words in " ".join(" ".join(lines_of(drain(advice.state, "n1"))).split())


# nothing moves


def test_state_without_movable_pods_reports_idle_nodes(tmp_path: Path) -> None:
    nodes = [node(f"n{n}", 4) for n in range(3)]
    items = [*nodes, *[pod(f"d-{n}", f"n{n}", owner="DaemonSet") for n in range(3)]]
    read = state(*items)
    advice = advise(read)
    assert (advice.in_use, len(advice.idle), advice.proved) == ((), 3, True)
    assert any("3 idle" in line for line in lines_of(advice))
    found = drain(read, "n1")
    assert found.status
    assert any(line.startswith("n1 is empty") for line in lines_of(found))
    path = written(tmp_path, listed(*items), "s.json")
    page = str(tmp_path / "page.html")
    assert run("advise", "nodes", path, "--report", page, "--json").returncode == 0


# priorities, further forms of files


def test_preemption_by_priority_is_reported() -> None:
    low, high = pod("a-1", "n1", "3"), pod("b-1", "", "3", priority=1000)
    assert any("higher priority" in line for line in lines_of(fit(state(node("n1", 4), low, high))))
    same = pod("b-1", "", "3")
    assert not any("priority" in line for line in lines_of(fit(state(node("n1", 4), low, same))))


@pytest.mark.parametrize("one_list", [True, False])
def test_yaml_state_equals_json_state(tmp_path: Path, one_list: bool) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    items = [node("n1", 4), node("n2", 4), pod("a-1", "n1")]
    text = yaml.dump(listed(*items)) if one_list else yaml.dump_all(items)
    read = read_state([written(tmp_path, text, "s.yaml")])
    assert (read.nodes, read.pods) == (state(*items).nodes, state(*items).pods)


def daemon_set(**spec: Any) -> dict[str, Any]:
    inner = {"containers": [container(requests={"cpu": "1"})]} | spec
    return {"kind": "DaemonSet", "metadata": {"name": "log"}, "spec": {"template": {"spec": inner}}}


def test_added_daemon_set_has_pod_on_each_admitting_node(tmp_path: Path) -> None:
    """Also on a cordoned one, not on one with another taint; new nodes have one too."""
    dear = [{"key": "dear", "effect": "NoSchedule"}]
    items = [node("n1", 4), node("n2", 4, unschedulable=True), node("n3", 4, taints=dear),
             pod("a-1", "n1")]  # fmt: skip
    path = written(tmp_path, listed(*items), "s.json")
    read = read_state([path], added=written(tmp_path, daemon_set(), "d.json"))
    assert {*fit(read).arrivals.values()} == {"n1", "n2"}
    assert fit(read).status
    assert [each.requests["cpu"] for each in daemon_pods(read)] == [1000]
    with refused(InvalidFile):
        read_state([], added=written(tmp_path, daemon_set(), "d.json"))
    spec = daemon_set(runtimeClassName="gvisor")
    assert read_state([path], added=written(tmp_path, spec, "d.json")).ignored == {
        "RuntimeClass": 1
    }


@pytest.mark.slow
def test_buy_adds_nodes_until_min_domains_is_met(tmp_path: Path) -> None:
    """12 pods on 3 domains at least; the old node holds one, so that none has more than two."""
    types = written(tmp_path, "type,cpu,memory,pods,price\nt,1,5000Mi,10,1\n", "t.csv")
    rule = {"labels": {"app": "w"}, "topologySpreadConstraints": spread("w", 1, HOST, minDomains=3)}
    pods = [pod(f"w-{n}", "", "20m", "100Mi", **rule) for n in range(12)]
    read = state(node("old", "100m", "100Mi"), *pods)
    for given, number in ((read, 6), (replace(read, nodes=()), 3)):
        found = buy(given, read_types(given, types))
        assert (found.bought, len(found.arrivals)) == ({"t": number}, 12)


VERDICTS = DATA / "cases" / "clusters" / "scheduler-verdicts.jsonl.gz"


def verdicts(read: ClusterState, name: str) -> dict[str, bool | None]:
    """Whether each node takes a pod; None where a constraint that is not read decides."""
    scheduler = Scheduler(read)
    number = next(n for n, pod in enumerate(read.pods) if pod.name == name)
    loose = any(
        term.has_unsupported_selector
        for pod in read.pods
        for term in (*pod.pod_anti_affinity, *pod.pod_affinity)
    )
    unsure = {"anti-affinity", "affinity"} if loose else set[str]()
    found: dict[str, bool | None] = {}
    for each in read.nodes:
        why = scheduler.refusals(number, each.name)
        open_ = None if read.pods[number].undecided else True
        found[each.name] = open_ if not why else False if set(why) - unsure else None
    return found


@pytest.mark.slow
@pytest.mark.skipif(not VERDICTS.is_file(), reason="no verdicts of kube-scheduler in COTENANT_DATA")
def test_filters_agree_with_kube_scheduler_verdicts() -> None:
    tally: Counter[str] = Counter()
    with gzip.open(VERDICTS, "rt", encoding="utf-8") as lines:
        for line in lines:
            case: dict[str, Any] = json.loads(line)
            read = kubernetes_state({"state.json": case["state"]})
            found = verdicts(read, case["pod"])
            assert all(found[name] in (takes, None) for name, takes in case["takes"].items())
            if None not in found.values():
                tally["equal"] += 1
            elif "namespaceSelector" in line:
                tally["not known: namespaceSelector"] += 1
            else:
                tally["not known"] += 1
    assert tally["not known"] == 0
    assert tally["equal"] >= 392, tally
    assert sum(tally.values()) == 400


ROOT = Path(__file__).resolve().parents[1]
SHOP = json.loads((ROOT / "cluster" / "state" / "data" / "shop.json").read_text())
PAGE = (ROOT / "docs" / "howto" / "kubectl.md").read_text()


PLUGIN = [sys.executable, "-c", "from cotenant.cli.kubectl import main; main()"]


def plugin(
    *arguments: str, home: Path, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    """What `kubectl cotenant ARGUMENTS` prints, with programs of some folders alone."""
    places = os.environ["PATH"] if path is None else path
    folder = cache_folder()
    kernels = {} if folder is None else {"XDG_CACHE_HOME": str(folder.parents[2])}
    return subprocess.run(
        [*PLUGIN, *arguments], capture_output=True, text=True, check=False, timeout=120,
        env={
            **os.environ, "HOME": str(home), "KUBECONFIG": str(home / "none"), "PATH": places,
        } | kernels,
    )  # fmt: skip


def fake_kubectl(folder: Path, program: str) -> str:
    """A folder with a kubectl that writes down its arguments."""
    script = folder / "kubectl"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{folder}/arguments"\n{program}\n')
    script.chmod(0o755)
    return str(folder)


def config_of(folder: Path, address: str) -> str:
    """A kubeconfig with two contexts, of which the second one leads to the server."""
    servers = {"away": "http://127.0.0.1:1", "shop": address}
    clusters = [{"name": n, "cluster": {"server": to}} for n, to in servers.items()]
    contexts = [{"name": n, "context": {"cluster": n, "user": ""}} for n in servers]
    content = {"apiVersion": "v1", "kind": "Config", "current-context": "away",
               "clusters": clusters, "contexts": contexts}  # fmt: skip
    path = folder / "config"
    path.write_text(json.dumps(content))
    return str(path)


@pytest.mark.slow
def test_kubectl_plugin_forwards_arguments(tmp_path: Path) -> None:
    places = fake_kubectl(tmp_path, f"/bin/cat {ROOT}/cluster/state/data/shop.json")
    line = ["drain", "n-6", "--context", "a b", "--json", "--kubeconfig=c", "--details"]
    done = plugin(*line, home=tmp_path, path=places)
    assert (tmp_path / "arguments").read_text().splitlines() == [
        "get", RESOURCES, "-A", "-o", "json", "--context", "a b", "--kubeconfig", "c",
    ]  # fmt: skip
    ours = run("advise", "drain", "state/shop", "n-6", "--json", "--details")
    assert done.returncode == 1
    assert json.loads(done.stdout)["why_not"] == json.loads(ours.stdout)["why_not"]


needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not installed (Debian: kubernetes-client)"
)


@pytest.mark.slow
@needs_kubectl
def test_the_real_kubectl_lists_a_cluster(tmp_path: Path) -> None:
    with serving(SHOP["items"]) as address:
        flags = ("--kubeconfig", config_of(tmp_path, address), "--context", "shop")
        done = plugin("nodes", *flags, "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (len(found["in_use"]), found["nodes"]["value"]) == (6, 4)


@needs_kubectl
def test_emitted_commands_are_accepted_by_kubectl(tmp_path: Path) -> None:
    text = run("advise", "nodes", "state/shop", "--emit", "kubectl").stdout
    by_name = {(item["kind"], item["metadata"]["name"]): item for item in SHOP["items"]}
    labels = [shlex.split(line) for line in text.splitlines() if line.startswith("kubectl label")]
    assert labels
    for words in labels:
        node = json.dumps(by_name["Node", words[3]])
        command = ["kubectl", "label", "--local", "-f", "-", *words[4:], "-o", "json"]
        env = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
        done = subprocess.run(command, input=node, env=env, capture_output=True, text=True)
        assert json.loads(done.stdout)["metadata"]["labels"][FREED] == "true", done.stderr
    evictions = re.findall(r"^echo (.*) \| kubectl create --raw (\S+) -f -$", text, re.MULTILINE)
    assert len(evictions) == 8
    for body, path in evictions:
        name = json.loads(shlex.split(body)[0])["metadata"]["name"]
        assert path.endswith(f"/pods/{name}/eviction")
        assert ("Pod", name) in by_name


@pytest.mark.slow
@needs_kubectl
def test_kubectl_without_permission_names_the_rights(tmp_path: Path) -> None:
    with serving(SHOP["items"], forbidden="persistentvolumes") as address:
        flags = ("--kubeconfig", config_of(tmp_path, address), "--context", "shop")
        done = plugin("nodes", *flags, home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "(Forbidden)" in done.stderr
    approved(done.stderr.splitlines()[-1])


@pytest.mark.slow
def test_failing_or_missing_kubectl_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = plugin("nodes", home=tmp_path, path=str(tmp_path / "empty"))
    assert (done.returncode, done.stdout) == (2, "")
    approved(done.stderr)
    places = fake_kubectl(tmp_path, 'echo "{}"; echo "no such context" >&2; exit 7')
    done = plugin("nodes", "--context", "$(x)", home=tmp_path, path=places)
    assert (done.returncode, done.stdout) == (7, "")
    approved(done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("last", [["--context"], ["--context", ""], ["--kubeconfig="]])
def test_empty_kubectl_context_is_refused(tmp_path: Path, last: list[str]) -> None:
    done = plugin("nodes", *last, home=tmp_path, path=fake_kubectl(tmp_path, "exit 7"))
    assert (done.returncode, (tmp_path / "arguments").exists()) == (2, False)
    approved(done.stderr)


@pytest.mark.slow
def test_invalid_kubectl_plugin_arguments_contact_no_cluster(tmp_path: Path) -> None:
    places = fake_kubectl(tmp_path, "exit 7")
    for arguments, code in (((), 2), (("trees", "x"), 2), (("--help",), 0)):
        done = plugin(*arguments, home=tmp_path, path=places)
        assert (done.returncode, done.stdout) == (code, "")
        assert max(map(len, done.stderr.splitlines())) <= 80
        assert {"nodes,", "drain"} <= set(done.stderr.replace("drain,", "drain").split())
    done = plugin("drain", "--help", home=tmp_path, path=places)
    assert (done.returncode, "--release" in done.stdout) == (0, True)
    assert not (tmp_path / "arguments").exists()


def test_kubectl_finds_the_plugin() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert pkgutil.resolve_name(scripts["kubectl-cotenant"]) is main


def test_documented_cluster_role_grants_exactly_the_kinds_that_kubectl_lists() -> None:
    yaml = pytest.importorskip("yaml", reason="it is not installed")
    documents = [
        each
        for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
        for each in yaml.safe_load_all(block)
    ]
    by_kind = {each["kind"]: each for each in documents if "kind" in each}
    rules = by_kind["ClusterRole"]["rules"]
    assert [rule["verbs"] for rule in rules] == [["get", "list"]] * len(rules)
    short = {
        "poddisruptionbudgets": "pdb", "persistentvolumes": "pv", "persistentvolumeclaims": "pvc",
        "storageclasses": "sc", "namespaces": "ns",
    }  # fmt: skip
    granted = {short.get(name, name) for rule in rules for name in rule["resources"]}
    assert granted == set(RESOURCES.split(","))
    job = by_kind["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    account = by_kind["ServiceAccount"]["metadata"]
    (subject,) = by_kind["ClusterRoleBinding"]["subjects"]
    assert job["serviceAccountName"] == account["name"] == subject["name"]
    assert subject["namespace"] == account["namespace"]
    (container,) = job["containers"]
    options = [word for word in container["command"][-1].split() if word.startswith("--")]
    known = run("advise", "nodes", "--help").stdout
    assert options
    assert [word for word in options if word.partition("=")[0] not in known] == []
    mounts = {each["name"] for each in container["volumeMounts"]}
    assert mounts == {each["name"] for each in job["volumes"]}

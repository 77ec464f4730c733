"""Room for pods that are not there yet: now, after moves, with new nodes; and what to buy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.advice_states import listed, node, pod, state
from support.advice_words import lines_of, most_after, written
from support.messages import approved, refused
from support.terminal import run

from cotenant.cluster.plan.buy import buy
from cotenant.cluster.plan.fit import fit
from cotenant.cluster.state.new_pods import new_pods, with_shape
from cotenant.cluster.state.node_types import read_types, type_like
from cotenant.cluster.state.reading import read_state
from cotenant.cluster.state.state import ClusterState, Role
from cotenant.instances.problem.errors import InvalidFile, InvalidInstance, InvalidOption

WEB = """apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeName: forgotten
      containers:
      - name: main
        resources: {requests: {cpu: 2, memory: 1Gi}}
"""
TYPES = "type,cpu,memory,price\nsmall,2,8Gi,0.1\nlarge,4,16Gi,0.19\n"


def two_nodes(*more: dict[str, Any]) -> ClusterState:
    """Two nodes of 4 CPUs, each with a pod of 1, and pods that wait."""
    return state(node("n1", 4), node("n2", 4), pod("a-1", "n1"), pod("b-1", "n2"), *more)


# pods that are added


def test_manifest_pods_are_read_as_pending_pods(tmp_path: Path) -> None:
    given = listed(node("n1", 8), pod("a-1", "n1"))
    read = read_state(
        [written(tmp_path, given, "s.json")], added=written(tmp_path, WEB, "web.yaml")
    )
    new = [each for each in read.pods if each.role is Role.PENDING]
    assert [each.title for each in new] == [f"shop/web-new-{n}" for n in (1, 2, 3)]
    assert {each.owner for each in new} == {("Deployment", "web")}
    assert new[0].requests == {"cpu": 2000, "memory": 2**30, "pods": 1}
    assert new[0].labels["app"] == "web"
    assert len(fit(read).arrivals) == 3
    assert read.ignored == {"Rollout": 1}


@pytest.mark.parametrize(
    ("kind", "spec", "number"),
    [("Job", {"parallelism": 4, "completions": 2}, 2), ("Job", {}, 1), ("StatefulSet", {"replicas": 2}, 2),
     ("ReplicaSet", {}, 1), ("Pod", {}, 1)],
)  # fmt: skip
def test_each_workload_kind_has_its_replicas(
    tmp_path: Path, kind: str, spec: dict[str, Any], number: int
) -> None:
    inner = {"containers": [{"name": "main"}]}
    spec = inner if kind == "Pod" else {**spec, "template": {"spec": inner}}
    item = {"kind": kind, "metadata": {"name": "x"}, "spec": spec}
    path = written(tmp_path, listed(item), "x.json")
    assert len(new_pods(path)["items"]) == number
    assert len(new_pods(path, replicas=7)["items"]) == 7


def test_volumes_of_added_stateful_set_are_unknown(tmp_path: Path) -> None:
    spec = {
        "template": {"spec": {"containers": [{"name": "main"}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
    }
    item = {"kind": "StatefulSet", "metadata": {"name": "pg"}, "spec": spec}
    paths = [written(tmp_path, listed(node("n1"), pod("a-1", "n1")), "s.json")]
    read = read_state(paths, added=written(tmp_path, item, "pg.json"))
    found = fit(read)
    assert not found.status
    approved(lines_of(found))
    assert fit(read, released=["volumes"]).status


EMPTY = {"kind": "Deployment", "metadata": {"name": "x"}, "spec": {"template": {"spec": {}}}}


@pytest.mark.parametrize(
    "content",
    [{"kind": "Service"}, {"kind": "DaemonSet"}, {"kind": "CronJob"}, EMPTY, {"kind": "Pod"}, {"items": []}, "a: &a 1\nb: *a",
     "{", "a: [", "- 1", "kind: Deployment\nmetadata: {name: x}\nspec: {replicas: -1}"],
)  # fmt: skip
def test_manifest_without_pods_is_refused(tmp_path: Path, content: Any) -> None:
    with refused(InvalidFile):
        new_pods(written(tmp_path, content, "x.yaml"))


@pytest.mark.parametrize("shape", ["", "cpu", "cpu=0", "cpu=x", "cpu=1,cpu=2", "disk=1", "gpu=1"])
def test_advise_fit_refuses_invalid_pod_shapes(shape: str) -> None:
    with refused(InvalidOption, shown=shape):
        with_shape(two_nodes(), shape, 1)


def test_gpu_in_shape_means_the_nodes_gpu_resource() -> None:
    read = with_shape(state(node("n1", **{"nvidia.com/gpu": "2"}), pod("a", "n1")), "gpu=1", 3)
    found = fit(read)
    assert len(found.arrivals) == 2 == most_after(found)
    approved(lines_of(found))


# whether they fit


def test_fit_without_pending_pods_is_refused() -> None:
    for ask in (fit, lambda read: buy(read, [type_like(read, "n1")])):
        with refused(InvalidInstance):
            ask(two_nodes())


# what to buy


def types_of(folder: Path, read: ClusterState, text: str = TYPES) -> Any:
    return read_types(read, written(folder, text, "types.csv"))


def test_fit_answers_tables_of_hosts_and_vms(tmp_path: Path) -> None:
    hosts = written(tmp_path, "name,cpu,mem\nh1,4,8\n", "hosts.csv")
    vms = written(tmp_path, "name,host,cpu,mem\nv1,h1,2,2\nv2,h1,2,2.5\n", "vms.csv")
    read = with_shape(read_state([hosts, vms]), "cpu=1.5,mem=2", 2)
    assert not fit(read).status
    found = buy(read, types_of(tmp_path, read, "type,cpu,mem,price\ns,1.5,2,1\nl,3,4,1.5\n"))
    assert found.bought == {"l": 1}
    with refused(InvalidOption):
        with_shape(read, "mem=2Gi", 1)


@pytest.mark.parametrize(
    "text",
    ["type,cpu,memory\ns,1,1Gi\n", "type,price\ns,1\n", "type,cpu,memory,price,speed\ns,1,1Gi,1,1\n",
     "type,cpu,memory,price\ns,x,1Gi,1\n", "type,cpu,memory,price\ns,1,1Gi,\n",
     "type,cpu,memory,price\ns,1,1Gi,1\ns,1,1Gi,2\n", "type,cpu,memory,price,labels\ns,1,1Gi,1,a\n",
     "type,cpu,memory,price,most\ns,1,1Gi,1,-1\n"],
)  # fmt: skip
def test_invalid_node_types_are_refused(tmp_path: Path, text: str) -> None:
    with refused(InvalidFile):
        types_of(tmp_path, two_nodes(), text)


# the commands


@pytest.mark.usefixtures("in_this_process")
def test_fit_and_buy_exit_with_documented_codes(tmp_path: Path) -> None:
    given = written(tmp_path, listed(node("n1", 4), node("n2", 4), pod("a-1", "n1")), "s.json")
    web, types = written(tmp_path, WEB, "web.yaml"), written(tmp_path, TYPES, "types.csv")
    done = run("advise", "fit", given, "--add", web, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"]
    done = run("advise", "fit", given, "--shape", "cpu=4", "--replicas", "2", "--types", types)
    assert done.returncode == 1
    approved(done.stdout)
    done = run("advise", "fit", given, "--add", web, "--emit", "kubectl")
    assert done.returncode != 0
    approved(done.stderr.partition("error: ")[2])
    done = run("advise", "buy", "--add", web, "--types", types, "--json")
    assert json.loads(done.stdout)["bought"] == {"large": 1, "small": 1}
    for wrong in (
        ("fit", given, "--replicas", "2"),
        ("buy", "--types", types),
        ("buy", given, "--add", web),
        ("fit", given, "--shape", "cpu=1", "--types", "n9"),
    ):
        done = run("advise", *wrong)
        assert done.returncode == 2
        approved(done.stderr.partition("error: ")[2])

"""What the API server and kube-scheduler make of a state: requests from limits, volumes of older
drivers, owners, and pods of which the filters alone decide.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.advice_states import HOST, ZONE, listed, near, node, pod, state
from support.advice_words import fit_lines
from support.terminal import run

from cotenant.advice.capacity import fit
from cotenant.advice.fields import Fields
from cotenant.advice.kubernetes import requests_of
from cotenant.advice.plan import advise
from cotenant.advice.reading import read_state
from cotenant.advice.state import Role


def written(folder: Path, content: Any, name: str) -> str:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return str(folder / name)


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
def test_a_missing_request_is_the_limit(spec: dict[str, Any], cpu: int | None) -> None:
    assert requests_of(Fields(spec, "x"), Fields({}, "x")).get("cpu") == cpu


def test_a_manifest_with_limits_alone_is_placed_by_them(tmp_path: Path) -> None:
    spec = {"containers": [container(limits={"cpu": "5", "memory": "1Gi"})]}
    added = {"kind": "Deployment", "metadata": {"name": "x"}, "spec": {"template": {"spec": spec}}}
    given = written(tmp_path, listed(node("n1", 4), pod("a-1", "n1")), "s.json")
    read = read_state([given], added=written(tmp_path, added, "x.json"))
    assert "no-requests" not in {each.code for each in read.warnings}
    found = fit(read)
    assert (found.fits, found.most_after) == (False, 0)


# volumes


def claim(name: str, volume: str = "", **spec: Any) -> dict[str, Any]:
    spec |= {"accessModes": ["ReadWriteOnce"], **({"volumeName": volume} if volume else {})}
    kind = "PersistentVolumeClaim"
    return {"kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def volume(name: str, **source: Any) -> dict[str, Any]:
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": source}


def csi_node(name: str, driver: str, count: int, plugins: str = "") -> dict[str, Any]:
    notes = {"storage.alpha.kubernetes.io/migrated-plugins": plugins}
    drivers = [{"name": driver, "allocatable": {"count": count}}]
    return {"kind": "CSINode", "metadata": {"name": name, "annotations": notes},
            "spec": {"drivers": drivers}}  # fmt: skip


def uses(*claims: str) -> dict[str, Any]:
    return {"volumes": [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]}


IN_TREE = [
    ("awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
]


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize(("kind", "plugin", "driver"), IN_TREE)
def test_a_volume_of_an_older_driver_counts_to_the_limit_of_its_csi_driver(
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
    assert not fit(read).fitting.arrivals
    assert not advise(read).arrivals
    # kube-scheduler itself does not count vSphere's, nor where a node does not say that it migrates
    assert fit(read).fitting.upper_bound == (kind == "vsphereVolume")
    assert fit(state(*items, csi_node("n1", driver, 1))).fits is None


def test_no_csi_pod_moves_to_a_node_with_volumes_of_an_unknown_driver() -> None:
    """n2 has a volume of which nothing is known; with it listed, one node is enough."""
    items = [
        node("n1", 4), node("n2", 4), pod("a-1", "n1", **uses("c1")), pod("b-1", "n2", **uses("c2")),
        pod("b-2", "n2", "3"), claim("c1", "v1"), volume("v1", csi={"driver": "d"}),
        csi_node("n1", "d", 5), csi_node("n2", "d", 5),
    ]  # fmt: skip
    unknown = advise(state(*items))
    assert (unknown.nodes_found, unknown.nodes_lower_bound, unknown.targets) == (2, 2, {})
    items[4] = pod("b-2", "n2", "1")
    unknown = advise(state(*items))
    assert (unknown.nodes_found, unknown.nodes_lower_bound, unknown.targets) == (2, 1, {})
    known = advise(state(*items, claim("c2", "v2"), volume("v2", csi={"driver": "d"})))
    assert (known.nodes_found, len(known.targets)) == (1, 1)


# what the filters decide


def storage_class(**fields: Any) -> dict[str, Any]:
    return {"kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "d",
            "volumeBindingMode": "WaitForFirstConsumer"} | fields  # fmt: skip


ZONES = [node(f"n{zone}", 4, zone=zone) for zone in "abc"]
IN_A = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]


def test_a_claim_that_waits_for_its_first_consumer_fits_where_its_class_allows() -> None:
    asks = pod("x-1", **uses("c")), claim("c", storageClassName="s")
    found = fit(state(*ZONES, pod("w-1", "nb"), *asks, storage_class()))
    assert found.fits
    assert any(each.code == "unbound-claims" for each in found.state.assumptions)
    found = fit(state(*ZONES, pod("w-1", "nb"), *asks, storage_class(allowedTopologies=IN_A)))
    assert [*found.fitting.arrivals.values()] == ["na"]
    # its one node has no room for another volume
    full = csi_node("na", "d", 0)
    found = fit(state(*ZONES, pod("w-1", "nb"), *asks, storage_class(allowedTopologies=IN_A), full))
    assert found.fits is False


@pytest.mark.parametrize(
    "fields", [{"volumeBindingMode": "Immediate"}, {"provisioner": "kubernetes.io/no-provisioner"}]
)
def test_whether_a_claim_can_be_made_otherwise_is_not_known(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    items = [*ZONES, pod("w-1", "nb"), pod("x-1", **uses("c")), claim("c", storageClassName="s"),
             storage_class(**fields)]  # fmt: skip
    found = fit(state(*items))
    assert found.fits is None
    assert any(line.startswith("not known: 0 of 1 pending pod") for line in fit_lines(found))
    assert any("on 3 nodes: claim c is not bound yet" in line for line in fit_lines(found))
    done = run("advise", "fit", written(tmp_path, listed(*items), "s.json"), "--json")
    assert (done.returncode, json.loads(done.stdout)["fits"]) == (3, None)


def test_required_pod_affinity_of_a_pending_pod_is_decided_by_the_filters() -> None:
    web, other = {"labels": {"app": "web"}}, {"labels": {"app": "other"}}
    to_web = {"affinity": near("web", ZONE)}
    found = fit(state(*ZONES, pod("w-1", "nb", **web), pod("x-1", **web, **to_web)))
    assert [*found.fitting.arrivals.values()] == ["nb"]
    found = fit(state(*ZONES, pod("o-1", "nb", **other), pod("x-1", **other, **to_web)))
    assert (found.fits, found.fitting.upper_bound) == (False, 0)


def spread(**fields: Any) -> dict[str, Any]:
    term = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "w"}}}  # fmt: skip
    return {"topologySpreadConstraints": [term | fields], "labels": {"app": "w"}}


@pytest.mark.parametrize(("nodes", "fit_now"), [(2, 2), (3, 6)])
def test_min_domains_of_pending_pods_is_decided_by_the_filters(nodes: int, fit_now: int) -> None:
    """Below three domains none may have more than the skew; with three of them all six fit."""
    hosts = [node(f"n{n}", 4) for n in range(nodes)]
    pods = [pod(f"w-{n}", **spread(minDomains=3)) for n in range(6)]
    found = fit(state(*hosts, pod("o-1", "n0"), *pods))
    assert len(found.fitting.arrivals) == fit_now


def test_a_spread_with_an_empty_selector_counts_nobody() -> None:
    """As kube-scheduler has it: two pods on one of two nodes are no skew of it."""
    own = spread(labelSelector={})
    read = state(
        node("n1", 8), node("n2", 1), pod("a-1", "n1"), *[pod(f"w-{n}", **own) for n in "123"]
    )
    assert {*fit(read).fitting.arrivals.values()} == {"n1"}


def test_a_namespace_selector_is_read_by_the_labels_of_namespaces() -> None:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}},
            "namespaceSelector": {"matchLabels": {"team": "x"}}}  # fmt: skip
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    items = [node("n1", 4), pod("web-1", "n1", labels={"app": "web"}), pod("a-1", affinity=rule)]
    assert fit(state(*items)).fits is None

    def space(team: str) -> dict[str, Any]:
        return {"kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": team}}}

    assert fit(state(*items, space("x"))).fits is False
    assert fit(state(*items, space("y"))).fits is True


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


@pytest.mark.parametrize(
    ("note", "role"),
    [({"cluster-autoscaler.kubernetes.io/daemonset-pod": "true"}, Role.RESIDENT),
     ({"cluster-autoscaler.kubernetes.io/safe-to-evict": "on-completion"}, Role.FIXED),
     ({"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}, Role.MOVABLE)],
)  # fmt: skip
def test_marks_of_the_autoscaler_say_what_a_pod_is_to_a_plan(
    note: dict[str, str], role: Role
) -> None:
    read = state(node("n1", 4), pod("a-1", "n1"), pod("x-1", "n1", annotations=note))
    assert read.pods[1].role is role

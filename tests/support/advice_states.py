"""Small Kubernetes states: written by hand in a few words, or drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotenant.cluster.judge.scheduler_filters import Scheduler
from cotenant.cluster.state.kubernetes import kubernetes_state
from cotenant.cluster.state.state import ClusterState
from support.advice_further import HOST, REQUIRED, ZONE, further


def node(
    name: str,
    cpu: Any = "8",
    memory: Any = "32Gi",
    zone: str = "",
    pods: Any = "110",
    **fields: Any,
) -> dict[str, Any]:
    """A ready node; `labels`, `taints`, `unschedulable`, `ready` and further resources as fields."""
    labels = {HOST: name} | ({ZONE: zone} if zone else {}) | fields.pop("labels", {})
    spec = {key: fields.pop(key) for key in ("taints", "unschedulable") if key in fields}
    ready = [{"type": "Ready", "status": fields.pop("ready", "True")}]
    room = {"cpu": cpu, "memory": memory, "pods": pods} | fields
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": spec, "status": {"allocatable": room, "conditions": ready},
    }  # fmt: skip


def pod(
    name: str, on: str = "", cpu: Any = "1", memory: Any = "1Gi", owner: str = "ReplicaSet",
    **spec: Any,
) -> dict[str, Any]:  # fmt: skip
    """A pod with one container; `labels`, `annotations`, `phase` and fields of a spec as fields."""
    about = {"name": name, "namespace": spec.pop("namespace", "shop")}
    about |= {key: spec.pop(key) for key in ("labels", "annotations") if key in spec}
    if owner:
        of = {"kind": owner, "name": name.rpartition("-")[0] or name, "controller": True}
        about["ownerReferences"] = [of]
    requests = {k: v for k, v in (("cpu", cpu), ("memory", memory)) if v}
    phase = spec.pop("phase", "Running" if on else "Pending")
    containers = spec.pop("containers", [{"name": "main", "resources": {"requests": requests}}])
    spec = {"containers": containers, **({"nodeName": on} if on else {}), **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec,
            "status": {"phase": phase}}  # fmt: skip


def budget(name: str, app: str, allowed: int) -> dict[str, Any]:
    """A disruption budget for the pods of an app."""
    return {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }  # fmt: skip


def apart(app: str, topology: str = HOST, **term: Any) -> dict[str, Any]:
    """Required anti-affinity against the pods of an app."""
    selector = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology}
    return {"podAntiAffinity": {REQUIRED: [selector | term]}}


def near(app: str, topology: str = HOST) -> dict[str, Any]:
    """Required affinity to the pods of an app."""
    return {"podAffinity": apart(app, topology)["podAntiAffinity"]}


def spread(app: str, most: int = 1, topology: str = ZONE, **term: Any) -> list[dict[str, Any]]:
    """A DoNotSchedule spread of the pods of an app."""
    one = {"maxSkew": most, "topologyKey": topology, "whenUnsatisfiable": "DoNotSchedule",
           "labelSelector": {"matchLabels": {"app": app}}}  # fmt: skip
    return [one | term]


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    """A mixed List, as kubectl prints it."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def state(*items: dict[str, Any]) -> ClusterState:
    """The state of a List."""
    return kubernetes_state({"state.json": listed(*items)})


def random_list(rng: np.random.Generator) -> dict[str, Any]:
    """List of three or four nodes and up to five pods with random constraints; in six of ten also
    `further` ones, some of which are not modelled.
    """

    def maybe(share: float) -> bool:
        return bool(rng.random() < share)

    nodes = []
    for n in range(int(rng.integers(3, 5))):
        fields: dict[str, Any] = {"labels": {"disk": "ssd"}} if maybe(0.4) else {}
        if maybe(0.1):
            fields["taints"] = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
        if maybe(0.08):
            fields["unschedulable"] = True
        if maybe(0.05):
            fields["ready"] = "False"
        if maybe(0.1):
            fields["labels"] = {"node-role.kubernetes.io/control-plane": ""}
        amounts = int(rng.integers(3, 7)), f"{rng.integers(3, 7)}Gi", f"z{rng.integers(2)}"
        nodes.append(node(f"n{n}", *amounts, pods=int(rng.integers(3, 7)), **fields))
    items: list[dict[str, Any]] = []
    spreads = {
        app: spread(app, int(rng.integers(1, 3)), str(rng.choice([ZONE, ZONE, HOST])))
        for app in "ab"
    }
    keys = {app: str(rng.choice([HOST, HOST, ZONE])) for app in "ab"}
    for n in range(int(rng.integers(2, 6))):
        app = str(rng.choice(["a", "a", "b"]))
        spec: dict[str, Any] = {"labels": {"app": app}}
        if maybe(0.3):
            spec["affinity"] = apart(str(rng.choice([app, app, "a", "b"])), keys[app])
        elif maybe(0.07):
            spec["affinity"] = near(str(rng.choice(["a", "b"])))
        if maybe(0.3):
            spec["topologySpreadConstraints"] = spreads[app]
        if maybe(0.15):
            spec["nodeSelector"] = {"disk": "ssd"}
        if maybe(0.2):
            spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
        cpu, memory = f"{500 * rng.integers(1, 5)}m", f"{512 * rng.integers(0, 5)}Mi"
        requests = {"cpu": cpu, "memory": memory}
        main: dict[str, Any] = {"name": "main", "resources": {"requests": requests}}
        if maybe(0.1):
            main["ports"] = [{"containerPort": 80, "hostPort": 80}]
        if maybe(0.06):
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"d{n}"}}]
        if maybe(0.05):
            spec["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
        owner = str(rng.choice(["ReplicaSet"] * 9 + [""]))
        items.append(pod(f"{app}{n}-x", "", owner=owner, containers=[main], **spec))
    for n, each in enumerate(nodes):
        if maybe(0.25):
            daemon: dict[str, Any] = {"labels": {"app": "a" if maybe(0.15) else "daemon"}}
            items.append(
                pod(f"d{n}-x", each["metadata"]["name"], "250m", "128Mi", "DaemonSet", **daemon)
            )
    budgets = [budget(f"of-{app}", app, int(rng.integers(0, 4))) for app in "ab" if maybe(0.2)]
    content = listed(*nodes, *items, *budgets)
    if maybe(0.6):
        further(rng, content)
    _placed(rng, content, broken=maybe(0.25))
    return content


def random_spread(rng: np.random.Generator) -> dict[str, Any]:
    """List of two to four nodes and up to six pods of one spread over single nodes; some with a
    control-plane node, a cordoned node, fixed pods, or a second spread over zones.
    """
    n = int(rng.integers(2, 5))
    counts = rng.multinomial(rng.integers(1, 7), np.ones(n) / n).tolist()
    policy = str(rng.choice(["Ignore", "Honor"]))
    rule = spread("a", int(rng.integers(1, 4)), HOST, nodeTaintsPolicy=policy)
    further = int(rng.integers(8))  # in half of the states nothing
    if further == 0:
        rule += spread("a", int(rng.integers(1, 3)))
    nodes = [
        node(f"n{k}", int(max(rng.integers(2, 7), counts[k])), zone=f"z{k % 2}") for k in range(n)
    ]
    if further == 1:
        nodes[-1]["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = ""
        nodes[-1]["spec"]["taints"] = [{"key": "control-plane", "effect": "NoSchedule"}]
    if further == 2:
        nodes[-1]["spec"]["unschedulable"] = True
    places = [f"n{k}" for k, number in enumerate(counts) for _ in range(number)]
    owners = [rng.choice(["", "ReplicaSet"]) if further == 3 else "ReplicaSet" for _ in places]
    pods = [
        pod(f"a-{k}", on, labels={"app": "a"}, owner=str(owner), topologySpreadConstraints=rule)
        for k, (on, owner) in enumerate(zip(places, owners, strict=True))
    ]
    return listed(*nodes, *pods)


def _placed(rng: np.random.Generator, content: dict[str, Any], *, broken: bool) -> None:
    """Put each pod that is nowhere on a node that takes it, or (broken) on any."""
    names = [item["metadata"]["name"] for item in content["items"] if item["kind"] == "Node"]
    for item in content["items"]:
        if item["kind"] != "Pod" or "nodeName" in item["spec"]:
            continue
        read = kubernetes_state({"state.json": content})
        number = next(n for n, p in enumerate(read.pods) if p.name == item["metadata"]["name"])
        scheduler = Scheduler(read)
        taken = [name for name in names if broken or not scheduler.refusals(number, name)]
        if taken and rng.random() > 0.03:
            item["spec"]["nodeName"] = str(rng.choice(taken))
            item["status"]["phase"] = "Running"

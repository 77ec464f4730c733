"""Further constraints drawn into a Kubernetes state; of each kind either many or none, so that no
two always hide each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Item = dict[str, Any]

HOST, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def claim(name: str, volume: str = "", mode: str = "ReadWriteOnce", **spec: Any) -> Item:
    """Persistent volume claim, bound to a volume if one is named."""
    spec |= {"accessModes": [mode], **({"volumeName": volume} if volume else {})}
    about = {"name": name, "namespace": "shop"}
    return {"kind": "PersistentVolumeClaim", "metadata": about, "spec": spec}


def volume(name: str, labels: Item | None = None, **spec: Any) -> Item:
    """Persistent volume with given fields."""
    about = {"name": name, "labels": labels or {}}
    return {"kind": "PersistentVolume", "metadata": about, "spec": spec}


def csi_node(name: str, driver: str, count: int, plugins: str = "") -> Item:
    """CSINode with a driver's maximum number of volumes and the list of migrated plugins."""
    notes = {"storage.alpha.kubernetes.io/migrated-plugins": plugins}
    drivers = [{"name": driver, "allocatable": {"count": count}}]
    return {"kind": "CSINode", "metadata": {"name": name, "annotations": notes},
            "spec": {"drivers": drivers}}  # fmt: skip


def uses(*claims: str) -> Item:
    """The volumes of a pod that uses some claims."""
    return {"volumes": [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]}


def further(rng: np.random.Generator, content: Item) -> None:
    """Draw some subjects, and put them into a List whose pods are not placed yet."""
    draw = _Draw(rng, content)
    for subject in draw.subjects:
        if rng.random() < 0.22:
            subject()


class _Draw:
    """Random generator of further constraints in a Kubernetes List."""

    def __init__(self, rng: np.random.Generator, content: Item) -> None:
        self.rng, self.items = rng, content["items"]
        self.nodes = [item for item in self.items if item["kind"] == "Node"]
        self.pods = [item for item in self.items if item["kind"] == "Pod"]
        self.free = [pod for pod in self.pods if "nodeName" not in pod["spec"]]
        self.subjects: tuple[Callable[[], None], ...] = (
            self.taints, self.node_affinity, self.volumes, self.ports, self.roles, self.spreads,
            self.pod_terms, self.residents, self.requests, self.budgets, self.schedulers,
            self.labels,
        )  # fmt: skip

    def maybe(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def one(self, *of: Any) -> Any:
        return of[int(self.rng.integers(len(of)))]

    def some(self, items: list[Item], share: float) -> list[Item]:
        return [item for item in items if self.maybe(share)]

    # where a pod may be

    def taints(self) -> None:
        for node in self.some(self.nodes, 0.5):
            node["spec"]["taints"] = [
                {"key": self.one("k", "l"), "effect": effect, **self.one({}, {"value": "v"})}
                for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule")
                if self.maybe(0.5)
            ]
        for pod in self.some(self.pods, 0.6):
            pod["spec"]["tolerations"] = [
                {
                    **self.one({"key": "k"}, {"key": "l"}, {"key": "k"}),
                    **self.one({"operator": "Exists"}, {"operator": "Equal", "value": "v"}, {"value": "v"}, {}),
                    **self.one({}, {"effect": "NoSchedule"}, {"effect": "NoExecute"}),
                }
                for _ in range(int(self.rng.integers(1, 3)))
            ]  # fmt: skip
            if self.maybe(0.15):
                pod["spec"]["tolerations"] = [self.one({"operator": "Exists"}, {"key": "k", "operator": "Lt", "value": "3"})]  # fmt: skip

    def _node_terms(self) -> Item:
        def expressions() -> list[Item]:
            return [
                self.one(
                    {"key": "disk", "operator": self.one("In", "NotIn"), "values": ["ssd"]},
                    {"key": "disk", "operator": self.one("Exists", "DoesNotExist")},
                    {"key": "gen", "operator": self.one("Gt", "Lt"), "values": [self.one("2", "3")]},
                    {"key": ZONE, "operator": self.one("In", "NotIn"), "values": ["z0"]},
                )
                for _ in range(int(self.rng.integers(1, 3)))
            ]  # fmt: skip

        terms = [{"matchExpressions": expressions()} for _ in range(int(self.rng.integers(1, 3)))]
        if self.maybe(0.2):
            name = self.one(*(node["metadata"]["name"] for node in self.nodes))
            operator = self.one("In", "NotIn")
            terms.append(
                {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]}
            )
        return {"nodeSelectorTerms": terms}

    def node_affinity(self) -> None:
        for node in self.nodes:
            node["metadata"]["labels"]["gen"] = self.one("1", "2", "3", "x")
        for pod in self.some(self.free, 0.5):
            pod["spec"].setdefault("affinity", {})["nodeAffinity"] = {REQUIRED: self._node_terms()}

    def volumes(self) -> None:
        claims = self.one(2, 4)
        for n in range(claims):
            self._claim(f"claim{n}", self.one("disks.example", "disks.example", "nfs.example"))
        for pod in self.some(self.free, 0.6):
            pod["spec"]["volumes"] = [
                {"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"claim{n}"}}
                for n in range(claims)
                if self.maybe(0.4)
            ]
            if self.maybe(0.1):
                pod["spec"]["volumes"].append({"name": "own", "ephemeral": {}})
        if self.maybe(0.8):
            self.items += [
                csi_node(node["metadata"]["name"], "disks.example", self.one(1, 2))
                for node in self.nodes
                if self.maybe(0.8)
            ]

    def _claim(self, name: str, driver: str) -> None:
        going = self.maybe(0.05)
        mode = self.one("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod")
        bound = claim(name, f"pv-{name}", mode)
        if going:
            bound["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if self.maybe(0.95):
            self.items.append(bound)
        spec: Item = self.one(
            {"csi": {"driver": driver}}, {"csi": {"driver": driver}}, {"local": {}}
        )
        labels: Item = {}
        if self.maybe(0.5):
            spec["nodeAffinity"] = {"required": self._node_terms()}
        if self.maybe(0.3):
            key = self.one(ZONE, "failure-domain.beta.kubernetes.io/zone")
            labels[key] = self.one("z0", "z1", "z0__z1")
        if self.maybe(0.95):
            self.items.append(volume(f"pv-{name}", labels, **spec))

    def ports(self) -> None:
        for pod in self.some(self.pods, 0.6):
            main = pod["spec"]["containers"][0]
            main["ports"] = [
                {
                    "containerPort": 1,
                    **self.one({}, {"hostPort": 80}, {"hostPort": 80}, {"hostPort": 81}),
                    **self.one({}, {}, {"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}),
                    **self.one({}, {}, {"protocol": "UDP"}),
                }
            ]

    def labels(self) -> None:
        """Nodes without a zone, in racks, with one name twice."""
        for node in self.nodes:
            labels = node["metadata"]["labels"]
            if self.maybe(0.2):
                labels.pop(ZONE, None)
            if self.maybe(0.8):
                labels[RACK] = self.one("r0", "r1", "")
            if self.maybe(0.05):
                labels.pop(HOST)
        if self.maybe(0.1):
            self.nodes[0]["metadata"]["labels"][HOST] = "n1"

    # what a pod is

    def roles(self) -> None:
        """Pods that are being deleted, finished, static, or of another namespace."""
        for pod in self.some(self.free, 0.4):
            about = pod["metadata"]
            match self.rng.integers(5):
                case 0:
                    about["deletionTimestamp"] = "2026-01-01T00:00:00Z"
                case 1:
                    pod["status"]["phase"] = self.one("Succeeded", "Failed")
                    pod["spec"]["nodeName"] = self.nodes[0]["metadata"]["name"]
                case 2:
                    about.setdefault("annotations", {})["kubernetes.io/config.mirror"] = "x"
                case _:
                    about["namespace"] = "other"

    def requests(self) -> None:
        for node in self.nodes:
            if self.maybe(0.5):
                node["status"]["allocatable"]["example.com/gpu"] = self.one("1", "2")

        def asks(most: int = 3) -> Item:
            found: Item = {"cpu": f"{500 * self.rng.integers(1, most + 1)}m"}
            if self.maybe(0.2):
                found["example.com/gpu"] = "1"
            return found

        for pod in self.some(self.free, 0.6):
            spec, status = pod["spec"], pod["status"]
            begin = [
                {"name": f"i{n}", "resources": {"requests": asks(6)}, **self.one({}, {"restartPolicy": "Always"})}
                for n in range(int(self.rng.integers(3)))
            ]  # fmt: skip
            if begin:
                spec["initContainers"] = begin
            if self.maybe(0.2):
                spec["overhead"] = {"cpu": "250m"}
            if self.maybe(0.15):
                spec["resources"] = {"requests": asks()}
            if self.maybe(0.3):
                given = {"name": "main", "allocatedResources": asks()}
                if self.maybe(0.5):
                    given["resources"] = {"requests": asks()}
                status["containerStatuses"] = [given]

    # rules between pods

    def _selector(self) -> Item:
        return self.one(
            {"matchLabels": {"app": self.one("a", "b")}},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]},
            {"matchExpressions": [{"key": "rev", "operator": "Exists"}]},
            {},
        )  # fmt: skip

    def _revisions(self) -> None:
        for pod in self.some(self.free, 0.7):
            pod["metadata"]["labels"]["rev"] = self.one("1", "2")

    def spreads(self) -> None:
        self._revisions()
        for app in "ab":
            each = {
                "maxSkew": self.one(1, 1, 2),
                "topologyKey": self.one(ZONE, ZONE, HOST, RACK),
                "whenUnsatisfiable": self.one("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"),
                "labelSelector": self.one({"matchLabels": {"app": app}}, self._selector()),
                **self.one({}, {}, {"minDomains": 2}, {"minDomains": 3}),
                **self.one({}, {}, {"matchLabelKeys": ["rev"]}),
                **self.one({}, {}, {"nodeAffinityPolicy": "Ignore"}),
                **self.one({}, {}, {"nodeTaintsPolicy": "Honor"}),
            }
            second = {**each, "topologyKey": self.one(ZONE, HOST), "maxSkew": self.one(1, 2, 3)}
            two = second["topologyKey"] != each["topologyKey"] and self.maybe(0.5)
            both = [each, second] if two else [each]
            for pod in self.free:
                if pod["metadata"]["labels"]["app"] == app and self.maybe(0.9):
                    pod["spec"]["topologySpreadConstraints"] = both
        if self.maybe(0.3):  # every domain has a control-plane node: the bound knows the spread
            for node in self.nodes[:2]:
                node["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = ""
            for place, node in enumerate(self.nodes):
                node["metadata"]["labels"][ZONE] = f"z{place % 2}"

    def _term(self) -> Item:
        return {
            "labelSelector": self._selector(),
            "topologyKey": self.one(HOST, HOST, ZONE, RACK),
            **self.one({}, {}, {"namespaces": ["shop", "other"]}, {"namespaces": ["other"]}),
            **self.one(
                {}, {}, {}, {"namespaceSelector": {}},
                {"namespaceSelector": {"matchLabels": {"team": "a"}}},
            ),
            **self.one({}, {}, {"matchLabelKeys": ["rev"]}, {"mismatchLabelKeys": ["rev"]}),
        }  # fmt: skip

    def pod_terms(self) -> None:
        self._revisions()
        for pod in self.some(self.free, 0.3):
            pod["metadata"]["namespace"] = "other"
        kept = [self._term(), self._term()]
        for pod in self.some(self.free, 0.6):
            terms = self.one(kept[:1], kept[1:], kept, [self._term()])
            which = "podAffinity" if self.maybe(0.1) else "podAntiAffinity"
            pod["spec"].setdefault("affinity", {})[which] = {REQUIRED: terms}

    def residents(self) -> None:
        """Draw anti-affinity terms of daemon pods against other pods, and of other pods against
        daemons.
        """
        for pod in self.pods:
            if pod in self.free or self.maybe(0.3):
                continue
            pod["metadata"]["labels"]["app"] = self.one("a", "b", "daemon")
            if self.maybe(0.5):
                pod["spec"]["affinity"] = {"podAntiAffinity": {REQUIRED: [self._term()]}}
        for pod in self.some(self.free, 0.3):
            meant = {"labelSelector": {"matchLabels": {"app": "daemon"}}}
            pod["spec"].setdefault("affinity", {}).setdefault("podAntiAffinity", {})[REQUIRED] = [
                {**meant, "topologyKey": key} for key in self.one([ZONE], [HOST], [HOST, ZONE])
            ]

    # who decides

    def budgets(self) -> None:
        for pod in self.some(self.pods, 0.5):
            pod["status"]["conditions"] = [{"type": "Ready", "status": self.one("True", "False")}]
        for n in range(int(self.rng.integers(1, 4))):
            about = {"name": f"more{n}", "namespace": "shop", "generation": 2}
            policy = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}
            spec = {"selector": self._selector(), **self.one({}, policy)}
            status = {
                "disruptionsAllowed": self.one(0, 0, 1, 2), "observedGeneration": self.one(1, 2, 2),
                "currentHealthy": self.one(0, 1, 2), "desiredHealthy": self.one(0, 1),
            }  # fmt: skip
            self.items.append({"kind": "PodDisruptionBudget", "metadata": about, "spec": spec,
                               "status": status})  # fmt: skip

    def schedulers(self) -> None:
        for pod in self.some(self.free, 0.3):
            spec = pod["spec"]
            match self.rng.integers(5):
                case 0:
                    spec["schedulerName"] = "volcano"
                case 1:
                    spec["schedulingGates"] = [{"name": "wait"}]
                case 2:
                    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "x"}]
                case 3:
                    pod["status"]["nominatedNodeName"] = "n0"
                case _:
                    spec["priority"] = 1000
                    spec["nodeName"] = "n0"
                    pod["status"]["phase"] = "Running"

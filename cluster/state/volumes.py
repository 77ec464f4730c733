"""Volumes of the pods of a Kubernetes state: the nodes where they can be used, and the attachment
limits that count them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .completeness import LIMITS_NOT_LISTED, SHARED, VOLUMES_NOT_LISTED
from .constraints import Expression, NodeTerm, node_terms
from .fields import Fields, name_of
from .state import VOLUMES, Node, Pod, limitless

_WHERE = {
    f"failure-domain.beta.kubernetes.io/{what}": f"topology.kubernetes.io/{what}"
    for what in ("zone", "region")
}
"""Labels of volumes that say where they can be used, and the later names of the same."""

_MIGRATED = {
    "awsElasticBlockStore": ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    "azureDisk": ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "cinder": ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    "gcePersistentDisk": ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    "vsphereVolume": ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
}
"""Volumes of drivers that were part of Kubernetes: the plugin, and the CSI driver that attaches
them now, to whose limit they count.
"""
_MIGRATIONS, _PORTWORX = "storage.alpha.kubernetes.io/migrated-plugins", "portworxVolume"
_OWN_DISKS = (*_MIGRATED, _PORTWORX, "fc", "flexVolume", "iscsi", "rbd")
"""Volumes in a pod itself with rules of their own about who may share a node."""
_ONE = {"ReadWriteOnce", "ReadWriteOncePod"}
"""Ways to use a volume that two pods on two nodes do not share."""
_BY_HAND = "kubernetes.io/no-provisioner"
_OVER = ("Succeeded", "Failed")


class Volumes:
    """Volumes and claims in a file, with the nodes where each can be used.

    Attributes
    ----------
    unbound : claims of pending pods that are taken to be made where their class allows.
    """

    def __init__(self, objects: Mapping[str, Sequence[Fields]]) -> None:
        self.limits = bool(objects["CSINode"])
        self.volumes, self.claims, self.classes = (
            {name_of(item): item for item in objects[kind]}
            for kind in ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")
        )
        self.unbound: set[str] = set()
        self._migrated: dict[str, str] = {}  # plugins of volumes that were read, by driver
        self._unknown: set[str] = set()  # nodes with volumes of which the driver is not known
        self._plugins = {
            name_of(item)[1]: item.of("metadata").mapping("annotations").get(_MIGRATIONS, "")
            for item in objects["CSINode"]
        }
        self.users: Counter[tuple[str, str]] = Counter()
        for pod in objects["Pod"]:
            if pod.of("status").text("phase") not in _OVER:
                self.users.update((name_of(pod)[0], name) for name in _claims(pod))

    def read(
        self, pod: Fields
    ) -> tuple[list[tuple[NodeTerm, ...]], Counter[str], list[tuple[str, str]]]:
        """Node terms of a pod's volumes, the number of volumes by CSI driver, and what is not known
        of them.
        """
        # 1. Claims: where their volumes can be used, and which driver attaches them.
        terms: list[tuple[NodeTerm, ...]] = []
        drivers: Counter[str] = Counter()
        unread: list[str] = []
        namespace, on = name_of(pod)[0], pod.of("spec").text("nodeName")
        known = True
        for name, made_anew in sorted(_claims(pod).items()):
            claim = self.claims.get((namespace, name))
            bound = "" if claim is None else claim.of("spec").text("volumeName")
            volume, shared = self.volumes.get(("", bound)), self.users[namespace, name] > 1
            if made_anew:
                unread.append("an ephemeral volume: made anew where it goes")
            if claim is not None and not bound and not on and not made_anew:
                if (made := self._to_be_made(claim)) and not shared:
                    terms += made[0]
                    drivers[f"{VOLUMES}{made[1]}"] += 1
                    self.unbound.add(f"claim {namespace}/{name}")
                else:
                    unread.append(f"claim {name} is not bound yet (add sc)")
                continue
            if claim is None or volume is None:
                unread += [VOLUMES_NOT_LISTED] * (not made_anew)
                known = False
                continue
            if "deletionTimestamp" in claim.of("metadata"):
                unread.append(f"claim {name} is being deleted")
            spec = volume.of("spec")
            if shared and set(claim.of("spec").texts("accessModes")) <= _ONE:
                unread.append(f"claim {name} is shared and for one node or pod")
            if not made_anew:
                terms += _places(volume)
            driver = spec.of("csi").text("driver") or self._migrates(spec)
            if (driver and not self.limits) or _PORTWORX in spec:
                unread.append(LIMITS_NOT_LISTED)
                known = False
            elif driver:
                drivers[f"{VOLUMES}{driver}"] += 1
                if shared:  # one attachment to a node, whoever uses it there
                    unread.append(SHARED)
        # 2. Volumes of the pod itself.
        for each in pod.of("spec").many("volumes"):
            unread += [f"a {kind} volume of its own" for kind in _OWN_DISKS if kind in each][:1]
            if driver := self._migrates(each):
                drivers[f"{VOLUMES}{driver}"] += 1
            known &= _PORTWORX not in each
        if not known and pod.of("status").text("phase") not in _OVER:
            self._unknown.add(on)
        return terms, drivers, [("volumes", words) for words in unread]

    def _migrates(self, source: Fields) -> str:
        """Name of the CSI driver that replaces the older plugin of a volume; "" for other
        volumes.
        """
        plugin, driver = next((_MIGRATED[kind] for kind in _MIGRATED if kind in source), ("", ""))
        self._migrated |= {driver: plugin} if driver else {}
        return driver

    def _to_be_made(self, claim: Fields) -> tuple[list[tuple[NodeTerm, ...]], str] | None:
        """Node terms and driver of a volume that is provisioned when its pod is placed; None if not
        known.
        """
        spec = claim.of("spec")
        made = self.classes.get(("", spec.text("storageClassName")))
        chosen = "volume.kubernetes.io/selected-node" in claim.of("metadata").of("annotations")
        if made is None or chosen or "selector" in spec:
            return None
        maker = made.text("provisioner")
        if made.text("volumeBindingMode") != "WaitForFirstConsumer" or maker == _BY_HAND:
            return None
        allowed = tuple(
            NodeTerm(tuple(
                Expression(each.text("key"), "In", each.texts("values"))
                for each in term.many("matchLabelExpressions")
            ))
            for term in made.many("allowedTopologies")
        )  # fmt: skip
        return [allowed] * bool(allowed), dict(_MIGRATED.values()).get(maker, maker)

    def limited(self, node: Node, pods: Sequence[Pod]) -> Node:
        """Limit a node to its current number of volumes of each driver if it has volumes of unknown
        drivers.
        """
        limits = {name for name in node.allocatable if limitless(name)}
        if node.name in self._unknown:
            now = Counter[str]()
            for pod in pods:
                now.update(pod.requests if pod.placed and pod.node == node.name else {})
            room = {name: min(node.allocatable[name], now[name]) for name in limits}
            return replace(node, allocatable={**node.allocatable, **room}, unsure=frozenset(limits))
        plugins = self._plugins.get(node.name, "").split(",")
        unsure = {f"{VOLUMES}{driver}" for driver, plugin in self._migrated.items()
                  if plugin not in plugins or plugin == _MIGRATED["vsphereVolume"][0]}  # fmt: skip
        return replace(node, unsure=frozenset(limits & unsure))


def _places(volume: Fields) -> list[tuple[NodeTerm, ...]]:
    """Node terms of a volume: its node affinity, and its topology labels, which do not restrict
    nodes without such labels.
    """
    required = volume.of("spec").of("nodeAffinity").of("required")
    found = [node_terms(required)] if required.content else []
    labels = volume.of("metadata").mapping("labels")
    every = (*_WHERE, *_WHERE.values())
    none = NodeTerm(tuple(Expression(key, "DoesNotExist") for key in every))
    for key in every:
        if key in labels:
            values = tuple(labels[key].split("__"))
            names = dict.fromkeys((key, _WHERE.get(key, key)))
            found.append((*(NodeTerm((Expression(name, "In", values),)) for name in names), none))
    return found


def _claims(pod: Fields) -> dict[str, bool]:
    """Claims that a pod uses, with whether each is ephemeral, that is created and deleted with the
    pod.
    """
    found: dict[str, bool] = {}
    for volume in pod.of("spec").many("volumes"):
        if "persistentVolumeClaim" in volume:
            found.setdefault(volume.of("persistentVolumeClaim").text("claimName"), False)
        if "ephemeral" in volume:
            found[f"{name_of(pod)[1]}-{volume.text('name')}"] = True
    return found

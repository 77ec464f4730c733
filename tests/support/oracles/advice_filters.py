"""The default scheduler's filters on a List as it is written: a second reader and a second judge
that share nothing with the package. What it does not know either (namespaces' labels, volumes that
several pods use) is read as the package reads it, or left out by `clear`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

Item = dict[str, Any]
ZONES = (
    "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
)  # fmt: skip
UNITS = {"m": Fraction(1, 1000), "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "": 1}


class Cluster:
    """The objects of a List."""

    def __init__(self, content: Item) -> None:
        def of(kind: str) -> dict[Any, Item]:
            return {
                (item["metadata"].get("namespace"), item["metadata"]["name"]): item
                for item in content["items"]
                if item["kind"] == kind
            }

        self.nodes = {name: item for (_, name), item in of("Node").items()}
        self.pods = [p for p in of("Pod").values() if p["status"]["phase"] not in ("Succeeded", "Failed")]  # fmt: skip
        self.claims, self.volumes = of("PersistentVolumeClaim"), of("PersistentVolume")
        self.limits = {name: item for (_, name), item in of("CSINode").items()}

    def clear(self, pod: Item) -> bool:
        """Whether a pod is not being deleted, shares no volume claim, and has no toleration by
        number (Lt).
        """
        if "deletionTimestamp" in pod["metadata"]:
            return False
        claims = Counter(claim for each in self.pods for claim in set(_claims(each)))
        return all(claims[claim] == 1 for claim in _claims(pod)) and not any(
            each.get("operator") == "Lt" for each in pod["spec"].get("tolerations", ())
        )

    def takes(self, pod: Item, name: str) -> bool:
        """Whether the scheduler's filters allow a pod on a node, whatever node it is on now."""
        others = [p for p in self.pods if p is not pod and "nodeName" in p["spec"]]
        node = self.nodes[name]
        here = [p for p in others if p["spec"]["nodeName"] == name]
        return (
            all(c["status"] == "True" for c in node["status"]["conditions"] if c["type"] == "Ready")
            and _tolerates(pod, node)
            and _selected(pod, node)
            and self._volumes(pod, node)
            and self._room(pod, node, here)
            and not any(_clash(a, b) for p in here for a in _ports(p) for b in _ports(pod))
            and self._apart(pod, node, others)
            and self._near(pod, node, others)
            and all(self._even(pod, node, others, each) for each in _spreads(pod))
        )

    def _volumes(self, pod: Item, node: Item) -> bool:
        for claim in _claims(pod):
            volume = self._volume(claim)
            if volume is None:
                continue
            required = volume["spec"].get("nodeAffinity", {}).get("required")
            if required and not _any_term(required["nodeSelectorTerms"], node):
                return False
            labels = node["metadata"]["labels"]
            for key, value in volume["metadata"].get("labels", {}).items():
                if key in ZONES and any(zone in labels for zone in ZONES):
                    names = {key, key.replace("failure-domain.beta", "topology")}
                    if not {labels.get(each) for each in names} & set(value.split("__")):
                        return False
        return True

    def _volume(self, claim: tuple[str, str]) -> Item | None:
        if claim not in self.claims:
            return None
        return self.volumes.get((None, self.claims[claim]["spec"]["volumeName"]))

    def _drivers(self, pod: Item) -> Counter[str]:
        found = [self._volume(claim) for claim in set(_claims(pod))]
        return Counter(v["spec"]["csi"]["driver"] for v in found if v and "csi" in v["spec"])

    def _room(self, pod: Item, node: Item, here: list[Item]) -> bool:
        used: Counter[str] = Counter()
        for each in here:
            used.update(requests(each))
        room = node["status"]["allocatable"]
        for name, wanted in requests(pod).items():
            if wanted and wanted + used[name] > quantity(room.get(name, 0)):
                return False
        attached = sum((self._drivers(each) for each in here), Counter())
        limit = self.limits.get(node["metadata"]["name"])
        for driver in limit["spec"]["drivers"] if limit else ():
            more = self._drivers(pod)[driver["name"]]
            if more and attached[driver["name"]] + more > driver["allocatable"]["count"]:
                return False
        return True

    def _there(self, pod: Item) -> Item:
        labels: Item = self.nodes[pod["spec"]["nodeName"]]["metadata"]["labels"]
        return labels

    def _apart(self, pod: Item, node: Item, others: list[Item]) -> bool:
        labels = node["metadata"]["labels"]
        return not any(
            term["topologyKey"] in labels
            and self._there(other).get(term["topologyKey"]) == labels[term["topologyKey"]]
            and _meant(term, owner, seen)
            for other in others
            for owner, seen in ((pod, other), (other, pod))
            for term in _terms(owner, "podAntiAffinity")
        )

    def _near(self, pod: Item, node: Item, others: list[Item]) -> bool:
        terms, labels = _terms(pod, "podAffinity"), node["metadata"]["labels"]
        if not all(term["topologyKey"] in labels for term in terms):
            return False
        friends = [o for o in others if all(_meant(term, pod, o) for term in terms)]
        counted = {
            (term["topologyKey"], self._there(o)[term["topologyKey"]])
            for o in friends
            for term in terms
            if term["topologyKey"] in self._there(o)
        }
        if not counted:
            return all(_meant(term, pod, pod) for term in terms)
        return all((t["topologyKey"], labels[t["topologyKey"]]) in counted for t in terms)

    def _even(self, pod: Item, node: Item, others: list[Item], spread: Item) -> bool:
        key = spread["topologyKey"]
        if key not in node["metadata"]["labels"]:
            return False
        count: Counter[str] = Counter()
        for each in self.nodes.values():
            labels = each["metadata"]["labels"]
            if (
                all(one["topologyKey"] in labels for one in _spreads(pod))
                and (spread.get("nodeAffinityPolicy") == "Ignore" or _selected(pod, each))
                and (spread.get("nodeTaintsPolicy") != "Honor" or _tolerates(pod, each))
            ):
                name = each["metadata"]["name"]
                count[labels[key]] += sum(
                    o["spec"]["nodeName"] == name
                    and o["metadata"]["namespace"] == pod["metadata"]["namespace"]
                    and "deletionTimestamp" not in o["metadata"]
                    and _counts(spread, pod)
                    and _chosen(spread, pod, o)
                    for o in others
                )
        least = 0 if len(count) < spread.get("minDomains", 1) else min(count.values())
        more = _chosen(spread, pod, pod)
        return count[node["metadata"]["labels"][key]] + more - least <= spread["maxSkew"]


def quantity(value: Any) -> Fraction:
    """Kubernetes quantity as a fraction (suffixes m, Ki, Mi and Gi)."""
    text = str(value)
    digits = text.rstrip("mKMGi")
    return Fraction(digits) * UNITS[text[len(digits) :]]


def requests(pod: Item) -> Counter[str]:
    """Resource requests of a pod."""
    spec, statuses = pod["spec"], pod["status"].get("containerStatuses", ())

    def of(container: Item) -> Counter[str]:
        given = [container.get("resources", {}).get("requests", {})]
        for status in statuses:
            if status["name"] == container["name"]:
                given += [status.get("allocatedResources", {})]
                given += [status.get("resources", {}).get("requests", {})]
        return Counter(
            {k: max(quantity(g[k]) for g in given if k in g) for g in given for k in g}  # type: ignore[misc]
        )

    sidecars: Counter[str] = Counter()
    first: Counter[str] = Counter()
    for each in spec.get("initContainers", ()):
        if each.get("restartPolicy") == "Always":
            sidecars.update(of(each))
            first |= sidecars
        else:
            then = of(each)
            then.update(sidecars)
            first |= then
    total = sidecars.copy()
    for each in spec["containers"]:
        total.update(of(each))
    total |= first
    for name, value in spec.get("resources", {}).get("requests", {}).items():
        if name in ("cpu", "memory"):
            total[name] = quantity(value)  # type: ignore[assignment]
    total.update({k: quantity(v) for k, v in spec.get("overhead", {}).items()})
    total["pods"] = 1
    return total


def _claims(pod: Item) -> Iterator[tuple[str, str]]:
    for volume in pod["spec"].get("volumes", ()):
        if "persistentVolumeClaim" in volume:
            yield pod["metadata"]["namespace"], volume["persistentVolumeClaim"]["claimName"]


def _tolerates(pod: Item, node: Item) -> bool:
    taints = list(node["spec"].get("taints", ()))
    if node["spec"].get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})

    def by(each: Item, taint: Item) -> bool:
        key, exists = each.get("key", ""), each.get("operator") == "Exists"
        return (
            each.get("effect", taint["effect"]) == taint["effect"]
            and (key == taint["key"] or (exists and not key))
            and (exists or each.get("value", "") == taint.get("value", ""))
        )

    return all(
        taint["effect"] == "PreferNoSchedule"
        or any(by(each, taint) for each in pod["spec"].get("tolerations", ()))
        for taint in taints
    )


def _selected(pod: Item, node: Item) -> bool:
    labels = node["metadata"]["labels"]
    if any(labels.get(k) != v for k, v in pod["spec"].get("nodeSelector", {}).items()):
        return False
    rules = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = rules.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or _any_term(required["nodeSelectorTerms"], node)


def _any_term(terms: list[Item], node: Item) -> bool:
    about = node["metadata"]
    return any(
        all(_holds(each, about["labels"]) for each in term.get("matchExpressions", ()))
        and all(_holds(e, {"metadata.name": about["name"]}) for e in term.get("matchFields", ()))
        for term in terms
        if term.get("matchExpressions") or term.get("matchFields")
    )


def _holds(each: Item, labels: Item) -> bool:
    value, values = labels.get(each["key"]), each.get("values", [])

    def compared(sign: int) -> bool:
        return value is not None and value.isdigit() and sign * (int(value) - int(values[0])) > 0

    found: dict[str, Callable[[], bool]] = {
        "In": lambda: value in values,
        "NotIn": lambda: value not in values,
        "Exists": lambda: value is not None,
        "DoesNotExist": lambda: value is None,
        "Gt": lambda: compared(1),
        "Lt": lambda: compared(-1),
    }
    return found[each["operator"]]()


def _ports(pod: Item) -> list[tuple[str, str, int]]:
    return [
        (port.get("hostIP", "0.0.0.0"), port.get("protocol", "TCP"), port["hostPort"])
        for container in pod["spec"]["containers"]
        for port in container.get("ports", ())
        if port.get("hostPort")
    ]


def _clash(first: tuple[str, str, int], second: tuple[str, str, int]) -> bool:
    return first[1:] == second[1:] and (first[0] == second[0] or "0.0.0.0" in (first[0], second[0]))


def _terms(pod: Item, kind: str) -> list[Item]:
    rules = pod["spec"].get("affinity", {}).get(kind, {})
    found: list[Item] = rules.get("requiredDuringSchedulingIgnoredDuringExecution", [])
    return found


def _spreads(pod: Item) -> list[Item]:
    return [
        each
        for each in pod["spec"].get("topologySpreadConstraints", ())
        if each["whenUnsatisfiable"] == "DoNotSchedule"
    ]


def _chosen(term: Item, owner: Item, pod: Item) -> bool:
    """Whether the selector of a term of a pod chooses a pod by its labels."""
    mine, labels, selector = owner["metadata"]["labels"], pod["metadata"]["labels"], term["labelSelector"]  # fmt: skip
    return (
        all(labels.get(k) == v for k, v in selector.get("matchLabels", {}).items())
        and all(_holds(each, labels) for each in selector.get("matchExpressions", ()))
        and all(labels.get(k) == mine[k] for k in term.get("matchLabelKeys", ()) if k in mine)
        and all(labels.get(k) != mine[k] for k in term.get("mismatchLabelKeys", ()) if k in mine)
    )


def _counts(spread: Item, pod: Item) -> bool:
    """Whether a spread selects any pod: its selector is not empty, or a label key of it is on the
    pod.
    """
    keys = pod["metadata"]["labels"].keys() & set(spread.get("matchLabelKeys", ()))
    return bool(keys) or any(spread["labelSelector"].values())


def _meant(term: Item, owner: Item, pod: Item) -> bool:
    """Whether a term of a pod selects a pod; a namespace selector selects all namespaces."""
    names = term.get("namespaces") or [owner["metadata"]["namespace"]]
    everywhere = "namespaceSelector" in term
    return (everywhere or pod["metadata"]["namespace"] in names) and _chosen(term, owner, pod)

"""Objects of Kueue in the form of its documentation, for both versions of its API."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]
VERSIONS = ("v1beta1", "v1beta2")
GPU = "nvidia.com/gpu"


def at(second: int) -> str:
    return datetime.fromtimestamp(1_772_409_600 + second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def made(kind: str, name: str, version: str, namespace: str = "", second: int = 0) -> Object:
    meta = {"name": name, "creationTimestamp": at(second)} | {
        key: value for key, value in (("namespace", namespace),) if value
    }
    return {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind, "metadata": meta}


def cluster_queue(
    name: str, quota: dict[str, int], version: str = "v1beta2", cohort: str = "all",
    borrowing: int | None = None, lending: int | None = None, weight: str | None = None,
) -> Object:  # fmt: skip
    """A ClusterQueue with so many GPUs of each flavor, and ten CPUs with each GPU."""
    flavors = []
    for flavor, number in quota.items():
        entry: Object = {"name": GPU, "nominalQuota": str(number)}
        if borrowing is not None:
            entry["borrowingLimit"] = borrowing
        if lending is not None:
            entry["lendingLimit"] = lending
        cpus = {"name": "cpu", "nominalQuota": 10 * number}
        flavors.append({"name": flavor, "resources": [cpus, entry]})
    spec: Object = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu", GPU], "flavors": flavors}],
    }
    if cohort:
        spec["cohort" if version == "v1beta1" else "cohortName"] = cohort
    if weight is not None:
        spec["fairSharing"] = {"weight": weight}
    return made("ClusterQueue", name, version) | {"spec": spec}


def cohort(name: str, version: str = "v1beta2", parent: str = "", gpus: int = 0) -> Object:
    spec: Object = {}
    if parent:
        spec["parent" if version == "v1beta1" else "parentName"] = parent
    if gpus:
        entry = {"name": GPU, "nominalQuota": gpus}
        flavors = [{"name": "a100", "resources": [entry]}]
        spec["resourceGroups"] = [{"coveredResources": [GPU], "flavors": flavors}]
    return made("Cohort", name, version) | {"spec": spec}


def local_queue(queue: str, version: str = "v1beta2") -> Object:
    found = made("LocalQueue", "user-queue", version, f"team-{queue}")
    return found | {"spec": {"clusterQueue": queue}}


def flavor(name: str, version: str = "v1beta2") -> Object:
    spec = {"nodeLabels": {"nvidia.com/gpu.product": name}}
    return made("ResourceFlavor", name, version) | {"spec": spec}


def workload(
    name: str, queue: str, created: int, start: int | None = None, end: int | None = None,
    gpus: int = 1, version: str = "v1beta2", flavor: str = "a100", past: int = 0,
    evicted: int | None = None, requeued: int | None = None,
) -> Object:  # fmt: skip
    """Kueue workload whose evicted runs took `past` seconds; its condition Evicted holds from
    `evicted` on.
    """
    requests = {"cpu": "500m", GPU: str(gpus)}
    container = {"name": "main", "resources": {"requests": requests}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {
        "queueName": "user-queue", "active": True,
        "podSets": [{"name": "main", "count": 1, "template": template}],
    }  # fmt: skip
    conditions: list[Object] = []

    def condition(kind: str, second: int, reason: str, true: bool = True) -> None:
        conditions.append(
            {
                "type": kind, "status": "True" if true else "False", "reason": reason,
                "message": "", "lastTransitionTime": at(second),
            }
        )  # fmt: skip

    status: Object = {"conditions": conditions}
    if start is not None:
        condition("QuotaReserved", start, "QuotaReserved")
        condition("Admitted", start, "Admitted")
        status["admission"] = {
            "clusterQueue": queue,
            "podSetAssignments": [
                {
                    "name": "main", "count": 1, "flavors": {"cpu": "default", GPU: flavor},
                    "resourceUsage": requests,
                }
            ],
        }  # fmt: skip
    else:
        condition("QuotaReserved", max(created, evicted or 0), "Pending", true=False)
        requested = [{"name": "main", "resources": requests}]
        status["resourceRequests"] = requested
    if past:
        slip = "accumulatedPastExexcutionTimeSeconds"
        right = "accumulatedPastExecutionTimeSeconds"
        status[slip if version == "v1beta1" else right] = past
    if evicted is not None:
        condition("Evicted", evicted, "Preempted")
    elif past:
        condition("Evicted", start or created, "QuotaReserved", true=False)
    if requeued is not None:
        condition("Requeued", requeued, "Preempted")
    if end is not None:
        condition("Finished", end, "Succeeded")
    found = made("Workload", name, version, f"team-{queue}", created)
    return found | {"spec": spec, "status": status}


def listed(items: list[Object]) -> Object:
    """Output of `kubectl get ... -o json` for some objects."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}

"""Which pods start together or not at all: the groups of Volcano, coscheduling, Kueue, KAI, JobSet,
LeaderWorkerSet, Kubeflow and Ray, and the pods of one Job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .fields import Fields
from .state import ClusterState, Pod, Role

_ANNOTATIONS = (
    "scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name",
    "gang.scheduling.koordinator.sh/name",
)  # fmt: skip
"""Annotations that name the group of a pod: Volcano's, KAI's, Koordinator's."""

_LABELS = (
    "scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name", "kueue.x-k8s.io/pod-group-name",
    "volcano.sh/job-name", "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name",
    "ray.io/cluster",
)  # fmt: skip
"""Labels that do: those of the coscheduling plugin, Kueue, Volcano, JobSet, Kubeflow, Ray."""

_WORKERS = ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index")

TOPOLOGIES = ("kueue.x-k8s.io/podset-required-topology",)
"""Annotations with the label of which a group wants nodes of one value."""

OTHER_TOPOLOGIES = (
    "kueue.x-k8s.io/podset-slice-required-topology", "kai.scheduler/topology-required-placement",
)  # fmt: skip
"""Annotations that demand near nodes in a way that is not modelled."""


def gang_name(
    notes: Mapping[str, str], labels: Mapping[str, str], spec: Fields, owner: tuple[str, str]
) -> str:
    """The group of a pod within its namespace, or its Job; "" for none."""
    named = [notes[key] for key in _ANNOTATIONS if notes.get(key)]
    named += [spec.of("schedulingGroup").text("podGroupName"), spec.of("workloadRef").text("name")]
    named += [labels[key] for key in _LABELS if labels.get(key)]
    if all(labels.get(key) for key in _WORKERS):
        named.append("-".join(labels[key] for key in _WORKERS))
    return next(filter(None, named), owner[1] if owner[0] == "Job" else "")


def pending_gangs(state: ClusterState, asks: Callable[[Pod], bool]) -> dict[str, tuple[int, ...]]:
    """The pending pods by gang, of those in which a pod asks for something; pods that belong to
    none stand alone, of equal pods of one owner the first.

    Returns
    -------
    dict
        The gang's namespace and name -> places of its pods in the state.
    """
    found: dict[str, list[int]] = {}
    alike: set[object] = set()
    for number, pod in enumerate(state.pods):
        if pod.role is not Role.PENDING:
            continue
        if pod.gang:
            found.setdefault(f"{pod.namespace}/{pod.gang}", []).append(number)
            continue
        same = pod.owner[1] and (pod.namespace, pod.owner, frozenset(pod.requests.items()))
        if not same or same not in alike:
            found[pod.title] = [number]
        alike.add(same)
    return {
        name: tuple(numbers)
        for name, numbers in found.items()
        if any(asks(state.pods[n]) for n in numbers)
    }

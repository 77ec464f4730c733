"""Pods added to a state: from the manifests of workloads, or a number of equal pods."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ...instances.problem.documents import shortened
from ...instances.problem.errors import InvalidFile, InvalidOption, install, suggest
from ...instances.problem.quantities import amount, measured
from ...instances.problem.reading import parse_any_json, read_text
from .fields import Fields
from .state import ClusterState, Pod, Role

_NUMBERS = {
    "Pod": "", "Deployment": "replicas", "ReplicaSet": "replicas", "StatefulSet": "replicas",
    "ReplicationController": "replicas", "Job": "parallelism", "DaemonSet": "",
}  # fmt: skip
"""Kinds of which the pods are read, and the field that says how many run at one time; one of a
DaemonSet is made one for each node that takes it.
"""

_HARMLESS = (
    "ConfigMap", "CSINode", "HorizontalPodAutoscaler", "Namespace", "Node", "PersistentVolume",
    "PersistentVolumeClaim", "PodDisruptionBudget", "Secret", "Service", "ServiceAccount",
    "StorageClass",
)  # fmt: skip
"""Kinds that hold no pods, and of which nothing is read; others are named."""

_LARGE = 10**6
_BASE = ("cpu", "memory", "pods", "ephemeral-storage")


def new_pods(path: str, replicas: int | None = None) -> dict[str, Any]:
    """Convert the workloads in a file to a List of pending pods.

    Parameters
    ----------
    path : JSON or YAML (then of several documents): Deployment, StatefulSet, ReplicaSet,
        ReplicationController, Job, DaemonSet, Pod, or a List of them.
    replicas : of each workload; what it says itself when not given.

    Raises
    ------
    InvalidFile
        None of the objects holds pods, or one does of which the number is not known.
    """
    found = documents(read_text(path), path)
    items: list[dict[str, Any]] = []
    kinds = []
    for item in _objects(found, path):
        kinds.append(kind := item.text("kind"))
        if kind == "CronJob":  # it does not say how many run at one time
            raise item.wrong("kind", kind, f"one of {', '.join(_NUMBERS)}", "Give its pods as Job")
        if kind in _NUMBERS:
            items += _copies(item, kind, replicas)
    rest = [kind for kind in kinds if kind not in _NUMBERS and kind not in _HARMLESS]
    if not items:
        raise InvalidFile(
            f"{path} holds {', '.join(dict.fromkeys(kinds)) or 'nothing'}, of which no pod comes; "
            f"expected at least one of {', '.join(_NUMBERS)}, with a replica"
        )
    # overhead that a runtime class adds is in no manifest
    rest += ["RuntimeClass"] * any("runtimeClassName" in item["spec"] for item in items)
    items += [{"kind": kind, "metadata": {"name": "-"}} for kind in rest]  # to be named
    return {"apiVersion": "v1", "kind": "List", "items": items}


def documents(text: str, path: str) -> list[Any]:
    """Parse the documents of a JSON or YAML file.

    Raises
    ------
    InvalidFile
        It is neither, or YAML and PyYAML is not installed.
    """
    if text.lstrip()[:1] in ("{", "["):
        return [parse_any_json(text, path)]
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise InvalidFile(
            f"{path} is no JSON, and YAML needs the extra yaml ({error}): {install('yaml')}; "
            "or give JSON, by kubectl -o json"
        ) from None
    try:
        loader = yaml.SafeLoader  # says more of what is wrong than the quick one
        if len(text) > _LARGE:
            loader = getattr(yaml, "CSafeLoader", loader)
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, loader)):
            raise ValueError("an alias (*name): write out what it stands for")
        return json.loads(json.dumps(list(yaml.load_all(text, loader)), default=str))  # type: ignore[no-any-return]
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        words = " ".join(str(error).split())
        raise InvalidFile(f"{path} is neither JSON nor YAML that is read here: {words}") from None


def _objects(found: list[Any], path: str) -> Iterator[Fields]:
    for place, content in enumerate(found, 1):
        if content is None:  # nothing between two "---"
            continue
        if not isinstance(content, dict) or not isinstance(content.get("kind"), str):
            raise InvalidFile(
                f"{path}: document {place} is {shortened(content)}; expected an object with a kind"
            )
        item = Fields(content, f"{path}: document {place}")
        if content["kind"].endswith("List"):
            own = content["kind"].removesuffix("List")
            for each in item.many("items"):
                yield Fields({"kind": own} | each.content, each.place)
        else:
            yield item


def _copies(item: Fields, kind: str, replicas: int | None) -> list[dict[str, Any]]:
    """Pending pods of one workload, as Kubernetes objects: as many as it has replicas."""
    about, spec = item.of("metadata"), item.of("spec")
    name, labels = about.name("name"), about.mapping("labels")
    if not name:
        raise about.wrong("name", None, f"the name of the {kind}")
    number = spec.whole(_NUMBERS[kind], 1) if _NUMBERS[kind] else 1
    replicas = None if kind == "DaemonSet" else replicas
    if kind == "Job":
        number = min(number, spec.whole("completions", number))
    if number < 0:
        raise spec.wrong(_NUMBERS[kind], number, "a whole number, 0 or more")
    if kind != "Pod":
        template = spec.of("template")
        labels, spec = template.of("metadata").mapping("labels"), template.of("spec")
    if not spec.many("containers"):
        raise spec.wrong("containers", None, "at least one container")
    labels |= {"pod-template-hash": "new"} if kind == "Deployment" else {}
    metadata = {
        "namespace": about.text("namespace") or "default", "labels": labels,
        "ownerReferences": [{"kind": kind, "name": name, "controller": True}],
    }  # fmt: skip
    inner = {key: value for key, value in spec.content.items() if key != "nodeName"}
    if claims := item.of("spec").many("volumeClaimTemplates"):
        made = [{"name": each.of("metadata").text("name"), "ephemeral": {}} for each in claims]
        inner["volumes"] = [*inner.get("volumes", []), *made]  # like these, made for each pod
    return [
        {"kind": "Pod", "metadata": metadata | {"name": f"{name}-new-{place}"}, "spec": inner}
        for place in range(1, (number if replicas is None else replicas) + 1)
    ]


def with_shape(state: ClusterState, shape: str, replicas: int) -> ClusterState:
    """Add equal pending pods to a state, with requests such as "cpu=4,memory=16Gi,gpu=1".

    Raises
    ------
    InvalidOption
        The text is none of that form, or names a resource that the state does not know.
    """
    requests = {"pods": 1} if state.platform == "kubernetes" else {}
    for part in shape.split(","):
        given, _, value = part.strip().partition("=")
        name = resource_of(state, given)
        if name is None:
            raise InvalidOption(f"shape names {given!r}; {suggest(given, resources_of(state))}")
        number = size_of(state, name, value)
        if not number or name in requests:
            units = {"csv": "in the units of the tables"}
            raise InvalidOption(
                f"shape is {shape!r}; expected amounts above 0, each of another resource, such as "
                f"cpu=4,memory=16Gi ({units.get(state.platform, '500m, 2 or 1.5Gi')})"
            )
        requests[name] = -(-number // 1)
    pods = (Pod("", f"new-{place}", "", requests, Role.PENDING) for place in range(1, replicas + 1))
    return replace(state, pods=(*state.pods, *pods))


def resources_of(state: ClusterState) -> list[str]:
    """Names of the resources in a state."""
    found = {name for node in state.nodes for name in node.allocatable}
    found |= {name for pod in state.pods for name in pod.requests}
    return sorted(found.union(_BASE if state.platform == "kubernetes" else ()))


def resource_of(state: ClusterState, name: str) -> str | None:
    """Full name of a resource in a state, where "gpu" stands for "nvidia.com/gpu" if it is unique;
    None if there is none.
    """
    known = resources_of(state)
    fits = [each for each in known if each.rpartition("/")[2] == name]
    return name if name in known else fits[0] if len(fits) == 1 else None


def size_of(state: ClusterState, resource: str, text: str) -> Fraction | None:
    """Parse an amount of a resource in the unit of the state; None if the text is not an amount."""
    plain = state.platform == "csv"  # there units are the user's own
    value = None if plain and text[-1:].isalpha() else measured(text)
    return None if value is None else value * (10**6 if plain else amount(Fraction(1), resource))

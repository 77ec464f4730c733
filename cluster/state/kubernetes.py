"""Reader of Kubernetes states: the output of `kubectl get nodes,pods,pdb -A -o json`, with pv, pvc,
csinodes, sc and ns in the same or in further files.

What is read is the published API (v1); what the default scheduler's filters look at is kept, what
they look at and this package does not model is named pod by pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import ceil
from operator import or_
from typing import Any

from ...instances.problem.errors import InvalidFile
from ...instances.problem.quantities import amount, measured
from ...instances.problem.tables import LARGEST
from .completeness import cut_list, first_of, kept_in_place, listed, require_one_cluster
from .constraints import OWNER, Expression, NodeTerm, Toleration, read_constraints, selector_of
from .fields import Fields, name_of
from .selectors import admits
from .state import (
    CARD,
    CORDONED,
    EMPTY_DIR,
    HOST_PATH,
    SHARES,
    TOPOLOGY,
    VOLUMES,
    Budget,
    ClusterState,
    Health,
    Node,
    Pod,
    Role,
    StateWarning,
    Taint,
)
from .volumes import Volumes

COMMAND = "kubectl get nodes,pods,pdb -A -o json"
"""What prints a state that is read here."""

_ROLES = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_MIRROR = "kubernetes.io/config.mirror"
_DAEMON = "cluster-autoscaler.kubernetes.io/daemonset-pod"
_KEPT = {
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"): (
        "it is marked safe-to-evict: false"
    ),
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "on-completion"): (
        "it is marked safe-to-evict: on-completion: wait until it ends"
    ),
    ("karpenter.sh/do-not-disrupt", "true"): "it is marked do-not-disrupt",
    ("karpenter.sh/do-not-evict", "true"): "it is marked do-not-evict",
}
_OWNERS = {"ReplicaSet", "ReplicationController", "StatefulSet", "Job"}
_GROUPS = {"", "apps", "batch", "extensions"}
"""Kinds of owners that start an evicted pod again anywhere, and groups of the API of theirs."""
_PASSING = ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure",
            "unschedulable")  # fmt: skip
"""Taints that every pod of a DaemonSet tolerates."""
_NODE_MARKS = {
    "cluster-autoscaler.kubernetes.io/scale-down-disabled": "scale-down-disabled",
    "karpenter.sh/do-not-disrupt": "do-not-disrupt",
}
_GANG_NOTES = (
    "scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name",
    "gang.scheduling.koordinator.sh/name",
)  # fmt: skip
"""Annotations that name the group of a pod: Volcano's, KAI's, Koordinator's."""

_GANG_LABELS = (
    "scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name", "kueue.x-k8s.io/pod-group-name",
    "volcano.sh/job-name", "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name",
    "ray.io/cluster",
)  # fmt: skip
"""Labels that do: those of the coscheduling plugin, Kueue, Volcano, JobSet, Kubeflow, Ray."""

_GANG_WORKERS = ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index")

_TOPOLOGIES = ("kueue.x-k8s.io/podset-required-topology",)
"""Annotations with the label of which a group wants nodes of one value."""

_OTHER_TOPOLOGIES = (
    "kueue.x-k8s.io/podset-slice-required-topology", "kai.scheduler/topology-required-placement",
)  # fmt: skip
"""Annotations that demand near nodes in a way that is not modelled."""

_BILLION = 10**9
_USED = {
    "Node", "Pod", "PodDisruptionBudget", "PersistentVolume", "PersistentVolumeClaim", "CSINode",
    "StorageClass", "Namespace",
}  # fmt: skip


def kubernetes_state(contents: dict[str, Any], with_nodes: bool = True) -> ClusterState:
    """Read the state in one or several files of Kubernetes objects.

    Parameters
    ----------
    contents : JSON by name of the file: mixed Lists, or a list of each kind.
    with_nodes : whether there must be a node.

    Raises
    ------
    InvalidFile
        There is no node or no pod, an object is no object of the API, a pod runs on a node that is
        not there, a quantity is none.
    """
    # 1. Sort the objects by kind.
    objects: dict[str, list[Fields]] = {kind: [] for kind in _USED}
    ignored: Counter[str] = Counter()  # kinds that are not read
    warnings: list[StateWarning] = []
    for where, content in contents.items():
        warnings += cut_list(Fields(content, where))
        for kind, item in _items(content, where):
            if kind in _USED:
                objects[kind].append(item)
            else:
                ignored[kind] += 1
    whole = ", ".join(contents)
    for kind, words in (("Node", "nodes"), ("Pod", "pods")):
        if not objects[kind] and (with_nodes or kind != "Node"):
            counts = {each: len(them) for each, them in objects.items() if them} | ignored
            seen = ", ".join(f"{number} {each}" for each, number in counts.items())
            raise InvalidFile(
                f"{whole}: a Kubernetes List without {words} (it holds {seen or 'nothing'}); make "
                f"it with `{COMMAND}`"
            )
    # 2. Read nodes, volumes, pods and budgets.
    attachable = {name_of(item)[1]: _attachable(item) for item in objects["CSINode"]}
    nodes = tuple(_node(item, attachable) for item in objects["Node"])
    volumes = Volumes(objects)
    spaces = {name_of(item)[1]: item.of("metadata").mapping("labels")
              for item in objects["Namespace"]}  # fmt: skip
    if not spaces.keys() >= {name_of(item)[0] for item in objects["Pod"]}:
        spaces = {}
    pods = tuple(_pod(item, volumes, spaces) for item in objects["Pod"])
    nodes = tuple(volumes.limited(node, pods) for node in nodes)
    nodes, pods, shares = with_shares(nodes, pods, objects)
    pods = tuple(each for pod in pods for each in _on_each(pod, nodes))
    budgets = tuple(_budget(item) for item in objects["PodDisruptionBudget"])
    # 3. Assumptions and warnings.
    assumptions = [*kept_in_place(pods), *shares]
    if volumes.unbound:
        text = f"{first_of(sorted(volumes.unbound))} taken to be made wherever the storage class "
        text += "allows, as no volume is bound yet; its capacity is not read"
        assumptions.append(StateWarning("unbound-claims", text))
    for mark, words in _NODE_MARKS.items():
        marked = [
            name_of(item)[1]
            for item in objects["Node"]
            if item.of("metadata").mapping("annotations").get(mark) == "true"
        ]
        if marked:
            text = f"marked {words}, which is not enforced: {', '.join(marked)}"
            assumptions.append(StateWarning("node-marks", text))
    warnings += listed(objects, pods, budgets)
    state = ClusterState(
        "kubernetes", next(iter(contents)), nodes, pods, budgets, dict(ignored), tuple(warnings),
        tuple(assumptions),
    )  # fmt: skip
    return require_one_cluster(state, whole, f"export them together with `{COMMAND}`")


def _items(content: Any, where: str) -> Iterable[tuple[str, Fields]]:
    """Iterate over the objects of a list with their kinds, which a list of one kind omits in its
    items.
    """
    kind = str(content.get("kind"))
    if kind == "Table":
        raise InvalidFile(f"{where} is a Table, rows without objects; give what `{COMMAND}` prints")
    if kind != "List" and not kind.endswith("List"):
        yield kind, _named(Fields(content, where), kind, where)
        return
    items = Fields(content, where)
    if "items" not in items:
        raise items.wrong("items", None, "a list of objects")
    for item in items.many("items"):
        each = item.text("kind") or kind.removesuffix("List")
        yield each, _named(item, each, where)


def _named(item: Fields, kind: str, where: str) -> Fields:
    about = item.of("metadata")
    read = about.name if kind in _USED else about.text
    name, namespace = read("name"), read("namespace")
    if not name:
        raise about.wrong("name", None, f"the name of the {kind or 'object'}")
    title = f"{namespace}/{name}" if namespace else name
    return Fields(item.content, f"{where}: {kind[:1].lower()}{kind[1:]} {title}")


def _amounts(fields: Fields) -> Counter[str]:
    """Convert quantities by resource name to billionths, rounded up as the Kubernetes API does."""
    found = Counter[str]()
    for name, given in fields.content.items():
        value = measured(given if isinstance(given, str) else repr(given))
        if isinstance(given, bool) or value is None:
            raise fields.wrong(name, given, "a quantity such as 500m, 2 or 1.5Gi")
        found[name] = ceil(value * _BILLION)
    return found


def _whole(amounts: Mapping[str, int], fields: Fields) -> dict[str, int]:
    found = {name: amount(Fraction(value, _BILLION), name) for name, value in amounts.items()}
    for name, value in found.items():
        if value >= LARGEST:
            raise fields.wrong(name, value, "an amount below 2**53")
    return found


def _attachable(item: Fields) -> dict[str, int]:
    """Maximum number of attached volumes of each CSI driver on a node, where known."""
    limits = {
        f"{VOLUMES}{driver.text('name')}": driver.of("allocatable").whole("count", -1)
        for driver in item.of("spec").many("drivers")
    }
    return {name: count for name, count in limits.items() if count >= 0}


def _node(item: Fields, attachable: dict[str, dict[str, int]]) -> Node:
    about, spec, status = item.of("metadata"), item.of("spec"), item.of("status")
    name, labels = about.text("name"), about.mapping("labels")
    taints = [
        Taint(taint.text("key"), taint.text("value"), taint.text("effect"))
        for taint in spec.many("taints")
    ]
    hard = [taint for taint in taints if taint.effect in ("NoSchedule", "NoExecute")]
    if spec.flag("unschedulable") and CORDONED not in hard:
        hard.append(CORDONED)
    given = status.of("allocatable")
    if not given.content:
        raise status.wrong("allocatable", None, "what pods may take, such as cpu, memory and pods")
    ready = [c.text("status") for c in status.many("conditions") if c.text("type") == "Ready"]
    return Node(
        name=name,
        allocatable=_whole(_amounts(given), given) | attachable.get(name, {}),
        labels=labels,
        taints=tuple(hard),
        can_be_drained=not any(role in labels for role in _ROLES),
        not_ready_reason="" if ready in ([], ["True"]) else "not ready",
    )


def requests_of(spec: Fields, status: Fields) -> dict[str, int]:
    """What a pod takes as the scheduler counts it: its containers and restartable init containers
    together, or the most that is needed while an init container runs, and its overhead. While a
    container is resized in place, what it has and what it asks for, whichever is more; what it has
    where its node can never give it more. A limit stands for a request that is missing.
    """
    never = ("PodResizePending", "Infeasible") in [
        (each.text("type"), each.text("reason")) for each in status.many("conditions")
    ]
    given: dict[str, list[Fields]] = {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for each in status.many(field):
            given[each.text("name")] = [
                each.of("resources").of("requests"), each.of("allocatedResources")
            ]  # fmt: skip

    named: set[str] = set()  # what some container has a request for, be it 0

    def asked(container: Fields) -> Counter[str]:
        has = given.get(container.text("name"), ())
        # a missing request is the limit: so the API server fills it in
        own = _amounts(container.of("resources").of("limits"))
        own = Counter({**own, **_amounts(container.of("resources").of("requests"))})
        named.update(own)
        amounts = [] if has and never else [own]
        return reduce(or_, (*amounts, *map(_amounts, has)))  # of each resource the most

    running, beginning = Counter[str](), Counter[str]()  # all that goes on; while one begins
    for item in spec.many("initContainers"):
        own = asked(item)
        if item.text("restartPolicy") == "Always":
            running += own
            own.clear()
        beginning |= own + running
    for item in spec.many("containers"):
        running += asked(item)
    of_pod = spec.of("resources")
    limits = _amounts(of_pod.of("limits"))
    spare = {name: value for name, value in limits.items() if name not in named}
    whole = {  # a pod's own stand for its containers'
        name: value
        for name, value in (spare | _amounts(of_pod.of("requests"))).items()
        if name in ("cpu", "memory") or name.startswith("hugepages-")
    }
    total = Counter({**(running | beginning), **whole}) + _amounts(spec.of("overhead"))
    return _whole(total, spec) | {"pods": 1}


def _pod(item: Fields, volumes: Volumes, spaces: Mapping[str, dict[str, str]]) -> Pod:
    about, spec, status = item.of("metadata"), item.of("spec"), item.of("status")
    namespace, labels = about.text("namespace"), about.mapping("labels")
    owners = [owner for owner in about.many("ownerReferences") if owner.flag("controller")]
    owner = (owners[0].text("kind"), owners[0].text("name")) if owners else ("", "")
    notes = about.mapping("annotations")
    topology = next((notes[key] for key in _TOPOLOGIES if key in notes), "")
    role, reason = _role(about, spec, status, owner)
    group = owners[0].text("apiVersion").rpartition("/")[0] if owners else ""
    terms, drivers, unread = volumes.read(item)
    kept = [(OWNER, f"its owner, a kind {owner[0]}, may need it where it is")] * (
        role is Role.MOVABLE and (owner[0] not in _OWNERS or group not in _GROUPS)
    )
    asked = read_constraints(item, spaces, kept)
    unread += asked.pop("unsupported_constraints")
    unread += [(TOPOLOGY, f"its gang is to be in one {topology}")] * bool(topology)
    unread += [("topology of parts", f"{key} is not read")
               for key in _OTHER_TOPOLOGIES if key in notes]  # fmt: skip
    return Pod(
        namespace=namespace, name=about.text("name"),
        node=spec.text("nodeName"), requests={**requests_of(spec, status), **drivers},
        role=role, reason=reason, labels=labels, owner=owner,
        volume_node_affinity=tuple(terms), **asked,
        unsupported_constraints=tuple(dict.fromkeys(unread)), soft=_soft(spec, owner),
        health=_health(status), gang=_gang(notes, labels, spec, owner),
        gang_topology=topology, priority=spec.whole("priority"),
    )  # fmt: skip


def _gang(
    notes: Mapping[str, str], labels: Mapping[str, str], spec: Fields, owner: tuple[str, str]
) -> str:
    """Group of a pod within its namespace, else its Job; "" for none."""
    named = [notes[key] for key in _GANG_NOTES if notes.get(key)]
    named += [spec.of("schedulingGroup").text("podGroupName"), spec.of("workloadRef").text("name")]
    named += [labels[key] for key in _GANG_LABELS if labels.get(key)]
    if all(labels.get(key) for key in _GANG_WORKERS):
        named.append("-".join(labels[key] for key in _GANG_WORKERS))
    return next(filter(None, named), owner[1] if owner[0] == "Job" else "")


def _on_each(pod: Pod, nodes: Sequence[Node]) -> list[Pod]:
    """Expand a DaemonSet pod that is added into one pod for each node that takes it; return other
    pods unchanged.
    """
    terms = [term for group in pod.affinity for term in group]
    if pod.owner[0] != "DaemonSet" or pod.role is not Role.PENDING or any(t.fields for t in terms):
        return [pod]
    if not nodes:
        raise InvalidFile(
            f"{pod.title}: a DaemonSet's pods are not known without nodes; give STATE"
        )
    passing = (Toleration(f"node.kubernetes.io/{key}", "Exists", "", "") for key in _PASSING)
    one = replace(pod, tolerations=(*pod.tolerations, *passing))
    named = {node.name: NodeTerm((), (Expression("metadata.name", "In", (node.name,)),))
             for node in nodes if admits(node, one)}  # fmt: skip
    return [replace(one, name=f"{pod.name}-{name}", affinity=(*pod.affinity, (term,)))
            for name, term in named.items()]  # fmt: skip


def _role(about: Fields, spec: Fields, status: Fields, owner: tuple[str, str]) -> tuple[Role, str]:
    if status.text("phase") in ("Succeeded", "Failed"):
        return Role.FINISHED, ""
    if not spec.text("nodeName"):
        return Role.PENDING, ""
    notes = about.mapping("annotations")
    if owner[0] == "DaemonSet" or notes.get(_DAEMON) == "true":
        return Role.RESIDENT, "a DaemonSet's"
    if owner[0] == "Node" or _MIRROR in notes:
        return Role.RESIDENT, "a static pod"
    if "deletionTimestamp" in about:
        return Role.LEAVING, ""
    for (key, value), words in _KEPT.items():
        if notes.get(key) == value:
            return Role.FIXED, words
    if not owner[0]:
        return Role.FIXED, "nothing would start it again: it has no controller"
    return Role.MOVABLE, ""


def _health(status: Fields) -> Health:
    if status.text("phase") == "Pending":
        return Health.STARTING
    # what does not say so is taken to be ready: then its budget holds
    ready = [c.text("status") for c in status.many("conditions") if c.text("type") == "Ready"]
    return Health.READY if ready in ([], ["True"]) else Health.UNREADY


def _soft(spec: Fields, owner: tuple[str, str]) -> tuple[str, ...]:
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    rules, volumes = spec.of("affinity"), spec.many("volumes")
    anyway = (
        each.text("whenUnsatisfiable") == "ScheduleAnyway"
        for each in spec.many("topologySpreadConstraints")
    )
    kinds = ("nodeAffinity", "podAffinity", "podAntiAffinity")
    table = {
        "preferred affinity": any(rules.of(kind).many(preferred) for kind in kinds),
        "ScheduleAnyway spread": any(anyway),
        EMPTY_DIR: any("emptyDir" in each for each in volumes),
        HOST_PATH: any("hostPath" in each for each in volumes),
        "a job (it begins again)": owner[0] == "Job",
    }
    return tuple(words for words, there in table.items() if there)


def _budget(item: Fields) -> Budget:
    about, spec, status = item.of("metadata"), item.of("spec"), item.of("status")
    healthy, desired = status.whole("currentHealthy"), status.whole("desiredHealthy")
    return Budget(
        about.text("namespace"), about.text("name"), selector_of(spec, "selector"),
        # a status of an older budget: evictions are refused until it is renewed
        status.whole("disruptionsAllowed")
        * (status.whole("observedGeneration") >= about.whole("generation")),
        spec.text("unhealthyPodEvictionPolicy") == "AlwaysAllow" or healthy >= desired > 0,
    )  # fmt: skip


_REGISTERED = "hami.io/node-nvidia-register"
_EXTENDED = ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores",
             "nvidia.com/priority")  # fmt: skip
"""What HAMi's own filter counts: nodes list none of it."""
_KAI, _GROUP = ("gpu-fraction", "gpu-memory"), "runai-gpu-group"
_RESERVATIONS = ("kai-resource-reservation", "runai-reservation")
_WORDS = "it has or asks a share of a card"


def with_shares(
    nodes: Sequence[Node], pods: Sequence[Pod], objects: Mapping[str, Sequence[Fields]]
) -> tuple[tuple[Node, ...], tuple[Pod, ...], list[StateWarning]]:
    """Mark nodes and pods whose annotations mention GPUs shared by HAMi or KAI, which are not
    modelled: pods with a share are pinned, no plan places pods on their nodes, and bounds do not
    limit the GPUs there.

    Parameters
    ----------
    objects : of kind "Node" and "Pod", in the order of the nodes and pods.
    """
    registered = {name_of(item)[1] for item in objects["Node"] if _REGISTERED in _notes(item)}
    listed = {name for node in nodes for name in node.allocatable}
    new, shared = [], set(registered)
    for pod, item in zip(pods, objects["Pod"], strict=True):
        # a pod that reserves cards for others; names that no node lists; a card of a shared node
        holder = pod.namespace in _RESERVATIONS and bool(pod.labels.get(_GROUP))
        extended = {name for name in _EXTENDED if pod.requests.get(name)} - listed
        on_shared = pod.node in registered and bool(pod.requests.get(CARD))
        if holder or extended or on_shared or not _notes(item).keys().isdisjoint(_KAI):
            left = {name: n for name, n in pod.requests.items() if name not in extended}
            role = Role.RESIDENT if holder and pod.placed else pod.role
            stays = (*pod.unsupported_constraints, (SHARES, _WORDS))
            pod = replace(pod, role=role, requests=left, unsupported_constraints=stays)
            shared |= {pod.node} if pod.placed else set()
        new.append(pod)
    number = sum((SHARES, _WORDS) in p.unsupported_constraints and p.role is not Role.RESIDENT
                 for p in new)  # fmt: skip
    words = f"cards that pods share are not modelled: {number} pods with a share stay, and no plan "
    words += f"puts a pod on {len(shared)} nodes"
    noted = [StateWarning("card-shares", words)] * bool(number or shared)

    def unknown(node: Node) -> Node:
        why = node.unknown_reason or "pods share its cards"
        return replace(node, unknown_reason=why, unsure=node.unsure | {CARD})

    changed = tuple(unknown(node) if node.name in shared else node for node in nodes)
    return changed, tuple(new), noted


def _notes(item: Fields) -> dict[str, str]:
    return item.of("metadata").mapping("annotations")

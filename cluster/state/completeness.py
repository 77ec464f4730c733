"""Completeness checks of a state file: each sign that it shows less than the cluster has is a
warning with a code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from ...instances.problem.errors import InvalidFile, InvalidOption
from ...instances.problem.fields import repeated
from .fields import Fields
from .state import Budget, ClusterState, Pod, Role, StateWarning

CODES = (
    "one-namespace", "no-system-pods", "no-daemonsets", "namespaces-missing",
    "pods-per-node-too-few", "no-requests", "truncated", "stale", "no-pdb",
)  # fmt: skip
"""The codes of all warnings."""

VOLUMES_NOT_LISTED = "volumes not in the file, add pv,pvc"
LIMITS_NOT_LISTED = "limits of attached volumes unknown, add csinodes"
SHARED = "a volume of it is shared"
"""Why pods stay that might move if the file said more, or volumes were counted once a node."""

_ALL = "export with -A, as one who may list all pods"
_SYSTEM = "kube-system"
_SYSTEMS = ("openshift-", "gke-managed-")
"""Where platforms keep their own pods: a namespace, and beginnings of others."""

_WITHOUT_DAEMONSETS = {
    ("node.kubernetes.io/instance-type", "k3s"),
    ("microk8s.io/cluster", "true"),
    ("eks.amazonaws.com/compute-type", "auto"),
    ("eks.amazonaws.com/compute-type", "fargate"),
    ("type", "virtual-kubelet"),
}
"""Labels of nodes whose network and proxy are no pods: they may have no DaemonSet at all."""

_NEVER_ATTACHED = {"configMap", "downwardAPI", "emptyDir", "hostPath", "projected", "secret"}
"""Volumes that are on a node without being attached to it."""

_OLD = timedelta(days=1)
FEW = 4
"""A node's own count contradicts when more than one in so many is not in the file; a few begin or
end while the file is made.
"""


def missing(state: ClusterState) -> tuple[StateWarning, ...]:
    """Warnings derived from the pods of a Kubernetes state about pods that the file lacks; none for
    other platforms.
    """
    if state.platform != "kubernetes":
        return ()
    found = []
    names = sorted({pod.namespace for pod in state.pods})
    ready = [node for node in state.nodes if not node.not_ready_reason]
    if len(names) == 1 and len(state.nodes) > 1:
        words = f"all {len(state.pods)} pods are of the namespace {names[0]}"
        found.append(StateWarning("one-namespace", words, _ALL))
    if ready and not any(name == _SYSTEM or name.startswith(_SYSTEMS) for name in names):
        words = f"no pod of {_SYSTEM} is in the file, though nodes are ready"
        found.append(StateWarning("no-system-pods", words, _ALL))
    daemons = any(pod.owner[0] == "DaemonSet" for pod in state.pods)
    if not daemons and any(_WITHOUT_DAEMONSETS.isdisjoint(node.labels.items()) for node in ready):
        words = "no node holds a pod of a DaemonSet"
        found.append(StateWarning("no-daemonsets", words, _ALL))
    counted = [pod for pod in state.pods if pod.role in (Role.MOVABLE, Role.PENDING)]
    lacking = {
        resource: sum(not pod.requests.get(resource) for pod in counted)
        for resource in ("cpu", "memory")
    }
    if parts := [f"{number} no {resource}" for resource, number in lacking.items() if number]:
        first, _, rest = " and ".join(parts).partition(" ")
        verb = "requests" if first == "1" else "request"
        words = (
            f"{first} of {len(counted)} pods to place {verb} {rest}: they count as nothing there, "
            "and the answer is about the rest"
        )
        cure = "give them requests and export again"
        found.append(StateWarning("no-requests", words, cure))
    return tuple(found)


def require_one_cluster(state: ClusterState, files: str, cure: str) -> ClusterState:
    """Raise InvalidFile if a name occurs twice or a pod runs on a node that is not in the state.

    Raises
    ------
    InvalidFile
        Naming the first that is not so.
    """
    names, title = [node.name for node in state.nodes], state.workload_noun
    known, pods = set(names), state.pods
    titles = [pod.title for pod in pods]
    for noun, them in ((state.host_noun, names), (title, titles)):
        if (twice := repeated(them)) is not None:
            raise InvalidFile(
                f"{files}: {noun} {twice!r} is given twice; give one state of one cluster"
            )
    lost = next((pod for pod in pods if pod.placed and pod.node not in known), None)
    if lost is not None:
        raise InvalidFile(
            f"{files}: {title} {lost.title} runs on {state.host_noun} {lost.node!r}, which is not "
            f"in the file; expected one of its {len(known)} {state.host_noun}s: {cure}"
        )
    return state


def first_of(names: Sequence[str], most: int = 3) -> str:
    """Join the first `most` names into a text, with "..." for the others."""
    return ", ".join([*names[:most], *["..."] * (len(names) > most)])


def accepted(state: ClusterState, codes: Iterable[str]) -> tuple[StateWarning, ...]:
    """Warnings of a state without those whose codes the user accepts.

    Raises
    ------
    InvalidOption
        A code is none of `CODES`.
    """
    codes = set(codes)
    for code in sorted(codes.difference(CODES)):
        raise InvalidOption(f"accept is {code!r}; expected one of {', '.join(CODES)}")
    return tuple(warning for warning in state.warnings if warning.code not in codes)


def cut_list(items: Fields) -> list[StateWarning]:
    """Warning if an exported list of objects was truncated by a limit."""
    about = items.of("metadata")
    if not about.text("continue"):
        return []
    rest = about.whole("remainingItemCount")
    words = f"{items.place} is cut{f': {rest} more objects are not in it' if rest else ''}"
    return [StateWarning("truncated", words, "export without a limit")]


def listed(
    objects: Mapping[str, Sequence[Fields]], pods: Sequence[Pod], budgets: Sequence[Budget]
) -> list[StateWarning]:
    """Warnings derived from the objects of a Kubernetes file about pods that the file lacks, and
    about its age.
    """
    found = []
    if not budgets:
        words = "no disruption budgets are in the file"
        found.append(StateWarning("no-pdb", words, "get pdb too if there are"))
    here = {pod.namespace for pod in pods}
    expected = Counter[str]()
    old = []
    for item in objects["PodDisruptionBudget"]:
        about, status = item.of("metadata"), item.of("status")
        expected[about.text("namespace")] += status.whole("expectedPods")
        if status.whole("observedGeneration") < about.whole("generation"):
            old.append(f"{about.text('namespace')}/{about.text('name')}")
    if absent := [name for name, count in expected.items() if count and name not in here]:
        words = (
            f"disruption budgets count {sum(expected[name] for name in absent)} pods of "
            f"{first_of(absent)}, of which none is in the file"
        )
        found.append(StateWarning("namespaces-missing", words, _ALL))
    if old:
        words = (
            f"disruption budgets changed and are not counted yet, so they allow 0: {first_of(old)}"
        )
        found.append(StateWarning("stale", words, "export again"))
    return found + _volumes_in_use(objects) + _age(objects["Node"])


def _volumes_in_use(objects: Mapping[str, Sequence[Fields]]) -> list[StateWarning]:
    """Warning if nodes report more mounted volumes than the pods in the file use, beyond normal
    changes during the export.
    """
    users = Counter[str]()
    for pod in objects["Pod"]:
        users[pod.of("spec").text("nodeName")] += sum(
            _NEVER_ATTACHED.isdisjoint(volume.content) for volume in pod.of("spec").many("volumes")
        )
    counts = {
        item.of("metadata").text("name"): len(item.of("status").texts("volumesInUse"))
        for item in objects["Node"]
    }
    less = {name: number - users[name] for name, number in counts.items() if number > users[name]}
    lost = sum(less.values())
    if FEW * lost <= sum(counts.values()):
        return []
    most = max(less, key=lambda name: less[name])
    words = (
        f"nodes count {sum(counts.values())} volumes in use, of which {lost} belong to nothing in "
        f"the file ({less[most]} on {most})"
    )
    return [StateWarning("pods-per-node-too-few", words, _ALL)]


def _age(nodes: Sequence[Fields]) -> list[StateWarning]:
    """Warning if the newest heartbeat of a node is old, so that the file may be."""
    times = [
        time
        for item in nodes
        for condition in item.of("status").many("conditions")
        if (time := condition.text("lastHeartbeatTime"))
    ]
    try:
        newest = datetime.fromisoformat(max(times, default=""))
        old = datetime.now(UTC) - newest > _OLD
    except (ValueError, TypeError):
        return []
    words = f"no node was heard of after {newest:%Y-%m-%d %H:%M}, more than a day ago"
    return [StateWarning("stale", words, "export again")] if old else []


def kept_in_place(pods: Iterable[Pod]) -> list[StateWarning]:
    """Notes on pods that are pinned only because the file lacks objects."""
    found = []
    for code, words, cure in (
        ("no-pv", VOLUMES_NOT_LISTED, "get pv,pvc too"),
        ("no-csinodes", LIMITS_NOT_LISTED, "get csinodes too"),
    ):
        number = sum(("volumes", words) in pod.unsupported_constraints for pod in pods)
        if number:
            text = f"volumes of {number} pods are not known, so they stay"
            found.append(StateWarning(code, text, cure))
    return found

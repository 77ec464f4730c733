"""GPUs shared by HAMi or KAI, which are not modelled: pods with a share are pinned, no plan places
pods on their nodes, and bounds do not limit the GPUs there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .fields import Fields, name_of
from .state import CARD, SHARES, Node, Pod, Role, StateWarning

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
    """Mark nodes and pods whose annotations mention shared GPUs; return others unchanged.

    Parameters
    ----------
    objects : of kind "Node" and "Pod", in the order of the nodes and pods.
    """
    registered = {name_of(item)[1] for item in objects["Node"] if _REGISTERED in _notes(item)}
    listed = {name for node in nodes for name in node.allocatable}
    new, shared = [], set(registered)
    for pod, item in zip(pods, objects["Pod"], strict=True):
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

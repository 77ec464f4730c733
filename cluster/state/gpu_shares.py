"""Cards that pods share, as HAMi and KAI note it in annotations.

A pod with a share stays on its card in a plan, and no plan places one: on which card its scheduler
puts it is not modelled. A bound knows of a share only the part of a card's memory that it takes.
Two resources stand for this beside what the file says: cards that hold no share, and parts of
cards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ...instances.problem.quantities import measured
from .fields import Fields
from .state import CARD, CARD_PARTS, CARDS, PARTS, SHARES, Node, Pod, Role, StateWarning

_REGISTERED = "hami.io/node-nvidia-register"
_GIVEN = ("hami.io/vgpu-devices-allocated", "hami.io/vgpu-devices-to-allocate")
_MEMORY, _PERCENT = "nvidia.com/gpumem", "nvidia.com/gpumem-percentage"
_EXTENDED = (_MEMORY, _PERCENT, "nvidia.com/gpucores", "nvidia.com/priority")
"""What HAMi's own filter counts: nodes list none of it."""
_CHOICES = (
    "nvidia.com/use-gputype", "nvidia.com/nouse-gputype", "nvidia.com/use-gpuuuid",
    "nvidia.com/nouse-gpuuuid", "nvidia.com/numa-bind", "nvidia.com/vgpu-mode",
)  # fmt: skip
_FRACTION, _KAI_MEMORY, _DEVICES = "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"
_GROUP = "runai-gpu-group"
_RESERVATIONS = ("kai-resource-reservation", "runai-reservation")
_CARD_MEMORY = "nvidia.com/gpu.memory"


@dataclass(frozen=True)
class _Card:
    """A card that HAMi registered: its memory in MiB, and whether it is given out in parts."""

    name: str
    memory: int
    healthy: bool
    plain: bool


def with_shares(
    nodes: Sequence[Node], pods: Sequence[Pod], objects: Mapping[str, Sequence[Fields]]
) -> tuple[tuple[Node, ...], tuple[Pod, ...], list[StateWarning]]:
    """Nodes and pods with what their annotations say of shared cards; as they are where none do.

    Parameters
    ----------
    objects : of kind "Node" and "Pod", in the order of the nodes and pods.
    """
    reader = _Reader(nodes, [_notes(item) for item in objects["Node"]])
    notes = [_notes(item) for item in objects["Pod"]]
    hami = bool(reader.cards)
    shared = hami or any(_FRACTION in each or _KAI_MEMORY in each for each in notes)
    if not shared:
        return tuple(nodes), tuple(pods), []
    new = [reader.pod(pod, each) for pod, each in zip(pods, notes, strict=True)]
    new = reader.with_first_sharers(new)
    number = sum(any(kind == SHARES for kind, _ in pod.unsupported_constraints) and
                 pod.role is not Role.RESIDENT for pod in new)  # fmt: skip
    words = f"{number} pods have or ask a share of a card: these stay, and no plan places one"
    noted = [StateWarning("card-shares", words)] * bool(number)
    return tuple(map(reader.node, nodes)), tuple(new), noted


def whole_cards(requests: Mapping[str, int], known: Iterable[str]) -> dict[str, int]:
    """Requests of a pod that shares no card, in a state that knows some resources."""
    number, known = requests.get(CARD, 0), set(known)
    found = dict(requests)
    if number and CARDS in known:
        found[CARDS] = number
    if number and PARTS in known:
        found[PARTS] = number * CARD_PARTS
    return found


def _notes(item: Fields) -> dict[str, str]:
    return item.of("metadata").mapping("annotations")


class _Reader:
    """The cards of the nodes, and what pods have of them."""

    def __init__(self, nodes: Sequence[Node], notes: Sequence[Mapping[str, str]]) -> None:
        self.cards: dict[str, list[_Card] | None] = {
            node.name: _registered(each[_REGISTERED])
            for node, each in zip(nodes, notes, strict=True) if _REGISTERED in each
        }  # fmt: skip
        self.used: dict[str, set[str]] = {}
        self.memory = max(
            [card.memory for cards in self.cards.values() for card in cards or ()]
            + [int(node.labels.get(_CARD_MEMORY, "")) for node in nodes
               if node.labels.get(_CARD_MEMORY, "").isdigit()],
            default=0,
        )  # fmt: skip
        self.known = [CARD, PARTS, *[CARDS] * bool(self.cards)]
        self.listed = {name for node in nodes for name in node.allocatable}
        self.first: dict[tuple[str, str], int] = {}
        self.groups: list[tuple[str, ...]] = []

    def node(self, node: Node) -> Node:
        """A node with the cards that pods may have whole, and parts of all."""
        there, cards, unknown = node.allocatable.get(CARD, 0), self.cards.get(node.name), ""
        if node.name in self.cards:
            if cards is None or not all(card.plain for card in cards):
                unknown = f"what {_REGISTERED} says of its cards is not modelled"
            if cards is not None:
                used = self.used.get(node.name, set())
                there = sum(card.healthy or card.name in used for card in cards)
        amounts = {PARTS: there * CARD_PARTS, **({CARDS: there} if CARDS in self.known else {})}
        return replace(
            node, allocatable={**node.allocatable, **amounts},
            unknown_reason=node.unknown_reason or unknown,
        )  # fmt: skip

    def pod(self, pod: Pod, notes: Mapping[str, str]) -> Pod:
        """A pod with what it has, or asks, of cards; `groups` has the cards that it shares."""
        self.groups.append(())
        if pod.labels.get(_GROUP) and pod.namespace in _RESERVATIONS:
            self.groups[-1] = (_GROUP + pod.labels[_GROUP],)
            role = Role.RESIDENT if pod.placed else pod.role
            return _sharing(replace(pod, role=role, reason="it holds a card that pods share"),
                            "it holds a card that pods share")  # fmt: skip
        if _FRACTION in notes or _KAI_MEMORY in notes:
            self.groups[-1] = tuple(
                _GROUP + value for key, value in sorted(pod.labels.items())
                if value and (key == _GROUP or key.startswith(f"{_GROUP}/"))
            )  # fmt: skip
            share, memory = (measured(notes.get(key, "")) for key in (_FRACTION, _KAI_MEMORY))
            part = _part(share, memory, self.memory)
            devices = int(notes.get(_DEVICES, "1")) if notes.get(_DEVICES, "1").isdigit() else 1
            taken = {**pod.requests, PARTS: part * devices}
            return _sharing(replace(pod, requests=taken), "it has a share of a card (KAI)")
        if not self.cards or not any(pod.requests.get(name) for name in (CARD, *_EXTENDED)):
            return replace(pod, requests=whole_cards(pod.requests, self.known))
        return self._of_hami(pod, notes)

    def _of_hami(self, pod: Pod, notes: Mapping[str, str]) -> Pod:
        given = next((notes[key] for key in _GIVEN if notes.get(key, "").strip(":;")), "")
        asked = dict(pod.requests)
        memory, percent = asked.get(_MEMORY, 0), asked.get(_PERCENT, 0)
        for name in set(_EXTENDED) - self.listed:
            asked.pop(name, None)
        number = asked.setdefault(CARD, 1)
        choices = tuple((SHARES, f"{key} is not read") for key in _CHOICES if key in notes)
        pod = replace(pod, requests=whole_cards(asked, self.known),
                      unsupported_constraints=(*pod.unsupported_constraints, *choices))  # fmt: skip
        cards = {card.name: card for card in self.cards.get(pod.node) or ()}
        if not pod.placed or pod.node not in self.cards:
            if not memory and percent in (0, 100):
                return pod
            part = _part(Fraction(percent, 100) or None, Fraction(memory) or None, self.memory)
            return _sharing(_with(pod, number, part), "it asks a share of a card (HAMi)")
        devices = _devices(given)
        self.used.setdefault(pod.node, set()).update(name for name, _ in devices)
        if not devices or any(name not in cards for name, _ in devices):
            return _sharing(_with(pod, number, 0), "which cards it has is not in the file")
        shares = [(name, part) for name, part in devices if part < cards[name].memory]
        if not shares:
            return _with(pod, len(devices), len(devices) * CARD_PARTS)
        whole = len(devices) - len(shares)
        part = sum(_part(None, Fraction(memory), self.memory) for _, memory in shares)
        self.groups[-1] = tuple(name for name, _ in shares)
        return _sharing(_with(pod, whole, whole * CARD_PARTS + part),
                        "it has a share of a card (HAMi)")  # fmt: skip

    def with_first_sharers(self, pods: list[Pod]) -> list[Pod]:
        """The pods, where of those that share a card one has it: KAI's reservation, or else the
        first.
        """
        order = sorted(range(len(pods)), key=lambda n: pods[n].namespace not in _RESERVATIONS)
        seen: set[tuple[str, str]] = set()
        for n in (n for n in order if pods[n].placed):
            new = [name for name in dict.fromkeys(self.groups[n])
                   if (pods[n].node, name) not in seen]  # fmt: skip
            seen |= {(pods[n].node, name) for name in new}
            if not new or pods[n].namespace in _RESERVATIONS:
                continue
            kai = new[0].startswith(_GROUP)
            taken = dict(pods[n].requests)
            for resource in {CARD if kai else CARDS, *([CARDS] if CARDS in self.known else [])}:
                taken[resource] = taken.get(resource, 0) + len(new)
            pods[n] = replace(pods[n], requests=taken)
        return pods


def _with(pod: Pod, cards: int, parts: int) -> Pod:
    return replace(pod, requests={**pod.requests, CARDS: cards, PARTS: parts})


def _sharing(pod: Pod, words: str) -> Pod:
    """A pod whose place is not modelled."""
    return replace(
        pod, unsupported_constraints=(*pod.unsupported_constraints, (SHARES, words))
    )  # fmt: skip


def _part(share: Fraction | None, memory: Fraction | None, most: int) -> int:
    """The part of any card that a share takes at least, of so much memory where it says no part; 0
    where that is not known.
    """
    if share is None and memory is not None and most:
        share = memory / most
    return 0 if share is None else int(CARD_PARTS * (share if share < 1 else 1))


def _registered(text: str) -> list[_Card] | None:
    """The cards in an annotation of a node: seven or nine fields to a card, or JSON; None where it
    is in no such form.
    """
    try:
        if text.lstrip().startswith("["):
            return [
                _Card(str(each["id"]), int(each["devmem"]), bool(each.get("health", True)),
                      each.get("mode", "hami-core") in ("", "hami-core", "mps"))
                for each in json.loads(text)
            ]  # fmt: skip
        rows = [entry.split(",") for entry in text.split(":") if entry]
        return [
            _Card(row[0], int(row[2]), row[6] == "true",
                  len(row) < 9 or row[8] in ("", "hami-core", "mps"))
            for row in rows
        ]  # fmt: skip
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None


def _devices(text: str) -> list[tuple[str, int]]:
    """The cards that a pod has, with the memory it has of each; none where that is not readable."""
    found = []
    for entry in text.replace(";", ":").split(":"):
        name, *rest = entry.split(",")
        if name and len(rest) >= 2:
            if not rest[1].isdigit():
                return []
            found.append((name, int(rest[1])))
    return found

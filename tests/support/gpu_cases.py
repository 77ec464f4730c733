"""Small random states with cards and a gang that waits, and what must hold of `advise gpus` on them
against every placement.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from cotenant.cluster.judge.scheduler_filters import check_arrivals
from cotenant.cluster.plan.answer import Question
from cotenant.cluster.plan.gpus import admit
from cotenant.cluster.plan.optimum import SolveBudget
from cotenant.cluster.plan.to_packing import translate
from cotenant.cluster.state.kubernetes import kubernetes_state
from cotenant.cluster.state.state import ClusterState, Role
from support.advice_cases import Claim, _counts_others
from support.advice_states import random_list
from support.oracles.advice import Goals, joint_placements

MOST_PLACEMENTS = 3000
"""So many ways to place movable and pending pods are tried."""

CARD, GANG, DOMAIN = "nvidia.com/gpu", "pod-group.scheduling.sigs.k8s.io", "nvlink"


def random_gpu_list(rng: np.random.Generator) -> dict[str, Any]:
    """A List of few nodes with cards, in two domains; one to three pods that ran are a gang now."""
    content = random_list(rng)
    nodes = [item for item in content["items"] if item["kind"] == "Node"]
    them = [item for item in content["items"] if item["kind"] == "Pod"]
    used = dict.fromkeys((item["metadata"]["name"] for item in nodes), 0)
    for each in them:
        if rng.random() < 0.75:
            cards = int(rng.choice([1, 1, 2, 3]))
            ask = each["spec"]["containers"][0].setdefault("resources", {})
            ask.setdefault("requests", {})[CARD] = str(cards)
            name = each["spec"].get("nodeName")
            if name and each["status"]["phase"] == "Running":
                used[name] += cards
    for own in nodes:
        there = used[own["metadata"]["name"]] + int(rng.choice([0, 0, 1, 1, 2]))
        own["status"]["allocatable"][CARD] = str(there)
        if rng.random() < 0.9:
            own["metadata"]["labels"][DOMAIN] = f"d{rng.integers(2)}"
    running = [
        each for each in them
        if each["spec"].get("nodeName") and each["status"]["phase"] == "Running"
        and each["metadata"].get("ownerReferences", [{}])[0].get("kind") != "DaemonSet"
    ]  # fmt: skip
    for place in rng.permutation(len(running))[: rng.integers(1, 4)].tolist():
        each = running[place]
        del each["spec"]["nodeName"]
        each["status"] = {"phase": "Pending"}
        each["metadata"].pop("deletionTimestamp", None)
        each["metadata"].setdefault("labels", {})[GANG] = "train"
        requests = each["spec"]["containers"][0].setdefault("resources", {})["requests"]
        requests[CARD] = str(min(int(requests.get(CARD, 0)) + int(rng.integers(0, 2)), 3))
    return content


def _placements(
    content: dict[str, Any], topology: str, stay: set[str], reached: bool
) -> list[Goals] | None:
    """Goals of every placement of a gang within one topology domain; None if there are too many."""
    domains = {item["metadata"]["labels"].get(topology) for item in content["items"]
               if item["kind"] == "Node"}  # fmt: skip
    found: list[Goals] = []
    for value in sorted(domains - {None}) if topology else [""]:
        narrowed = copy.deepcopy(content)
        for item in narrowed["items"]:
            if item["kind"] == "Pod" and item["metadata"].get("labels", {}).get(GANG) and value:
                item["spec"]["nodeSelector"] = {
                    **item["spec"].get("nodeSelector", {}), topology: value,
                }  # fmt: skip
        state = alone(kubernetes_state({"state.json": narrowed}))
        free = [pod for pod in state.pods if pod.role is Role.MOVABLE or pod.schedulable]
        if len(state.nodes) ** len(free) > MOST_PLACEMENTS:
            return None
        pinned = {n for n, pod in enumerate(state.pods) if pod.title in stay and pod.placed}
        found += joint_placements(state, pinned, set(), reached=reached)
    return found


def alone(state: ClusterState) -> ClusterState:
    """The state without pending pods that are of no gang, whose own schedulers are let go."""
    return replace(state, pods=tuple(
        replace(pod, unsupported_constraints=tuple(
            each for each in pod.unsupported_constraints
            if each[0] not in ("gates", "nominated", "scheduler")
        )) if pod.role is Role.PENDING else pod
        for pod in state.pods if pod.role is not Role.PENDING or pod.gang == "train"
    ))  # fmt: skip


def gpu_claims(seed: int) -> Iterator[Claim]:
    """Claims checked on the state drawn from a seed; none if no gang is pending."""
    rng = np.random.default_rng(seed)
    content = random_gpu_list(rng)
    state = kubernetes_state({"state.json": content})
    pods = tuple(n for n, pod in enumerate(state.pods) if pod.gang == "train"
                 and pod.role is Role.PENDING)  # fmt: skip
    if pods:
        for topology in ("", DOMAIN) if rng.random() < 0.5 else ("",):
            yield from _admitted(content, state, pods, topology)


def _admitted(
    content: dict[str, Any], state: ClusterState, pods: tuple[int, ...], topology: str
) -> Iterator[Claim]:
    if topology and not any(topology in node.labels for node in state.nodes):
        return
    every = _placements(content, topology, set(), reached=False)
    if every is None:
        return
    found = admit(state, "train", pods, topology, (), SolveBudget(30.0, lambda words: None))
    fewest = min((one[2] for one in every if not one[0]), default=None)
    if found.impossible.startswith("whatever"):
        yield "a gang that no moves admit", fewest is None, (topology, fewest)
    advice = found.plan
    if advice is not None:
        low = advice.moves.bound
        held = fewest is None or low <= fewest
        yield "no moves fewer admit a gang", held, (topology, low, fewest)
    for value, bound in found.domains.items() if topology else ():
        own = content if not topology else _only(content, topology, value)
        there = _placements(own, topology, set(), reached=False) or []
        least = min((one[2] for one in there if not one[0]), default=None)
        held = least is None or (bound is not None and bound <= least)
        yield "a bound of each domain", held, (value, bound, least)
    left = translate(Question(alone(state), pending=True))
    vague = bool(found.why_not)
    plain = not left.violated_rules and not left.tightened and not vague
    stay = {alone(state).pods[n].title for n in left.pinned}
    plans = _placements(content, topology, stay, reached=True) or []
    best = min((one[2] for one in plans if not one[0]), default=None)
    if found.status and advice is not None:
        moves = len(advice.targets)
        rules = _counts_others(alone(state)) or any(pod.pod_affinity for pod in state.pods)
        yield "a gang that fits", rules or fewest is not None, (topology, moves)
        yield "a plan of fewest moves", not plain or best is None or moves <= best, (moves, best)
        if not left.violated_rules and not rules:
            yield "no plan moves fewer", best is not None and moves >= best, (moves, best)
        where = {n: pod.node for n, pod in enumerate(found.state.pods) if pod.placed}
        check_arrivals(found.state, where | dict(advice.targets), advice.arrivals)
        yield "all of a gang or none", {*found.pods} == {*advice.arrivals}, advice.arrivals
        on = {found.state.nodes[k].labels.get(topology) for k in range(len(found.state.nodes))
              if found.state.nodes[k].name in advice.arrivals.values()}  # fmt: skip
        yield "a gang in one domain", not topology or len(on) == 1, on
    elif plain and advice is None:
        yield "a gang that fits after moves", best is None, (topology, best, found.impossible)
        if not found.why_not:
            yield "a proof where none fit", bool(found.impossible) or best is None, best


def _only(content: dict[str, Any], topology: str, value: str) -> dict[str, Any]:
    """Cluster state in which only nodes of one topology domain keep the domain's label."""
    narrowed = copy.deepcopy(content)
    for item in narrowed["items"]:
        if item["kind"] == "Node" and item["metadata"]["labels"].get(topology) != value:
            item["metadata"]["labels"].pop(topology, None)
    return narrowed

"""What pods count as where their requests do not say it: what is assumed of those that request
nothing, and what pods use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from ..instances.problem.errors import InvalidFile, InvalidOption
from ..instances.problem.reading import parse_any_json, read_text
from ..instances.problem.tables import CsvTable
from .completeness import FEW
from .fields import Fields
from .quantities import amount, quantity, readable, resource_amounts
from .state import ClusterState, Pod, Role, StateWarning, workload

Count = Literal["larger", "used", "requested"]
"""What a pod counts as: the larger of what it requests and uses, or one of them."""

MARGIN = Fraction(15, 100)
"""Room above what a pod uses, where nothing else is said; a VPA's upper bound has as much."""

_COLUMNS = {"cpu": "CPU(cores)", "memory": "MEMORY(bytes)"}
_COMMAND = "kubectl top pods -A --containers"


@dataclass
class Usage:
    """What pods use, as a file has it, in cores and bytes.

    Attributes
    ----------
    path : of the file.
    margin : room to be added, unless it is told otherwise.
    pods : by namespace and name.
    workloads : by namespace, and kind and name of what made them: each of its pods.
    """

    path: str
    margin: Fraction = MARGIN
    pods: dict[tuple[str, str], dict[str, Fraction]] = field(default_factory=dict)
    workloads: dict[tuple[str, str, str], dict[str, Fraction]] = field(default_factory=dict)

    def of(self, pod: Pod) -> Mapping[str, Fraction] | None:
        """What a pod uses; None where the file does not say it."""
        found = self.pods.get((pod.namespace, pod.name))
        return self.workloads.get((pod.namespace, *workload(pod))) if found is None else found


def assume_requests(state: ClusterState, text: str) -> ClusterState:
    """The state in which pods that request nothing of a resource request so much of it.

    Parameters
    ----------
    text : "cpu=100m,memory=128Mi".

    Raises
    ------
    InvalidOption
        It is no list of amounts, no node has such a resource, or the state is one of VMs.
    """
    _require_kubernetes(state, "assume-request")
    known = {name for node in state.nodes for name in node.allocatable} - {"pods"}
    amounts = resource_amounts(text, "assume-request", known)
    numbers = dict.fromkeys(amounts, 0)
    pods = []
    for pod in state.pods:
        lacking = {name: value for name, value in amounts.items() if not pod.requests.get(name)}
        if pod.role is not Role.FINISHED and lacking:
            for name in lacking:
                numbers[name] += 1
            pod = replace(pod, requests={**pod.requests, **lacking})
        pods.append(pod)
    parts = [
        f"{readable(amounts[name], name)} {name} assumed for {number} pods that request none"
        for name, number in numbers.items()
        if number
    ]
    if not parts:
        return state
    state = replace(state, pods=tuple(pods))
    return _counting(state, "assumed-requests", ", ".join(parts), "with requests assumed")


def count_usage(
    state: ClusterState, path: str, count: Count = "larger", margin: Fraction | None = None
) -> ClusterState:
    """The state whose pods count as what they use and a margin, or as the larger of that and their
    requests. Pods whose use is not in the file count as their requests.

    Parameters
    ----------
    path : what `kubectl top pods -A --containers` prints, VerticalPodAutoscalers as JSON (of which
        the upper bounds are taken), or a CSV with the columns namespace, pod, cpu, memory.
    count : what a pod counts as.
    margin : share that is added to what is used; 15 % when not given, and nothing to the upper
        bounds of a VerticalPodAutoscaler, which have it.

    Raises
    ------
    InvalidFile
        The file is none of these, or none of its pods is in the state.
    InvalidOption
        The state is one of VMs.
    """
    _require_kubernetes(state, "usage")
    usage = read_usage(path)
    more = 1 + (usage.margin if margin is None else margin)
    sums = {
        name: {
            "requested": 0,
            "used": 0,
            "allocatable": sum(node.allocatable.get(name, 0) for node in state.nodes),
        }
        for name in _COLUMNS
    }
    pods, known, above = [], 0, []
    for pod in state.pods:
        used = usage.of(pod) if pod.placed else None
        if used is None:
            pods.append(pod)
            continue
        known += 1
        requests = dict(pod.requests)
        for name, value in used.items():
            asked = requests.get(name, 0)
            sums[name]["requested"] += asked
            sums[name]["used"] += amount(value, name)
            requests[name] = max(asked * (count != "used"), amount(value * more, name))
        if any(amount(value, name) > pod.requests.get(name, 0) for name, value in used.items()):
            above.append(pod.title)
        pods.append(pod if count == "requested" else replace(pod, requests=requests))
    if not known:
        raise InvalidFile(
            f"{path}: none of its {len(usage.pods or usage.workloads)} pods or workloads runs in "
            f"{state.name}; expected the use of the same cluster. Make both at one time"
        )
    parts = [
        f"{name} {readable(each['requested'], name)} requested, {readable(each['used'], name)} "
        f"used, {readable(each['allocatable'], name)} allocatable"
        for name, each in sums.items()
    ]
    placed = sum(pod.placed for pod in state.pods)
    text = f"use is known of {known} of {placed} pods: {'; '.join(parts)}"
    if above:
        names = ", ".join([*above[:3], *["..."] * (len(above) > 3)])
        text += f"; {len(above)} use more than they request ({names})"
    here = {(pod.namespace, pod.name) for pod in state.pods}
    lost = len(usage.pods.keys() - here)
    warnings = state.warnings
    if FEW * lost > len(usage.pods):
        words = f"{lost} of {len(usage.pods)} pods in {path} are not in the state"
        cure = "export both from the same cluster, at one time"
        warnings += (StateWarning("usage-unmatched", words, cure),)
    state = replace(state, pods=tuple(pods), usage=sums, warnings=warnings)
    plus = f" + {float(100 * (more - 1)):g} %" * (more > 1)
    counted = {
        "larger": f"counting the larger of request and use{plus}",
        "used": f"counting use{plus}",
        "requested": "",
    }
    return _counting(state, "usage", text, counted[count])


def _counting(state: ClusterState, code: str, text: str, counted: str) -> ClusterState:
    """A state that counts something else than requests, and says so."""
    return replace(
        state,
        assumptions=(*state.assumptions, StateWarning(code, text)),
        counted=", ".join(filter(None, (state.counted, counted))),
    )


def _require_kubernetes(state: ClusterState, option: str) -> None:
    if state.platform != "kubernetes":
        raise InvalidOption(
            f"{option} is for pods, and {state.name} is a state of {state.platform}, whose VMs "
            "count as their sizes; leave it out"
        )


def read_usage(path: str) -> Usage:
    """What pods use, of a file in one of the forms of `count_usage`."""
    text = read_text(path)
    header = text.strip().partition("\n")[0].strip()
    if header[:1] == "{":
        return _recommended(Fields(parse_any_json(text, path), path))
    return _measured(text, path) if header.endswith(_COLUMNS["memory"]) else _table(text, path)


def _measured(text: str, path: str) -> Usage:
    """What `kubectl top pods` prints: columns with blanks between them."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    names = lines[0]
    if not {"NAMESPACE", "NAME", *_COLUMNS.values()} <= set(names):
        raise InvalidFile(
            f"{path}, line 1: {' '.join(names)}; expected the columns NAMESPACE, NAME, "
            f"CPU(cores) and MEMORY(bytes). Make it with `{_COMMAND}`"
        )
    usage, unknown = Usage(path), set()
    for number, cells in enumerate(lines[1:], 2):
        if cells[0].startswith("_"):  # below stands the sum (--sum)
            break
        if len(cells) != len(names):
            raise InvalidFile(
                f"{path}, line {number}: {len(cells)} values; expected {len(names)}, as the header "
                f"has. Make it with `{_COMMAND}`"
            )
        row = dict(zip(names, cells, strict=True))
        key = row["NAMESPACE"], row.get("POD", row["NAME"])
        amounts = {name: _quantity(row[column]) for name, column in _COLUMNS.items()}
        if None in amounts.values():
            unknown.add(key)  # <unknown>: measured too short a time
        _add(usage.pods.setdefault(key, {}), amounts)
    for key in unknown:
        usage.pods.pop(key, None)
    return usage


def _table(text: str, path: str) -> Usage:
    """A CSV with one row for each pod, or for each of its containers."""
    usage = Usage(path)
    for row in CsvTable(path, "namespace", "pod", *_COLUMNS, lower=True, text=text):
        amounts = {name: _quantity(row[name]) for name in _COLUMNS}
        for name, value in amounts.items():
            if value is None:
                raise row.wrong(name, "a quantity such as 250m, 2 or 1.5Gi")
        _add(usage.pods.setdefault((row.word("namespace"), row.word("pod")), {}), amounts)
    return usage


def _recommended(content: Fields) -> Usage:
    """The upper bounds that VerticalPodAutoscalers recommend: the 95th percentile and a margin."""
    usage = Usage(content.place, margin=Fraction(0))
    items = content.many("items") if "items" in content else [content]
    for item in items:
        spec, status = item.of("spec"), item.of("status")
        target = spec.of("targetRef")
        policies = spec.of("resourcePolicy").many("containerPolicies")
        found: dict[str, Fraction] = {}
        for each in status.of("recommendation").many("containerRecommendations"):
            upper = each.mapping("upperBound")
            amounts = {name: _quantity(upper[name]) for name in _COLUMNS if name in upper}
            if None in amounts.values():
                raise each.wrong("upperBound", upper, "quantities such as 250m or 1.5Gi")
            _add(found, amounts)
        # of a container without a recommendation nothing is known, so nothing of its pods is
        if found and "Off" not in [each.text("mode") for each in policies]:
            namespace = item.of("metadata").text("namespace")
            usage.workloads[namespace, target.text("kind"), target.text("name")] = found
    if not usage.workloads:
        raise InvalidFile(
            f"{content.place} holds no recommendation; expected VerticalPodAutoscalers with a "
            f"status (`kubectl get vpa -A -o json`), what `{_COMMAND}` prints, or a CSV with "
            "namespace,pod,cpu,memory"
        )
    return usage


def _quantity(text: str) -> Fraction | None:
    """What a text is as an amount; None where it is none."""
    try:
        found = quantity(text)
    except ValueError:
        return None
    return found if found >= 0 else None


def _add(total: dict[str, Fraction], amounts: Mapping[str, Fraction | None]) -> None:
    for name, value in amounts.items():
        total[name] = total.get(name, Fraction(0)) + (value or 0)

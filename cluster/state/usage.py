"""What pods count as where their requests do not say it: what is assumed of those that request
nothing, and what pods use; amounts of resources in options and for people.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from ...instances.problem.errors import InvalidFile, InvalidOption, suggest
from ...instances.problem.quantities import amount, measured
from ...instances.problem.reading import parse_json, read_text
from ...instances.problem.tables import CsvTable
from .completeness import FEW, first_of
from .fields import Fields
from .state import ClusterState, Pod, Role, StateWarning, workload

Count = Literal["larger", "used", "requested"]
"""What a pod counts as: the larger of what it requests and uses, or one of them."""

Usage = dict[tuple[str, str, str], dict[str, Fraction]]
"""Cores and bytes that a pod uses, by namespace, kind ("Pod", or its workload's) and name."""

MARGIN = Fraction(15, 100)
"""Room above what a pod uses, where nothing else is said; a VPA's upper bound has as much."""

_MEASURED = ("cpu", "memory")
_FORMS = (
    "what `kubectl top pods -A --containers` prints, VerticalPodAutoscalers with recommendations "
    "(`kubectl get vpa -A -o json`), or a CSV with namespace,pod,cpu,memory"
)


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
    _require_kubernetes(state, "assume_request")
    known = {name for node in state.nodes for name in node.allocatable} - {"pods"}
    amounts = resource_amounts(text, "assume_request", known)
    numbers = dict.fromkeys(amounts, 0)
    pods = list(state.pods)
    for place, pod in enumerate(pods):
        lacking = {name: value for name, value in amounts.items() if not pod.requests.get(name)}
        if pod.role is not Role.FINISHED and lacking:
            pods[place] = replace(pod, requests={**pod.requests, **lacking})
            for name in lacking:
                numbers[name] += 1
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
    requests. Of the pods of one workload each counts as the one that uses most, as load moves
    between them; those of which nothing is in the file count as their requests.

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
    usage = _read(path)
    measured = {key for key in usage if key[1] == "Pod"}
    more = 1 + (MARGIN * bool(measured) if margin is None else margin)
    sums = {name: {"requested": 0, "used": 0} for name in _MEASURED}
    known, pods, seen, above, most = 0, list(state.pods), set(), {}, Usage()
    for pod in pods:
        keys = ((pod.namespace, "Pod", pod.name), (pod.namespace, *workload(pod)))
        key = next((each for each in keys if each in usage), None)
        if key is None or not pod.placed:
            continue
        seen.add(key)
        known += 1
        group = most.setdefault(_replicas(pod), {})
        for name, value in usage[key].items():
            asked = pod.requests.get(name, 0)
            sums[name]["requested"] += asked
            sums[name]["used"] += amount(value, name)
            group[name] = max(group.get(name, value), value)
            if amount(value, name) > asked:
                above[pod.title] = True
    for place, pod in enumerate(pods):
        if pod.role is Role.FINISHED or count == "requested":
            continue
        requests = dict(pod.requests)
        for name, value in most.get(_replicas(pod), {}).items():
            asked = requests.get(name, 0) * (count == "larger")
            requests[name] = max(asked, amount(value * more, name))
        pods[place] = replace(pod, requests=requests)
    if not known:
        raise InvalidFile(
            f"{path}: none of its {len(usage)} pods or workloads runs in {state.name}; expected "
            "the use of the same cluster. Make both at one time"
        )
    text = f"use is known of {known} of {sum(pod.placed for pod in pods)} pods"
    for name, each in sums.items():
        each["allocatable"] = sum(node.allocatable.get(name, 0) for node in state.nodes)
        text += f"; {name}: {', '.join(f'{readable(n, name)} {what}' for what, n in each.items())}"
    if above:
        text += f"; {len(above)} use more than they request ({first_of(list(above))})"
    warnings = state.warnings
    if FEW * len(lost := measured - seen) > len(measured):
        words = f"{len(lost)} of {len(measured)} pods in {path} do not run in the state"
        cure = "export both from the same cluster, at one time"
        warnings += (StateWarning("usage-unmatched", words, cure),)
    state = replace(state, pods=tuple(pods), usage=sums, warnings=warnings)
    plus = f" + {float(100 * (more - 1)):g} %" * (more > 1)
    counted = {"larger": "counting the larger of request and use", "used": "counting use"}
    return _counting(state, "usage", text, counted[count] + plus if count in counted else "")


def _replicas(pod: Pod) -> tuple[str, str, str]:
    """The pods among which load moves: those of its workload; a node's own pod stays by itself."""
    if pod.role is Role.RESIDENT or not pod.owner[0]:
        return pod.namespace, "Pod", pod.name
    return pod.namespace, *workload(pod)


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


def _read(path: str) -> Usage:
    """What pods use, of a file in one of the forms of `count_usage`."""
    text = read_text(path).strip()
    if text[:1] in ("{", "["):
        return _recommended(Fields(parse_json(text, path, _FORMS), path))
    columns = [*_MEASURED]
    if "," not in text.partition("\n")[0] and "(" in text.partition("\n")[0]:
        lines = text.partition("\n_")[0].splitlines()  # below a line stands the sum (--sum)
        text = "\n".join(",".join(line.split()) for line in lines)
        columns = ["cpu(cores)", "memory(bytes)"]
    table = CsvTable(path, lower=True, text=text)
    pod = "pod" if "pod" in table.places else "name"
    table.require("namespace", pod, *columns)
    usage: Usage = {}
    unknown = set()
    for row in table:
        key = row.word("namespace"), "Pod", row.word(pod)
        for name, column in zip(_MEASURED, columns, strict=True):
            if row[column] == "<unknown>":  # measured for too short a time
                unknown.add(key)
                continue
            if (value := measured(row[column])) is None:
                raise row.wrong(column, "a quantity such as 250m, 2 or 1.5Gi")
            _add(usage, key, name, value)
    return {key: each for key, each in usage.items() if key not in unknown}


def _recommended(content: Fields) -> Usage:
    """The upper bounds that VerticalPodAutoscalers recommend: the 95th percentile and a margin."""
    usage: Usage = {}
    for item in content.many("items") if "items" in content else [content]:
        spec, target = item.of("spec"), item.of("spec").of("targetRef")
        key = item.of("metadata").text("namespace"), target.text("kind"), target.text("name")
        policies = spec.of("resourcePolicy").many("containerPolicies")
        if any(each.text("mode") == "Off" for each in policies):
            continue  # of some containers nothing is known, so nothing of the pods is
        for each in item.of("status").of("recommendation").many("containerRecommendations"):
            for name, given in each.mapping("upperBound").items():
                if (value := measured(given)) is None:
                    raise each.wrong("upperBound", given, "quantities such as 250m or 1.5Gi")
                if name in _MEASURED:
                    _add(usage, key, name, value)
    if not usage:
        raise InvalidFile(f"{content.place} holds no use of pods; expected {_FORMS}")
    return usage


def _add(usage: Usage, key: tuple[str, str, str], name: str, value: Fraction) -> None:
    amounts = usage.setdefault(key, {})
    amounts[name] = amounts.get(name, Fraction(0)) + value


def readable(value: int, resource: str) -> str:
    """An amount in the scheduler's unit, for people.

    Examples
    --------
    >>> readable(250, "cpu"), readable(3 * 2**29, "memory")
    ('250m', '1.5Gi')
    """
    if resource == "cpu":
        return f"{value}m" if value < 1000 else f"{value / 1000:.4g}"
    if resource == "memory":
        return f"{value / 2**20:g}Mi" if value < 2**30 else f"{value / 2**30:.1f}Gi"
    return str(value)


def resource_amounts(text: str, option: str, known: Collection[str]) -> dict[str, int]:
    """Amounts of resources in the scheduler's units, of a text such as "cpu=100m,memory=128Mi".

    Parameters
    ----------
    option : where the text was given, for messages.
    known : the resources there are.

    Raises
    ------
    InvalidOption
        It is no such text, or names a resource that is not known.
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        number = measured(value)
        if not number or name in found:
            raise InvalidOption(
                f"{option} is {text!r}; expected amounts above 0, each of another resource, such "
                "as cpu=100m,memory=128Mi"
            )
        if name not in known:
            raise InvalidOption(f"{option} names {name!r}; {suggest(name, sorted(known))}")
        found[name] = amount(number, name)
    return found

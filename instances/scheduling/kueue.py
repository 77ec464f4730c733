"""Reader of Kueue's Kubernetes objects as kubectl lists them: Workloads, ClusterQueues, Cohorts,
LocalQueues and ResourceFlavors, v1beta1 or v1beta2.

A Workload keeps the last change of each of its conditions and no history: of runs that ended in an
eviction, their total time. Finished ones are deleted after a while.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from ..problem.documents import shortened
from ..problem.errors import InvalidFile
from ..problem.quantities import amount, measured
from ..problem.reading import parse_any_json, read_text
from ..problem.tables import PathLike
from .log import Log, Waiting, log_of
from .units import GPU, Queue, amount_of, summed

KUEUE_COMMAND = (
    "kubectl get workloads.kueue.x-k8s.io,clusterqueues,cohorts,localqueues,resourceflavors -A "
    "-o json"
)
"""The export that says all that is read here."""

GROUP = "kueue.x-k8s.io/"
_LIMITS = ("borrowingLimit", "lendingLimit")
_ENDLESS = 10**18

Object = Mapping[str, Any]


@dataclass
class _Reading:
    """What has been read so far from Kubernetes objects of Kueue: queues, runs, waiting jobs, and
    counts of what was left out.

    Attributes
    ----------
    queues : by name.
    locals : of a LocalQueue with its namespace, the ClusterQueue.
    flavors : of a queue and a resource, the flavors with a quota.
    runs : job, queue, user, cohort, since when it waited, start, end or None, resources, marks.
    at : the queue or cohort that is read.
    """

    queues: dict[str, Queue] = field(default_factory=dict)
    locals: dict[str, str] = field(default_factory=dict)
    flavors: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    runs: list[tuple[Any, ...]] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)
    last: int = 0
    finished: list[int] = field(default_factory=list)
    at: str = ""


def looks_like_kueue(text: str) -> bool:
    """Whether a text is JSON that names objects of Kueue."""
    return text.lstrip()[:1] in ("{", "[") and f'"{GROUP}' in text


def read_kueue(path: PathLike, *, strict: bool = False, text: str | None = None) -> Log:
    """Read the runs of Kueue's Workloads as a log: ClusterQueues become groups, LocalQueues users,
    and cohorts partitions.

    Of an object that comes several times, as in exports that were put into one list, the last
    counts; so exports keep what is deleted later.

    Raises
    ------
    InvalidFile
        It is no such list, has no ClusterQueue or no Workload that ran, or most of its Workloads
        cannot be read; with `strict`, one of them.
    """
    where = os.fspath(path)
    content = parse_any_json(read_text(path) if text is None else text, path)
    objects: dict[tuple[str, ...], Object] = {}  # by kind, name and uid: the last version
    for item in _items(content):
        meta = item.get("metadata")
        if isinstance(meta, dict) and isinstance(item.get("kind"), str):
            uid = meta.get("uid") if item["kind"] == "Workload" else ""
            objects[item["kind"], _name(item), str(uid)] = item
    of_kind: dict[str, list[Object]] = {}
    for (kind, *_), item in objects.items():
        of_kind.setdefault(kind, []).append(item)
    if not of_kind.get("ClusterQueue"):
        raise InvalidFile(f"{where} has no ClusterQueue; make it with: {KUEUE_COMMAND}")
    reading = _Reading()
    notes: list[str] = []
    try:
        notes += _read_queues(of_kind, reading)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidFile(f"{where}, {reading.at}: {_wrong(error)}") from None
    workloads = of_kind.get("Workload", [])
    for item in workloads:
        try:
            _read_workload(item, reading)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            what = f"Workload {_name(item)}: {_wrong(error)}"
            if strict:
                raise InvalidFile(f"{where}, {what}") from None
            reading.bad.append(what)
    if not reading.runs or 2 * len(reading.bad) > len(workloads):
        why = [*reading.bad[:1], *(f"{n} {what}" for what, n in reading.counts.items())]
        first = f" ({'; '.join(why)})" if why else ""
        raise InvalidFile(
            f"{where} has {len(workloads)} Workloads, of which none ran or most cannot be read"
            f"{first}. Make it with: {KUEUE_COMMAND}"
        )
    return _log_of(where, reading, (*notes, *_notes(of_kind, reading)))


def _items(content: Any) -> Iterator[Object]:
    """Iterate over the objects in nested lists; in a "WorkloadList" their kind is "Workload"."""
    if isinstance(content, list):
        for each in content:
            yield from _items(each)
    elif isinstance(content, dict) and isinstance(content.get("items"), list):
        kind = str(content.get("kind", "")).removesuffix("List")
        for each in content["items"]:
            yield from _items(each if not kind or "kind" in each else {"kind": kind, **each})
    elif isinstance(content, dict):
        yield content


def _wrong(error: Exception) -> str:
    """Message on an invalid Kubernetes object of Kueue."""
    if isinstance(error, ValueError):
        return str(error)
    what = f"no field {error}" if isinstance(error, KeyError) else f"a field of no use ({error})"
    return f"{what}; expected an object as kubectl lists it"


def _name(item: Object) -> str:
    meta = item["metadata"]
    return "/".join(str(meta[part]) for part in ("namespace", "name") if meta.get(part))


def _moment(text: object, what: str) -> int:
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        raise ValueError(f"{what} is {shortened(str(text))}; expected a time") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _number(value: object, what: str) -> Fraction:
    number = measured(str(value))
    if number is None:
        raise ValueError(
            f"{what} is {shortened(str(value))}; expected a quantity, 0 or more, such as 500m"
        )
    return number


def _add(
    table: dict[str, int], resource: str, flavor: str, value: object, times: int = 1, key: str = ""
) -> None:
    """Add a quantity of a resource of a flavor to a sum; its key is named in an error."""
    whole = amount(times * _number(value, f"{key} of {resource}" if key else resource), resource)
    name = GPU if resource.rpartition("/")[2] == "gpu" else resource
    name = "mem" if name == "memory" else name
    for each in (name, f"{GPU}:{flavor}") if name == GPU and flavor else (name,):
        table[each] = table.get(each, 0) + whole


def _quotas(spec: Object) -> Iterator[tuple[str, Object]]:
    """Flavor and quota of each entry of a queue's resources."""
    for group in spec.get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for entry in flavor.get("resources") or ():
                yield str(flavor["name"]), entry


def _read_queues(of_kind: Mapping[str, list[Object]], reading: _Reading) -> Iterator[str]:
    """Add the queues in Kubernetes objects of Kueue to `reading`, with quotas and cohorts; yield
    notes about them.
    """
    cohorts = {_name(item): item.get("spec") or {} for item in of_kind.get("Cohort", [])}
    above: dict[str, list[str]] = {}  # 1. Queues with cohorts, quotas and limits.
    for item in of_kind["ClusterQueue"]:
        name, spec = _name(item), item.get("spec") or {}
        reading.at = f"ClusterQueue {name}"
        above[name] = []  # its cohorts, the root last
        cohort = spec.get("cohortName") or spec.get("cohort")
        while cohort:
            if cohort in above[name]:
                raise ValueError(f"Cohort {cohort} is within itself")
            above[name].append(str(cohort))
            parent = cohorts.get(cohort, {})
            cohort = parent.get("parentName") or parent.get("parent")
        quota: dict[str, dict[str, int]] = {key: {} for key in ("nominalQuota", *_LIMITS)}
        for flavor, entry in _quotas(spec):
            reading.flavors.setdefault((name, entry["name"]), []).append(flavor)
            for key, table in quota.items():
                value = entry.get(key)
                most = _ENDLESS if key in _LIMITS else None
                _add(table, entry["name"], flavor, most if value is None else value, key=key)
        weight = _number((spec.get("fairSharing") or {}).get("weight", 1), "weight")
        said = ((item.get("status") or {}).get("fairSharing") or {}).get("weightedShare")
        root = above[name][-1] if above[name] else name
        nominal, borrowing, lending = quota.values()
        shown = "" if said is None else str(_number(said, "weightedShare"))
        reading.queues[name] = Queue(name, root, nominal, borrowing, lending, weight, shown)
    for cohort, spec in cohorts.items():  # 2. Divide the quotas of cohorts.
        pool: dict[str, int] = {}
        reading.at = f"Cohort {cohort}"
        for flavor, entry in _quotas(spec):
            _add(pool, entry["name"], flavor, entry.get("nominalQuota", 0), key="nominalQuota")
        pool.pop(GPU, None)  # of each queue, the sum of the types that it gets
        members = [queue for name, queue in reading.queues.items() if cohort in above[name]]
        if not any(pool.values()) or not members:
            continue
        weights = [queue.weight for queue in members]
        if not any(weights):
            weights = [Fraction(1)] * len(members)
        for queue, weight in zip(members, weights, strict=True):
            more: dict[str, Any] = {
                resource: number * weight / sum(weights) for resource, number in pool.items()
            }
            more[GPU] = amount_of(more, GPU)
            nominal = summed([queue.nominal, more])
            reading.queues[queue.name] = replace(queue, nominal=nominal)
        yield f"the quota of cohort {cohort} itself is divided among its queues by their weights"
    if any(len(chain) > 1 for chain in above.values()):
        yield "cohorts within cohorts are judged as one: limits and weights between them not"
    for item in of_kind.get("LocalQueue", []):  # 3. Names of queues and flavors.
        reading.locals[_name(item)] = str((item.get("spec") or {}).get("clusterQueue", ""))
    there = {_name(item) for item in of_kind.get("ResourceFlavor", [])}
    used = {flavor for flavors in reading.flavors.values() for flavor in flavors}
    if there and (missing := sorted(used - there)):
        yield f"quotas of flavors that are not there, which nobody can use: {', '.join(missing)}"


def _resources(item: Object, queue: str, reading: _Reading) -> dict[str, int]:
    """Resources that a workload holds or requests, in all of its pods."""
    amounts: dict[str, int] = {}
    status = item.get("status") or {}
    admission = status.get("admission") or {}
    if assigned := admission.get("podSetAssignments"):
        for each in assigned:
            flavors = each.get("flavors") or {}
            for resource, value in (each.get("resourceUsage") or {}).items():
                _add(amounts, resource, str(flavors.get(resource, "")), value)
        return amounts
    asked = [
        (name, value, 1)
        for each in status.get("resourceRequests") or ()
        for name, value in (each.get("resources") or {}).items()
    ] or [
        (name, value, int(each.get("count", 1)))
        for each in item["spec"]["podSets"]
        for container in each["template"]["spec"].get("containers") or ()
        # as Kubernetes does, what only has a limit asks for that
        for name, value in {
            resource: value
            for kind in ("limits", "requests")
            for resource, value in ((container.get("resources") or {}).get(kind) or {}).items()
        }.items()
    ]
    for name, value, times in asked:
        flavors = reading.flavors.get((queue, name), [])
        _add(amounts, name, flavors[0] if len(flavors) == 1 else "", value, times)
    return amounts


def _read_workload(item: Object, reading: _Reading) -> None:
    meta, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    created = _moment(meta.get("creationTimestamp"), "creationTimestamp")
    since: dict[str, int] = {}  # 1. Times of its conditions.
    changed: dict[str, int] = {}  # by condition: time of its last change
    reason: dict[str, str] = {}
    for each in status.get("conditions") or ():
        kind, moment = each["type"], _moment(each.get("lastTransitionTime"), each["type"])
        changed[kind], reason[kind] = moment, str(each.get("reason", ""))
        if each.get("status") == "True":
            since[kind] = moment
    reading.last = max(reading.last, created, *changed.values())
    user = f"{meta.get('namespace', '')}/{spec.get('queueName', '')}"  # 2. Its queue and resources.
    queue = str((status.get("admission") or {}).get("clusterQueue") or reading.locals.get(user, ""))
    if queue not in reading.queues:
        what = "of a ClusterQueue that is not in the file" if queue else "of no known LocalQueue"
        reading.counts[f"Workloads {what}"] += 1
        return
    reserved = since.get("QuotaReserved", since.get("Admitted"))
    finished = since.get("Finished")
    if finished is not None:
        reading.finished.append(finished)
    resources = _resources(item, queue, reading)
    who, waited = (_name(item), queue, user, reading.queues[queue].cohort), created
    # v1beta1's name of it has a slip
    past = status.get("accumulatedPastExecutionTimeSeconds")  # 3. Earlier runs, as one.
    if past := int(past or status.get("accumulatedPastExexcutionTimeSeconds") or 0):
        ended, marks = since.get("Evicted"), ["evicted"]
        if ended is None or (reserved is not None and ended > reserved):  # that of a later run
            again = created if reserved is None else reserved
            requeued = changed.get("Requeued", 0)
            ended = requeued if created < requeued <= again else again
            marks.append("unplaced")
        # of several earlier runs only the total is known: they count as one, the last
        begin = max(created, ended - past)
        reading.runs.append((*who, created, begin, ended, resources, tuple(marks)))
        waited = ended
    elif any(kind in changed for kind in ("Evicted", "Preempted")):
        reading.counts["Workloads evicted at a time when Kueue did not record their runs"] += 1
    if reserved is not None and (finished is None or finished >= reserved):
        start = max(reserved, waited)  # 4. The last run, or its wait.
        reading.runs.append((*who, waited, start, finished, resources, ()))
    elif finished is not None:
        reading.counts["Workloads that finished without quota"] += not past
    elif spec.get("active") is False:
        reading.counts["Workloads deactivated while they waited"] += 1
    else:
        stuck = reason.get("QuotaReserved") in ("Inadmissible", "Misconfigured")
        eligible = None if stuck else waited
        reading.waiting.append(Waiting(*who, waited, eligible, 1, resources))


def _notes(of_kind: Mapping[str, list[Object]], reading: _Reading) -> Iterator[str]:
    """Notes on what a file of Kueue's objects cannot show, and on where it contradicts itself."""
    finished = reading.finished  # 1. What the file cannot show.
    first = f", the first of {_day(min(finished))}" if finished else ""
    yield (
        "Kueue deletes finished Workloads (with their jobs, or by objectRetentionPolicies): the "
        f"file has {len(finished)} of them{first}; what was deleted before is not judged"
    )
    yield f"the file does not say when it was made: it is taken to end at {_day(reading.last)}"
    marks = Counter(mark for run in reading.runs for mark in run[-1])  # 2. Evictions and limits.
    if marks["evicted"]:
        yield (
            f"Workloads that were evicted: {marks['evicted']}; their earlier runs count as they "
            "ran, several of one Workload as one, the last"
        )
    if marks["unplaced"]:
        yield (
            f"of these, the end of the earlier run is not in the file: {marks['unplaced']}; it is "
            "taken to be when the Workload was requeued or admitted again"
        )
    limited = [
        queue.name for queue in reading.queues.values()
        if min([*queue.borrowing.values(), *queue.lending.values(), _ENDLESS]) < _ENDLESS
    ]  # fmt: skip
    if limited:
        yield (
            f"queues with borrowing or lending limits: {', '.join(limited[:4])} ({len(limited)} in "
            "all); coalitions are played without them, and what a limit keeps from a queue is owed"
        )
    running: dict[str, list[Mapping[str, int]]] = {}  # 3. Reservations without a Workload.
    for _, queue, _, _, _, _, end, resources, _ in reading.runs:
        if end is None:
            running.setdefault(queue, []).append(resources)
    for item in of_kind["ClusterQueue"]:
        reserved: dict[str, int] = {}  # by resource, of all flavors
        status = item.get("status") or {}
        for flavor in status.get("flavorsReservation") or ():
            for entry in flavor.get("resources") or ():
                _add(reserved, entry["name"], "", entry.get("total", 0))
        mine = summed(running.get(_name(item), []))
        if less := [name for name, number in reserved.items() if amount_of(mine, name) < number]:
            names = ", ".join(less).replace(GPU, "GPUs")
            yield (
                f"ClusterQueue {_name(item)} reserves more {names} than the Workloads in "
                f"the file: it is not whole (all namespaces: {KUEUE_COMMAND})"
            )


def _day(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _log_of(where: str, reading: _Reading, notes: tuple[str, ...]) -> Log:
    last = reading.last + 1
    runs = [
        (*who, waited, waited, start, (last if end is None else end) - start, 1,
         ("running",) * (end is None), resources)
        for *who, waited, start, end, resources, _ in reading.runs
    ]  # fmt: skip
    held = [run for run in runs if run[7] > 0]
    if not held:
        raise InvalidFile(f"{where} has no Workload that held quota for a second")
    reading.counts["Workloads that held quota for no second"] += len(runs) - len(held)
    return log_of(
        where, sorted(held, key=lambda run: (run[4], run[0], run[6])), reading.counts,
        waiting=tuple(reading.waiting), last=last, bad=tuple(reading.bad),
        queues=tuple(reading.queues.values()), notes=notes,
    )  # fmt: skip

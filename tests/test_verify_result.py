"""No claim of a stored result that a check would not confirm: what is changed in it is seen, or
listed as not looked at.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.messages import approved

import cotenant
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.run.verify_result import LIMIT, Recheck, recheck
from cotenant.catalog import METHODS, find, methods
from cotenant.instances.colocation import Colocation
from cotenant.instances.groups import Groups
from cotenant.instances.numa.instance import Flow, Numa
from cotenant.instances.packing import Packing, Placement
from cotenant.instances.packing.generators import few_types
from cotenant.instances.packing.instance import serves_all
from cotenant.instances.problem import (
    PROBLEM_NAMES,
    CotenantError,
    Instance,
    InvalidInstance,
    InvalidOption,
)
from cotenant.instances.problem.options import accepts
from cotenant.instances.scheduling import Schedule, Scheduling
from cotenant.solvers.outcome import Status, agree

Steps = tuple[str | int, ...]

GIVEN = {problem: (f"{problem}/tiny",) for problem in PROBLEM_NAMES} | {
    "packing": (
        "packing/tiny",
        "packing/paper-example",
        "packing/cluster-12-40",
        "packing/cards",
    ),  # requests to be served whole, or elastic ones, or what runs now, or cards
    "colocation": ("colocation/tiny", "colocation/two-sides-6"),
}

FURTHER: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("colocation/no-stable-4", "stable", {}),
    ("colocation/tiny", "stable", {"alpha": 0.02}),
    ("colocation/unsolvable", "stable", {}),
    ("admission/tiny", "optimal", {"then": "jobs"}),
    ("market/tiny", "fisher", {"rounding": "largest-remainder"}),
    ("market/tiny", "nash-welfare", {"utility": "linear"}),
    ("market/tiny", "nash-welfare", {"whole": True}),
    ("market/tiny", "utilitarian", {"whole": True}),
    ("packing/few-types-6-300", "min-servers", {}),
    ("packing/paper-example", "joint-optimum", {}),
    ("scheduling/tiny", "REF", {"utility": "flow-time"}),
    ("scheduling/tiny", "REF", {"reference": "none"}),
    ("scheduling/figure-7", "max-utilization", {}),
    ("numa/hot", "fluid", {}),
    ("numa/hot", "fluid-power", {"throughput": 100.0}),
    ("numa/hot", "fluid-power", {"throughput": 1e9}),
    ("packing/too-few", "min-servers", {}),
    ("packing/ruled", "min-servers", {}),
    ("packing/small", "min-servers", {}),
    ("colocation/lonely", "optimal", {}),
    ("groups/no-core", "core", {}),
    ("groups/no-core", "least-alpha", {}),
)
"""Results whose certificates hold what the small instances above do not need."""

MADE = {
    "numa/hot": lambda: cotenant.read("numa/tiny").replace(location_share=[0.7, 0.1, 0.1, 0.1]),
    "packing/too-few": lambda: cotenant.read("packing/tiny").replace(servers=[1.0, 1.0]),
    "packing/ruled": lambda: cotenant.read("packing/tiny").replace(
        most_per_server=[1.0, 2.0, np.inf, 1.0]
    ),
    "packing/small": lambda: few_types(types=4, vms=40, rng=np.random.default_rng(1)),
    "colocation/unsolvable": lambda: Colocation(
        np.random.default_rng(30).random((8, 8)).round(3), [1] * 8
    ),
    "groups/no-core": lambda: Groups(
        [1, 1, 2, 1, 1],
        3,
        penalty=[
            [0.18, 0.03, 0.19, 0.08, 0.27],
            [0.29, 0.09, 0.16, 0.08, 0.3],
            [0.15, 0.15, 0.23, 0.15, 0.26],
            [0.05, 0.25, 0.01, 0.06, 0.3],
            [0.1, 0.29, 0.09, 0.27, 0.18],
        ],
    ),
    "colocation/lonely": lambda: Colocation(
        np.where(np.eye(4)[0] + np.eye(4)[:, :1] > 0, 0.1, np.inf), [1, 1, 1, 1]
    ),
}
"""Instances that are not bundled."""


class Case(NamedTuple):
    name: str
    method: str
    options: dict[str, Any]


def first_of_each() -> list[Case]:
    return [Case(GIVEN[method.problem][0], method.name, {}) for method in METHODS]


CASES = [*first_of_each(), *(Case(*entry) for entry in FURTHER)]


def case_id(case: Case) -> str:
    return "-".join(
        [
            case.name.replace("/", "-"),
            case.method,
            *(f"{key}={value}" for key, value in case.options.items()),
        ]
    )


@cache
def solved(number: int) -> tuple[Instance, dict[str, Any]]:
    """The instance of a case, and the document of its result, as JSON brings it back."""
    name, method, options = CASES[number]
    problem = name.partition("/")[0]
    if find(problem, method).kind == "simulation":
        options = options | {"tasks": 2000}
    for given in dict.fromkeys([name, *GIVEN[problem]]):
        instance = MADE[given]() if given in MADE else cotenant.read(given)
        try:
            document = cotenant.solve(instance, method, **options).document()
        except (InvalidInstance, InvalidOption):  # a method for the other question of its problem
            continue
        return instance, json.loads(json.dumps(document))
    raise AssertionError(f"no instance for {method}")


def judged(instance: Instance, document: Any, time_limit: float = LIMIT) -> Recheck | None:
    """What became of it; None when it was refused with an error of ours, in one or two lines."""
    try:
        return recheck(instance, cotenant.Result.from_document(document), time_limit=time_limit)
    except CotenantError as error:
        return (
            None
            if 0 < len(str(error)) < 2000 and str(error).count("\n") < 2
            else pytest.fail(f"no clear line: {error}")
        )


def changes(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, str, Any]]:
    """(path, what is done, the value then) for every leaf, list and object; in long lists the first
    and the last entry.
    """
    if isinstance(value, dict):
        yield (*path, "an extra key"), "added", 1.0
        for name, entry in value.items():
            yield (*path, name), "removed", None
            yield from changes(entry, (*path, name))
    elif isinstance(value, list):
        if value:
            yield path, "dropped", value[:-1]
            yield path, "duplicated", [value[0], *value]
        for place in sorted({0, len(value) - 1} & set(range(len(value)))):
            yield from changes(value[place], (*path, place))
    elif isinstance(value, bool):
        yield path, "flipped", not value
    elif isinstance(value, int | float):
        yield path, "+1", value + 1
        yield path, "x1.5", value * 1.5
        yield path, "-", -value
        yield path, "half", 0.5 * value
        yield path, "beyond all floats", 10**400
    elif isinstance(value, str):
        yield path, "text", value + "x"
    else:
        yield path, "a number", 1.0
    if not isinstance(value, str):
        yield path, "a text", "x"
    yield path, "lists", [[[]]]
    yield path, "an object", {"x": [{}]}
    if value is not None:
        yield path, "null", None


def changed(document: dict[str, Any], path: Steps, done: str, value: Any) -> dict[str, Any] | None:
    """A copy of the document with the change; None where it changes nothing."""
    result = copy.deepcopy(document)
    inside: Any = result
    for step in path[:-1]:
        inside = inside[step]
    if done == "removed":
        del inside[path[-1]]
        return result
    if done != "added":
        before = inside[path[-1]]
        number = (
            isinstance(before, int | float)
            and isinstance(value, int | float)
            and abs(value) < 1e300
        )
        if (number and abs(before - value) <= 1e-8 * abs(before) + 1e-11) or (
            before == value and type(before) is type(value)
        ):
            return None
    inside[path[-1]] = value
    return result


def at(document: Any, path: Steps) -> Any:
    return at(document[path[0]], path[1:]) if path else document


def place_of(path: Steps) -> str:
    """The entry of a result, or of its certificate, that a path leads into."""
    if path[0] == "certificate":
        return f"certificate.{path[1]}" if len(path) > 1 else "certificate"
    return str(path[1] if path[0] == "result" and len(path) > 1 else path[0])


def overlooked(number: int, every: int = 1, time_limit: float = LIMIT) -> list[str]:
    """The changes to a case's document that are neither refused nor of a listed entry."""
    instance, document = solved(number)
    whole = judged(instance, document, time_limit)
    assert whole is not None
    assert whole.broken == ()
    found = []
    listed = [(path, done, value) for path, done, value in changes(document) if path]
    for path, done, value in itertools.islice(listed, number % every, None, every):
        tampered = changed(document, path, done, value)
        if tampered is None or path[0] == "solution":  # feasible, of the same values: true of it
            continue
        verdict = judged(instance, tampered, time_limit)
        seen = verdict is None or verdict.broken or verdict.claimed
        places = {place_of(path)}
        if path == ("certificate",) and isinstance(value, dict):  # each entry is to be listed
            places = {f"certificate.{name}" for name in {*document["certificate"], *value}}
        if not seen and not places <= {*whole.not_looked_at, *verdict.not_looked_at}:
            found.append(f"{place_of(path)}: {done} -> {value!r}")
    return found


@pytest.mark.sampled(36)
@pytest.mark.parametrize("number", range(len(CASES)), ids=map(case_id, CASES))
def test_check_detects_sampled_changes_of_a_result(number: int) -> None:
    assert overlooked(number, every=120) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)), ids=map(case_id, CASES))
def test_check_detects_every_change_of_a_result(number: int) -> None:
    assert overlooked(number) == []


@pytest.mark.sampled(10)
@pytest.mark.parametrize("number", range(len(CASES)), ids=map(case_id, CASES))
def test_check_recomputes_every_certificate_entry(number: int) -> None:
    instance, document = solved(number)
    honest = judged(instance, document, time_limit=0)
    assert honest is not None
    for key in {f"certificate.{key}" for key in document["certificate"]} - {*honest.not_looked_at}:
        forged = copy.deepcopy(document)
        forged["certificate"][key.partition(".")[2]] = "x"
        verdict = judged(instance, forged, time_limit=0)
        assert verdict is None or verdict.broken, key


CHANGED: list[tuple[str, Any]] = [
    ("cotenant", 2), ("cotenant", True), ("certificate", []), ("certificate.levels", 3),
    ("certificate.levels", [[]]),
    ("certificate.levels", [{"objective": {}, "value": 0, "bound": 0, "status": "optimal"}]),
    ("certificate.blocking_pairs", ...),
    ("certificate.blocking_pairs", [{"types": ["a", "b"], "willing": [1, 1]}]),
    ("certificate.blocking_pairs", [{"types": [{}], "willing": [1]}]),
    ("result.seed", ...), ("result.seed", "0"), ("result.scale", ...), ("result.scale", -1.0),
    ("result.another", 1), ("result.options.alpha", -1), ("result.options.alfa", 1),
    ("result.options", [1]), ("result.metrics", [1]),
    ("result.metrics.penalty", None), ("result.objective", None), ("result.objective", "0"),
    ("result.status", "infeasible"), ("result.status", []), ("result.bound", 5.0),
    ("result.bound", "0"), ("result.gap", 0.5), ("result.fingerprint", "0" * 16),
    ("result.instance", {}), ("trace", ...), ("trace", [[1]]), ("solution", []), ("answer", []),
    ("solution.first", [10**30]), ("solution.first", [[0]]),
]  # fmt: skip
"""Places of a result of `stable`, and what stands there then; ... for nothing."""


def put(document: dict[str, Any], place: str, value: Any) -> None:
    """Put a value at a place of a document, or ... nothing."""
    *path, last = steps_of(place)
    if value is ...:
        del at(document, tuple(path))[last]
    else:
        at(document, tuple(path))[last] = value


def steps_of(place: str) -> Steps:
    """The keys and numbers that lead to a place."""
    return tuple(int(step) if step.isdigit() else step for step in place.split("."))


@pytest.mark.parametrize(("place", "value"), CHANGED)
def test_changed_result_field_is_named_in_message(place: str, value: Any) -> None:
    instance, document = solved(1)
    document = copy.deepcopy(document)
    put(document, place, value)
    if place == "result.bound" and value == 5.0:  # a gap and a status that fit it
        document["result"] |= {"status": "feasible", "gap": None}
    elif place == "result.objective":
        document["result"]["gap"] = None
    try:
        broken = recheck(instance, cotenant.Result.from_document(document)).broken
    except CotenantError as error:
        broken = (str(error),)
    assert broken
    approved("; ".join(broken))


def forged(case: Case, place: str, value: Any) -> Recheck:
    """What becomes of the result of a case with another value at a place; ... for nothing."""
    instance, document = solved(CASES.index(case))
    document = copy.deepcopy(document)
    put(document, place, value)
    verdict = judged(instance, document)
    assert verdict is not None
    return verdict


def test_fractional_cores_are_refused_for_integer_market() -> None:
    case = Case("market/tiny", "utilitarian", {"whole": True})
    cores = solved(CASES.index(case))[1]["solution"]["cores"][0]
    approved(forged(case, "solution.cores.0", cores - 0.5).broken)


def test_optimal_result_without_objective_is_proved_by_recheck_or_claimed() -> None:
    instance, document = solved(CASES.index(Case("scheduling/tiny", "REF", {"reference": "none"})))
    assert (document["result"]["objective"], document["result"]["status"]) == (None, "optimal")
    result = cotenant.Result.from_document(document)
    assert recheck(instance, result).bound == "proved"
    verdict = recheck(instance, result, time_limit=0)
    assert (verdict.broken, verdict.bound) == ((), "claimed")


@pytest.mark.parametrize(
    ("name", "method", "certificate"),
    [
        ("colocation/tiny", "optimal", {}),
        ("numa/tiny", "fluid-power", {"prices": [1.0] * 4}),
        ("packing/tiny", "min-servers", {"servers_there_are": 16}),
        ("packing/cluster-12-40", "fewest-moves", {"servers": 1, "fewest_servers": 1}),
    ],
)
def test_false_claim_of_infeasibility_is_detected(
    name: str, method: str, certificate: dict[str, Any]
) -> None:
    instance = cotenant.read(name)
    honest = cotenant.solve(instance, method)
    nothing: dict[str, Any] = {"solution": None, "bound": None, "objective": None, "metrics": {}}
    forged = replace(honest, status=Status.INFEASIBLE, certificate=certificate, **nothing)
    approved(recheck(instance, forged).broken)
    verdict = recheck(instance, forged, time_limit=0)
    assert verdict.broken or verdict.claimed


@pytest.mark.parametrize(
    ("name", "method", "place", "value"),
    [
        ("colocation/tiny", "stable", "result.metrics.blocking_pairs", 1e-9),
        ("colocation/tiny", "stable", "certificate.levels.0.value", 1e-10),
        ("packing/cluster-12-40", "fewest-moves", "result.metrics.moves", 26 + 1e-9),
        ("packing/cluster-12-40", "fewest-moves", "certificate.servers", 4 + 1e-9),
        ("packing/cluster-12-40", "fewest-moves", "result.metrics.envy", 1e-9),
        ("groups/tiny", "core", "result.metrics.blocking_groups", 1e-9),
    ],
)  # fmt: skip
def test_result_check_refuses_pair_server_or_group_counts_that_are_nearly_integer(
    name: str, method: str, place: str, value: float
) -> None:
    instance = cotenant.read(name)
    honest = json.loads(json.dumps(cotenant.solve(instance, method).document()))
    document = copy.deepcopy(honest)
    put(document, place, value)
    assert abs(at(honest, steps_of(place)) - value) <= 1e-9 * 1.01
    verdict = judged(instance, document)
    assert verdict is None or verdict.broken


def test_check_proves_fewest_moves_at_requested_servers() -> None:
    instance = cotenant.read("packing/cluster-12-40")
    more = cotenant.solve(instance, "fewest-moves", servers=6)
    assert recheck(instance, more).bound == "proved"
    forged = replace(more, options={})  # as if no fewer servers would do
    assert recheck(instance, forged).bound == "claimed"
    certificate = {**forged.certificate, "fewest_servers": 7}
    forged = replace(forged, certificate=certificate)
    approved(recheck(instance, forged).broken)


def worse_answers(instance: Instance, flow: Any) -> Iterator[Any]:
    """Other answers to the instance: those of all that is not exact, and ones that nobody would
    give.
    """
    if isinstance(instance, Numa):
        yield Flow(flow.throughput / 2, flow.flow / 2)
        for part in (0.01, 0.1, 0.5):
            yield Flow(
                flow.throughput, (1 - part) * flow.flow + part * np.roll(flow.flow, 1, axis=2)
            )
    elif isinstance(instance, Scheduling):
        yield Schedule(np.full(instance.jobs, -1), np.full(instance.jobs, -1), greedy=False)
    elif isinstance(instance, Packing) and serves_all(instance):
        each = np.repeat(np.eye(instance.types), instance.requested.astype(int), axis=0)
        yield Placement(each, np.zeros(len(each)))
    elif isinstance(instance, Packing):
        yield Placement(np.zeros((0, instance.types)), np.zeros(0))
    for rival in methods(instance.problem):
        if rival.kind not in ("exact", "simulation"):
            with suppress(CotenantError):
                yield cotenant.solve(instance, rival.name).solution


@pytest.mark.sampled(18)
@pytest.mark.parametrize("number", range(len(CASES)), ids=map(case_id, CASES))
def test_check_refuses_suboptimal_answer_with_status_optimal(number: int) -> None:
    instance, document = solved(number)
    method = find(instance.problem, CASES[number].method)
    row = document["result"]
    if (
        method.kind in ("heuristic", "simulation")
        or row["bound"] is None
        or row["objective"] is None
    ):
        return
    shared = {
        name: value
        for name, value in row["options"].items()
        if accepts(analysis_of(instance.problem).metrics, name)
    }
    tried = 0
    for other in worse_answers(instance, cotenant.Result.from_document(document).solution):
        try:
            claimed = cotenant.solve(instance, lambda _, other=other: other, **shared).document()
        except CotenantError:  # not feasible
            continue
        metrics = claimed["result"]["metrics"]
        value = metrics.get(method.objective)
        if value is None or agree(value, row["objective"], row["scale"]):
            continue
        tried += 1
        forged = copy.deepcopy(document)
        forged |= {name: claimed[name] for name in ("solution", "answer", "named")}
        forged["result"] |= {
            "metrics": metrics,
            "objective": value,
            "bound": value,
            "status": "optimal",
            "gap": 0.0,
        }
        forged["result"]["gap_absolute"] = 0.0
        for level in forged["certificate"].get("levels", []):
            own = metrics.get(level["objective"], level["value"])
            level |= {"value": own, "bound": own, "status": "optimal"}
        forged["result"]["levels"] = forged["certificate"].get("levels", [])
        verdict = judged(instance, json.loads(json.dumps(forged)))
        assert verdict is None or verdict.broken or verdict.claimed, (other, value)
    assert tried or case_id(CASES[number]) in NO_WORSE


NO_WORSE = {"colocation-no-stable-4-stable"}
"""Cases whose answers are all of one value."""

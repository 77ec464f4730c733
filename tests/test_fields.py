"""Fields of instances: each declaration makes the wrong values of its own test."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.instances.accelerators import Accelerators
from cotenant.instances.colocation import Colocation
from cotenant.instances.elastic import Elastic
from cotenant.instances.groups import Groups
from cotenant.instances.lifetimes import Lifetimes
from cotenant.instances.packing import Packing
from cotenant.instances.packing.placement_constraints import Limit, Spread
from cotenant.instances.packing.services import Service
from cotenant.instances.problem import (
    PROBLEM_NAMES,
    Instance,
    InvalidInstance,
    problem_named,
    schema,
)
from cotenant.instances.problem.documents import to_json_value, whole_json_numbers
from cotenant.instances.problem.fields import Axes, FieldType, field_types
from cotenant.instances.problem.option_types import AtLeast, OptionType, meanings
from cotenant.instances.scheduling import Scheduling

HALF = np.full((4, 4), 0.5)
CLUSTER = cotenant.read("packing/cluster-12-40", cotenant.Packing)
NUMA = cotenant.read("numa/tiny", cotenant.Numa)
SCHEDULING = cotenant.read("scheduling/tiny", cotenant.Scheduling)
MARKET = cotenant.read("market/tiny", cotenant.Market)
ADMISSION = cotenant.read("admission/tiny", cotenant.Admission)

GIVEN: tuple[Instance[Any], ...] = (
    ADMISSION.replace(length=np.ones(ADMISSION.jobs), names=tuple("abcd"), machine_names=("a", "b")),
    Colocation(
        HALF, np.full(4, 2), bandwidth=np.ones(4), machines=4, names=tuple("abcd"), low=HALF / 2,
        high=HALF, looks=np.full((4, 4), 3), confidence=0.9, intervals="drawn",
    ),
    Colocation(HALF, np.full(4, 2), unpaired=0.75),
    Groups([2, 2], [4, 2], [1, 2], HALF[:2, :2], classes=("big", "small")),
    Groups([2, 2], 4, penalty=[HALF[:2, :2]]),
    Groups([2, 2], 4, 1, pressure=[1, 2], knots=[0, 1, 2], sensitivity=[[0, 0.1, 0.2]] * 2),
    Groups([2, 2], 2, members=[[0, 1, -1], [0, -1, -1]], losses=[[0.1, 0.2, 0], [0] * 3], where=[0, -1]),
    MARKET.replace(names=tuple("abc"), server_names=("x", "y")),
    NUMA.replace(law="gamma", scv=2.0, arrival_law="lognormal", arrival_scv=0.5),
    CLUSTER.replace(
        initial=CLUSTER.capacity, cost=np.full(12, 2), allowed=np.ones((8, 12), dtype=bool),
        most_per_server=np.full(8, 5.0), skew=np.full(8, 50.0), apart=[[0, 1]],
        limits=[Limit((0, 1), 50)], zone=("a", "b") * 6, class_names=tuple("abcdefghijkl"),
        spreads=[Spread((0, 1), 50, ("a", "b"))], placed=None, server_names=tuple("abcdefghijkl"),
    ),
    CLUSTER,
    cotenant.read("packing/cards"),
    Packing([[9, 9]], [[1, 2], [3, 4]], services=[Service((0, 1), (2, 3), 9, "web")]),
    Accelerators(
        [[2.0, 1.0], [3.0, 4.0]], [2, 3], [1, 2], together=np.ones((2, 2, 2)), workers=[1, 1],
        weight=[1.0, 2.0], steps=[5.0, 6.0], elapsed=[1.0, 0.0], deadline=[9.0, np.inf],
        device_cost=[1.0, 2.0], entity_weight=[1.0, 3.0], entity=[0, 1], names=("a", "b"),
        device_names=("x", "y"), entity_names=("one", "two"),
    ),
    cotenant.read("quanta/tiny"),
    cotenant.read("lifetimes/tiny").replace(predicted_end=[9] * 8, dropped=1, censored=1),
    cotenant.read("elastic/tiny"),
    SCHEDULING.replace(processors=[2] + [1] * (SCHEDULING.jobs - 1), backfilling=True),
    SCHEDULING.replace(speed=[2] + [1] * (SCHEDULING.total_machines - 1)),
)  # fmt: skip

CASES = [
    pytest.param(instance, field, id=f"{number}-{instance.problem}-{field.name}")
    for number, instance in enumerate(GIVEN)
    for field in field_types(type(instance))
    if np.size(getattr(instance, field.name)) and getattr(instance, field.name) is not None
]


def test_field_accepts_numpy_string_names() -> None:
    aliases = pytest.importorskip("typing_extensions", reason="pydantic brings it")
    entry = TypeVar("entry", bound=np.generic)
    inner = np.ndarray[tuple[Any, ...], np.dtype[entry]]
    named = aliases.TypeAliasType("named", inner, type_params=(entry,))
    twice = aliases.TypeAliasType("twice", named[entry], type_params=(entry,))
    plain = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]
    for alias in (named, twice):
        taken = OptionType.of(Annotated[alias[np.int64], AtLeast(0)] | None)
        assert taken == OptionType.of(Annotated[plain, AtLeast(0)] | None)
    record = dataclasses.make_dataclass(
        "record", [("counts", Annotated[named[np.int64], Axes("a")])]
    )
    assert [field.dtype for field in field_types(record)] == [np.int64]


def test_every_field_has_a_refusal_case() -> None:
    declared = {(name, entry) for name in PROBLEM_NAMES for entry in _names(name)}
    assert declared == {(case.values[0].problem, case.values[1].name) for case in CASES}


def _names(problem: str) -> list[str]:
    return [field.name for field in field_types(problem_named(problem).instance)]


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
def test_docstring_and_schema_describe_each_field(problem: str) -> None:
    kind = problem_named(problem).instance
    meaning = meanings(inspect.getdoc(kind) or "")
    content = schema(problem)["properties"]
    content |= content.pop("job", {})
    for field in field_types(kind):
        assert meaning[field.name]
        assert field.json.hidden or field.json.under or content[field.name]["description"]


def out_of_range(field: FieldType) -> Iterator[float]:
    """A number beyond each end of the ranges of a field, and what is no number that it takes."""
    for limits in field.limits:
        if limits.least is not None:
            yield limits.least - 1
        if limits.most is not None:
            yield limits.most * 2 + 1
        yield from (end for end in (limits.above, limits.below) if end is not None)
    yield from (-np.inf, np.nan)
    if not field.infinite:
        yield np.inf
    if field.whole or field.hint is int or (field.axes and field.dtype is np.int64):
        yield 4 / 3  # 1.5 is taken in tenths, where amounts are


def invalid_values(instance: Any, field: FieldType) -> Iterator[Any]:
    """Wrong values of a field: of another type or shape, out of range, with a word for a number."""
    value = getattr(instance, field.name)
    if field.hint is not str:
        yield from ("x", object)
    if field.names is not None:
        yield from (3, [1] * len(value), [*value, "another"])
        if len(value) > 1:
            yield value[:-1]
            yield from [[value[0]] * len(value)] * field.names.distinct
    elif field.axes is not None:
        yield [[[[value.tolist()]]]]
        yield np.full(value.shape, "x").tolist()
        earlier = [f.axes for f in field_types(type(instance)) if f.axes is not None]
        earlier = earlier[: earlier.index(field.axes)]
        if any(field.axes.names.split()[0] in axes.names.split() for axes in earlier):
            yield np.concatenate([value, value])
            yield value[:-1]
        numbers = [*out_of_range(field)]
        if field.index is not None:
            numbers += [field.index.least - 1, 10**6]
        looked_at = getattr(instance, field.axes.where)() if field.axes.where else True
        place = tuple(np.argwhere(np.broadcast_to(looked_at, value.shape))[0])
        for number in numbers if field.dtype is not np.bool_ else (2, np.nan):
            wrong = value.astype(float)
            wrong[place] = number
            yield wrong
        if field.required:
            yield from ([], None)
    elif get_origin(field.hint) is tuple:
        record = get_args(field.hint)[0]
        yield from (3, [3], [{}], [{**dataclasses.asdict(value[0]), "extra": 1}])
        for entry in field_types(record):
            for wrong in ("x", -1, 1.5, None, [[[1]]], [10**6], []):
                if (entry.name, wrong) not in (("zones", []), ("name", "x")):
                    yield [{**dataclasses.asdict(value[0]), entry.name: wrong}]
    elif field.hint in (int, float):
        yield from (*out_of_range(field), [1.0, 2.0], True)
        if field.default is not None:
            yield None
    else:
        yield from (3, None, ["x"]) if field.hint is not bool else (3, None, [True])


@pytest.mark.parametrize(("instance", "field"), CASES)
def test_invalid_value_is_refused_by_field_name(
    instance: Any, field: FieldType, tmp_path: Path
) -> None:
    content = {"cotenant": 1, "problem": instance.problem, **instance.document()}
    inner = content[field.json.under] if field.json.under else content
    file = tmp_path / "x.json"

    def refused_from_file() -> None:
        file.write_text(json.dumps(content))
        with pytest.raises(InvalidInstance) as caught:
            cotenant.read(file)
        seen = caught.value.field.rpartition(": ")[2].removeprefix(f"{field.json.under}.")
        assert seen.partition("[")[0].partition(".")[0] == field.name

    for wrong in invalid_values(instance, field):
        with pytest.raises(InvalidInstance) as caught:
            instance.replace(**{field.name: wrong})
        assert caught.value.field.partition("[")[0] == field.name, caught.value
        wrong = wrong.tolist() if isinstance(wrong, np.ndarray) else wrong
        try:
            json.dumps(wrong, allow_nan=False)
        except (TypeError, ValueError):
            continue  # what JSON cannot hold
        if not field.json.hidden and not (wrong is None and field.json.null):
            inner[field.name] = wrong
            refused_from_file()
    if field.required:
        del inner[field.name]
        refused_from_file()


@pytest.mark.parametrize("place", range(len(GIVEN)))
def test_reading_inverts_writing_and_names_unknown_fields(place: int, tmp_path: Path) -> None:
    instance = GIVEN[place].replace(name="x", source="drawn")
    for name in ("a.json", "a.json.gz"):
        again = cotenant.read(cotenant.write(instance, tmp_path / name))
        assert again == instance
        assert hash(again) == hash(instance)
    content = json.loads((tmp_path / "a.json").read_text()) | {"no_field": 1}
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(InvalidInstance) as caught:
        cotenant.read(tmp_path / "a.json")
    assert caught.value.field.endswith("a.json, line 1: field 'no_field'")


COLOCATION = Colocation([[0.1, 0.2], [0.3, 0.4]], [2, 2])
GROUPS = Groups([2, 2], [3], [3], [[0, 0], [0, 0]])
PACKING = Packing([[4, 8], [6, 6]], [[1, 2], [3, 1]], [2.0, 1.0], [np.inf, 2.0])
CURVES = {"pressure": [1, 2], "knots": [0, 1], "sensitivity": [[0, 0.1], [0, 0.1]]}
LOG = {"organization": [0, 0, 1], "release": [0, 0, 1], "processing": [3, 2, 4]}
JOBS = Scheduling([1, 1], **LOG, horizon=8)
PARALLEL = Scheduling([2, 2], [0, 0, 1, 1], [0, 0, 0, 1], [3, 2, 4, 2], 9, processors=[2, 3, 1, 4])
RULED = Packing([[8]] * 3, [[2], [3], [1]], [3, 2, 2], [2, 2, 1], zone=("east", "west", ""))
CARDS = Packing(
    [[16, 64], [32, 128]], [[4, 8], [2, 4], [1, 1], [3, 3]], request=[3, 6, 4, 2], servers=[2, 1],
    partial=True, cards=[2, 4], card_model=["T4", "V100"], card_units=100,
    card_demand=[2, 1, 0, 0], card_share=[0, 0, 60, 40],
)  # fmt: skip
SERVICES = Packing(
    [[7, 8]], [[1, 1], [3, 4], [4, 4]],
    services=[Service((0, 1), (10, 35), 101, "web"), Service((2,), (9,), 20, "search")],
    names=("web 1g", "web 3g", "search 4g"),
)  # fmt: skip
ACCELERATORS = cotenant.read("accelerators/tiny")
ELASTIC = Elastic([[1.0, 2.0]], [4], [0, 0], [1, 2])
LIFETIMES = cotenant.read("lifetimes/tiny", Lifetimes)

RULES: list[tuple[Instance[Any], dict[str, Any]]] = [
    (COLOCATION, {"count": [0, 0]}),
    (COLOCATION, {"count": [2, 1]}),
    (COLOCATION, {"count": [4 * 10**9] * 2}),
    (COLOCATION, {"count": [2**62 - 2] * 2}),
    (COLOCATION, {"machines": 1}),
    (COLOCATION, {"unpaired": 0.35}),
    (COLOCATION, {"unpaired": 1, "machines": 4}),
    (COLOCATION, {"names": ["a", "b"], "penalty": [[np.inf, np.inf], [0, 0]]}),
    (GROUPS, {"machines": [1]}),
    (GROUPS, {"penalty": None}),
    (GROUPS, CURVES),
    (GROUPS, {"penalty": None, **CURVES, "sensitivity": [[0, 0.1], [0.1, 0]]}),
    (GROUPS, {"penalty": None, **CURVES, "knots": [1, 1]}),
    (GROUPS, {"penalty": None, **CURVES, "pressure": None}),
    (GROUPS, {"penalty": None, "members": [[0, 0]], "losses": [[0.1, 0.2]]}),
    (GROUPS, {"penalty": None, "members": [[0], [0]], "losses": [[0.1], [0.2]]}),
    (GROUPS, {"penalty": None, "members": [[-1]], "losses": [[0.1]]}),
    (GROUPS, {"where": [0]}),
    (GROUPS, {"seats": [2, 2], "machines": None, "classes": ()}),
    (NUMA, {"blades": 3000}),
    (NUMA, {"cores": 60_000}),
    (NUMA, {"rows": NUMA.rows + 1}),
    (NUMA, {"location_share": 1.25 * NUMA.location_share}),
    (NUMA, {"class_share": 1.25 * NUMA.class_share}),
    (NUMA, {"law": "gamma"}),
    (NUMA, {"law": "gamma", "scv": 0}),
    (NUMA, {"scv": 2.0}),
    (PACKING, {"demand": [[1, 2], [9, 1]], "names": ["web", "batch"]}),
    (PACKING, {"demand": [[1, 2], [5, 7]]}),
    (PACKING, {"capacity": [[4, 8], [0, 0]], "initial": None}),
    (PACKING, {"capacity": [[4, 0], [6, 0]], "initial": None, "demand": [[1, 0], [3, 0]]}),
    (PACKING, {"servers": [0.0, 0.0]}),
    (PACKING, {"demand": [[0, 0], [3, 1]]}),
    (PACKING, {"request": [0.0, 0.0]}),
    (PACKING, {"request": [2.0**52, 1.0]}),
    (PACKING, {"request": [2.0**13, 1.0], "cost": [2**51, 1]}),
    (PACKING, {"initial": [[4, 7], [6, 6]]}),
    (JOBS, {"machines": [0, 0]}),
    (JOBS, {"machines": [10**9, 1]}),
    (JOBS, {"horizon": 2**31}),
    (JOBS, {"processing": [2**61, 2, 4]}),
    (PARALLEL, {"processors": [2, 5, 1, 4]}),
    (PARALLEL, {"processors": None, "speed": [1, 2]}),
    (PARALLEL, {"speed": [1, 2, 1, 1]}),
    (PARALLEL, {"processing": [2**61, 1, 1, 1]}),
    (RULED, {"allowed": [[True] * 3]}),
    (RULED, {"allowed": [[False] * 3, [True] * 3, [True] * 3]}),
    (RULED, {"apart": [[1, 1]]}),
    (RULED, {"skew": [1, 1, 1], "zone": ()}),
    (RULED, {"limits": [{"types": [0, 0], "most": 1}]}),
    (RULED, {"limits": [{"types": [0], "most": 1, "within": "zone"}], "zone": ()}),
    (RULED, {"spreads": [{"types": [0], "skew": 1, "zones": ["north"]}]}),
    (RULED, {"placed": [[5, 0, 1]]}),
    (RULED, {"placed": [[0, 0, 0]]}),
    (RULED, {"placed": [[0, 1, 3]]}),
    (RULED, {"placed": [[0, 1, 1], [0, 1, 1]]}),
    (RULED, {"placed": [[0, 0, 1]], "servers": None}),
    (CARDS, {"cards": None}),
    (CARDS, {"cards": None, "card_demand": None, "card_share": None}),
    (CARDS, {"card_share": [0, 0, 100, 40]}),
    (CARDS, {"card_demand": [2, 1, 1, 0]}),
    (CARDS, {"card_demand": [5, 1, 0, 0]}),
    (CARDS, {"cards": [0, 0], "card_demand": None}),
    (CARDS, {"cards": [2**52, 1]}),
    (CARDS, {"cards": [-1, 2]}),
    (CARDS, {"card_units": 0}),
    (SERVICES, {"services": [{"types": [0], "rates": [1, 2], "rate": 3}]}),
    (SERVICES, {"services": [{"types": [0], "rates": [0], "rate": 3}]}),
    (SERVICES, {"services": [{"types": [0], "rates": [1], "rate": 1}] * 2}),
    (SERVICES, {"request": [1, np.inf, np.inf]}),
    (SERVICES, {"most_per_server": [1, 1, 1]}),
    (SERVICES, {"partial": True}),
    (ACCELERATORS, {"throughput": [[4, 2], [0, 0]]}),
    (ACCELERATORS, {"throughput": [[4, 2], [3, 1e-12]]}),
    (ACCELERATORS, {"workers": [1, 2]}),
    (ACCELERATORS, {"count": [0, 0]}),
    (ACCELERATORS, {"devices": [0, 0]}),
    (ACCELERATORS, {"steps": None, "deadline": [10, 10]}),
    (ELASTIC, {"workers": [1, 5]}),
    (ELASTIC, {"workers": [1, 1]}),
    (ELASTIC, {"count": [0]}),
    (cotenant.read("quanta/tiny"), {"demand": [[0, 0]], "share": 1, "names": ()}),
    (cotenant.read("quanta/tiny"), {"share": 0}),
    (LIFETIMES, {"end": LIFETIMES.start}),
    (LIFETIMES, {"capacity": [1, 8]}),
    (LIFETIMES, {"demand": [[0, 0], [2, 4], [2, 6]]}),
]
"""What is wrong with fields that each have what they are declared to have."""


@pytest.mark.parametrize("place", range(len(RULES)))
def test_inconsistent_fields_are_refused_in_python_and_file(place: int, tmp_path: Path) -> None:
    instance, changes = RULES[place]
    with refused(InvalidInstance) as caught:
        instance.replace(**changes)
    content = {"cotenant": 1, "problem": instance.problem, **instance.document()}
    for field in field_types(type(instance)):
        if field.json.hidden and field.name in changes:
            return  # a document has these fields in another form
        if field.name in changes:
            inner = content[field.json.under] if field.json.under else content
            value = to_json_value(np.asarray(changes[field.name]).tolist())
            inner[field.name] = whole_json_numbers(value) if field.json.integers else value
            if changes[field.name] is None:
                del inner[field.name]
    (tmp_path / "x.json").write_text(json.dumps(content, indent=1))
    with pytest.raises(InvalidInstance) as again:
        cotenant.read(tmp_path / "x.json")
    assert re.fullmatch(
        re.escape(str(tmp_path / "x.json")) + r"(, line \d+)?: " + re.escape(str(caught.value)),
        str(again.value),
    )


def test_record_without_an_entry_is_refused_with_its_entries() -> None:
    with refused(InvalidInstance):
        SERVICES.replace(services=[{"types": [0], "rates": [1]}])


def test_instance_shares_memory_only_with_read_only_arrays() -> None:
    written, frozen = np.array([24.0, 24.0, 24.0]), np.array([24.0, 24.0, 24.0])
    seen, still = written[:], frozen[:]
    seen.flags.writeable = frozen.flags.writeable = False
    one = {"user": [0], "server": [0], "parallel_fraction": [0.5], "work": [1.0]}
    for given, shared in (
        (written, False), (seen, False), (still, False), (np.broadcast_to(24.0, 3), False),
        (frozen, True), (frozen[:2], True),
    ):  # fmt: skip
        market = MARKET.replace(capacity=given, server_names=(), **one)
        assert np.shares_memory(market.capacity, given) == shared
        assert not market.capacity.flags.writeable

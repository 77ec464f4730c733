"""Exact admission: total speed, jobs, columns and proofs against enumeration, and at limits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from support.messages import approved
from support.proved import Document, Proved, case_of, proved, put
from support.seeds import seeds
from support.small_cases import admission, most_total_speed

import cotenant
from cotenant.analysis.admission.frontier import price_frontiers
from cotenant.catalog import functions
from cotenant.instances.admission import Admission, Assignment, blocking_pairs, check, total_speed
from cotenant.instances.admission.generators import uniform
from cotenant.instances.admission.rules import SCHEMES, pair_bounds, price_bound
from cotenant.instances.problem.files import read
from cotenant.models.admission import assignment_program
from cotenant.models.admission.readable import readable
from cotenant.models.program import from_pyomo
from cotenant.solvers.admission.columns import LIMITS, ColumnGeneration, ColumnLimits
from cotenant.solvers.admission.local_search import local_search, start_assignment
from cotenant.solvers.admission.optimal import most_jobs, optimal
from cotenant.solvers.admission.partial_assignment import most_possible
from cotenant.solvers.admission.search import (
    AdmissionLimits,
    Search,
    find_prices,
    generate_columns,
    list_sets,
)
from cotenant.solvers.engines import EngineAnswer, solve_program
from cotenant.solvers.outcome import Clock, Outcome, Status, Stop
from cotenant.verify.admission import admission_speed

PROGRAM, COLUMNS = AdmissionLimits(small=10**6), AdmissionLimits(small=0)
"""The assignment program alone, and all routes."""

POLICIES = functions("admission", *SCHEMES)

SAME = 1e-7
"""Two values of one optimum, worked out by different engines, differ by no more, relative to 1 +
value.
"""


def splits(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to give at most `number` cores to so many jobs."""
    if parts == 0:
        yield ()
        return
    for first in range(number + 1):
        for rest in splits(number - first, parts - 1):
            yield (first, *rest)


def assignments(instance: Admission) -> Iterator[Assignment]:
    """Every feasible assignment, from the definition."""
    cores, threads = instance.cores.tolist(), instance.threads.tolist()
    types, jobs = range(instance.types), instance.jobs
    for machine in itertools.product(range(-1, instance.machines), repeat=jobs):
        ways = []
        for v in range(instance.machines):
            here = [j for j in range(jobs) if machine[j] == v]
            shared = itertools.product(*(splits(cores[v][c], len(here)) for c in types))
            ways.append([
                [(j, [way[c][i] for c in types]) for i, j in enumerate(here)] for way in shared
                if all(1 <= sum(way[c][i] for c in types) <= threads[j] for i, j in enumerate(here))
            ])  # fmt: skip
        for chosen in itertools.product(*ways):
            held = [[0] * instance.types for _ in range(jobs)]
            for j, row in itertools.chain.from_iterable(chosen):
                held[j] = row
            yield Assignment(machine, held)  # type: ignore[arg-type]


def tiny(seed: int) -> Admission:
    rng = np.random.default_rng([23, seed])
    machines, jobs, types = (int(rng.integers(1, most + 1)) for most in (3, 3, 2))
    speed = (
        rng.integers(1, 8, (jobs, types)).astype(float)
        if seed % 2
        else rng.uniform(1, 9, (jobs, types))
    )
    cores = rng.integers(0, 3, (machines, types))
    if seed % 5 == 0:
        cores[:] = cores[0]  # interchangeable VMs
    return Admission(cores, rng.integers(1, 4, jobs), speed)


@cache
def enumerated(seed: int) -> list[tuple[float, int, int]]:
    """(total speed, jobs assigned, blocking pairs) of every assignment of `tiny(seed)`."""
    instance = tiny(seed)
    return [
        (
            float((instance.speed * one.cores).sum()),
            int((one.machine >= 0).sum()),
            blocking_pairs(instance, one).count,
        )
        for one in assignments(instance)
    ]


SEEDS = range(30)


def assert_proved(instance: Admission, outcome: Outcome, value: float) -> None:
    """The outcome is feasible, worth this much, and says so with a matching bound."""
    assert isinstance(outcome.solution, Assignment)
    check(instance, outcome.solution)
    assert total_speed(instance, outcome.solution) == pytest.approx(value, abs=SAME * (1 + value))
    assert outcome.status is Status.OPTIMAL
    assert outcome.stop is Stop.FINISHED


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "options",
    [{}, {"engine": "cp-sat"}, {"limits": COLUMNS}, {"limits": PROGRAM}],
    ids=["auto", "cp-sat", "columns", "program"],
)
def test_admission_optimum_equals_enumeration(seed: int, options: dict[str, Any]) -> None:
    outcome = optimal(tiny(seed), **options)
    best = max(value for value, _, _ in enumerated(seed))
    assert_proved(tiny(seed), outcome, best)
    assert outcome.bound == pytest.approx(best, abs=SAME * (1 + best))


@pytest.mark.parametrize("method", [optimal, most_jobs])
@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_admission_with_long_decimals_is_optimal_by_every_engine(method: Any, engine: str) -> None:
    """CP-SAT's whole numbers must be fine enough: what rounding of speeds adds to its bound is no
    gap.
    """
    speed = [43.59613055352914, 48.16560416501299, 16.394022006389317, 73.59042656521684]
    instance = Admission([[7], [5]], [13, 14, 10, 1, 2], [[s] for s in [*speed, 11.81036598217964]])  # type: ignore[arg-type]
    outcome = method(instance, engine=engine)
    assert (outcome.status, outcome.stop) == (Status.OPTIMAL, Stop.FINISHED)
    assert all(level["status"] == "optimal" for level in outcome.certificate.get("levels", []))


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_admission_proof_ignores_speed_on_core_type_without_cores(engine: str) -> None:
    speed = [[1.000000003, 1e12], [1.000000002, 1e12], [1.000000001, 1e12]]
    instance = Admission([[3, 0], [2, 0]], [2, 2, 2], speed)  # type: ignore[arg-type]
    outcome = optimal(instance, engine=engine)
    assert_proved(instance, outcome, 2 * 1.000000003 + 2 * 1.000000002 + 1.000000001)


@pytest.mark.parametrize("seed", SEEDS)
def test_most_jobs_and_then_most_speed_equal_enumeration(seed: int) -> None:
    instance = tiny(seed)
    most, speed = max((jobs, value) for value, jobs, _ in enumerated(seed))
    assert most == most_possible(instance)
    outcome = most_jobs(instance)
    assert_proved(instance, outcome, speed)
    assert outcome.solution.assigned.sum() == most  # type: ignore[union-attr]
    first, second = outcome.certificate["levels"]
    assert first["value"] == first["bound"] == outcome.bound == most / instance.jobs
    assert second["status"] == "optimal"
    assert second["bound"] == pytest.approx(speed, abs=SAME * (1 + speed))
    assert most_jobs(instance, then="nothing").solution.assigned.sum() == most  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", SEEDS)
def test_admission_speed_then_jobs_equals_enumeration(seed: int) -> None:
    best = max(value for value, _, _ in enumerated(seed))
    jobs = max(jobs for value, jobs, _ in enumerated(seed) if value >= best - SAME)
    outcome = optimal(tiny(seed), then="jobs")
    assert_proved(tiny(seed), outcome, best)
    assert outcome.solution.assigned.sum() == jobs  # type: ignore[union-attr]
    assert outcome.certificate["levels"][1]["status"] == "optimal"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("largest", [3000, 0])
def test_admission_frontier_equals_enumeration_or_has_valid_bounds(
    seed: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cotenant.analysis.admission.frontier.LARGEST", largest)
    (found,) = price_frontiers(tiny(seed))
    if largest == 0:
        approved(found.note)
        assert found.points[0].reached == 0
    else:
        assert found.status is Status.OPTIMAL
    for point in found.points:
        if largest:
            check(tiny(seed), point.answer)
            assert blocking_pairs(tiny(seed), point.answer).count == point.reached
            assert total_speed(tiny(seed), point.answer) == pytest.approx(point.value)
        within = max(
            value
            for value, _, pairs in enumerated(seed)
            if point.limit is None or pairs <= point.limit
        )
        assert point.value <= within + SAME <= point.bound + 1e-6
        assert largest == 0 or point.value == pytest.approx(within, abs=1e-6)
    if largest:  # a point for each number of pairs at which the best total speed rises
        expected: list[int] = []
        reached = -np.inf
        for pairs in sorted({pairs for _, _, pairs in enumerated(seed)}):
            best = max(value for value, _, count in enumerated(seed) if count == pairs)
            if best > reached + SAME:
                expected, reached = [*expected, pairs], best
        assert list(dict.fromkeys(point.reached for point in found.points)) == expected


def test_speed_bound_from_any_core_prices_holds_for_every_assignment() -> None:
    rng = np.random.default_rng(6)
    for seed in range(8):
        instance = tiny(seed)
        prices = rng.uniform(0, 5, instance.cores.shape)
        bounds, whole = pair_bounds(instance, prices), price_bound(instance, prices)
        assert (bounds <= whole + SAME).all()
        for one in assignments(instance):
            jobs = np.flatnonzero(one.machine >= 0)
            least = bounds[jobs, one.machine[jobs]].min(initial=whole)
            assert total_speed(instance, one) <= least + SAME


def middle(seed: int) -> Admission:
    rng = np.random.default_rng([31, seed])
    return uniform(machines=4, jobs=9, types=3, cores=4, threads=8, speed=10.0, rng=rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(4, 2))
@pytest.mark.parametrize("least", [0, 3])
def test_pyomo_model_of_admission_has_optimum_of_program_of_arrays(seed: int, least: int) -> None:
    instance = tiny(seed) if seed % 2 else middle(seed)
    least = min(least, most_possible(instance))
    arrays = assignment_program(instance, least_jobs=least)
    stated = from_pyomo(readable(instance, least_jobs=least))
    values = [solve_program(arrays.program).objective, solve_program(stated).objective]
    assert values[0] is not None
    assert values[1] == pytest.approx(values[0] * arrays.scale, abs=1e-6)


def test_local_search_is_not_worse_than_start_and_deterministic_by_seed() -> None:
    for seed in range(5):
        instance = uniform(machines=5, jobs=20, types=3, rng=np.random.default_rng(seed))
        start = POLICIES["DA2"](instance)
        found = local_search(instance, start=start, kicks=3, rng=np.random.default_rng(1))
        check(instance, found)
        assert total_speed(instance, found) >= total_speed(instance, start)
        assert found == local_search(instance, start=start, kicks=3, rng=np.random.default_rng(1))


HINES_ROMANO: Any = cotenant.read("admission/hines-romano-I")


def hard() -> Admission:
    rng = np.random.default_rng(4)
    return uniform(machines=20, jobs=60, types=5, cores=25, threads=50, speed=100.0, rng=rng)


@pytest.mark.parametrize("limited", [True, False])
def test_admission_second_level_at_time_limit_is_feasible_with_bound(
    limited: bool, engines: Callable[..., None]
) -> None:
    if limited:
        outcome = most_jobs(hard(), time_limit=0.2)
    else:  # the first level is proved at once, the second gets no time
        instance = Admission([[2]], [2, 2], [[1.0], [1.0]])  # type: ignore[arg-type]

        def short(program: Any, **given: Any) -> Any:
            second = bool((program.cost[: instance.jobs] != 0).any())
            return STOPPED if second else solve_program(program, **given)

        engines(solve_program=short)
        outcome = optimal(instance, then="jobs")
    assert outcome.status is Status.OPTIMAL
    assert [level["status"] for level in outcome.certificate["levels"]] == ["optimal", "feasible"]
    assert outcome.stop is Stop.TIME_LIMIT


STOPPED = EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT)


def test_symmetry_rows_of_many_equal_vms_respect_time_limit() -> None:
    instance = Admission(np.ones((30, 1), dtype=int), np.ones(400, dtype=int), np.ones((400, 1)))
    program = assignment_program(instance)
    assert not program.ordered
    assert program.program.matrix.nnz < 100_000


@pytest.mark.parametrize(
    ("method", "first"), [(price_frontiers, 0), (price_frontiers, 1), (most_jobs, 0)]
)
def test_interrupt_of_engine_skips_later_steps_of_admission_method(
    method: Any, first: int, engines: Callable[..., None]
) -> None:
    instance = uniform(
        machines=3, jobs=8, types=2, cores=4, threads=6, speed=10.0, rng=np.random.default_rng(0)
    )
    calls: list[object] = []

    def interrupted(program: Any, **given: Any) -> Any:
        calls.append(program)
        stopped = len(calls) > first
        return (
            replace(STOPPED, stop=Stop.INTERRUPTED) if stopped else solve_program(program, **given)
        )

    engines(solve_program=interrupted)
    found = method(instance)
    assert (found[0] if method is price_frontiers else found).stop is Stop.INTERRUPTED
    assert len(calls) == first + 1


@pytest.mark.parametrize("limits", [PROGRAM, COLUMNS])
def test_engine_at_time_limit_gives_bound_but_not_optimality(
    limits: AdmissionLimits, engines: Callable[..., None]
) -> None:
    instance = middle(1)
    best = optimal(instance).bound
    assert best is not None

    def cut(program: Any, **given: Any) -> Any:
        """A value in hand, and a bound that is a tenth too high."""
        answer = solve_program(program, **given)
        assert answer.bound is not None
        return replace(
            answer, status=Status.FEASIBLE, stop=Stop.TIME_LIMIT, bound=1.1 * answer.bound
        )

    engines(solve_program=cut)
    outcome = optimal(instance, limits=limits)
    assert outcome.bound is not None
    assert outcome.bound >= best * (1 - SAME)
    if limits is PROGRAM:
        assert (outcome.status, outcome.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)


@pytest.mark.parametrize("method", [optimal, most_jobs])
def test_program_above_memory_limit_is_skipped_and_reported(
    method: Any, engines: Callable[..., None]
) -> None:
    """Half a million columns take HiGHS 5 GB."""
    assert AdmissionLimits().program_columns < 300 * 150 * 11
    program = Mock(side_effect=AssertionError("it was begun"))
    engines(solve_program=program)
    outcome = method(HINES_ROMANO, limits=AdmissionLimits(small=10**6, program_columns=10))
    approved(outcome.certificate["left_out"])
    assert outcome.bound is not None


def test_engine_ignoring_time_limit_runs_in_killable_process(engines: Callable[..., None]) -> None:
    deaf = Mock(return_value=STOPPED)
    engines(solve_in_subprocess=deaf)
    limits = AdmissionLimits(small=10**6, keeps_time=10)
    outcome = optimal(HINES_ROMANO, time_limit=60, limits=limits)
    assert 0 < deaf.call_args.kwargs["time_limit"] <= 60
    assert deaf.call_args.kwargs["start"] is not None
    assert (outcome.status, outcome.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert outcome.bound is not None


CLOSE = 1e-6


def given(seed: int) -> Admission:
    """Small, contested, often with VMs of equal cores."""
    rng = np.random.default_rng([57, seed])
    machines, types = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    cores = rng.integers(0, 3, (machines, types))
    cores[0] = np.maximum(cores[0], 1)
    if machines == 1:
        cores += 2  # room for everybody on the one VM, which leaves the list no room to spare
    if seed % 2:
        cores[:] = cores[0]
    return Admission(cores, rng.integers(1, 4, 5), rng.uniform(1, 9, (5, types)))


# Few trials of a job for each search: as many as are needed, next to none, or none at all.
EFFORTS = {
    "whole": LIMITS,
    "three": ColumnLimits(effort=(3, 3), listing=3),
    "none": ColumnLimits(effort=(0, 0), listing=0),
}


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", ["prices", "no prices"])
def test_admission_columns_prove_optimum_or_valid_bound(effort: str, name: str) -> None:
    short = 0
    for seed in range(12):
        instance = given(seed)
        best = most_total_speed(instance)
        limits = AdmissionLimits(columns=EFFORTS[effort])
        search = Search(instance, Clock(), start_assignment(instance, None), limits)
        for route in (find_prices, generate_columns, list_sets)[name == "no prices" :]:
            route(search)
        assert search.bound >= best * (1 - CLOSE)
        assert search.value <= best * (1 + CLOSE)
        assert effort != "whole" or search.value == pytest.approx(best, rel=CLOSE)
        short += search.value < best * (1 - CLOSE)
    assert effort == "whole" or short  # there was something to claim wrongly


@pytest.mark.parametrize("share", [0.6, 0.9, 1 - 1e-6])
def test_job_sets_of_assignments_above_a_speed_contain_the_admission_optimum(share: float) -> None:
    for seed in range(12):
        instance = given(seed)
        best = most_total_speed(instance)
        program = ColumnGeneration(instance, np.zeros(instance.cores.shape), np.inf)
        assert program.list_all(Clock(), share * best)
        _, found = program.solve(Assignment.nobody(instance), None)
        assert total_speed(instance, found) == pytest.approx(best, rel=CLOSE)


def test_second_level_at_time_limit_has_engine_bound(engines: Callable[..., None]) -> None:
    # As fast with both jobs as with job 0 alone, which takes both cores of either VM.
    instance = Admission([[2]], [2, 2], [[1.0], [1.0]])  # type: ignore[arg-type]
    start = Assignment([0, -1], [[2], [0]])  # type: ignore[arg-type]

    def cut(program: Any, **asked: Any) -> EngineAnswer:
        """It has proved that no more than 2 are served, and found one."""
        done = solve_program(program, **asked)
        return replace(
            done, point=None, objective=None, status=Status.FEASIBLE, stop=Stop.TIME_LIMIT
        )

    engines(solve_program=cut)
    outcome = optimal(instance, start=start, then="jobs")
    first, second = outcome.certificate["levels"]
    assert first["status"] == "optimal"
    assert (second["value"], second["bound"], second["status"]) == (0.5, 1.0, "feasible")


def random_tree(rng: np.random.Generator, jobs: int, types: int, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.3:
        return rng.integers(0, 90, types).tolist()
    sides = {name: random_tree(rng, jobs, types, depth - 1) for name in ("in", "out")}
    return {"job": int(rng.integers(jobs)), **sides}


@pytest.mark.parametrize("seed", range(40))
def test_admission_proof_of_any_prices_and_trees_gives_valid_bound(seed: int) -> None:
    instance, rng = admission(seed), np.random.default_rng(seed)
    kinds = len(np.unique(instance.cores, axis=0))
    step = {
        "kind": "prices",
        "jobs": rng.integers(0, 150, instance.jobs).tolist(),
        "over": 10,
        "kinds": [random_tree(rng, instance.jobs, instance.types, 4) for _ in range(kinds)],
    }
    [level] = admission_speed(case_of(instance, None, {}, [step]))
    assert float(level.bound) >= most_total_speed(instance) * (1 - 1e-12)


@cache
def twelve_jobs() -> Proved:
    """A proof with a tree for each kind of VM, and a gap of rounding."""
    rng = np.random.default_rng([31, 2])
    instance = uniform(machines=4, jobs=12, types=3, cores=6, threads=8, speed=10.0, rng=rng)
    return proved(instance, "optimal")


@pytest.mark.slow
def test_hines_romano_instance_i_is_certified_to_eight_digits() -> None:
    proof = proved(read("admission/hines-romano-I"), "optimal")
    assert 0 <= proof.bound - proof.value <= proof.value / 10**8


def tree_of(proof: Document) -> Document:
    """The first tree with a node."""
    return next(tree for tree in proof["steps"][0]["kinds"] if isinstance(tree, dict))


FORGERIES: dict[str, Any] = {
    "a price below 0": put("steps", 0, "jobs", 0, to=-1),
    "half a price": put("steps", 0, "jobs", 0, to="1/2"),
    "a price without end": put("steps", 0, "jobs", 0, to=10**3999),
    "a job too many": lambda p: p["steps"][0]["jobs"].append(0),
    "over nothing": lambda p: p["steps"][0].update(over=0),
    "over less than nothing": lambda p: p["steps"][0].update(over=-p["steps"][0]["over"]),
    "a kind of VM left out": lambda p: p["steps"][0]["kinds"].pop(),
    "a branch left out": lambda p: tree_of(p).pop("out"),
    "a branch too many": lambda p: tree_of(p).update(maybe=tree_of(p)["in"]),
    "an unknown job": lambda p: tree_of(p).update(job=10**6),
    "half a job": lambda p: tree_of(p).update(job="1/2"),
    "rents below 0": put("steps", 0, "kinds", 0, to=[-1, 0, 0]),
    "rents of two cores": put("steps", 0, "kinds", 0, to=[0, 0]),
    "a core used twice": put("witness", "cores", 0, to=lambda old: [2 * n for n in old]),
    "half a core": put("witness", "cores", 0, 0, to="1/2"),
    "fewer than no cores": put("witness", "cores", 0, 0, to=-1),
    "nowhere with cores": lambda p: p["witness"]["machine"].__setitem__(
        int(np.argmax(np.array(p["witness"]["machine"]) >= 0)), -1
    ),
    "an unknown VM": put("witness", "machine", 0, to=10**6),
    "another VM from behind": put("witness", "machine", 0, to=-2),
    "optimal": lambda p: p["claim"].update(claim_kind="optimal"),
    "a higher value": lambda p: p["claim"].update(value=300),
    "a lower bound": lambda p: p["claim"].update(bound=282),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_forged_admission_proof_is_refused(change: Any) -> None:
    twelve_jobs().refuses(change)


def test_most_jobs_proof_bounds_number_of_jobs_and_then_speed() -> None:
    proof = proved(read("admission/tiny"), "most-jobs")
    assert proof.sentence.count("optimal") == 2
    proof.refuses(lambda p: p["claim"].update(bound="1/2", value="1/2"), approved=True)

"""What it means that a value and a bound agree (the same in every unit, never more than is proved), and
what one limit of a frontier says about the others.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.fakes import interrupted
from support.messages import approved

import cotenant
from cotenant.analysis.frontier import PriceFrontier, PricePoint, Sweep, settled
from cotenant.analysis.metric import Metric
from cotenant.analysis.run.gaps import gap_to
from cotenant.analysis.run.question import Question
from cotenant.analysis.run.rows import read_rows
from cotenant.analysis.run.solve import run
from cotenant.analysis.run.verify_result import recheck
from cotenant.catalog import METHODS
from cotenant.instances.admission import Admission
from cotenant.instances.groups import Groups
from cotenant.instances.market import Allocation, Market
from cotenant.instances.packing import Packing
from cotenant.instances.problem import Instance, scale
from cotenant.instances.problem.registry import resolve
from cotenant.instances.scheduling import Scheduling
from cotenant.solvers.engines import solve_program, solve_refined
from cotenant.solvers.outcome import (
    AGREE,
    Clock,
    Outcome,
    Status,
    Stop,
    agree,
    gap,
    gap_absolute,
    implies,
)

MILLIONTH = 1e-6


def in_another_unit(instance: Any, factor: float) -> Instance:
    """The same instance with penalties, work, speeds or services counted in another unit."""
    field = {
        "colocation": "penalty",
        "market": "work",
        "admission": "speed",
        "numa": "service_mean",
    }[instance.problem]
    changed: Instance = instance.replace(**{field: getattr(instance, field) * factor})
    return changed


def claimed(market: Market, bound: float) -> Any:
    """The equal shares, claimed to be optimal with that bound on the total utility."""

    def method(instance: Market) -> Outcome:
        return Outcome(cotenant.solve(instance, "ES").solution, bound, Status.OPTIMAL)

    return run(Question(market, method, "claimed", "total_utility"))


UNITS = [
    ("colocation/tiny", "optimal"),
    ("market/tiny", "utilitarian"),
    ("market/tiny", "leximin"),
    ("admission/tiny", "optimal"),
    ("numa/kmeans-hot-blade", "fluid"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "method"), UNITS)
@pytest.mark.parametrize("factor", [MILLIONTH, 1e-3])
def test_proofs_do_not_depend_on_the_unit(name: str, method: str, factor: float) -> None:
    given = cotenant.read(name)
    results = [
        cotenant.solve(instance, method) for instance in (given, in_another_unit(given, factor))
    ]
    assert [result.status for result in results] == [Status.OPTIMAL, Status.OPTIMAL]
    assert [result.gap for result in results] == [0.0, 0.0]
    for instance, result in zip((given, in_another_unit(given, factor)), results, strict=True):
        assert recheck(instance, result).broken == ()


def test_tiny_value_relatively_far_from_bound_is_not_optimal() -> None:
    market = in_another_unit(cotenant.read("market/tiny"), 1e-9)
    assert isinstance(market, Market)
    best = cotenant.solve(market, "utilitarian").objective
    shared = cotenant.solve(market, "ES").metrics["total_utility"]
    assert best is not None
    assert 1.01 * shared < best < 1e-6  # apart by a percent, and by less than a millionth
    result = claimed(market, best)
    assert result.status is Status.FEASIBLE
    approved(result.certificate["withdrawn"])
    assert claimed(market, shared).status is Status.OPTIMAL


def test_check_refuses_false_optimality_of_tiny_value() -> None:
    market = in_another_unit(cotenant.read("market/tiny"), 1e-9)
    shared = cotenant.solve(market, "ES").metrics["total_utility"]
    assert isinstance(market, Market)
    honest = claimed(market, shared)
    assert recheck(market, honest).broken == ()
    forged = replace(honest, bound=1.01 * shared)
    assert any("claimed optimal" in claim for claim in recheck(market, forged).broken)
    false = {
        "contradicts": replace(forged, bound=0.0),
        "objective is": replace(honest, objective=1.01 * shared),
        "scale": replace(forged, scale=1.0),
    }
    for why, claims in false.items():
        assert any(why in claim for claim in recheck(market, claims).broken)


SCALED = (
    "penalty slack total_utility nash_welfare sharing_index total_speed served_rate link_power "
    "flow_power disutility"
).split()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name",
    ["colocation/tiny", "market/tiny", "admission/tiny", "packing/paper-example", "numa/kmeans"],
)
def test_metric_scale_is_at_least_objective_of_any_answer(name: str) -> None:
    instance = cotenant.read(name)
    for method in METHODS:
        if method.problem != instance.problem or method.kind == "simulation":
            continue
        try:
            result = cotenant.solve(instance, method.name, time_limit=1)
        except cotenant.CotenantError:  # needs servers of another kind, bandwidths, ...
            continue
        for metric in SCALED:
            most = scale(instance, metric) * (1 + AGREE)
            assert abs(result.metrics.get(metric, 0.0)) <= most, (method.name, metric)


NO_GPU = Admission([[0, 1], [0, 1]], [1, 1, 1, 1], [[1e12, 1], [1e12, 2], [1e12, 3], [1e12, 4]])
"""Cores of the first type are very fast, and no VM has one."""


def added(**changes: Any) -> Groups:
    """Jobs that lose 1e-9 beside each other, with other fields."""
    return Groups(**{"count": [2, 2, 1], "seats": 2, "penalty": np.full((3, 3), 1e-9), **changes})


def pressed(knots: list[float], curve: list[float]) -> Groups:
    return Groups([2, 2], 2, pressure=[1.0, 2.0], knots=knots, sensitivity=[curve, curve])


@pytest.mark.parametrize(
    ("instance", "objective", "most"),
    [
        pytest.param(NO_GPU, "total_speed", 10.0, id="admission: cores that no VM has"),
        pytest.param(
            cotenant.read("colocation/tiny").replace(
                count=[2, 0, 1, 1], penalty=[[0, 1, 0, 0]] + [[1, 1, 1, 1]] + [[0, 1, 1e-9, 0]] * 2,
                bandwidth=None,
            ),
            "penalty", 1e-9, id="colocation: absent types",
        ),
        pytest.param(
            added(penalty=[[1e-9, 1e-9, 1e-9], [1e-9, 1e-9, 1e-9], [1e-9, 1e-9, 1]]),
            "penalty", 1e-9, id="groups: one job beside itself",
        ),
        pytest.param(
            added(seats=[2, 60], machines=[3, 0], penalty=[np.full((3, 3), 1e-9), np.ones((3, 3))]),
            "penalty", 1e-9, id="groups: machines that there are none of",
        ),
        pytest.param(
            pressed([0, 2, 1e6], [0, 1e-9, 1]), "penalty", 1e-9, id="groups: pressure out of reach"
        ),
        pytest.param(
            Groups([2, 1], 2, members=[[0, 0], [0, 1], [1, 1]], losses=[[1e-9] * 2] * 2 + [[1, 1]]),
            "penalty", 1e-9, id="groups: runs that cannot be formed",
        ),
        pytest.param(
            Packing([[10**12]], [[10]], request=[2], servers=[1]), "utilization", 2e-11,
            id="packing: space that nobody asks for",
        ),
        pytest.param(
            Scheduling(
                machines=[1], horizon=10**9, organization=[0, 0], release=[0, 10**9],
                processing=[10, 10**8],
            ), "utilization", 1e-8,
            id="scheduling: jobs after the horizon",
        ),
    ],
)  # fmt: skip
def test_metric_scale_ignores_absent_types_and_unusable_pairs(
    instance: Instance, objective: str, most: float
) -> None:
    assert scale(instance, objective) == pytest.approx(most, rel=1e-3)


def test_scale_of_numa_power_metric_ignores_absent_distances() -> None:
    one = cotenant.read("numa/tiny").replace(blades=1, location_share=[0.5, 0.5])
    assert scale(one, "link_power", pcie_energy=1e9) == scale(one, "link_power")


@pytest.mark.parametrize("method", ["optimal", "most-jobs", "local-search"])
def test_core_types_without_cores_do_not_change_optimum(method: str) -> None:
    result = cotenant.solve(NO_GPU, method)
    assert result.metrics["total_speed"] == 7
    assert method == "local-search" or result.status is Status.OPTIMAL
    assert [level["status"] for level in result.certificate.get("levels", [])] in (
        [], ["optimal"] * 2
    )  # fmt: skip


def test_value_and_bound_agree_only_within_relative_tolerance() -> None:
    assert not agree(4.0, 7.0, 4e12)
    assert not agree(
        10.0**8, 10.0**8 + 1, scale(cotenant.read("colocation/tiny"), "blocking_pairs")
    )
    assert not agree(1e-12, 2e-12, 1.0)
    assert agree(0.0, -1e-17)  # the rounding of sums
    assert agree(0.5, 0.5 + 4e-10)
    assert not agree(0.5, 0.5 + 4e-9)
    assert gap(4.0, 7.0, scale=4e12) == pytest.approx(0.75)


def test_proof_covers_claim_without_tolerance() -> None:
    assert implies(7.0, 7.0, "max")
    assert implies(6.9, 7.0, "max")
    assert implies(7.0 + 7e-10, 7.0, "max")
    assert not implies(7.0 + 7e-8, 7.0, "max")
    assert not implies(7.0, 4.0, "max")
    assert not implies(4.0, 7.0, "min")
    assert implies(-1.0, -1.0 - 1e-10, "min")
    assert not implies(1e-300, 0.0, "max")
    assert not implies(-1e-300, 0.0, "min")
    assert implies(10.0**10, 10.0**10 + 1, "min")
    assert not implies(10.0**10, 10.0**10 + 1, "min", exact=True)
    assert implies(Fraction(1, 3), 1 / 3, "max", exact=True)
    assert not implies(Fraction(1, 3), math.nextafter(1 / 3, 0), "max", exact=True)


def test_metric_scale_depends_on_objective_options() -> None:
    market, blade = cotenant.read("market/tiny"), cotenant.read("numa/kmeans")
    assert scale(market, "nash_welfare", utility="linear") > scale(market, "nash_welfare")
    assert scale(blade, "link_power", ht_energy=72.0, pcie_energy=75.0) > 1.9 * scale(
        blade, "link_power"
    )
    assert scale(blade, "link_power", throughput=1.0) == pytest.approx(
        scale(blade, "link_power") / blade.rate
    )


def test_gaps_are_relative_and_zero_within_tolerance_of_metric_scale() -> None:
    assert gap(2e-12, 1e-12, scale=1e-11) == pytest.approx(0.5)
    assert gap(0.0, 1e-12, scale=1e-11) is None
    assert gap(1e-12, 1e-12 + 1e-21, scale=1e-11) == 0.0
    assert gap_absolute(1e6, 1e6 + 1e-4, scale=1e6) == 0.0
    cost = Metric("cost", "cost")
    assert gap_to(cost, 2e-12, 1e-12, scale=1e-11) == pytest.approx(1.0)
    assert gap_to(cost, 1e-12 + 1e-21, 1e-12, scale=1e-11) == 0.0


def test_metric_scale_of_market_whose_jobs_have_no_work_is_1() -> None:
    idle = Market([4.0], [1.0], [0], [0], [0.5], [0.0])
    for name in ("total_utility", "nash_welfare", "sharing_index"):
        assert scale(idle, name) == 1.0
    result = cotenant.solve(idle, "utilitarian")
    assert (result.status, result.gap) == (Status.OPTIMAL, 0.0)
    assert isinstance(result.solution, Allocation)
    assert not np.any(result.solution.cores)


def point(
    limit: float | None, value: float | None, bound: float | None, status: Status = Status.FEASIBLE
) -> PricePoint:
    return PricePoint(limit, value, bound, None if value is None else limit, status)


def test_frontier_programs_start_from_best_answer() -> None:
    answers: Any = iter([(0.0, Stop.TIME_LIMIT), (None, Stop.FINISHED), (2.0, Stop.INTERRUPTED)])
    starts = []

    def method(limit: float, start: Any, *, time_limit: float | None) -> Outcome:
        starts.append((limit, start))
        solution, stop = next(answers)
        return Outcome(solution, limit, Status.FEASIBLE, stop)

    # an answer is its own fairness, and the more efficient the less fair it is
    sweep = Sweep(Clock(), lambda answer: (-answer, answer), "min", "min")
    found = [(mark.limit, mark.answer, mark.bound) for mark in sweep.points([0, 1, 2, 3], method)]
    assert starts == [(0, None), (1, 0.0), (2, 0.0)]
    assert found == [(0, 0.0, 0), (1, None, 1), (2, 2.0, 2), (3, 2.0, None)]
    assert sweep.stopped is Stop.INTERRUPTED
    assert sweep.solve(1, method).solution is None


def test_frontier_points_take_best_value_and_bound_of_neighboring_limits() -> None:
    marks = settled(
        [point(0, 0.3, 0.1), point(1, 0.4, 0.2), point(2, None, None), point(3, 0.15, 0.15)], "min"
    )
    assert [mark.value for mark in marks] == [0.3, 0.3, 0.3, 0.15]
    assert [mark.reached for mark in marks] == [0, 0, 0, 3]
    assert [mark.bound for mark in marks] == [0.2, 0.2, 0.15, 0.15]
    assert [mark.status for mark in marks] == [Status.FEASIBLE] * 3 + [Status.OPTIMAL]


def test_frontier_of_maximized_metric_swaps_signs() -> None:
    marks = settled([point(2, 5.0, 9.0), point(1, 4.0, 7.0), point(None, 7.0, None)], "max")
    assert [mark.value for mark in marks] == [5.0, 5.0, 7.0]
    assert [mark.bound for mark in marks] == [7.0, 7.0, None]
    assert marks[2].status is Status.FEASIBLE


def test_frontier_bound_proves_answer_of_tighter_limit() -> None:
    marks = settled([point(0, 0.2, None), point(1, 0.4, 0.2)], "min")
    assert [mark.status for mark in marks] == [Status.OPTIMAL, Status.OPTIMAL]


def test_frontier_infeasible_limit_has_no_bound() -> None:
    marks = settled([point(0, None, None, Status.INFEASIBLE), point(1, 0.4, 0.4)], "min")
    assert (marks[0].status, marks[0].value, marks[0].bound) == (Status.INFEASIBLE, None, None)
    assert marks[1].status is Status.OPTIMAL


def test_frontier_drops_contradicted_bound() -> None:
    marks = settled([point(0, 0.5, 0.1), point(1, 0.2, 0.3)], "min")
    assert (marks[1].bound, marks[1].status) == (None, Status.UNKNOWN)
    assert marks[0].bound == 0.1


def test_nearly_zero_frontier_value_off_its_bound_is_unproved_without_metric_scale() -> None:
    far_apart = [point(1, 1e-9, 2e-9)]
    assert (
        settled(far_apart, "max", 1e-6)[0].status is Status.OPTIMAL
    )  # both are as good as 0, if 1 is the unit
    assert settled(far_apart, "max", 1e-6, unit=0.0)[0].status is Status.FEASIBLE
    assert settled([point(1, 2e-9, 1e-9)], "min", 1e-6, unit=0.0)[0].status is Status.FEASIBLE
    assert settled([point(1, 1e-9, 1e-9)], "max", 1e-6, unit=0.0)[0].status is Status.OPTIMAL
    assert settled([point(1, 0.0, 0.0)], "max", 1e-6, unit=0.0)[0].status is Status.OPTIMAL


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_frontier_proofs_do_not_depend_on_unit_of_work(
    unit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cotenant.instances.market.instance import Market
    from cotenant.solvers.market.guaranteed import Guarantees

    monkeypatch.setattr(
        Guarantees, "most", lambda search, index: search.fairest
    )  # no search: the bound is a loose one
    market = Market([8.0], [1.0, 1.0], [0, 1], [0, 0], [0.9, 0.5], [30 * unit, unit])  # type: ignore[arg-type]
    (frontier,) = resolve("analysis.market.frontier:price_frontiers")(market, points=3)
    *_, between, best = frontier.points
    assert between.bound > 1.01 * between.value
    assert (between.status, best.status) == (Status.FEASIBLE, Status.OPTIMAL)


def test_frontier_proofs_do_not_depend_on_unit_of_energy(engines: Any) -> None:
    from cotenant.instances.numa.generators import blade_server

    def unpriced(program: Any, **options: Any) -> Any:
        """Power has no prices, and so no bound; throughput, which is negative, has its own."""
        answer = solve_refined(program, **options)
        return answer if program.cost.min() < 0 else replace(answer, row_dual=0 * answer.row_dual)

    base = blade_server()
    share = np.arange(1.0, base.processors + 1)
    instance = base.replace(location_share=share / share.sum(), bandwidth=base.bandwidth * 1e-12)
    price_frontiers = resolve("analysis.numa.frontier:price_frontiers")
    engines(solve_refined=unpriced)
    (frontier,) = price_frontiers(instance, points=3)
    assert 0 < frontier.points[1].value < 1e-7
    assert frontier.points[1].status is Status.FEASIBLE


def test_frontier_round_trip_through_json() -> None:
    made = PriceFrontier(
        "penalty",
        "slack",
        (point(0, 0.3, 0.1), point(None, None, None, Status.UNKNOWN)),
        "why",
        Stop.TIME_LIMIT,
    )
    assert (
        PriceFrontier.from_document(json.loads(json.dumps(made.document(), allow_nan=False)))
        == made
    )


def test_interrupted_frontier_status_is_not_optimal() -> None:
    proved = PriceFrontier("penalty", "slack", (point(0, 0.3, 0.3, Status.OPTIMAL),))
    assert proved.status is Status.OPTIMAL
    assert (
        PriceFrontier(
            proved.efficiency, proved.fairness, proved.points, "", Stop.INTERRUPTED
        ).status
        is Status.FEASIBLE
    )
    assert PriceFrontier("penalty", "slack", ()).status is Status.UNKNOWN
    open_ = PriceFrontier(
        "penalty", "slack", (*proved.points, point(1, None, None, Status.UNKNOWN))
    )
    assert open_.status is Status.FEASIBLE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "name"),
    [("colocation", "cooper-1000"), ("admission", "hines-romano-I"), ("market", "groups-100")],
)
def test_interrupted_frontier_keeps_points_and_is_rerun(
    problem: str, name: str, engines: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    resolve(f"analysis.{problem}.frontier:price_frontiers")
    engines(solve_program=interrupted, call_in_subprocess=interrupted)
    if problem == "market":  # which asks no engine before its last step
        monkeypatch.setattr("cotenant.solvers.market.guaranteed.Guarantees.most", interrupted)
    out = tmp_path / "rows.jsonl"
    instance, method = (
        cotenant.read(f"{problem}/{name}"),
        {"colocation": "GR", "admission": "DA1", "market": "ES"}[problem],
    )
    found = cotenant.compare([instance], [method], frontier=True, time_limit=10, out=out)
    assert found.interrupted
    row = read_rows(out)[-1]
    assert (row["kind"], row["stop"], row["status"]) == ("frontier", "interrupted", "feasible")
    assert len(row["frontiers"]) == 1
    assert row["frontiers"][0]["points"]
    monkeypatch.undo()
    again = cotenant.compare(
        [cotenant.read(f"{problem}/tiny")],
        [method],
        frontier=True,
        time_limit=10,
        out=tmp_path / "tiny.jsonl",
    )
    assert [entry["stop"] for entry in again.rows if entry["kind"] == "frontier"] == ["finished"]


def test_unfinished_admission_frontier_uses_program_bound(engines: Any) -> None:
    from cotenant.instances.admission import Admission

    instance = Admission([[2], [0]], [2, 2], [[1.0], [2.0]])  # type: ignore[arg-type]

    answers = []

    def unfinished(*given: Any, **options: Any) -> Any:
        answers.append(solve_program(*given, **options))
        if len(answers) == 1:  # the optimum's
            return answers[0]
        return replace(
            answers[-1], status=Status.FEASIBLE, stop=Stop.TIME_LIMIT, point=None, objective=None
        )

    price_frontiers = resolve("analysis.admission.frontier:price_frontiers")
    engines(solve_program=unfinished)
    (frontier,) = price_frontiers(instance)
    assert frontier.points[0].bound == pytest.approx(
        3.0, rel=1e-6
    )  # one core each; the policies' own is 2
    assert frontier.points[0].bound > 3.0 * (1 - 1e-9)

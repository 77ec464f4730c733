"""Frontiers: what one limit says about the others, what is kept in files, and what an interrupt
leaves.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.fakes import interrupted

import cotenant
from cotenant.analysis.frontier import PriceFrontier, PricePoint, Sweep, settled
from cotenant.analysis.run.rows import read_rows
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.engines import solve_program, solve_refined
from cotenant.solvers.outcome import Clock, Outcome, Status, Stop


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


def test_settled_frontier_takes_best_values_and_bounds_of_neighboring_limits() -> None:
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

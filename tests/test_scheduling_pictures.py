"""Pictures and frontiers of scheduling: fairness limits against every schedule there is, debts and
busy machines recounted.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest
from support.report_rows import recorded
from support.scheduling_cases import every_outcome

import cotenant
from cotenant.analysis.report.picture import Chart, HeatMap
from cotenant.analysis.scheduling.frontier import price_frontiers
from cotenant.analysis.scheduling.metrics import metrics
from cotenant.analysis.scheduling.pictures import pictures, record
from cotenant.baselines.scheduling import fifo, round_robin
from cotenant.instances.scheduling import Schedule, Scheduling
from cotenant.instances.scheduling.generators import figure_7
from cotenant.models.scheduling import Nearness
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.scheduling.optimum import most_near, worth_of
from cotenant.solvers.scheduling.shapley_schedule import ref, reference

Objective = Literal["utilization", "utility"]
OBJECTIVES: tuple[Objective, ...] = ("utilization", "utility")


def tiny_instances(seed: int, number: int) -> list[Scheduling]:
    """Two or three organizations, up to seven jobs, short on machines; in every second one fairness
    costs work or utility.
    """
    rng = np.random.default_rng(seed)
    found: list[Scheduling] = []
    while len(found) < number:
        k, jobs, horizon = (
            int(rng.integers(2, 4)),
            int(rng.integers(3, 8)),
            int(rng.integers(3, 10)),
        )
        machines = np.zeros(k, dtype=int)
        machines[rng.integers(k)] = 1
        machines[rng.integers(k)] += 1
        owner, release = rng.integers(0, k, jobs), rng.integers(0, max(1, horizon // 2), jobs)
        instance = Scheduling(machines, owner, release, rng.integers(1, 6, jobs), horizon)
        given = reference(instance)
        if given.units and (
            len(found) % 2 or any(costs(instance, objective, given.psi) for objective in OBJECTIVES)
        ):
            found.append(instance)
    return found


def costs(instance: Scheduling, objective: Objective, given: np.ndarray) -> bool:
    """Whether the most of all is more than the most at distance 0."""
    return best(instance, objective, given, 0) < best(instance, objective, given, np.inf)


def best(instance: Scheduling, objective: Objective, given: np.ndarray, most: float) -> int:
    """The most of every schedule whose psi is in all at most `most` from the given."""
    found = every_outcome(instance)
    near = [
        one
        for one in found
        if sum(abs(a - b) for a, b in zip(one[1], given.tolist(), strict=True)) <= most
    ]
    return max(work if objective == "utilization" else sum(psi) for work, psi in near)


def unit(instance: Scheduling, objective: Objective) -> float:
    """What a unit of work, or of utility, is of the objective."""
    room = instance.total_machines * instance.horizon
    return 1 / room if objective == "utilization" else 1.0


@pytest.mark.slow
def test_scheduling_frontiers_equal_enumeration() -> None:
    traded = 0
    for instance in tiny_instances(7, 8):
        known = reference(instance)
        frontiers = price_frontiers(instance, points=5)
        assert [frontier.efficiency for frontier in frontiers] == list(OBJECTIVES)
        for frontier, objective in zip(frontiers, OBJECTIVES, strict=True):
            assert frontier.status is Status.OPTIMAL
            of_one = unit(instance, objective)
            for point in frontier.points:
                most = np.inf if point.limit is None else point.limit * known.units + 1e-6
                expected = best(instance, objective, known.psi, most) * of_one
                assert point.value == pytest.approx(expected, rel=1e-12)
                assert point.bound == pytest.approx(expected, rel=1e-12)
                assert point.reached is not None
                assert point.reached * known.units <= most
            loosest = frontier.points[-1]
            assert loosest.limit is None
            least = loosest.reached * known.units
            assert (
                best(instance, objective, known.psi, least - 0.5 if least > 0 else 0) * of_one
                <= loosest.value
            )
            if least > 0:  # and less unfair it cannot be
                assert (
                    best(instance, objective, known.psi, least - 0.5) * of_one
                    < loosest.value - 1e-12
                )
            traded += frontier.points[0].value < loosest.value
    assert traded >= 7


def test_frontier_of_large_instance_has_fluid_bounds() -> None:
    instance = cotenant.read("scheduling/lpc-like")
    fair = metrics(instance, ref(instance).solution)
    by_work, by_utility = price_frontiers(instance)
    for frontier in (by_work, by_utility):
        assert [point.limit for point in frontier.points] == [0.0, None]
        assert frontier.points[0].value == fair[frontier.efficiency]
        assert "60 jobs" in frontier.note
    assert (
        by_utility.points[0].status is Status.OPTIMAL
    )  # no schedule with REF's utilities has another total
    assert by_work.points[0].status is Status.FEASIBLE
    assert by_utility.points[1].bound > by_utility.points[1].value


def test_scheduling_frontier_without_ref_has_one_unlimited_point() -> None:
    instance = Scheduling([1] * 30, list(range(30)), [0] * 30, [3] * 30, 10)
    for frontier in price_frontiers(instance):
        (point,) = frontier.points
        assert (point.limit, point.reached) == (None, None)
        assert "REF" in frontier.note
        assert point.status is Status.OPTIMAL  # every job runs at once
    assert (
        price_frontiers(Scheduling([1, 1], [0], [5], [1], 5)) == ()
    )  # and where nothing can be done there is none


def test_interrupted_scheduling_frontier_keeps_known_points(interrupt_at: Any) -> None:
    asked = interrupt_at("cotenant.analysis.scheduling.frontier.most_near", keeps=True)
    (frontier,) = price_frontiers(figure_7())  # the second objective is not begun
    assert [given[2].most for given, _ in asked] == [0]
    assert frontier.stop is Stop.INTERRUPTED
    assert frontier.status is Status.FEASIBLE
    assert frontier.points[-1].value == 1.0
    assert all(
        point.reached <= (np.inf if point.limit is None else point.limit)
        for point in frontier.points
    )


@pytest.mark.slow
@pytest.mark.parametrize("reading", ["figure", "definition"])
def test_recorded_debts_equal_debts_of_truncated_instance(reading: Any) -> None:
    """What is owed looks only at the past, so cutting the instance at a time must not change what
    is owed by then.
    """
    for instance in tiny_instances(13, 6):
        schedule = round_robin(instance)
        kept = record(instance, schedule, reading=reading)
        for index, time in enumerate(kept["times"]):
            short = instance.replace(horizon=time)
            begun = (schedule.start >= 0) & (schedule.start < time)
            cut = Schedule(
                np.where(begun, schedule.start, -1), np.where(begun, schedule.machine, -1)
            )
            measured = metrics(short, cut, reading=reading)
            owed = [measured[f"owed:{name}"] for name in instance.names]
            assert [row[index] for row in kept["debts"]] == pytest.approx(owed, rel=1e-5, abs=1e-9)
        assert kept["owed"] == [row[-1] for row in kept["debts"]]


row = partial(recorded, "scheduling")
"""A row of a comparison, as far as pictures look at it."""


def test_pictures_draw_debts_of_fairest_and_unfairest_method() -> None:
    """In figure 7 round robin owes nobody anything, REF and first in, first out 24 unit-times to
    the second organization.
    """
    instance = figure_7()
    given = {
        "REF": ref(instance).solution,
        "ROUNDROBIN": round_robin(instance),
        "FIFO": fifo(instance),
    }
    rows = json.loads(
        json.dumps([row(method, record(instance, schedule)) for method, schedule in given.items()])
    )
    drawn = {picture.name: picture for picture in pictures(rows)}
    assert {name for name in drawn if name.startswith("owed-over")} == {
        "owed-over-time-roundrobin",
        "owed-over-time-ref",
    }
    debts = drawn["owed-over-time-ref"]
    assert isinstance(debts, Chart)
    assert [series.y[-1] for series in debts.series] == [-24, 24]
    most = drawn["most-owed-over-time"]
    assert isinstance(most, Chart)
    assert [series.name for series in most.series] == ["REF, FIFO", "ROUNDROBIN"]
    owed, got = drawn["owed"], drawn["psi-over-phi"]
    assert isinstance(owed, HeatMap)
    assert isinstance(got, HeatMap)
    assert owed.values == ((-24, 24), (0, 0), (-24, 24))
    assert got.values[1] == (1, 1)


def test_near_utility_bound_adds_distance_to_given_total() -> None:
    instance = Scheduling([1], [0], [0], [2], 6)  # type: ignore[arg-type]
    late = Schedule([2], [0])  # type: ignore[arg-type]
    outcome = most_near(instance, "utility", Nearness(np.array([7]), 4), start=late)
    assert (worth_of(instance, outcome.solution, "utility"), outcome.bound) == (11, 11.0)
    assert outcome.status is Status.OPTIMAL

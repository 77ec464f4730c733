"""Metrics, audits, prices, experiments, pictures and frontiers of scheduling."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from support.files import text_file
from support.messages import approved, refused
from support.report_rows import recorded
from support.scheduling_cases import KINDS, every_outcome, small_instance
from support.terminal import run

import cotenant
from cotenant.analysis.report.picture import Chart, HeatMap
from cotenant.analysis.scheduling.audit import audit
from cotenant.analysis.scheduling.fairness import fairness
from cotenant.analysis.scheduling.frontier import price_frontiers
from cotenant.analysis.scheduling.metrics import metrics
from cotenant.analysis.scheduling.pictures import pictures, record
from cotenant.analysis.scheduling.windows import prices, study
from cotenant.baselines.scheduling import fifo, round_robin
from cotenant.cluster.fairness.words import fairness_head, fairness_lines, rests_on
from cotenant.instances.problem.base import Instance
from cotenant.instances.problem.errors import (
    CotenantError,
    InfeasibleSolution,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
)
from cotenant.instances.scheduling import Schedule, Scheduling, utilities
from cotenant.instances.scheduling.accounts import Source
from cotenant.instances.scheduling.generators import figure_7, workload
from cotenant.instances.scheduling.log import Log, Settings, window
from cotenant.instances.scheduling.utility import units_done
from cotenant.models.scheduling import Nearness
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.scheduling import simulate
from cotenant.solvers.scheduling.optimum import most_near, worth_of
from cotenant.solvers.scheduling.shapley_schedule import affordable, ref, reference


def made_log(jobs: int = 400, length: int = 4000, users: int = 12, seed: int = 0) -> Log:
    """A busy synthetic log of serial jobs, some started late."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, length, jobs))
    run = rng.integers(20, 400, jobs)
    user = rng.integers(0, users, jobs)
    zeros = np.zeros(jobs, dtype=np.int64)
    names = tuple(f"user{number}" for number in range(users))
    return Log(
        "made", submit, rng.integers(0, 60, jobs), run, np.ones(jobs, dtype=np.int64), user, zeros,
        names, ("g",),
        {"MaxProcs": "12"},
    )  # fmt: skip


def swf_text(log: Log) -> str:
    rows = zip(
        log.submit.tolist(), log.wait.tolist(), log.run.tolist(), log.user.tolist(), strict=True
    )
    lines = [
        f"{n} {s} {w} {r} 1 -1 -1 1 -1 -1 1 {u} 0 -1 1 1 -1 -1"
        for n, (s, w, r, u) in enumerate(rows, start=1)
    ]
    return "\n".join(["; MaxProcs: 12", *lines]) + "\n"


def test_unfairness_equals_absolute_differences_over_ref_work() -> None:
    instance = cotenant.read("scheduling/tiny")
    found = reference(instance)
    schedule = simulate(instance, "FIFO").schedule
    expected = np.abs(utilities(instance, schedule) - found.psi).sum() / found.units
    measured = metrics(instance, schedule)
    assert measured["unfairness"] == pytest.approx(expected)
    assert measured["unfairness"] > 0
    assert (
        found.units
        == units_done(
            cotenant.solve(instance, "REF").solution.start, instance.processing, instance.horizon
        ).sum()
    )


def test_flow_time_includes_waiting_until_horizon() -> None:
    instance = Scheduling([1], [0, 0, 0], [0, 2, 9], [3, 20, 5], horizon=8)
    measured = metrics(instance, Schedule([0, 3, -1], [0, 0, -1]))
    assert measured["flow_time"] == (3 + 6) / 2
    assert (measured["started"], measured["completed"]) == (2, 1)
    assert measured["utilization"] == 1.0
    assert metrics(instance, Schedule([-1] * 3, [-1] * 3))["flow_time"] == (8 + 6) / 2


def test_unfairness_is_omitted_without_work_or_with_too_many_organizations() -> None:
    nothing = Scheduling([1], [0], [9], [1], horizon=3)
    assert "unfairness" not in metrics(nothing, Schedule([-1], [-1]))
    many = workload(organizations=24, jobs=50, rng=np.random.default_rng(0))
    assert not affordable(many)
    schedule = simulate(many, "FIFO").schedule
    assert "unfairness" not in metrics(many, schedule)
    with refused(InvalidOption):
        metrics(many, schedule, reference="REF")
    with refused(InvalidOption):
        metrics(many, schedule, reference="x")
    with refused(InvalidOption):
        metrics(many, schedule, reading="x")


def test_distance_in_study_of_scheduling_rules_equals_unfairness_metric() -> None:
    log = made_log()
    found = study(
        log,
        Settings(length=600, organizations=3, machines=8),
        windows=3,
        rules=("FAIRSHARE",),
        seed=5,
    )
    for index in range(3):
        rng = np.random.default_rng([5, index])
        begin = int(rng.integers(log.begin, log.end - 600 + 1))
        instance = window(
            log, Settings(begin=begin, length=600, organizations=3, machines=8), rng
        ).instance
        measured = metrics(instance, cotenant.solve(instance, "FAIRSHARE").solution)["unfairness"]
        assert found.distance["FAIRSHARE"][index] == measured


def test_prices_of_fairness_are_shares_of_proved_optimum() -> None:
    instance = cotenant.read("scheduling/figure-7")
    found = {price.rule: price for price in prices(instance) or []}
    assert found["FIFO"].work == 0.75
    assert all(0.75 <= price.work <= 1 and 0 < price.utility <= 1 for price in found.values())
    assert prices(cotenant.read("scheduling/lpc-like"), time_limit=0.01) is None


def test_audit_of_ref_schedule_finds_no_debts_to_organizations() -> None:
    instance = cotenant.read("scheduling/tiny")
    start = cotenant.solve(instance, "REF").solution.start
    judged = window(made_log(), Settings(length=600))
    found = audit(type(judged)(instance, start, 0))
    assert found.wanted.tolist() == found.received[:, -1].tolist()
    assert found.received[:, -1].tolist() == reference(instance).psi.tolist()
    assert found.contributed[:, -1].tolist() == [
        float(share) for share in reference(instance).phi()
    ]
    assert found.times[-1] == instance.horizon


@pytest.mark.parametrize("name", ["REF", "RAND"])
def test_debts_to_audited_organizations_sum_to_zero_at_every_time(name: str) -> None:
    found = audit(
        window(made_log(), Settings(length=2000, organizations=4)), reference=name, points=5
    )
    assert found.reference == name
    assert found.owed.shape == (4, 5)
    assert found.owed.sum(axis=0) == pytest.approx(np.zeros(5), abs=1e-3)
    assert (np.diff(found.received, axis=1) >= 0).all()


def test_fairness_of_swf_log_uses_groups_as_organizations(tmp_path: Path) -> None:
    path = text_file(tmp_path, swf_text(made_log()), "made.swf")
    found = fairness(path, Source(machines=3), windows="0/1000", ties=0)
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    (seen,) = document["windows"]
    assert sum(row[-1] for row in seen["owed"]) == pytest.approx(0, abs=1e-3)
    approved(" ".join(seen["notes"]))


def stored(folder: Path, instance: Instance, method: str = "FAIRSHARE") -> tuple[str, str]:
    """Paths of an instance and of a result on it."""
    paths = str(folder / "i.json"), str(folder / "r.json")
    cotenant.write(instance, paths[0])
    cotenant.solve(instance, method, seed=0).write(paths[1])
    return paths


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "related"])
@pytest.mark.parametrize("method", ["FAIRSHARE", "REF", "ROUNDROBIN"])
def test_fairness_audit_equals_owed_and_psi_metrics(kind: str, method: str, tmp_path: Path) -> None:
    instance = small_instance(np.random.default_rng(7), kind)
    instance_file, result_file = stored(tmp_path, instance, method)
    (found,) = fairness(instance_file, schedule=result_file, ties=0).audits
    result = cotenant.Result.read(result_file)
    for u, name in enumerate(instance.names):
        assert found.owed[u, -1] == pytest.approx(result.metrics[f"owed:{name}"])
        assert found.received[u, -1] == result.metrics[f"psi:{name}"]
    if method == "REF":
        assert found.wanted.tolist() == found.received[:, -1].tolist()
    approved(found.document()["notes"])


def test_fairness_is_equal_for_files_of_start_times_solution_or_result(tmp_path: Path) -> None:
    instance = cotenant.read("scheduling/tiny")
    _, result_file = stored(tmp_path, instance)
    solution = cotenant.Result.read(result_file).solution
    (tmp_path / "starts.json").write_text(json.dumps({"start": solution.start.tolist()}))
    whole = {"solution": json.loads(Path(result_file).read_text())["solution"]}
    (tmp_path / "solution.json").write_text(json.dumps(whole))
    owed = [
        fairness("scheduling/tiny", schedule=file, ties=0).owed.tolist()
        for file in (result_file, tmp_path / "starts.json", tmp_path / "solution.json")
    ]
    assert owed[0] == owed[1] == owed[2]


def test_fairness_refuses_answers_of_other_instances(tmp_path: Path) -> None:
    instance = cotenant.read("scheduling/tiny")
    mine, mine_too = stored(tmp_path, instance.replace(name="mine", horizon=29))

    def refuses(error: type[CotenantError], *paths: str, **options: Any) -> None:
        with refused(error):
            fairness(paths[0], schedule=paths[1] if len(paths) > 1 else None, **options)

    def written(content: object) -> str:
        path = text_file(tmp_path, json.dumps(content), "other.json")
        return str(path)

    refuses(InvalidFile, mine)
    refuses(InvalidFile, mine_too)
    refuses(InvalidFile, "scheduling/tiny")
    refuses(InvalidFile, "colocation/tiny", mine_too)
    refuses(InvalidFile, "scheduling/tiny", mine_too)
    refuses(InvalidFile, mine, mine)
    refuses(InvalidFile, mine, written([1]))
    refuses(InvalidFile, mine, written({"start": [0]}))
    refuses(InvalidFile, mine, written({"start": [2**70] * 14}))
    refuses(InvalidFile, mine, written({"solution": {"start": ["x"], "machine": [0]}}))
    refuses(InfeasibleSolution, mine, written({"start": [-1] * 13 + [0]}))
    refuses(InvalidOption, mine, mine_too, source=Source(machines=3))
    refuses(InvalidOption, mine, mine_too, windows="day")
    (tmp_path / "log.txt").write_text("; a log\n")
    refuses(InvalidFile, str(tmp_path / "log.txt"), mine_too)
    failed = json.loads(Path(mine_too).read_text()) | {"solution": None, "answer": None}
    failed["result"] |= {"status": "unknown", "objective": None}
    refuses(InvalidFile, mine, written(failed))


def test_fairness_refuses_machines_of_several_speeds(tmp_path: Path) -> None:
    files = stored(tmp_path, small_instance(np.random.default_rng(7), "related"))
    with refused(InvalidInstance):
        fairness(files[0], schedule=files[1])


def test_fairness_of_instance_is_printed_by_command(tmp_path: Path) -> None:
    _, result_file = stored(tmp_path, cotenant.read("scheduling/tiny"))
    found = fairness("scheduling/tiny", schedule=result_file)
    text = " ".join(" ".join([*fairness_head(found), *fairness_lines(found)]).split())
    assert "a unit of the instance's time is taken for a second" in text
    approved(fairness_head(found))
    approved(rests_on(found))
    named = {job for cause in found.causes(0) for job, _ in (*cause.waited, *cause.ran)}
    owners = cotenant.read("scheduling/tiny").organization
    assert {owners[int(found.job(place))] for place in named} == {0, 1, 2}
    said = run("advise", "fairness", "scheduling/tiny", result_file, "--json")
    assert json.loads(said.stdout)["owed_core_hours"] == found.owed.tolist()
    missing = run("advise", "fairness", "scheduling/tiny")
    assert (missing.returncode, "R.json" in missing.stderr) == (2, True)


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
def test_recorded_debts_to_organizations_equal_debts_at_shorter_horizons(reading: Any) -> None:
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


def test_fairness_pictures_draw_debts_to_organizations_of_fairest_and_unfairest_method() -> None:
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


def test_utility_bound_of_schedules_near_a_given_total_is_total_plus_distance() -> None:
    instance = Scheduling([1], [0], [0], [2], 6)  # type: ignore[arg-type]
    late = Schedule([2], [0])  # type: ignore[arg-type]
    outcome = most_near(instance, "utility", Nearness(np.array([7]), 4), start=late)
    assert (worth_of(instance, outcome.solution, "utility"), outcome.bound) == (11, 11.0)
    assert outcome.status is Status.OPTIMAL

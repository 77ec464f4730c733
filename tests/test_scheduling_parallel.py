"""Parallel jobs and machines of different speeds: the event loop, optima, checker and readers; scheduling
interrupted, at limits, beyond 64 bits; bounds of clairvoyant schedules.
"""

# mypy: disable-error-code="arg-type"

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from support.messages import approved, refused
from support.scheduling_cases import KINDS, best_of_all, small_instance, wrongs
from support.seeds import numbers

import cotenant
from cotenant.analysis.manipulation import best_misreport
from cotenant.analysis.run.proving import prove_file
from cotenant.analysis.run.verify_result import recheck
from cotenant.analysis.scheduling.audit import audit
from cotenant.analysis.scheduling.windows import rule_schedule
from cotenant.baselines.scheduling import fair_share
from cotenant.instances.problem.errors import (
    InfeasibleSolution,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
)
from cotenant.instances.scheduling import Schedule, Scheduling, is_greedy, schedule_of, utilities
from cotenant.instances.scheduling.formats import organizations_csv, read_swf, swf
from cotenant.instances.scheduling.generators import workload
from cotenant.instances.scheduling.log import Window
from cotenant.instances.scheduling.split import machine_split
from cotenant.instances.scheduling.utility import job_units
from cotenant.models.scheduling import fluid_bound, interval_model
from cotenant.models.scheduling.intervals import MOST_TIME_ENTRIES
from cotenant.solvers.engines import solve_cp_sat
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.scheduling import (
    event_loop,
    kernels,
    optimum,
    reference,
    shapley_schedule,
    simulate,
)
from cotenant.solvers.scheduling.event_loop import RULES
from cotenant.solvers.scheduling.optimum import max_utility, max_utilization, worth_of
from cotenant.solvers.scheduling.shapley_schedule import ref
from cotenant.verify.frame import ProofCase
from cotenant.verify.reading import Refused
from cotenant.verify.scheduling import scheduling_most, scheduling_ref

METHODS = {"utilization": max_utilization, "utility": max_utility}


def parallel(**changes: Any) -> Scheduling:
    """Four machines; organization 0 has jobs of 2 and 3 processors, 1 one of 1 and one of 4."""
    fields: dict[str, Any] = {
        "machines": [2, 2], "organization": [0, 0, 1, 1], "release": [0, 0, 0, 1],
        "processing": [3, 2, 4, 2], "processors": [2, 3, 1, 4], "horizon": 9,
    }  # fmt: skip
    return Scheduling(**(fields | changes))


def related(**changes: Any) -> Scheduling:
    """Machines of speeds 1, 3, 2 and 1."""
    return parallel(processors=None, **({"speed": [1, 3, 2, 1]} | changes))


@pytest.mark.parametrize("number", numbers(240, 40))
def test_event_loop_of_parallel_jobs_equals_simulation_step_by_step(number: int) -> None:
    """`benchmarks/fuzz.py --family clock` plays as many as wanted, with all rules."""
    for seed in range(number):
        rules = np.random.default_rng(seed).choice(RULES, 3, replace=False).tolist()
        assert [*wrongs(seed, rules)] == [], seed


@pytest.mark.parametrize(
    ("rule", "starts", "machines"),
    [
        # At 0 organization 1 takes the fastest machine, 3 units of work a moment; 3 then has 2, less
        # than 3, so it takes the last machine too. By jobs running, organization 1 would.
        ("CURRFAIRSHARE", [0, 0, 0, 4], [0, 1, 2, 1]),
        # Nothing is done yet at 0, so 1 takes two machines. At 1 the job of 2 units has ended.
        ("FAIRSHARE", [0, 0, 1, 0], [2, 1, 0, 0]),
    ],
)
def test_fair_share_counts_work_on_machines_of_different_speeds(
    rule: str, starts: list[int], machines: list[int]
) -> None:
    instance = Scheduling(
        [1, 1, 0, 1], [3, 1, 3, 1], [0] * 4, [11, 10, 8, 2], 5, speed=[2, 3, 1]
    )  # fmt: skip
    schedule = simulate(instance, rule).schedule
    assert (schedule.start.tolist(), schedule.machine.tolist()) == (starts, machines)


def test_remaining_work_of_running_job_counts_in_its_last_time_unit() -> None:
    # At 1 organization 0 does the 1 unit left of its job on a machine of speed 4, relative to a share
    # of 1, organization 1 does 2 relative to 2: a tie, although 4 is more than 1.
    fields = {"organization": [0, 1, 0, 1], "release": [0, 0, 1, 1], "horizon": 4}
    instance = Scheduling([1, 2], processing=[5, 8, 1, 1], speed=[4, 1, 2], **fields)
    assert simulate(instance, "CURRFAIRSHARE").start.tolist() == [0, 0, 1, 2]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("objective", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_optima_of_parallel_jobs_equal_enumeration(kind: str, objective: Any) -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        instance = small_instance(rng, kind, tiny=True)
        most = best_of_all(instance, objective)
        unit = instance.capacity * instance.horizon if objective == "utilization" else 1
        assert fluid_bound(instance, objective) >= most
        found = METHODS[objective](instance)
        assert found.status is Status.OPTIMAL
        assert worth_of(instance, found.solution, objective) == most
        assert found.bound == pytest.approx(most / unit, rel=1e-12)
        if (instance.release < instance.horizon).any():  # without the start and the fluid bound
            for entries in (
                MOST_TIME_ENTRIES,
                0,
            ):  # with and without a variable for each start time
                model = interval_model(instance, objective, entries_by_time=entries)
                answer = solve_cp_sat(model.model)
                assert answer.objective == most * (2 if objective == "utility" else 1)
                schedule = model.schedule(answer.values, instance)
                assert worth_of(instance, schedule, objective) == most


def test_max_utility_on_different_speeds_at_time_limit_keeps_bound_and_schedule() -> None:
    instance = workload(jobs=300, horizon=5000, fastest=4, rng=np.random.default_rng(0))
    found = max_utility(instance, time_limit=0.2)
    cotenant.check(instance, found.solution)
    assert found.status is Status.FEASIBLE
    assert found.bound == fluid_bound(instance, "utility")


def test_instance_with_processors_or_speeds_of_1_equals_the_sequential_one() -> None:
    plain = parallel(processors=None)
    same = parallel(processors=[1] * 4, backfilling=True)
    assert plain.sequential
    assert plain == same == related(speed=[1] * 4)
    assert plain.document() == same.document()
    assert {"processors", "speed", "backfilling"}.isdisjoint(plain.document())


def test_backfilling_lets_a_job_pass_one_that_does_not_fit() -> None:
    waits = simulate(parallel(), "FIFO")
    assert waits.start.tolist() == [0, 3, 3, 7]  # the second job blocks the pool until 3
    passes = simulate(parallel(backfilling=True), "FIFO")
    assert passes.start.tolist() == [0, 3, 0, 5]
    assert not is_greedy(parallel(backfilling=True), waits.schedule)
    assert is_greedy(parallel(), passes.schedule)


def test_coalition_omits_jobs_wider_than_its_machines() -> None:
    assert reference(parallel()).values[0b10] == 4 * 9 - 6  # the job of 4 processors needs both


def test_job_takes_the_fastest_free_machine_and_utility_counts_work() -> None:
    instance = related(organization=[0] * 4, release=[0] * 4, processing=[7, 7, 7, 7])
    played = simulate(instance, "FIFO")
    assert played.schedule.machine.tolist() == [1, 2, 0, 3]
    # by 3 the machines have done 7 of 7 (3 + 3 + 1), 6, 3 and 3
    assert job_units(instance, played.schedule, 3).tolist() == [7, 6, 3, 3]
    assert int(utilities(instance, played.schedule, 3)[0]) == (9 + 6 + 1) + 12 + 6 + 6


def test_schedule_check_covers_every_machine_of_parallel_job() -> None:
    instance = parallel()
    good = schedule_of(instance, [0, 3, 0, 5])
    assert good.others.tolist() == [1, 1, 3, 1, 2, 3]
    cotenant.check(instance, good)
    assert Schedule.from_document(json.loads(json.dumps(good.document()))) == good
    for others in ([1, 1, 3], [2, 1, 3, 1, 2, 3], [0, 1, 3, 1, 2, 3], [4, 1, 3, 1, 2, 3]):
        with refused(InfeasibleSolution):
            cotenant.check(instance, Schedule(good.start, good.machine, others=np.array(others)))
    with refused(InfeasibleSolution):
        schedule_of(instance, [0, 3, 0, 1])
    slow = Schedule([0, 0, 0, 1], [0, 1, 2, 3], greedy=True)
    with refused(InfeasibleSolution):
        cotenant.check(related(), slow)


def test_parallel_jobs_are_described_and_read_from_frames() -> None:
    told = simulate(parallel(), "FIFO").schedule.to_frame(parallel())
    assert told["machines"].tolist() == ["0 1", "0 1 2", "3", "0 1 2 3"]
    frame = pytest.importorskip("pandas").DataFrame
    jobs = frame({"organization": ["a", "a", "b", "b"], "release": [0, 0, 0, 1],
                  "processing": [3, 2, 4, 2], "processors": [2, 3, 1, 4]})  # fmt: skip
    assert (
        Scheduling.from_frame(jobs, machines={"a": 2, "b": 2}, horizon=9).document()
        | {"names": ["0", "1"]}
        == parallel().document()
    )


def test_answer_table_has_columns_for_parallel_jobs_and_speeds(tmp_path: Path) -> None:
    jobs, pool = tmp_path / "jobs.csv", tmp_path / "organizations.csv"
    jobs.write_text("organization,release,processing,processors\na,0,3,2\na,0,2,3\nb,0,4,1\n")
    pool.write_text("organization,machines\na,2\nb,2\n")
    read = organizations_csv(tmp_path, horizon=9, backfilling=True)
    assert (read.processors.tolist(), read.backfilling) == ([2, 3, 1], True)
    jobs.write_text("organization,release,processing,processors\na,0,3,2\na,0,2,x\n")
    with refused(InvalidFile):
        organizations_csv(tmp_path, horizon=9)
    jobs.write_text("organization,release,processing\na,0,3\n")
    pool.write_text("organization,machines,speed\na,2,3\nb,1,1\n")
    assert organizations_csv(tmp_path, horizon=9).speed.tolist() == [3, 3, 1]


def test_swf_jobs_are_parallel_on_request(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    lines = [[1, 0, 0, 50, 3, *[-1] * 6, 1], [2, 10, 0, 20, 1, *[-1] * 6, 2]]
    log.write_text("\n".join(" ".join(map(str, row + [-1] * 6)) for row in lines))
    options: dict[str, Any] = {"machines": 4, "length": 100, "organizations": 2}
    apart = swf(log, **options)
    assert (apart.sequential, apart.jobs) == (True, 4)
    whole = swf(log, **options, jobs="parallel", backfilling=True)
    assert (whole.processors.tolist(), whole.backfilling) == ([3, 1], True)
    assert whole.work.sum() == apart.work.sum()
    with refused(InvalidOption):
        swf(log, **options | {"machines": 2}, jobs="parallel")
    with refused(InvalidOption):
        swf(log, **options, backfilling=True)


def test_workload_generator_makes_parallel_jobs_and_speeds() -> None:
    rng = np.random.default_rng(3)
    wide = workload(jobs=200, widest=16, backfilling=True, rng=rng)
    assert set(wide.width.tolist()) == {1, 2, 4, 8, 16}
    assert 0.8 < wide.work.sum() / (wide.capacity * wide.horizon) < 1.2
    fast = workload(jobs=50, fastest=3, rng=rng)
    assert set(fast.pace.tolist()) == {1, 2, 3}


def test_schedules_of_parallel_jobs_have_no_proof_file(tmp_path: Path) -> None:
    for instance in (parallel(), related()):
        approved(instance.beyond_proofs)
        case = ProofCase(instance.document(), {}, None, [[{"kind": "recompute"}]])
        for checker in (scheduling_ref, scheduling_most):
            with refused(Refused):
                checker(case)
        for method in ("REF", "max-utility"):
            found = prove_file(
                instance, tmp_path / "i", cotenant.solve(instance, method), tmp_path / "p"
            )
            assert (found.proof_status, found.says) == ("claimed", instance.beyond_proofs)
        with refused(InvalidOption):
            cotenant.solve(instance, "REF", utility="flow-time")


# --- what ends with them --------------------------------------------------------------------------


@pytest.mark.parametrize("backfilling", [False, True])
@pytest.mark.parametrize("machines", [2, 5, 12])
def test_greedy_work_on_parallel_jobs_may_be_optimum_divided_by_number_of_machines(
    machines: int, backfilling: bool
) -> None:
    # theorem 6.2 promises 3/4 for sequential jobs
    instance = Scheduling([0, machines], [0, 1], [0, 0], [2, 2], 2, processors=[1, machines],
                          backfilling=backfilling)  # fmt: skip
    greedy = worth_of(instance, simulate(instance, "FIFO").schedule, "utilization")
    most = best_of_all(instance, "utilization")
    assert Fraction(greedy, most) == Fraction(1, machines)


@pytest.mark.parametrize("speed", [2, 5, 12])
def test_greedy_schedule_on_two_speeds_reaches_2_over_speed_plus_1_of_optimum(speed: int) -> None:
    instance = Scheduling([2], [0, 0], [0, 0], [1, speed], 1, speed=[speed, 1])
    greedy = worth_of(instance, simulate(instance, "FIFO").schedule, "utilization")
    assert Fraction(greedy, best_of_all(instance, "utilization")) == Fraction(2, speed + 1)


def test_parallel_unit_jobs_differ_in_value_between_greedy_schedules() -> None:
    # proposition 5.4
    wide = Scheduling([0, 2], [0, 1], [0, 0], [1, 1], 2, processors=[1, 2])
    worth = {rule: worth_of(wide, simulate(wide, rule).schedule, "utility")
             for rule in ("FIFO", "CURRFAIRSHARE")}  # fmt: skip
    assert worth == {"FIFO": 4, "CURRFAIRSHARE": 5}


def test_contribution_of_organization_with_one_narrow_job_is_negative() -> None:
    instance = Scheduling([0, 2], [0, 1], [0, 0], [2, 2], 2, processors=[1, 2])
    found = reference(instance)
    assert found.values == (0, 0, 6, 3)
    assert found.phi() == [Fraction(-3, 2), Fraction(9, 2)]


def test_additional_slow_machine_may_lower_coalition_value() -> None:
    instance = Scheduling([1, 1, 1], [2, 2], [0, 0], [3, 5], 5, speed=[2, 1, 3])
    values = reference(instance).values
    assert (values[0b100], values[0b110]) == (33, 30)


def test_organization_gains_by_cutting_a_job_into_narrower_ones() -> None:
    instance = Scheduling([3], [0, 0], [0, 0], [1, 1], 2, processors=[2, 2])
    found = best_misreport(instance, "REF", kinds=("narrow",))
    assert (found.gain, found.truthful, found.report.split()[-1]) == (1.0, 6.0, "1")


def made(seed: int = 0, **shape: Any) -> Scheduling:
    usual = {"organizations": 3, "machines": 4, "jobs": 40, "horizon": 60, "batch": 5, "load": 1.5}
    return workload(**(usual | shape), rng=np.random.default_rng(seed))


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at the first slice of the event loop that every coalition plays."""
    run: Any = kernels.run
    called: list[bool] = []

    def once(*arguments: Any) -> bool:
        if not called:
            called.append(True)
            run(*arguments[:-1], 8)
            raise KeyboardInterrupt
        return bool(run(*arguments))

    monkeypatch.setattr(kernels, "run", once)


@pytest.mark.usefixtures("interrupt")
def test_interrupted_reference_schedule_is_neither_returned_nor_cached() -> None:
    instance = made()
    with pytest.raises(KeyboardInterrupt):
        reference(instance)
    assert (instance, "figure") not in shapley_schedule._known


@pytest.mark.usefixtures("interrupt")
@pytest.mark.parametrize(
    "study",
    [
        lambda: fair_share(made()),
        lambda: rule_schedule(made(), "RAND15", np.random.default_rng(0)),
        lambda: best_misreport(made(jobs=6), "REF"),
    ],
    ids=["a rule", "a study of RAND", "a search for gains"],
)
def test_interrupted_scheduling_study_raises_keyboard_interrupt(
    study: Callable[[], object],
) -> None:
    with pytest.raises(KeyboardInterrupt):
        study()


@pytest.mark.parametrize(
    ("function", "method"),
    [
        ("optimum.interval_model", optimum.max_utility),
        ("shapley_schedule.plain_ref", partial(ref, utility="flow-time")),
    ],
)
def test_interrupt_while_the_program_is_built_is_reported(
    function: str, method: Any, interrupt_at: Any
) -> None:
    interrupt_at(f"cotenant.solvers.scheduling.{function}")
    outcome = method(made())
    assert outcome.stop is Stop.INTERRUPTED
    assert outcome.solution is not None


def test_plain_ref_stops_at_time_limit() -> None:
    outcome = ref(made(), utility="flow-time", time_limit=1e-9)
    assert (outcome.stop, outcome.status) == (Stop.TIME_LIMIT, Status.FEASIBLE)
    assert "phi" not in outcome.certificate
    assert outcome.solution is not None


def test_event_loop_counts_search_for_machines_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "STEPS", 20_000)
    instance = made(organizations=2, machines=1000, jobs=2000, horizon=100, load=3.0)
    slices = Mock()
    draws = np.random.default_rng(0).random(2 * instance.jobs)
    simulate(instance, "DIRECTCONTR", draws=draws, report=slices)
    assert slices.call_count > 10


def test_utility_optimum_with_job_far_longer_than_horizon_equals_that_with_cut_job() -> None:
    long = Scheduling(
        machines=[1, 1],
        organization=[0, 0, 1],
        release=[0, 0, 1],
        processing=[3, 2**60, 2],
        horizon=9,
    )  # type: ignore[arg-type]
    short = long.replace(processing=[3, 9, 2])
    values = [optimum.max_utility(instance) for instance in (long, short)]
    assert values[0].status is values[1].status is Status.OPTIMAL
    assert values[0].bound == values[1].bound


def test_ref_schedule_by_definition_or_other_utility_passes_recheck() -> None:
    instance = made()
    for options in ({"reading": "definition"}, {"utility": "flow-time"}):
        assert recheck(instance, cotenant.solve(instance, "REF", **options)).broken == ()


def test_fair_share_refuses_products_beyond_64_bits() -> None:
    jobs = 1_000_000
    vast = Scheduling(
        machines=[9_000_000, 1],  # type: ignore[arg-type]
        organization=np.arange(jobs) % 2,
        release=np.zeros(jobs, dtype=np.int64),
        processing=np.ones(jobs, dtype=np.int64),
        horizon=2_000_000,
    )
    with refused(InvalidInstance):
        fair_share(vast)


def test_division_of_machines_among_organizations_beyond_64_bits_is_refused() -> None:
    with refused(InvalidOption):
        machine_split(10**25, 3)


def test_swf_number_beyond_int64_is_refused_with_its_line(tmp_path: Path) -> None:
    row = "{} 0 0 {} 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n"
    (tmp_path / "log.swf").write_text(
        "; MaxProcs: 2\n" + row.format(1, 10) + row.format(2, 9 * 10**18)
    )
    with refused(InvalidFile):
        read_swf(tmp_path / "log.swf")


def test_swf_with_fractions_of_seconds_rounds_submissions_starts_and_ends(tmp_path: Path) -> None:
    """One job ends at 3.4 as the next starts, also after rounding; -1 stays "not known"."""
    row = "{} {} {} {} 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n"
    rows = [(1, "0.4", "0.4", "2.6"), (2, "0.5", "2.90", "1.5"), (3, "7", "-1", "2.00")]
    path = tmp_path / "log.swf"
    path.write_text("".join(row.format(*values) for values in rows))
    log = read_swf(path)
    assert log.submit.tolist() == [0, 1, 7]
    assert log.wait.tolist() == [1, 2, -1]
    assert log.run.tolist() == [2, 2, 2]
    path.write_text(row.format(1, "0.4", "0.4", "2.6").replace("2.6 1", "2.6 1.5"))
    with refused(InvalidFile):
        read_swf(path)


def test_swf_header_of_a_superscript_digit_gives_no_machines(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(
        "; MaxProcs: \u00b2\n1 0 0 9 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n"
    )
    assert read_swf(tmp_path / "log.swf").machines is None


def test_audit_refuses_utilities_beyond_64_bits_and_too_many_points() -> None:
    jobs, horizon = 40_000, 2**31 - 10
    crowd = Scheduling(
        machines=[1], organization=np.zeros(jobs, dtype=np.int64),
        release=np.zeros(jobs, dtype=np.int64),  # type: ignore[arg-type]
        processing=np.full(jobs, horizon), horizon=horizon,
    )  # fmt: skip
    judged = Window(crowd, np.zeros(jobs, dtype=np.int64), 0)
    with refused(InvalidInstance):
        audit(judged)
    with refused(InvalidOption):
        audit(judged, points=10**8)


def test_scheduling_fluid_bound_equals_sum_over_time_units() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        instance = small_instance(rng, tiny=True)
        waiting = work = utility = 0
        for t in range(instance.horizon):
            new = instance.release == t
            waiting += int(
                np.minimum(instance.processing, instance.horizon - instance.release)[new].sum()
            )
            done = min(waiting, instance.total_machines)
            waiting -= done
            work += done
            utility += done * (instance.horizon - t)
        assert fluid_bound(instance, "utilization") == work
        assert fluid_bound(instance, "utility") == utility


@pytest.mark.slow
def test_greedy_schedules_do_at_least_three_quarters_of_the_work() -> None:
    # Theorem 6.2, against the proved optimum.
    rng = np.random.default_rng(9)
    for _ in range(60):
        instance = small_instance(rng, tiny=True)
        optimum = best_of_all(instance, "utilization")
        for rule in ("FIFO", "ROUNDROBIN", "FAIRSHARE"):
            assert 4 * worth_of(instance, simulate(instance, rule).schedule, "utilization") >= (
                3 * optimum
            )


def test_cp_sat_stopped_before_first_point_gives_no_bound() -> None:
    # CP-SAT then reports the bound 0, below every schedule that does any work.
    answer = solve_cp_sat(
        interval_model(cotenant.read("scheduling/lpc-like"), "utility").model, time_limit=0.001
    )
    assert answer.values is not None or answer.bound is None

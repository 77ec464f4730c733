"""Scheduling interrupted, at limits, beyond 64 bits; bounds of clairvoyant schedules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from support.messages import refused
from support.scheduling_cases import best_of_all, small_instance

import cotenant
from cotenant.analysis.manipulation import best_misreport
from cotenant.analysis.run.verify_result import recheck
from cotenant.analysis.scheduling.audit import audit
from cotenant.analysis.scheduling.windows import rule_schedule
from cotenant.baselines.scheduling import fair_share
from cotenant.instances.problem.errors import InvalidFile, InvalidInstance, InvalidOption
from cotenant.instances.scheduling import Scheduling
from cotenant.instances.scheduling.formats import read_swf
from cotenant.instances.scheduling.generators import workload
from cotenant.instances.scheduling.log import Window
from cotenant.instances.scheduling.split import machine_split
from cotenant.models.scheduling import fluid_bound, interval_model
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
from cotenant.solvers.scheduling.optimum import worth_of
from cotenant.solvers.scheduling.shapley_schedule import ref


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


def test_interval_model_cuts_a_job_far_longer_than_the_horizon() -> None:
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


def test_ref_with_other_reading_or_utility_passes_recheck() -> None:
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

"""Several rounds, the best completion time, the paper's claims and its tables."""

from __future__ import annotations

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.analysis.admission.rounds import least_computation, run_rounds
from cotenant.baselines.admission import proposed
from cotenant.catalog import methods
from cotenant.instances.admission import Admission, Assignment, blocking_pairs, check, job_speeds
from cotenant.instances.admission.generators import uniform
from cotenant.instances.problem import NoSolution, UnknownName
from cotenant.papers.matching import COMPLETION, STABLE_NOT_UNIQUE, _measured


def test_rounds_of_tiny_admission_instance_equal_hand_calculation() -> None:
    instance = cotenant.read("admission/tiny")
    assert isinstance(instance, Admission)
    run = run_rounds(instance, "SM")
    # Round 1: job 0 at speed 11 (30/11), job 2 at speed 8 (2). Round 2: job 1 at 8 on VM 0 (7/4);
    # job 3 also applies to
    # VM 0 and takes the core of type 1 that is left, at speed 2 (2).
    assert run.round.tolist() == [0, 1, 0, 1]
    assert run.computation == pytest.approx([30 / 11, 14 / 8, 2, 2])
    assert run.start == pytest.approx([0, 30 / 11])
    assert run.duration == pytest.approx([30 / 11, 2])
    facts = run.facts()
    assert facts["makespan"] == pytest.approx(30 / 11 + 2)
    assert facts["completion_time"] == pytest.approx(3 * 30 / 11 + 14 / 8 + 2 + 2)
    assert facts["completion_time_together"] == pytest.approx(2 * 30 / 11 + 2 * (30 / 11 + 2))
    assert facts["computation_time"] == pytest.approx(30 / 11 + 14 / 8 + 2 + 2)


@pytest.mark.parametrize("name", [method.name for method in methods("admission")])
def test_every_admission_method_runs_each_job_once_over_rounds(name: str) -> None:
    instance = uniform(
        machines=2, jobs=9, types=2, cores=2, threads=4, lengths=True, rng=np.random.default_rng(1)
    )
    run = run_rounds(instance, name)
    ran = np.zeros(instance.jobs, dtype=int)
    for number, one in enumerate(run.assignments):
        check(instance, one)
        ran += one.assigned
        assert (run.round[one.assigned] == number).all()
    assert (ran == 1).all()
    facts = run.facts()
    assert (
        facts["computation_time"]
        <= facts["completion_time"]
        <= facts["completion_time_together"] + 1e-9
    )


def test_rounds_with_job_that_never_runs_are_refused() -> None:
    instance = Admission([[0]], [1], [[1.0]])  # type: ignore[arg-type]
    with refused(NoSolution):
        run_rounds(instance, "proposed")
    with refused(UnknownName):
        run_rounds(instance, "propose")
    with refused(NoSolution):
        run_rounds(cotenant.read("admission/tiny"), Assignment.nobody)  # type: ignore[arg-type]


def test_proposed_admission_scheme_does_not_minimize_completion_time() -> None:
    instance = COMPLETION
    assert instance.length is not None
    # The condition of III.B.4: job 0 has more threads and takes longer on any core than job 1 on
    # any.
    assert instance.threads[0] > instance.threads[1]
    assert (instance.length[0] / instance.speed[0].sum()) > (
        instance.length[1] / instance.speed[1]
    ).max()
    total = (instance.length / job_speeds(instance, proposed(instance))).sum()
    assert total == pytest.approx(2000 / 10.1 + 99 / 1)
    assert total == pytest.approx(297.0198, abs=1e-4)
    best = least_computation(instance)
    assert best == pytest.approx(2000 / 10 + 99 / 100)
    assert best == pytest.approx(200.9900, abs=1e-4)


def test_stable_assignment_is_not_unique_if_vms_choose_cores() -> None:
    other = Assignment([0, 0], [[0, 1], [1, 0]])  # type: ignore[arg-type]
    check(STABLE_NOT_UNIQUE, other)
    assert blocking_pairs(STABLE_NOT_UNIQUE, other).count == 0
    assert other != proposed(STABLE_NOT_UNIQUE)


def test_resource_score_relative_to_fastest_cores_equals_hand_calculation() -> None:
    one = Admission(
        cores=np.array([[1, 3]]), threads=np.array([2, 1]), speed=np.array([[9.0, 2.0], [5.0, 4.0]])
    )
    answer = Assignment(machine=np.array([0, 0]), cores=np.array([[1, 1], [0, 1]]))
    assert _measured(one, answer, "fastest")["resource_score"] == pytest.approx(
        (11 / 18 + 4 / 5) / 2
    )
    assert _measured(one, answer, "empty")["resource_score"] == pytest.approx((11 / 11 + 4 / 5) / 2)


def test_admission_blocking_share_is_over_pairs_of_a_job_and_another_vm() -> None:
    found = cotenant.solve("admission/tiny", "SM").metrics  # two of four jobs on one of two VMs
    assert found["blocking_share"] == found["blocking_pairs"] / (4 * 2 - 2)

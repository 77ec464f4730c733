"""Admission schemes by hand, over rounds, against each other, and the paper's claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.analysis.admission.metrics import metrics
from cotenant.analysis.admission.rounds import least_computation, run_rounds
from cotenant.baselines.admission import deferred_quotas, proposed
from cotenant.catalog import functions, methods
from cotenant.instances.admission import Admission, Assignment, blocking_pairs, check, job_speeds
from cotenant.instances.admission.generators import TABLE_I, table_i, uniform
from cotenant.instances.admission.rules import SCHEMES
from cotenant.instances.problem import InvalidOption, NoSolution, UnknownName
from cotenant.papers.matching import COMPLETION, STABLE_NOT_UNIQUE, _measured

POLICIES = functions("admission", *SCHEMES)

TINY = {
    # Empty VMs: job 0 runs at 11 on VM 0 and 7 on VM 1, job 1 at 8 and 7, job 2 at 5 and 8, job 3
    # at 3 on both (so VM 0).
    # SM: jobs 0, 1, 3 apply to VM 0, whose three cores job 0 takes; job 2 alone on VM 1.
    "SM": ([0, -1, 1, -1], [[2, 1], [0, 0], [0, 2], [0, 0]]),
    # DA1: quota 2; VM 0 keeps jobs 0 and 1 and turns job 3 away, who goes to VM 1. Job 1 finds VM 0
    # full.
    "DA1": ([0, -1, 1, 1], [[2, 1], [0, 0], [0, 2], [1, 0]]),
    # DA2: round 1 job 0 at VM 0, job 1 (ranked above job 2 and 3) at VM 1; round 2 job 2 takes VM
    # 1's last core.
    "DA2": ([0, 1, 1, -1], [[2, 1], [1, 1], [0, 1], [0, 0]]),
    # Proposed: jobs by threads 0, 1, 2, 3: VM 0 to job 0; VM 1 to job 1, its last core to job 2.
    "proposed": ([0, 1, 1, -1], [[2, 1], [1, 1], [0, 1], [0, 0]]),
}


@pytest.mark.parametrize("name", TINY)
def test_each_admission_scheme_on_tiny_instance_equals_hand_calculation(name: str) -> None:
    machine, cores = TINY[name]
    assert POLICIES[name](cotenant.read("admission/tiny")) == Assignment(machine, cores)  # type: ignore[arg-type]


def test_da2_scheme_fixes_all_pairs_of_a_round_and_proposed_scheme_fixes_one() -> None:
    # Two VMs of 2 and 4 cores of one type. Job 0 (2 threads) likes both alike and takes VM 0. Job 1
    # (2 threads) too, but
    # is turned away to VM 1. Job 2 (1 thread) waits in DA2's first round and joins VM 1 in the
    # second.
    instance = Admission([[2], [4]], [2, 2, 1], [[1.0], [1.0], [1.0]])  # type: ignore[arg-type]
    for name in ("DA2", "proposed"):
        assert POLICIES[name](instance).machine.tolist() == [0, 1, 1], name
    # With 3 threads job 1 gets 3 of VM 1; fixing job 0 alone changes nothing for it, and job 2 gets
    # the last core.
    wider = instance.replace(threads=np.array([2, 3, 1]))
    assert POLICIES["proposed"](wider).cores.tolist() == [[2], [3], [1]]


def test_deferred_acceptance_rounds_may_fix_suboptimal_pair() -> None:
    # Round 1 of DA2: job 0 takes VM 0; job 1, turned away there, is fixed at VM 1 with 1 core at
    # speed 1. After job 0 has
    # taken its 2 of VM 0's 5 cores, 3 cores are left there: the proposed algorithm lets job 1 have
    # them.
    instance = Admission([[5], [1]], [2, 2], [[1.0], [1.0]])  # type: ignore[arg-type]
    assert POLICIES["DA2"](instance).machine.tolist() == [0, 1]
    assert POLICIES["proposed"](instance).machine.tolist() == [0, 0]
    assert blocking_pairs(instance, POLICIES["DA2"](instance)).job.tolist() == [1]


def test_da1_admission_scheme_serves_jobs_by_index_or_by_machine_ranking() -> None:
    instance = Admission([[3]], [1, 3], [[1.0], [1.0]])  # type: ignore[arg-type]
    assert deferred_quotas(instance).cores.tolist() == [[1], [2]]
    assert POLICIES["SM"](instance).cores.tolist() == [[1], [2]]
    assert deferred_quotas(instance, serving="ranking").cores.tolist() == [[0], [3]]


def test_admission_ties_go_to_lowest_core_type_vm_and_job() -> None:
    instance = Admission([[1, 1], [1, 1]], [1, 1, 1], np.ones((3, 2)))  # type: ignore[arg-type]
    answer = proposed(instance)
    assert answer.machine.tolist() == [0, 0, 1]
    assert answer.cores.tolist() == [[1, 0], [0, 1], [1, 0]]


def drawn(number: int, **sizes: Any) -> list[Admission]:
    found = []
    for seed in range(number):
        rng = np.random.default_rng([11, seed])
        one = uniform(
            machines=int(rng.integers(1, 6)), jobs=int(rng.integers(1, 12)),
            types=int(rng.integers(1, 4)),
            **{"cores": 4, "threads": 6, "speed": 9.0, **sizes}, rng=rng,
        )  # fmt: skip
        if seed % 3 == 0:  # ties of speeds, and VMs without cores
            one = one.replace(speed=np.ceil(one.speed), cores=one.cores - 1)
        found.append(one)
    return found


@pytest.mark.parametrize("instance", drawn(60), ids=lambda one: one.name)
def test_proposed_admission_routes_serial_and_rounds_give_equal_assignments(
    instance: Admission,
) -> None:
    assert proposed(instance, route="serial") == proposed(instance, route="rounds")


@pytest.mark.parametrize("instance", drawn(60), ids=lambda one: one.name)
def test_admission_schemes_are_feasible_and_the_proposed_one_stable(instance: Admission) -> None:
    assert blocking_pairs(instance, proposed(instance)).count == 0
    for name, policy in POLICIES.items():
        answer = policy(instance)
        check(instance, answer)
        assert (answer.cores[answer.assigned].sum(axis=1) > 0).all(), name


def taken_by_one(speed: list[float], free: list[int], threads: int) -> float:
    """The fastest a job can be, core by core: every free core's speed, the largest first."""
    each = [s for s, n in zip(speed, free, strict=True) for _ in range(n)]
    return sum(sorted(each, reverse=True)[:threads])


def blocking_by_definition(instance: Admission, answer: Assignment) -> set[tuple[int, int]]:
    """Definition 4 core by core, with nothing of the code under test."""
    found = set()
    threads = instance.threads.tolist()
    for j in range(instance.jobs):
        now = sum(
            s * n for s, n in zip(instance.speed[j].tolist(), answer.cores[j].tolist(), strict=True)
        )
        for v in range(instance.machines):
            if answer.machine[j] == v:
                continue
            free = instance.cores[v].tolist()
            for i in range(instance.jobs):
                if answer.machine[i] == v and (threads[i], -i) > (threads[j], -j):
                    free = [f - n for f, n in zip(free, answer.cores[i].tolist(), strict=True)]
            if taken_by_one(instance.speed[j].tolist(), free, threads[j]) > now + 1e-8:
                found.add((j, v))
    return found


@pytest.mark.parametrize("instance", drawn(40), ids=lambda one: one.name)
def test_blocking_pairs_equal_definition(instance: Admission) -> None:
    for policy in POLICIES.values():
        answer = policy(instance)
        counted = blocking_pairs(instance, answer)
        assert set(
            zip(counted.job.tolist(), counted.machine.tolist(), strict=True)
        ) == blocking_by_definition(instance, answer)


@pytest.mark.parametrize("name", ["DA2", "proposed"])
def test_relabeling_jobs_of_different_threads_only_permutes_answer(name: str) -> None:
    rng = np.random.default_rng(8)
    for seed in range(10):
        one = uniform(machines=4, jobs=8, types=2, cores=4, rng=np.random.default_rng(seed))
        instance = one.replace(threads=np.random.default_rng(seed).permutation(np.arange(1, 9)))
        order = rng.permutation(instance.jobs)
        assert (
            POLICIES[name](instance.only(order)).cores == POLICIES[name](instance).cores[order]
        ).all()


def test_admission_metrics_equal_hand_calculation() -> None:
    instance = cotenant.read("admission/tiny")
    assert isinstance(instance, Admission)
    row = metrics(instance, POLICIES["DA1"](instance))
    # speeds 11, -, 8, 3; cores 3, -, 2, 1 of threads 3, 2, 2, 1; on the empty VM 11, 8 and 3
    assert row["total_speed"] == pytest.approx(22)
    assert row["speed_score"] == pytest.approx(22 / 3)
    assert row["assigned"] == 0.75
    assert row["threads_used"] == 1.0
    assert row["cores_used"] == 1.0
    assert row["resource_score"] == 1.0
    assert row["blocking_pairs"] == 1  # job 1 would take what VM 1 gave to jobs 2 and 3
    assert "computation_time" not in row  # job 1 never runs
    row = metrics(instance, POLICIES["proposed"](instance))
    assert row["resource_score"] == pytest.approx((1 + 1 + 4 / 8) / 3)
    assert row["threads_used"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    everybody = Assignment([0, 1, 1, 0], [[2, 0], [1, 0], [0, 2], [0, 1]])  # type: ignore[arg-type]
    assert metrics(instance, everybody)["computation_time"] == pytest.approx(
        30 / 10 + 14 / 4 + 16 / 8 + 4 / 2
    )


def test_cores_used_is_a_mean_over_vms_that_have_cores() -> None:
    instance = Admission([[4], [0], [2]], [1], [[1.0]])  # type: ignore[arg-type]
    assert metrics(instance, proposed(instance))["cores_used"] == pytest.approx((1 / 4 + 0) / 2)


def test_blocking_pairs_do_not_depend_on_the_unit_of_speed() -> None:
    for instance in drawn(20):
        for policy in POLICIES.values():
            answer = policy(instance)
            slow = instance.replace(speed=instance.speed * 1e-9)
            assert blocking_pairs(slow, answer).count == blocking_pairs(instance, answer).count


def test_deferred_acceptance_1_rounds_quota_up() -> None:
    instance = Admission([[4], [3]], [4, 1, 1], [[1.0], [1.0], [1.0]])  # type: ignore[arg-type]
    assert deferred_quotas(instance).machine.tolist() == [0, -1, 1]
    equal = instance.replace(threads=np.array([1, 1, 1]))
    assert deferred_quotas(equal).machine.tolist() == [0, 0, 1]


@pytest.mark.parametrize(("cores", "idle"), [([[0, 0], [1, 3]], 0), ([[0, 0], [0, 0]], -1)])
def test_vm_without_cores_gets_no_job(cores: list[list[int]], idle: int) -> None:
    instance = Admission(cores, threads=[2, 4], speed=[[5.0, 1.0], [2.0, 3.0]])  # type: ignore[arg-type]
    for method in cotenant.methods("admission"):
        result = cotenant.solve(instance, method.name)
        assert (result.solution.machine != 0).all(), method.name
        if idle < 0:
            assert (result.solution.machine == -1).all(), method.name
            assert result.metrics["total_speed"] == 0
            assert "cores_used" not in result.metrics
        assert method.kind != "exact" or result.status.value == "optimal"


@pytest.mark.parametrize("comparison", TABLE_I)
def test_admission_generator_draws_within_table_i_ranges(comparison: Any) -> None:
    ranges = TABLE_I[comparison]
    drawn = [table_i(comparison=comparison, rng=np.random.default_rng(seed)) for seed in range(60)]
    for name in ("machines", "jobs", "types", "cores", "threads", "speed"):
        values = np.concatenate([np.ravel(getattr(one, name)) for one in drawn])
        assert values.min() >= 1
        assert values.max() <= getattr(ranges, name)
        assert name not in ("cores", "threads") or values.max() == getattr(ranges, name)


def test_admission_generators_refuse_invalid_options() -> None:
    assert uniform(lengths=True, rng=np.random.default_rng(4)).length is not None
    with refused(InvalidOption):
        table_i(comparison="IV", rng=np.random.default_rng(0))  # type: ignore[arg-type]
    with refused(InvalidOption):
        uniform(machines=10**6, types=10**6, rng=np.random.default_rng(0))


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

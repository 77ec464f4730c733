"""REF: published answers, the plain-Python twin, the Shapley value's axioms, refused instances."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from support.messages import refused
from support.scheduling_cases import small_instance

import cotenant
from cotenant.analysis.registry import analysis_of
from cotenant.instances.problem.errors import InvalidOption
from cotenant.instances.scheduling import UTILITIES, Scheduling, utilities
from cotenant.instances.scheduling.generators import (
    figure_7,
    not_supermodular,
    subset_sum,
    subset_sum_count,
    subset_sum_size,
    workload,
)
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.scheduling import kernels, simulate
from cotenant.solvers.scheduling import ref as solve_ref
from cotenant.solvers.scheduling.event_loop import LoopLimits
from cotenant.solvers.scheduling.ref_reference import plain_ref
from cotenant.solvers.scheduling.shapley import scale, shares
from cotenant.solvers.scheduling.shapley_schedule import play_ref, reference, reference_of

READINGS = ("figure", "definition")
LPC = cotenant.read("scheduling/lpc-like")


@pytest.mark.slow
@pytest.mark.parametrize("reading", READINGS)
def test_compiled_ref_equals_plain_ref_on_random_instances(reading: str) -> None:
    rng = np.random.default_rng(1)
    contended = 0
    for _ in range(300):
        instance = small_instance(rng, most=4, jobs=30)
        plain, played = plain_ref(instance, reading=reading), play_ref(instance, reading=reading)
        cotenant.check(instance, played.schedule)
        found = reference_of(played)
        assert played.start.tolist() == plain.schedule.start.tolist()
        assert list(found.values) == plain.values
        assert (
            found.psi.tolist() == plain.utilities == utilities(instance, played.schedule).tolist()
        )
        assert [share * scale(instance.organizations) for share in found.phi()] == plain.scaled_phi
        contended += played.contended > 0
    assert contended > 100


def test_ref_values_at_sample_times_equal_values_of_shorter_horizon() -> None:
    # What happens before t does not depend on what comes after: REF is not clairvoyant.
    rng = np.random.default_rng(2)
    for _ in range(20):
        instance = small_instance(rng)
        times = sorted(set(rng.integers(1, instance.horizon + 1, 3).tolist()))
        played = play_ref(instance, samples=times)
        for time in times:
            cut = reference_of(play_ref(instance.replace(horizon=time)))
            index = played.times.tolist().index(time)
            values = dict(zip(played.masks.tolist(), played.values[:, index].tolist(), strict=True))
            assert values == dict(enumerate(cut.values[1:], start=1))
            assert played.own[:, index].tolist() == cut.psi.tolist()


def test_shapley_by_equation_1_is_the_mean_over_orderings() -> None:
    rng = np.random.default_rng(0)
    for k in (1, 2, 3, 4):
        values = [0, *rng.integers(0, 1000, 2**k - 1).tolist()]
        expected = [Fraction(0)] * k
        for order in permutations(range(k)):
            mask = 0
            for u in order:
                expected[u] += Fraction(values[mask | 1 << u] - values[mask], factorial(k))
                mask |= 1 << u
        assert shares(values, k) == expected
        assert sum(expected) == values[-1]


def test_coalition_values_of_proposition_5_5_are_4_4_7_0() -> None:
    a, b, c = 1, 2, 4
    values = reference(not_supermodular()).values
    assert (values[a | c], values[b | c], values[a | b | c], values[c]) == (4, 4, 7, 0)


def test_greedy_schedule_of_figure_7_with_short_jobs_first_wastes_a_quarter() -> None:
    instance = figure_7()
    first = simulate(instance, "FIFO")  # organization 0 has the four short jobs
    last = simulate(instance.replace(organization=1 - instance.organization), "FIFO")
    measure = [
        analysis_of("scheduling").metrics(run.instance, run.schedule)["utilization"]
        for run in (first, last)
    ]
    assert measure == [0.75, 1.0]


def test_ref_definition_reading_minimizes_manhattan_distance_one_step_ahead() -> None:
    # At the first contended moment, no other way to fill the machines brings psi closer to phi at
    # the next moment.
    rng = np.random.default_rng(9)
    tried = 0
    for _ in range(60):
        k = int(rng.integers(2, 4))
        number = int(rng.integers(3, 9))
        machines = rng.integers(1, 3, k)
        instance = Scheduling(
            machines,
            rng.integers(0, k, number),
            [0] * number,
            rng.integers(1, 5, number),
            horizon=1,
        )
        if number <= machines.sum():
            continue
        found = reference(
            instance, "definition"
        )  # psi and phi at t + 1 = 1: one unit for each job started at 0
        have = np.bincount(instance.organization, minlength=k)
        distances = [
            sum(abs(phi - count) for phi, count in zip(found.phi(), counts, strict=True))
            for counts in product(*(range(limit + 1) for limit in have))
            if sum(counts) == machines.sum()
        ]
        own = sum(abs(phi - int(psi)) for phi, psi in zip(found.phi(), found.psi, strict=True))
        assert own == min(distances)
        tried += 1
    assert tried > 20


@pytest.mark.parametrize("utility", ["utilization", "flow-time", "tardiness"])
def test_ref_with_other_utilities_uses_plain_implementation(utility: str) -> None:
    instance = cotenant.read("scheduling/tiny")
    outcome = solve_ref(instance, utility=utility)
    cotenant.check(instance, outcome.solution)
    rows = zip(
        outcome.solution.start.tolist(),
        instance.processing.tolist(),
        instance.release.tolist(),
        strict=True,
    )
    jobs = list(rows)
    for u in range(3):
        mine = [
            job
            for job, owner in zip(jobs, instance.organization.tolist(), strict=True)
            if owner == u and job[0] >= 0
        ]
        assert outcome.certificate["psi"][u] == UTILITIES[utility](mine, instance.horizon)
    assert sum(outcome.certificate["phi"]) == pytest.approx(sum(outcome.certificate["psi"]))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("values", "target"), [("5", 4), ("1,2", 3), ("2,3,4", 5), ("2,3,4", 6), ("3,5,7,2", 10)]
)
def test_shapley_value_of_theorem_5_1_counts_subsets(
    values: str, target: int, reading: str
) -> None:
    k = len(values.split(","))
    phi = reference(subset_sum(values=values, target=target), reading).phi()[k]
    assert int(phi * factorial(k + 2) / subset_sum_size(values)) == subset_sum_count(values, target)


def test_shapley_value_of_theorem_5_1_as_printed_miscounts() -> None:
    phi = reference(subset_sum(values="2,3,4", target=5, unit_jobs=2)).phi()[3]
    assert int(phi * factorial(5) / subset_sum_size("2,3,4", 2)) == 114
    assert subset_sum_count("2,3,4", 5) == 18


def test_ref_without_work_has_no_unfairness_and_no_bound() -> None:
    instance = Scheduling([1, 1], [0], [5], [1], horizon=3)
    result = cotenant.solve(instance, "REF")
    assert result.solution.start.tolist() == [-1]
    assert (result.status, result.bound, result.objective) == (Status.FEASIBLE, None, None)


def test_ref_with_insufficient_memory_is_refused() -> None:
    with refused(InvalidOption):
        solve_ref(cotenant.read("scheduling/tiny"), memory=1e-9)


def test_ref_refuses_too_many_organizations() -> None:
    instance = workload(organizations=24, jobs=30, horizon=100, rng=np.random.default_rng(0))
    for time_limit in (None, 1.0):
        with refused(InvalidOption):
            solve_ref(instance, time_limit=time_limit)
    with refused(InvalidOption):
        solve_ref(
            workload(organizations=7, jobs=5, rng=np.random.default_rng(0)), utility="utilization"
        )


def test_ref_refuses_numbers_beyond_int64() -> None:
    long = Scheduling([1] * 13, [0] * 13, [0] * 13, [2**27] * 13, horizon=2**27)
    with refused(InvalidOption):
        solve_ref(long)


def test_ref_at_time_limit_continues_first_in_first_out() -> None:
    outcome = solve_ref(LPC, time_limit=1e-6, limits=LoopLimits(steps=50))
    cotenant.check(LPC, outcome.solution)
    assert (outcome.status, outcome.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert 0 <= outcome.certificate["decided_until"] < LPC.horizon


@pytest.mark.parametrize("reading", READINGS)
def test_event_loop_in_slices_equals_one_run(reading: str) -> None:
    whole = play_ref(LPC, reading=reading)
    cut = play_ref(LPC, reading=reading, limits=LoopLimits(steps=37))
    assert cut.start.tolist() == whole.start.tolist()
    assert cut.values.tolist() == whole.values.tolist()


def test_rule_simulation_of_eighty_organizations_is_feasible() -> None:
    rng = np.random.default_rng(0)
    instance = Scheduling(
        np.ones(80),
        rng.integers(0, 80, 400),
        rng.integers(0, 30, 400),
        rng.integers(1, 9, 400),
        horizon=30,
    )
    played = simulate(instance, "FAIRSHARE")
    cotenant.check(instance, played.schedule)
    assert kernels.LAST_BIT == 62

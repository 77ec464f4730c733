"""REF and sampled Shapley rules: published answers, a plain twin, axioms, limits, proofs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.proved import Document, Proved, case_of, judged, proved, put, task_of
from support.scheduling_cases import best_of_all, small_instance
from support.small_cases import few_jobs, scheduling

import cotenant
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.scheduling.metrics import metrics
from cotenant.baselines.scheduling import (
    direct_contribution,
    fair_share,
    fifo,
    guarantee,
    rand,
    sample_orderings,
)
from cotenant.instances.problem.errors import InvalidInstance, InvalidOption
from cotenant.instances.problem.files import read
from cotenant.instances.scheduling import (
    UTILITIES,
    Schedule,
    Scheduling,
    assign_machines,
    utilities,
)
from cotenant.instances.scheduling.generators import (
    figure_7,
    not_supermodular,
    subset_sum,
    subset_sum_count,
    subset_sum_size,
    unit_jobs,
    workload,
)
from cotenant.instances.scheduling.utility import units_done
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.proofs import Claimed, recompute
from cotenant.solvers.scheduling import event_loop, kernels, simulate
from cotenant.solvers.scheduling import ref as solve_ref
from cotenant.solvers.scheduling.ref_reference import plain_ref
from cotenant.solvers.scheduling.shapley import scale, shares
from cotenant.solvers.scheduling.shapley_schedule import play_ref, ref, reference, reference_of
from cotenant.verify.__main__ import main
from cotenant.verify.reading import Refused
from cotenant.verify.scheduling import Scheduling as CheckedScheduling
from cotenant.verify.scheduling import Shapley, scheduling_most

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


def test_greedy_schedule_of_published_example_wastes_a_quarter_of_machine_time() -> None:
    instance = figure_7()
    first = simulate(instance, "FIFO")  # organization 0 has the four short jobs
    last = simulate(instance.replace(organization=1 - instance.organization), "FIFO")
    measure = [
        analysis_of("scheduling").metrics(run.instance, run.schedule)["utilization"]
        for run in (first, last)
    ]
    assert measure == [0.75, 1.0]


def test_ref_by_definition_minimizes_distance_of_psi_to_phi_one_step_ahead() -> None:
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


TINY = cotenant.read("scheduling/tiny")
MANY = workload(organizations=24, jobs=30, horizon=100, rng=np.random.default_rng(0))
SEVEN = workload(organizations=7, jobs=5, rng=np.random.default_rng(0))
LONG = Scheduling([1] * 13, [0] * 13, [0] * 13, [2**27] * 13, horizon=2**27)
LONGER = Scheduling([1, 0], [0, 1], [0, 0], [2**30, 2**30], horizon=2**31 - 10)
CROWD = Scheduling([4000], [0] * 4000, [0] * 4000, [2**24] * 4000, horizon=2**24)

BEYOND: dict[str, Callable[[], object]] = {
    "REF in a byte": lambda: solve_ref(TINY, memory=1e-9),
    "REF of 24 organizations": lambda: solve_ref(MANY),
    "REF of 24 organizations in a second": lambda: solve_ref(MANY, time_limit=1.0),
    "REF of another utility": lambda: solve_ref(SEVEN, utility="utilization"),
    "REF beyond 64 bits": lambda: solve_ref(LONG),
    "RAND beyond 64 bits": lambda: rand(LONGER),
    "RAND of 2**60 orders": lambda: rand(TINY, orderings=2**60),
    "RAND of 70 organizations": lambda: rand(Scheduling([1] * 70, [0], [0], [1], horizon=5)),
    "an unknown rule": lambda: simulate(TINY, "LOTTERY"),
    "RAND without orders": lambda: simulate(TINY, "RAND"),
    "orders for FIFO": lambda: simulate(
        TINY, "FIFO", sampling=sample_orderings([np.array([0, 1, 2])])
    ),
    "DIRECTCONTR without draws": lambda: simulate(TINY, "DIRECTCONTR"),
    "too few draws": lambda: simulate(TINY, "random", draws=np.zeros(5)),
    "a sample after the horizon": lambda: simulate(TINY, "FIFO", samples=[31]),
    "a sample before the start": lambda: simulate(TINY, "FIFO", samples=[-1]),
    "UTFAIRSHARE beyond 64 bits": lambda: simulate(CROWD, "UTFAIRSHARE"),
}


@pytest.mark.parametrize("case", BEYOND)
def test_schedulers_refuse_what_is_beyond_their_numbers_or_options(case: str) -> None:
    with refused(InvalidInstance if case.startswith("UTFAIRSHARE") else InvalidOption):
        BEYOND[case]()


def test_ref_at_time_limit_continues_first_in_first_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "STEPS", 50)
    outcome = solve_ref(LPC, time_limit=1e-6)
    cotenant.check(LPC, outcome.solution)
    assert (outcome.status, outcome.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert 0 <= outcome.certificate["decided_until"] < LPC.horizon


@pytest.mark.parametrize("reading", READINGS)
def test_event_loop_in_slices_equals_one_run(reading: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = play_ref(LPC, reading=reading)
    monkeypatch.setattr(event_loop, "STEPS", 37)
    cut = play_ref(LPC, reading=reading)
    assert cut.start.tolist() == whole.start.tolist()
    assert cut.values.tolist() == whole.values.tolist()


def test_fair_share_simulation_of_eighty_organizations_is_feasible() -> None:
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


class EveryOrder(np.random.Generator):
    """In the place of a generator: each order of joining once."""

    def __init__(self, organizations: int) -> None:
        super().__init__(np.random.PCG64(0))
        self._orders = permutations(range(organizations))

    def permutation(self, _: int, axis: int = 0) -> np.ndarray:  # type: ignore[override]
        return np.array(next(self._orders))


@pytest.mark.parametrize("options", [{}, {"reading": "figure"}, {"reading": "definition"}])
def test_rand_over_all_orderings_is_perfectly_fair_in_reading_of_ref_it_follows(
    options: dict[str, Any],
) -> None:
    unlike = 0
    for number in range(20):
        instance = unit_jobs(
            organizations=4, machines=4, jobs=60, horizon=15, rng=np.random.default_rng(number)
        )
        outcome = rand(instance, orderings=24, rng=EveryOrder(4), **options)  # type: ignore[arg-type]
        assert isinstance(outcome.solution, Schedule)
        assert metrics(instance, outcome.solution, **options).get("unfairness", 0.0) == 0
        other = "definition" if options.get("reading", "figure") == "figure" else "figure"
        unlike += metrics(instance, outcome.solution, reading=other).get("unfairness", 0.0) > 0  # type: ignore[arg-type]
    assert unlike > 0  # the readings are two


def test_guarantee_of_rand_with_15_orderings_is_vacuous() -> None:
    # The printed formula gives 2.55 and 1.14 at k = 5, lambda = .9; two-sided Hoeffding 1.96 and
    # .88.
    for orderings, printed, two_sided, vacuous in ((15, 2.55, 1.96, True), (75, 1.14, 0.88, False)):
        found = guarantee(5, orderings, 0.9)
        assert found["epsilon_printed"] == pytest.approx(printed, abs=0.005)
        assert found["epsilon_hoeffding"] == pytest.approx(two_sided, abs=0.005)
        assert found["vacuous"] is vacuous


def test_rand_estimates_add_up_to_the_grand_coalition_value() -> None:
    outcome = rand(cotenant.read("scheduling/tiny"))
    instance = cotenant.read("scheduling/tiny")
    fifo = simulate(instance, "FIFO").own[:, -1].sum()
    assert sum(outcome.certificate["phi_estimate"]) == pytest.approx(fifo)
    assert outcome.certificate["guarantee"]["vacuous"] is True
    assert outcome.stop is Stop.FINISHED


def test_share_of_zero_is_served_only_without_other_waiting_organizations() -> None:
    instance = Scheduling([0, 1], [0, 0, 1, 1], [0, 0, 0, 5], [2, 2, 2, 2], horizon=20)
    assert fair_share(instance).start.tolist() == [2, 4, 0, 6]


def test_direct_contribution_policy_puts_jobs_on_machines_at_random() -> None:
    instance = workload(
        organizations=2, machines=40, jobs=30, horizon=1000, load=0.3, rng=np.random.default_rng(0)
    )
    first, second = (
        direct_contribution(instance, rng=np.random.default_rng(seed)) for seed in (0, 1)
    )
    assert first.start.tolist() == second.start.tolist()  # machines are never short here
    assert first.machine.tolist() != second.machine.tolist()
    assert first.machine.tolist() != assign_machines(instance, first.start).tolist()


BUNDLED = ("tiny", "figure-2", "figure-7", "lpc-like", "not-supermodular", "subset-sum")


@pytest.mark.parametrize("reading", ["figure", "definition"])
@pytest.mark.parametrize("name", BUNDLED)
def test_ref_schedule_is_certified(name: str, reading: str) -> None:
    assert "unfairness is 0" in proved(read(f"scheduling/{name}"), "REF", reading=reading).sentence


@pytest.mark.parametrize("seed", range(60))
def test_verifier_replays_the_compiled_ref_schedule(seed: int) -> None:
    instance = scheduling(seed)
    given = CheckedScheduling(case_of(instance))
    for later, reading in enumerate(("figure", "definition")):
        expected = ref(instance, reading=reading).solution.start.tolist()
        assert Shapley(given, later).start == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reading", "number"), [("figure", 10), ("definition", 10), ("figure", 13)]
)
def test_ref_of_many_organizations_is_certified(reading: Any, number: int) -> None:
    rng = np.random.default_rng(number)
    owner, release, length = (
        rng.integers(*span, 30).tolist() for span in ((0, number), (0, 15), (1, 20))
    )
    instance = Scheduling([1] * number, owner, release, length, 30, name="many")
    proof = proved(instance, "REF", reading=reading)
    assert "unfairness is 0" in proof.sentence
    if number == 10:
        with refused(Refused):  # says how far the coalitions came
            judged(proof.content, proof.document, most_work=500_000)
        task = task_of(instance, ref(instance, reading=reading), method="REF", reading=reading)
        with refused(Claimed):
            recompute.ref(replace(task, patience=0.002))


@pytest.mark.parametrize("seed", range(12))
def test_ref_proof_of_another_schedule_states_unfairness_of_that_schedule(seed: int) -> None:
    instance = scheduling(seed)
    outcome = ref(instance)
    given = replace(outcome, solution=fifo(instance))
    own, other = utilities(instance, given.solution), utilities(instance, outcome.solution)
    units = int(units_done(outcome.solution.start, instance.processing, instance.horizon).sum())
    if not units:
        with pytest.raises(Claimed):
            proved(instance, "REF", given)
        return
    expected = abs(own - other).sum() / units
    assert float(proved(instance, "REF", given).value) == pytest.approx(expected)


def test_ref_schedule_of_other_utility_or_many_organizations_has_no_proof() -> None:
    instance = read("scheduling/tiny")
    with refused(Claimed):
        proved(instance, "REF", utility="flow-time")
    many = Scheduling([1] * 17, list(range(17)), [0] * 17, [2] * 17, 9, name="many")
    with refused(Claimed):
        proved(many, "REF", replace(ref(instance), solution=fifo(many)))


@cache
def tiny(method: str) -> Proved:
    return proved(read("scheduling/tiny"), method)


def dual_step(rng: np.random.Generator, horizon: int) -> Document:
    """Times and prices by chance."""
    marks = rng.choice(np.arange(1, horizon), int(rng.integers(0, 4)), replace=False)
    times = [0, *sorted(int(t) for t in marks)]
    prices = {"over": int(rng.integers(1, 4)), "numbers": rng.integers(0, 9, len(times)).tolist()}
    return {"kind": "dual", "times": times, "prices": prices}


def bound_of(instance: Scheduling, step: Document, *, utility: bool) -> Any:
    return scheduling_most(case_of(instance, None, {}, [step]), utility)[0].bound


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_schedule_bound_at_any_prices_of_machine_time_is_valid(seed: int) -> None:
    instance, rng = few_jobs(seed), np.random.default_rng(seed)
    units, utility = (best_of_all(instance, name) for name in ("utilization", "utility"))
    for _ in range(20):
        step = dual_step(rng, instance.horizon)
        share = Fraction(units, instance.total_machines * instance.horizon)
        assert bound_of(instance, step, utility=False) >= share
        assert bound_of(instance, step, utility=True) >= utility


@pytest.mark.parametrize("seed", range(15))
def test_schedule_bound_at_prices_of_machine_time_adds_best_start_of_each_job(seed: int) -> None:
    instance, rng = scheduling(seed), np.random.default_rng(seed)
    for utility in (False, True):
        step = dual_step(rng, instance.horizon)
        over, numbers = step["prices"]["over"], step["prices"]["numbers"]
        price = [
            numbers[int(np.searchsorted(step["times"], t, side="right")) - 1]
            for t in range(instance.horizon)
        ]
        total = instance.total_machines * sum(price)
        for release, length in zip(instance.release, instance.processing, strict=True):
            earned = [0]
            for start in range(release, instance.horizon):
                done = min(length, instance.horizon - start)
                ages = sum(instance.horizon - start - k for k in range(done))
                worth = ages if utility else done
                earned.append(over * worth - sum(price[start : start + done]))
            total += max(earned)
        unit = 1 if utility else instance.total_machines * instance.horizon
        assert bound_of(instance, step, utility=utility) == Fraction(int(total // over), unit)


def test_time_prices_prove_max_utilization_beyond_the_fluid_bound() -> None:
    assert tiny("max-utilization").document["steps"][0]["kind"] == "dual"
    assert tiny("max-utilization").sentence.endswith("optimal")


SCHEDULES: dict[str, Any] = {
    "too early": put("witness", "start", -1, to=0),
    "never": put("witness", "start", 0, to=-1),
    "half a moment": put("witness", "start", 0, to="1/2"),
    "from behind": put("witness", "start", 0, to=-2),
    "after the end": put("witness", "start", 0, to=10**9),
    "on a machine that there is not": put("witness", "machine", 0, to=10**9),
    "all on one machine": put("witness", "machine", to=lambda old: [min(m, 0) for m in old]),
    "a job left out": lambda p: p["witness"]["start"].pop(),
    "another reading": lambda p: p["options"].update(reading="poem"),
    "another kind": lambda p: p["steps"][0].update(kind="witness"),
    "fairer than fair": lambda p: p["claim"].update(value=-1),
    "unfair to all": lambda p: p["claim"].update(bound=1),
    "nobody starts": lambda p: p["witness"].update(
        start=[-1] * len(p["witness"]["start"]), machine=[-1] * len(p["witness"]["machine"])
    ),
}
PRICES: dict[str, Any] = {
    "a price below 0": put("steps", 0, "prices", "numbers", 0, to=-1),
    "half a price": put("steps", 0, "prices", "numbers", 0, to="1/2"),
    "a price too many": lambda p: p["steps"][0]["prices"]["numbers"].append(1),
    "over nothing": lambda p: p["steps"][0]["prices"].update(over=0),
    "times that do not begin": put("steps", 0, "times", 0, to=1),
    "times that go back": lambda p: p["steps"][0]["times"].reverse(),
    "a time twice": put("steps", 0, "times", 1, to=0),
    "times after the end": put("steps", 0, "times", -1, to=10**9),
    "no times": lambda p: p["steps"][0].update(times=[], prices={"over": 1, "numbers": []}),
    "a lower bound": lambda p: p["claim"].update(bound="1/2", value=None, claim_kind="gap"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("method", "change"),
    [("REF", change) for change in SCHEDULES.values()]
    + [("max-utilization", change) for change in PRICES.values()],
    ids=[*SCHEDULES, *PRICES],
)
def test_forged_scheduling_proof_is_refused(method: str, change: Any) -> None:
    tiny(method).refuses(change)


def test_too_long_replay_is_refused() -> None:
    with refused(Refused):
        judged(tiny("REF").content, tiny("REF").document, most_work=600)


def test_patience_option_multiplies_work_limit(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("tiny.json", "proof.json")]
    Path(files[0]).write_bytes(tiny("REF").content)
    Path(files[1]).write_text(json.dumps(tiny("REF").document))
    assert [main(files, 600), main([*files, "--patience", "1000"], 600)] == [1, 0]

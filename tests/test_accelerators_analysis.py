"""Accelerator shares: FIFO, AlloX, Gandiva, POP and equal time shares; rounds, price of fairness,
pictures and published data.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from support import terminal
from support.measured import DATA
from support.messages import refused
from support.seeds import seeds
from support.small_accelerators import drawn

import cotenant
from cotenant.analysis.accelerators.frontier import price_frontiers
from cotenant.analysis.accelerators.pictures import record
from cotenant.analysis.accelerators.rounds import whole_rounds
from cotenant.baselines.accelerators import allox, fifo, gandiva, proportional
from cotenant.baselines.accelerators.queues import _first, _places
from cotenant.baselines.accelerators.shares import _divided, random_pairs
from cotenant.instances.accelerators import Accelerators, TimeShares
from cotenant.instances.accelerators.measures import envy, throughputs
from cotenant.instances.problem.errors import InvalidFile, InvalidOption
from cotenant.papers.gavel import figure_2
from cotenant.papers.registry import experiment_named
from cotenant.solvers.engines import solve_program


@pytest.mark.parametrize("seed", seeds(80, 12))
def test_accelerator_rounds_are_feasible_and_within_rounded_up_shares(seed: int) -> None:
    instance = drawn(seed, most_jobs=9)
    for method in ("max-min", "isolated"):
        shares = cotenant.solve(instance, method).solution
        found = whole_rounds(instance, shares, rounds=12)
        for index in range(12):
            cotenant.check(instance, found.placement(index))
        assert (found.number.sum(axis=0) <= np.ceil(12 * shares.share - 1e-9) + 1e-9).all()
        assert (found.number >= np.floor(shares.share)).all()
        # what jobs reach adds up to what ran
        one = found.shares.replace(share=found.number.mean(axis=0))
        owner = np.repeat(np.arange(instance.types), instance.count)
        total = np.bincount(owner, found.throughput, instance.types)
        assert total == pytest.approx(throughputs(instance, one) * instance.count)


def test_solve_command_takes_rounds_option() -> None:
    asked = ("solve", "accelerators/tiny", "-m", "max-min", "-o", "rounds=9")
    shown = terminal.run(*asked)
    assert "in rounds" in shown.stdout
    assert "largest loss" in shown.stdout
    csv = terminal.run(*asked, "--format", "csv").stdout
    assert "round,job,beside,device,number" in csv
    with refused(InvalidOption):
        cotenant.solve(cotenant.read("accelerators/tiny"), "max-min", rounds=0)


@pytest.mark.parametrize("seed", seeds(20, 3))
def test_accelerator_frontier_is_optimal_at_every_point(seed: int) -> None:
    instance = drawn(seed)
    (frontier,) = price_frontiers(instance, points=4)
    assert frontier.status == "optimal"
    values = [point.value for point in frontier.points]
    assert values == sorted(values)
    assert frontier.points[-1].value == pytest.approx(
        cotenant.solve(instance, "max-throughput").objective
    )
    best = cotenant.solve(instance, "max-min").objective
    assert frontier.points[0].reached == pytest.approx(best)
    for point in frontier.points:
        assert point.limit is not None
        assert point.reached >= point.limit * (1 - 1e-9)


def test_time_shares_frame_has_time_of_each_type_on_each_kind() -> None:
    instance = cotenant.read("accelerators/tiny")
    shares = TimeShares([0, 0, 1], [-1, 1, -1], [0, 0, 1], [0.5, 0.25, 1.0])
    found = record(instance, shares)
    place = found["names"].index("vision"), found["names"].index("text")
    assert [found["alone"][each] for each in place] == [[0.25, 0], [0, 0.5]]
    assert [found["beside"][each] for each in place] == [[0.125, 0], [0.125, 0]]
    assert found["used"] == [0.75, 1]


def test_envy_compares_with_throughput_at_other_jobs_shares() -> None:
    instance = Accelerators([[2.0], [5.0]], [1, 1], [1], weight=[1, 2])  # type: ignore[arg-type]
    shares = TimeShares([0, 1], [-1, -1], [0, 0], [0.25, 0.75])  # type: ignore[arg-type]
    # a third is what the first has now; of weight 1 instead of 2 it is due half of the other's .75
    assert envy(instance, shares) == pytest.approx(1 - 0.25 / 0.375)


def test_envy_of_job_that_shares_device_is_computed_with_same_partner() -> None:
    instance = Accelerators(
        [[4.0], [4.0], [4.0]], [1, 1, 1], [2],
        together=[[[np.inf], [np.inf], [2.0]], [[np.inf], [np.inf], [3.0]],
                  [[1.0], [1.0], [np.inf]]],
    )  # type: ignore[arg-type]  # fmt: skip
    shares = TimeShares([0, 1], [2, -1], [0, 0], [1.0, 0.4])  # type: ignore[arg-type]
    # the second would have 3 in the first's place, and has 1.6
    assert envy(instance, shares) == pytest.approx(1 - 1.6 / 3)


FILES = {
    "throughputs": DATA / "gpu/pop/simulation_throughputs.json.gz",
    "jobs": DATA / "gpu/pop/jobs_2048.json",
    "log": DATA / "gpu/pop/non_trace_num_jobs_2048.out.gz",
}
needs_pop = pytest.mark.skipif(
    not all(path.exists() for path in FILES.values()), reason="needs the data of POP"
)


@needs_pop
def test_gavel_published_objectives_and_throughputs_are_reproduced() -> None:
    done = experiment_named("accelerators-figure-2").run(data=DATA)
    found = {finding.what: finding for finding in done.findings}
    for name in ("exact", "POP-2", "POP-4", "POP-8"):
        assert found[f"worst normalized throughput, {name}"].verdict == "reproduced"
        assert found[f"every job's throughput, {name}"].ours.startswith("2048 of 2048")
    assert found["worst normalized throughput, exact"].ours == "1.1109129"
    assert found["mean normalized throughput, Gandiva"].verdict == "reproduced"
    assert "formulations" in found["seconds, exact"].note
    assert len(done.pictures) == 1


@needs_pop
def test_gavel_claims_hold_on_measured_table() -> None:
    done = experiment_named("accelerators-policies").run(data=DATA)
    judged = [finding for finding in done.findings if finding.verdict != "not in the paper"]
    assert [finding.verdict for finding in judged] == ["reproduced"] * 3


@needs_pop
def test_gavel_log_of_other_jobs_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.out"
    log.write_text("[1, 2, 3, 4, 5]\n[{0: 1.0}]\n")
    with refused(InvalidFile):
        figure_2(throughputs=str(FILES["throughputs"]), jobs=str(FILES["jobs"]), log=str(log))


def amounts(instance: Accelerators, solution: TimeShares) -> np.ndarray:
    """(T, D) jobs alone at a time."""
    found = np.zeros(instance.throughput.shape)
    np.add.at(found, (solution.first, solution.device), solution.share)
    return found


def cluster(**fields: object) -> Accelerators:
    given: dict[str, object] = {
        "throughput": [[4.0, 2.0], [3.0, 3.0]], "count": [3, 2], "devices": [2, 1],
        "steps": [8, 3], "elapsed": [0, 5],
    }  # fmt: skip
    return Accelerators(**(given | fields))  # type: ignore[arg-type]


def test_fifo_gives_free_devices_to_earliest_jobs() -> None:
    found = amounts(cluster(), fifo(cluster(), device="fastest"))
    # both of the second type were submitted first: one kind is as fast as the other
    assert found.tolist() == [[0, 1], [2, 0]]


def test_fifo_queue_stops_at_first_job_without_device() -> None:
    instance = cluster(workers=[1, 2], elapsed=[0, 5])
    # the second job of two workers waits, and so do those behind it, with a device free
    assert amounts(instance, fifo(instance)).sum() == 1


def test_fifo_job_of_two_workers_takes_two_devices() -> None:
    instance = cluster(count=[2, 1], workers=[1, 2])
    assert amounts(instance, fifo(instance, device="fastest")).tolist() == [[0, 1], [1, 0]]


def test_fifo_draws_among_device_kinds_with_free_devices() -> None:
    rng = np.random.default_rng(0)
    seen = {
        tuple(map(tuple, amounts(cluster(), fifo(cluster(), rng=rng)).astype(int).tolist()))
        for _ in range(20)
    }
    assert len(seen) > 1


@pytest.mark.parametrize("seed", seeds(60, 12))
def test_allox_minimizes_sum_of_completion_times(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = Accelerators(
        rng.integers(1, 9, (3, 2)), rng.integers(1, 4, 3), rng.integers(1, 3, 2),
        steps=rng.integers(1, 30, 3),
    )  # fmt: skip
    jobs = np.repeat(np.arange(3), instance.count)
    devices = np.repeat(np.arange(2), instance.devices)
    assert instance.steps is not None
    time = instance.steps[jobs, None] / instance.throughput[jobs][:, devices]
    every = np.hstack([index * time for index in range(1, len(jobs) + 1)])
    least = every[linear_sum_assignment(every)].sum()
    places = _places(instance, instance.count, len(jobs))
    point = solve_program(places.program).point
    assert point is not None
    number = point[: len(places.type)]
    assert (number * places.place * places.time).sum() == pytest.approx(least)
    running = _first(instance, places, np.round(number).astype(int))
    assert 0 < running.sum() <= min(len(jobs), len(devices))


def test_allox_runs_short_jobs_first() -> None:
    instance = cluster(count=[5, 1], elapsed=[0, 0], devices=[1, 0])
    assert amounts(instance, allox(instance, alpha=1.0)).tolist() == [[0, 0], [1, 0]]


def test_allox_policy_with_alpha_below_1_serves_only_that_share_of_jobs() -> None:
    instance = cluster(count=[5, 1], elapsed=[9, 0], devices=[1, 0])
    assert amounts(instance, allox(instance, alpha=0.5)).tolist() == [[1, 0], [0, 0]]


def shared(loss: float = 0.2) -> Accelerators:
    together = np.full((2, 2, 2), 1 - loss) * np.array([[4.0, 2.0], [3.0, 3.0]])[:, None]
    return cluster(together=together, count=[4, 4])


def test_gandiva_divides_the_cluster_among_random_pairs() -> None:
    instance = shared()
    answer = gandiva(instance, rng=np.random.default_rng(1))
    assert (answer.second >= 0).all()
    # four pairs on three devices: each has half of a device of the first kind, a quarter of the
    # other
    assert answer.share[answer.device == 0].sum() == pytest.approx(2)
    assert answer.share[answer.device == 1].sum() == pytest.approx(1)


def test_gandiva_pairs_no_jobs_if_devices_suffice() -> None:
    instance = shared().replace(count=[1, 2])
    assert gandiva(instance) == proportional(instance)


def test_gandiva_pair_time_is_capped_by_its_jobs() -> None:
    instance = shared().replace(devices=[4, 3], workers=[1, 2])
    answer = gandiva(instance, rng=np.random.default_rng(1))
    # four pairs have a quarter of seven devices each: too much for those of one worker
    assert answer.share[answer.first == 0].sum() == pytest.approx(2)
    assert answer.share[answer.first == 1].sum() == pytest.approx(2 * 7 / 4 / 2)


def test_gandiva_redraws_pairs_that_lose_throughput() -> None:
    bad = shared().replace(
        together=[[[0.1, 0.1], [3, 2]], [[3, 3], [0.1, 0.1]]], count=[10, 10], devices=[2, 2]
    )
    rng = np.random.default_rng(0)
    before = random_pairs(bad, rng)
    after = random_pairs(bad, rng, redraws=20)
    assert (before[:, 0] == before[:, 1]).sum() > (after[:, 0] == after[:, 1]).sum() == 0
    assert np.bincount(after.ravel()).tolist() == [10, 10]


def test_pop_on_undivided_cluster_is_max_min_and_on_parts_no_better() -> None:
    instance = shared().replace(devices=[3, 3])
    best = cotenant.solve(instance, "max-min").objective
    assert cotenant.solve(instance, "POP", parts=1).objective == pytest.approx(best)
    for seed in range(5):
        assert cotenant.solve(instance, "POP", parts=3, seed=seed).objective <= best * (1 + 1e-9)
    parts = np.array(_divided(np.array([5, 1, 3]), 4))
    assert parts.sum(axis=0).tolist() == [5, 1, 3]
    assert np.ptp(parts.sum(axis=1)) <= 1


def test_time_by_proportional_policy_is_equal_for_any_number_of_workers() -> None:
    instance = cluster(workers=[1, 2], count=[2, 1], devices=[2, 2])
    rates = throughputs(instance, proportional(instance))
    assert rates.tolist() == pytest.approx([3, 3])

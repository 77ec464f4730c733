"""Rounds of accelerator shares, price of fairness, pictures and published data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import terminal
from support.measured import DATA
from support.messages import refused
from support.seeds import seeds
from support.small_accelerators import drawn

import cotenant
from cotenant.analysis.accelerators.frontier import price_frontiers
from cotenant.analysis.accelerators.pictures import record
from cotenant.analysis.accelerators.rounds import whole_rounds
from cotenant.instances.accelerators import Accelerators, TimeShares
from cotenant.instances.accelerators.measures import envy, throughputs
from cotenant.instances.problem.errors import InvalidFile, InvalidOption
from cotenant.papers.gavel import figure_2
from cotenant.papers.registry import experiment_named


@pytest.mark.parametrize("seed", seeds(80, 12))
def test_accelerator_rounds_are_feasible_and_within_rounded_up_shares(
    seed: int,
) -> None:
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


def test_envy_of_paired_job_compares_beside_the_same_partner() -> None:
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

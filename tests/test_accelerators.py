"""Shares of accelerators: inputs, invalid instances, and optima against programs of every job."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from support.files import text_file
from support.messages import refused
from support.seeds import seeds
from support.small_accelerators import drawn, filled, leximin_wrongs, wrongs
from support.terminal import run
from typer.testing import CliRunner

import cotenant
from cotenant import catalog
from cotenant.analysis.accelerators.metrics import metrics
from cotenant.cli.commands import app
from cotenant.instances.accelerators import Accelerators, TimeShares
from cotenant.instances.accelerators.formats import gavel
from cotenant.instances.accelerators.measures import entitlements, required_steps, throughputs
from cotenant.instances.problem.errors import (
    InvalidFile,
    InvalidInstance,
    InvalidOption,
)
from cotenant.models.accelerators import share_program
from cotenant.models.accelerators.readable import cost_model, max_min_model, ratio_model
from cotenant.models.answer import instance_answer
from cotenant.models.program import from_pyomo
from cotenant.solvers.accelerators import mixes, programs
from cotenant.solvers.accelerators.leximin import Filling
from cotenant.solvers.accelerators.programs import fairer
from cotenant.solvers.engines import solve_program
from cotenant.solvers.outcome import Clock


@pytest.mark.parametrize("seed", seeds(60, 6))
def test_optima_over_types_equal_programs_with_every_job(seed: int) -> None:
    assert list(wrongs(drawn(seed, most_jobs=4 + seed % 2))) == []


@pytest.mark.parametrize("seed", seeds(60, 6))
def test_leximin_over_types_equals_leximin_of_every_job(seed: int) -> None:
    instance = drawn(4 + seed, most_jobs=4)  # the first two have three levels each
    assert list(leximin_wrongs(instance)) == []


def tiny() -> Accelerators:
    found = cotenant.read("accelerators/tiny")
    assert isinstance(found, Accelerators)
    return found


@pytest.mark.parametrize("seed", seeds(20, 3))
def test_pyomo_models_of_time_shares_have_optimum_of_solved_programs(seed: int) -> None:
    instance = drawn(seed)
    steps = required_steps(instance)
    for method, model in (
        ("max-min", max_min_model(instance)),
        ("makespan", ratio_model(instance, steps)),
        ("min-cost", cost_model(instance)),
    ):
        solve_program(from_pyomo(model)).load(model)
        answer = instance_answer(instance, model)
        found, objective = metrics(instance, answer), catalog.find("accelerators", method).objective
        best = cotenant.solve(instance, method).objective
        assert found[objective] == pytest.approx(best, rel=1e-6), method
    program = share_program(instance, entitlements(instance))
    answer = instance_answer(instance, program, solve_program(program.program))
    best = cotenant.solve(instance, "max-min").objective
    assert metrics(instance, answer)["worst_throughput"] == pytest.approx(best, rel=1e-6)


def crowded(types: int = 12, jobs: int = 2) -> Accelerators:
    """Types that all differ, pairs of all of them, on three kinds, and two entities."""
    rng = np.random.default_rng(types)
    alone = rng.uniform(1, 10, (types, 3)).round(3)
    pairs = (alone[:, None] * rng.uniform(0.4, 0.9, (types, types, 3))).round(3)
    return Accelerators(
        alone, np.full(types, jobs), [types * jobs // 3] * 3, together=pairs,
        entity=np.arange(types) % 2, entity_weight=[1.0, 2.0], steps=np.full(types, 100.0),
    )  # fmt: skip


class Programs(Clock):
    """A clock that expires after so many programs."""

    def __init__(self, settled: int) -> None:
        super().__init__(60)
        self.left_over = settled

    @property
    def expired(self) -> bool:
        self.left_over -= 1
        return self.left_over < 0


@pytest.mark.parametrize("settled", [1, 2])
def test_leximin_at_time_limit_keeps_the_proved_levels(settled: int) -> None:
    instance = crowded(types=30, jobs=1).replace(together=None, devices=[12] * 3)
    unit = entitlements(instance)
    found = []
    for clock in (Programs(settled), Clock()):
        filling = Filling(instance, unit)
        filling.fill(clock)
        found.append(filling.outcome("worst_throughput", unit))
    cut, whole = found
    assert (len(cut.certificate["levels"]) > 1) == (settled > 1)
    assert len(cut.certificate["levels"]) < len(whole.certificate["levels"])
    for mine, best in zip(
        cut.certificate["levels"][:-1], whole.certificate["levels"], strict=False
    ):
        assert (mine["status"], mine["types"]) == ("optimal", best["types"])
        assert mine["value"] == pytest.approx(best["value"], rel=1e-9)
    assert cut.certificate["levels"][-1]["status"] == "feasible"
    equal = cotenant.solve(instance, "proportional").solution
    assert not fairer(instance, equal, cut.solution, unit)


@pytest.mark.slow
@pytest.mark.parametrize("block", seeds(20, 1))
@pytest.mark.parametrize("method", ["leximin", "hierarchical"])
def test_leximin_levels_equal_those_of_one_program_a_level(method: str, block: int) -> None:
    """Jobs at their fastest placement, kinds that are used up, and jobs that are named too late."""
    for seed in range(10 * block, 10 * block + 10):
        rng = np.random.default_rng(seed)
        instance = drawn(seed, most_jobs=6)
        if seed % 5 == 0:
            instance = Accelerators(
                rng.lognormal(0, 0.6, (30, 3)), np.ones(30), [15, 10, 8],  # type: ignore[arg-type]
                weight=rng.choice([1, 2], 30), entity=rng.integers(0, 4, 30),
                entity_weight=[1, 2, 1, 3],
            )  # fmt: skip
        outcome = cotenant.solve(instance, method)
        for level in outcome.certificate["levels"]:
            assert level["bound"] == pytest.approx(level["value"], rel=1e-8)
        ratio = throughputs(instance, outcome.solution) / entitlements(instance)
        expected = filled(instance, by_entities=method == "hierarchical")
        assert np.sort(ratio) == pytest.approx(np.sort(expected), rel=1e-8)


def test_fairer_shares_are_decided_by_first_differing_level() -> None:
    instance = Accelerators([[1.0], [1.0]], [3, 1], [4])
    equal, poor, rich = (
        TimeShares([0, 1], [-1, -1], [0, 0], [first, second])
        for first, second in ((1.5, 0.5), (2.0, 0.5), (1.5, 0.9))
    )
    unit = np.ones(2)
    assert fairer(instance, poor, equal, unit)  # a half for one job, two thirds for the others
    assert fairer(instance, poor, rich, unit)  # who has a half are one job, and three
    assert not fairer(instance, rich, poor, unit)
    assert not fairer(instance, equal, equal, unit)


@pytest.mark.slow
def test_answer_with_thirty_objective_levels_is_printed_in_two_lines(tmp_path: Path) -> None:
    instance = crowded(types=30, jobs=1).replace(together=None, devices=[12] * 3)
    file = str(cotenant.write(instance, tmp_path / "many.json"))
    answer, proof = (str(tmp_path / name) for name in ("answer.json", "proof.json"))
    shown = run("solve", file, "-m", "leximin", "--out", answer).stdout
    then = [line.split() for line in shown.splitlines() if line.split()[:1] == ["then"]]
    assert [line[2:4] for line in then][1:] == [["more", "levels,"]]
    for command in (("prove", file, "-m", "leximin", "--out", proof), ("check", file, answer)):
        assert len(run(*command).stdout) < 1000


def single(rng: np.random.Generator) -> Accelerators:
    """Jobs that run alone: equal ones, kinds of equal speed, kinds without devices, needs at a kink,
    speeds of 0.
    """
    types, kinds = int(rng.integers(1, 16)), int(rng.integers(1, 5))
    rates = rng.choice([0, 1, 2, 2, 3, 4], (types, kinds)).astype(float)
    if rng.random() < 0.3:
        rates = (rates * rng.lognormal(0, 0.6, rates.shape)).round(3)
    devices = rng.integers(0, 5, kinds)
    workers = rng.choice([1, 1, 2], types)
    devices[0] += workers.max()
    rates[(rates * (devices >= workers[:, None])).max(axis=1) == 0, 0] = 1.0
    return Accelerators(
        rates, rng.choice([0, 1, 1, 3], types) + (np.arange(types) == 0), devices, None, workers,
        weight=rng.choice([1, 2], types), steps=rng.choice([1.0, 10, 100], types),
        elapsed=rng.choice([0.0, 5], types), device_cost=rng.choice([0.0, 1, 2], kinds),
        entity=rng.integers(0, 3, types), entity_weight=[1.0, 2.0, 1.0],
    )  # fmt: skip


ASKED: tuple[tuple[str, dict[str, float]], ...] = (
    ("max-min", {}), ("leximin", {}), ("hierarchical", {}), ("makespan", {}), ("finish-time", {}),
    ("max-throughput", {}), ("max-throughput", {"least": 0.5}), ("max-throughput", {"least": 1.0}),
    ("min-cost", {}), ("min-cost", {"least": 1.5}),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("block", seeds(40, 1))
def test_price_search_of_many_types_equals_linear_program(block: int) -> None:
    """Where programs place two types, and those whose mixes turn out to be beaten."""
    for seed in range(4 * block, 4 * block + 4):
        instance = single(np.random.default_rng(seed))
        for method, options in ASKED:
            solver = catalog.find("accelerators", method).resolve()
            whole = solver(instance, **options)
            with mock.patch.multiple(programs, SMALL=0), mock.patch.multiple(mixes, TIED=2):
                found = solver(instance, **options)
            assert found.status == whole.status, (seed, method)
            if whole.solution is not None:
                assert found.bound == pytest.approx(whole.bound, rel=1e-8, abs=1e-12)
                cotenant.check(instance, found.solution)


A, B, TWO = "('A', 1)", "('B', 1)", "('A', 2)"
FAST = {
    A: {"null": 4.0, A: [3.0, 3.0], B: [2.5, 1.0]},
    B: {"null": 2.0, A: [1.0, 2.5], B: [0.0, 0.0]},
    TWO: {"null": 7.0},
}
SLOW = {A: {"null": 1.0, A: [0.5, 0.5], B: [0.5, 0.5]}, B: {"null": 1.0, A: [0.5, 0.5]}}


def throughput_file(folder: Path) -> Path:
    return text_file(folder, json.dumps({"fast": FAST, "slow": SLOW}), "t.json")


def test_gavel_throughputs_with_job_list_are_read(tmp_path: Path) -> None:
    jobs = text_file(tmp_path, json.dumps({"jobs": ["B", ["A", 1], "B"]}), "jobs.json")
    found = gavel(throughput_file(tmp_path), jobs=str(jobs), devices="fast:3,slow:2", copies=2)
    assert found.names == ("A", "B")
    assert found.count.tolist() == [2, 4]
    assert found.devices.tolist() == [3, 2]
    assert found.device_names == ("fast", "slow")
    assert found.throughput.tolist() == [[4, 1], [2, 1]]
    assert found.together is not None
    assert found.together[:, :, 0].tolist() == [[3, 2.5], [1, np.inf]]  # 0 does not fit
    assert found.together[:, :, 1].tolist() == [[0.5, 0.5], [0.5, np.inf]]  # nor what is missing
    jobs = text_file(tmp_path, json.dumps([["A", 2], "A"]), "jobs.json")
    found = gavel(throughput_file(tmp_path), jobs=str(jobs), devices="fast:3", pairs=False)
    assert (found.names, found.workers.tolist(), found.together) == (("A x1", "A x2"), [1, 2], None)


@pytest.mark.parametrize(
    ("jobs", "devices"),
    [
        *(("[]", devices) for devices in ("fast", "fast:1,fast:2", "")),
        *((jobs, "fast:1") for jobs in ('{"jobs": []}', '[["A", 0]]', '["C"]', '"A"')),
    ],
)
def test_gavel_reader_refuses_invalid_jobs_and_devices(
    tmp_path: Path, jobs: str, devices: str
) -> None:
    with refused((InvalidFile, InvalidOption), shown=devices):
        gavel(
            throughput_file(tmp_path),
            jobs=str(text_file(tmp_path, jobs, "jobs.json")),
            devices=devices,
        )


def test_gavel_reader_options_choose_the_problem(tmp_path: Path) -> None:
    source = text_file(tmp_path, json.dumps({"v100": FAST}), "t.json")
    for option, problem in (("copies=2", "colocation"), ("devices=v100:2", "accelerators")):
        out = tmp_path / f"{problem}.json"
        done = CliRunner().invoke(
            app, ["convert", str(source), "--from", "gavel", "-o", option, "--out", str(out)]
        )
        assert done.exit_code == 0, done.output
        assert cotenant.read(out).problem == problem


def test_from_frame_matches_labels_in_any_order() -> None:
    import pandas

    frame = pandas.DataFrame({"new": [8.0, 3.0], "old": [2.0, 0.0]}, index=["vision", "text"])
    pairs = pandas.DataFrame(
        [("text", "vision", "new", 1.0), ("vision", "text", "new", 5.0)],
        columns=["job", "beside", "device", "throughput"],
    )
    found = Accelerators.from_frame(
        frame, devices={"old": 2, "new": 1}, count=pandas.Series({"text": 3, "vision": 2}),
        pairs=pairs, weight={"text": 1, "vision": 2},
    )  # fmt: skip
    assert found.names == ("vision", "text")
    assert (found.devices.tolist(), found.count.tolist()) == ([1, 2], [2, 3])
    assert found.weight.tolist() == [2, 1]
    assert found.together is not None
    assert found.together[0, 1].tolist() == [5, np.inf]
    for wrong in ({"count": {"vision": 2}}, {"pairs": pairs.replace("new", "newest")}):
        with refused(InvalidInstance):
            Accelerators.from_frame(frame, **({"devices": 1, "pairs": pairs} | wrong))


def test_gavel_trace_gives_steps_and_weights(tmp_path: Path) -> None:
    rows = [
        "B\tcd b\tpy\t-n\t0\t{}\t1\t1\t-1.0\t0.0", "A\tpy\t-n\t1\t500\t2\t2.5\t-1.0\t7.5",
        "B\tpy\t-n\t0\t10\t1\t1\t-1.0\t9", "B\tcd b\tpy\t-n\t0\t10\t1\t1\t-1.0\t11.25",
    ]  # fmt: skip
    jobs = text_file(tmp_path, "\n".join(rows).format(30) + "\n", "jobs.trace")
    found = gavel(throughput_file(tmp_path), jobs=str(jobs), devices="fast:3")
    assert found.names == ("A", "B #1", "B #2")
    assert found.workers.tolist() == [2, 1, 1]
    assert found.count.tolist() == [1, 2, 1]
    assert found.steps is not None
    assert found.steps.tolist() == [500, 10, 30]
    assert found.weight.tolist() == [2.5, 1, 1]
    assert "SLOs" in found.source
    text_file(tmp_path, "\n".join(rows), "bad.trace")
    for wrong in (
        lambda: gavel(
            throughput_file(tmp_path), jobs=str(tmp_path / "bad.trace"), devices="fast:3"
        ),
        lambda: gavel(jobs, devices="fast:3"),
    ):
        with refused(InvalidFile):
            wrong()

"""Shares of accelerators: invalid instances and answers, optima against programs of every job."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from support.messages import refused
from support.seeds import seeds
from support.small_accelerators import drawn, filled, leximin_wrongs, wrongs
from support.terminal import run

import cotenant
from cotenant import catalog
from cotenant.analysis.accelerators.metrics import metrics
from cotenant.instances.accelerators import Accelerators, TimeShares
from cotenant.instances.accelerators.measures import entitlements, required_steps, throughputs
from cotenant.instances.problem.errors import InfeasibleSolution, InvalidInstance
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


@pytest.mark.parametrize(
    "changes",
    [
        {"throughput": [[4, 2], [0, 0]]},
        {"throughput": [[4, 2], [3, 1e-12]]},
        {"workers": [1, 2]},
        {"count": [0, 0]},
        {"devices": [0, 0]},
        {"steps": None, "deadline": [10, 10]},
    ],
)
def test_accelerators_with_invalid_fields_are_refused(changes: dict[str, object]) -> None:
    with refused(InvalidInstance):
        tiny().replace(**changes)


@pytest.mark.parametrize(
    "rows",
    [
        [(0, -1, 0, 1.5)],
        [(0, 0, 1, 0.5)],
        [(0, -1, 0, np.nextafter(1, 2))],
        [(0, -1, 0, 1), (0, -1, 1, 1), (0, 1, 0, 1e-15)],
        [(0, 0, 0, 1), (0, -1, 1, 0.5)],
        [(0, 2, 0, 0.5)],
        [(0, 1, 2, 0.5)],
        [(1, 1, 0, 0.1)],
    ],
)
def test_infeasible_time_shares_are_refused(rows: list[tuple[int, int, int, float]]) -> None:
    first, second, device, share = zip(*rows, strict=True)
    with refused(InfeasibleSolution):
        cotenant.check(tiny(), TimeShares(first, second, device, share))


@pytest.mark.parametrize("seed", seeds(20, 3))
def test_readable_models_of_shares_have_the_optimum_of_the_arrays(seed: int) -> None:
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

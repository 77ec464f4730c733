"""Sharing accelerators: what is given, what an answer is, and the optima against programs of every
job in fractions.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.messages import refused
from support.seeds import seeds
from support.small_accelerators import CLOSE, drawn, leximin_wrongs, wrongs

import cotenant
from cotenant import catalog
from cotenant.analysis.accelerators.metrics import metrics
from cotenant.instances.accelerators import Accelerators, TimeShares
from cotenant.instances.accelerators.measures import (
    entitlements,
    required_steps,
)
from cotenant.instances.problem.errors import InfeasibleSolution, InvalidInstance
from cotenant.models.accelerators import share_program
from cotenant.models.accelerators.readable import cost_model, max_min_model, ratio_model
from cotenant.models.answer import instance_answer
from cotenant.models.program import from_pyomo
from cotenant.solvers.engines import solve_program


@pytest.mark.parametrize("seed", seeds(60, 6))
def test_the_optima_equal_the_programs_of_every_job(seed: int) -> None:
    assert list(wrongs(drawn(seed, most_jobs=4 + seed % 2))) == []


@pytest.mark.parametrize("seed", seeds(60, 6))
def test_leximin_raises_every_job_as_far_as_the_program_of_every_job(seed: int) -> None:
    assert list(leximin_wrongs(drawn(seed, most_jobs=4))) == []


@pytest.mark.parametrize("seed", seeds(40, 4))
def test_no_policy_is_better_than_a_bound(seed: int) -> None:
    instance = drawn(seed, most_jobs=12)
    found = [method for method in catalog.methods("accelerators") if method.kind == "heuristic"]
    policies = [cotenant.solve(instance, policy.name).metrics for policy in found]
    for method in ("max-min", "hierarchical", "max-throughput", "makespan", "finish-time"):
        options = {"least": 0.0} if method == "max-throughput" else {}
        best = cotenant.solve(instance, method, **options)
        sign = -1 if method in ("makespan", "finish-time") else 1
        for metrics_of_policy in policies:
            theirs = metrics_of_policy.get(best.objective_name)
            assert theirs is None or sign * theirs <= sign * best.bound + CLOSE * abs(best.bound)


def tiny() -> Accelerators:
    found = cotenant.read("accelerators/tiny")
    assert isinstance(found, Accelerators)
    return found


@pytest.mark.parametrize(
    "changes",
    [
        {"throughput": [[4, 2], [3, -1]]},
        {"throughput": [[4, 2], [0, 0]]},
        {"throughput": [[4, 2], [3, 1e-12]]},
        {"throughput": [[4, 2]]},
        {"workers": [1, 2]},
        {"together": [[[1, 1], [1, 1]]]},
        {"count": [0, 0]},
        {"devices": [0, 0]},
        {"steps": None, "deadline": [10, 10]},
        {"entity": [0, 2]},
        {"names": ["a", "a"]},
    ],
)
def test_wrong_fields_are_refused(changes: dict[str, object]) -> None:
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
def test_what_does_not_fit_is_refused(rows: list[tuple[int, int, int, float]]) -> None:
    first, second, device, share = zip(*rows, strict=True)
    with refused(InfeasibleSolution):
        cotenant.check(tiny(), TimeShares(first, second, device, share))


@pytest.mark.parametrize("seed", seeds(20, 3))
def test_the_readable_models_and_the_arrays_have_one_optimum(seed: int) -> None:
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

"""Sharing accelerators: what is given, what an answer is, and the optima against programs of every
job in fractions.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.messages import refused
from support.oracles.accelerators import Jobs
from support.seeds import seeds
from support.small_accelerators import drawn

import cotenant
from cotenant.instances.accelerators import Accelerators, TimeShares
from cotenant.instances.accelerators.measures import entitlements, throughputs
from cotenant.instances.problem.errors import InfeasibleSolution, InvalidInstance

CLOSE = 1e-9


@pytest.mark.parametrize("seed", seeds(60, 12))
def test_ratios_and_totals_equal_the_programs_of_every_job(seed: int) -> None:
    instance = drawn(seed)
    jobs, half = Jobs(instance), Fraction(1, 2)
    for name, options, best in (
        ("max-min", {}, jobs.max_min()),
        ("hierarchical", {}, jobs.hierarchical()),
        ("makespan", {}, jobs.makespan()),
        ("max-throughput", {"least": 0.0}, jobs.most_total(Fraction(0))),
        ("max-throughput", {"least": 0.5}, jobs.most_total(half)),
        ("min-cost", {"least": 1.0}, jobs.least_cost(Fraction(1))),
        ("min-cost", {"least": 1.5}, jobs.least_cost(Fraction(3, 2))),
    ):
        result = cotenant.solve(instance, name, **options)
        if best is None:
            assert (result.status, result.solution) == ("infeasible", None), name
        else:
            assert result.status == "optimal", (name, options)
            assert result.objective == pytest.approx(float(best), rel=CLOSE), (name, options)


@pytest.mark.parametrize("seed", seeds(60, 12))
def test_no_finish_time_ratio_is_less_and_the_one_found_can_be_had(seed: int) -> None:
    instance = drawn(seed)
    result = cotenant.solve(instance, "finish-time")
    assert result.status == "optimal"
    assert result.objective <= 1 + CLOSE
    assert Jobs(instance).within(Fraction(result.objective) * (1 + Fraction(CLOSE)))
    assert not Jobs(instance).within(Fraction(result.bound) * (1 - Fraction(CLOSE)))


@pytest.mark.parametrize("seed", seeds(60, 12))
def test_leximin_raises_every_job_as_far_as_the_program_of_every_job(seed: int) -> None:
    instance = drawn(seed, most_jobs=4)
    result = cotenant.solve(instance, "leximin")
    assert result.status == "optimal"
    assert {level["status"] for level in result.certificate["levels"]} == {"optimal"}
    ratio = throughputs(instance, result.solution) / entitlements(instance)
    best = [float(value) for value in Jobs(instance).leximin()]
    assert np.repeat(ratio, instance.count) == pytest.approx(best, rel=1e-8)


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
        [(0, 2, 0, 0.5)],
        [(0, 1, 2, 0.5)],
        [(1, 1, 0, 0.1)],
    ],
)
def test_what_does_not_fit_is_refused(rows: list[tuple[int, int, int, float]]) -> None:
    first, second, device, share = zip(*rows, strict=True)
    with refused(InfeasibleSolution):
        cotenant.check(tiny(), TimeShares(first, second, device, share))

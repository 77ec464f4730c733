"""Sharing accelerators: what is given, what an answer is, and the optima against programs of every
job in fractions.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.messages import refused
from support.oracles.accelerators import Jobs
from support.seeds import seeds
from support.small_accelerators import drawn

import cotenant
from cotenant.instances.accelerators import Accelerators, TimeShares
from cotenant.instances.problem.errors import InfeasibleSolution, InvalidInstance


@pytest.mark.parametrize("seed", seeds(60, 15))
def test_max_min_equals_the_program_of_every_job(seed: int) -> None:
    instance = drawn(seed)
    result = cotenant.solve(instance, "max-min")
    assert result.status == "optimal"
    assert result.objective == pytest.approx(float(Jobs(instance).max_min()), rel=1e-9)


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
        {"entity": [0, 2], "entity_weight": [1, 1]},
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

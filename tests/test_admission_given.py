"""Admission instances: VMs without cores, and the generators of Table I."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.instances.admission import Admission
from cotenant.instances.admission.generators import TABLE_I, table_i, uniform
from cotenant.instances.problem import InvalidOption


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

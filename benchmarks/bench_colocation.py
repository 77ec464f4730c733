"""How long the exact methods of colocation take.

Run with `python -m pytest benchmarks/bench_colocation.py --benchmark-only`, from the root; the
first call of each is a warm-up, so imports are not counted. Targets stand beside each name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.generators import population, score_preferences
from cotenant.models.colocation import penalty_program, stable_program
from cotenant.models.colocation.readable import penalty_model, stable_model
from cotenant.models.program import from_pyomo
from cotenant.solvers.colocation import optimal, zero_blocking
from cotenant.solvers.outcome import Status


def types_with_counts(types: int, agents: int, seed: int = 0) -> Colocation:
    """More types than the paper's twenty: sensitivity times pressure with noise, counts at
    random.
    """
    rng = np.random.default_rng(seed)
    penalty = rng.uniform(0.2, 1, types)[:, None] * rng.uniform(0, 0.5, types) + rng.normal(
        0, 0.02, (types, types)
    )
    return Colocation(
        penalty.clip(-0.02, 0.9).round(4), rng.multinomial(agents, np.ones(types) / types)
    )


def different(agents: int, family: str, seed: int = 0) -> Colocation:
    """Agents that all differ."""
    rng = np.random.default_rng(seed)
    if family == "scores":
        return score_preferences(agents=agents, noise=0.15, rng=rng)
    place = rng.random((agents, 2))
    apart = np.hypot(*(place[:, None] - place).transpose(2, 0, 1)) / 2
    return Colocation(
        rng.random((agents, agents)) if family == "uniform" else apart, np.ones(agents, dtype=int)
    )


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
@pytest.mark.parametrize("agents", [1_000, 1_000_000])
def test_zero_blocking_of_twenty_types(benchmark: Any, agents: int, engine: str) -> None:
    """Target: proved in 1 s, whatever the number of agents."""
    instance = population(agents=agents, mix="uniform", rng=np.random.default_rng(0))
    found = benchmark.pedantic(
        lambda: zero_blocking(instance, engine=engine), rounds=3, warmup_rounds=1
    )
    assert found.status in (Status.OPTIMAL, Status.INFEASIBLE)


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_zero_blocking_of_a_hundred_types(benchmark: Any, engine: str) -> None:
    """Target: decided in 10 s."""
    instance = types_with_counts(100, 1_000)
    found = benchmark.pedantic(lambda: zero_blocking(instance, engine=engine), rounds=2)
    assert found.status in (Status.OPTIMAL, Status.INFEASIBLE)


@pytest.mark.parametrize("agents", [1_000, 1_000_000])
def test_optimal_of_twenty_types(benchmark: Any, agents: int) -> None:
    """Target: a tenth of a second."""
    instance = population(agents=agents, mix="uniform", rng=np.random.default_rng(0))
    found = benchmark.pedantic(lambda: optimal(instance), rounds=3, warmup_rounds=1)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("family", ["uniform", "scores", "plane"])
@pytest.mark.parametrize("agents", [200, 1_000])
def test_optimal_of_different_agents(benchmark: Any, agents: int, family: str) -> None:
    """Least-weight perfect matching over half a million pairs. Target: seconds."""
    instance = different(agents, family)
    found = benchmark.pedantic(lambda: optimal(instance), rounds=2, warmup_rounds=1)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("form", ["arrays", "pyomo"])
@pytest.mark.parametrize("name", ["penalty", "stable"])
def test_building_the_program_of_twenty_types(benchmark: Any, name: str, form: str) -> None:
    """The readable statement against the arrays the solvers are given."""
    instance = population(agents=1_000, mix="uniform", rng=np.random.default_rng(0))
    arrays = {"penalty": penalty_program, "stable": stable_program}[name]
    readable = {"penalty": penalty_model, "stable": stable_model}[name]
    benchmark.pedantic(
        lambda: arrays(instance) if form == "arrays" else from_pyomo(readable(instance)),
        rounds=3,
        warmup_rounds=1,
    )

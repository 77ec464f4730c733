"""Confidence intervals of simulated response times: how often they hold the closed forms of M/M/c,
and corners.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.oracles.queues import mean_wait, response_quantile

import cotenant
from cotenant.catalog import functions
from cotenant.instances.numa.generators import blade_server
from cotenant.instances.numa.instance import Simulation
from cotenant.solvers.numa.confidence import mean_error, wait_error

LOCAL = functions("numa", "Local")["Local"]

SERVICE = 0.04


def truth(cores: int, load: float) -> np.ndarray:
    wait = mean_wait(cores, load, SERVICE)
    quantiles = [response_quantile(cores, load, SERVICE, level) for level in (0.5, 0.95, 0.99)]
    return np.array([wait + SERVICE, wait, *quantiles])


def covered(cores: int, load: float, tasks: int, seeds: int) -> np.ndarray:
    """The share of runs whose intervals of mean, wait, p50, p95 and p99 hold the truth."""
    server = blade_server(
        benchmark="M11", rate=load * cores / SERVICE, refusal_limit=None, blades=1, rows=1,
        columns=1, cores=cores,
    )  # fmt: skip
    exact, hits = truth(cores, load), []
    for seed in range(seeds):
        run = LOCAL(server, rng=np.random.default_rng(seed), tasks=tasks).solution
        assert isinstance(run, Simulation)
        value = np.array([run.mean_response, run.mean_wait, *run.response])
        error = np.array([run.mean_response_error, run.mean_wait_error, *run.response_error])
        hits.append(np.abs(value - exact) <= error)
    return np.mean(hits, axis=0)


@pytest.mark.slow
def test_short_run_intervals_have_stated_coverage() -> None:
    shares = covered(16, 0.9, 10_000, 60)
    assert (shares >= 0.88).all()  # of 60: two standard errors below 95 %


def test_batch_means_error_of_independent_values_is_near_textbook_error() -> None:
    values = np.random.default_rng(0).exponential(size=100_000)
    textbook = 1.96 * values.std() / math.sqrt(len(values))
    assert textbook <= mean_error(values) <= 1.6 * textbook


def test_simulation_without_waits_has_positive_bound_on_wait_error() -> None:
    response = np.full(300, 0.05)
    assert wait_error(np.zeros(300), response) == pytest.approx(3 / 300 * 0.05)


def test_undefined_interval_is_written_as_null() -> None:
    values = np.concatenate([np.zeros(7999), [1.0]])  # one value in 8000 makes all of the mean
    assert mean_error(values) == math.inf
    run = cotenant.solve(cotenant.read("numa/tiny"), "Local", tasks=400).solution
    wide = run.replace(response_error=[0.1, math.inf, math.inf], mean_wait_error=math.inf)
    cotenant.check(cotenant.read("numa/tiny"), wide)
    document = wide.document()
    assert document["response_error"] == [0.1, None, None]
    assert document["mean_wait_error"] is None
    assert Simulation.from_document(document) == wide

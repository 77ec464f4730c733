"""The event simulation against a plain one, queueing theory and simpy, and its intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.messages import approved
from support.oracles.numa_events import simulate_plainly
from support.oracles.queues import mean_wait, response_quantile

import cotenant
from cotenant.catalog import functions
from cotenant.instances.numa import Numa, Simulation
from cotenant.instances.numa.bounds import saturated_throughput
from cotenant.instances.numa.feasible import reach
from cotenant.instances.numa.generators import blade_server
from cotenant.solvers.numa.confidence import mean_error, wait_error
from cotenant.solvers.numa.engine import simulate
from cotenant.solvers.numa.random_inputs import Draws, draw, unit_draws

FUNCTIONS = functions("numa", "Local", "IP-1", "IP-2", "IB")

WIDTHS = 1.5
"""Simulated values may miss the exact ones by so many half widths of their intervals."""

POLICIES = tuple(FUNCTIONS)


def tasks(
    arrival: list[float], service: list[float], location: list[int], reaches: int = 0
) -> Draws:
    number = len(arrival)
    whole = np.zeros(number, dtype=np.int32)
    return Draws(
        np.array(arrival), np.array(service), np.array(location, dtype=np.int32), whole,
        np.zeros(number),
        np.full(number, reaches, dtype=np.int32),
    )  # fmt: skip


def pair(**changes: Any) -> Numa:
    """Two processors of one core, one hop apart; a task away from its data takes twice as long."""
    fields: dict[str, Any] = {
        "blades": 1, "rows": 1, "columns": 2, "cores": 1, "location_share": [0.5, 0.5],
        "class_share": [1.0],
        "service_mean": [1.0], "ht1": [2.0], "pcie": [4.0], "bandwidth": [100.0], "rate": 1.0,
        "law": "deterministic",
    }  # fmt: skip
    return Numa(**{**fields, **changes})


RUNS = [simulate, simulate_plainly]
BOTH = pytest.mark.parametrize("run", RUNS, ids=["compiled", "plain"])


@BOTH
def test_refusal_simulation_equals_hand_calculation(run: Any) -> None:
    # 0 runs on P0 until 1; 1, 3, 4 wait for P0; 2 and 5 run on P1. P1 frees at 1.2 and at 2.3: both
    # times the waiting decline.
    story = tasks([0.0, 0.1, 0.2, 0.3, 0.4, 1.3], [1.0] * 6, [0, 0, 1, 0, 0, 1])
    patient = run(pair(refusal_limit=5), story)
    assert patient.start.tolist() == pytest.approx([0.0, 1.0, 0.2, 2.0, 3.0, 1.3])
    assert patient.refusals.tolist() == [0, 0, 0, 1, 2, 0]
    assert patient.core.tolist() == [0, 0, 1, 0, 0, 1]
    # With a limit of 1 task 4, who has declined once, takes P1 at 2.3 and is twice as slow there.
    hasty = run(pair(refusal_limit=1), story)
    assert hasty.start.tolist() == pytest.approx([0.0, 1.0, 0.2, 2.0, 2.3, 1.3])
    assert hasty.core.tolist() == [0, 0, 1, 0, 1, 1]
    assert hasty.finish(pair(), story)[4] == pytest.approx(4.3)


@BOTH
def test_numa_task_at_refusal_limit_is_served_before_younger_task(run: Any) -> None:
    story = tasks([0.0, 0.0, 0.1, 0.2, 1.1], [3.0, 1.0, 1.0, 1.0, 1.0], [0, 1, 0, 1, 1])
    # 2 declines P1 at 1 and takes it at 2, before 4, until 4; 4 declines P0 at 3.
    result = run(pair(refusal_limit=1), story)
    assert result.start.tolist() == pytest.approx([0.0, 0.0, 2.0, 1.0, 4.0])
    assert result.refusals.tolist() == [0, 0, 1, 0, 1]


@BOTH
def test_queues_per_processor_offer_only_their_heads(run: Any) -> None:
    # Queues by turn: 2 and 4 in queue 0, 3 in queue 1. P1 frees at 1: heads 2 (data on P0,
    # declines) and 3 (takes).
    story = tasks([0.0, 0.0, 0.1, 0.2, 0.3], [3.0, 1.0, 1.0, 1.0, 1.0], [0, 1, 0, 1, 1])
    result = run(pair(refusal_limit=10, queues="per-processor"), story)
    # 4 waits behind 2 although P1 is idle from 2 on, and takes it when 2 leaves the queue.
    assert result.start.tolist() == pytest.approx([0.0, 0.0, 3.0, 1.0, 3.0])
    assert result.core.tolist() == [0, 1, 0, 1, 1]
    alone = run(pair(refusal_limit=10), story)
    assert alone.start.tolist() == pytest.approx([0.0, 0.0, 3.0, 1.0, 2.0])


def random_server(rng: np.random.Generator) -> Numa:
    server = blade_server(
        benchmark="S6,M10,P12", rate=1.0, blades=int(rng.integers(1, 4)),
        rows=int(rng.integers(1, 4)),
        columns=int(rng.integers(1, 3)), cores=int(rng.integers(1, 4)),
        refusal_limit=[None, 0, 1, 3, 10][rng.integers(5)],
        law=["exponential", "deterministic"][rng.integers(2)],
        queues=["one", "per-processor"][rng.integers(2)],
        data=["uniform", "hot-memory"][rng.integers(2)], hot=0.6,
        arrival_law=["exponential", "deterministic"][rng.integers(2)],
    )  # fmt: skip
    return server.replace(rate=server.all_cores / 0.04 * rng.uniform(0.5, 1.2))


@pytest.mark.parametrize("seed", range(40))
def test_compiled_simulation_equals_plain_python_simulation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    server = random_server(rng)
    ranks = server.blade_distance + 1
    mixed = np.broadcast_to(
        rng.dirichlet(np.ones(ranks), server.processors), (server.classes, server.processors, ranks)
    )
    draws = draw(server, 400, reach(server, POLICIES[seed % 4]) if seed % 3 else mixed, rng)
    for nearest in (True, False):
        fast, plain = (
            simulate(server, draws, nearest=nearest),
            simulate_plainly(server, draws, nearest=nearest),
        )
        assert np.array_equal(fast.start, plain.start)
        assert np.array_equal(fast.core, plain.core)
        assert np.array_equal(fast.refusals, plain.refusals)


def free(rate: float, **changes: Any) -> Numa:
    """The thesis's server with tasks that distance costs nothing, and no refusal limit."""
    return blade_server(benchmark="M11", rate=rate, refusal_limit=None, **changes)


def agrees(run: Simulation, exact_wait: float, service: float) -> None:
    for value, error, exact in (
        (run.mean_wait, run.mean_wait_error, exact_wait),
        (run.mean_response, run.mean_response_error, exact_wait + service),
    ):
        assert abs(value - exact) <= WIDTHS * error


def solved(server: Numa, policy: str, seed: int = 0, **options: Any) -> Simulation:
    run = FUNCTIONS[policy](server, rng=np.random.default_rng(seed), **options).solution
    assert isinstance(run, Simulation)
    return run


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("servers", "load"), [(1, 0.7), (4, 0.9), (16, 0.8)])
def test_simulated_processor_waits_as_m_m_k_queue(servers: int, load: float) -> None:
    rate = load * servers / 0.04
    server = free(rate, blades=1, rows=1, columns=1, cores=servers)
    agrees(solved(server, "Local", tasks=400_000), mean_wait(servers, load, 0.04), 0.04)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["deterministic", "gamma", "lognormal"])
def test_simulated_core_waits_as_pollaczek_khinchine_formula(law: Any) -> None:
    scv = None if law == "deterministic" else 2.0
    server = free(15.0, blades=1, rows=1, columns=1, cores=1, law=law, scv=scv)
    exact = 0.6 * 0.04 * (1 + (scv or 0.0)) / 2 / (1 - 0.6)
    agrees(solved(server, "IB", tasks=1_000_000), exact, 0.04)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_saturated_simulation_serves_rate_of_closed_form(policy: str) -> None:
    server = blade_server(rate=6390.0, refusal_limit=None)
    first = 60_000
    draws = draw(server, 200_000, reach(server, policy), np.random.default_rng(0), backlog=first)
    run = simulate(server, draws)
    begin, end = 2.0, float(draws.arrival[-1])  # while the backlog lasts
    finish = run.finish(server, draws)
    cleared = ((finish > begin) & (finish <= end)).sum() / (end - begin)
    assert cleared == pytest.approx(saturated_throughput(server, policy), rel=0.01)


def test_random_placement_runs_farther_from_data_than_nearest() -> None:
    shares = [
        cotenant.solve(blade_server(rate=1000.0), "IB", tasks=20_000, placement=placement).metrics[
            "share_local"
        ]
        for placement in ("nearest", "random")
    ]
    assert shares[0] > 0.99
    assert shares[1] == pytest.approx(1 / 16, abs=0.01)


@pytest.mark.parametrize("rate", [6400.0, 20_000.0])
def test_unsustainable_load_is_reported_first(rate: float) -> None:
    result = cotenant.solve(blade_server(rate=rate), "Local", tasks=20_000)
    assert not result.solution.stable
    approved(result.certificate["load"])
    assert result.objective is None
    assert "p95" not in result.metrics
    assert "link_power" not in result.metrics


def test_full_load_is_stable_if_deterministic_and_unstable_if_random() -> None:
    laws = {"law": "deterministic", "arrival_law": "deterministic"}
    server = free(100.0, blades=1, rows=1, columns=1, cores=4, **laws)
    run = solved(server, "IB", tasks=2000)
    assert run.stable
    assert run.mean_wait == pytest.approx(0, abs=1e-9)
    assert not solved(server.replace(arrival_law="exponential"), "IB", tasks=2000).stable


def test_unsustainable_load_is_detected_from_queue() -> None:
    result = cotenant.solve(blade_server(rate=5500.0), "IB", tasks=100_000)
    assert result.certificate["load"].startswith("unstable here")
    assert result.metrics["backlog_growth"] == pytest.approx(5500 - 3962, rel=0.2)
    assert result.metrics["served_rate"] == pytest.approx(3962, rel=0.06)


@pytest.mark.parametrize(("rate", "warned"), [(3900.0, False), (4300.0, True)])
def test_stable_run_above_saturated_throughput_is_reported_metastable(
    rate: float, warned: bool
) -> None:
    result = cotenant.solve(blade_server(rate=rate), "IB", tasks=20_000)
    assert result.solution.stable
    assert ("metastable" in result.certificate) == warned


@pytest.mark.parametrize(
    ("law", "scv"), [("gamma", 0.3), ("gamma", 4.0), ("lognormal", 0.3), ("lognormal", 4.0)]
)
def test_drawn_service_times_have_given_mean_and_variance(law: str, scv: float) -> None:
    sample = unit_draws(law, scv, 2_000_000, np.random.default_rng(0))
    assert sample.mean() == pytest.approx(1.0, rel=0.01)
    assert sample.var() == pytest.approx(scv, rel=0.1)


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

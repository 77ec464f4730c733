"""NUMA's fluid programs and proofs: brute force, a second solver, Pyomo, simulated flows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.oracles.fluid import least_power, most_throughput
from support.proved import Document, Proved, case_of, proved
from support.small_cases import numa

import cotenant
from cotenant.analysis.run.verify_result import recheck
from cotenant.catalog import functions
from cotenant.instances.numa import Flow, Numa, Simulation
from cotenant.instances.numa.bounds import link_energy, throughput_bound
from cotenant.instances.numa.feasible import flow_by_distance
from cotenant.instances.numa.generators import blade_server
from cotenant.instances.problem import InvalidOption, scale
from cotenant.instances.problem.files import read
from cotenant.models.numa import power_program, throughput_program
from cotenant.models.numa.readable import power_model, throughput_model
from cotenant.models.program import from_pyomo
from cotenant.solvers.engines import EngineAnswer, solve_program, solve_refined
from cotenant.solvers.numa.fluid import fluid, fluid_power
from cotenant.solvers.outcome import Status, Stop
from cotenant.verify.numa import numa_fluid, numa_power
from cotenant.verify.reading import Refused

FUNCTIONS = functions("numa", "Local", "IP-1", "IP-2", "IB")

SAME = 1e-6
"""Two optima of one program, relative."""


def random_server(seed: int) -> Numa:
    rng = np.random.default_rng(seed)
    keys = rng.choice(
        ["S1", "S6", "M8", "M10", "P12", "P16"], size=int(rng.integers(1, 4)), replace=False
    )
    server = blade_server(
        benchmark=",".join(keys), blades=int(rng.integers(1, 4)), rows=int(rng.integers(1, 3)),
        columns=int(rng.integers(1, 3)), cores=int(rng.integers(1, 5)),
    )  # fmt: skip
    share = rng.dirichlet(np.full(server.processors, 0.5))
    return server.replace(
        location_share=share,
        class_share=rng.dirichlet(np.ones(server.classes)),
        service_mean=rng.uniform(0.01, 0.1, server.classes),
        rate=1.0,
    )


@pytest.mark.parametrize("seed", range(15))
def test_fluid_optima_equal_second_formulation(seed: int) -> None:
    server = random_server(seed)
    outcome = fluid(server)
    assert isinstance(outcome.solution, Flow)
    cotenant.check(server, outcome.solution)
    assert outcome.status is Status.OPTIMAL
    assert outcome.solution.throughput == pytest.approx(outcome.bound, rel=SAME)
    assert outcome.bound == pytest.approx(most_throughput(server), rel=SAME)
    throughput = 0.9 * outcome.solution.throughput
    least = fluid_power(server, throughput=throughput)
    assert isinstance(least.solution, Flow)
    cotenant.check(server, least.solution)
    watt = float((flow_by_distance(server, least.solution) * link_energy(server)).sum())
    assert watt == pytest.approx(least.bound, rel=1e-5, abs=1e-7)
    assert watt == pytest.approx(least_power(server, throughput), rel=1e-5, abs=1e-7)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["numa/tiny", "numa/kmeans-hot-memory", "numa/kmeans-hot-blade"])
def test_fluid_pyomo_model_and_arrays_have_equal_optimum(name: str) -> None:
    server = cotenant.read(name)
    assert isinstance(server, Numa)
    pairs = [
        (throughput_model(server), throughput_program(server).program),
        (
            power_model(server, 0.7 * server.rate),
            power_program(server, 0.7 * server.rate, link_energy(server)).program,
        ),
    ]
    for readable, arrays in pairs:
        values = [solve_program(program).objective for program in (from_pyomo(readable), arrays)]
        assert values[0] == pytest.approx(values[1], rel=SAME, abs=1e-9)


@pytest.mark.parametrize("size", [1e-9, 1e9, 1e12])
def test_task_class_without_tasks_does_not_change_numa_fluid_optimum(size: float) -> None:
    server = Numa(
        blades=1, rows=1, columns=2, cores=2, location_share=[0.6, 0.4], class_share=[1.0],
        service_mean=[0.07], ht1=[1.8], pcie=[2.2], bandwidth=[125.0], rate=10.0,
    )  # fmt: skip
    more = server.replace(
        class_share=[1.0, 0.0], service_mean=[0.07, size], ht1=[1.8, 1.0], pcie=[2.2, 1.0],
        bandwidth=[125.0, size], names=(),
    )  # fmt: skip
    for method in ("fluid", "fluid-power"):
        one, other = (cotenant.solve(instance, method) for instance in (server, more))
        assert (other.status, other.objective) == (one.status, one.objective)
        assert recheck(more, other).broken == ()


def test_throughput_above_maximum_is_infeasible_with_proof() -> None:
    server = blade_server(data="hot-blade", hot=0.5, rate=6000.0)
    outcome = fluid_power(server)
    assert (outcome.status, outcome.solution, outcome.bound) == (Status.INFEASIBLE, None, None)
    assert throughput_bound(server, np.array(outcome.certificate["prices"])) < 6000
    assert "5518.84" in outcome.certificate["throughput"]


def test_fluid_without_engine_uses_price_bound(engines: Callable[..., None]) -> None:
    stopped = EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT, message="the time was up")
    engines(solve_refined=lambda *_, **__: stopped)
    share = np.full(blade_server().processors, 1.0)
    share[0] = 1.005  # all at home serves half a percent less than the cores could
    server = blade_server(rate=6000.0).replace(location_share=share / share.sum())
    cut = fluid(server)
    assert cut.bound is not None
    assert isinstance(cut.solution, Flow)
    assert 0.99 * cut.bound < cut.solution.throughput < cut.bound * (1 - 1e-4)
    assert (cut.status, cut.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    between = fluid_power(server, throughput=0.5 * (cut.bound + cut.solution.throughput))
    assert (between.status, between.solution) == (Status.UNKNOWN, None)
    assert fluid_power(server, throughput=1.01 * cut.bound).status is Status.INFEASIBLE


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_stable_simulations_respect_fluid_bounds(seed: int) -> None:
    server = random_server(seed)
    bound = fluid(server).bound
    assert bound is not None
    server = server.replace(rate=bound * (0.5 + 0.06 * seed))
    for policy, method in FUNCTIONS.items():
        run = method(server, tasks=60_000, rng=np.random.default_rng(seed)).solution
        assert isinstance(run, Simulation)
        if server.rate > bound * 1.02:
            assert not run.stable, policy
        if run.stable:
            assert run.served.sum() / run.window <= bound * 1.02
            result = cotenant.solve(server, policy, seed=seed, tasks=60_000)
            least = fluid_power(server).bound
            if least is not None:
                assert (
                    result.metrics["link_power"] >= 0.9 * least
                )  # 60,000 tasks say a rate to a few percent


def test_numa_mix_policy_reports_shares_of_the_policies_it_mixes() -> None:
    server = cotenant.read("numa/kmeans-hot-memory")
    result = cotenant.solve(server, "mix", tasks=50_000, by="memory")
    assert result.solution.policy == "mix"
    assert result.certificate["mix"]["K-means"]["IB"] == pytest.approx(0.1332, abs=1e-3)
    with refused(InvalidOption):
        cotenant.solve(server, "mix", by="core")


def test_maximum_throughput_with_equal_prices_is_found() -> None:
    """Equal prices prove 14 tasks/s; the program's own prove the same, but for rounding: its flow
    must not be thrown away.
    """
    server = Numa(
        blades=2, rows=1, columns=1, cores=14, location_share=[5 / 6, 1 / 6],
        class_share=[2 / 3, 1 / 3],
        service_mean=[2.0, 2.0], ht1=[1.1, 2.0], pcie=[1.0, 2.0], bandwidth=[1.0, 1.0], rate=7.0,
    )  # type: ignore[arg-type]  # fmt: skip
    most = fluid(server)
    assert isinstance(most.solution, Flow)
    assert most.solution.throughput == pytest.approx(14.0, rel=SAME)  # all at home: 8.4
    assert (most.status, most.bound) == (Status.OPTIMAL, pytest.approx(14.0, rel=SAME))
    assert fluid_power(server, throughput=12.0).status is Status.OPTIMAL


def test_numa_fluid_repairs_engine_flow_slightly_below_maximum(
    engines: Callable[..., None],
) -> None:
    """It was called unknown, beside prices that allow it: `check` refused the result."""
    instance = cotenant.read("numa/kmeans-hot-memory")
    most = fluid(instance).solution.throughput
    below = itertools.chain([1 - 3e-9], itertools.repeat(1.0))

    def lower(program: Any, **given: Any) -> EngineAnswer:
        answer = solve_refined(program, **given)
        return replace(answer, point=next(below) * answer.point)

    engines(solve_refined=lower)
    assert fluid_power(instance, throughput=most).status is Status.OPTIMAL


def test_unsolved_numa_fluid_result_at_other_throughput_passes_recheck() -> None:
    instance = cotenant.read("numa/kmeans-hot-memory")
    document = cotenant.solve(instance, "fluid-power", throughput=1e6).document()
    asked = {"throughput": 3000.0}
    document["result"] |= {
        "status": "unknown",
        "options": asked,
        "scale": scale(instance, "link_power", **asked),
    }
    assert recheck(instance, cotenant.Result.from_document(document)).broken == ()


BUNDLED = ("tiny", "kmeans", "kmeans-hot-memory", "kmeans-hot-blade", "table-4.2-hot-blade")


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_flows_are_certified_exactly(name: str) -> None:
    for method, levels in (("fluid", 2), ("fluid-power", 1)):
        assert proved(read(f"numa/{name}"), method).sentence.count("optimal") == levels


@pytest.mark.parametrize("seed", range(12))
def test_fluid_proofs_reach_solver_bounds(seed: int) -> None:
    instance = numa(seed)
    most = fluid(instance).bound
    assert float(proved(instance, "fluid").bound) == pytest.approx(most, rel=1e-9)
    for part in (0.5, 0.9, 1.0, 1.01):
        proof = proved(instance, "fluid-power", throughput=part * most)
        if part < 1:
            assert 0 <= proof.value - proof.bound <= 1e-8 * (proof.value + 1)
        assert proof.sentence.endswith("no answer at all") == (part > 1)


@pytest.mark.parametrize("seed", range(12))
def test_fluid_proof_of_any_prices_gives_valid_bound(seed: int) -> None:
    instance, rng = numa(seed), np.random.default_rng(seed)
    most = fluid(instance).bound
    least = fluid_power(instance, throughput=0.9 * most).bound
    for _ in range(20):
        prices = rng.integers(1, 50, instance.processors).tolist()
        step = {"kind": "dual", "prices": {"over": int(rng.integers(1, 9)), "numbers": prices}}
        [level] = numa_fluid(case_of(instance, None, {}, [step]))
        assert float(level.bound) >= most * (1 - 1e-9)
        asked = str(Fraction(0.9 * most).limit_denominator(10**12))
        [level] = numa_power(case_of(instance, None, {"throughput": asked}, [step]))
        assert not level.infeasible
        assert float(level.bound) <= least + 1e-9 * (1 + least)


def test_numa_fluid_proof_is_refused_for_other_link_energies() -> None:
    instance = read("numa/kmeans-hot-blade")
    options = {"ht_energy": 12.5, "pcie_energy": 80.0, "pcie_hops": 1.0}
    proof = proved(instance, "fluid", **options)
    assert proof.proof.options == {"ht_energy": "25/2", "pcie_energy": 80, "pcie_hops": 1}
    levels = fluid(instance, **options).certificate["levels"]
    assert float(proof.proof.levels[1].value) == pytest.approx(levels[1]["value"])
    with refused(Refused):
        proof.judge(proof.document | {"options": {}})


def test_suboptimal_flow_is_certified_with_gap() -> None:
    instance = read("numa/tiny")
    outcome = fluid(instance)
    flow = outcome.solution.flow
    far = np.zeros_like(flow)
    far[:, :, 0] = flow.sum(axis=2)  # all on one processor
    slow = replace(outcome, solution=Flow(outcome.solution.throughput, far))
    proof = proved(instance, "fluid", slow)
    assert proof.value < 60 < proof.bound


@cache
def hot() -> Proved:
    return proved(read("numa/kmeans-hot-blade"), "fluid")


def first(proof: Document) -> list[Any]:
    """What the first prices are."""
    return proof["steps"][0]["prices"]["numbers"]


FORGERIES: dict[str, Any] = {
    "a price below 0": lambda p: first(p).__setitem__(0, -first(p)[0]),
    "half a price": lambda p: first(p).__setitem__(0, "1/2"),
    "prices of nothing": lambda p: first(p).__setitem__(slice(None), [0] * len(first(p))),
    "a price left out": lambda p: first(p).pop(),
    "over nothing": lambda p: p["steps"][0]["prices"].update(over=0),
    "another kind": lambda p: p["steps"][0].update(kind="witness"),
    "tasks from nowhere": lambda p: p["witness"]["split"].append([0, 99, 0, 1]),
    "tasks to nowhere": lambda p: p["witness"]["split"].append([0, 0, 99, 1]),
    "half a part": lambda p: p["witness"]["split"][0].__setitem__(3, "1/2"),
    "fewer than no parts": lambda p: p["witness"]["split"][0].__setitem__(3, -5),
    "nothing in all": lambda p: p["witness"].update(split=[[0, 0, 0, 0]]),
    "a processor from behind": lambda p: p["witness"]["split"][0].__setitem__(2, -1),
    "a higher rate": lambda p: p["claim"].update(value=5600),
    "a lower bound": lambda p: p["claim"].update(bound=5500),
    "no answer": lambda p: p["claim"].update(claim_kind="infeasible", value=None, bound=None),
    "less power": lambda p: p["levels"][0]["claim"].update(value=11),
    "more than the least power": lambda p: p["levels"][0]["claim"].update(bound=12),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_forged_fluid_proof_is_refused(change: Any) -> None:
    hot().refuses(change)


OPTIONS = {
    "throughput": "-1",
    "ht_energy": "-36",
    "pcie_hops": -1,
    "energy": 1,
    "pcie_energy": "1/0",
}


def test_irrelevant_options_are_refused_by_verifier() -> None:
    proof = proved(read("numa/tiny"), "fluid-power")
    document = proof.document | {"witness": None}
    document["claim"] |= {"value": None, "bound": 0, "claim_kind": "gap"}
    assert proof.judge(document)
    for name, value in OPTIONS.items():
        with refused(Refused):
            proof.judge(document | {"options": {name: value}})

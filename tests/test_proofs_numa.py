"""Proofs of long-run flows: prices of processors' time bound what linear programs find, whatever
they are.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.proved import Document, Proved, case_of, proved
from support.small_cases import numa

from cotenant.instances.numa.instance import Flow
from cotenant.instances.problem.files import read
from cotenant.solvers.numa.fluid import fluid, fluid_power
from cotenant.verify.numa import numa_fluid, numa_power
from cotenant.verify.reading import Refused

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


def test_fluid_proof_is_accepted_only_for_its_own_energies() -> None:
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

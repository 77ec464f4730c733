"""Proofs of long-run flows: prices of processors' time bound what linear programs find, whatever
they are.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.proved import Document, judged, proof_of, refuses
from support.small_cases import numa

from cotenant.instances.numa.answer import Flow
from cotenant.instances.problem.files import read
from cotenant.solvers.numa.fluid import fluid, fluid_power
from cotenant.verify.frame import ProofCase
from cotenant.verify.numa import numa_fluid, numa_power
from cotenant.verify.reading import Refused, parse, rational

BUNDLED = ("tiny", "kmeans", "kmeans-hot-memory", "kmeans-hot-blade", "table-4.2-hot-blade")


def numbers(claim: Document) -> tuple[Fraction, Fraction]:
    return rational(claim["value"], "value"), rational(claim["bound"], "bound")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_flows_are_certified_exactly(tmp_path: Path, name: str) -> None:
    content, proof = proof_of(tmp_path, read(f"numa/{name}"), "fluid")
    assert judged(content, proof).count("optimal") == 2
    content, proof = proof_of(tmp_path, read(f"numa/{name}"), "fluid-power")
    assert judged(content, proof).count("optimal") == 1


@pytest.mark.parametrize("seed", range(12))
def test_what_the_programs_find_is_certified(tmp_path: Path, seed: int) -> None:
    instance = numa(seed)
    most = fluid(instance).bound
    content, proof = proof_of(tmp_path, instance, "fluid")
    judged(content, proof)
    assert float(numbers(proof["claim"])[1]) == pytest.approx(most, rel=1e-9)
    for part in (0.5, 0.9, 1.0):
        content, proof = proof_of(tmp_path, instance, "fluid-power", throughput=part * most)
        judged(content, proof)
        if part < 1:
            value, bound = numbers(proof["claim"])
            assert 0 <= value - bound <= 1e-8 * (value + 1)
    content, proof = proof_of(tmp_path, instance, "fluid-power", throughput=1.01 * most)
    assert judged(content, proof).endswith("no answer at all")


@pytest.mark.parametrize("seed", range(12))
def test_no_prices_prove_less_than_the_optimum(tmp_path: Path, seed: int) -> None:
    instance, rng = numa(seed), np.random.default_rng(seed)
    most = fluid(instance).bound
    least = fluid_power(instance, throughput=0.9 * most).bound
    content, _ = proof_of(tmp_path, instance, "fluid")
    document = parse(content, decimals=True)
    for word in ("cotenant", "problem", "name", "source"):
        document.pop(word, None)
    for _ in range(20):
        prices = rng.integers(1, 50, instance.processors).tolist()
        step = {"kind": "dual", "prices": {"over": int(rng.integers(1, 9)), "numbers": prices}}
        [found] = numa_fluid(ProofCase(document, {}, None, [[step]]))
        assert float(found.bound) >= most * (1 - 1e-9)
        asked = str(Fraction(0.9 * most).limit_denominator(10**12))
        [found] = numa_power(ProofCase(document, {"throughput": asked}, None, [[step]]))
        assert not found.infeasible
        assert float(found.bound) <= least + 1e-9 * (1 + least)


def test_other_energies_are_part_of_the_claim(tmp_path: Path) -> None:
    instance = read("numa/kmeans-hot-blade")
    options = {"ht_energy": 12.5, "pcie_energy": 80.0, "pcie_hops": 1.0}
    content, proof = proof_of(tmp_path, instance, "fluid", **options)
    assert proof["options"] == {"ht_energy": "25/2", "pcie_energy": 80, "pcie_hops": 1}
    judged(content, proof)
    value, _ = numbers(proof["levels"][0]["claim"])
    levels = fluid(instance, **options).certificate["levels"]
    assert float(value) == pytest.approx(levels[1]["value"])
    with refused(Refused):
        judged(content, proof | {"options": {}})


def test_an_answer_that_is_slower_than_the_most_is_certified_as_that(tmp_path: Path) -> None:
    instance = read("numa/tiny")
    outcome = fluid(instance)
    flow = outcome.solution.flow
    far = np.zeros_like(flow)
    far[:, :, 0] = flow.sum(axis=2)  # all on one processor
    slow = replace(outcome, solution=Flow(outcome.solution.throughput, far))
    content, proof = proof_of(tmp_path, instance, "fluid", slow)
    judged(content, proof)
    assert numbers(proof["claim"])[0] < 60 < numbers(proof["claim"])[1]


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Document]:
    return proof_of(tmp_path_factory.mktemp("hot"), read("numa/kmeans-hot-blade"), "fluid")


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


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_refused(hot: tuple[bytes, Document], change: Any) -> None:
    refuses(*hot, change)


OPTIONS = {
    "throughput": "-1",
    "ht_energy": "-36",
    "pcie_hops": -1,
    "energy": 1,
    "pcie_energy": "1/0",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_mean_nothing_are_refused(tmp_path: Path, name: str) -> None:
    content, proof = proof_of(tmp_path, read("numa/tiny"), "fluid-power")
    proof["claim"] |= {"value": None, "bound": 0, "claim_kind": "gap"}
    judged(content, proof | {"witness": None})
    with pytest.raises(Refused):
        judged(content, proof | {"witness": None, "options": {name: OPTIONS[name]}})

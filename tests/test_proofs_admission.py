"""Proofs of admission: prices of jobs and rents of cores bound what enumeration finds, whatever
they are.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.proved import Document, judged, proof_of, refuses
from support.small_cases import admission, most_total_speed

from cotenant.instances.problem.files import read
from cotenant.solvers.admission.optimal import optimal
from cotenant.verify.admission import admission_speed
from cotenant.verify.frame import ProofCase
from cotenant.verify.reading import Refused, parse, rational


@pytest.mark.parametrize("seed", range(12))
def test_the_most_speed_by_enumeration_is_certified(tmp_path: Path, seed: int) -> None:
    instance = admission(seed)
    content, proof = proof_of(tmp_path, instance, "optimal")
    judged(content, proof)
    value, bound = (float(rational(proof["claim"][name], name)) for name in ("value", "bound"))
    assert value == pytest.approx(most_total_speed(instance))
    assert bound >= value * (1 - 1e-12)


def test_most_optima_of_small_instances_are_met_exactly(tmp_path: Path) -> None:
    said = [
        proof_of(tmp_path, admission(seed), "optimal")[1]["claim"]["claim_kind"]
        for seed in range(12)
    ]
    assert said.count("optimal") >= 8


def random_tree(rng: np.random.Generator, jobs: int, types: int, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.3:
        return rng.integers(0, 90, types).tolist()
    sides = {name: random_tree(rng, jobs, types, depth - 1) for name in ("in", "out")}
    return {"job": int(rng.integers(jobs)), **sides}


@pytest.mark.parametrize("seed", range(40))
def test_no_prices_and_trees_prove_less_than_the_optimum(tmp_path: Path, seed: int) -> None:
    instance, rng = admission(seed), np.random.default_rng(seed)
    content, proof = proof_of(tmp_path, instance, "optimal")
    kinds = len(np.unique(instance.cores, axis=0))
    step = {
        "kind": "prices",
        "jobs": rng.integers(0, 150, instance.jobs).tolist(),
        "over": 10,
        "kinds": [random_tree(rng, instance.jobs, instance.types, 4) for _ in range(kinds)],
    }
    document = parse(content, decimals=True)
    own = {name: document[name] for name in ("cores", "threads", "speed")}
    [found] = admission_speed(ProofCase(own, {}, proof["witness"], [[step]]))
    assert float(found.bound) >= most_total_speed(instance) * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_wrong_bound_of_the_method_is_not_certified(tmp_path: Path, seed: int) -> None:
    instance = admission(seed)
    outcome = optimal(instance)
    wrong = replace(outcome, bound=0.9 * outcome.bound)
    content, proof = proof_of(tmp_path, instance, "optimal", wrong)
    bound = rational(proof["claim"]["bound"], "the bound")
    assert float(bound) >= most_total_speed(instance) * (1 - 1e-12)
    proof["claim"] |= {"bound": "1/10", "claim_kind": "gap"}
    with refused(Refused):
        judged(content, proof)


@pytest.fixture(scope="module")
def table_one(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Document]:
    instance = read("admission/hines-romano-I")
    return proof_of(tmp_path_factory.mktemp("table"), instance, "optimal")


def test_the_first_comparison_of_hines_and_romano_is_certified_to_eight_digits(
    table_one: tuple[bytes, Document],
) -> None:
    _, proof = table_one
    judged(*table_one)
    value, bound = (rational(proof["claim"][name], name) for name in ("value", "bound"))
    assert 0 <= bound - value <= value / 10**8


def tree_of(proof: Document) -> Document:
    """The first tree with a node."""
    return next(tree for tree in proof["steps"][0]["kinds"] if isinstance(tree, dict))


FORGERIES: dict[str, Any] = {
    "a price below 0": lambda p: p["steps"][0]["jobs"].__setitem__(0, -1),
    "half a price": lambda p: p["steps"][0]["jobs"].__setitem__(0, "1/2"),
    "a price without end": lambda p: p["steps"][0]["jobs"].__setitem__(0, 10**3999),
    "a job too many": lambda p: p["steps"][0]["jobs"].append(0),
    "over nothing": lambda p: p["steps"][0].update(over=0),
    "over less than nothing": lambda p: p["steps"][0].update(over=-p["steps"][0]["over"]),
    "a kind of VM left out": lambda p: p["steps"][0]["kinds"].pop(),
    "a branch left out": lambda p: tree_of(p).pop("out"),
    "a branch too many": lambda p: tree_of(p).update(maybe=tree_of(p)["in"]),
    "an unknown job": lambda p: tree_of(p).update(job=10**6),
    "half a job": lambda p: tree_of(p).update(job="1/2"),
    "rents below 0": lambda p: p["steps"][0]["kinds"].__setitem__(0, [-1, 0, 0]),
    "rents of two cores": lambda p: p["steps"][0]["kinds"].__setitem__(0, [0, 0]),
    "a core used twice": lambda p: p["witness"]["cores"].__setitem__(
        0, [2 * n for n in p["witness"]["cores"][0]]
    ),
    "half a core": lambda p: p["witness"]["cores"][0].__setitem__(0, "1/2"),
    "fewer than no cores": lambda p: p["witness"]["cores"][0].__setitem__(0, -1),
    "nowhere with cores": lambda p: p["witness"]["machine"].__setitem__(
        int(np.argmax(np.array(p["witness"]["machine"]) >= 0)), -1
    ),
    "an unknown VM": lambda p: p["witness"]["machine"].__setitem__(0, 10**6),
    "another VM from behind": lambda p: p["witness"]["machine"].__setitem__(0, -2),
    "optimal": lambda p: p["claim"].update(claim_kind="optimal"),
    "a higher value": lambda p: p["claim"].update(value=60000),
    "a lower bound": lambda p: p["claim"].update(bound=55580),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_refused(table_one: tuple[bytes, Document], change: Any) -> None:
    refuses(*table_one, change)


def test_most_jobs_have_a_proof_of_both_levels(tmp_path: Path) -> None:
    content, proof = proof_of(tmp_path, read("admission/tiny"), "most-jobs")
    assert judged(content, proof).count("optimal") == 2
    proof["claim"] |= {"bound": "1/2", "value": "1/2"}
    with refused(Refused):
        judged(content, proof)

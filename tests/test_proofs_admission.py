"""Proofs of admission: prices of jobs and rents of cores, which bound every assignment."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from support.proved import Document, Proved, case_of, proved, put
from support.small_cases import admission, most_total_speed

from cotenant.instances.admission.generators import uniform
from cotenant.instances.problem.files import read
from cotenant.verify.admission import admission_speed


def random_tree(rng: np.random.Generator, jobs: int, types: int, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.3:
        return rng.integers(0, 90, types).tolist()
    sides = {name: random_tree(rng, jobs, types, depth - 1) for name in ("in", "out")}
    return {"job": int(rng.integers(jobs)), **sides}


@pytest.mark.parametrize("seed", range(40))
def test_admission_proof_of_any_prices_and_trees_gives_valid_bound(seed: int) -> None:
    instance, rng = admission(seed), np.random.default_rng(seed)
    kinds = len(np.unique(instance.cores, axis=0))
    step = {
        "kind": "prices",
        "jobs": rng.integers(0, 150, instance.jobs).tolist(),
        "over": 10,
        "kinds": [random_tree(rng, instance.jobs, instance.types, 4) for _ in range(kinds)],
    }
    [level] = admission_speed(case_of(instance, None, {}, [step]))
    assert float(level.bound) >= most_total_speed(instance) * (1 - 1e-12)


@cache
def twelve_jobs() -> Proved:
    """A proof with a tree for each kind of VM, and a gap of rounding."""
    rng = np.random.default_rng([31, 2])
    instance = uniform(machines=4, jobs=12, types=3, cores=6, threads=8, speed=10.0, rng=rng)
    return proved(instance, "optimal")


@pytest.mark.slow
def test_hines_romano_comparison_i_is_certified_to_eight_digits() -> None:
    proof = proved(read("admission/hines-romano-I"), "optimal")
    assert 0 <= proof.bound - proof.value <= proof.value / 10**8


def tree_of(proof: Document) -> Document:
    """The first tree with a node."""
    return next(tree for tree in proof["steps"][0]["kinds"] if isinstance(tree, dict))


FORGERIES: dict[str, Any] = {
    "a price below 0": put("steps", 0, "jobs", 0, to=-1),
    "half a price": put("steps", 0, "jobs", 0, to="1/2"),
    "a price without end": put("steps", 0, "jobs", 0, to=10**3999),
    "a job too many": lambda p: p["steps"][0]["jobs"].append(0),
    "over nothing": lambda p: p["steps"][0].update(over=0),
    "over less than nothing": lambda p: p["steps"][0].update(over=-p["steps"][0]["over"]),
    "a kind of VM left out": lambda p: p["steps"][0]["kinds"].pop(),
    "a branch left out": lambda p: tree_of(p).pop("out"),
    "a branch too many": lambda p: tree_of(p).update(maybe=tree_of(p)["in"]),
    "an unknown job": lambda p: tree_of(p).update(job=10**6),
    "half a job": lambda p: tree_of(p).update(job="1/2"),
    "rents below 0": put("steps", 0, "kinds", 0, to=[-1, 0, 0]),
    "rents of two cores": put("steps", 0, "kinds", 0, to=[0, 0]),
    "a core used twice": put("witness", "cores", 0, to=lambda old: [2 * n for n in old]),
    "half a core": put("witness", "cores", 0, 0, to="1/2"),
    "fewer than no cores": put("witness", "cores", 0, 0, to=-1),
    "nowhere with cores": lambda p: p["witness"]["machine"].__setitem__(
        int(np.argmax(np.array(p["witness"]["machine"]) >= 0)), -1
    ),
    "an unknown VM": put("witness", "machine", 0, to=10**6),
    "another VM from behind": put("witness", "machine", 0, to=-2),
    "optimal": lambda p: p["claim"].update(claim_kind="optimal"),
    "a higher value": lambda p: p["claim"].update(value=300),
    "a lower bound": lambda p: p["claim"].update(bound=282),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_forged_admission_proof_is_refused(change: Any) -> None:
    twelve_jobs().refuses(change)


def test_proof_of_most_jobs_has_job_level_and_speed_level() -> None:
    proof = proved(read("admission/tiny"), "most-jobs")
    assert proof.sentence.count("optimal") == 2
    proof.refuses(lambda p: p["claim"].update(bound="1/2", value="1/2"), approved=True)

"""Elastic jobs: optima against enumeration, prices against linear programs, proofs and tables."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.oracles.elastic import best_of_all
from support.proved import proved, put
from support.seeds import seeds
from support.strategies import elastic

import cotenant
from cotenant.analysis.elastic.rounds import play_rounds
from cotenant.instances.elastic import Configured, Elastic, carried, elastic_csv, random
from cotenant.solvers import elastic as solver
from cotenant.solvers.outcome import Clock, Status


@pytest.mark.slow
@pytest.mark.parametrize("block", seeds(100, 1))
def test_elastic_optima_equal_enumeration(block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        instance = elastic(np.random.default_rng(seed))
        expected = best_of_all(instance)
        for method, best in zip((solver.optimal, solver.max_min), expected, strict=True):
            outcome = method(instance)
            cotenant.check(instance, outcome.solution)
            assert outcome.bound is not None
            assert outcome.bound >= float(best) * (1 - 1e-12)
            if method is solver.optimal:
                assert (outcome.status, outcome.bound) == (Status.OPTIMAL, pytest.approx(best))


def test_elastic_jobs_keep_configuration_of_previous_round() -> None:
    first = Elastic([[3.0, 5], [2, 4]], [4], [0, 0], [1, 2], names=("a", "b"))
    now = first.replace(devices=[3], names=("b", "c"))
    answer = Configured([0, 1], [1, 1], [1, 1])
    kept = carried(first, now, answer)
    assert [kept.job.tolist(), kept.configuration.tolist()] == [[0], [1]]
    kept = carried(first, first.replace(devices=[3]), answer)
    assert [kept.job.tolist(), kept.configuration.tolist()] == [[0], [1]]


@pytest.mark.slow
def test_elastic_rounds_charge_moves_and_optimum_beats_policies() -> None:
    jobs = random(jobs=40, rng=np.random.default_rng(7))
    methods = ("optimal", "marginal", "FIFO")
    free = play_rounds(jobs, methods, rounds=3, move=0)
    dear = play_rounds(jobs, methods, rounds=3, move=1)
    for rows in (free, dear):
        assert rows[0].lost < 0.01 < rows[2].lost
        assert rows[0].utility > max(rows[1].utility, rows[2].utility)
    assert dear[0].utility < free[0].utility
    assert dear[0].moved < free[0].moved
    anew = play_rounds(jobs, ("optimal",), rounds=3, move=0, carry=False)
    assert anew[0].utility == pytest.approx(free[0].utility, rel=1e-3)


def test_elastic_million_jobs_are_solved_by_types() -> None:
    one = random(jobs=20, rng=np.random.default_rng(4))
    many = one.replace(count=10**6 * one.count, devices=10**6 * one.devices)
    found = cotenant.solve(many, "optimal")
    assert found.bound == pytest.approx(
        10**6 * solver.price_devices(one, one.utility, Clock()).bound
    )
    assert found.objective >= found.bound * (1 - 1e-9)
    for policy in ("FIFO", "equal-split", "density", "marginal"):
        cotenant.solve(many, policy)


def test_elastic_claims_beyond_bound_are_refused() -> None:
    instance = random(jobs=12, share=1.5, rng=np.random.default_rng(5))
    for method in ("optimal", "max-min"):
        proof = proved(instance, method)
        assert Fraction(proof.bound) >= proof.value
        for part, times in (("value", 2), ("bound", Fraction(1, 2))):
            proof.refuses(put("claim", part, to=str(proof.value * times)))
        proof.refuses(put("witness", "number", 0, to=2))
        proof.refuses(put("witness", "configuration", 0, to=len(instance.workers)))
        proof.refuses(put("steps", 0, "prices", "numbers", 0, to=-1))
        proof.refuses(put("steps", 0, "prices", "numbers", to=lambda old: [0] * len(old)))


def test_elastic_unproved_max_min_level_is_refused() -> None:
    proof = proved(cotenant.read("elastic/tiny"), "max-min")
    proof.refuses(put("steps", 0, "least", to="5/2"))
    proof.refuses(put("steps", 0, "least", to="2"))


TABLE = "job,kind,devices,utility\na,x,1,2\na,x,2,3\nb,y,1,1.5\n"
CURVES = "job,kind,alone,efficiency,count\na,x,1,1,3\na,y,2,0.5,3\n"


def test_elastic_csv_with_utilities_or_curves_is_read(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(TABLE)
    found = elastic_csv(path, devices="x:2,y:1")
    assert found.utility.tolist() == [[2, 3, 0], [0, 0, 1.5]]
    assert (found.names, found.device_names) == (("a", "b"), ("x", "y"))
    path.write_text(CURVES)
    found = elastic_csv(path, devices="x:4,y:5")
    assert found.workers.tolist() == [1, 2, 4, 1, 2, 4]
    assert found.utility[0] == pytest.approx([1, 2, 4, 2, 8**0.5, 4])
    assert found.count.tolist() == [3]

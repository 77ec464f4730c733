"""Proofs of scheduling: REF played again, and the bound of fluid work against all schedules."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.proved import Document, Proved, case_of, judged, proved, put, task_of
from support.scheduling_cases import best_of_all
from support.small_cases import few_jobs, scheduling

from cotenant.baselines.scheduling import fifo
from cotenant.instances.problem.files import read
from cotenant.instances.scheduling import Scheduling, utilities
from cotenant.instances.scheduling.utility import units_done
from cotenant.solvers.proofs import Claimed, recompute
from cotenant.solvers.scheduling.shapley_schedule import ref
from cotenant.verify.__main__ import main
from cotenant.verify.reading import Refused
from cotenant.verify.scheduling import Scheduling as CheckedScheduling
from cotenant.verify.scheduling import Shapley, scheduling_most

BUNDLED = ("tiny", "figure-2", "figure-7", "lpc-like", "not-supermodular", "subset-sum")


@pytest.mark.parametrize("reading", ["figure", "definition"])
@pytest.mark.parametrize("name", BUNDLED)
def test_ref_schedule_is_certified(name: str, reading: str) -> None:
    assert "unfairness is 0" in proved(read(f"scheduling/{name}"), "REF", reading=reading).sentence


@pytest.mark.parametrize("seed", range(60))
def test_verifier_replays_the_compiled_ref_schedule(seed: int) -> None:
    instance = scheduling(seed)
    given = CheckedScheduling(case_of(instance))
    for later, reading in enumerate(("figure", "definition")):
        expected = ref(instance, reading=reading).solution.start.tolist()
        assert Shapley(given, later).start == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reading", "number"), [("figure", 10), ("definition", 10), ("figure", 13)]
)
def test_ref_of_many_organizations_is_certified(reading: Any, number: int) -> None:
    rng = np.random.default_rng(number)
    owner, release, length = (
        rng.integers(*span, 30).tolist() for span in ((0, number), (0, 15), (1, 20))
    )
    instance = Scheduling([1] * number, owner, release, length, 30, name="many")
    proof = proved(instance, "REF", reading=reading)
    assert "unfairness is 0" in proof.sentence
    if number == 10:
        with refused(Refused):  # says how far the coalitions came
            judged(proof.content, proof.document, most_work=500_000)
        task = task_of(instance, ref(instance, reading=reading), method="REF", reading=reading)
        with refused(Claimed):
            recompute.ref(replace(task, patience=0.002))


@pytest.mark.parametrize("seed", range(12))
def test_ref_proof_of_another_schedule_has_its_unfairness(seed: int) -> None:
    instance = scheduling(seed)
    outcome = ref(instance)
    given = replace(outcome, solution=fifo(instance))
    own, other = utilities(instance, given.solution), utilities(instance, outcome.solution)
    units = int(units_done(outcome.solution.start, instance.processing, instance.horizon).sum())
    if not units:
        with pytest.raises(Claimed):
            proved(instance, "REF", given)
        return
    expected = abs(own - other).sum() / units
    assert float(proved(instance, "REF", given).value) == pytest.approx(expected)


def test_ref_of_other_utility_or_many_organizations_stays_claimed() -> None:
    instance = read("scheduling/tiny")
    with refused(Claimed):
        proved(instance, "REF", utility="flow-time")
    many = Scheduling([1] * 17, list(range(17)), [0] * 17, [2] * 17, 9, name="many")
    with refused(Claimed):
        proved(many, "REF", replace(ref(instance), solution=fifo(many)))


@cache
def tiny(method: str) -> Proved:
    return proved(read("scheduling/tiny"), method)


def dual_step(rng: np.random.Generator, horizon: int) -> Document:
    """Times and prices by chance."""
    marks = rng.choice(np.arange(1, horizon), int(rng.integers(0, 4)), replace=False)
    times = [0, *sorted(int(t) for t in marks)]
    prices = {"over": int(rng.integers(1, 4)), "numbers": rng.integers(0, 9, len(times)).tolist()}
    return {"kind": "dual", "times": times, "prices": prices}


def bound_of(instance: Scheduling, step: Document, *, utility: bool) -> Any:
    return scheduling_most(case_of(instance, None, {}, [step]), utility)[0].bound


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_any_time_prices_give_valid_bounds(seed: int) -> None:
    instance, rng = few_jobs(seed), np.random.default_rng(seed)
    units, utility = (best_of_all(instance, name) for name in ("utilization", "utility"))
    for _ in range(20):
        step = dual_step(rng, instance.horizon)
        share = Fraction(units, instance.total_machines * instance.horizon)
        assert bound_of(instance, step, utility=False) >= share
        assert bound_of(instance, step, utility=True) >= utility


@pytest.mark.parametrize("seed", range(15))
def test_bound_at_time_prices_equals_the_best_start_of_each_job(seed: int) -> None:
    instance, rng = scheduling(seed), np.random.default_rng(seed)
    for utility in (False, True):
        step = dual_step(rng, instance.horizon)
        over, numbers = step["prices"]["over"], step["prices"]["numbers"]
        price = [
            numbers[int(np.searchsorted(step["times"], t, side="right")) - 1]
            for t in range(instance.horizon)
        ]
        total = instance.total_machines * sum(price)
        for release, length in zip(instance.release, instance.processing, strict=True):
            earned = [0]
            for start in range(release, instance.horizon):
                done = min(length, instance.horizon - start)
                ages = sum(instance.horizon - start - k for k in range(done))
                worth = ages if utility else done
                earned.append(over * worth - sum(price[start : start + done]))
            total += max(earned)
        unit = 1 if utility else instance.total_machines * instance.horizon
        assert bound_of(instance, step, utility=utility) == Fraction(int(total // over), unit)


def test_time_prices_prove_max_utilization_beyond_the_fluid_bound() -> None:
    assert tiny("max-utilization").document["steps"][0]["kind"] == "dual"
    assert tiny("max-utilization").sentence.endswith("optimal")


SCHEDULES: dict[str, Any] = {
    "too early": put("witness", "start", -1, to=0),
    "never": put("witness", "start", 0, to=-1),
    "half a moment": put("witness", "start", 0, to="1/2"),
    "from behind": put("witness", "start", 0, to=-2),
    "after the end": put("witness", "start", 0, to=10**9),
    "on a machine that there is not": put("witness", "machine", 0, to=10**9),
    "all on one machine": put("witness", "machine", to=lambda old: [min(m, 0) for m in old]),
    "a job left out": lambda p: p["witness"]["start"].pop(),
    "another reading": lambda p: p["options"].update(reading="poem"),
    "another kind": lambda p: p["steps"][0].update(kind="witness"),
    "fairer than fair": lambda p: p["claim"].update(value=-1),
    "unfair to all": lambda p: p["claim"].update(bound=1),
    "nobody starts": lambda p: p["witness"].update(
        start=[-1] * len(p["witness"]["start"]), machine=[-1] * len(p["witness"]["machine"])
    ),
}
PRICES: dict[str, Any] = {
    "a price below 0": put("steps", 0, "prices", "numbers", 0, to=-1),
    "half a price": put("steps", 0, "prices", "numbers", 0, to="1/2"),
    "a price too many": lambda p: p["steps"][0]["prices"]["numbers"].append(1),
    "over nothing": lambda p: p["steps"][0]["prices"].update(over=0),
    "times that do not begin": put("steps", 0, "times", 0, to=1),
    "times that go back": lambda p: p["steps"][0]["times"].reverse(),
    "a time twice": put("steps", 0, "times", 1, to=0),
    "times after the end": put("steps", 0, "times", -1, to=10**9),
    "no times": lambda p: p["steps"][0].update(times=[], prices={"over": 1, "numbers": []}),
    "a lower bound": lambda p: p["claim"].update(bound="1/2", value=None, claim_kind="gap"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("method", "change"),
    [("REF", change) for change in SCHEDULES.values()]
    + [("max-utilization", change) for change in PRICES.values()],
    ids=[*SCHEDULES, *PRICES],
)
def test_forged_scheduling_proof_is_refused(method: str, change: Any) -> None:
    tiny(method).refuses(change)


def test_too_long_replay_is_refused() -> None:
    with refused(Refused):
        judged(tiny("REF").content, tiny("REF").document, most_work=600)


def test_patience_option_multiplies_work_limit(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("tiny.json", "proof.json")]
    Path(files[0]).write_bytes(tiny("REF").content)
    Path(files[1]).write_text(json.dumps(tiny("REF").document))
    assert [main(files, 600), main([*files, "--patience", "1000"], 600)] == [1, 0]

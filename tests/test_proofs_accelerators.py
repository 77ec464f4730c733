"""Proofs of shares of accelerators' time: prices of devices and of jobs' time bound what linear
programs find, whatever they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.oracles.accelerators import Jobs
from support.proved import Document, Proved, case_of, proved
from support.seeds import seeds
from support.small_accelerators import drawn

import cotenant
from cotenant.instances.accelerators import Accelerators
from cotenant.instances.accelerators.generators import random
from cotenant.instances.problem.proof import multipliers
from cotenant.models.accelerators import Prices
from cotenant.solvers.accelerators.programs import covering, most_worth
from cotenant.solvers.proofs.rounding import over_common
from cotenant.verify.accelerators import Shares, finish_time, max_min
from cotenant.verify.reading import MOST_WORK, Refused, WorkLimit

QUESTIONS: tuple[tuple[str, dict[str, float]], ...] = (
    ("max-min", {}),
    ("leximin", {}),
    ("hierarchical", {}),
    ("makespan", {}),
    ("finish-time", {}),
    ("max-throughput", {"least": 0.0}),
    ("max-throughput", {"least": 0.25}),
    ("min-cost", {"least": 1.0}),
)


@pytest.mark.parametrize("seed", seeds(60, 8))
def test_accelerator_results_of_every_method_are_certified(seed: int) -> None:
    instance = drawn(seed)
    for method, options in QUESTIONS:
        outcome = cotenant.solve(instance, method, **options)
        proof = proved(instance, method, outcome, **options)
        assert len(json.dumps(proof.document)) < 8000
        if outcome.solution is None:
            assert proof.sentence.endswith("at all")
            continue
        assert float(proof.bound) == pytest.approx(outcome.bound, rel=1e-9, abs=1e-12)
        for level in proof.proof.levels:
            assert abs(level.value - level.bound) <= Fraction(1, 10**8) * (1 + abs(level.value))


def test_proof_for_jobs_without_deadlines_is_refused_for_jobs_with_deadlines() -> None:
    instance = tiny().replace(deadline=[3000, np.inf])
    proof = proved(instance, "min-cost", least=0.5)
    cheaper = proved(tiny(), "min-cost", least=0.5)
    assert proof.value > cheaper.value
    with refused(Refused):
        changed = proof.document
        changed["witness"] = cheaper.document["witness"]
        proof.judge(changed)
    soon = tiny().replace(deadline=[600, 600])
    assert proved(soon, "min-cost").sentence.endswith("at all")


def tiny() -> Accelerators:
    found = cotenant.read("accelerators/tiny")
    assert isinstance(found, Accelerators)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_max_min_proof_of_any_prices_gives_valid_bound(seed: int) -> None:
    """Prices drawn by chance, of devices and jobs' time, and of devices alone: the verifier then
    chooses what a step is worth.
    """
    instance, rng = drawn(seed), np.random.default_rng(seed)
    best, passed = Jobs(instance).max_min(), 0
    for _ in range(40):
        worth = rng.integers(0, 4, instance.types).tolist()
        prices = rng.integers(0, 40, len(instance.devices) + instance.types).tolist()
        step = {"kind": "prices", "worth": multipliers(worth, 1),
                "prices": multipliers(prices, int(rng.integers(1, 4)))}  # fmt: skip
        try:
            [level] = max_min(case_of(instance, None, {}, [step]))
        except Refused:
            continue
        passed += 1
        assert level.bound >= best
    assert passed > 3
    alone = instance.replace(together=None)
    best, witness = Jobs(alone).max_min(), proved(alone, "max-min").document["witness"]
    for _ in range(20):
        numbers = rng.integers(1, 40, len(alone.devices)) * 10 ** int(rng.integers(0, 15))
        step = {"kind": "prices", "prices": multipliers(numbers.tolist(), 10)}
        [level] = max_min(case_of(alone, witness, {}, [step]))
        assert level.bound >= best


def test_infeasible_dual_prices_are_refused() -> None:
    rng, seen = np.random.default_rng(0), {True: 0, False: 0}
    for seed in range(12):
        instance = drawn(seed)
        jobs = Jobs(instance)
        for _ in range(15):
            worth = rng.integers(0, 5, instance.types).tolist()
            device = rng.integers(0, 20, len(instance.devices)).tolist()
            time = rng.integers(0, 12, instance.types).tolist()
            fits = all(
                sum(rate * worth[jobs.type[job]] for job, rate in rates.items())
                <= device[kind] * int(instance.workers[jobs.type[next(iter(rates))]])
                + sum(time[jobs.type[job]] for job in rates)
                for kind, rates in jobs.placements
            )
            step = {"worth": multipliers(worth, 1), "prices": multipliers(device + time, 1)}
            seen[fits] += 1
            if fits:
                assert Shares(case_of(instance)).worth(step)
            else:
                with pytest.raises(Refused):
                    Shares(case_of(instance)).worth(step)
    assert min(seen.values()) > 10


def alone(types: int) -> Accelerators:
    """Single jobs that all differ, of which no two may share a device."""
    made: Accelerators = random(
        types=types, kinds=3, jobs=types, devices=types // 2, rng=np.random.default_rng(types)
    )
    return made.replace(together=None)


@pytest.mark.parametrize(
    ("method", "types"),
    [
        *((method, 120) for method in ("max-min", "leximin", "finish-time", "min-cost")),
        *(
            pytest.param(method, types, marks=pytest.mark.slow)
            for method, types in (("max-min", 10_000), ("leximin", 2000), ("makespan", 2000))
        ),
    ],
)
def test_proofs_of_all_different_jobs_take_at_most_sixty_bytes_a_job(
    method: str, types: int
) -> None:
    proof = proved(alone(types), method)
    assert len(json.dumps(proof.document)) < 60 * types + 500
    for level in proof.proof.levels:
        assert abs(level.value - level.bound) <= Fraction(1, 10**8) * level.value


@pytest.mark.parametrize("numbers", [[-1, 2], [1], [1, 2, 3], [10**200, 1]])
def test_accelerator_proof_with_invalid_device_prices_is_refused(numbers: list[int]) -> None:
    instance = tiny().replace(together=None)
    step = {"kind": "prices", "prices": multipliers(numbers, 1)}
    with refused(Refused):
        max_min(case_of(instance, None, {}, [step]))


def test_too_long_prices_exceed_verifier_work() -> None:
    """A tenth of a millisecond of work and more for each placement, which is charged."""
    given, long = Shares(case_of(alone(300))), 10**3500
    prices, usual = multipliers([long + 1] * 303, long), WorkLimit.left
    WorkLimit.left = MOST_WORK // 100
    try:
        with pytest.raises(Refused) as error:
            given.worth({"worth": multipliers([long + 3] * 300, 7 * long), "prices": prices})
    finally:
        WorkLimit.left = usual
    assert "patience" in str(error.value)


@pytest.mark.parametrize(
    "shares",
    [
        [[0, -1, 0, 2]],
        [[0, -1, 0, 1], [1, -1, 0, 1]],
        [[0, 0, 0, 1], [0, -1, 1, 1]],
        [[0, 1, 1, 1], [0, -1, 0, 1], [0, 1, 0, 1]],
        [[0, 0, 1, 1]],
        [[0, -1, 2, 1]],
        [[2, -1, 0, 1]],
        [[0, -2, 0, 1]],
    ],
)
def test_proof_with_more_time_shares_than_devices_is_refused(shares: list[list[int]]) -> None:
    with refused(Refused):
        max_min(case_of(tiny(), {"over": 1, "shares": shares}, {}, []))


@pytest.mark.parametrize("seed", range(6))
def test_raised_accelerator_prices_are_accepted_and_rounded_to_no_smaller_bound(seed: int) -> None:
    """Whatever prices a solver may end with: floats are exact numbers, and the verifier exact."""
    instance, rng = drawn(seed, 12), np.random.default_rng(seed)
    money = float(seed % 2)
    for _ in range(5):
        sizes = (instance.types, len(instance.devices), instance.types)
        raw = Prices(*(rng.random(size) * (rng.random(size) < 0.7) for size in sizes))
        covered = covering(instance, raw, money * instance.device_cost)
        parts = [[Fraction(value) for value in values.tolist()] for values in covered]
        (worth, unit), (price, over) = over_common(parts[0]), over_common(parts[1] + parts[2])
        step = {"worth": multipliers(worth, unit), "prices": multipliers(price, over)}
        _, total = Shares(case_of(instance)).worth(step, int(money))
        assert total <= Fraction(most_worth(instance, covered)) <= total * (1 + Fraction(1, 10**13))


def test_prices_do_not_exclude_achievable_finish_time_ratio() -> None:
    instance = tiny()
    proof = proved(instance, "finish-time")
    [step] = proof.document["steps"]
    for ratio, fits in ((proof.bound, True), (proof.value * Fraction(10**9 + 1, 10**9), False)):
        step["ratio"] = f"{ratio.numerator}/{ratio.denominator}"
        case = case_of(instance, proof.document["witness"], {}, [step])
        if fits:
            assert finish_time(case)[0].bound == ratio
        else:
            with refused(Refused):
                finish_time(case)


@cache
def made(method: str) -> Proved:
    return proved(tiny(), method, **({"least": 1.4} if method == "min-cost" else {}))


def numbers(proof: Document, which: str) -> list[Any]:
    """What the last step's prices are."""
    steps = proof["levels"][-1]["steps"] if proof["levels"] else proof["steps"]
    return steps[-1][which]["numbers"]


def every(which: str, new: Callable[[int], int]) -> Any:
    """The change of each number of the last step's prices or worth."""
    return lambda p: numbers(p, which).__setitem__(slice(None), [*map(new, numbers(p, which))])


def row(column: int, value: Any) -> Any:
    """The change of a column of the first share."""
    return lambda p: p["witness"]["shares"][0].__setitem__(column, value)


FORGERIES: dict[str, Any] = {
    "a price below 0": lambda p: numbers(p, "prices").__setitem__(0, -1),
    "a worth below 0": lambda p: numbers(p, "worth").__setitem__(0, -1),
    "half a price": lambda p: numbers(p, "prices").__setitem__(0, "1/2"),
    "prices of nothing": every("prices", lambda _: 0),
    "steps worth nothing": every("worth", lambda _: 0),
    "steps worth more": every("worth", lambda n: 2 * n + 1),
    "a price left out": lambda p: numbers(p, "prices").pop(),
    "over nothing": lambda p: p["steps"][-1]["prices"].update(over=0),
    "another kind": lambda p: p["steps"][-1].update(kind="dual"),
    "a type from nowhere": row(0, 7),
    "a type from behind": row(0, -1),
    "a device from nowhere": row(2, 7),
    "a pair that may not be": lambda p: p["witness"]["shares"].append([1, 1, 0, 1]),
    "half a part": row(3, "1/2"),
    "less than no part": row(3, -5),
    "more than there is": lambda p: p["witness"].update(
        over=p["witness"]["over"] - max(1, p["witness"]["over"] // 10**6)
    ),
    "a better answer": lambda p: p["claim"].update(value=10**6 if p["claim"]["sense"] == "max" else 0),
    "a better bound": lambda p: p["claim"].update(bound=0 if p["claim"]["sense"] == "max" else 10**6),
    "no answer": lambda p: p["claim"].update(claim_kind="infeasible", value=None, bound=None),
    "an option": lambda p: p["options"].update(weight=1),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", dict.fromkeys(name for name, _ in QUESTIONS))
@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_forged_time_shares_proof_is_refused(change: Any, method: str) -> None:
    made(method).refuses(change)


LEVELS: dict[str, Any] = {
    "a type on two levels": lambda p: p["steps"][0]["types"].append(p["steps"][0]["types"][0]),
    "no types": lambda p: p["steps"][0]["types"].clear(),
    "types twice": lambda p: p["steps"].append(p["steps"][0]),
    "no step of types": lambda p: p["steps"].pop(0),
    "a level of types that have less": lambda p: (
        p["steps"].__setitem__(slice(None), p["levels"][0]["steps"]),
        p["claim"].update(p["levels"][0]["claim"], objective=p["claim"]["objective"]),
        p["levels"].clear(),
    ),
}


def test_hierarchical_proof_refuses_first_level_of_only_some_types() -> None:
    proof = proved(drawn(4), "hierarchical")
    assert proof.proof.levels[0].value < proof.proof.levels[1].value
    proof.refuses(LEVELS["a level of types that have less"])


@pytest.mark.parametrize("change", LEVELS.values(), ids=LEVELS)
def test_invalid_levels_of_accelerators_proof_are_refused(change: Any) -> None:
    proof = proved(drawn(4), "leximin")
    assert len(proof.proof.levels) == 3
    proof.refuses(change)

"""Slices over time: optima against every set of users, Karma against its definition, proofs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.oracles.quanta import fairest_totals
from support.oracles.quanta import karma as slice_by_slice
from support.proved import case_of, proved, put
from support.seeds import seeds
from support.strategies import quanta

import cotenant
from cotenant.analysis.quanta.metrics import metrics
from cotenant.baselines.quanta import karma, max_min, strict
from cotenant.instances.quanta import Quanta, Slices, bursty, quanta_csv
from cotenant.models.quanta import least_total_program
from cotenant.solvers.engines import solve_program
from cotenant.solvers.outcome import Status
from cotenant.solvers.quanta import horizon, leximin, values
from cotenant.verify.logarithms import GRID
from cotenant.verify.quanta import bounds, quanta_leximin
from cotenant.verify.reading import Refused


def totals(instance: Quanta, answer: Slices) -> list[Fraction]:
    """The slices in all of the users who want some."""
    rows = zip(answer.exact(), instance.active, strict=True)
    return [sum(row, Fraction(0)) for row, wants in rows if wants]


def contested(users: int) -> Quanta:
    """The first user wants all slices in every quantum, each other in one of its own."""
    demand = np.zeros((users, users - 1), dtype=int)
    demand[0] = demand[np.arange(1, users), np.arange(users - 1)] = users
    return Quanta(demand, 1)


@pytest.mark.slow
@pytest.mark.parametrize("block", seeds(100, 1))
def test_fairest_time_slices_over_horizon_equal_enumeration_of_user_sets(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        instance = quanta(np.random.default_rng(seed))
        outcome, expected = horizon(instance), fairest_totals(instance)
        cotenant.check(instance, outcome.solution)
        found = totals(instance, outcome.solution)
        assert dict(zip(np.flatnonzero(instance.active).tolist(), found, strict=True)) == expected
        wanted = instance.demand[instance.active].tolist()
        least, excess = bounds(wanted, instance.capacity, found)
        assert least == min(found)
        shown = values(instance, outcome.solution)
        assert shown["least_total"] == (float(least), float(least))
        assert shown["total"][0] == float(sum(found, Fraction(0)))
        assert excess is not None
        assert 0 <= excess <= len(found)  # all that it is rounded by
        assert outcome.status is Status.OPTIMAL
        assert leximin(instance).bound == float(min(found))


@pytest.mark.parametrize("seed", seeds(20, 1))
def test_quanta_leximin_equals_linear_program(seed: int) -> None:
    instance = Quanta(np.random.default_rng(seed).integers(0, 20, (25, 15)), 5)
    program = solve_program(least_total_program(instance))
    assert program.bound == pytest.approx(-cotenant.solve(instance, "leximin").objective, rel=1e-7)


@pytest.mark.parametrize("block", seeds(100, 1))
def test_quanta_bounds_from_any_answer_are_valid(block: int) -> None:
    """The bounds hold at whatever totals the verifier is shown."""
    for seed in range(100 * block, 100 * block + 100):
        rng = np.random.default_rng(seed)
        instance = quanta(rng)
        best = list(fairest_totals(instance).values())
        shown = [Fraction(int(n), 7) for n in rng.integers(1, 40, len(best))]
        least, excess = bounds(instance.demand[instance.active].tolist(), instance.capacity, shown)
        assert least >= min(best)
        assert excess is not None
        logs = np.log(np.array(best, float)).sum() - np.log(np.array(shown, float)).sum()
        assert excess / GRID >= logs - 1e-9


@pytest.mark.parametrize("block", seeds(100, 1))
def test_karma_equals_slice_by_slice_implementation(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        rng = np.random.default_rng(seed)
        instance = quanta(rng)
        guaranteed, credits = int(rng.integers(instance.share + 1)), int(rng.integers(8))
        given, _ = slice_by_slice(instance, guaranteed, credits)
        found = karma(instance, alpha=guaranteed / instance.share, credits=credits)
        cotenant.check(instance, found)
        assert found.slices.tolist() == given


def test_karma_on_published_example_gives_published_slices_and_credits() -> None:
    """`test_inflation` of their simulator: 24 slices each, and 18, 18 and 27 credits."""
    instance = cotenant.read("quanta/tiny")
    assert cotenant.solve(instance, "Karma", credits=6).metrics["least_total"] == 24
    given, history = slice_by_slice(instance, 3, 6)
    assert [sum(row) for row in given] == [24, 24, 24]
    # 3 free ones at the last quantum's start, and 6 each of those paid for slices without donor,
    # which that simulator hands back to everybody, and Algorithm 1 does not
    assert [now + 3 + 6 for now in history[3]] == [18, 18, 27]


@pytest.mark.parametrize(
    ("demand", "share", "expected"),
    [
        ([[1, 3, 5, 7, 10, 0], [10, 8, 0, 5, 3, 1]], 5, [[1, 3, 5, 5, 7, 0], [9, 7, 0, 5, 3, 1]]),
        ([[10], [10], [10]], 5, [[5], [5], [5]]),
        ([[3], [10], [10]], 5, [[3], [6], [6]]),
        ([[1], [9], [6]], 5, [[1], [8], [6]]),
    ],
)
def test_quanta_max_min_on_published_tests_gives_published_slices(
    demand: list[list[int]], share: int, expected: list[list[int]]
) -> None:
    assert max_min(Quanta(demand, share)).slices.tolist() == expected


@pytest.mark.parametrize("users", [3, 5, 9])
def test_memoryless_max_min_favors_constant_demand(users: int) -> None:
    """By max-min the first user gets n - 1 times what others get; a clairvoyant is even."""
    instance = contested(users)
    wide = instance.replace(demand=2 * instance.demand, share=2)
    by_quantum = max_min(wide).slices.sum(axis=1)
    assert by_quantum.tolist() == [users * (users - 1)] + [users] * (users - 1)
    assert totals(wide, horizon(wide).solution) == [2 * (users - 1)] * users
    price = cotenant.solve(wide, "max-min").metrics["price_of_no_foresight"]
    assert price == pytest.approx(2 * (users - 1) / users / (users - 1) ** (1 / users))


@pytest.mark.parametrize(("method", "first"), [(max_min, 0), (strict, 0), (karma, -1)])
@pytest.mark.parametrize("block", seeds(20, 1))
def test_quanta_policies_are_strategy_proof_in_last_quantum(
    method: Callable[[Quanta], Slices], first: int, block: int
) -> None:
    """In any quantum where nothing is remembered; with credits in the last one, a part of what
    Karma's authors call online strategy-proofness.
    """
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(seed)
        truth = quanta(rng)
        user = int(rng.choice(np.flatnonzero(truth.active)))
        honest = method(truth).slices[user].sum()
        for _ in range(20):
            demand = truth.demand.copy()
            demand[user, first:] = rng.integers(0, 10, len(demand[user, first:]))
            if demand.any():
                shown = method(truth.replace(demand=demand)).slices[user]
                assert np.minimum(shown, truth.demand[user]).sum() <= honest


@pytest.mark.parametrize("seed", range(5))
def test_karma_without_guarantee_serves_least_served(seed: int) -> None:
    """Karma, OSDI 2023, Theorem on fairness at alpha 0: no choice of a quantum, whatever was given
    before, leaves more to the user with fewest slices; and at every alpha no slice is wasted.
    """
    instance = bursty(users=6, quanta=12, share=4, rng=np.random.default_rng(seed))
    had = np.zeros(6)
    given = karma(instance, alpha=0.0).slices
    for now, wanted in zip(given.T, instance.demand.T, strict=True):
        had += now
        low = [i for i in range(6) if now[i] < wanted[i]]
        assert all(had[j] <= had[i] + 1 for i in low for j in range(6) if now[j])
    for alpha in (0.0, 0.5, 1.0):
        assert karma(instance, alpha=alpha).slices.sum() == instance.most_useful


def test_prices_of_time_slices_over_horizon_satisfy_optimality_conditions() -> None:
    """Each user pays the price, and for its own demand what is left to 1 / total."""
    instance = bursty(users=12, quanta=20, rng=np.random.default_rng(1))
    best = cotenant.solve(instance, "horizon")
    total, price = best.solution.slices.sum(axis=1), np.array(best.certificate["prices"])
    premium = 1 / total[:, None] - price
    got, met = best.solution.slices, best.solution.slices >= instance.demand
    assert (premium[got > 0] >= -1e-12).all()
    assert (np.abs(premium[(got > 0) & ~met]) < 1e-12).all()
    assert got.sum(axis=0)[price > 0] == pytest.approx(instance.capacity)


def test_invalid_quanta_answers_give_no_bound() -> None:
    instance, step = cotenant.read("quanta/tiny"), [{"kind": "greedy"}]
    good = [[6, 12, 0, 0, 6], [6, 0, 12, 0, 6], [0, 0, 0, 18, 6]]

    def judged(change: Callable[[Any], object], steps: Any = step) -> None:
        rows = [{"over": 1, "numbers": list(row)} for row in good]
        change(rows)
        quanta_leximin(case_of(instance, {"slices": rows}, {}, steps))

    judged(lambda rows: None)
    for change in (
        lambda rows: rows[0]["numbers"].__setitem__(4, 7),
        lambda rows: rows[0]["numbers"].__setitem__(4, -1),
        lambda rows: rows[0]["numbers"].__setitem__(3, 1),
        lambda rows: rows[0].update(over=0),
        lambda rows: rows[0]["numbers"].pop(),
        lambda rows: rows.pop(),
    ):
        with refused(Refused):
            judged(change)
    with refused(Refused):
        judged(lambda rows: None, [])


def test_false_claims_of_quanta_proofs_are_refused() -> None:
    for method in ("leximin", "horizon"):
        proof = proved(cotenant.read("quanta/bursty-20"), method)
        assert proof.bound - proof.value <= proof.value / 10**18
        for part, number in (("value", 500), ("bound", 300)):
            proof.refuses(put("claim", part, to=number))
        proof.refuses(put("witness", "slices", 0, "numbers", 0, to=0))


def test_quanta_read_from_csv_get_strict_shares(tmp_path: Path) -> None:
    table = tmp_path / "demands.csv"
    table.write_text("user,mon,tue\nann,3,0\nbob,1,4\n")
    read = quanta_csv(table, share=2)
    assert (read.demand.tolist(), read.names) == ([[3, 0], [1, 4]], ("ann", "bob"))
    assert strict(read).slices.tolist() == [[2, 0], [1, 2]]


def test_quanta_answer_without_slices_for_a_user_has_a_bound() -> None:
    """Whole slices may leave a user with none: no logarithm, but the mean bounds the welfare."""
    instance = Quanta([[5], [5], [5], [5]], 1)
    result = cotenant.solve(instance, "horizon")
    assert (result.objective, result.bound) == (1.0, 1.0)
    one = Slices(np.array([[4.0], [0.0], [0.0], [0.0]]))
    assert metrics(instance, one)["nash_welfare"] == 0
    assert "price_of_no_foresight" not in metrics(instance, one)

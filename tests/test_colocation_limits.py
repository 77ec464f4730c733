"""Large instances and short times: measures in blocks, programs that keep the clock, refusals."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused

import cotenant
from cotenant.instances.colocation import Colocation, Pairing, blocking_pairs, check
from cotenant.instances.colocation.objective import scale
from cotenant.instances.colocation.stability import willing
from cotenant.instances.problem import InvalidInstance, InvalidOption, NoSolution
from cotenant.solvers.colocation import (
    complete,
    fair,
    feasible_pairing,
    optimal,
)
from cotenant.solvers.colocation.bounds import least_penalty_bound
from cotenant.solvers.colocation.common import ProgramLimits, pairs_of
from cotenant.solvers.colocation.fair import FairLimits
from cotenant.solvers.colocation.feasible import Undecided
from cotenant.solvers.colocation.penalty import OptimalLimits
from cotenant.solvers.colocation.stable import StableLimits, stable
from cotenant.solvers.deferred_acceptance import deferred_acceptance, preference_order
from cotenant.solvers.outcome import Clock, Status, Stop


def instances(reference: ModuleType) -> list[Colocation]:
    """Random valid instances of at most 8 agents, and larger ones."""
    found = [contention(7, 40, 3)]
    for seed in range(16_000, 16_060):
        try:
            found.append(Colocation(**reference.random_fields(np.random.default_rng(seed))))
        except InvalidInstance:
            continue
    return found


def contention(types: int, agents: int, seed: int) -> Colocation:
    """Random penalties, bandwidths and counts, an even total."""
    rng = np.random.default_rng(seed)
    count = rng.multinomial(agents, np.ones(types) / types)
    penalty = rng.uniform(0, 0.9, (types, types)).round(2)
    return Colocation(penalty, count, bandwidth=rng.uniform(0.1, 20, types))


def test_what_looks_at_no_clock_is_left_out_where_it_could_pass_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = cotenant.read("colocation/preferences-100")
    whole, begun = least_penalty_bound(given), stable(given, time_limit=60.0)

    def refused(*given: object) -> None:
        raise AssertionError("this takes too long")

    monkeypatch.setattr("scipy.optimize.linear_sum_assignment", refused)
    assert 0 < least_penalty_bound(given, seconds=1e-9) <= whole
    monkeypatch.setattr("cotenant.solvers.colocation.stable.forgiving", refused)
    slow = StableLimits(forgiven_pair=1.0, programs=ProgramLimits(agent_cubed=1.0))
    found = stable(given, time_limit=60.0, limits=slow)
    assert (found.status, found.bound) == (begun.status, begun.bound)
    assert found.certificate["levels"][1]["status"] == "feasible"
    monkeypatch.setattr("cotenant.solvers.colocation.stable.lists_of_agents", refused)
    found = stable(given, time_limit=60.0, limits=replace(slow, listed_pair=1.0))
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert found.bound == 0


@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_measures_by_blocks_of_types_are_those_of_all_types_at_once(
    reference: ModuleType, monkeypatch: pytest.MonkeyPatch, alpha: float
) -> None:
    given = [instance for instance in instances(reference) if possible(instance)]

    def measured(instance: Colocation) -> list[Any]:
        pairing = feasible_pairing(instance)
        found = blocking_pairs(instance, pairing, alpha)
        lists = (found.first, found.second, found.willing_first, found.willing_second)
        return [
            pairing,
            found.count,
            found.agents,
            *(side.tolist() for side in lists),
            willing(instance, pairing, alpha).tolist(),
            scale(instance, "penalty"),
            least_penalty_bound(instance),
            pairs_of(instance),
        ]

    whole = [measured(instance) for instance in given]
    monkeypatch.setattr("cotenant.instances.colocation.instance.BLOCK", 2)
    monkeypatch.setattr("cotenant.instances.colocation.stability.BLOCK", 3)
    monkeypatch.setattr("cotenant.solvers.deferred_acceptance._ROWS", 2)
    assert [measured(instance) for instance in given] == whole
    assert any(found[1] for found in whole)


def possible(instance: Colocation) -> bool:
    try:
        feasible_pairing(instance)
    except NoSolution:
        return False
    return True


def test_blocking_pairs_are_listed_in_order_and_make_up_their_count() -> None:
    instance = cotenant.read("colocation/cooper-1000")
    found = blocking_pairs(instance, feasible_pairing(instance))
    left, right = found.willing_first, found.willing_second
    alike = found.first == found.second
    assert found.count == np.where(alike, left * (left - 1) // 2, left * right).sum() > 0
    places = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert places == sorted(places)
    assert (found.first <= found.second).all()


def test_lists_of_preferences_in_blocks_are_those_of_all_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cost = np.random.default_rng(0).integers(0, 4, (9, 6)).astype(float)
    cost[cost == 3] = np.inf
    whole = preference_order(cost)
    monkeypatch.setattr("cotenant.solvers.deferred_acceptance._ROWS", 2)
    assert (preference_order(cost) == whole).all()
    assert deferred_acceptance(whole, cost.T).proposals > 0


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_optimal_without_time_for_its_tables_gives_a_start_and_a_bound(engine: Any) -> None:
    instance = contention(30, 100, 0)
    proved = optimal(instance)
    limits = OptimalLimits(programs=ProgramLimits(priced_pair=1e6, most_pairs=1))
    found = optimal(instance, time_limit=60.0, engine=engine, limits=limits)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    check(instance, found.solution)
    assert (found.bound or 0.0) <= (proved.bound or 0.0)
    without = optimal(instance, engine="highs", limits=limits)  # without a limit there is time
    assert without.status is Status.OPTIMAL


def test_stable_refuses_more_types_than_memory_holds_lists_for_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cotenant.solvers.colocation.stable.starting_pairing", None)
    with refused(InvalidOption):
        stable(contention(4, 10, 0), limits=StableLimits(most_types=3))


def test_a_large_program_within_a_slack_runs_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = contention(4, 12, 0)
    here = fair(instance, slack=0.3)
    calls = []

    def call_apart(function: Any, *given: Any, hard_limit: float, **options: Any) -> Any:
        calls.append(options["time_limit"] <= hard_limit <= 60.0)
        return function(*given, **options)

    monkeypatch.setattr("cotenant.solvers.colocation.common.call_in_subprocess", call_apart)
    limits = FairLimits(programs=ProgramLimits(keeps_time=1))
    apart = fair(instance, slack=0.3, time_limit=10.0, limits=limits)
    assert set(calls) == {True}
    assert apart.bound == pytest.approx(here.bound)


class Over(Clock):
    """A clock whose time is up at once."""

    def __init__(self) -> None:
        super().__init__(1e-9)


def test_a_pairing_that_no_time_is_left_to_find_is_undecided_not_impossible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two agents of type 0 want both of 1, which greed gives to each other: exchanges are
    needed.
    """
    free = np.inf
    instance = Colocation([[free, 0.5], [0.5, 0.1]], [2, 2], machines=2.0)
    stuck = Pairing([1], [1], [1], [0, 0])
    assert complete(instance, stuck, most_jobs=0).pairs.tolist() == [2]
    with refused(Undecided):
        complete(instance, stuck, Over(), most_jobs=0)
    monkeypatch.setattr(
        "cotenant.solvers.colocation.feasible.complete",
        lambda instance, partial, clock: complete(instance, stuck, Over(), most_jobs=0),
    )
    for method in (
        optimal,
        stable,
        lambda instance, **kw: fair(instance.replace(bandwidth=[1, 2]), **kw),
    ):
        found = method(instance, time_limit=60.0)
        assert (found.status, found.solution) == (Status.UNKNOWN, None)
        approved(found.certificate["proof"])


def test_a_repair_without_time_keeps_the_pairing_that_is_there() -> None:
    instance = Colocation([[np.inf, 0.5], [0.5, 0.1]], [2, 2])
    found = complete(instance, Pairing([1], [1], [1], [0, 0]), Over())
    check(instance, found)

"""Large instances and short times: measures in blocks, programs that keep the clock, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.small_cases import colocations, crowd, spread

import cotenant
from cotenant.instances.colocation import Colocation, Pairing, blocking_pairs, check
from cotenant.instances.colocation.instance import BLOCK
from cotenant.instances.colocation.objective import scale
from cotenant.instances.colocation.stability import willing
from cotenant.instances.problem import InvalidOption, NoSolution
from cotenant.solvers.colocation import (
    complete,
    fair,
    feasible_pairing,
    optimal,
)
from cotenant.solvers.colocation.blossom import least_penalty_bound
from cotenant.solvers.colocation.common import ProgramLimits, pairs_of
from cotenant.solvers.colocation.feasible import Undecided
from cotenant.solvers.colocation.penalty import OptimalLimits
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.colocation.stable_routes import StableLimits
from cotenant.solvers.outcome import Clock, Status, Stop


def test_steps_that_cannot_be_stopped_are_skipped_near_time_limit() -> None:
    given = cotenant.read("colocation/preferences-100")
    whole, begun = least_penalty_bound(given), stable(given, time_limit=60.0)
    assert "second_level" in begun.certificate
    assert 0 < least_penalty_bound(given, seconds=1e-9) < whole
    slow = StableLimits(forgiven_pair=1.0, programs=ProgramLimits(agent_cubed=1.0))
    found = stable(given, time_limit=60.0, limits=slow)
    assert (found.status, found.bound) == (begun.status, begun.bound)
    assert found.certificate["levels"][1]["status"] == "feasible"
    assert "second_level" not in found.certificate
    found = stable(given, time_limit=60.0, limits=replace(slow, listed_pair=1.0))
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert found.bound == 0


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_colocation_metrics_in_blocks_equal_metrics_at_once(
    alpha: float,
) -> None:
    """Types without agents between those of an instance, which come to lie in three blocks."""

    def measured(instance: Colocation, places: np.ndarray) -> list[Any]:
        pairing = feasible_pairing(instance)
        found = blocking_pairs(instance, pairing, alpha)
        return [
            found.count,
            found.agents,
            *(np.searchsorted(places, side).tolist() for side in found.listed[:2]),
            *(side.tolist() for side in found.listed[2:]),
            *(np.searchsorted(places, side).tolist() for side in (pairing.first, pairing.second)),
            pairing.pairs.tolist(),
            pairing.single[places].tolist(),
            willing(instance, pairing, alpha)[np.ix_(places, places)].tolist(),
            scale(instance, "penalty"),
            least_penalty_bound(instance),
            pairs_of(instance),
        ]

    blocked = 0
    for instance in [crowd(7, 6, 3), *colocations(range(16_003, 16_060, 3))]:
        if possible(instance) and not instance.distinct:
            whole = measured(instance, np.arange(instance.types))
            assert measured(*spread(instance, 2 * BLOCK + 1)) == whole
            blocked += whole[0]
    assert blocked


def possible(instance: Colocation) -> bool:
    try:
        feasible_pairing(instance)
    except NoSolution:
        return False
    return True


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_optimal_colocation_without_time_for_its_programs_gives_start_and_bound(
    engine: Any,
) -> None:
    instance = crowd(30, 4)
    proved = optimal(instance)
    limits = OptimalLimits(programs=ProgramLimits(priced_pair=1e6, most_pairs=1))
    found = optimal(instance, time_limit=60.0, engine=engine, limits=limits)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    check(instance, found.solution)
    assert (found.bound or 0.0) <= (proved.bound or 0.0)
    without = optimal(instance, engine="highs", limits=limits)  # without a limit there is time
    assert without.status is Status.OPTIMAL


def test_stable_refuses_types_whose_lists_exceed_memory_before_any_work() -> None:
    """Else it would say that there is no pairing."""
    star = np.where(np.arange(4) * np.arange(4)[:, None], np.inf, 0.1)
    instance = Colocation(star, np.ones(4))
    assert stable(instance).status is Status.INFEASIBLE
    with refused(InvalidOption):
        stable(instance, limits=StableLimits(most_types=3))


class Over(Clock):
    """A clock whose time is up at once."""

    def __init__(self) -> None:
        super().__init__(1e-9)


def test_stable_at_time_limit_is_unknown_not_infeasible() -> None:
    """The agents of type 0 want those of 1, which the start gives to each other: exchanges are
    needed, of more agents than are matched one by one.
    """
    instance = Colocation([[np.inf, 0.5], [0.5, 0.1]], [2000, 2000], [1, 2], machines=2000.0)
    stuck = Pairing([1], [1], [1000], [0, 0])
    assert complete(instance, stuck).pairs.tolist() == [2000]
    with refused(Undecided):
        complete(instance, stuck, Over())
    for method in (optimal, stable, fair):
        found = method(instance, time_limit=1e-9, start=stuck)
        assert (found.status, found.solution) == (Status.UNKNOWN, None)
        approved(found.certificate["proof"])


def test_repair_at_time_limit_keeps_pairing() -> None:
    instance = Colocation([[np.inf, 0.5], [0.5, 0.1]], [2, 2])
    found = complete(instance, Pairing([1], [1], [1], [0, 0]), Over())
    check(instance, found)

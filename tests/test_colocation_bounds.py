"""What a proof of least penalty rests on: reduced costs of pairs, and the pairs that the last
program leaves out.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from cotenant.instances.colocation import Colocation, Pairing
from cotenant.solvers.blossom import MATCHED_FROM
from cotenant.solvers.colocation import optimal
from cotenant.solvers.colocation.blossom import least_penalty_bound
from cotenant.solvers.colocation.common import Blocking
from cotenant.solvers.colocation.feasible import feasible_pairing
from cotenant.solvers.colocation.matching import Matching, MatchingLimits
from cotenant.solvers.colocation.penalty import OptimalLimits
from cotenant.solvers.colocation.stable_routes import (
    StableLimits,
    StableSearch,
    decided,
    zero_over_types,
)
from cotenant.solvers.outcome import Clock, Outcome, Status, Stop


def test_matching_bound_plus_reduced_cost_is_below_cost_of_every_pairing(
    reference: ModuleType,
) -> None:
    cluster = np.repeat([0, 1, 2], [3, 3, 2])  # odd ones
    noise = np.random.default_rng(71).uniform(0, 0.2, (8, 8))
    penalty = np.where(cluster[:, None] == cluster, 0.05, 0.5) + noise
    instance = Colocation(penalty, np.ones(8, dtype=int))
    search = Matching(instance, feasible_pairing(instance), Clock())
    search.relax()
    assert search.sets
    for partner in reference.pairings(instance):
        total = sum(reference.penalties(instance, partner))
        used = [search.reduced[a, b] for a, b in enumerate(partner) if a < b]
        assert search.bound + max(0.0, *used) <= total + 1e-9


def test_reduced_cost_fixing_keeps_pairs_of_better_pairings() -> None:
    # Two triangles of agents that cost each other nothing: somebody must cross. The pair that does
    # so costs all there is
    # between the relaxation (half of every pair of a triangle) and the start, nearly.
    side = np.repeat([0, 1], 3)
    penalty = np.where(side[:, None] == side, 0.0, 0.11)
    penalty[0, 3] = penalty[3, 0] = 0.10
    instance = Colocation(penalty, np.ones(6, dtype=int))
    start = Pairing([1, 0, 3], [4, 2, 5], [1, 1, 1], np.zeros(6))
    few = MatchingLimits(first_pairs=0, routes=frozenset())
    found = optimal(instance, start=start, limits=OptimalLimits(matching=few))
    assert found.status is Status.OPTIMAL
    assert found.bound == pytest.approx(0.2 / 6)


@pytest.mark.parametrize(
    ("answer", "bound"), [(Status.INFEASIBLE, 3), (Status.UNKNOWN, 1), (Status.FEASIBLE, 1)]
)
def test_negative_decision_for_two_blocking_pairs_proves_three(
    answer: Status, bound: int, engines: Callable[..., None]
) -> None:
    stop = Stop.FINISHED if answer is Status.INFEASIBLE else Stop.TIME_LIMIT
    search = searching()
    search.bound = 1
    engines(call_in_subprocess=lambda *_, **__: Outcome(None, None, answer, stop))
    assert decided(search, 2, 60.0) == (answer is Status.INFEASIBLE)
    assert search.bound == bound


def searching() -> StableSearch:
    """A search with 9 blocking pairs in hand, whose programs run in processes of their own."""
    instance = Colocation(np.random.default_rng(3).random((6, 6)), np.ones(6, dtype=int))
    given = (Blocking(), "highs", Clock(60.0), np.random.default_rng(0), feasible_pairing(instance))
    search = StableSearch(instance, *given, StableLimits(child_pairs=0, child_types=0))
    search.value = 9
    return search


@pytest.mark.parametrize("machines", [None, 7.0, np.inf])
@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_quick_penalty_bound_is_valid(seed: int, distinct: bool, machines: float | None) -> None:
    rng = np.random.default_rng([79, seed])
    count = np.ones(10, dtype=int) if distinct else np.array([4, 3, 2, 1])
    instance = Colocation(
        rng.uniform(0.05, 0.9, (len(count), len(count))), count, machines=machines
    )
    found = optimal(instance)
    bound = least_penalty_bound(instance)
    assert bound <= found.bound + 1e-9
    assert bound > 0 or machines is not None


def test_large_matching_lower_bound_is_close_to_mean_penalty_of_optimum() -> None:
    penalty = np.random.default_rng(0).random((MATCHED_FROM, MATCHED_FROM)).round(4)
    instance = Colocation(penalty, np.ones(MATCHED_FROM, dtype=int))
    one = np.arange(0, MATCHED_FROM, 2)
    start = Pairing(one, one + 1, np.ones(len(one), dtype=int), np.zeros(MATCHED_FROM, dtype=int))
    bound = least_penalty_bound(instance, start=start)
    assert bound == pytest.approx(optimal(instance).bound, abs=1e-12)
    assert bound >= least_penalty_bound(instance) > 0.9 * bound
    assert least_penalty_bound(instance, 0.0, start=start) < bound


@pytest.mark.parametrize(("answer", "bound"), [(Status.INFEASIBLE, 1), (Status.UNKNOWN, 0)])
def test_zero_blocking_pairs_is_excluded_only_by_infeasibility(
    answer: Status, bound: int, engines: Callable[..., None]
) -> None:
    search = searching()
    engines(call_in_subprocess=lambda *_, **__: Outcome(None, None, answer, Stop.FINISHED))
    zero_over_types(search)
    assert search.bound == bound
